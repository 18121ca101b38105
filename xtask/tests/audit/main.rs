//! `cargo xtask audit` on a small made-up ESP-IDF: by upstream's own kconfgen where Python and its package can be had, and
//! by lines alone everywhere.

#![allow(clippy::unwrap_used, reason = "a test program: a panic is its verdict")]

mod made_up;
#[path = "../../src/testing.rs"]
mod testing;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use assert_cmd::Command;
use fs_err as fs;
use serde_json::Value;

const VARIANTS: [&str; 3] = [
    "the libraries and memory variant qio_qspi",
    "memory variant qio_opi",
    "memory variant dio_qspi",
];

/// The sources, and a work folder in which all tests share kconfgen's environment.
struct Ground {
    dir: tempfile::TempDir,
    /// Why Kconfig cannot be asked here.
    without: Option<String>,
}

fn ground() -> &'static Ground {
    static GROUND: OnceLock<Ground> = OnceLock::new();
    GROUND.get_or_init(|| {
        let dir = tempfile::Builder::new()
            .prefix("audit é ")
            .tempdir()
            .unwrap();
        made_up::write(&dir.path().join("upstream"));
        let mut ground = Ground { dir, without: None };
        let (_, audit, _) = ground.audit("xip-ecc", &[]);
        let why = audit["basis"]["why"].as_str();
        ground.without = why.map(str::to_owned);
        ground
    })
}

/// The same where Kconfig is asked, else `None`, said as SKIPPED.
fn kconfig(test: &str) -> Option<&'static Ground> {
    let ground = ground();
    if let Some(why) = &ground.without {
        testing::skipped(test, &format!("Kconfig cannot be asked: {why}"));
        return None;
    }
    Some(ground)
}

fn xtask() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command
        .env_remove("XTASK_CONFIG")
        .env("XDG_CONFIG_HOME", "/nonexistent")
        .arg("audit");
    command
}

fn finish(command: &mut Command) -> (i32, Value, String) {
    let output = command.output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    let json = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    (output.status.code().unwrap(), json, error)
}

impl Ground {
    fn upstream(&self) -> PathBuf {
        self.dir.path().join("upstream")
    }

    fn command(&self, set: &str, work: &Path) -> Command {
        let mut command = xtask();
        command
            .args(["--json", "--patch", set, "--lib-builder"])
            .arg(self.upstream())
            .arg("--work-dir")
            .arg(work);
        command
    }

    /// Exit code, result, standard error.
    fn audit(&self, set: &str, more: &[&str]) -> (i32, Value, String) {
        finish(self.command(set, &self.dir.path().join("work")).args(more))
    }

    /// By lines alone, and by Kconfig where it can be asked: both are to say the same.
    fn both(&self, set: &str) -> Vec<(i32, Value, String)> {
        let mut runs = vec![self.by_lines(set, &[])];
        if self.without.is_none() {
            runs.push(self.audit(set, &[]));
        }
        runs
    }

    /// The same on a machine without Python.
    fn by_lines(&self, set: &str, more: &[&str]) -> (i32, Value, String) {
        let work = tempfile::tempdir().unwrap();
        let mut command = self.command(set, work.path());
        finish(command.env("PATH", work.path()).args(more))
    }
}

/// `SYMBOL stock>patched` of each change of a build, without `CONFIG_`.
fn changes(audit: &Value, build: &str) -> Vec<String> {
    let builds = audit["builds"].as_array().unwrap();
    let build = builds.iter().find(|one| one["build"] == build).unwrap();
    let value = |value: &Value| value.as_str().unwrap_or("off").to_owned();
    build["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|change| {
            format!(
                "{} {}>{}",
                change["symbol"]
                    .as_str()
                    .unwrap()
                    .trim_start_matches("CONFIG_"),
                value(&change["stock"]),
                value(&change["patched"])
            )
        })
        .collect()
}

fn unmet(audit: &Value) -> Vec<(String, String, bool)> {
    let builds = audit["builds"].as_array().unwrap();
    let all = builds
        .iter()
        .flat_map(|build| build["unmet"].as_array().unwrap());
    all.map(|unmet| {
        (
            unmet["symbol"].as_str().unwrap().to_owned(),
            unmet["reason"].as_str().unwrap().to_owned(),
            unmet["expected"].as_bool().unwrap(),
        )
    })
    .collect()
}

fn hazards(audit: &Value) -> Vec<(&str, &str)> {
    let hazards = audit["hazards"].as_array().unwrap();
    hazards
        .iter()
        .map(|hazard| {
            (
                hazard["name"].as_str().unwrap(),
                hazard["subject"].as_str().unwrap(),
            )
        })
        .collect()
}

#[test]
fn the_default_set_is_clean() {
    let Some(ground) = kconfig("the_default_set_is_clean") else {
        return;
    };
    let (code, audit, error) = ground.audit("xip-ecc", &["--require-kconfig"]);
    assert_eq!(code, 0, "{error}");
    assert_eq!(audit["basis"]["version"], xtask::audit::KCONFGEN);
    // A symbol that no line and no select names follows too.
    assert_eq!(
        changes(&audit, "memory variant qio_opi"),
        [
            "FLASH_HIDDEN off>y",
            "SPIRAM_ECC_ENABLE off>y",
            "SPIRAM_FETCH_INSTRUCTIONS off>y",
            "SPIRAM_RODATA off>y",
            "SPIRAM_XIP_FROM_PSRAM off>y"
        ]
    );
    assert!(changes(&audit, VARIANTS[0]).is_empty() && changes(&audit, VARIANTS[2]).is_empty());
    assert!(hazards(&audit).is_empty() && unmet(&audit).is_empty());
    let products: Vec<&str> = audit["impact"]["products"]
        .as_array()
        .unwrap()
        .iter()
        .map(|product| product["name"].as_str().unwrap())
        .collect();
    assert_eq!(products, ["libspi_flash.a"]);
    let mentions = audit["impact"]["mentions"].as_array().unwrap();
    assert_eq!(
        mentions[0]["file"],
        "components/arduino/cores/esp32/psram.c"
    );
    assert!(mentions[0]["becomes"].as_array().unwrap().is_empty());
}

/// Case C4, and the hazard for which the default set stands where it stands.
#[test]
fn the_form_for_the_whole_chip_is_told_its_hazard_with_and_without_kconfig() {
    let ground = ground();
    for (code, audit, error) in &ground.both("xip-ecc-chip") {
        assert_eq!(*code, 3, "{error}");
        assert!(
            error.contains("--accept-hazard xip-without-boot-init"),
            "{error}"
        );
        assert_eq!(
            hazards(audit),
            [
                (
                    "xip-without-boot-init",
                    "memory variants dio_qspi, qio_qspi"
                ),
                ("ecc-without-octal", "memory variants dio_qspi, qio_qspi"),
            ]
        );
        // The set itself expects ECC to be off there.
        let unmet = unmet(audit);
        assert_eq!(unmet.len(), 2);
        for (symbol, reason, expected) in unmet {
            assert_eq!(
                (symbol.as_str(), expected),
                ("CONFIG_SPIRAM_ECC_ENABLE", true)
            );
            assert!(
                reason.starts_with("it depends on CONFIG_SPIRAM_MODE_OCT, which is n"),
                "{reason}"
            );
        }
    }
    let (code, _, error) = ground.by_lines(
        "xip-ecc-chip",
        &["--accept-hazard", "xip-without-boot-init"],
    );
    assert_eq!(code, 0, "{error}");
    let (code, _, error) = ground.by_lines("xip-ecc", &["--accept-hazard", "xip"]);
    assert!(
        code == 2 && error.contains("xip-without-boot-init"),
        "{error}"
    );
}

#[test]
fn without_python_the_lines_are_looked_at_and_that_is_said() {
    let ground = ground();
    let (code, audit, error) = ground.by_lines("xip-ecc", &[]);
    assert_eq!(code, 0, "{error}");
    let why = audit["basis"]["why"].as_str().unwrap();
    assert!(
        why.contains("no Python") && why.contains("install"),
        "{why}"
    );
    assert_eq!(
        changes(&audit, "memory variant qio_opi"),
        [
            "SPIRAM_ECC_ENABLE off>y",
            "SPIRAM_FETCH_INSTRUCTIONS off>y",
            "SPIRAM_RODATA off>y",
            "SPIRAM_XIP_FROM_PSRAM off>y"
        ],
        "all but what only Kconfig can tell"
    );
    let bootloader = &audit["builds"][1];
    assert!(bootloader["bootloader"].is_null(), "{bootloader}");
    let (code, _, error) = ground.by_lines("xip-ecc", &["--require-kconfig"]);
    assert!(code == 1 && error.contains("--require-kconfig"), "{error}");

    let work = tempfile::tempdir().unwrap();
    let (code, audit, _) = finish(ground.command("xip-ecc", work.path()).arg("--offline"));
    assert_eq!(code, 0);
    let why = audit["basis"]["why"].as_str().unwrap();
    assert!(why.contains("--offline"), "{why}");
}

/// Case C1: whatever takes a line back is named.
#[test]
fn what_does_not_take_is_told_with_the_reason() {
    let Some(ground) = kconfig("what_does_not_take_is_told_with_the_reason") else {
        return;
    };
    let sets = tempfile::tempdir().unwrap();
    let lines = "CONFIG_FLASHFREQ_40M=y\nCONFIG_SPIRAM_MODE_QUAD=y\nCONFIG_FLASH_HIDDEN=y\nCONFIG_LIB_BUILDER=n\n";
    let set = made_up::set(sets.path(), "wishes", "defconfig.esp32s3", lines, "");
    let (code, audit, error) = ground.audit(&set, &[]);
    assert_eq!(code, 3);
    let unmet = unmet(&audit);
    let reason = |symbol: &str, nth: usize| {
        let mut of_it = unmet.iter().filter(|(name, _, _)| name == symbol);
        of_it.nth(nth).unwrap().1.clone()
    };
    assert_eq!(
        reason("CONFIG_FLASHFREQ_40M", 0),
        "CONFIG_FLASHFREQ_80M is on in the same choice (configs/defconfig.80m:1)"
    );
    assert_eq!(
        reason("CONFIG_SPIRAM_MODE_QUAD", 0),
        "CONFIG_SPIRAM_MODE_OCT is on in the same choice (configs/defconfig.opi_ram:1)"
    );
    assert_eq!(
        reason("CONFIG_FLASH_HIDDEN", 0),
        "it has no prompt, so no line can set it"
    );
    assert!(
        error.contains("memory variant qio_opi: CONFIG_SPIRAM_MODE_QUAD would be off, not y"),
        "{error}"
    );

    // Off cannot be had for what another symbol selects, and a number must be in its range.
    let set = made_up::set(
        sets.path(),
        "selected",
        "defconfig.opi_ram",
        "CONFIG_SPIRAM_XIP_FROM_PSRAM=y\n# CONFIG_SPIRAM_RODATA is not set\nCONFIG_SPIRAM_BOOT_INIT=y\n",
        "",
    );
    let (code, audit, _) = ground.audit(&set, &[]);
    assert_eq!(code, 3);
    assert_eq!(
        self::unmet(&audit)[0].1,
        "CONFIG_SPIRAM_XIP_FROM_PSRAM selects it"
    );
}

/// Case C1 in its plainest form, a later line; also without Kconfig.
#[test]
fn a_later_line_is_named_by_file_and_line() {
    let ground = ground();
    let sets = tempfile::tempdir().unwrap();
    let set = made_up::set(
        sets.path(),
        "later",
        "defconfig.esp32s3",
        "CONFIG_SPIRAM_BOOT_INIT=y\n",
        "",
    );
    for (code, audit, error) in ground.both(&set) {
        assert_eq!(code, 3, "{error}");
        let unmet = unmet(&audit);
        assert_eq!(unmet.len(), 2, "{unmet:?}");
        assert_eq!(
            unmet[0].1,
            "a later line wins, configs/defconfig.qio_ram:1 `# CONFIG_SPIRAM_BOOT_INIT is not set`"
        );
    }
}

/// Case C2.
#[test]
fn bad_lines_are_refused_one_verdict_a_line() {
    let ground = ground();
    let sets = tempfile::tempdir().unwrap();
    let lines = "CONFIG_SPIRAM_ECC=y\nCONFIG_SPIRAM_RESERVE=\"much\"\nCONFIG_OLD_RESERVE=20\nCONFIG_SPIRAM_MODE_OCT=y\n\
                 CONFIG_SPIRAM_MODE_QUAD=y\n";
    let set = made_up::set(sets.path(), "bad", "defconfig.esp32s3", lines, "");
    let (code, _, error) = ground.by_lines(&set, &[]);
    assert_eq!(code, 2);
    for word in [
        "esp32s3:1: ",
        "the nearest is CONFIG_SPIRAM;",
        "esp32s3:2: ",
        "is a number",
        "esp32s3:3: ",
        "old name of CONFIG_SPIRAM_RESERVE",
        "esp32s3:5: ",
        "belong to one choice",
    ] {
        assert!(error.contains(word), "`{word}` is not in\n{error}");
    }
    let set = made_up::set(
        sets.path(),
        "range",
        "defconfig.esp32s3",
        "CONFIG_SPIRAM_RESERVE=65\n",
        "",
    );
    let (code, _, error) = ground.by_lines(&set, &[]);
    assert!(
        code == 2 && error.contains("outside its range, 16 to 64"),
        "{error}"
    );
}

#[test]
fn an_expectation_of_no_variant_is_refused_before_the_build() {
    let ground = ground();
    let sets = tempfile::tempdir().unwrap();
    let set = made_up::set(
        sets.path(),
        "idle",
        "defconfig.opi_ram",
        "CONFIG_SPIRAM_RESERVE=48\n",
        "[[expect]]\nvariant = \"*_octal\"\nCONFIG_SPIRAM_RESERVE = 48\n",
    );
    let (code, _, error) = ground.by_lines(&set, &[]);
    assert_eq!(code, 2);
    assert!(
        error.contains(
            "`*_octal` matches no memory variant of esp32s3; they are dio_qspi, qio_opi, qio_qspi"
        ),
        "{error}"
    );
}

/// Case C5.
#[test]
fn a_shared_archive_that_reads_what_differs_is_named() {
    let ground = ground();
    let sets = tempfile::tempdir().unwrap();
    let octal = made_up::set(
        sets.path(),
        "octal",
        "defconfig.opi_ram",
        "CONFIG_SPIRAM_RESERVE=48\n",
        "",
    );
    let all_alike = made_up::set(
        sets.path(),
        "alike",
        "defconfig.esp32s3",
        "CONFIG_SPIRAM_RESERVE=48\n",
        "",
    );
    for ((code, audit, error), (alike_code, alike, _)) in
        ground.both(&octal).into_iter().zip(ground.both(&all_alike))
    {
        assert_eq!((code, alike_code), (3, 0), "{error}");
        assert_eq!(
            hazards(&audit),
            [("variant-symbol-in-shared-archive", "liblcd.a")]
        );
        assert_eq!(
            audit["hazards"][0]["found"][0],
            "liblcd.a: CONFIG_SPIRAM_RESERVE in esp-idf/components/lcd/rgb.c"
        );
        assert!(hazards(&alike).is_empty(), "one value for all variants");
        assert_eq!(alike["impact"]["products"][0]["per_variant"], false);
    }
}

/// Cases C3 and C6: both forms of off are one wish; no newline, CRLF and a set that is in already change nothing.
#[test]
fn forms_of_one_wish_give_one_audit() {
    let Some(ground) = kconfig("forms_of_one_wish_give_one_audit") else {
        return;
    };
    let sets = tempfile::tempdir().unwrap();
    let audits = [
        "CONFIG_SPIRAM_BOOT_INIT=n\n",
        "# CONFIG_SPIRAM_BOOT_INIT is not set\r\n",
    ]
    .map(|line| {
        let set = made_up::set(sets.path(), "off", "defconfig.opi_ram", line, "");
        let (code, audit, error) = ground.audit(&set, &[]);
        assert_eq!(code, 0, "{error}");
        assert_eq!(
            changes(&audit, "memory variant qio_opi"),
            ["SPIRAM_BOOT_INIT y>off"]
        );
        audit
    });
    assert_eq!(audits[0], audits[1]);

    let clean = ground.audit("xip-ecc-chip", &[]).1;
    let patched = tempfile::tempdir().unwrap();
    made_up::write(patched.path());
    let set = xtask::patchset::find("xip-ecc-chip").unwrap();
    set.apply(patched.path(), &"esp32s3".parse().unwrap())
        .unwrap();
    let mut command = xtask();
    command
        .args(["--json", "--patch", "xip-ecc-chip", "--lib-builder"])
        .arg(patched.path())
        .arg("--work-dir")
        .arg(ground.dir.path().join("work"));
    let before = fs::read_to_string(patched.path().join("configs/defconfig.esp32s3")).unwrap();
    assert_eq!(
        finish(&mut command).1,
        clean,
        "stock is what stood there before the set"
    );
    let after = fs::read_to_string(patched.path().join("configs/defconfig.esp32s3")).unwrap();
    assert_eq!(before, after, "the audit changes nothing");
}

#[test]
fn the_bootloaders_own_project_is_asked_about_itself() {
    let Some(ground) = kconfig("the_bootloaders_own_project_is_asked_about_itself") else {
        return;
    };
    let sets = tempfile::tempdir().unwrap();
    let set = made_up::set(
        sets.path(),
        "all",
        "defconfig.esp32s3",
        "CONFIG_SPIRAM_RESERVE=48\nCONFIG_SPI_FLASH_AUTO_SUSPEND=y\n",
        "",
    );
    let (code, audit, error) = ground.audit(&set, &[]);
    assert_eq!(code, 0, "{error}");
    let bootloader = &audit["builds"][1];
    assert_eq!(changes(&audit, "bin/bootloader_qio_80m.elf").len(), 2);
    let own = bootloader["bootloader"].as_array().unwrap();
    assert_eq!(
        own.len(),
        1,
        "it knows spi_flash, and not esp_psram: {own:?}"
    );
    assert_eq!(own[0]["symbol"], "CONFIG_SPI_FLASH_AUTO_SUSPEND");
    assert_eq!(hazards(&audit)[0].0, "auto-suspend");
}

#[test]
fn values_are_shown_on_request() {
    let ground = ground();
    let (code, _, error) = ground.by_lines("xip-ecc", &["--show", "SPIRAM"]);
    assert!(code == 2 && error.contains("CONFIG_SPIRAM"), "{error}");
    let Some(ground) = kconfig("values_are_shown_on_request") else {
        return;
    };
    let more = [
        "--show",
        "CONFIG_SPIRAM_RESERVE",
        "--show",
        "CONFIG_SPIRAM_ECC_ENABLE",
    ];
    let (_, audit, _) = ground.audit("xip-ecc", &more);
    let shown = audit["shown"].as_array().unwrap();
    assert_eq!(shown.len(), 8);
    assert_eq!(
        (&shown[0]["stock"], &shown[0]["patched"]),
        (&"40".into(), &"40".into())
    );
    // In quad builds the symbol is not there at all, which is more than off.
    assert!(shown[1]["stock"].is_null() && shown[1]["patched"].is_null());
    assert_eq!(
        (&shown[5]["stock"], &shown[5]["patched"]),
        (&"n".into(), &"y".into())
    );
}

#[test]
fn a_kconfig_file_that_cannot_be_read_is_no_answer() {
    let Some(ground) = kconfig("a_kconfig_file_that_cannot_be_read_is_no_answer") else {
        return;
    };
    let broken = tempfile::tempdir().unwrap();
    made_up::write(broken.path());
    made_up::put(
        broken.path(),
        "esp-idf/components/lcd/Kconfig",
        "config\n  boool\n",
    );
    let mut command = xtask();
    command
        .args(["--json", "--lib-builder"])
        .arg(broken.path())
        .arg("--work-dir")
        .arg(ground.dir.path().join("work"));
    let (code, audit, _) = finish(&mut command);
    assert_eq!(code, 0);
    let why = audit["basis"]["why"].as_str().unwrap();
    assert!(
        why.contains("kconfgen failed") && why.contains("lcd/Kconfig"),
        "{why}"
    );
}

#[test]
fn the_table_for_people_tells_all_of_it() {
    let ground = ground();
    let work = tempfile::tempdir().unwrap();
    let mut command = xtask();
    command
        .args(["--patch", "xip-ecc-chip", "--lib-builder"])
        .arg(ground.upstream())
        .arg("--work-dir")
        .arg(work.path())
        .env("PATH", work.path());
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    for word in [
        "Kconfig was NOT asked",
        "CONFIG_SPIRAM_XIP_FROM_PSRAM  off -> y",
        "as the set expects",
        "error   xip-without-boot-init",
        "cpu_start.c",
        "libspi_flash.a  for each memory variant",
        "compiled with the sketch",
    ] {
        assert!(text.contains(word), "`{word}` is not in\n{text}");
    }
}

#[test]
fn a_variant_that_would_get_another_name_is_told() {
    let ground = ground();
    let sets = tempfile::tempdir().unwrap();
    let set = made_up::set(
        sets.path(),
        "octal",
        "defconfig.dio",
        "CONFIG_SPIRAM_MODE_OCT=y\n",
        "",
    );
    for (code, audit, error) in ground.both(&set) {
        assert_eq!(code, 3, "{error}");
        assert_eq!(
            hazards(&audit),
            [("output-renamed", "memory variant dio_qspi")]
        );
        assert_eq!(
            audit["hazards"][0]["found"][0],
            "memory variant dio_qspi: CONFIG_SPIRAM_MODE_OCT off -> y"
        );
    }
}

/// A Python that makes its environment, and then waits for ever over the job, or fails at `pip`.
#[cfg(unix)]
fn stand_in(bin: &Path, pip: &str) {
    use std::os::unix::fs::PermissionsExt;
    let script = format!(
        "#!/bin/sh\nshift 3\ncase \"$1 $2\" in\n'-m venv') mkdir -p \"$4/bin\"; cp \"$0\" \"$4/bin/python\" ;;\n\
         '-m pip') {pip} ;;\n'-c '*) ;;\n*) touch \"$1.started\"; sleep 600 ;;\nesac\n"
    );
    fs::create_dir_all(bin).unwrap();
    fs::write(bin.join("python3"), script).unwrap();
    fs::set_permissions(bin.join("python3"), std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[cfg(unix)]
fn path_with(bin: &Path) -> std::ffi::OsString {
    let others = std::env::var_os("PATH").unwrap_or_default();
    let all = std::iter::once(bin.to_owned()).chain(std::env::split_paths(&others));
    std::env::join_paths(all).unwrap()
}

#[cfg(unix)]
#[test]
fn ctrl_c_while_kconfig_is_asked_ends_the_audit() {
    use std::process::{Command as Process, Stdio};
    use std::time::{Duration, Instant};

    let ground = ground();
    let dir = tempfile::tempdir().unwrap();
    stand_in(&dir.path().join("bin"), "exit 0");
    let work = dir.path().join("work");
    let (xtask, upstream) = (env!("CARGO_BIN_EXE_xtask"), ground.upstream());
    let shell = xshell::Shell::new().unwrap();
    let mut command: Process = xshell::cmd!(
        shell,
        "{xtask} audit --json --lib-builder {upstream} --work-dir {work}"
    )
    .into();
    let mut child = command
        .env("PATH", path_with(&dir.path().join("bin")))
        .env_remove("XTASK_CONFIG")
        .env("XDG_CONFIG_HOME", "/nonexistent")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    let started = || {
        let mut files = walkdir::WalkDir::new(&work).into_iter().flatten();
        files.any(|entry| entry.file_name() == "evaluate.py.started")
    };
    while !started() {
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "Kconfig was never asked"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let status = child.wait().unwrap();
    let output = child.wait_with_output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(status.code(), Some(1), "{error}");
    assert!(
        error.contains("interrupted") && output.stdout.is_empty(),
        "{error}"
    );
    assert!(
        work.join("cache/kconfgen")
            .join(xtask::audit::KCONFGEN)
            .exists()
    );
    assert_eq!(
        fs::read_dir(work.join("jobs")).unwrap().count(),
        0,
        "no job stays behind"
    );
}

#[cfg(unix)]
#[test]
fn a_pip_without_network_leaves_the_lines_and_no_half_environment() {
    let ground = ground();
    let dir = tempfile::tempdir().unwrap();
    stand_in(
        &dir.path().join("bin"),
        "echo 'ERROR: no connection'; exit 1",
    );
    let work = dir.path().join("work");
    let mut command = ground.command("xip-ecc", &work);
    let (code, audit, error) = finish(command.env("PATH", path_with(&dir.path().join("bin"))));
    assert_eq!(code, 0, "{error}");
    let why = audit["basis"]["why"].as_str().unwrap();
    assert!(
        why.contains("pip could not") && why.contains("no connection"),
        "{why}"
    );
    assert!(
        !work
            .join("cache/kconfgen")
            .join(xtask::audit::KCONFGEN)
            .exists()
    );
}
