//! What a board would put out, made of the simulator's figures; integration tests include this file by path.
#![allow(dead_code, reason = "each test program uses its part")]

use flightlog::bench::Settings;
use flightlog::command::Run;
use flightlog::crc::crc32;
use flightlog::report::{
    Home, Info, Mapping, MemoryRow, Outcome, PatternTest, Planned, Source, Symbol, Writer,
};
use simulator::{Constants, FLIGHT_BUFFER, Libraries, Simulation};

/// A board with a program of these libraries.
pub(crate) struct Board {
    libraries: Libraries,
    simulation: Simulation,
}

impl Board {
    pub(crate) fn new(libraries: Libraries) -> Self {
        let phases: Vec<_> = Run::default().phases().collect();
        let settings = Settings::default();
        let constants = Constants::default();
        let simulation =
            simulator::simulate(&constants, libraries, &settings, &phases, FLIGHT_BUFFER);
        Self {
            libraries,
            simulation: simulation.expect("the simulator's own settings fit"),
        }
    }

    /// What it answers to a command, as `source` says it.
    pub(crate) fn answer(&self, source: Source, command: &str, run: u32) -> String {
        let mut text = String::new();
        let out = &mut text;
        let mut written = || -> Result<(), std::fmt::Error> {
            let mut report = Writer::begin(out, source, run, "0.1.0", command)?;
            match command {
                "info" => self.info(&mut report, out)?,
                "membench" => self.memory(&mut report, out)?,
                _ => {
                    let (settings, plan) = (&self.simulation.settings, &self.simulation.plan);
                    report.plan(out, &Planned { settings, plan })?;
                    for result in &self.simulation.results {
                        report.phase(out, result)?;
                    }
                }
            }
            report.end(out, Outcome::Complete)
        };
        written().expect("a text takes everything");
        text.replace('\n', "\r\n")
    }

    fn info(&self, report: &mut Writer, out: &mut String) -> std::fmt::Result {
        let xip = self.libraries == Libraries::Xip;
        let home = if xip { Home::Psram } else { Home::Flash };
        let mapping = |vaddr, paddr| Mapping { home, vaddr, paddr };
        let on = xip.then_some(1);
        let symbols = [
            ("CONFIG_SPIRAM_MODE_OCT", Some(1)),
            ("CONFIG_SPIRAM_FETCH_INSTRUCTIONS", on),
            ("CONFIG_SPIRAM_RODATA", on),
            ("CONFIG_SPIRAM_ECC_ENABLE", on),
            ("CONFIG_ESP32S3_DATA_CACHE_SIZE", Some(32 * 1024)),
        ]
        .map(|(name, value)| Symbol { name, value });
        report.info(
            out,
            &Info {
                chip: "esp32s3",
                revision: 2,
                core: "3.3.12",
                idf: "v5.5.5",
                symbols: &symbols,
                psram_bytes: if xip { 7680 << 10 } else { 8 << 20 },
                ecc: xip,
                flash_bytes: 16 << 20,
                partition_bytes: FLIGHT_BUFFER,
                code: mapping(0x4200_0020, 0x20),
                constants: mapping(0x3C00_0020, 0x1_0020),
            },
        )
    }

    fn memory(&self, report: &mut Writer, out: &mut String) -> std::fmt::Result {
        let test = PatternTest {
            bytes: 6 << 20,
            errors: 0,
            first: None,
            elapsed_us: 1_000_000,
        };
        report.psram_test(out, &test)?;
        let row = MemoryRow {
            test: "read-sequential",
            memory: "psram",
            bytes: 1 << 20,
            runs: 4,
            total_us: 60_000,
        };
        report.memory(out, &row)
    }

    /// All that a captured log of it holds: the start, and the answers to `membench` and `run`.
    pub(crate) fn log(&self, source: Source) -> String {
        let start =
            "ESP-ROM:esp32s3-20210327\r\nrst:0x1 (POWERON),boot:0x8 (SPI_FAST_FLASH_BOOT)\r\n";
        let answers = ["info", "membench", "run"].into_iter().zip(1..);
        answers.fold(start.to_owned(), |log, (command, run)| {
            log + &self.answer(source, command, run)
        })
    }
}

/// The log with `from` changed to `to` in every report line, and the CRCs right again.
pub(crate) fn changed(log: &str, from: &str, to: &str) -> String {
    assert!(log.contains(from), "{from} is not in the log");
    log.lines()
        .map(|line| match line.rsplit_once(",\"crc\":\"") {
            Some((body, _)) => {
                let body = body.replace(from, to);
                format!("{body},\"crc\":\"{:08x}\"}}\r\n", crc32(body.as_bytes()))
            }
            None => format!("{line}\r\n"),
        })
        .collect()
}
