//! The real arduino-cli on an installation with the menu: does it show it, and does it take the libraries that were chosen?
#![allow(
    clippy::unwrap_used,
    reason = "a test's own functions may fail the test"
)]

#[path = "../src/testing.rs"]
mod testing;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use fs_err as fs;
use serde_json::{Value, json};
use xtask::build::BuiltLibs;
use xtask::libs::manifest::{BuildRecord, PatchSetRecord};
use xtask::package::{Effort, pack};

const CORE: &str = "3.3.12";
/// As many boards as the real core has with this chip, and some without.
const BOARDS: usize = 120;

/// Debian's arduino-cli as `.ci/arduino-cli` unpacks it, else the one on the search path.
fn arduino_cli(test: &str) -> Option<PathBuf> {
    let unpacked = testing::workspace().join("target/parts/arduino-cli");
    if unpacked.is_file() {
        return Some(unpacked);
    }
    let found = which::which("arduino-cli").ok();
    if found.is_none() {
        testing::skipped(test, "there is no arduino-cli; .ci/arduino-cli fetches one");
    }
    found
}

/// A home folder with a data folder in it, an installed core as small as arduino-cli takes it, and a package for it.
struct Machine {
    dir: tempfile::TempDir,
    cli: PathBuf,
}

impl Machine {
    fn new(cli: PathBuf) -> Self {
        let machine = Self {
            dir: tempfile::tempdir().unwrap(),
            cli,
        };
        let data = machine.data();
        let index = json!({"packages": [{"name": "esp32", "maintainer": "stand-in", "platforms": [
            {"name": "esp32", "architecture": "esp32", "version": CORE, "toolsDependencies": [
                {"packager": "esp32", "name": "esp32s3-libs", "version": CORE}]}],
            "tools": [{"name": "esp32s3-libs", "version": CORE, "systems": []}]}]});
        machine.write("Arduino15/package_index.json", "{\"packages\":[]}");
        machine.write("Arduino15/library_index.json", "{\"libraries\":[]}");
        machine.platform("installed.json", &index.to_string());
        machine.platform(
            "platform.txt",
            "name=Stand-in\nversion=3.3.12\nbuild.chip_variant={build.mcu}\n\
             tools.esp32-arduino-libs.path={runtime.tools.{build.chip_variant}-libs.path}\n\
             compiler.sdk.path={tools.esp32-arduino-libs.path}\n",
        );
        let mut boards =
            "menu.PSRAM=PSRAM\nesp32c6.name=C6\nesp32c6.build.mcu=esp32c6\n".to_owned();
        for number in 0..BOARDS {
            let id = match number {
                0 => "esp32s3".to_owned(),
                number => format!("board_{number}"),
            };
            boards += &format!(
                "{id}.name={id}\n{id}.build.mcu=esp32s3\n{id}.build.core=esp32\n{id}.build.variant=v\n\
                 {id}.menu.PSRAM.disabled=Disabled\n{id}.menu.PSRAM.disabled.build.psram_type=qspi\n\
                 {id}.menu.PSRAM.opi=OPI PSRAM\n{id}.menu.PSRAM.opi.build.psram_type=opi\n"
            );
        }
        machine.platform("boards.txt", &boards);
        machine.platform("boards.local.txt", "esp32s3.name=My S3");
        machine.platform("cores/esp32/Arduino.h", "");
        machine.platform("variants/v/pins.h", "");
        machine.write("sketch/sketch.ino", "void setup() {}\nvoid loop() {}\n");
        tree(
            &data.join("packages/esp32/tools/esp32s3-libs").join(CORE),
            "",
        );
        machine
    }

    fn data(&self) -> PathBuf {
        self.dir.path().join("Arduino15")
    }

    fn write(&self, path: &str, text: &str) {
        let file = self.dir.path().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    fn platform(&self, path: &str, text: &str) {
        self.write(
            &format!("Arduino15/packages/esp32/hardware/esp32/{CORE}/{path}"),
            text,
        );
    }

    fn local(&self) -> PathBuf {
        self.data()
            .join("packages/esp32/hardware/esp32")
            .join(CORE)
            .join("boards.local.txt")
    }

    fn zip(&self) -> PathBuf {
        let root = self.dir.path().join("built");
        tree(&root, "#define CONFIG_SPIRAM_XIP_FROM_PSRAM 1\n");
        let built = BuiltLibs {
            tree: root,
            core: CORE.parse().unwrap(),
            chip: "esp32s3".parse().unwrap(),
            patch_set: PatchSetRecord {
                name: "xip-ecc".into(),
                suffix: "xip-ecc".into(),
                lines: BTreeMap::new(),
            },
            sources: Vec::new(),
            components: BTreeMap::new(),
            build: BuildRecord::Full {
                engine: "host".into(),
                image: None,
            },
            effective: BTreeMap::new(),
        };
        let out = self.dir.path().join("dist");
        pack(&built, &out, Effort::Fast, &|_| {}).unwrap().zip
    }

    /// The tool, on a search path that has arduino-cli and nothing else.
    fn xtask(&self, arguments: &[&str]) -> String {
        let mut command = Command::cargo_bin("xtask").unwrap();
        command
            .args(arguments)
            .env_clear()
            .env("HOME", self.dir.path())
            .env("PATH", self.cli.parent().unwrap());
        let done = command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(
            done.status.success(),
            "{arguments:?}: {}{}",
            text(&done.stdout),
            text(&done.stderr)
        );
        text(&done.stdout)
    }

    fn cli(&self, arguments: &[&str]) -> Value {
        let mut command = Command::new(&self.cli);
        command
            .args(arguments)
            .arg("--json")
            .env_clear()
            .env("HOME", self.dir.path())
            .env("ARDUINO_DIRECTORIES_DATA", self.data())
            .env("ARDUINO_UPDATER_ENABLE_NOTIFICATION", "false");
        let done = command.output().unwrap();
        let out = String::from_utf8_lossy(&done.stdout).into_owned();
        serde_json::from_str(&out).unwrap_or_else(|error| {
            panic!(
                "{arguments:?}: {error}: {out}{}",
                String::from_utf8_lossy(&done.stderr)
            )
        })
    }

    /// Ids and chosen value of the board's menus.
    fn menus(&self, board: &str) -> Vec<(String, Vec<(String, bool)>)> {
        let details = self.cli(&[
            "board",
            "details",
            "--fqbn",
            &format!("esp32:esp32:{board}"),
        ]);
        let options = details["config_options"]
            .as_array()
            .unwrap_or_else(|| panic!("{details}"));
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let values = |option: &Value| {
            let values = option["values"].as_array().unwrap().iter();
            values
                .map(|value| (text(&value["value"]), value["selected"] == true))
                .collect()
        };
        options
            .iter()
            .map(|option| (text(&option["option"]), values(option)))
            .collect()
    }

    /// The libraries that a compile with these options would take.
    fn libraries(&self, options: &str) -> PathBuf {
        let sketch = self.dir.path().join("sketch");
        let fqbn = format!("esp32:esp32:esp32s3{options}");
        let answer = self.cli(&[
            "compile",
            "--show-properties=expanded",
            "--fqbn",
            &fqbn,
            sketch.to_str().unwrap(),
        ]);
        let properties = answer["builder_result"]["build_properties"]
            .as_array()
            .unwrap_or_else(|| panic!("{answer}"));
        let found = properties
            .iter()
            .find_map(|line| line.as_str().unwrap().strip_prefix("compiler.sdk.path="));
        PathBuf::from(found.unwrap())
    }
}

fn tree(root: &Path, line: &str) {
    for (path, text) in [
        ("flags/defines", "-DESP_PLATFORM".to_owned()),
        ("include/a.h", "#pragma once\n".to_owned()),
        ("lib/libhal.a", "!<arch>\n".to_owned()),
        (
            "qio_opi/include/sdkconfig.h",
            format!("#define CONFIG_SPIRAM_MODE_OCT 1\n{line}"),
        ),
        ("versions.txt", "esp-idf: v5.5.5 b774170ff4\n".to_owned()),
    ] {
        let file = root.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
}

#[test]
fn the_menu_is_shown_and_chooses_the_libraries() {
    let Some(cli) = arduino_cli("the_menu_is_shown_and_chooses_the_libraries") else {
        return;
    };
    let machine = Machine::new(cli);
    let (data, zip) = (machine.data(), machine.zip());
    let flags = ["--data-dir", data.to_str().unwrap()];
    let tools = data.join("packages/esp32/tools");
    let stock = tools.join("esp32s3-libs").join(CORE);
    let patched = tools.join("esp32s3-xip-ecc-libs").join(CORE);
    assert_eq!(machine.menus("esp32s3").len(), 1, "PSRAM alone");
    assert_eq!(machine.libraries(""), stock);

    let install = ["install", "--as", "menu", "--zip", zip.to_str().unwrap()];
    let said = machine.xtask(&[&install[..], &flags].concat());
    for part in [
        "for 120 boards".to_owned(),
        "Tools > Core libraries > Patched: xip-ecc".to_owned(),
        "esp32:esp32:esp32s3:PSRAM=opi,CoreLibs=xip-ecc".to_owned(),
    ] {
        assert!(said.contains(&part), "{said}");
    }
    for board in ["esp32s3", "board_119"] {
        let menus = machine.menus(board);
        let (id, values) = menus.iter().find(|(id, _)| id == "CoreLibs").unwrap();
        assert_eq!(id, "CoreLibs");
        let of = |id: &str, chosen| (id.to_owned(), chosen);
        assert_eq!(
            *values,
            [of("stock", true), of("xip-ecc", false)],
            "stock is the default"
        );
    }
    let details = machine.cli(&["board", "details", "--fqbn", "esp32:esp32:esp32c6"]);
    assert!(!details.to_string().contains("CoreLibs"), "{details}");
    assert_eq!(machine.libraries(""), stock);
    assert_eq!(machine.libraries(":PSRAM=opi"), stock);
    assert_eq!(machine.libraries(":PSRAM=opi,CoreLibs=xip-ecc"), patched);
    assert_eq!(machine.libraries(":CoreLibs=stock"), stock);

    // Why libraries of several core versions are not let into one tool folder.
    let other = patched.with_file_name("3.3.13");
    fs::create_dir(&other).unwrap();
    assert_eq!(
        machine.libraries(":CoreLibs=xip-ecc"),
        other,
        "the highest wins"
    );
    fs::remove_dir(&other).unwrap();

    let status: Value = serde_json::from_str(
        &machine.xtask(&[&["status", "--json", "--verify"][..], &flags].concat()),
    )
    .unwrap();
    let menu = &status["installations"][0]["menus"][0];
    assert_eq!(
        (&menu["in_menu"], &menu["content"]["is"]),
        (&json!(true), &json!("patched")),
        "{status}"
    );
    // A plain revert takes back whatever is there.
    machine.xtask(&[&["install", "--revert"][..], &flags].concat());
    assert_eq!(fs::read(machine.local()).unwrap(), b"esp32s3.name=My S3");
    assert_eq!(machine.menus("esp32s3").len(), 1);
    assert!(!patched.parent().unwrap().exists());
    assert_eq!(machine.libraries(""), stock);
}

#[test]
fn the_program_itself_is_asked_for_its_data_folder() {
    let Some(cli) = arduino_cli("the_program_itself_is_asked_for_its_data_folder") else {
        return;
    };
    let machine = Machine::new(cli);
    let config = format!("directories:\n  data: {}\n", machine.data().display());
    machine.write(".arduino15/arduino-cli.yaml", &config);
    let said = machine.xtask(&["status"]);
    let folder = format!(
        "Arduino data folder: {} (by directories.data in arduino-cli config dump)",
        machine.data().display()
    );
    assert!(said.contains(&folder) && said.contains("3.3.12"), "{said}");
    let data = machine.data();
    let flag = ["status", "--data-dir", data.to_str().unwrap()];
    assert!(machine.xtask(&flag).contains("(by --data-dir)"));
}
