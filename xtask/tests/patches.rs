//! `cargo xtask patches`, run as a program.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use assert_cmd::Command;
use fs_err as fs;

fn patches(arguments: &[&str]) -> (i32, String, String) {
    let output = Command::cargo_bin("xtask")
        .unwrap()
        .arg("patches")
        .args(arguments)
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    )
}

fn write(root: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

#[test]
fn the_list_has_both_sets_and_the_hazard() {
    let (code, out, _) = patches(&[]);
    assert_eq!(code, 0);
    for want in [
        "xip-ecc (default)",
        "xip-ecc-chip\n",
        "defconfig.opi_ram",
        "expected of *_qspi",
        "hazard ",
    ] {
        assert!(out.contains(want), "{want}: {out}");
    }
    let (_, json, _) = patches(&["--json"]);
    let sets: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(sets.as_array().unwrap().len(), 2);
    assert_eq!(
        sets[0]["lines"]["defconfig.opi_ram"][1],
        "CONFIG_SPIRAM_ECC_ENABLE=y"
    );
    assert!(sets[0]["hazard"].is_null() && sets[1]["hazard"]["reason"].is_string());
}

#[test]
fn an_unknown_set_and_a_faulty_one_are_wrong_usage() {
    let (code, out, error) = patches(&["xip-eec"]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(error.contains("known are xip-ecc, xip-ecc-chip"), "{error}");

    let dir = tempfile::tempdir().unwrap();
    let set = dir.path().join("my set");
    write(
        &set,
        &[
            ("patch.toml", "summary = 's'\nchips = ['esp32s3']\n"),
            ("defconfig.common", "A=y\nCONFIG_B=text\n"),
        ],
    );
    let (code, _, error) = patches(&[set.to_str().unwrap()]);
    assert_eq!(code, 2);
    assert!(
        error.contains("rename the folder")
            && error.contains("common:1: ")
            && error.contains("common:2: "),
        "{error}"
    );
}

#[test]
fn a_set_is_tried_on_a_lib_builder_that_stays_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let builds = r#"{"mem_variants_files": [], "targets": [{"target": "esp32s3", "idf_libs": ["qio", "qio_ram"],
        "bootloaders": [], "mem_variants": [["qio", "opi_ram"]]}]}"#;
    let opi = "CONFIG_SPIRAM_MODE_OCT=y\r\nCONFIG_SPIRAM_ECC_ENABLE=y";
    write(
        dir.path(),
        &[
            ("configs/builds.json", builds),
            ("configs/defconfig.common", ""),
            ("configs/defconfig.esp32s3", ""),
            ("configs/defconfig.debug_default", ""),
            ("configs/defconfig.qio", ""),
            (
                "configs/defconfig.qio_ram",
                "# CONFIG_SPIRAM_BOOT_INIT is not set",
            ),
            ("configs/defconfig.opi_ram", opi),
        ],
    );
    let tree = dir.path().to_str().unwrap();
    let (code, out, error) = patches(&["xip-ecc", "--lib-builder", tree]);
    assert_eq!(code, 0, "{error}");
    assert!(
        out.contains("defconfig.opi_ram:4 CONFIG_SPIRAM_XIP_FROM_PSRAM=y\n"),
        "{out}"
    );
    assert!(
        out.contains("defconfig.opi_ram:2 CONFIG_SPIRAM_ECC_ENABLE=y (stands there already)"),
        "{out}"
    );
    assert!(out.contains("not looked up"), "{out}");
    assert_eq!(
        fs::read_to_string(dir.path().join("configs/defconfig.opi_ram")).unwrap(),
        opi
    );

    let kconfig = "config SPIRAM_XIP_FROM_PSRAM\n    bool\nconfig SPIRAM_ECC_ENABLE\n    bool\n";
    write(dir.path(), &[("esp-idf/components/x/Kconfig", kconfig)]);
    let (_, out, _) = patches(&["xip-ecc-chip", "--lib-builder", tree]);
    assert!(
        out.contains("warning") && out.contains("Kconfig drops it") && out.contains("all known"),
        "{out}"
    );

    write(
        dir.path(),
        &[(
            "configs/defconfig.opi_ram",
            "# CONFIG_SPIRAM_ECC_ENABLE is not set\n",
        )],
    );
    let (code, _, error) = patches(&["xip-ecc", "--lib-builder", tree]);
    assert_eq!(code, 2);
    assert!(
        error.contains("the file says `# CONFIG_SPIRAM_ECC_ENABLE is not set`, the set wants"),
        "{error}"
    );
    let (code, _, error) = patches(&[
        "xip-ecc",
        "--lib-builder",
        dir.path().join("configs").to_str().unwrap(),
    ]);
    assert!(
        code == 1 && error.contains("no checked out lib-builder"),
        "{error}"
    );
}
