//! The stall bench: write the flight buffer as the logger does, at three rates, then erase it, and see how the loop fares.
//!
//! Two state machines, one for each task. Both are plain values that know neither clock nor scheduler: the sketch's tasks
//! and the simulator drive them alike and supply time, flash and memory.
//! - [`LoopTask`] is the loop of the flight computer: 500 passes a second, each of which drains the IMU's FIFO and works.
//! - [`WriterTask`] is the task on the other core that writes or erases; its [`Step`]s say what to do next.
//!
//! They share nothing, so neither waits for the other but through the flash. [`Plan`] reckons before a run what will be
//! erased; [`survey`] looks which blocks are not blank.

mod loop_task;
mod phase;
mod plan;
mod region;
mod writer;

pub use loop_task::{LoopTask, Pass};
pub use phase::{Kind, Phase, Place};
pub use plan::{MAX_BLOCKS, Marked, Plan, PlanError, Stage, survey};
pub use writer::{Step, Target, WriterTask, Written};

use crate::fifo;
use crate::stats::GapStats;

/// Bytes of the buffer that gathers records before they go to flash.
pub const BUFFER: usize = 4096;

/// What a run does, other than its phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Time from one pass of the loop to the next in microseconds, where nothing holds it up.
    pub loop_period_us: u32,
    /// Samples a second that the IMU puts into its FIFO.
    pub imu_hz: u32,
    /// Words of the FIFO, see [`fifo::WORD_BYTES`].
    pub fifo_words: u32,
    /// Bytes that a phase writes; [`Plan::new`] rounds them down to whole blocks.
    pub phase_bytes: u32,
    /// What keeps the loop's core busy.
    pub load: Load,
}

impl Default for Settings {
    /// The logger's own: 500 Hz and 8 kHz. 256 words are 85 samples, or 10.6 ms: an assumption, the article gives no depth.
    fn default() -> Self {
        Self {
            loop_period_us: 2_000,
            imu_hz: 8_000,
            fifo_words: 256,
            phase_bytes: 2 * 1024 * 1024,
            load: Load::default(),
        }
    }
}

/// What keeps the loop's core busy. The sketch spends these times in code that is not in internal RAM, as an application does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Nanoseconds in which a sample comes over the IMU's bus. A drain is one burst: the scheduler of this core is held
    /// off meanwhile, so that the burst is not torn.
    pub sample_ns: u32,
    /// Microseconds of all other work in a pass.
    pub pass_us: u32,
    /// Microseconds of a job that another task does on the loop's core, before the loop ...
    pub job_us: u32,
    /// ... and microseconds from one such job to the next.
    pub job_period_us: u32,
}

impl Default for Load {
    /// 21 bytes a sample at 10 MHz. The other three are fitted: with them the simulator gives the article's table, whose
    /// flight computer did more than its text says.
    fn default() -> Self {
        Self {
            sample_ns: fifo::WORDS_PER_SAMPLE * fifo::WORD_BYTES * 8 * 100,
            pass_us: 1_125,
            job_us: 2_920,
            job_period_us: 1_000_000,
        }
    }
}

/// One phase's result: what was asked, what the writer did, how the loop fared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhaseResult {
    /// Which phase.
    pub phase: Phase,
    /// What the writer did.
    pub written: Written,
    /// How the loop was held up.
    pub gaps: GapStats,
    /// What became of the IMU's samples.
    pub fifo: fifo::Counts,
}
