//! The firmware's C side and its sketch: compiled by this machine's compilers, linked with the host's static library, and run.
#![allow(clippy::unwrap_used, reason = "a test's own helpers may panic too")]

#[path = "../src/testing.rs"]
mod testing;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::OnceLock;

use assert_cmd::Command;
use flightlog::report::read::{self, Log, Report};
use xtask::firmware::archive::Reduced;
use xtask::firmware::{Target, library};

fn xtask() -> Command {
    Command::new(env!("CARGO_BIN_EXE_xtask"))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Header and archive for this machine, built once.
fn host() -> &'static Path {
    static FOLDER: OnceLock<tempfile::TempDir> = OnceLock::new();
    FOLDER
        .get_or_init(|| {
            let folder = tempfile::tempdir().unwrap();
            let out = folder.path().join("host");
            let built = xtask()
                .args(["firmware", "build", "--target", "host", "--out"])
                .arg(&out)
                .output()
                .unwrap();
            assert!(built.status.success(), "{}", text(&built.stderr));
            folder
        })
        .path()
}

fn header_folder() -> PathBuf {
    host().join("host/src")
}

fn archive() -> PathBuf {
    host().join("host/src/host/libflightlog.a")
}

/// Compiles a program; `false` (said as SKIPPED) where there is no such compiler.
fn compile(test: &str, compiler: &str, words: &[&str], sources: &[PathBuf], out: &Path) -> bool {
    let Ok(compiler) = which::which(compiler) else {
        testing::skipped(test, &format!("{compiler} is missing"));
        return false;
    };
    let built = Command::new(compiler)
        .args(words)
        .arg("-I")
        .arg(header_folder())
        .args(sources)
        .args(["-x", "none"])
        .arg(archive())
        .args(["-lpthread", "-ldl", "-lm", "-o"])
        .arg(out)
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", text(&built.stderr));
    true
}

#[test]
fn every_function_works_from_c() {
    let test = "every_function_works_from_c";
    let source = testing::workspace().join("firmware/flightlog-ffi/tests/every_function.c");
    let c = std::fs::read_to_string(&source).unwrap();
    for function in declared() {
        assert!(
            c.contains(&format!("{function}(")),
            "{function} is not called from C"
        );
    }
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("every-function");
    let plain = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-g"];
    let sanitized = [
        &plain[..],
        &[
            "-fsanitize=address,undefined",
            "-fno-sanitize-recover=undefined",
        ],
    ]
    .concat();
    let empty = dir.path().join("empty.c");
    std::fs::write(&empty, "int main(void) { return 0; }").unwrap();
    let has_sanitizer = Command::new("cc")
        .args(["-fsanitize=address,undefined", "-o"])
        .arg(dir.path().join("empty"))
        .arg(&empty)
        .output()
        .is_ok_and(|built| built.status.success());
    if !has_sanitizer {
        testing::skipped(
            test,
            "cc has no address sanitizer: the plain program alone is run",
        );
    }
    let variants: &[&[&str]] = if has_sanitizer {
        &[&plain, &sanitized]
    } else {
        &[&plain]
    };
    for words in variants {
        if !compile(test, "cc", words, std::slice::from_ref(&source), &program) {
            return;
        }
        let run = Command::new(&program).output().unwrap();
        assert!(
            run.status.success(),
            "{}{}",
            text(&run.stdout),
            text(&run.stderr)
        );
        let log = read::read(&run.stdout);
        assert_eq!(log.trouble, []);
        assert!(log.reports[0].whole().is_ok());
    }
}

/// The functions that the header declares.
fn declared() -> BTreeSet<String> {
    let header = testing::workspace().join("firmware/flightlog-ffi/include/flightlog.h");
    let header = std::fs::read_to_string(header).unwrap();
    let code = header
        .lines()
        .filter(|line| !line.starts_with(' ') && !line.starts_with("//"));
    let functions = code
        .filter(|line| !line.starts_with("typedef"))
        .filter_map(|line| {
            let name = line
                .split('(')
                .next()
                .filter(|head| head.len() < line.len())?;
            Some(name.rsplit([' ', '*']).next()?.to_owned())
        });
    functions
        .filter(|name| name.starts_with("flightlog_"))
        .collect()
}

#[test]
fn the_archive_defines_what_the_header_declares() {
    let out = host().join("again");
    let built = xtask()
        .args(["firmware", "build", "--target", "host", "--json", "--out"])
        .arg(&out)
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", text(&built.stderr));
    let json: serde_json::Value = serde_json::from_slice(&built.stdout).unwrap();
    let functions: BTreeSet<String> =
        serde_json::from_value(json["archive"]["functions"].clone()).unwrap();
    assert_eq!(functions, declared());
    assert_eq!(
        std::fs::read(archive()).unwrap(),
        std::fs::read(out.join("src/host/libflightlog.a")).unwrap(),
        "the same sources give the same bytes"
    );
}

#[test]
fn a_foreign_target_gets_a_library_without_std() {
    let test = "a_foreign_target_gets_a_library_without_std";
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("FlightLog");
    let built = xtask()
        .args([
            "firmware",
            "build",
            "--target",
            "riscv32imc",
            "--json",
            "--out",
        ])
        .arg(&out)
        .output()
        .unwrap();
    let said = text(&built.stderr);
    if built.status.code() == Some(2) && said.contains("no compiler for riscv32imc") {
        testing::skipped(
            test,
            "no compiler here can build core for riscv32imc (rustc-web cargo-web rust-web-src)",
        );
        return;
    }
    assert!(built.status.success(), "{said}");
    let json: serde_json::Value = serde_json::from_slice(&built.stdout).unwrap();
    let functions: BTreeSet<String> =
        serde_json::from_value(json["archive"]["functions"].clone()).unwrap();
    assert_eq!(functions, declared());
    for file in [
        "library.properties",
        "src/flightlog.h",
        "src/esp32c3/libflightlog.a",
        "examples/StallBench/StallBench.ino",
        "examples/StallBench/partitions.csv",
    ] {
        assert!(out.join(file).exists(), "{file}");
    }
}

#[test]
fn without_the_esp_toolchain_it_is_said_what_to_install() {
    let dir = tempfile::tempdir().unwrap();
    let built = xtask()
        .args([
            "firmware",
            "build",
            "--toolchain",
            "no-such-toolchain",
            "--dry-run",
            "--out",
        ])
        .arg(dir.path().join("FlightLog"))
        .output()
        .unwrap();
    assert_eq!(built.status.code(), Some(2));
    let said = text(&built.stderr);
    assert!(said.contains("espup install --targets esp32s3"), "{said}");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_dry_run_says_what_it_would_do_and_does_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let built = xtask()
        .args([
            "firmware",
            "build",
            "--target",
            "host",
            "--dry-run",
            "--out",
        ])
        .arg(dir.path().join("host"))
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", text(&built.stderr));
    let said = text(&built.stdout);
    assert!(
        said.contains("would run") && said.contains("--crate-type staticlib"),
        "{said}"
    );
    assert!(said.contains("libflightlog.a"), "{said}");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

/// StallBench as a program of this machine; `None` (said as SKIPPED) where there is no C++ compiler.
fn sketch(test: &str) -> Option<&'static Path> {
    static PROGRAM: OnceLock<Option<PathBuf>> = OnceLock::new();
    PROGRAM
        .get_or_init(|| built_sketch(test, "StallBench"))
        .as_deref()
}

fn built_sketch(test: &str, name: &str) -> Option<PathBuf> {
    let sketch = testing::workspace().join("firmware").join(name);
    let stand_in = testing::workspace().join("xtask/tests/stallbench");
    let mut sources: Vec<PathBuf> = std::fs::read_dir(&sketch)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|ext| ext == "cpp" || ext == "ino")
        })
        .collect();
    sources.push(stand_in.join("host.cpp"));
    let include = format!("-I{}", stand_in.display());
    let words = [
        "-std=gnu++17",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-O1",
        "-g",
        // A phase of one block: the whole run then takes seconds.
        "-DSTALLBENCH_PHASE_BYTES=65536",
        &include,
        "-x",
        "c++",
    ];
    let program = host().join(name);
    compile(test, "c++", &words, &sources, &program).then_some(program)
}

/// Runs the sketch, types `lines` and gives what it printed.
fn typed(program: &Path, env: &[(&str, &str)], lines: &'static str) -> Output {
    let output = Command::new(program)
        .envs(env.iter().copied())
        .write_stdin(lines)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    output
}

fn log(output: &Output) -> Log {
    let log = read::read(&output.stdout);
    assert_eq!(log.trouble, [], "{}", text(&output.stdout));
    log
}

/// Sectors that the stand-in's flash erased.
fn erased(output: &Output) -> u32 {
    let lines = text(&output.stderr);
    lines
        .lines()
        .filter_map(|line| line.strip_prefix("erased ")?.parse::<u32>().ok())
        .sum()
}

/// Sectors that the reports said they would erase.
fn announced(log: &Log) -> u32 {
    let plans = log.reports.iter().filter_map(Report::plan);
    plans.map(|plan| plan.erase_sectors).sum()
}

#[test]
fn a_run_reports_every_phase_and_erases_what_it_said() {
    let Some(program) = sketch("a_run_reports_every_phase_and_erases_what_it_said") else {
        return;
    };
    let output = typed(program, &[], "run\nerase\n");
    let log = log(&output);
    assert_eq!(log.reports.len(), 3);
    for report in &log.reports {
        report.whole().unwrap();
    }
    let phases: Vec<_> = log.reports[1].phases().collect();
    assert_eq!(phases.len(), 8);
    assert_eq!(phases[0].bytes, 65_536);
    assert!(
        phases
            .iter()
            .all(|phase| phase.passes > 0 && !phase.stopped)
    );
    assert_eq!(erased(&output), announced(&log));
    assert!(erased(&output) > 0);
    assert!(
        text(&output.stdout).contains("SIMULATED"),
        "the stand-in measures nothing"
    );
}

#[test]
fn nothing_is_erased_without_being_asked() {
    let Some(program) = sketch("nothing_is_erased_without_being_asked") else {
        return;
    };
    let output = typed(program, &[], "info\nmembench\nhelp\nfly\nstop\n");
    let log = log(&output);
    assert_eq!(erased(&output), 0);
    assert_eq!(
        log.reports.len(),
        3,
        "one at the start, then info and membench"
    );
    let said = text(&output.stdout);
    for part in [
        "nothing is running",
        "unknown command \"fly\"",
        "membench  memory speeds",
    ] {
        assert!(said.contains(part), "{part}");
    }
    assert!(log.reports[2].memory().count() >= 12);
    assert!(log.reports[2].psram_tests().all(|test| test.errors == 0));
    assert_eq!(log.reports[2].psram_tests().count(), 1);
}

#[test]
fn memory_that_answers_at_two_addresses_is_found() {
    let Some(program) = sketch("memory_that_answers_at_two_addresses_is_found") else {
        return;
    };
    let output = typed(program, &[("HOST_PSRAM", "aliased")], "membench\n");
    let log = log(&output);
    let test = log.reports[1].psram_tests().next().unwrap();
    // The page that was written first holds the other one's words; both times.
    assert_eq!(test.errors, 2 * 4096 / 4);
    let first = test.first.as_ref().unwrap();
    assert!(first.offset < 4096 || first.offset >= test.bytes / 2);
}

#[test]
fn a_stop_ends_a_run_and_the_report_says_so() {
    let Some(program) = sketch("a_stop_ends_a_run_and_the_report_says_so") else {
        return;
    };
    let output = typed(program, &[], "run\n~300\n!run\n!stop\n");
    let said = text(&output.stdout);
    assert!(said.contains("something is running already"), "{said}");
    assert!(said.contains("== end: stopped"), "{said}");
    let log = log(&output);
    assert!(
        log.reports[1].whole().is_err(),
        "a stopped run is no whole report"
    );
}

#[test]
fn what_fails_is_a_fault_in_the_report() {
    let Some(program) = sketch("what_fails_is_a_fault_in_the_report") else {
        return;
    };
    for (env, line, why) in [
        (
            ("HOST_PARTITION", "none"),
            "run\n",
            "there is no partition named \\\"flight\\\"",
        ),
        (
            ("HOST_PSRAM", "none"),
            "run\n",
            "there is no PSRAM for the buffer",
        ),
        (
            ("HOST_PSRAM", "none"),
            "membench\n",
            "PSRAM has no free block",
        ),
        (
            ("HOST_FLASH_FAILS", "0x8000"),
            "run write-flat-out\n",
            "flash: ESP_ERR_INVALID_STATE",
        ),
    ] {
        let output = typed(program, &[env], line);
        let said = text(&output.stdout);
        assert!(
            said.contains(why) && said.contains("\"kind\":\"fault\""),
            "{why}\n{said}"
        );
        assert!(said.contains("== end: failed"), "{said}");
        log(&output);
    }
    let output = typed(
        program,
        &[("HOST_PSRAM", "none")],
        "run write-flat-out internal\n",
    );
    assert!(text(&output.stdout).contains("== end: complete, 2 results"));
}

#[test]
fn the_logger_s_example_logs_and_reads_its_log_back() {
    let test = "the_logger_s_example_logs_and_reads_its_log_back";
    let Some(program) = built_sketch(test, "FlightLogger") else {
        return;
    };
    let keys = "!t\n!s\n!e\n!l\n!s\n!e\n~400\n!t\n~400\n!q\n!l\n";
    let output = typed(&program, &[("HOST_ENDLESS", "1")], keys);
    let said = text(&output.stdout);
    let expected = [
        "ring: done",
        "no log is open; s starts one",
        "start: the flash is not erased where it is to be written",
        "erase: done",
        "list: there is no such thing",
        "start: done",
        "a log is open; q ends it",
        "launch: done",
        "end: done",
    ];
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines[..expected.len()], expected);
    let listed = lines[expected.len()];
    assert!(
        listed.starts_with("flight 2, sectors 0 to") && listed.ends_with(" 0 damaged"),
        "{listed}"
    );
    // What the ring held before the launch is there too: more than the 400 ms after it can have brought.
    let samples = listed
        .split(" records, ")
        .nth(1)
        .unwrap()
        .split(' ')
        .next()
        .unwrap();
    assert!(samples.parse::<u32>().unwrap() > 100, "{listed}");
}

/// A core as small as arduino-cli takes it, which compiles for this machine. It declares no functions for the sketch, so no
/// ctags, which arduino-cli would fetch, has to find them.
const PLATFORM: &str = r#"name=Stand-in
version=1.0.0
tools.ctags.pattern=true
compiler.libraries.ldflags=
recipe.preproc.macros=c++ -std=gnu++17 -w -x c++ -E -CC {includes} "{source_file}" -o "{preprocessed_file_path}"
recipe.cpp.o.pattern=c++ -std=gnu++17 -Wall -Wextra -Werror -c {includes} "{source_file}" -o "{object_file}"
recipe.c.o.pattern=cc -c {includes} "{source_file}" -o "{object_file}"
recipe.S.o.pattern=cc -c {includes} "{source_file}" -o "{object_file}"
recipe.ar.pattern=ar rcs "{archive_file_path}" "{object_file}"
recipe.c.combine.pattern=c++ {object_files} "{build.path}/{archive_file}" {compiler.libraries.ldflags} -lpthread -ldl -lm -o "{build.path}/{build.project_name}.elf"
"#;

#[test]
fn the_arduino_tools_take_library_archive_and_examples() {
    let test = "the_arduino_tools_take_library_archive_and_examples";
    let unpacked = testing::workspace().join("target/parts/arduino-cli");
    let cli = if unpacked.is_file() {
        Some(unpacked)
    } else {
        which::which("arduino-cli").ok()
    };
    let Some(cli) = cli else {
        testing::skipped(test, "there is no arduino-cli; .ci/arduino-cli fetches one");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let at = |path: &str| dir.path().join(path);
    // The layout for the chip, around an archive that this machine can link.
    let files = library::files(Target::Esp32s3, &testing::workspace()).unwrap();
    let reduced = Reduced {
        bytes: std::fs::read(archive()).unwrap(),
        defines: Vec::new(),
        needs: Vec::new(),
        left_out: 0,
        architecture: object::Architecture::Xtensa,
    };
    let installed = at("user/libraries/FlightLog");
    library::write(Target::Esp32s3, &files, &reduced, &installed).unwrap();

    let core = at("user/hardware/standin/esp32/cores/esp32");
    std::fs::create_dir_all(core.join("freertos")).unwrap();
    for entry in walkdir::WalkDir::new(testing::workspace().join("xtask/tests/stallbench")) {
        let entry = entry.unwrap();
        let root = testing::workspace().join("xtask/tests/stallbench");
        let below = entry.path().strip_prefix(&root).unwrap();
        if entry.file_type().is_file() {
            std::fs::copy(entry.path(), core.join(below)).unwrap();
        }
    }
    let platform = at("user/hardware/standin/esp32");
    std::fs::write(platform.join("platform.txt"), PLATFORM).unwrap();
    let board = "esp32s3.name=S3\nesp32s3.build.mcu=esp32s3\nesp32s3.build.core=esp32\nesp32s3.build.board=S3\n";
    std::fs::write(platform.join("boards.txt"), board).unwrap();
    std::fs::create_dir(at("data")).unwrap();
    std::fs::write(at("data/package_index.json"), "{\"packages\":[]}").unwrap();
    std::fs::write(at("data/library_index.json"), "{\"libraries\":[]}").unwrap();

    for name in ["StallBench", "FlightLogger"] {
        let built = Command::new(&cli)
            .args([
                "compile",
                "--verbose",
                "--fqbn",
                "standin:esp32:esp32s3",
                "--build-path",
            ])
            .arg(at(&format!("build/{name}")))
            .arg(installed.join("examples").join(name))
            .env("HOME", dir.path())
            .env("ARDUINO_DIRECTORIES_DATA", at("data"))
            .env("ARDUINO_DIRECTORIES_USER", at("user"))
            .env("ARDUINO_DIRECTORIES_DOWNLOADS", at("downloads"))
            .output()
            .unwrap();
        let said = text(&built.stdout);
        assert!(built.status.success(), "{said}{}", text(&built.stderr));
        let taken = format!("-L{} -lflightlog", installed.join("src/esp32s3").display());
        assert!(said.replace('"', "").contains(&taken), "{said}");
        let program = at(&format!("build/{name}/{name}.ino.elf"));
        let output = typed(&program, &[("HOST_ENDLESS", "1")], "");
        assert!(output.status.success());
    }
}

/// The signatures of the stand-in's functions, blanks and names of arguments aside.
fn signature(declaration: &str) -> String {
    let words = declaration
        .replace("extern \"C\"", "")
        .replace("PRIVILEGED_FUNCTION", "");
    let words = words
        .replace('*', " * ")
        .replace('(', " ( ")
        .replace([')', ','], " , ");
    let words: Vec<&str> = words
        .split_whitespace()
        .filter(|word| *word != "extern")
        .collect();
    words
        .join(" ")
        .replace("const configSTACK_DEPTH_TYPE", "const uint32_t")
}

/// Declarations `name(...)` in a header: from the start of their statement to the semicolon.
fn declarations(header: &str, name: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in header.match_indices(name) {
        let after = header[at + name.len()..].trim_start();
        if !after.starts_with('(') {
            continue;
        }
        let start = header[..at]
            .rfind([';', '}', '/', '#', '{'])
            .map_or(0, |end| end + 1);
        let line = header[start..at]
            .rfind('\n')
            .map_or(start, |end| start + end + 1);
        if let Some(end) = header[at..].find(';') {
            found.push(signature(&header[line..at + end]));
        }
    }
    found
}

#[test]
fn the_stand_in_s_signatures_are_those_of_esp_idf() {
    let test = "the_stand_in_s_signatures_are_those_of_esp_idf";
    let Some(idf) = std::env::var_os("XTASK_REAL_IDF") else {
        testing::unasked(test, "XTASK_REAL_IDF names a checkout of ESP-IDF");
        return;
    };
    let components = Path::new(&idf).join("components");
    let stand_in = testing::workspace().join("xtask/tests/stallbench");
    let places = [
        (
            "esp_async_memcpy.h",
            "esp_hw_support/include/esp_async_memcpy.h",
        ),
        ("esp_chip_info.h", "esp_hw_support/include/esp_chip_info.h"),
        ("esp_err.h", "esp_common/include/esp_err.h"),
        ("esp_flash.h", "spi_flash/include/esp_flash.h"),
        ("esp_heap_caps.h", "heap/include/esp_heap_caps.h"),
        ("esp_idf_version.h", "esp_common/include/esp_idf_version.h"),
        ("esp_mmu_map.h", "esp_mm/include/esp_mmu_map.h"),
        ("esp_partition.h", "esp_partition/include/esp_partition.h"),
        ("esp_psram.h", "esp_psram/include/esp_psram.h"),
        ("esp_random.h", "esp_hw_support/include/esp_random.h"),
        ("esp_timer.h", "esp_timer/include/esp_timer.h"),
    ];
    let mut compared = 0;
    for (ours, theirs) in places {
        let ours = std::fs::read_to_string(stand_in.join(ours)).unwrap();
        let theirs = std::fs::read_to_string(components.join(theirs)).unwrap();
        for line in ours.lines().filter(|line| line.starts_with("extern \"C\"")) {
            let name = line
                .split('(')
                .next()
                .unwrap()
                .rsplit([' ', '*'])
                .next()
                .unwrap();
            let wanted = signature(line.trim_end_matches(';'));
            let real = declarations(&theirs, name);
            assert!(real.contains(&wanted), "{name}: {wanted}\n{real:#?}");
            compared += 1;
        }
    }
    assert!(compared >= 24, "only {compared} functions were compared");
    let utils = components.join("esp_hw_support/include/esp_memory_utils.h");
    let utils = std::fs::read_to_string(utils).unwrap();
    for function in [
        "bool esp_ptr_internal(const void *p)",
        "bool esp_ptr_in_iram(const void *p)",
    ] {
        assert!(utils.contains(function), "{function}");
    }
    let targets = std::fs::read_to_string(components.join("hal/include/hal/mmu_types.h")).unwrap();
    assert!(targets.contains("MMU_TARGET_PSRAM0 = BIT(1)"));
}
