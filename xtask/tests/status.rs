//! `cargo xtask status` and the choice of a data folder as a user meets them: output and exit codes.
#![allow(
    clippy::unwrap_used,
    reason = "a test's own functions may fail the test"
)]

use std::path::{Path, PathBuf};

use assert_cmd::Command;
use fs_err as fs;
use serde_json::Value;

/// A home folder of its own, and the tool called with nothing else in its environment.
struct Home {
    dir: tempfile::TempDir,
}

struct Outcome {
    code: i32,
    out: String,
    err: String,
}

impl Home {
    fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    fn run(&self, arguments: &[&str]) -> Outcome {
        let home = self.dir.path();
        let mut command = Command::cargo_bin("xtask").unwrap();
        command
            .args(arguments)
            .env_clear()
            .env("HOME", home)
            .env("USERPROFILE", home)
            .env("LOCALAPPDATA", home.join("AppData").join("Local"))
            .env("PATH", "");
        let done = command.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Outcome {
            code: done.status.code().unwrap(),
            out: text(done.stdout),
            err: text(done.stderr),
        }
    }

    /// The default data folder of the system that this runs on.
    fn default_data(&self) -> PathBuf {
        self.dir.path().join(match std::env::consts::OS {
            "windows" => "AppData/Local/Arduino15",
            "macos" => "Library/Arduino15",
            _ => ".arduino15",
        })
    }
}

/// Core 3.3.12 with the stock libraries of one chip.
fn core_in(data: &Path) -> PathBuf {
    let package = data.join("packages").join("esp32");
    let platform = package.join("hardware/esp32/3.3.12");
    fs::create_dir_all(&platform).unwrap();
    let text = "compiler.sdk.path={runtime.tools.{build.chip_variant}-libs.path}\n";
    fs::write(platform.join("platform.txt"), text).unwrap();
    let tree = package.join("tools/esp32s3-libs/3.3.12");
    for folder in ["flags", "include", "lib", "qio_qspi/include"] {
        fs::create_dir_all(tree.join(folder)).unwrap();
    }
    fs::write(
        tree.join("qio_qspi/include/sdkconfig.h"),
        "#define CONFIG_A 1\n",
    )
    .unwrap();
    tree
}

#[test]
fn it_says_where_it_looked_and_what_stands_there() {
    let home = Home::new();
    let none = home.run(&["status"]);
    assert_eq!(none.code, 0);
    assert!(
        none.out.contains("(the default)") && none.out.contains("no ESP32 core"),
        "{}",
        none.out
    );
    core_in(&home.default_data());
    let found = home.run(&["status", "--verify"]);
    assert_eq!(found.code, 0, "{}", found.err);
    assert!(
        found.out.contains("3.3.12") && found.out.contains("stock, by all that can be seen"),
        "{}",
        found.out
    );
    let json: Value = serde_json::from_str(&home.run(&["status", "--json"]).out).unwrap();
    let installation = &json["installations"][0];
    assert_eq!(installation["data_dir"]["found_by"]["kind"], "default");
    assert_eq!(installation["cores"][0]["layout"]["kind"], "per-chip");
    assert_eq!(
        installation["tools"][0]["cores"][0]["active"]["is"],
        "stock"
    );
    assert_eq!(json["verified"], false);
    let nowhere = home.run(&["status", "--data-dir", "nowhere"]);
    assert_eq!(nowhere.code, 2);
    assert!(nowhere.err.contains("nowhere"), "{}", nowhere.err);
}

#[test]
fn libraries_that_are_damaged_fail_a_verify_and_only_that() {
    let home = Home::new();
    let tree = core_in(&home.default_data());
    fs::write(tree.join("libs-manifest.json"), "{ cut").unwrap();
    assert_eq!(home.run(&["status"]).code, 0);
    let verified = home.run(&["status", "--verify"]);
    assert_eq!(verified.code, 3);
    assert!(
        verified.out.contains("libs-manifest.json"),
        "{}",
        verified.out
    );
}

#[cfg(target_os = "linux")]
#[test]
fn several_folders_are_shown_and_an_install_asks_which() {
    let home = Home::new();
    core_in(&home.default_data());
    let snap = home.dir.path().join("snap/arduino/current/.arduino15");
    core_in(&snap);
    let shown = home.run(&["status"]);
    assert_eq!(shown.code, 0);
    assert!(
        shown.out.contains("(the default)") && shown.out.contains("(of the snap arduino)"),
        "{}",
        shown.out
    );
    for command in [
        &["install"][..],
        &["install", "--as", "menu"],
        &["install", "--revert"],
    ] {
        let asked = home.run(command);
        assert_eq!(asked.code, 2, "{command:?}");
        let flag = format!("--data-dir {}", snap.display());
        assert!(asked.err.contains(&flag), "{}", asked.err);
    }
    let named = home.run(&["install", "--revert", "--data-dir", snap.to_str().unwrap()]);
    assert_eq!(named.code, 0, "{}", named.err);
    assert!(named.out.contains("nothing to revert"), "{}", named.out);
}
