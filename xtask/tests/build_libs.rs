//! `cargo xtask build-libs`: what it refuses before any work, and with which exit code.

#![allow(clippy::unwrap_used, reason = "a test program: a panic is its verdict")]

use std::path::Path;

use assert_cmd::Command;

const PINS: &str = "lib-builder: master aaf47ab\nesp-idf: release/v5.1 d23b7a0361\n\
                    arduino: idf-release/v5.1 0a7b3353\ntinyusb: master 3ec22e24e\n";

/// The command in a folder of its own, away from the user's Arduino and config.
fn build_libs(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command
        .arg("build-libs")
        .env("HOME", home)
        .env("XDG_CONFIG_HOME", home)
        .current_dir(home);
    for name in [
        "ARDUINO_DIRECTORIES_DATA",
        "ARDUINO_DATA_DIR",
        "XTASK_CONFIG",
    ] {
        command.env_remove(name);
    }
    command.args(["--work-dir", "work", "--out", "out"]);
    command
}

fn refused(arguments: &[&str], code: i32, words: &[&str]) {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("versions.txt"), PINS).unwrap();
    let output = build_libs(home.path())
        .args(arguments)
        .assert()
        .code(code)
        .get_output()
        .clone();
    let error = String::from_utf8(output.stderr).unwrap();
    for word in words {
        assert!(
            error.contains(word),
            "{arguments:?}: `{word}` is not in\n{error}"
        );
    }
    assert!(
        !home
            .path()
            .join("out")
            .join("esp32s3-libs-3.3.12-xip-ecc.zip")
            .exists()
    );
}

#[test]
fn words_that_mean_nothing_are_named() {
    refused(&["--chip", "esp32s9"], 2, &["esp32s9", "esp32s3"]);
    refused(&["--core", "3.3"], 2, &["3.3", "3.3.12"]);
    refused(&["--patch", "xip-ec"], 2, &["xip-ec", "xip-ecc-chip"]);
    refused(&["--mirror", "nothing"], 2, &["nothing", "FROM=TO"]);
    refused(&["--engine", "lxc"], 2, &["lxc", "podman"]);
    refused(&["--stop-after", "lunch"], 2, &["lunch", "checkout"]);
}

#[test]
fn a_versions_txt_alone_does_not_name_a_package() {
    refused(&["--versions", "versions.txt"], 2, &["--core"]);
}

#[test]
fn the_two_ways_do_not_mix() {
    refused(
        &["--quick", "--engine", "docker"],
        2,
        &["--quick", "--engine"],
    );
    refused(&["--accept-unproven"], 2, &["--quick"]);
    refused(
        &["--quick", "--stop-after", "patch"],
        2,
        &["lib-builder", "pins"],
    );
}

#[test]
fn a_quick_build_without_the_core_says_what_to_install() {
    refused(&["--quick"], 2, &["3.3.12", "install the core", "--stock"]);
}

#[test]
fn pins_that_no_repository_here_knows_are_refused_offline() {
    refused(
        &[
            "--versions",
            "versions.txt",
            "--offline",
            "--stop-after",
            "patch",
        ],
        1,
        &["lib-builder", "aaf47ab", "--offline"],
    );
}

#[test]
fn the_pins_alone_are_printed_as_json() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("versions.txt"), PINS).unwrap();
    let arguments = [
        "--versions",
        "versions.txt",
        "--stop-after",
        "pins",
        "--json",
    ];
    let output = build_libs(home.path())
        .args(arguments)
        .assert()
        .code(0)
        .get_output()
        .clone();
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["pins"]["sources"][0]["commit"], "aaf47ab");
}

#[test]
fn a_dry_run_fetches_and_writes_nothing() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("versions.txt"), PINS).unwrap();
    let arguments = [
        "--versions",
        "versions.txt",
        "--core",
        "3.3.12",
        "--engine",
        "host",
        "--dry-run",
        "--json",
    ];
    let output = build_libs(home.path())
        .args(arguments)
        .assert()
        .code(0)
        .get_output()
        .clone();
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(
        answer["changes"][0]
            .as_str()
            .unwrap()
            .contains("defconfig.opi_ram")
    );
    assert!(
        answer["package"]
            .as_str()
            .unwrap()
            .ends_with("esp32s3-libs-3.3.12-xip-ecc.zip")
    );
    assert!(!home.path().join("out").exists());
    assert!(!home.path().join("work").join("mirrors").exists());
}
