//! The flight logger: samples in, pages on a raw flash partition out, and the figures that tell whether the loop was held up.
//!
//! It needs neither std nor an allocator, and no floating point where samples pass. The board's sketch drives it through
//! `flightlog-ffi`; the simulator drives the same code in virtual time.
#![no_std]
#![forbid(unsafe_code)]

#[cfg(any(test, feature = "std"))]
extern crate std;

pub mod archive;
pub mod bench;
pub mod command;
pub mod crc;
pub mod delta;
pub mod fifo;
pub mod flash;
pub mod log;
pub mod logger;
pub mod pacing;
pub mod pages;
pub mod planner;
pub mod record;
pub mod report;
pub mod ring;
pub mod sample;
pub mod sector;
pub mod stats;
