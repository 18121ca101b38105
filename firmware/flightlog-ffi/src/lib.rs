//! The flight logger and the stall bench as C functions.
//!
//! This is the one crate of the workspace with unsafe code, and it holds nothing else: each function checks what it was given,
//! turns it into references, calls `flightlog` and turns the outcome into a number. The rules of the border:
//!
//! - A function that can fail gives an `int32_t`: 0 is success, a negative number is a [`Status`], and a positive one is what
//!   the flash callback of the caller gave. What a function produces goes through pointers, and is written on success only.
//! - Every pointer to more than one thing comes with a length. Null, misaligned and short memory is an error, not a crash.
//! - Nothing is allocated. A handle lies in memory that the caller gives ([`flightlog_handle_size`],
//!   [`flightlog_handle_align`]), needs no release, and ends when the caller takes the memory back.
//! - A handle is used by one task at a time, but for the ring, whose two ends may be used at once.
//! - No panic crosses the border: there is none by design, and if one happens the program ends ([`panic`]).
//!
//! The header is `include/flightlog.h`; a test keeps it current.
#![cfg_attr(target_os = "none", no_std)]

pub mod bench;
pub mod bytes;
pub mod command;
pub mod delta;
pub mod flash;
pub mod handle;
pub mod log;
pub mod logger;
pub mod panic;
pub mod report;
pub mod ring;
pub mod sample;
pub mod status;
pub mod tasks;

pub use handle::{flightlog_handle_align, flightlog_handle_size};
pub use status::Status;
