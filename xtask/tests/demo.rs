//! `cargo xtask demo` on machines and folders where it cannot play.

#![allow(clippy::unwrap_used, reason = "a test's own helpers may panic too")]

#[path = "../src/testing.rs"]
mod testing;

use assert_cmd::Command;

fn demo() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.arg("demo");
    command
}

fn said(command: &mut Command, code: i32) -> String {
    let output = command.assert().code(code).get_output().clone();
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_machine_without_a_compiler_is_told_what_to_install() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("demo");
    let error = said(demo().env("PATH", dir.path()).arg("--dir").arg(&place), 1);
    for word in [
        "`sh`, `cc`, `ar` are not on the PATH",
        "xcode-select",
        "WSL",
        "--engine docker",
    ] {
        assert!(error.contains(word), "{error}");
    }
    assert!(
        !place.exists(),
        "nothing is made where nothing can be played"
    );
}

#[test]
fn a_folder_with_other_files_is_left_as_it_is() {
    if ["sh", "cc", "ar"]
        .iter()
        .any(|program| which::which(program).is_err())
    {
        return testing::skipped(
            "a_folder_with_other_files_is_left_as_it_is",
            "no sh, cc or ar on the PATH",
        );
    }
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("thesis.txt"), "").unwrap();
    let error = said(demo().arg("--dir").arg(dir.path()), 2);
    assert!(
        error.contains("no demonstration made") && error.contains("--dir"),
        "{error}"
    );
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}
