//! The lines of a report as values; the meaning of each field stands in the [schema](crate::report).

use std::collections::BTreeMap;
use std::string::String;
use std::vec::Vec;

use serde::{Deserialize, Serialize};

/// A line of a report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// `"board"` or `"simulation"`.
    pub source: String,
    /// Which report.
    pub run: u32,
    /// Which line of it.
    pub seq: u32,
    /// What the line says.
    #[serde(flatten)]
    pub body: Body,
}

/// What a line says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Body {
    /// The report begins.
    Begin(Begin),
    /// What the board is.
    Info(Info),
    /// The pattern test of PSRAM.
    PsramTest(PsramTest),
    /// A row of the memory bench.
    Memory(Memory),
    /// What the run is going to do.
    Plan(Plan),
    /// A phase's result.
    Phase(Phase),
    /// Something failed.
    Fault(Fault),
    /// The report ends.
    End(End),
    /// A kind that a newer firmware may add.
    #[serde(other)]
    Other,
}

/// See [`Writer::begin`](crate::report::Writer::begin).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the schema says what each field is")]
pub struct Begin {
    pub firmware: String,
    pub command: String,
}

/// See [`report::Info`](crate::report::Info).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the schema says what each field is")]
pub struct Info {
    pub chip: String,
    pub revision: u32,
    pub core: String,
    pub idf: String,
    pub symbols: BTreeMap<String, Option<i64>>,
    pub psram_bytes: u32,
    pub ecc: bool,
    pub flash_bytes: u32,
    pub partition_bytes: u32,
    pub code: MappingLine,
    pub constants: MappingLine,
}

/// See [`report::Mapping`](crate::report::Mapping).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the schema says what each field is")]
pub struct MappingLine {
    pub home: String,
    pub vaddr: u32,
    pub paddr: u32,
}

/// See [`report::PatternTest`](crate::report::PatternTest).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the schema says what each field is")]
pub struct PsramTest {
    pub bytes: u32,
    pub errors: u32,
    pub elapsed_us: u64,
    pub first: Option<First>,
}

/// See [`report::Mismatch`](crate::report::Mismatch).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the schema says what each field is")]
pub struct First {
    pub offset: u32,
    pub expected: u32,
    pub found: u32,
}

/// See [`report::MemoryRow`](crate::report::MemoryRow).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the schema says what each field is")]
pub struct Memory {
    pub test: String,
    pub memory: String,
    pub bytes: u32,
    pub runs: u32,
    pub total_us: u64,
}

/// See [`Writer::plan`](crate::report::Writer::plan).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the schema says what each field is")]
pub struct Plan {
    pub imu_hz: u32,
    pub fifo_words: u32,
    pub loop_period_us: u32,
    pub sample_ns: u32,
    pub pass_us: u32,
    pub job_us: u32,
    pub job_period_us: u32,
    pub phases: u32,
    pub write_bytes: u64,
    pub erase_sectors: u32,
}

/// See [`PhaseResult`](crate::bench::PhaseResult).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the schema says what each field is")]
pub struct Phase {
    pub phase: String,
    pub buffer: String,
    pub target_bytes_s: Option<u32>,
    pub bytes: u32,
    pub bytes_s: u32,
    pub elapsed_us: u64,
    pub calls: u32,
    pub longest_call_us: u32,
    pub erased_sectors: u32,
    pub stopped: bool,
    pub passes: u32,
    pub loop_us: u64,
    pub loop_hz: f64,
    pub worst_gap_us: u32,
    pub histogram: Vec<(u64, u32)>,
    pub slice_us: u64,
    pub slices: Vec<u32>,
    pub samples_read: u64,
    pub samples_lost: u64,
    pub fifo_overruns: u32,
}

/// See [`Writer::fault`](crate::report::Writer::fault).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the schema says what each field is")]
pub struct Fault {
    pub what: String,
}

/// See [`Writer::end`](crate::report::Writer::end).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the schema says what each field is")]
pub struct End {
    pub results: u32,
    pub outcome: String,
}
