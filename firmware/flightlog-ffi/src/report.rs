//! The report, as lines of text into memory of the caller.

use core::ffi::{c_char, c_void};
use core::fmt;

use flightlog::bench::PhaseResult;
use flightlog::report;

use crate::bench::Plan;
use crate::bytes::{self, Text};
use crate::handle::{Handle, impl_handle, place, room, usable, value};
use crate::status::{Status, number};
use crate::tasks::{Loop, Writer};

/// Bytes that hold what any one report function writes, as long as the texts given to it are 256 bytes at most in all.
pub const FLIGHTLOG_REPORT_BYTES: usize = 8192;

/// The version of this library, as a C string that lives as long as the program.
#[unsafe(no_mangle)]
pub extern "C" fn flightlog_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Text into memory of the caller; counts what does not fit.
pub(crate) struct Out<'a> {
    bytes: &'a mut [u8],
    needed: usize,
}

impl<'a> Out<'a> {
    pub(crate) fn new(bytes: &'a mut [u8]) -> Self {
        Self { bytes, needed: 0 }
    }

    /// Bytes of all that was written, whether it fitted or not.
    pub(crate) fn needed(&self) -> usize {
        self.needed
    }
}

impl fmt::Write for Out<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.needed.saturating_add(text.len());
        if let Some(place) = self.bytes.get_mut(self.needed..end) {
            place.copy_from_slice(text.as_bytes());
        }
        self.needed = end;
        Ok(())
    }
}

/// A report in the making.
pub struct Report {
    tag: u32,
    /// `None` once it has ended.
    writer: Option<report::Writer>,
}

impl_handle!(Report, Report);

/// Where the figures come from.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportSource {
    /// A board: measured.
    Board = 0,
    /// A program on a host that plays the board.
    Simulation = 1,
}

/// How a report ended.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportOutcome {
    /// All was done.
    Complete = 0,
    /// Someone stopped it.
    Stopped = 1,
    /// Something failed.
    Failed = 2,
}

/// Memory for lines of a report.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ReportLines {
    /// Where to write; `FLIGHTLOG_REPORT_BYTES` suffice.
    pub text: *mut c_char,
    /// Bytes there.
    pub len: usize,
    /// Set by each call: bytes written, or needed where they do not fit. No 0 stands at their end.
    pub used: usize,
}

/// Lets `write` write into the caller's memory and tells how much that was.
///
/// # Safety
/// `lines` is null or valid for a read and a write, its text null or valid for writes of its length.
unsafe fn into_lines<T>(
    lines: *mut ReportLines,
    write: impl FnOnce(&mut Out<'_>) -> Result<T, fmt::Error>,
) -> Result<T, Status> {
    // SAFETY: as for this function.
    let given = unsafe { bytes::read(lines)? };
    usable(given.text)?;
    // SAFETY: as for this function.
    let mut out = Out::new(unsafe { bytes::slice_mut(given.text.cast(), given.len)? });
    // `Out` never fails, so the writer does not either.
    let written = write(&mut out).map_err(|_| Status::TooShort);
    let used = out.needed();
    // SAFETY: as for this function.
    unsafe { bytes::write(lines, ReportLines { used, ..given })? };
    if used > given.len {
        return Err(Status::TooShort);
    }
    written
}

impl Report {
    /// As [`into_lines`], with the report's writer; where the lines do not fit, they do not count.
    ///
    /// # Safety
    /// As for [`into_lines`].
    unsafe fn write(
        &mut self,
        lines: *mut ReportLines,
        write: impl FnOnce(&mut report::Writer, &mut Out<'_>) -> fmt::Result,
    ) -> Result<(), Status> {
        let mut writer = self.writer.clone().ok_or(Status::ReportEnded)?;
        // SAFETY: as for this function.
        unsafe { into_lines(lines, |out| write(&mut writer, out))? };
        self.writer = Some(writer);
        Ok(())
    }
}

/// Begins a report with its first lines. `run` is a random number, which tells this report from every other one in the same
/// log; `source` is a `flightlog_report_source`; `command` is what was asked.
///
/// # Safety
/// `memory` is null or valid for writes of `len` bytes; the text's pointer is null or valid for reads of its length; `lines` is
/// null or valid, its text for writes of its length; `report` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flightlog_report_begin(
    memory: *mut c_void,
    len: usize,
    source: u32,
    run: u32,
    command: Text,
    lines: *mut ReportLines,
    report: *mut *mut Report,
) -> i32 {
    number((|| {
        // SAFETY: as for this function.
        unsafe { room(memory, len, report)? };
        let source = [
            (ReportSource::Board, report::Source::Board),
            (ReportSource::Simulation, report::Source::Simulation),
        ]
        .into_iter()
        .find(|(number, _)| *number as u32 == source);
        let (_, source) = source.ok_or(Status::OutOfRange)?;
        // SAFETY: as for this function.
        let command = unsafe { bytes::text(command)? };
        let version = env!("CARGO_PKG_VERSION");
        let begin = |out: &mut Out<'_>| report::Writer::begin(out, source, run, version, command);
        // SAFETY: as for this function.
        let writer = unsafe { into_lines(lines, begin)? };
        let made = Report {
            tag: Report::TAG,
            writer: Some(writer),
        };
        // SAFETY: as for this function.
        unsafe { place(memory, len, report, made)? };
        Ok(())
    })())
}

/// Which memory answers at an address.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// The MMU gave no answer.
    Unknown = 0,
    /// PSRAM.
    Psram = 1,
    /// The flash chip, through the cache.
    Flash = 2,
    /// Internal RAM.
    Internal = 3,
}

/// An address of the program and what stands behind it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mapping {
    /// Which memory: `flightlog_home`.
    pub home: u32,
    /// The address that the program uses.
    pub vaddr: u32,
    /// The address within that memory.
    pub paddr: u32,
}

impl Mapping {
    fn checked(self) -> Result<report::Mapping, Status> {
        let home = [
            (Home::Unknown, report::Home::Unknown),
            (Home::Psram, report::Home::Psram),
            (Home::Flash, report::Home::Flash),
            (Home::Internal, report::Home::Internal),
        ]
        .into_iter()
        .find(|(number, _)| *number as u32 == self.home);
        let (_, home) = home.ok_or(Status::OutOfRange)?;
        Ok(report::Mapping {
            home,
            vaddr: self.vaddr,
            paddr: self.paddr,
        })
    }
}

/// A Kconfig symbol as the program was compiled.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Symbol {
    /// Its name with `CONFIG_`.
    pub name: Text,
    /// Whether it is set.
    pub set: bool,
    /// Its value, where it is set.
    pub value: i64,
}

/// The most symbols that a report takes.
pub const FLIGHTLOG_MAX_SYMBOLS: usize = 32;

/// What the board is and how its program runs.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// The chip's name.
    pub chip: Text,
    /// Its revision: 100 times major plus minor.
    pub revision: u32,
    /// Version of the Arduino core.
    pub core: Text,
    /// Version of ESP-IDF.
    pub idf: Text,
    /// The symbols that matter.
    pub symbols: *const Symbol,
    /// How many: `FLIGHTLOG_MAX_SYMBOLS` at most.
    pub symbol_count: usize,
    /// PSRAM that the program can use, with ECC's share taken off.
    pub psram_bytes: u32,
    /// Whether ECC is in force.
    pub ecc: bool,
    /// Size of the flash chip.
    pub flash_bytes: u32,
    /// Size of the flight partition; 0 where there is none.
    pub partition_bytes: u32,
    /// Where a function of the program lives.
    pub code: Mapping,
    /// Where a constant of the program lives.
    pub constants: Mapping,
}

/// Writes what the board is.
///
/// # Safety
/// `report` is null or a report that nobody else uses now; `info` is null or valid for a read, and all that it points to too;
/// `lines` as for `flightlog_report_begin`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flightlog_report_info(
    report: *mut Report,
    info: *const Info,
    lines: *mut ReportLines,
) -> i32 {
    number((|| {
        // SAFETY: as for this function.
        let report = unsafe { value(report)? };
        // SAFETY: as for this function.
        let info = unsafe { bytes::read(info)? };
        // SAFETY: as for this function.
        let given = unsafe { bytes::slice(info.symbols, info.symbol_count)? };
        let mut symbols = [report::Symbol {
            name: "",
            value: None,
        }; FLIGHTLOG_MAX_SYMBOLS];
        let symbols = symbols.get_mut(..given.len()).ok_or(Status::OutOfRange)?;
        for (symbol, given) in symbols.iter_mut().zip(given) {
            // SAFETY: as for this function.
            symbol.name = unsafe { bytes::text(given.name)? };
            symbol.value = given.set.then_some(given.value);
        }
        // SAFETY: as for this function.
        let (chip, core, idf) = unsafe {
            (
                bytes::text(info.chip)?,
                bytes::text(info.core)?,
                bytes::text(info.idf)?,
            )
        };
        let info = report::Info {
            chip,
            revision: info.revision,
            core,
            idf,
            symbols,
            psram_bytes: info.psram_bytes,
            ecc: info.ecc,
            flash_bytes: info.flash_bytes,
            partition_bytes: info.partition_bytes,
            code: info.code.checked()?,
            constants: info.constants.checked()?,
        };
        // SAFETY: as for this function.
        unsafe { report.write(lines, |writer, out| writer.info(out, &info))? };
        Ok(())
    })())
}

/// A pattern test of PSRAM.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PatternTest {
    /// Bytes tested: far more than the cache holds.
    pub bytes: u32,
    /// Words that read back wrong.
    pub errors: u32,
    /// Of the first wrong word: bytes from the tested memory's start ...
    pub first_offset: u32,
    /// ... what was written ...
    pub first_expected: u32,
    /// ... and what was read.
    pub first_found: u32,
    /// Time that it took in microseconds.
    pub elapsed_us: u64,
}

/// Writes the outcome of a pattern test.
///
/// # Safety
/// `report` is null or a report that nobody else uses now; `test` is null or valid for a read; `lines` as for
/// `flightlog_report_begin`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flightlog_report_psram_test(
    report: *mut Report,
    test: *const PatternTest,
    lines: *mut ReportLines,
) -> i32 {
    number((|| {
        // SAFETY: as for this function.
        let report = unsafe { value(report)? };
        // SAFETY: as for this function.
        let test = unsafe { bytes::read(test)? };
        let test = report::PatternTest {
            bytes: test.bytes,
            errors: test.errors,
            first: (test.errors > 0).then_some(report::Mismatch {
                offset: test.first_offset,
                expected: test.first_expected,
                found: test.first_found,
            }),
            elapsed_us: test.elapsed_us,
        };
        // SAFETY: as for this function.
        unsafe { report.write(lines, |writer, out| writer.psram_test(out, &test))? };
        Ok(())
    })())
}

/// A row of the memory bench.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MemoryRow {
    /// What was done, for example `read-sequential`.
    pub test: Text,
    /// On which memory, for example `psram`.
    pub memory: Text,
    /// Bytes of one run.
    pub bytes: u32,
    /// Runs.
    pub runs: u32,
    /// Time of all runs in microseconds.
    pub total_us: u64,
}

/// Writes a row of the memory bench.
///
/// # Safety
/// `report` is null or a report that nobody else uses now; `row` is null or valid for a read, and its texts too; `lines` as for
/// `flightlog_report_begin`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flightlog_report_memory(
    report: *mut Report,
    row: *const MemoryRow,
    lines: *mut ReportLines,
) -> i32 {
    number((|| {
        // SAFETY: as for this function.
        let report = unsafe { value(report)? };
        // SAFETY: as for this function.
        let row = unsafe { bytes::read(row)? };
        // SAFETY: as for this function.
        let (test, memory) = unsafe { (bytes::text(row.test)?, bytes::text(row.memory)?) };
        let row = report::MemoryRow {
            test,
            memory,
            bytes: row.bytes,
            runs: row.runs,
            total_us: row.total_us,
        };
        // SAFETY: as for this function.
        unsafe { report.write(lines, |writer, out| writer.memory(out, &row))? };
        Ok(())
    })())
}

/// Writes what the run is going to do, above all how many sectors it will erase. To be called before it does so.
///
/// # Safety
/// `report` and `plan` are null or handles that nobody else uses now; `lines` as for `flightlog_report_begin`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flightlog_report_plan(
    report: *mut Report,
    plan: *mut Plan,
    lines: *mut ReportLines,
) -> i32 {
    number((|| {
        // SAFETY: as for this function.
        let report = unsafe { value(report)? };
        // SAFETY: as for this function.
        let plan = unsafe { value(plan)? };
        let planned = report::Planned {
            settings: &plan.settings,
            plan: &plan.plan,
        };
        // SAFETY: as for this function.
        unsafe { report.write(lines, |writer, out| writer.plan(out, &planned))? };
        Ok(())
    })())
}

/// Writes a phase's result, from the two handles that went through it; the loop must be finished.
///
/// # Safety
/// `report`, `writer` and `loop_task` are null or handles that nobody else uses now; `lines` as for `flightlog_report_begin`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flightlog_report_phase(
    report: *mut Report,
    writer: *mut Writer,
    loop_task: *mut Loop,
    lines: *mut ReportLines,
) -> i32 {
    number((|| {
        // SAFETY: as for this function.
        let report = unsafe { value(report)? };
        // SAFETY: as for this function.
        let writer = unsafe { value(writer)? };
        // SAFETY: as for this function.
        let (gaps, fifo) = unsafe { value(loop_task)? }.finished()?;
        let result = PhaseResult {
            phase: writer.phase.ok_or(Status::OutOfRange)?,
            written: writer.task.written(),
            gaps,
            fifo,
        };
        // SAFETY: as for this function.
        unsafe { report.write(lines, |writer, out| writer.phase(out, &result))? };
        Ok(())
    })())
}

/// Writes that something failed, and what.
///
/// # Safety
/// `report` is null or a report that nobody else uses now; the text's pointer is null or valid for reads of its length; `lines`
/// as for `flightlog_report_begin`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flightlog_report_fault(
    report: *mut Report,
    what: Text,
    lines: *mut ReportLines,
) -> i32 {
    number((|| {
        // SAFETY: as for this function.
        let report = unsafe { value(report)? };
        // SAFETY: as for this function.
        let what = unsafe { bytes::text(what)? };
        // SAFETY: as for this function.
        unsafe { report.write(lines, |writer, out| writer.fault(out, what))? };
        Ok(())
    })())
}

/// Ends the report; without these lines nobody takes it for a whole one. `outcome` is a `flightlog_report_outcome`.
///
/// # Safety
/// `report` is null or a report that nobody else uses now; `lines` as for `flightlog_report_begin`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flightlog_report_end(
    report: *mut Report,
    outcome: u32,
    lines: *mut ReportLines,
) -> i32 {
    number((|| {
        // SAFETY: as for this function.
        let report = unsafe { value(report)? };
        let outcome = [
            (ReportOutcome::Complete, report::Outcome::Complete),
            (ReportOutcome::Stopped, report::Outcome::Stopped),
            (ReportOutcome::Failed, report::Outcome::Failed),
        ]
        .into_iter()
        .find(|(number, _)| *number as u32 == outcome);
        let (_, outcome) = outcome.ok_or(Status::OutOfRange)?;
        // SAFETY: as for this function.
        unsafe { report.write(lines, |writer, out| writer.clone().end(out, outcome))? };
        report.writer = None;
        Ok(())
    })())
}
