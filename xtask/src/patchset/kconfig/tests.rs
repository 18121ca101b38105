use std::path::Path;

use fs_err as fs;

use crate::exit;
use crate::patchset::{PatchSet, defconfig, find, load::tests::set};
use crate::testing;

const BUILDS: &str = r#"{"mem_variants_files": [], "targets": [{"target": "esp32s3", "idf_libs": ["qio"], "bootloaders": [], "mem_variants": []}]}"#;

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A small tree in the shape of the real ones.
fn tree() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "configs/builds.json", BUILDS);
    write(
        dir.path(),
        "configs/defconfig.esp32s3",
        "CONFIG_CAMERA_OV2640=y\n",
    );
    let psram = "esp-idf/components/esp_psram";
    write(
        dir.path(),
        &format!("{psram}/Kconfig"),
        "menu \"PSRAM\"\n    orsource \"./$IDF_TARGET/Kconfig.spiram\"\nendmenu\n",
    );
    write(
        dir.path(),
        &format!("{psram}/esp32s3/Kconfig.spiram"),
        "config SPIRAM_ECC_ENABLE\n    bool\nchoice MODE\nconfig SPIRAM_MODE_QUAD\n    bool\nconfig SPIRAM_MODE_OCT\n    bool\nendchoice\n\
         config STACK\n    int\n    range 10 20\nconfig LABEL\n    string\n",
    );
    write(
        dir.path(),
        &format!("{psram}/esp32p4/Kconfig.spiram"),
        "config SPIRAM_MODE_HEX\n    bool\n",
    );
    write(
        dir.path(),
        &format!("{psram}/sdkconfig.rename"),
        "CONFIG_SPIRAM_ECC CONFIG_SPIRAM_ECC_ENABLE\n",
    );
    write(
        dir.path(),
        "esp-idf/components/bt/Kconfig",
        "source \"$IDF_PATH/components/bt/controller/esp32c3/Kconfig.in\"\n",
    );
    write(
        dir.path(),
        "esp-idf/components/bt/controller/esp32c3/Kconfig.in",
        "config BT_CTRL\n    int\n",
    );
    write(
        dir.path(),
        "esp-idf/components/bt/test_apps/main/Kconfig.projbuild",
        "config ONLY_A_TEST\n    bool\n",
    );
    dir
}

fn check(set: PatchSet, tree: &Path) -> Vec<String> {
    match set.check_symbols(tree, &"esp32s3".parse().unwrap()) {
        Ok(_) => Vec::new(),
        Err(error) => {
            assert_eq!(exit::code(&error), 2, "{error:#}");
            error
                .to_string()
                .lines()
                .skip(1)
                .map(|line| line.trim().to_owned())
                .collect()
        }
    }
}

#[test]
fn one_verdict_a_line_with_its_reason() {
    let tree = tree();
    let text = "CONFIG_SPIRAM_ECC_ENABEL=y\nCONFIG_SPIRAM_MODE_HEX=y\nCONFIG_SPIRAM_ECC=y\nCONFIG_SPIRAM_ECC_ENABLE=\"on\"\nCONFIG_STACK=30\n\
                CONFIG_LABEL=1\nCONFIG_SPIRAM_MODE_QUAD=y\nCONFIG_SPIRAM_MODE_OCT=y\nCONFIG_ONLY_A_TEST=y\nCONFIG_STACK_=y\n";
    let found = check(
        set("my-set", "", &[("defconfig.esp32s3", text)]).unwrap(),
        tree.path(),
    );
    for (line, want) in [
        (1, "the nearest is CONFIG_SPIRAM_ECC_ENABLE"),
        (
            2,
            "another chip only (esp-idf/components/esp_psram/esp32p4/Kconfig.spiram)",
        ),
        (3, "old name of CONFIG_SPIRAM_ECC_ENABLE"),
        (4, "write y or n"),
        (5, "10 to 20"),
        (6, "is a text"),
        (8, "line 7 `CONFIG_SPIRAM_MODE_QUAD=y` belong to one choice"),
        (9, "unknown symbol CONFIG_ONLY_A_TEST"),
        (10, "the nearest is CONFIG_STACK"),
    ] {
        let place = format!("my-set/defconfig.esp32s3:{line}: ");
        assert!(
            found
                .iter()
                .any(|verdict| verdict.starts_with(&place) && verdict.contains(want)),
            "{line} {want}: {found:#?}"
        );
    }
    assert_eq!(found.len(), 9, "{found:#?}");
}

#[test]
fn what_the_sources_know_passes() {
    let tree = tree();
    let text = "CONFIG_SPIRAM_ECC_ENABLE=y\n# CONFIG_SPIRAM_MODE_QUAD is not set\nCONFIG_SPIRAM_MODE_OCT=y\nCONFIG_STACK=0x14\n\
                CONFIG_BT_CTRL=3\nCONFIG_CAMERA_OV2640=n\nCONFIG_FROM_A_MANAGED_ONE=y\n";
    let managed = "managed = ['CONFIG_FROM_A_MANAGED_ONE']\n";
    let set = set("my-set", managed, &[("defconfig.esp32s3", text)]).unwrap();
    let symbols = set
        .check_symbols(tree.path(), &"esp32s3".parse().unwrap())
        .unwrap();
    assert_eq!(
        symbols.rivals("CONFIG_SPIRAM_MODE_OCT"),
        ["CONFIG_SPIRAM_MODE_QUAD"]
    );
    assert_eq!(symbols.count(), 6);
}

#[test]
fn a_symbol_does_not_become_known_by_being_injected() {
    let tree = tree();
    let set = || {
        set(
            "my-set",
            "",
            &[("defconfig.esp32s3", "CONFIG_NO_SUCH_THING=y\n")],
        )
        .unwrap()
    };
    for layer in ["common", "debug_default", "qio"] {
        write(tree.path(), &format!("configs/defconfig.{layer}"), "");
    }
    set()
        .apply(tree.path(), &"esp32s3".parse().unwrap())
        .unwrap();
    assert_eq!(check(set(), tree.path()).len(), 1);
}

#[test]
fn a_tree_without_kconfig_files_is_not_taken_for_a_good_one() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "configs/builds.json", BUILDS);
    write(
        dir.path(),
        "main/Kconfig.projbuild",
        "config LIB_BUILDER_COMPILE\n    bool\n",
    );
    let set = find("xip-ecc").unwrap();
    let error = set
        .check_symbols(dir.path(), &"esp32s3".parse().unwrap())
        .unwrap_err()
        .to_string();
    assert!(error.contains("no Kconfig file"), "{error}");
}

/// `XIP_TEST_TREE` names a lib-builder with ESP-IDF in `esp-idf/`.
#[test]
fn the_real_sources_know_the_bundled_sets() {
    const TEST: &str = "the_real_sources_know_the_bundled_sets";
    let Some(tree) = std::env::var_os("XIP_TEST_TREE") else {
        return testing::unasked(TEST, "XIP_TEST_TREE names no checked out lib-builder");
    };
    for bundled in crate::patchset::list().unwrap() {
        let symbols = bundled
            .check_symbols(Path::new(&tree), &"esp32s3".parse().unwrap())
            .unwrap();
        assert_eq!(
            symbols.rivals("CONFIG_SPIRAM_MODE_OCT"),
            ["CONFIG_SPIRAM_MODE_QUAD"]
        );
    }
    // Upstream's own lines must not be found at fault for their type, range or choice.
    for file in [
        "defconfig.common",
        "defconfig.esp32s3",
        "defconfig.opi_ram",
        "defconfig.esp_sr",
    ] {
        let text = fs::read_to_string(Path::new(&tree).join("configs").join(file)).unwrap();
        let mut wins = std::collections::BTreeMap::new();
        for line in defconfig::lines(&text) {
            if let Some((symbol, _)) = defconfig::assignment(line.text) {
                wins.insert(symbol.to_owned(), format!("{}\n", line.text.trim_end()));
            }
        }
        let lines: String = wins.into_values().collect();
        let found = check(
            set("my-set", "", &[(file, &lines)]).unwrap(),
            Path::new(&tree),
        );
        assert!(
            found
                .iter()
                .all(|verdict| verdict.contains("old name") || verdict.contains("another chip")),
            "{found:#?}"
        );
    }
}
