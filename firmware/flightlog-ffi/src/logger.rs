//! The logger: samples and other records into pages on flash.

use core::ffi::c_void;
use core::num::NonZeroU32;

use flightlog::logger;
use flightlog::pages::PageWriter;
use flightlog::record::Kind;
use flightlog::sector::SECTOR_BYTES;

use crate::bytes;
use crate::flash::{Callbacks, Flash, write_number};
use crate::handle::{Handle, impl_handle, place, room, value};
use crate::sample::Sample;
use crate::status::{Status, number};

/// Bytes of the buffer that gathers records before they go to flash. In internal RAM it is written half as fast again as in PSRAM.
pub const FLIGHTLOG_BUFFER_BYTES: usize = 4096;
const _: () = assert!(FLIGHTLOG_BUFFER_BYTES == SECTOR_BYTES);
const _: () = assert!(FLIGHTLOG_BUFFER_BYTES == flightlog::bench::BUFFER);

/// The first record kind that is the caller's own; 254 is the last.
pub const FLIGHTLOG_OWN_RECORDS: u8 = 16;
const _: () = assert!(FLIGHTLOG_OWN_RECORDS == Kind::OWN.code());

/// Writes one flight.
pub struct Logger {
    tag: u32,
    logger: logger::Logger<'static, Callbacks>,
}

impl_handle!(Logger, Logger);

/// How to log.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoggerSettings {
    /// Samples a second.
    pub rate_hz: u32,
    /// Every how many samples one is full in the delta code; 0: no delta code, each sample takes 15 bytes.
    pub full_every: u32,
    /// Tells this flight's sectors from those of others: another number each time.
    pub flight: u32,
    /// Whether to go on behind a log that a reset cut, instead of beginning one.
    pub resume: bool,
}

/// Begins a log, or goes on with one. Reads the flash to see what is erased; nothing is ever erased.
///
/// # Safety
/// `memory` is null or valid for writes of `len` bytes; `flash` and `settings` are null or valid for a read; the flash's
/// callbacks can be called as long as the logger is in use; `buffer` is null or valid for `buffer_len` bytes, which belong to
/// the logger as long as it is in use; `logger` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flightlog_logger_init(
    memory: *mut c_void,
    len: usize,
    flash: *const Flash,
    buffer: *mut u8,
    buffer_len: usize,
    settings: *const LoggerSettings,
    time_us: u64,
    logger: *mut *mut Logger,
) -> i32 {
    number((|| {
        // Before anything is written to flash.
        // SAFETY: as for this function.
        unsafe { room(memory, len, logger)? };
        // SAFETY: as for this function.
        let flash = unsafe { Callbacks::new(flash)? };
        // SAFETY: as for this function.
        let settings = unsafe { bytes::read(settings)? };
        // SAFETY: as for this function; `'static` is "as long as the logger is in use".
        let buffer = unsafe { bytes::array_mut::<SECTOR_BYTES>(buffer, buffer_len)? };
        let pages = if settings.resume {
            PageWriter::resume(flash, buffer, settings.flight)
        } else {
            PageWriter::begin(flash, buffer, settings.flight)
        };
        let coding = match NonZeroU32::new(settings.full_every) {
            Some(full_every) => logger::Coding::Delta { full_every },
            None => logger::Coding::Raw,
        };
        let start = logger::Settings {
            rate_hz: settings.rate_hz,
            coding,
        };
        let pages = pages.map_err(write_number)?;
        let started = logger::Logger::start(pages, start, time_us).map_err(write_number)?;
        let made = Logger {
            tag: Logger::TAG,
            logger: started,
        };
        // SAFETY: as for this function.
        unsafe { place(memory, len, logger, made)? };
        Ok(())
    })())
}

/// Appends a sample that was taken at `time_us`. Most calls only encode it into the buffer.
///
/// # Safety
/// `logger` is null or a logger that nobody else uses now; `sample` is null or valid for a read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flightlog_logger_sample(
    logger: *mut Logger,
    time_us: u64,
    sample: *const Sample,
) -> i32 {
    number((|| {
        // SAFETY: as for this function.
        let logger = unsafe { value(logger)? };
        // SAFETY: as for this function.
        let sample = unsafe { bytes::read(sample)? }.checked()?;
        logger.logger.sample(time_us, &sample).map_err(write_number)
    })())
}

/// Says that samples are missing before the next one: how many, or 0 where that is not known.
///
/// # Safety
/// `logger` is null or a logger that nobody else uses now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flightlog_logger_gap(logger: *mut Logger, missing: u32) -> i32 {
    number((|| {
        // SAFETY: as for this function.
        unsafe { value(logger)? }.logger.gap(missing);
        Ok(())
    })())
}

/// Notes that launch was detected.
///
/// # Safety
/// As for `flightlog_logger_gap`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flightlog_logger_trigger(logger: *mut Logger, time_us: u64) -> i32 {
    number((|| {
        // SAFETY: as for this function.
        let logger = unsafe { value(logger)? };
        logger.logger.trigger(time_us).map_err(write_number)
    })())
}

/// Appends a record of the caller's own, of kind `FLIGHTLOG_OWN_RECORDS` to 254.
///
/// # Safety
/// As for `flightlog_logger_gap`; `payload` is null or valid for reads of `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flightlog_logger_record(
    logger: *mut Logger,
    kind: u8,
    time_us: u64,
    payload: *const u8,
    len: usize,
) -> i32 {
    number((|| {
        // SAFETY: as for this function.
        let logger = unsafe { value(logger)? };
        let kind = Kind::new(kind).filter(|kind| *kind >= Kind::OWN);
        let kind = kind.ok_or(Status::OutOfRange)?;
        // SAFETY: as for this function.
        let payload = unsafe { bytes::slice(payload, len)? };
        let outcome = logger.logger.record(kind, time_us, payload);
        outcome.map_err(write_number)
    })())
}

/// Programs all that was recorded so far. Where it fails it may be called again.
///
/// # Safety
/// As for `flightlog_logger_gap`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flightlog_logger_flush(logger: *mut Logger) -> i32 {
    number((|| {
        // SAFETY: as for this function.
        let logger = unsafe { value(logger)? };
        logger.logger.flush().map_err(write_number)
    })())
}

/// How far a logger is.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoggerState {
    /// The number of this log.
    pub flight: u32,
    /// How many times it was taken up again.
    pub session: u16,
    /// The sector that is being filled.
    pub sector: u32,
    /// Erased sectors that are left, that one included.
    pub sectors_left: u32,
}

/// How far the logger is.
///
/// # Safety
/// As for `flightlog_logger_gap`; `state` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flightlog_logger_state(
    logger: *mut Logger,
    state: *mut LoggerState,
) -> i32 {
    number((|| {
        // SAFETY: as for this function.
        let pages = unsafe { value(logger)? }.logger.pages();
        let found = LoggerState {
            flight: pages.flight(),
            session: pages.session(),
            sector: pages.sector(),
            sectors_left: pages.sectors_left(),
        };
        // SAFETY: as for this function.
        unsafe { bytes::write(state, found)? };
        Ok(())
    })())
}
