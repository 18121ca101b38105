//! `cargo xtask pins` as a user calls it: output, exit codes, and nothing taken from the machine around it.
#![allow(
    clippy::unwrap_used,
    reason = "a test's own functions may fail the test"
)]

#[path = "../src/http/test_server.rs"]
mod test_server;
#[path = "../src/testing.rs"]
mod testing;

use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use assert_cmd::Command;
use fs_err as fs;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use test_server::{Answer, Site};

const VERSIONS: &str = "lib-builder: master ee57070\r\nesp-idf: v5.5.5 b774170ff4\r\narduino: 86c2c0046\r\n\
                        tinyusb: master 53f8c53c2\r\nespressif__cbor: 0.6.1~4\r\nespressif__esp32-camera:\r\n";

/// A home folder of its own, and the tool called with nothing else in its environment that it listens to.
struct Home {
    dir: tempfile::TempDir,
}

/// What a call gave.
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

    fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    fn file(&self, path: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Where this system keeps Arduino's data in that home folder.
    fn default_data_dir(&self) -> &'static str {
        if cfg!(windows) {
            "AppData/Local/Arduino15"
        } else if cfg!(target_os = "macos") {
            "Library/Arduino15"
        } else {
            ".arduino15"
        }
    }

    fn stock(&self, data_dir: &str, versions: &str) -> String {
        self.file(
            &format!("{data_dir}/packages/esp32/tools/esp32s3-libs/3.3.12/versions.txt"),
            versions,
        )
    }

    fn command(&self) -> Command {
        let mut command = Command::cargo_bin("xtask").unwrap();
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy().to_ascii_uppercase();
            if text.starts_with("ARDUINO_")
                || text.starts_with("XTASK_")
                || text.starts_with("XDG_")
                || text.ends_with("_PROXY")
            {
                command.env_remove(name);
            }
        }
        command
            .env("HOME", self.dir.path())
            .env("USERPROFILE", self.dir.path())
            .env("LOCALAPPDATA", self.path("AppData/Local"))
            .env("APPDATA", self.path("AppData/Roaming"))
            .current_dir(self.dir.path());
        command
    }

    fn pins(&self, arguments: &[&str]) -> Outcome {
        outcome(
            self.command()
                .arg("pins")
                .arg("--work-dir")
                .arg(self.path("work"))
                .args(arguments),
        )
    }
}

fn outcome(command: &mut Command) -> Outcome {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Outcome {
        code: output.status.code().unwrap(),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}

impl Outcome {
    #[track_caller]
    fn json(self) -> Value {
        assert_eq!(self.code, 0, "{}", self.err);
        assert_eq!(self.err, "", "--json is silent");
        serde_json::from_str(&self.out).unwrap()
    }

    #[track_caller]
    fn failed(self, code: i32, texts: &[&str]) {
        assert_eq!(self.code, code, "{}", self.err);
        assert_eq!(self.out, "");
        assert_eq!(self.err.matches("error:").count(), 1, "{}", self.err);
        for text in texts {
            assert!(self.err.contains(text), "`{text}` is not in: {}", self.err);
        }
    }
}

/// A release on the loopback: its index at `/index.json`.
fn release() -> Site {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    zip.start_file("esp32s3-libs/versions.txt", options)
        .unwrap();
    zip.write_all(VERSIONS.as_bytes()).unwrap();
    zip.start_file(
        "esp32s3-libs/lib/libx.a",
        options.compression_method(zip::CompressionMethod::Stored),
    )
    .unwrap();
    zip.write_all(&[0; 1_000_000]).unwrap();
    let zip = zip.finish().unwrap().into_inner();
    let sum: String = Sha256::digest(&zip)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    Site::new(|address| {
        let index = json!({"packages": [{"name": "esp32", "tools": [{
            "name": "esp32s3-libs", "version": "3.3.12", "systems": [{
                "host": "x86_64-pc-linux-gnu",
                "url": format!("{address}/zip"),
                "archiveFileName": "esp32s3-libs-3.3.12.zip",
                "checksum": format!("SHA-256:{sum}"),
                "size": zip.len().to_string(),
            }],
        }]}]});
        vec![
            (
                "/index.json",
                Answer::File(Arc::new(index.to_string().into_bytes())),
            ),
            ("/zip", Answer::File(Arc::new(zip))),
        ]
    })
}

#[test]
fn the_tables_show_every_pin() {
    let home = Home::new();
    let file = home.file("my versions.txt", format!("\u{feff}{VERSIONS}"));
    let shown = home.pins(&["--versions", &file]);
    assert_eq!((shown.code, shown.err.as_str()), (0, ""));
    let expected = format!(
        "Pins from {file}\n\
        \n source       branch or tags  commit\n lib-builder  master          ee57070\n esp-idf      v5.5.5          b774170ff4\
        \n arduino                      86c2c0046\n tinyusb      master          53f8c53c2\n\
        \n component        version\n espressif__cbor  0.6.1~4\n\
        \nNot pinned (recorded without a version): espressif__esp32-camera\n"
    );
    assert_eq!(trimmed(&shown.out), trimmed(&expected));
}

fn trimmed(text: &str) -> Vec<&str> {
    text.lines().map(str::trim_end).collect()
}

#[test]
fn the_json_object_is_stable() {
    let home = Home::new();
    let stock = home.stock(home.default_data_dir(), VERSIONS);
    let answer = home.pins(&["--json"]).json();
    let data_dir = home.path(home.default_data_dir());
    assert_eq!(
        answer,
        json!({
            "chip": "esp32s3",
            "core": "3.3.12",
            "origin": {"kind": "installed", "path": native(&stock)},
            "sources": [
                {"name": "lib-builder", "refs": ["master"], "commit": "ee57070"},
                {"name": "esp-idf", "refs": ["v5.5.5"], "commit": "b774170ff4"},
                {"name": "arduino", "refs": [], "commit": "86c2c0046"},
                {"name": "tinyusb", "refs": ["master"], "commit": "53f8c53c2"},
            ],
            "components": [
                {"name": "espressif__cbor", "version": "0.6.1~4"},
                {"name": "espressif__esp32-camera", "version": null},
            ],
            "unpinned": ["espressif__esp32-camera"],
            "data_dir": {"path": native(data_dir.to_str().unwrap()), "found_by": {"kind": "default"}},
        })
    );
}

/// A path in the form that the tool prints here.
fn native(path: &str) -> String {
    if cfg!(windows) {
        path.replace('/', "\\")
    } else {
        path.to_owned()
    }
}

#[test]
fn the_official_zip_is_read_in_parts_and_then_never_again() {
    let home = Home::new();
    let site = release();
    let index = site.url("/index.json");
    let origin = home.pins(&["--index", &index, "--json"]).json()["origin"].clone();
    assert_eq!(origin["kind"], "official-zip");
    assert_eq!(origin["local"], Value::Null);
    let fetched = origin["fetched"].as_u64().unwrap();
    assert!((1..50_000).contains(&fetched), "{fetched}");
    assert!(origin["size"].as_u64().unwrap() > 1_000_000);

    let shown = home.pins(&["--index", &index]);
    assert_eq!(shown.code, 0, "{}", shown.err);
    assert!(
        shown
            .out
            .starts_with("Core 3.3.12, esp32s3: pins from http://127.0.0.1"),
        "{}",
        shown.out
    );
    assert!(shown.out.contains("nothing fetched"), "{}", shown.out);
    drop(site);
    let again = home
        .pins(&["--index", &index, "--offline", "--json"])
        .json();
    assert_eq!(again["origin"]["fetched"], 0);
}

#[test]
fn the_data_folder_of_the_environment_or_the_flag_counts() {
    let home = Home::new();
    home.stock("by variable", VERSIONS);
    home.stock("by flag", VERSIONS);
    let mut command = home.command();
    command
        .args(["pins", "--json", "--work-dir", "work"])
        .env("ARDUINO_DIRECTORIES_DATA", home.path("by variable"));
    let by_variable = outcome(&mut command).json();
    assert_eq!(
        by_variable["data_dir"]["found_by"],
        json!({"kind": "variable", "name": "ARDUINO_DIRECTORIES_DATA"})
    );
    assert!(
        by_variable["origin"]["path"]
            .as_str()
            .unwrap()
            .contains("by variable")
    );
    command.args(["--data-dir", "by flag"]);
    let by_flag = outcome(&mut command).json();
    assert_eq!(by_flag["data_dir"]["found_by"], json!({"kind": "flag"}));
    assert!(
        by_flag["origin"]["path"]
            .as_str()
            .unwrap()
            .contains("by flag")
    );
}

#[test]
fn the_config_file_moves_the_work_folder() {
    let home = Home::new();
    let file = home.file("v.txt", VERSIONS);
    let moved = home.path("moved");
    let config = home.file("my.toml", format!("work-dir = '{}'\n", moved.display()));
    let mut command = home.command();
    command
        .args(["pins", "--versions", &file])
        .env("XTASK_CONFIG", &config);
    assert_eq!(outcome(&mut command).code, 0);
    assert!(moved.is_dir());
    home.file("my.toml", "wrok-dir = 'x'\n");
    outcome(&mut command).failed(1, &["my.toml", "wrok-dir"]);
}

#[test]
fn wrong_calls_end_with_2() {
    let home = Home::new();
    let site = release();
    home.pins(&["--core", "3.3"])
        .failed(2, &["`3.3` is not a core version", "--core"]);
    home.pins(&["--chip", "esp8266"])
        .failed(2, &["unknown chip `esp8266`", "esp32s3"]);
    home.pins(&["--core", "2.0.17"])
        .failed(2, &["core 2.0.17", "supported are 3.3.6 and later"]);
    home.pins(&["--core", "3.3.99", "--index", &site.url("/index.json")])
        .failed(2, &["3.3.99", "newest it knows are 3.3.12"]);
    home.pins(&["--data-dir", "no/folder"])
        .failed(2, &["no/folder", "no such folder"]);
    home.pins(&["--versoins", "x"]).failed(2, &["--versoins"]);
}

#[test]
fn what_cannot_be_read_ends_with_1() {
    let home = Home::new();
    let bad = home.file("bad.txt", "lib-builder: master ee57070\nesp-idf v5.5.5\n");
    home.pins(&["--versions", &bad])
        .failed(1, &["bad.txt, line 2: `esp-idf v5.5.5`"]);
    home.pins(&["--versions", "none.txt"])
        .failed(1, &["none.txt"]);
    home.pins(&["--offline"]).failed(
        1,
        &[
            "tried in this order",
            "1. --versions: not given",
            "package_esp32_index.json",
        ],
    );
    let index = home.file("index.json", "[");
    home.pins(&["--index", &index])
        .failed(1, &["index.json", "line 1"]);
    let config = "directories: [\n";
    home.file(
        &format!("{}/arduino-cli.yaml", home.default_data_dir()),
        config,
    );
    home.pins(&[])
        .failed(1, &["arduino-cli.yaml", "--data-dir"]);
}

#[test]
fn the_help_says_where_pins_come_from() {
    let help = outcome(Home::new().command().args(["pins", "--help"]));
    assert_eq!(help.code, 0);
    for text in [
        "3.3.12.stock",
        "a few hundred kB",
        "[default: 3.3.12]",
        "ARDUINO_DIRECTORIES_DATA",
        "Examples:",
    ] {
        assert!(help.out.contains(text), "`{text}` is not in {}", help.out);
    }
}

#[test]
fn a_real_versions_txt_is_shown() {
    let Some(file) = testing::shared(
        "a_real_versions_txt_is_shown",
        "upstream/versions-idf-5.1.txt",
    ) else {
        return;
    };
    let answer = Home::new()
        .pins(&["--json", "--versions", path_text(&file)])
        .json();
    assert_eq!(answer["core"], Value::Null);
    assert_eq!(answer["components"].as_array().unwrap().len(), 23);
    assert_eq!(
        answer["unpinned"],
        json!(["espressif__esp-dl", "espressif__esp32-camera"])
    );
}

fn path_text(path: &Path) -> &str {
    path.to_str().unwrap()
}
