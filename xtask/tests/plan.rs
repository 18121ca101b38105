//! `cargo xtask plan` as a user calls it: the published tables from their inputs, a user's own numbers, and what cannot be.
#![allow(clippy::unwrap_used, reason = "a test program: a panic is its verdict")]

#[path = "../src/testing.rs"]
mod testing;

use assert_cmd::Command;
use serde_json::Value;

fn plan(args: &[&str]) -> (i32, String, String) {
    let output = Command::cargo_bin("xtask")
        .unwrap()
        .arg("plan")
        .args(args)
        .output()
        .unwrap();
    (
        output.status.code().unwrap(),
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

fn json(args: &[&str]) -> Value {
    let (code, out, err) = plan(&[args, &["--json"]].concat());
    assert_eq!(code, 0, "{err}");
    serde_json::from_str(&out).unwrap()
}

fn value(row: &Value, key: &str) -> f64 {
    row[key]
        .as_f64()
        .unwrap_or_else(|| panic!("{key} in {row}"))
}

/// The rows of a CSV file, each as its cells by the header's names.
fn csv(text: &str) -> Vec<Vec<(String, String)>> {
    let mut lines = text.lines();
    let header: Vec<_> = lines.next().unwrap().split(',').collect();
    let row = |line: &str| {
        let cells = header.iter().zip(line.split(','));
        cells
            .map(|(name, cell)| (name.to_string(), cell.to_owned()))
            .collect()
    };
    lines.map(row).collect()
}

fn cell<'a>(row: &'a [(String, String)], name: &str) -> &'a str {
    &row.iter().find(|(found, _)| found == name).unwrap().1
}

#[test]
fn the_published_tables_come_out_of_their_inputs() {
    let Some(rates) = testing::shared("plan: published tables", "seed/data-rates.csv") else {
        return;
    };
    let rates = csv(&std::fs::read_to_string(&rates).unwrap());
    let khz: Vec<_> = rates.iter().map(|row| cell(row, "imu_rate_khz")).collect();
    let answer = json(&[
        "--rate",
        &khz.join(","),
        "--other",
        cell(&rates[0], "other_kb_s"),
    ]);
    for (row, published) in answer["data_rates"].as_array().unwrap().iter().zip(&rates) {
        for (name, cell) in published {
            assert_eq!(
                value(row, name),
                cell.parse::<f64>().unwrap(),
                "{name} at {published:?}"
            );
        }
    }

    let Some(max) = testing::shared("plan: published tables", "seed/max-rates.csv") else {
        return;
    };
    let max = csv(&std::fs::read_to_string(&max).unwrap());
    let setups: Vec<_> = max
        .iter()
        .map(|row| {
            format!(
                "{}={}",
                cell(row, "setup"),
                cell(row, "flash_flat_out_kb_s")
            )
        })
        .collect();
    let mut args = vec!["--rate", "8"];
    for setup in &setups {
        args.extend(["--flash-speed", setup]);
    }
    let answer = json(&args);
    let rows = answer["max_rates"].as_array().unwrap();
    assert_eq!(rows.len(), max.len());
    let mut deviations = Vec::new();
    for (row, published) in rows.iter().zip(&max) {
        // Published: whole kHz rounded down, whole percent rounded to the nearest.
        for (ours, theirs) in [
            (value(row, "max_khz_raw").floor(), "max_khz_raw"),
            (value(row, "max_khz_delta").floor(), "max_khz_delta"),
            (value(row, "at_rate_raw_kb_s"), "at_8khz_raw_kb_s"),
            (value(row, "at_rate_delta_kb_s"), "at_8khz_delta_kb_s"),
            (value(row, "share_raw_percent").round(), "share_raw_percent"),
            (
                value(row, "share_delta_percent").round(),
                "share_delta_percent",
            ),
        ] {
            let published_value: f64 = cell(published, theirs).parse().unwrap();
            if ours != published_value {
                deviations.push((cell(published, "setup"), theirs, ours, published_value));
            }
        }
    }
    // 306 kB/s is the rounded form of a speed just under it, and (306 - 20) / 11 is 26.0 exactly.
    let known = [(
        "stock core buffer in internal RAM",
        "max_khz_delta",
        26.0,
        25.0,
    )];
    assert_eq!(deviations, known);
}

#[test]
fn without_options_the_tables_are_the_published_ones() {
    let (code, out, err) = plan(&[]);
    assert_eq!((code, err.as_str()), (0, ""));
    insta::assert_snapshot!(out, @r"
    Data rates in kB/s; a sample takes 15 bytes, 11 in the delta code

     kHz  samples  other  total  with delta
       2       30     20     50          42
       4       60     20     80          64
       8      120     20    140         108

    Highest sample rates, and the share of the flash's speed at 8 kHz

     setup                                     flash kB/s  max kHz  delta  kB/s  delta  share  delta
     stock core buffer in PSRAM                       160      9.3   12.7   140    108   88 %   68 %
     stock core buffer in internal RAM                306     19.0   26.0   140    108   46 %   35 %
     rebuilt libraries buffer in PSRAM                209     12.6   17.1   140    108   67 %   52 %
     rebuilt libraries buffer in internal RAM         335     21.0   28.6   140    108   42 %   32 %

    Recording time in 7.8 MiB

     kHz  as stored    delta
       2    163.6 s  194.7 s
       4    102.2 s  127.8 s
       8     58.4 s   75.7 s
    ");
}

#[test]
fn recording_time_and_the_bytes_a_sample_that_a_time_means() {
    let answer = json(&["--rate", "8", "--time", "75"]);
    let recording = &answer["recording"][0];
    assert_eq!(value(recording, "raw_s").floor(), 58.0);
    assert_eq!(value(recording, "delta_s").floor(), 75.0);
    // A time of "about 75 s" for 7.8 MiB at 8 kHz means 11.1 bytes a sample, in agreement with "about 11".
    let means = value(&answer["time"], "sample_bytes");
    assert!((11.0..11.2).contains(&means), "{means}");
    let back = json(&["--rate", "8", "--delta-bytes", &means.to_string()]);
    assert!((value(&back["recording"][0], "delta_s") - 75.0).abs() < 1e-9);
}

#[test]
fn a_users_own_numbers() {
    let answer = json(&[
        "--rate",
        "1,3.2",
        "--sample-bytes",
        "12",
        "--delta-bytes",
        "7.5",
        "--other",
        "0",
        "--flash-speed",
        "120",
        "--flash-speed",
        "a = b=30",
        "--buffer",
        "1 MB",
        "--fifo-depth",
        "10",
    ]);
    assert_eq!(
        value(&answer["data_rates"][1], "total_with_delta_kb_s"),
        24.0
    );
    assert_eq!(value(&answer["max_rates"][0], "max_khz_raw"), 10.0);
    assert_eq!(answer["max_rates"][1]["setup"], "a = b");
    assert_eq!(value(&answer["max_rates"][1], "at_khz"), 3.2);
    assert_eq!(value(&answer["recording"][0], "raw_s").round(), 83.0);
    assert_eq!(value(&answer["fifo"], "samples"), 3.0);
    assert_eq!(value(&answer["fifo"]["bridges"][0], "ms"), 3.0);
    let (_, out, _) = plan(&["--flash-speed", "me=100"]);
    assert!(
        out.contains("me does not keep up with samples as stored, in the delta code neither."),
        "{out}"
    );
}

#[test]
fn numbers_that_cannot_be_end_with_2_and_name_their_option() {
    for (args, said) in [
        (
            ["--rate", "0"],
            "--rate: a sample rate of 0 Hz cannot be; it takes a finite number, more than 0",
        ),
        (
            ["--rate", "-8"],
            "--rate: a sample rate of -8000 Hz cannot be",
        ),
        (
            ["--rate", "8,nan"],
            "--rate: a sample rate of NaN Hz cannot be",
        ),
        (["--rate", "fast"], "invalid value 'fast' for '--rate"),
        (
            ["--sample-bytes", "inf"],
            "--sample-bytes: a sample of inf bytes cannot be",
        ),
        (
            ["--delta-bytes", "0"],
            "--delta-bytes: a sample of 0 bytes cannot be",
        ),
        (
            ["--other", "-1"],
            "--other: other data of -1000 bytes/s cannot be; it takes a finite number, 0 or more",
        ),
        (
            ["--flash-speed", "slow=15"],
            "--flash-speed: slow takes 15 kB/s, and other data (--other) alone is 20 kB/s",
        ),
        (
            ["--flash-speed", "x=0"],
            "--flash-speed: a flash speed of 0 bytes/s cannot be",
        ),
        (
            ["--flash-speed", "x="],
            "`` is not a number of kB/s; write 335 or NAME=335",
        ),
        (["--buffer", "7.8"], "`7.8` has no unit; write 7.8MiB"),
        (
            ["--buffer", "7.8GiB"],
            "there is no unit `GiB`; take B, kB, KiB, MB or MiB",
        ),
        (
            ["--buffer", "0MB"],
            "--buffer: a flight buffer of 0 bytes cannot be",
        ),
        (
            ["--fifo-depth", "2"],
            "--fifo-depth: 2 words do not hold a sample; it takes 3",
        ),
        (["--time", "0"], "--time: a recording time of 0 s cannot be"),
        (
            ["--time", "500"],
            "--time: other data (--other) alone fills the flight buffer in 408.9 s",
        ),
    ] {
        let (code, out, err) = plan(&args);
        assert_eq!((code, out.as_str()), (2, ""), "{args:?}");
        assert!(err.contains(said), "{args:?}: {err}");
    }
}
