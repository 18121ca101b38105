//! A damaged serial log: no panic, the same whatever pieces it arrives in, and never a whole report that was not written.
#![no_main]

use arbitrary::Arbitrary;
use flightlog::report::read::{self, Reader};
use flightlog::report::{MemoryRow, Outcome, Source, Writer};
use libfuzzer_sys::{arbitrary, fuzz_target};

/// The CRC keeps a fuzzer out that only invents bytes, so logs are made of true lines and of damage.
#[derive(Arbitrary, Debug)]
enum Piece {
    /// Any bytes.
    Bytes(Vec<u8>),
    /// A line of a report.
    Line {
        report: bool,
        line: u8,
    },
    /// A part of one.
    Part {
        report: bool,
        line: u8,
        from: u16,
        to: u16,
    },
    /// What a chip prints.
    Reset,
    Panic,
    Newline,
}

fn report(run: u32) -> String {
    let mut out = String::new();
    let mut writer =
        Writer::begin(&mut out, Source::Board, run, "0", "run").expect("a string takes all");
    for bytes in [64, 1024] {
        let row = MemoryRow {
            test: "read",
            memory: "psram",
            bytes,
            runs: run,
            total_us: 9,
        };
        writer.memory(&mut out, &row).expect("a string takes all");
    }
    writer
        .end(&mut out, Outcome::Complete)
        .expect("a string takes all");
    out
}

fuzz_target!(|input: (Vec<Piece>, Vec<u8>)| {
    let (pieces, cuts) = input;
    let reports = [report(1), report(2)];
    let line = |which: bool, line: u8| {
        let lines: Vec<&str> = reports[usize::from(which)].lines().collect();
        lines[usize::from(line) % lines.len()]
    };
    let mut log = Vec::new();
    for piece in &pieces {
        match piece {
            Piece::Bytes(bytes) => log.extend_from_slice(bytes),
            Piece::Line {
                report,
                line: number,
            } => {
                log.extend_from_slice(line(*report, *number).as_bytes());
                log.push(b'\n');
            }
            Piece::Part {
                report,
                line: number,
                from,
                to,
            } => {
                let bytes = line(*report, *number).as_bytes();
                let from = usize::from(*from) % bytes.len();
                let to = from + usize::from(*to) % (bytes.len() - from + 1);
                log.extend_from_slice(&bytes[from..to]);
            }
            Piece::Reset => log.extend_from_slice(b"rst:0xc (RTC_SW_CPU_RST)\r\n"),
            Piece::Panic => log.extend_from_slice(b"Guru Meditation Error: Core  1 panic'ed\r\n"),
            Piece::Newline => log.push(b'\n'),
        }
    }
    let whole = read::read(&log);
    for report in whole.reports.iter().filter(|report| report.whole().is_ok()) {
        let written = reports.iter().map(|text| read::read(text.as_bytes()));
        assert!(
            written
                .flat_map(|log| log.reports)
                .any(|written| written == *report)
        );
    }
    let mut reader = Reader::default();
    let mut rest = &log[..];
    for cut in cuts {
        let (now, later) = rest.split_at(usize::from(cut).min(rest.len()));
        reader.push(now);
        rest = later;
    }
    reader.push(rest);
    assert_eq!(reader.finish(), whole);
});
