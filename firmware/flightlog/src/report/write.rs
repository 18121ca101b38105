//! Writes a report, line by line, to whatever takes text.

use core::fmt::{self, Write};

use super::text::{Line, Tenths, Thousandths};
use super::{Info, Mapping, MemoryRow, Outcome, PatternTest, Planned, SCHEMA, Source};
use crate::bench::PhaseResult;
use crate::stats::{bucket_floor_us, rate_per_second};

/// Bytes of a sector, in which erases are counted.
const SECTOR: u32 = crate::flash::SECTOR;

/// A report in the making. It keeps count of its lines; each method writes a readable line and then the JSON line.
///
/// Every method fails only as its output does.
#[derive(Clone, Debug)]
pub struct Writer {
    source: Source,
    run: u32,
    lines: u32,
}

impl Writer {
    /// Begins a report with its first line.
    ///
    /// `run` tells this report from every other one in the same log: a random number. `firmware` is the version of what
    /// reports, `command` what it was asked.
    ///
    /// # Errors
    /// The output fails.
    pub fn begin<W: Write + ?Sized>(
        out: &mut W,
        source: Source,
        run: u32,
        firmware: &str,
        command: &str,
    ) -> Result<Self, fmt::Error> {
        let mut report = Self {
            source,
            run,
            lines: 0,
        };
        let what = match source {
            Source::Board => "",
            Source::Simulation => ", SIMULATED: no figure below is measured",
        };
        writeln!(out, "== StallBench {firmware}: {command}{what}")?;
        let mut line = report.line(out, "begin")?;
        line.string("firmware", firmware)?;
        line.string("command", command)?;
        line.end()?;
        Ok(report)
    }

    /// What the board is.
    ///
    /// # Errors
    /// The output fails.
    pub fn info<W: Write + ?Sized>(&mut self, out: &mut W, info: &Info<'_>) -> fmt::Result {
        writeln!(
            out,
            "{} revision {}.{}, core {}, ESP-IDF {}",
            info.chip,
            info.revision / 100,
            info.revision % 100,
            info.core,
            info.idf
        )?;
        writeln!(
            out,
            "PSRAM {} KB, ECC {}; flash {} KB, flight partition {} KB",
            info.psram_bytes / 1024,
            if info.ecc { "on" } else { "off" },
            info.flash_bytes / 1024,
            info.partition_bytes / 1024
        )?;
        writeln!(
            out,
            "code in {} ({:#010x} is {:#010x}), constants in {} ({:#010x} is {:#010x})",
            info.code.home.name(),
            info.code.vaddr,
            info.code.paddr,
            info.constants.home.name(),
            info.constants.vaddr,
            info.constants.paddr
        )?;
        let mut line = self.line(out, "info")?;
        line.string("chip", info.chip)?;
        line.raw("revision", info.revision)?;
        line.string("core", info.core)?;
        line.string("idf", info.idf)?;
        line.raw("symbols", "")?;
        line.items('{', info.symbols.iter(), '}', |line, symbol| {
            line.quoted(symbol.name)?;
            match symbol.value {
                Some(value) => write!(line, ":{value}"),
                None => line.write_str(":null"),
            }
        })?;
        line.raw("psram_bytes", info.psram_bytes)?;
        line.raw("ecc", info.ecc)?;
        line.raw("flash_bytes", info.flash_bytes)?;
        line.raw("partition_bytes", info.partition_bytes)?;
        for (name, mapping) in [("code", info.code), ("constants", info.constants)] {
            let Mapping { home, vaddr, paddr } = mapping;
            let home = home.name();
            line.raw(
                name,
                format_args!("{{\"home\":\"{home}\",\"vaddr\":{vaddr},\"paddr\":{paddr}}}"),
            )?;
        }
        line.end()
    }

    /// The pattern test of PSRAM.
    ///
    /// # Errors
    /// The output fails.
    pub fn psram_test<W: Write + ?Sized>(
        &mut self,
        out: &mut W,
        test: &PatternTest,
    ) -> fmt::Result {
        write!(
            out,
            "PSRAM pattern test: {} KB, {} wrong words",
            test.bytes / 1024,
            test.errors
        )?;
        if let Some(first) = test.first {
            let (found, expected) = (first.found, first.expected);
            write!(
                out,
                ", the first at {:#x}: {found:#010x}, not {expected:#010x}",
                first.offset
            )?;
        }
        writeln!(out)?;
        let mut line = self.line(out, "psram-test")?;
        line.raw("bytes", test.bytes)?;
        line.raw("errors", test.errors)?;
        line.raw("elapsed_us", test.elapsed_us)?;
        match test.first {
            None => line.raw("first", "null")?,
            Some(first) => line.raw(
                "first",
                format_args!(
                    "{{\"offset\":{},\"expected\":{},\"found\":{}}}",
                    first.offset, first.expected, first.found
                ),
            )?,
        }
        line.end()
    }

    /// A row of the memory bench.
    ///
    /// # Errors
    /// The output fails.
    pub fn memory<W: Write + ?Sized>(&mut self, out: &mut W, row: &MemoryRow<'_>) -> fmt::Result {
        let bytes = u64::from(row.bytes) * u64::from(row.runs);
        // Bytes in a microsecond are MB/s; thousandths of them as if a run took a thousand times as long.
        let rate = rate_per_second(bytes, row.total_us.saturating_mul(1_000));
        writeln!(
            out,
            "{:<28} {:<20} {:>8} B  {:>9} MB/s",
            row.test,
            row.memory,
            row.bytes,
            Tenths(rate)
        )?;
        let mut line = self.line(out, "memory")?;
        line.string("test", row.test)?;
        line.string("memory", row.memory)?;
        line.raw("bytes", row.bytes)?;
        line.raw("runs", row.runs)?;
        line.raw("total_us", row.total_us)?;
        line.end()
    }

    /// What the run is going to do, before it does it: above all how many sectors it will erase.
    ///
    /// # Errors
    /// The output fails.
    pub fn plan<W: Write + ?Sized>(&mut self, out: &mut W, planned: &Planned<'_>) -> fmt::Result {
        let Planned { settings, plan } = planned;
        writeln!(
            out,
            "this run writes {} KB and erases {} sectors of {} KB; IMU {} Hz, FIFO {} words, loop every {} us",
            plan.written_bytes() / 1024,
            plan.erased_sectors(),
            SECTOR / 1024,
            settings.imu_hz,
            settings.fifo_words,
            settings.loop_period_us
        )?;
        let mut line = self.line(out, "plan")?;
        line.raw("imu_hz", settings.imu_hz)?;
        line.raw("fifo_words", settings.fifo_words)?;
        line.raw("loop_period_us", settings.loop_period_us)?;
        line.raw("sample_ns", settings.load.sample_ns)?;
        line.raw("pass_us", settings.load.pass_us)?;
        line.raw("job_us", settings.load.job_us)?;
        line.raw("job_period_us", settings.load.job_period_us)?;
        line.raw("phases", plan.phases())?;
        line.raw("write_bytes", plan.written_bytes())?;
        line.raw("erase_sectors", plan.erased_sectors())?;
        line.end()
    }

    /// A phase's result.
    ///
    /// # Errors
    /// The output fails.
    pub fn phase<W: Write + ?Sized>(&mut self, out: &mut W, result: &PhaseResult) -> fmt::Result {
        let PhaseResult {
            phase,
            written,
            gaps,
            fifo,
        } = result;
        let rate = rate_per_second(u64::from(written.bytes), written.elapsed_us);
        write!(out, "{phase}: ")?;
        if phase.kind.writes() {
            write!(out, "{} kB/s, ", Tenths(rate))?;
        } else {
            write!(out, "{} sectors erased, ", written.erased_sectors)?;
        }
        writeln!(
            out,
            "loop {} Hz, worst gap {} ms, {} FIFO overruns{}",
            Tenths(gaps.rate_millihertz()),
            Tenths(gaps.worst_us()),
            fifo.overruns,
            if written.stopped { ", stopped" } else { "" }
        )?;
        let mut line = self.line(out, "phase")?;
        line.string("phase", phase.kind.name())?;
        line.string("buffer", phase.place.name())?;
        line.number("target_bytes_s", phase.kind.target_bytes_per_second())?;
        line.raw("bytes", written.bytes)?;
        line.raw("bytes_s", rate)?;
        line.raw("elapsed_us", written.elapsed_us)?;
        line.raw("calls", written.calls)?;
        line.raw("longest_call_us", written.longest_call_us)?;
        line.raw("erased_sectors", written.erased_sectors)?;
        line.raw("stopped", written.stopped)?;
        line.raw("passes", gaps.passes())?;
        line.raw("loop_us", gaps.elapsed_us())?;
        line.raw("loop_hz", Thousandths(gaps.rate_millihertz()))?;
        line.raw("worst_gap_us", gaps.worst_us())?;
        line.raw("histogram", "")?;
        let filled = gaps
            .histogram()
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0);
        line.items('[', filled, ']', |line, (bucket, count)| {
            write!(line, "[{},{count}]", bucket_floor_us(bucket))
        })?;
        line.raw("slice_us", gaps.time_line().slice_us())?;
        line.raw("slices", "")?;
        line.items(
            '[',
            gaps.time_line().worst_us().iter(),
            ']',
            |line, worst| write!(line, "{worst}"),
        )?;
        line.raw("samples_read", fifo.read)?;
        line.raw("samples_lost", fifo.lost)?;
        line.raw("fifo_overruns", fifo.overruns)?;
        line.end()
    }

    /// Something failed.
    ///
    /// # Errors
    /// The output fails.
    pub fn fault<W: Write + ?Sized>(&mut self, out: &mut W, what: &str) -> fmt::Result {
        writeln!(out, "FAULT: {what}")?;
        let mut line = self.line(out, "fault")?;
        line.string("what", what)?;
        line.end()
    }

    /// Ends the report; without this line nobody takes it for a whole one.
    ///
    /// # Errors
    /// The output fails.
    pub fn end<W: Write + ?Sized>(mut self, out: &mut W, outcome: Outcome) -> fmt::Result {
        let results = self.lines - 1;
        writeln!(out, "== end: {}, {results} results", outcome.name())?;
        let mut line = self.line(out, "end")?;
        line.raw("results", results)?;
        line.string("outcome", outcome.name())?;
        line.end()
    }

    /// Begins a JSON line with the fields that all have.
    fn line<'o, W: Write + ?Sized>(
        &mut self,
        out: &'o mut W,
        kind: &str,
    ) -> Result<Line<'o, W>, fmt::Error> {
        let mut line = Line::begin(out, format_args!("{{\"schema\":{SCHEMA}"))?;
        line.string("source", self.source.name())?;
        line.raw("run", self.run)?;
        line.raw("seq", self.lines)?;
        line.string("kind", kind)?;
        self.lines += 1;
        Ok(line)
    }
}
