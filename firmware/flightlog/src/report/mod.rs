//! The report of a run: readable lines, and after each one line of JSON that a program can trust.
//!
//! [`Writer`] needs no memory beside itself; the reader, in [`read`], is for the host and comes with the feature `std`.
#![doc = include_str!("schema.md")]

#[cfg(feature = "std")]
pub mod read;
mod text;
mod write;

pub use write::Writer;

use crate::bench::{Plan, Settings};

/// Version of the schema.
pub const SCHEMA: u32 = 1;

/// Where the figures come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A board: measured.
    Board,
    /// The simulator: computed.
    Simulation,
}

impl Source {
    /// The name in the report.
    pub fn name(self) -> &'static str {
        match self {
            Source::Board => "board",
            Source::Simulation => "simulation",
        }
    }
}

/// Which memory answers at an address, according to the MMU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// PSRAM: what XIP from PSRAM is about.
    Psram,
    /// The flash chip, through the cache.
    Flash,
    /// Internal RAM.
    Internal,
    /// The MMU gave no answer.
    Unknown,
}

impl Home {
    /// The name in the report.
    pub fn name(self) -> &'static str {
        match self {
            Home::Psram => "psram",
            Home::Flash => "flash",
            Home::Internal => "internal",
            Home::Unknown => "unknown",
        }
    }
}

/// An address of the sketch and what stands behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Which memory.
    pub home: Home,
    /// The address that the program uses.
    pub vaddr: u32,
    /// The address within that memory.
    pub paddr: u32,
}

/// A Kconfig symbol as the sketch was compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symbol<'a> {
    /// Its name with `CONFIG_`.
    pub name: &'a str,
    /// Its value, `None` where it is not set.
    pub value: Option<i64>,
}

/// What the board is and how its program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info<'a> {
    /// The chip's name.
    pub chip: &'a str,
    /// Its revision: 100 times major plus minor, as ESP-IDF gives it.
    pub revision: u32,
    /// Version of the Arduino core.
    pub core: &'a str,
    /// Version of ESP-IDF.
    pub idf: &'a str,
    /// The symbols that matter.
    pub symbols: &'a [Symbol<'a>],
    /// PSRAM that the program can use, with ECC's share taken off.
    pub psram_bytes: u32,
    /// Whether ECC is in force.
    pub ecc: bool,
    /// Size of the flash chip.
    pub flash_bytes: u32,
    /// Size of the flight partition.
    pub partition_bytes: u32,
    /// Where a function of the sketch lives.
    pub code: Mapping,
    /// Where a constant of the sketch lives.
    pub constants: Mapping,
}

/// The first word of a memory test that read back wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Bytes from the tested memory's start.
    pub offset: u32,
    /// What was written.
    pub expected: u32,
    /// What was read.
    pub found: u32,
}

/// A pattern test of PSRAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PatternTest {
    /// Bytes tested: far more than the cache holds.
    pub bytes: u32,
    /// Words that read back wrong.
    pub errors: u32,
    /// The first of them.
    pub first: Option<Mismatch>,
    /// Time that it took in microseconds.
    pub elapsed_us: u64,
}

/// A row of the memory bench.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryRow<'a> {
    /// What was done, for example `read-sequential`.
    pub test: &'a str,
    /// On which memory, for example `psram` or `psram-to-internal`.
    pub memory: &'a str,
    /// Bytes of one run.
    pub bytes: u32,
    /// Runs.
    pub runs: u32,
    /// Time of all runs in microseconds.
    pub total_us: u64,
}

/// What a run is going to do.
#[derive(Clone, Copy, Debug)]
pub struct Planned<'a> {
    /// Its settings.
    pub settings: &'a Settings,
    /// Its stages.
    pub plan: &'a Plan,
}

/// How a report ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All was done.
    Complete,
    /// Someone stopped it.
    Stopped,
    /// Something failed; a `fault` line says what.
    Failed,
}

impl Outcome {
    /// The name in the report.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Complete => "complete",
            Outcome::Stopped => "stopped",
            Outcome::Failed => "failed",
        }
    }
}
