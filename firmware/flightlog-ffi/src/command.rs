//! The commands that come over serial.

use core::ffi::{CStr, c_char, c_void};
use core::fmt::Write as _;

use flightlog::command::{self, HELP, Refused};

use crate::bench::{BufferPlace, PhaseKind};
use crate::bytes;
use crate::handle::{Handle, impl_handle, place, value};
use crate::report::Out;
use crate::status::{Status, number};

/// Which command.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandKind {
    /// Run the bench, or a part of it.
    Run = 1,
    /// Report what the board is.
    Info = 2,
    /// Measure the memories and test PSRAM.
    Membench = 3,
    /// Erase the whole flight partition.
    Erase = 4,
    /// End what is running.
    Stop = 5,
    /// Print `flightlog_help`.
    Help = 6,
}

/// A command.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// Which: `flightlog_command_kind`.
    pub kind: u32,
    /// Of `run`, which phase: `flightlog_phase`; 0 is all of them.
    pub phase: u32,
    /// Of `run`, where the buffer stands: `flightlog_place`; 0 is both.
    pub place: u32,
    /// Of `run`, samples a second of the modelled IMU; 0 is the default.
    pub imu_hz: u32,
}

impl From<command::Command> for Command {
    fn from(command: command::Command) -> Self {
        let kind = match command {
            command::Command::Run(_) => CommandKind::Run,
            command::Command::Info => CommandKind::Info,
            command::Command::Membench => CommandKind::Membench,
            command::Command::Erase => CommandKind::Erase,
            command::Command::Stop => CommandKind::Stop,
            command::Command::Help => CommandKind::Help,
        };
        let mut made = Self {
            kind: kind as u32,
            ..Self::default()
        };
        if let command::Command::Run(run) = command {
            made.phase = run.kind.map_or(0, |kind| PhaseKind::from(kind) as u32);
            made.place = run.place.map_or(0, |place| BufferPlace::from(place) as u32);
            made.imu_hz = run.imu_hz.unwrap_or(0);
        }
        made
    }
}

/// Bytes that hold every answer of `flightlog_line_push`.
pub const FLIGHTLOG_ANSWER_BYTES: usize = 512;

/// Gathers the bytes of a serial port into lines.
pub struct LineBuffer {
    tag: u32,
    lines: command::LineBuffer,
}

impl_handle!(LineBuffer, LineBuffer);

/// Makes an empty line buffer.
///
/// # Safety
/// `memory` is null or valid for writes of `len` bytes, `buffer` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flightlog_line_buffer_init(
    memory: *mut c_void,
    len: usize,
    buffer: *mut *mut LineBuffer,
) -> i32 {
    let made = LineBuffer {
        tag: LineBuffer::TAG,
        lines: command::LineBuffer::new(),
    };
    number((|| {
        // SAFETY: as for this function.
        unsafe { place(memory, len, buffer, made)? };
        Ok(())
    })())
}

/// Takes one byte of the serial port. `FLIGHTLOG_STATUS_NOTHING` as long as no line is complete; 0 where it completes a command,
/// with the line itself in `answer`; `FLIGHTLOG_STATUS_NO_COMMAND` where the line is none, with what to answer in `answer`.
/// `answer_used` are the bytes of the answer; no 0 stands at their end.
///
/// # Safety
/// `buffer` is null or a line buffer that nobody else uses now; `command` and `answer_used` are null or valid for a write,
/// `answer` for writes of `answer_len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flightlog_line_push(
    buffer: *mut LineBuffer,
    byte: u8,
    command: *mut Command,
    answer: *mut c_char,
    answer_len: usize,
    answer_used: *mut usize,
) -> i32 {
    number((|| {
        crate::handle::usable(command)?;
        crate::handle::usable(answer_used)?;
        // SAFETY: as for this function.
        let lines = &mut unsafe { value(buffer)? }.lines;
        // SAFETY: as for this function.
        let mut out = Out::new(unsafe { bytes::slice_mut(answer.cast(), answer_len)? });
        let Some(line) = lines.push(byte) else {
            return Err(Status::Nothing.into());
        };
        let parsed = line.and_then(|line| Ok((line, command::parse(line)?)));
        // Writing to `Out` never fails; what does not fit is seen at its end.
        let _ = match &parsed {
            Ok((line, _)) => out.write_str(line.trim_ascii()),
            Err(refused) => write!(out, "{refused}"),
        };
        let needed = out.needed();
        // SAFETY: as for this function; checked above.
        unsafe { bytes::write(answer_used, needed)? };
        if needed > answer_len {
            return Err(Status::TooShort.into());
        }
        let (_, given) = parsed.map_err(|_: Refused<'_>| Status::NoCommand)?;
        // SAFETY: as for this function; checked above.
        unsafe { bytes::write(command, given.into())? };
        Ok(())
    })())
}

/// What to answer to `help`, as a C string that lives as long as the program.
#[unsafe(no_mangle)]
pub extern "C" fn flightlog_help() -> *const c_char {
    const LEN: usize = HELP.len() + 1;
    static TEXT: [u8; LEN] = {
        let mut text = [0; LEN];
        let mut at = 0;
        while at < HELP.len() {
            text[at] = HELP.as_bytes()[at];
            at += 1;
        }
        text
    };
    const _: () = assert!(CStr::from_bytes_with_nul(&TEXT).is_ok());
    TEXT.as_ptr().cast()
}
