use std::format;
use std::string::String;
use std::vec;
use std::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::bench::{Kind, Marked, PhaseResult, Place, Settings, Written};
use crate::report;
use crate::report::{
    Home, Mapping, MemoryRow, Mismatch, Outcome, PatternTest, Planned, Source, Symbol, Writer,
};
use crate::stats::GapStats;
use crate::{bench, fifo};

const INFO: report::Info<'_> = report::Info {
    chip: "ESP32-S3",
    revision: 2,
    core: "3.3.12",
    idf: "v5.5.5 \"odd\\name\"\u{1F680}\n",
    symbols: &[
        Symbol {
            name: "CONFIG_SPIRAM_XIP_FROM_PSRAM",
            value: Some(1),
        },
        Symbol {
            name: "CONFIG_SPIRAM_ECC_ENABLE",
            value: None,
        },
    ],
    psram_bytes: 7_864_320,
    ecc: true,
    flash_bytes: 16 << 20,
    partition_bytes: 8 << 20,
    code: Mapping {
        home: Home::Psram,
        vaddr: 0x4200_1234,
        paddr: 0x1234,
    },
    constants: Mapping {
        home: Home::Flash,
        vaddr: 0x3C00_0010,
        paddr: 0x2_0010,
    },
};

fn phase_result(passes: u64) -> PhaseResult {
    let mut gaps = GapStats::new(500);
    for pass in 0..passes {
        gaps.pass(500 + pass * 2_000 + (pass % 7) * 90);
    }
    PhaseResult {
        phase: bench::Phase {
            kind: Kind::Write166,
            place: Place::Psram,
        },
        written: Written {
            bytes: 2 << 20,
            erased_sectors: 0,
            calls: 512,
            longest_call_us: 26_001,
            elapsed_us: 12_633_735,
            stopped: false,
        },
        gaps,
        fifo: fifo::Counts {
            read: 70_000,
            lost: 12,
            overruns: 3,
        },
    }
}

/// A report with a line of every kind but a fault.
fn written(run: u32, outcome: Outcome) -> String {
    let mut out = String::new();
    let settings = Settings::default();
    let phases = [bench::Phase {
        kind: Kind::Write166,
        place: Place::Psram,
    }];
    let plan = bench::Plan::new(&phases, 2 << 20, 8 << 20, &Marked::NONE).unwrap();
    let mut writer =
        Writer::begin(&mut out, Source::Board, run, "0.1.0", "run write-166 psram").unwrap();
    writer.info(&mut out, &INFO).unwrap();
    let first = Some(Mismatch {
        offset: 64,
        expected: 0xFFFF_FFFF,
        found: 7,
    });
    for first in [None, first] {
        let errors = u32::from(first.is_some());
        let test = PatternTest {
            bytes: 4 << 20,
            errors,
            first,
            elapsed_us: 99,
        };
        writer.psram_test(&mut out, &test).unwrap();
    }
    let row = MemoryRow {
        test: "read-sequential",
        memory: "psram",
        bytes: 4 << 20,
        runs: 8,
        total_us: 268_865,
    };
    writer.memory(&mut out, &row).unwrap();
    writer
        .plan(
            &mut out,
            &Planned {
                settings: &settings,
                plan: &plan,
            },
        )
        .unwrap();
    writer.phase(&mut out, &phase_result(6_000)).unwrap();
    writer.end(&mut out, outcome).unwrap();
    out
}

fn json_lines(report: &str) -> Vec<&str> {
    report
        .lines()
        .filter(|line| line.starts_with('{'))
        .collect()
}

#[test]
fn what_was_written_is_read_back() {
    let log = read(written(77, Outcome::Complete).as_bytes());
    assert_eq!(log.trouble, []);
    let [report] = &log.reports[..] else {
        panic!("{} reports", log.reports.len())
    };
    assert_eq!(report.whole(), Ok(()));
    assert_eq!((report.run, report.is_simulation()), (77, false));
    let info = report.info().unwrap();
    assert_eq!(info.idf, INFO.idf);
    assert_eq!(info.symbols["CONFIG_SPIRAM_XIP_FROM_PSRAM"], Some(1));
    assert_eq!(info.symbols["CONFIG_SPIRAM_ECC_ENABLE"], None);
    assert_eq!(
        (info.code.home.as_str(), info.code.vaddr),
        ("psram", 0x4200_1234)
    );
    assert_eq!(
        (info.constants.home.as_str(), info.constants.paddr),
        ("flash", 0x2_0010)
    );
    assert_eq!(report.psram_tests().count(), 2);
    assert_eq!(
        report.psram_tests().last().unwrap().first,
        Some(First {
            offset: 64,
            expected: 0xFFFF_FFFF,
            found: 7
        })
    );
    assert_eq!(report.memory().next().unwrap().total_us, 268_865);
    assert_eq!(report.plan().unwrap().write_bytes, 2 << 20);
    let result = phase_result(6_000);
    let phase = report.phases().next().unwrap();
    assert_eq!(
        (phase.phase.as_str(), phase.buffer.as_str()),
        ("write-166", "psram")
    );
    assert_eq!(
        (phase.target_bytes_s, phase.bytes_s),
        (Some(166_000), 165_996)
    );
    assert_eq!(
        phase.loop_hz,
        f64::from(result.gaps.rate_millihertz()) / 1e3
    );
    assert_eq!(
        phase.histogram.iter().map(|(_, count)| count).sum::<u32>(),
        5_999
    );
    assert_eq!(phase.slices, result.gaps.time_line().worst_us());
    assert_eq!((phase.samples_lost, phase.fifo_overruns), (12, 3));
}

#[test]
fn the_lines_stay_what_the_schema_says() {
    let mut out = String::new();
    let writer = Writer::begin(&mut out, Source::Simulation, 7, "0.1.0", "run").unwrap();
    writer.end(&mut out, Outcome::Complete).unwrap();
    // The CRCs by Python's zlib.crc32.
    assert_eq!(
        json_lines(&out),
        [
            r#"{"schema":1,"source":"simulation","run":7,"seq":0,"kind":"begin","firmware":"0.1.0","command":"run","crc":"e6ff5d87"}"#,
            r#"{"schema":1,"source":"simulation","run":7,"seq":1,"kind":"end","results":0,"outcome":"complete","crc":"9048739e"}"#,
        ]
    );
}

#[test]
fn an_outcome_other_than_complete_is_no_whole_report() {
    let stopped = read(written(1, Outcome::Stopped).as_bytes());
    assert_eq!(stopped.reports[0].whole(), Err(Incomplete::Stopped));

    let mut out = String::new();
    let mut writer = Writer::begin(&mut out, Source::Board, 1, "0.1.0", "run").unwrap();
    writer.fault(&mut out, "flash: ESP_ERR_TIMEOUT").unwrap();
    writer.end(&mut out, Outcome::Failed).unwrap();
    let why = read(out.as_bytes()).reports[0].whole().unwrap_err();
    assert_eq!(format!("{why}"), "the run failed: flash: ESP_ERR_TIMEOUT");
}

#[test]
fn carriage_returns_garbage_and_other_lines_do_no_harm() {
    let mut log = Vec::from(&b"\xFF\x00garb{\"schema\"age"[..]);
    log.extend(b"ESP-ROM:esp32s3-20210327\r\nrst:0x1 (POWERON),boot:0x8 (SPI_FAST_FLASH_BOOT)\r\n");
    log.extend(
        written(3, Outcome::Complete)
            .replace('\n', "\r\n[ 12][I][a.cpp:1] f(): {x}\r\n")
            .bytes(),
    );
    let log = read(&log);
    assert_eq!(log.trouble, []);
    assert_eq!(log.reports[0].whole(), Ok(()));
}

#[test]
fn a_line_cut_in_two_is_joined_with_what_stands_between() {
    let report = written(3, Outcome::Complete);
    let target = json_lines(&report)[1];
    let at = report.find(target).unwrap();
    for cut in 1..target.len() {
        for between in ["\n", "\r\n", "\nE (123) task_wdt: something else {\n"] {
            let mut log = report.clone();
            log.insert_str(at + cut, between);
            let log = read(log.as_bytes());
            assert_eq!(log.reports[0].whole(), Ok(()), "cut at {cut}");
            assert_eq!(log.trouble, [], "cut at {cut}");
        }
    }
}

#[test]
fn a_reset_in_the_middle_ends_the_report() {
    let report = written(3, Outcome::Complete);
    let boot = "ESP-ROM:esp32s3-20210327\nrst:0xc (RTC_SW_CPU_RST),boot:0x8\n";
    for cut in (report.find("\"seq\":1").unwrap()..report.len() - 2).step_by(7) {
        if !report.is_char_boundary(cut) {
            continue;
        }
        // The board does not go on, nor does a later report heal the cut one.
        let log = format!("{}{boot}{}", &report[..cut], written(4, Outcome::Complete));
        let log = read(log.as_bytes());
        assert_eq!(log.reports.len(), 2, "cut at {cut}");
        assert_eq!(
            log.reports[0].whole(),
            Err(Incomplete::NoEnd),
            "cut at {cut}"
        );
        assert_eq!(log.reports[1].whole(), Ok(()), "cut at {cut}");
        assert!(
            log.trouble.iter().any(
                |trouble| matches!(&trouble.what, What::Reset(why) if why.starts_with("rst:0xc"))
            ),
            "cut at {cut}"
        );
    }
}

#[test]
fn a_reset_does_not_let_the_rest_of_a_report_follow() {
    let report = written(3, Outcome::Complete);
    let half = report.find("\"kind\":\"plan\"").unwrap();
    let half = report[..half].rfind('{').unwrap();
    let log = format!("{}rst:0x3\n{}", &report[..half], &report[half..]);
    let log = read(log.as_bytes());
    assert!(log.reports.iter().all(|report| report.whole().is_err()));
}

#[test]
fn a_crash_is_told() {
    let report = written(3, Outcome::Complete);
    let half = report.len() / 2;
    let crash = "Guru Meditation Error: Core  1 panic'ed (Cache disabled but cached memory region accessed).\n\nrst:0xc\n";
    let log = read(format!("{}{crash}", &report[..half]).as_bytes());
    assert!(matches!(&log.trouble[0].what, What::Panic(text) if text.contains("Cache disabled")));
    assert!(log.reports[0].whole().is_err());
}

#[test]
fn a_newer_schema_is_named_and_not_guessed() {
    let line = r#"{"schema":2,"source":"board","run":1,"seq":0,"kind":"begin""#;
    let log = read(
        format!(
            "{line},\"crc\":\"{:08x}\"}}\n",
            crate::crc::crc32(line.as_bytes())
        )
        .as_bytes(),
    );
    assert_eq!(log.reports, []);
    assert!(matches!(&log.trouble[0].what, What::Schema(why) if why == "schema 2, not 1"));
}

#[test]
fn lines_of_two_reports_do_not_mix() {
    let (first, second) = (written(1, Outcome::Complete), written(2, Outcome::Complete));
    let mut mixed = String::new();
    for (one, other) in first.lines().zip(second.lines()) {
        mixed += one;
        mixed += "\n";
        mixed += other;
        mixed += "\n";
    }
    assert!(
        read(mixed.as_bytes())
            .reports
            .iter()
            .all(|report| report.whole().is_err())
    );
}

#[test]
fn a_report_is_whole_only_with_every_line() {
    let report = written(9, Outcome::Complete);
    let lines = json_lines(&report);
    for gone in 0..lines.len() {
        let rest: Vec<_> = lines
            .iter()
            .enumerate()
            .filter(|(index, _)| *index != gone)
            .map(|(_, line)| *line)
            .collect();
        let log = read(rest.join("\n").as_bytes());
        assert!(
            log.reports.iter().all(|report| report.whole().is_err()),
            "without {gone}"
        );
        let mut doubled = lines.clone();
        doubled.insert(gone, lines[gone]);
        let log = read(doubled.join("\n").as_bytes());
        let whole = log
            .reports
            .iter()
            .filter(|report| report.whole().is_ok())
            .count();
        // The first line twice is a report begun and given up, then a whole one; the last twice, a whole one and a rest.
        let expected = usize::from(gone == 0 || gone == lines.len() - 1);
        assert_eq!(whole, expected, "{gone} twice");
    }
}

#[test]
fn a_report_cut_at_any_byte_is_whole_only_at_its_end() {
    let report = written(9, Outcome::Complete);
    for cut in 0..report.len() - 1 {
        let log = read(&report.as_bytes()[..cut]);
        assert!(
            log.reports.iter().all(|report| report.whole().is_err()),
            "cut at {cut}"
        );
    }
    assert_eq!(
        read(&report.as_bytes()[..report.len() - 1]).reports[0].whole(),
        Ok(())
    );
}

fn changed(report: &str, at: usize, to: u8) -> Vec<u8> {
    let mut bytes = Vec::from(report);
    bytes[at] = to;
    bytes
}

#[test]
fn a_log_of_marks_alone_takes_no_longer_than_another() {
    let marks = "{\"schema\":,\"crc\":\"00000000\"}".repeat(40_000);
    let begun = std::time::Instant::now();
    assert!(read(marks.as_bytes()).reports.is_empty());
    assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn a_changed_byte_never_changes_what_is_read(at in any::<prop::sample::Index>(), to: u8) {
        let report = written(5, Outcome::Complete);
        let good = read(report.as_bytes()).reports;
        let log = read(&changed(&report, at.index(report.len()), to));
        for read in log.reports {
            if read.whole().is_ok() {
                prop_assert_eq!(&read, &good[0]);
            }
        }
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..2_000)) {
        read(&bytes);
    }

    #[test]
    fn no_text_of_marks_panics(pieces in prop::collection::vec(prop::sample::select(vec![
        "{\"schema\":", "1,", ",\"crc\":\"", "00000000", "\"}", "\n", "\r", "rst:0x", "Guru Meditation Error", "\u{1F680}", "{",
    ]), 0..60)) {
        let text: String = pieces.concat();
        prop_assert!(read(text.as_bytes()).reports.is_empty());
    }

    #[test]
    fn it_does_not_matter_in_what_pieces_a_log_arrives(cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..40)) {
        let log = format!("boot {{\n{}rst:0x1\n{}", written(1, Outcome::Stopped), written(2, Outcome::Complete));
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(log.len())).collect();
        cuts.sort_unstable();
        let mut reader = Reader::default();
        let mut from = 0;
        for cut in cuts {
            reader.push(&log.as_bytes()[from..cut]);
            from = cut;
        }
        reader.push(&log.as_bytes()[from..]);
        prop_assert_eq!(reader.finish(), read(log.as_bytes()));
    }
}
