//! The logger's own code on a model of the chip, in virtual time. Everything that comes out is a simulation, never a
//! measurement.
//!
//! The tasks are those that the sketch runs, [`LoopTask`](flightlog::bench::LoopTask) and
//! [`WriterTask`](flightlog::bench::WriterTask), the latter through the logger's page writer; the model is what they run on.
//!
//! # Mechanism
//! Two cores. The writer's core waits for the flash and is never the slower side, so it sets the clock; the loop's core lives
//! through the same time under one of three conditions: it runs, it is stopped, or it shares its bus.
//!
//! - **The flash.** A write goes to the chip in commands of up to 64 bytes, each with an overhead and a time per byte. From
//!   internal RAM the driver takes 4096 bytes at once, from PSRAM 32, and does all that belongs to a write around each such
//!   piece. An erase of 64 KB takes 100 to 198 ms.
//! - **Stock libraries.** From the first command of a piece to its last the caches are off. The other core stands in a busy
//!   loop meanwhile, whatever it was doing; only a burst from the IMU, in which its scheduler is held off, is waited for.
//!   Between two pieces the caches are on, and the loop gets on by as much: with the buffer in PSRAM about a quarter of the
//!   time while the flash is busy, in slices of 45 us. So a pass takes four times as long, and so does the job of 3 ms that
//!   comes once a second: that makes the worst gaps. With the buffer in internal RAM the loop stands still for 11 ms a time.
//! - **XIP libraries.** The caches stay on, a mutex is all that the flash takes, and the loop runs on. It only waits where
//!   its code comes over the bus that a command's bytes are on: 3 to 4 % of the time. Worst gap: one period and the job.
//! - **The loop.** 500 passes a second at ticks of FreeRTOS: a burst that reads the FIFO, then work. Passes that a stall
//!   costs are not made up.
//! - **The FIFO** fills by time, and overruns where a gap is longer than it holds.
//!
//! # What the article does not say
//! Where its buffer stood. The model says PSRAM: at 166 kB/s and flat out the article's loop rates are the same, as they
//! must be if 160 kB/s is all that the flash takes from there. From internal RAM the flash takes 306 kB/s, so 166 kB/s is
//! half of that, and the model gives rates far apart: 296 and 71 Hz. Comparisons are therefore made with PSRAM.
//!
//! # What the model does not explain
//! The article counts 3 overruns while it erases. A stall of 100 ms overruns any FIFO that overruns at 15 ms, so the model
//! counts one for each block.
#![forbid(unsafe_code)]

pub mod article;
mod chip;
pub mod constants;
mod core;
mod run;

pub use chip::OutOfRange;
pub use constants::Constants;
pub use run::{FLIGHT_BUFFER, Failed, Simulation, simulate};

/// Which libraries the simulated sketch is linked with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Libraries {
    /// Espressif's: the program executes from flash, and flash commands turn the caches off.
    Stock,
    /// Rebuilt with XIP from PSRAM: the caches stay on.
    Xip,
}

impl Libraries {
    /// Both.
    pub const ALL: [Libraries; 2] = [Libraries::Stock, Libraries::Xip];

    /// A name for tables and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Libraries::Stock => "stock",
            Libraries::Xip => "xip",
        }
    }
}
