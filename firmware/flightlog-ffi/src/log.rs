//! Finding and reading a log.

use core::ffi::c_void;

use flightlog::log::{self, Entry};
use flightlog::sector::SECTOR_BYTES;

use crate::bytes;
use crate::flash::{Callbacks, Flash};
use crate::status::{Status, number};

/// A log on flash.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogFound {
    /// Its number.
    pub flight: u32,
    /// How many times it was taken up again.
    pub session: u16,
    /// Its first sector of 4 KB.
    pub first: u32,
    /// The sector behind its last.
    pub end: u32,
}

impl From<log::Found> for LogFound {
    fn from(found: log::Found) -> Self {
        Self {
            flight: found.flight,
            session: found.session,
            first: found.first,
            end: found.end,
        }
    }
}

/// Finds the log that begins at the start of the partition, and its end, with a few reads. Where there is none:
/// `FLIGHTLOG_STATUS_NOTHING`.
///
/// # Safety
/// `flash` is null or valid for a read, with callbacks that can be called now; `found` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flightlog_log_find(flash: *const Flash, found: *mut LogFound) -> i32 {
    number((|| {
        // SAFETY: as for this function.
        let mut flash = unsafe { Callbacks::new(flash)? };
        let log = log::find(&mut flash)?.ok_or(Status::Nothing)?;
        // SAFETY: as for this function.
        unsafe { bytes::write(found, log.into())? };
        Ok(())
    })())
}

/// One thing found in a log.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LogEntry {
    /// The sector that it lies in.
    pub sector: u32,
    /// The record's kind; 0: the rest of this sector cannot be read.
    pub kind: u8,
    /// The record's time in microseconds.
    pub time_us: u64,
    /// Its content, valid during the call.
    pub payload: *const u8,
    /// Bytes of its content.
    pub len: usize,
}

/// Takes one thing found in a log. True: go on.
pub type LogVisitor =
    Option<unsafe extern "C" fn(context: *mut c_void, entry: *const LogEntry) -> bool>;

/// Walks the log that begins at the start of the partition, record by record. Where there is none: `FLIGHTLOG_STATUS_NOTHING`.
///
/// # Safety
/// `flash` is null or valid for a read, with callbacks that can be called now; `buffer` is null or valid for `len` bytes, of
/// which `FLIGHTLOG_BUFFER_BYTES` are used; `visit` can be called with `context`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flightlog_log_walk(
    flash: *const Flash,
    buffer: *mut u8,
    len: usize,
    visit: LogVisitor,
    context: *mut c_void,
) -> i32 {
    number((|| {
        let visit = visit.ok_or(Status::NullPointer)?;
        // SAFETY: as for this function.
        let flash = unsafe { Callbacks::new(flash)? };
        // SAFETY: as for this function.
        let buffer = unsafe { bytes::array_mut::<SECTOR_BYTES>(buffer, len)? };
        let mut reader = log::Reader::open(flash, buffer)?.ok_or(Status::Nothing)?;
        while let Some(entry) = reader.next()? {
            let unreadable = |sector| LogEntry {
                sector,
                kind: 0,
                time_us: 0,
                payload: core::ptr::null(),
                len: 0,
            };
            let entry = match entry {
                Entry::Record { sector, record } => LogEntry {
                    sector: sector.index,
                    kind: record.kind.code(),
                    time_us: record.time_us,
                    payload: record.payload.as_ptr(),
                    len: record.payload.len(),
                },
                Entry::Damaged { sector, .. } | Entry::NoHeader { sector } => unreadable(sector),
            };
            // SAFETY: the caller gave the function for this; the entry is valid during the call.
            if !unsafe { visit(context, &entry) } {
                break;
            }
        }
        Ok(())
    })())
}
