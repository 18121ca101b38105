use std::path::Path;

use fs_err as fs;

use crate::exit;
use crate::names::Chip;
use crate::patchset::{PatchSet, find, list, load::tests::set};
use crate::testing;

const BUILDS: &str = r#"{
    "mem_variants_files": [],
    "targets": [{
        "target": "esp32s3", "features": ["esp_sr"], "idf_libs": ["qio", "80m", "qio_ram"],
        "bootloaders": [["opi", "80m", "opi_ram"]],
        "mem_variants": [["qio", "80m", "opi_ram"], ["dio", "80m", "qio_ram"]]
    }]
}"#;

fn chip() -> Chip {
    "esp32s3".parse().unwrap()
}

/// A lib-builder's configs/ in small; three files without a last newline, one with CRLF.
fn tree() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let configs = dir.path().join("configs");
    fs::create_dir(&configs).unwrap();
    fs::write(configs.join("builds.json"), BUILDS).unwrap();
    for (file, text) in [
        ("common", "CONFIG_LOG=y\n"),
        ("esp32s3", "CONFIG_SPIRAM=y"),
        ("debug_default", "CONFIG_LOG_ERROR=y\r\n"),
        ("debug_verbose", "CONFIG_LOG_ERROR=n\n"),
        ("esp_sr", "CONFIG_PARTITION_TABLE_CUSTOM=y\n"),
        ("qio", "CONFIG_FLASH_QIO=y"),
        ("dio", "CONFIG_FLASH_DIO=y"),
        ("opi", "CONFIG_FLASH_OPI=y"),
        ("80m", "CONFIG_FREQ_80M=y"),
        ("qio_ram", "# CONFIG_SPIRAM_BOOT_INIT is not set"),
        (
            "opi_ram",
            "CONFIG_SPIRAM_MODE_OCT=y\n# CONFIG_SPIRAM_MEMTEST is not set",
        ),
    ] {
        fs::write(configs.join(format!("defconfig.{file}")), text).unwrap();
    }
    dir
}

fn verdicts(set: &PatchSet, tree: &Path) -> Vec<String> {
    let error = set.plan(tree, &chip()).unwrap_err();
    assert_eq!(exit::code(&error), 2, "{error:#}");
    error
        .to_string()
        .lines()
        .skip(1)
        .map(|line| line.trim().to_owned())
        .collect()
}

#[test]
fn planning_writes_nothing_and_applying_twice_is_once() {
    let tree = tree();
    let path = tree.path().join("configs/defconfig.opi_ram");
    let before = fs::read_to_string(&path).unwrap();
    let set = find("xip-ecc").unwrap();
    let planned = set.plan(tree.path(), &chip()).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), before);

    let applied = set.apply(tree.path(), &chip()).unwrap();
    assert_eq!(applied, planned);
    let lines: Vec<_> = applied
        .lines
        .iter()
        .map(|line| (line.file.as_str(), line.line, line.after.as_str()))
        .collect();
    assert_eq!(
        lines,
        [
            (
                "configs/defconfig.opi_ram",
                4,
                "CONFIG_SPIRAM_XIP_FROM_PSRAM=y"
            ),
            ("configs/defconfig.opi_ram", 5, "CONFIG_SPIRAM_ECC_ENABLE=y")
        ]
    );
    let after = fs::read_to_string(&path).unwrap();
    assert_eq!(after.lines().nth(3), Some("CONFIG_SPIRAM_XIP_FROM_PSRAM=y"));
    assert_eq!(set.apply(tree.path(), &chip()).unwrap(), applied);
    assert_eq!(fs::read_to_string(&path).unwrap(), after);
    assert_eq!(
        fs::read_dir(tree.path().join("configs")).unwrap().count(),
        12,
        "no temporary file stays"
    );

    let other = set_of(&[("defconfig.opi_ram", "CONFIG_A=y\n")]);
    assert!(verdicts(&other, tree.path())[0].contains("patch set xip-ecc is in this file already"));
}

fn set_of(files: &[(&str, &str)]) -> PatchSet {
    set("my-set", "", files).unwrap()
}

#[test]
fn every_fault_is_told_and_nothing_is_written() {
    let tree = tree();
    let set = set_of(&[
        ("defconfig.opi_rma", "CONFIG_A=y\n"),
        (
            "defconfig.opi_ram",
            "CONFIG_B=y\n\nCONFIG_SPIRAM_MODE_OCT=n\nCONFIG_SPIRAM_MEMTEST=y\n",
        ),
        ("defconfig.common", "CONFIG_C=y\n"),
    ]);
    assert!(set.apply(tree.path(), &chip()).is_err());
    let found = verdicts(&set, tree.path());
    assert_eq!(found.len(), 3, "{found:#?}");
    assert!(found[0].starts_with("my-set/defconfig.opi_ram:3: configs/defconfig.opi_ram:1: the file says `CONFIG_SPIRAM_MODE_OCT=y`"), "{found:#?}");
    assert!(
        found[1].starts_with("my-set/defconfig.opi_ram:4: configs/defconfig.opi_ram:2: "),
        "{found:#?}"
    );
    assert!(
        found[2].contains("no such file; the nearest is defconfig.opi_ram"),
        "{found:#?}"
    );
    assert_eq!(
        fs::read_to_string(tree.path().join("configs/defconfig.common")).unwrap(),
        "CONFIG_LOG=y\n"
    );
}

#[test]
fn a_line_that_no_build_reads_or_that_wins_nowhere_is_refused() {
    let tree = tree();
    let found = verdicts(
        &set_of(&[("defconfig.debug_verbose", "CONFIG_X=y\n")]),
        tree.path(),
    );
    assert!(
        found[0].contains("no build of esp32s3 reads defconfig.debug_verbose"),
        "{found:?}"
    );
    let found = verdicts(
        &set_of(&[("defconfig.common", "CONFIG_A=y\nCONFIG_SPIRAM=n\n")]),
        tree.path(),
    );
    assert_eq!(found.len(), 1);
    assert!(
        found[0].contains(":2: ")
            && found[0].contains("configs/defconfig.esp32s3:1 `CONFIG_SPIRAM=y`"),
        "{found:?}"
    );
}

#[test]
fn what_only_some_builds_take_back_is_a_warning() {
    let tree = tree();
    let set = set_of(&[(
        "defconfig.esp32s3",
        "CONFIG_SPIRAM_MODE_OCT=n\nCONFIG_FREE=y\n",
    )]);
    set.plan(tree.path(), &chip()).unwrap();
    let warnings = set.warnings(tree.path(), &chip()).unwrap();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(
        warnings[0].contains("memory variant qio_opi")
            && warnings[0].contains("configs/defconfig.opi_ram:1")
            && !warnings[0].contains("dio_qspi"),
        "{warnings:?}"
    );
    let layered = set_of(&[
        ("defconfig.esp32s3", "CONFIG_FREE=y\n"),
        ("defconfig.qio_ram", "CONFIG_FREE=n\n"),
    ]);
    assert!(
        layered.warnings(tree.path(), &chip()).unwrap().is_empty(),
        "the set itself says so"
    );
}

#[test]
fn another_chip_is_wrong_usage() {
    let error = find("xip-ecc")
        .unwrap()
        .plan(Path::new("nowhere"), &"esp32c3".parse().unwrap())
        .unwrap_err();
    assert_eq!(exit::code(&error), 2);
    assert!(
        error
            .to_string()
            .contains("is for esp32s3, not for esp32c3")
    );
}

/// A permission is kept, which a temporary file alone would not do.
#[cfg(unix)]
#[test]
fn permissions_stay() {
    use std::os::unix::fs::PermissionsExt;
    let tree = tree();
    let path = tree.path().join("configs/defconfig.opi_ram");
    fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
    find("xip-ecc")
        .unwrap()
        .apply(tree.path(), &chip())
        .unwrap();
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o644
    );
}

/// Every real defconfig file takes a line, and gives it back. `XIP_TEST_CONFIGS` names more `configs` folders (separated as PATH is).
#[test]
fn real_files_take_a_line_and_give_it_back() {
    const TEST: &str = "real_files_take_a_line_and_give_it_back";
    let more = std::env::var_os("XIP_TEST_CONFIGS").unwrap_or_default();
    let folders = testing::shared(TEST, "upstream/configs")
        .into_iter()
        .chain(std::env::split_paths(&more).filter(|path| path.is_dir()));
    let mut count = 0;
    for folder in folders {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if !path
                .file_name()
                .unwrap()
                .to_string_lossy()
                .starts_with("defconfig.")
            {
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            let set = set_of(&[(
                "defconfig.x",
                "CONFIG_XIP_TEST=y\n# CONFIG_XIP_OFF is not set\n",
            )]);
            let wish = super::Wish {
                set: "my-set",
                lines: &set.files["defconfig.x"],
                replaces: &[],
            };
            let injected = super::inject::inject(&text, wish).unwrap();
            assert_eq!(
                super::inject::inject(&injected.text, wish).unwrap(),
                injected,
                "{}",
                path.display()
            );
            assert_eq!(
                super::inject::strip(&injected.text, "my-set")
                    .unwrap()
                    .unwrap()
                    .original,
                text,
                "{}",
                path.display()
            );
            assert!(injected.text.ends_with('\n'));
            count += 1;
        }
        if folder.join("defconfig.opi_ram").is_file() && folder.join("builds.json").is_file() {
            for bundled in list().unwrap() {
                bundled
                    .plan(folder.parent().unwrap(), &chip())
                    .map(drop)
                    .unwrap_or_else(|error| {
                        // The knowledge folder holds only the files that the esp32s3 needs, and calls its folder `configs` too.
                        panic!("{}: {error:#}", folder.display())
                    });
            }
        }
    }
    eprintln!("{count} real defconfig files");
}
