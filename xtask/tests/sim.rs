//! `cargo xtask sim`, run as a program.
#![allow(
    clippy::unwrap_used,
    reason = "a test's own functions may fail the test"
)]

use assert_cmd::Command;
use flightlog::report::read;

fn sim(arguments: &[&str]) -> (i32, String, String) {
    let output = Command::cargo_bin("xtask")
        .unwrap()
        .arg("sim")
        .args(arguments)
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[test]
fn both_libraries_stand_beside_the_articles_figures() {
    let (code, out, err) = sim(&[]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.starts_with("SIMULATED, not measured"), "{out}");
    let row = |phase: &str, libraries: &str| {
        let found = out
            .lines()
            .find(|line| line.trim_start().starts_with(phase) && line.contains(libraries));
        found
            .unwrap_or_else(|| panic!("no row for {phase}, {libraries}:\n{out}"))
            .to_owned()
    };
    for (phase, stock, xip) in [
        (
            "write-55",
            ["(349, ", "(15.8, ", "(42, "],
            ["(499, ", "(5.4, ", " 0 (0)"],
        ),
        (
            "write-166",
            ["(193, ", "(15, ", "(77, "],
            ["(499, ", "(5.2, ", " 0 (0)"],
        ),
        (
            "write-flat-out",
            ["(196, ", "(12.9, ", "(24, "],
            ["(499, ", "(4.6, ", " 0 (0)"],
        ),
        (
            "erase-64k",
            ["(17, ", "(202, ", "(3, "],
            ["(499, ", "(4.9, ", " 0 (0)"],
        ),
    ] {
        for (libraries, figures) in [("stock", stock), ("xip", xip)] {
            let row = row(phase, libraries);
            for figure in figures {
                assert!(row.contains(figure), "{figure} in {row}");
            }
        }
    }
    for speed in ["(160, ", "(209, ", "(306, ", "(335, "] {
        assert!(out.contains(speed), "{speed} in {out}");
    }
    assert!(!out.contains("OUTSIDE") && !out.contains("-0.0 %"), "{out}");
    assert!(out.contains("28 of 28 figures"), "{out}");
}

#[test]
fn json_says_what_it_is_and_how_far_off() {
    let (code, out, _) = sim(&["--xip", "--json"]);
    assert_eq!(code, 0);
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(json["source"], "simulation");
    let runs = json["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 1);
    assert_eq!(runs[0]["libraries"], "xip");
    let phases = runs[0]["phases"].as_array().unwrap();
    assert_eq!(phases.len(), 8);
    assert!(phases.iter().all(|phase| phase["fifo_overruns"] == 0));
    // Four phases of three figures, and the speed flat out from both places.
    let cells = json["article"].as_array().unwrap();
    assert_eq!(cells.len(), 14);
    assert!(cells.iter().all(|cell| cell["within"] == true));
}

#[test]
fn the_report_is_a_boards_but_for_its_label() {
    for (arguments, home) in [
        (&["--report"][..], "psram"),
        (&["--stock", "--report"], "flash"),
    ] {
        let (code, out, _) = sim(arguments);
        assert_eq!(code, 0);
        let log = read::read(out.as_bytes());
        assert_eq!(log.trouble, []);
        let [report] = &log.reports[..] else {
            panic!("one report in {out}");
        };
        assert_eq!(report.whole(), Ok(()));
        assert!(report.is_simulation());
        assert_eq!(report.info().unwrap().code.home, home);
        assert_eq!(report.phases().count(), 8);
        for line in out.lines().filter(|line| line.starts_with('{')) {
            assert!(line.contains("\"source\":\"simulation\""), "{line}");
        }
    }
}

#[test]
fn another_imu_is_not_held_against_the_article() {
    let (code, out, _) = sim(&["--stock", "--imu-hz", "2000"]);
    assert_eq!(code, 0);
    assert!(!out.contains('('), "{out}");
    assert!(out.contains("No comparison"), "{out}");
}

#[test]
fn calls_that_contradict_themselves_are_wrong_usage() {
    for arguments in [
        &["--stock", "--xip"][..],
        &["--json", "--report"],
        &["--imu-hz", "0"],
        &["--fifo-words", "2"],
    ] {
        assert_eq!(sim(arguments).0, 2, "{arguments:?}");
    }
}
