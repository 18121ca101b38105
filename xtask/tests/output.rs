//! Where the tool's words go: a disk that takes none of them, and a reader that went away.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    reason = "a test's own functions may fail the test"
)]

use std::process::{Command, Stdio};

use fs_err as fs;
use xshell::{Shell, cmd};

/// Every command that prints a result and needs nothing but the repository.
const CALLS: [&[&str]; 5] = [
    &["patches"],
    &["patches", "--json"],
    &["patches", "xip-ecc"],
    &["sim", "--xip"],
    &["sim", "--report"],
];

fn call(arguments: &[&str], out: Stdio, err: Stdio) -> (Option<i32>, String) {
    let program = assert_cmd::cargo::cargo_bin("xtask");
    let shell = Shell::new().unwrap();
    let mut command: Command = cmd!(shell, "{program} {arguments...}").into();
    let output = command.stdout(out).stderr(err).spawn().unwrap();
    let output = output.wait_with_output().unwrap();
    (
        output.status.code(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

/// Linux's device that answers every write as a full disk does.
fn full() -> Stdio {
    let file = fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    file.into_file().into()
}

#[test]
fn a_result_that_a_full_disk_refuses_is_an_error() {
    for arguments in CALLS {
        let (code, text) = call(arguments, full(), Stdio::piped());
        assert_eq!(code, Some(1), "{arguments:?}: {text}");
        assert!(
            text.contains("standard output") && text.contains("space"),
            "{text}"
        );
    }
}

#[test]
fn a_reader_that_went_away_is_none() {
    for arguments in CALLS {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        assert_eq!(
            call(arguments, writer.into(), Stdio::piped()),
            (Some(0), String::new()),
            "{arguments:?}"
        );
    }
}

#[test]
fn an_error_keeps_its_exit_code_where_nobody_can_read_it() {
    let (code, _) = call(&["patches", "no-such-set"], Stdio::null(), full());
    assert_eq!(code, Some(2));
}
