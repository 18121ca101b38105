//! `cargo xtask verify --port` with a pseudo terminal in place of the board, and a stand-in for arduino-cli's upload; the logs
//! are the simulator's figures in a board's words.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test program: a panic is its verdict")]

#[path = "../src/verify/board/made_up.rs"]
mod made_up;
#[path = "../src/verify/made_up.rs"]
mod made_up_tree;

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

use flightlog::command::LineBuffer;
use flightlog::report::Source;
use fs_err as fs;
use made_up::Board;
use serde_json::Value;
use serialport::{SerialPort, TTYPort};
use simulator::Libraries;

static XIP: LazyLock<Board> = LazyLock::new(|| Board::new(Libraries::Xip));
static STOCK: LazyLock<Board> = LazyLock::new(|| Board::new(Libraries::Stock));

/// What the board behind the pseudo terminal does.
#[derive(Clone, Copy, PartialEq)]
enum Manner {
    Whole,
    Garbled,
    Silent,
    CutOff,
    Reset,
    Panics,
    Simulated,
}

fn answer(manner: Manner, board: &Board, command: &str, run: u32) -> Vec<u8> {
    let source = match manner {
        Manner::Simulated => Source::Simulation,
        _ => Source::Board,
    };
    let whole = board.answer(source, command, run);
    if command != "run" {
        return whole.into_bytes();
    }
    let half = &whole[..whole.len() / 2];
    match manner {
        Manner::Whole | Manner::Simulated => whole.into_bytes(),
        Manner::Silent => Vec::new(),
        Manner::CutOff => half.into(),
        Manner::Garbled => {
            let (first, second) = whole.split_at(whole.find("\"kind\":\"phase\"").unwrap());
            [
                b"\xf0\x00{\"schema\":1,\"so\xff\r\n",
                first.as_bytes(),
                b"\r\n",
                second.as_bytes(),
            ]
            .concat()
        }
        Manner::Reset => {
            let again = board.answer(source, "info", run + 1);
            format!("{half}\r\nrst:0x8 (TG1WDT_SYS_RST),boot:0x8 (SPI_FAST_FLASH_BOOT)\r\n{again}")
                .into_bytes()
        }
        Manner::Panics => {
            let why = "Guru Meditation Error: Core  1 panic'ed (Cache disabled but cached memory region accessed).";
            format!("{half}\r\n{why}\r\n").into_bytes()
        }
    }
}

/// A run of `verify` against a board of that manner: exit code, JSON, standard error.
fn verify(manner: Manner, words: &[&str]) -> (i32, Value, String) {
    verify_with(&|| (manner, &XIP), words)
}

/// The same, where the manner and the program may change between the commands.
fn verify_with(
    now: &(dyn Fn() -> (Manner, &'static Board) + Sync),
    words: &[&str],
) -> (i32, Value, String) {
    let (mut board, port) = TTYPort::pair().unwrap();
    let name = port.name().unwrap();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut lines = LineBuffer::new();
            let mut run = 0;
            // What a port may give when it is opened.
            board.write_all(b"\xff\xfe\x00half a li").unwrap();
            while !over.load(Ordering::Relaxed) {
                let mut byte = [0];
                if !matches!(board.read(&mut byte), Ok(1)) {
                    continue;
                }
                let command = match lines.push(byte[0]) {
                    Some(Ok(command)) => command.to_owned(),
                    _ => continue,
                };
                run += 1;
                // A terminal holds little: the other side must read meanwhile.
                let (manner, program) = now();
                for piece in answer(manner, program, &command, run).chunks(256) {
                    board.write_all(piece).unwrap();
                }
            }
        });
        let output = assert_cmd::Command::cargo_bin("xtask")
            .unwrap()
            .args(["verify", "--json", "--port", &name])
            .args(words)
            .output();
        over.store(true, Ordering::Relaxed);
        let output = output.unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        let json = serde_json::from_slice(&output.stdout).unwrap_or_default();
        (output.status.code().unwrap(), json, error)
    })
}

fn check<'a>(json: &'a Value, id: &str) -> &'a Value {
    let checks = json["checks"]
        .as_array()
        .unwrap_or_else(|| panic!("{json}"));
    checks.iter().find(|check| check["id"] == id).unwrap()
}

#[test]
fn a_board_is_asked_and_judged() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("board.log");
    for manner in [Manner::Whole, Manner::Garbled] {
        let words = [
            "--no-upload",
            "--expect",
            "xip-ecc",
            "--log",
            log.to_str().unwrap(),
        ];
        let (code, json, error) = verify(manner, &words);
        assert_eq!(code, 0, "{json:#} {error}");
        assert!(
            error.contains("erases the board's partition `flight`"),
            "{error}"
        );
        assert_eq!(json["board"]["run"]["phases"].as_array().unwrap().len(), 8);
        assert_eq!(check(&json, "board.psram")["outcome"], "passed");
        // All that came is kept, and says the same when it is read again.
        let kept = fs::read(&log).unwrap();
        assert!(kept.starts_with(b"\xff\xfe\x00half a li"));
        let replayed = assert_cmd::Command::cargo_bin("xtask").unwrap();
        let mut replayed = replayed;
        replayed
            .args(["verify", "--replay"])
            .arg(&log)
            .assert()
            .code(0);
    }
}

#[test]
fn a_board_that_fails_is_told_from_one_that_is_slow() {
    for (manner, id, says) in [
        (
            Manner::Silent,
            "board.report",
            "the board said nothing for 2 s after `run`",
        ),
        (
            Manner::CutOff,
            "board.report",
            "the board said nothing for 2 s after `run`",
        ),
        (Manner::Reset, "board.steady", "TG1WDT_SYS_RST"),
        (Manner::Panics, "board.steady", "Guru Meditation Error"),
        (Manner::Simulated, "board.measured", "SIMULATED"),
    ] {
        let (code, json, error) = verify(manner, &["--no-upload", "--idle-limit", "2"]);
        let check = check(&json, id);
        assert_eq!(
            (code, &check["outcome"]),
            (3, &"failed".into()),
            "{json:#} {error}"
        );
        assert!(check["why"].as_str().unwrap().contains(says), "{check}");
        let phases = json["board"]["run"]["phases"].as_array().unwrap().len();
        assert_eq!(phases, if manner == Manner::Simulated { 8 } else { 0 });
    }
}

#[test]
fn what_is_no_port_is_said() {
    let output = assert_cmd::Command::cargo_bin("xtask")
        .unwrap()
        .args(["verify", "--json", "--no-upload", "--port", "/dev/null"])
        .output()
        .unwrap();
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(3));
    let why = check(&json, "board.report")["why"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(why.contains("/dev/null cannot be opened"), "{why}");
}

/// A stand-in for arduino-cli that notes its words, "compiles" a file that is no program, and uploads as `upload` says.
fn stand_in(folder: &std::path::Path, upload: &str) -> String {
    let script = format!(
        "#!/bin/sh\necho \"$@\" >> \"{0}/words\"\ncase \"$1\" in\nversion) echo '{{\"VersionString\":\"1.5.1\"}}' ;;\n\
         compile) echo no > \"$5/StallBench.ino.elf\"; echo '{{\"success\":true,\"builder_result\":{{\"build_path\":\"'$5'\"}}}}' ;;\n\
         upload) {upload} ;;\nesac\n",
        folder.display()
    );
    let path = folder.join("arduino-cli");
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn what_was_compiled_is_uploaded_to_the_port() {
    let dir = tempfile::tempdir().unwrap();
    let work = dir.path().to_str().unwrap();
    let cli = stand_in(dir.path(), "echo '{}'");
    let words = [
        "--arduino-cli",
        &cli,
        "--data-dir",
        work,
        "--work-dir",
        work,
        "--fqbn",
        "esp32:esp32:esp32s3:PSRAM=opi",
        "--library",
        work,
    ];
    let (code, json, error) = verify(Manner::Whole, &words);
    // The file that was compiled is no program, and that is found; the board is asked all the same.
    assert_eq!(code, 3, "{error}");
    assert_eq!(check(&json, "compile.sections")["outcome"], "failed");
    assert_eq!(
        check(&json, "board.upload")["outcome"],
        "passed",
        "{json:#}"
    );
    assert_eq!(check(&json, "board.loop")["outcome"], "passed");
    let noted = fs::read_to_string(dir.path().join("words")).unwrap();
    let upload = noted
        .lines()
        .find(|line| line.starts_with("upload"))
        .unwrap();
    assert!(
        upload.contains("--fqbn esp32:esp32:esp32s3:PSRAM=opi --port /dev/"),
        "{upload}"
    );
    let compile = noted
        .lines()
        .find(|line| line.starts_with("compile"))
        .unwrap();
    let build = compile.split(' ').nth(4).unwrap();
    assert!(
        upload.contains(&format!("--input-dir {build} ")),
        "{upload}"
    );
    assert!(upload.contains("/StallBench --format json"), "{upload}");

    let cli = stand_in(
        dir.path(),
        "echo '{\"error\":\"Failed uploading: exit status 2\"}'; exit 1",
    );
    let words = [
        "--arduino-cli",
        &cli,
        "--work-dir",
        work,
        "--data-dir",
        work,
        "--library",
        work,
    ];
    let (code, json, _) = verify(Manner::Whole, &words);
    assert_eq!(code, 3);
    let why = check(&json, "board.upload")["why"].as_str().unwrap();
    assert!(why.contains("Failed uploading: exit status 2"), "{why}");
    assert_eq!(check(&json, "board.report")["outcome"], "not-run");
}

/// The menu as `install --as menu` writes it.
const MENU: &str = "# >>> cargo xtask: menu \"Core libraries\", written by it; taken out again by: cargo xtask install --revert --as menu
menu.CoreLibs=Core libraries
esp32s3.menu.CoreLibs.stock=Stock (Espressif's)
esp32s3.menu.CoreLibs.xip-ecc=Patched: xip-ecc
esp32s3.menu.CoreLibs.xip-ecc.build.chip_variant=esp32s3-xip-ecc
# <<< cargo xtask: menu \"Core libraries\"
";

#[test]
fn both_choices_of_the_menu_are_run_in_one_go() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().to_str().unwrap();
    let words = [
        "--ab",
        "--arduino-cli",
        &stand_in(dir.path(), "echo '{}'"),
        "--work-dir",
        home,
        "--data-dir",
        home,
        "--library",
        home,
    ];
    let platform = dir.path().join("packages/esp32/hardware/esp32/3.3.12");
    fs::create_dir_all(&platform).unwrap();
    fs::write(platform.join("boards.txt"), "esp32s3.build.mcu=esp32s3\n").unwrap();
    fs::write(platform.join("platform.txt"), "version=3.3.12\n").unwrap();
    let (code, _, error) = verify(Manner::Whole, &words);
    assert!(code == 2 && error.contains("install --as menu"), "{error}");

    fs::write(platform.join("boards.local.txt"), MENU).unwrap();
    let libraries = dir
        .path()
        .join("packages/esp32/tools/esp32s3-xip-ecc-libs/3.3.12");
    made_up_tree::write_tree(&libraries, true);
    let noted = dir.path().join("words");
    let now = || {
        let noted = fs::read_to_string(&noted).unwrap_or_default();
        let last = noted
            .lines()
            .rfind(|line| line.starts_with("upload"))
            .unwrap_or_default();
        let stock = last.contains("CoreLibs=stock");
        (Manner::Whole, if stock { &*STOCK } else { &*XIP })
    };
    let (code, json, error) = verify_with(&now, &words);
    // The stand-in compiles no program.
    assert_eq!(code, 3, "{error}");
    let uploads = fs::read_to_string(&noted).unwrap();
    let uploads: Vec<&str> = uploads
        .lines()
        .filter(|line| line.starts_with("upload"))
        .collect();
    assert_eq!(uploads.len(), 2, "{uploads:?} {json:#}");
    assert!(
        uploads[0].contains("PSRAM=opi,CoreLibs=xip-ecc"),
        "{uploads:?}"
    );
    assert!(
        uploads[1].contains("PSRAM=opi,CoreLibs=stock"),
        "{uploads:?}"
    );
    assert_eq!(check(&json, "board.loop")["outcome"], "passed");
    assert_eq!(check(&json, "board.stock")["outcome"], "passed", "{json:#}");
    let row = &json["board"]["table"][7];
    assert!(
        row["stock"]["loop_hz"].as_f64().unwrap() < 20.0
            && row["run"]["loop_hz"].as_f64().unwrap() > 498.5
    );
}
