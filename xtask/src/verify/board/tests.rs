use std::sync::LazyLock;

use flightlog::report::Source;
use proptest::prelude::*;
use simulator::Libraries;

use super::made_up::{Board, changed};
use super::*;
use crate::names::Chip;
use crate::patchset;

static XIP: LazyLock<String> = LazyLock::new(|| Board::new(Libraries::Xip).log(Source::Board));
static STOCK: LazyLock<String> = LazyLock::new(|| Board::new(Libraries::Stock).log(Source::Board));

fn heard(log: impl AsRef<[u8]>) -> Heard {
    Heard {
        from: "board.log".into(),
        bytes: log.as_ref().to_vec(),
        broke_off: None,
    }
}

fn judged(log: impl AsRef<[u8]>, expected: &Expected) -> Vec<Check> {
    let plan = Plan {
        expected,
        accept_simulation: false,
    };
    check(plan, &heard(log), None).0
}

fn bad(checks: &[Check]) -> Vec<&'static str> {
    let bad = checks.iter().filter(|check| check.is_bad());
    bad.map(|check| check.id).collect()
}

fn why(checks: &[Check], id: &str) -> String {
    match &checks.iter().find(|check| check.id == id).unwrap().outcome {
        Outcome::Passed { detail } => detail.clone(),
        Outcome::Failed { why, what_to_do } => {
            assert!(!what_to_do.is_empty());
            why.clone()
        }
        Outcome::NotRun { why } => why.clone(),
    }
}

fn set(name: &str) -> Expected {
    let set = patchset::find(name).unwrap();
    set.check_chip(&"esp32s3".parse::<Chip>().unwrap()).unwrap();
    Expected::Set(Box::new(set))
}

#[test]
fn a_board_with_the_right_libraries_passes() {
    for expected in [Expected::AsTheySay, set("xip-ecc"), set("xip-ecc-chip")] {
        let checks = judged(&*XIP, &expected);
        assert!(bad(&checks).is_empty(), "{checks:#?}");
        let passed = |check: &Check| matches!(check.outcome, Outcome::Passed { .. });
        assert!(checks.iter().all(passed), "{checks:#?}");
    }
    assert_eq!(bad(&judged(&*STOCK, &Expected::Stock)), [""; 0]);
}

#[test]
fn stock_libraries_fail_where_they_should() {
    let failing = [
        "board.placement",
        "board.symbols",
        "board.loop",
        "board.gap",
        "board.overruns",
    ];
    assert_eq!(bad(&judged(&*STOCK, &Expected::AsTheySay)), failing);
    let checks = judged(&*STOCK, &set("xip-ecc"));
    let id = |id: &&str| checks.iter().any(|check| check.id == *id && check.is_bad());
    assert!(failing.iter().all(&id) && id(&"board.ecc"));
    assert_eq!(
        bad(&judged(&*XIP, &Expected::Stock)),
        ["board.placement", "board.symbols", "board.ecc"]
    );
}

#[test]
fn each_limit_is_held() {
    let expected = set("xip-ecc");
    for (from, to, id, says) in [
        (
            "\"code\":{\"home\":\"psram\"",
            "\"code\":{\"home\":\"flash\"",
            "board.placement",
            "code in flash",
        ),
        (
            "\"constants\":{\"home\":\"psram\"",
            "\"constants\":{\"home\":\"unknown\"",
            "board.placement",
            "constants in unknown",
        ),
        (
            "\"CONFIG_SPIRAM_RODATA\":1",
            "\"CONFIG_SPIRAM_RODATA\":null",
            "board.symbols",
            "CONFIG_SPIRAM_RODATA is not set, not y",
        ),
        ("\"ecc\":true", "\"ecc\":false", "board.ecc", "off, 7680 KB"),
        (
            "\"errors\":0",
            "\"errors\":3",
            "board.psram",
            "3 wrong words in 6144 KB",
        ),
        (
            "\"bytes\":6291456",
            "\"bytes\":32768",
            "board.psram",
            "fits the cache",
        ),
        (
            "\"source\":\"board\"",
            "\"source\":\"simulation\"",
            "board.measured",
            "SIMULATED",
        ),
        (
            "\"outcome\":\"complete\"",
            "\"outcome\":\"stopped\"",
            "board.report",
            "stopped",
        ),
        (
            "\"phase\":\"write-55\",\"buffer\":\"psram\"",
            "\"phase\":\"write-56\",\"buffer\":\"psram\"",
            "board.report",
            "write-55, buffer psram",
        ),
        (
            "\"fifo_overruns\":0",
            "\"fifo_overruns\":2",
            "board.overruns",
            "write-55, buffer internal: 2",
        ),
    ] {
        let checks = judged(changed(&XIP, from, to), &expected);
        assert!(bad(&checks).contains(&id), "{to}: {checks:#?}");
        assert!(
            why(&checks, id).contains(says),
            "{to}: {}",
            why(&checks, id)
        );
    }
}

/// The first phase's `field` made `value`.
fn with_figure(field: &str, value: &str) -> String {
    let at = XIP.find(&format!("\"{field}\":")).unwrap();
    let old: String = XIP[at..].chars().take_while(|next| *next != ',').collect();
    changed(&XIP, &old, &format!("\"{field}\":{value}"))
}

#[test]
fn the_limits_are_where_they_are_said_to_be() {
    for (field, value, id, good) in [
        ("loop_hz", "498.500", "board.loop", true),
        ("loop_hz", "498.499", "board.loop", false),
        ("loop_hz", "0.000", "board.loop", false),
        ("worst_gap_us", "6000", "board.gap", true),
        ("worst_gap_us", "6001", "board.gap", false),
    ] {
        let checks = judged(with_figure(field, value), &Expected::AsTheySay);
        assert_eq!(
            bad(&checks),
            if good { vec![] } else { vec![id] },
            "{field} {value}"
        );
    }
}

#[test]
fn a_damaged_log_is_never_read_as_a_whole_one() {
    let log = &*XIP;
    // Garbage before, lines cut in two: all is there, and the lines in between are passed over.
    let garbage = [&b"\xff\x00{\"schema\":1,\"sou\xfe\r\n"[..], log.as_bytes()].concat();
    assert_eq!(bad(&judged(garbage, &Expected::AsTheySay)), [""; 0]);
    let phase = log.find("\"kind\":\"phase\"").unwrap();
    let cut_in_two = format!("{}\r\n{}", &log[..phase], &log[phase..]);
    assert_eq!(bad(&judged(cut_in_two, &Expected::AsTheySay)), [""; 0]);
    assert_eq!(
        bad(&judged(log.replace("\r\n", "\n"), &Expected::AsTheySay)),
        [""; 0]
    );

    // A reset in the middle, and the sketch from its start.
    let start = &log[..log.find("== StallBench 0.1.0: membench").unwrap()];
    let reset = format!(
        "{}\r\n{}",
        &log[..phase],
        start.replace("POWERON", "TG0WDT_SYS_RST")
    );
    let checks = judged(reset, &Expected::AsTheySay);
    assert!(
        why(&checks, "board.report").contains("no end line"),
        "{checks:#?}"
    );
    assert!(
        why(&checks, "board.steady").contains("TG0WDT_SYS_RST"),
        "{checks:#?}"
    );
    assert!(bad(&checks).contains(&"board.loop"), "{checks:#?}");

    let panic = "Guru Meditation Error: Core  1 panic'ed (Cache disabled but cached memory region accessed).\r\n";
    let crashed = format!("{}\r\n{panic}", &log[..phase]);
    let checks = judged(crashed, &Expected::AsTheySay);
    assert!(why(&checks, "board.steady").contains("Guru Meditation Error: Core  1"));
    assert!(bad(&checks).contains(&"board.report"));
    // A crash is told also where the report is whole.
    let checks = judged(format!("{log}{panic}"), &Expected::AsTheySay);
    assert_eq!(bad(&checks), ["board.steady"]);

    // A whole run, and half of another: the last counts.
    let run = &log[log.find("== StallBench 0.1.0: run").unwrap()..];
    let again = changed(run, "\"run\":3", "\"run\":4");
    let twice = format!("{log}{}", &again[..again.len() / 2]);
    assert!(bad(&judged(twice, &Expected::AsTheySay)).contains(&"board.report"));
    // Two programs in one log.
    let both = format!("{}{log}", &*STOCK);
    let checks = judged(both, &Expected::AsTheySay);
    assert!(
        why(&checks, "board.placement").contains("2 different"),
        "{checks:#?}"
    );

    for (log, says) in [("", "no report in it"), (start, "only other commands did")] {
        let checks = judged(log, &Expected::AsTheySay);
        assert!(why(&checks, "board.report").contains(says), "{checks:#?}");
        assert!(bad(&checks).contains(&"board.loop"));
    }
}

#[test]
fn a_simulation_is_called_one() {
    let plan = |accept_simulation| Plan {
        expected: &Expected::AsTheySay,
        accept_simulation,
    };
    let simulated = heard(Board::new(Libraries::Xip).log(Source::Simulation));
    let (checks, seen) = check(plan(false), &simulated, None);
    assert_eq!(bad(&checks), ["board.measured"]);
    assert!(seen.run.is_simulation());
    let (checks, _) = check(plan(true), &simulated, None);
    assert_eq!(bad(&checks), [""; 0]);
    assert!(why(&checks, "board.measured").starts_with("SIMULATED"));
}

#[test]
fn a_stock_run_stands_beside() {
    let plan = Plan {
        expected: &Expected::AsTheySay,
        accept_simulation: true,
    };
    let (checks, seen) = check(plan, &heard(&*XIP), Some(&heard(&*STOCK)));
    assert_eq!(bad(&checks), [""; 0], "{checks:#?}");
    assert_eq!(seen.table.len(), 8);
    let row = &seen.table[7];
    assert_eq!(
        (row.phase.as_str(), row.buffer.as_str()),
        ("erase-64k", "psram")
    );
    let (run, stock) = (row.run.unwrap(), row.stock.unwrap());
    assert!(run.loop_hz > LOOP_HZ && stock.loop_hz < 20.0 && stock.worst_gap_ms > 100.0);
    assert_eq!(run.kb_s, None);
    assert_eq!(seen.table[4].target(), "55");

    let simulated = Board::new(Libraries::Stock).log(Source::Simulation);
    for (stock, says) in [
        (XIP.clone(), "code in psram"),
        (STOCK[..STOCK.len() / 2].to_owned(), "no end line"),
        (simulated, "the other simulated"),
        (String::new(), "no report"),
    ] {
        let (checks, _) = check(plan, &heard(&*XIP), Some(&heard(stock)));
        assert_eq!(bad(&checks), ["board.stock"]);
        assert!(
            why(&checks, "board.stock").contains(says),
            "{says}: {checks:#?}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_log_cut_anywhere_is_not_whole(cut in 0usize..10_000) {
        // Short of the end line's brace, however much of it is there.
        let end = XIP.trim_end().len();
        let cut = cut * (end - 1) / 10_000;
        let checks = judged(&XIP.as_bytes()[..cut], &Expected::AsTheySay);
        prop_assert!(bad(&checks).contains(&"board.report"));
        let (_, seen) = check(
            Plan { expected: &Expected::AsTheySay, accept_simulation: false },
            &heard(&XIP.as_bytes()[..cut]),
            None,
        );
        prop_assert!(seen.run.phases.is_empty());
    }

    #[test]
    fn no_log_is_too_odd(bytes in prop::collection::vec(any::<u8>(), 0..2_000)) {
        prop_assert!(!bad(&judged(bytes, &Expected::AsTheySay)).is_empty());
    }
}
