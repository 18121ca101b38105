use std::path::PathBuf;

use super::*;
use crate::exit;
use crate::patchset::find;

const BUILDS: &str = r#"{
    "mem_variants_files": [{"file": "libspi_flash.a", "targets": ["esp32s3"]}, {"file": "sections.ld", "targets": ["esp32s3"]}],
    "targets": [{
        "target": "esp32s3", "idf_libs": ["qio", "80m", "qio_ram"], "bootloaders": [["qio", "80m", "qio_ram"]],
        "mem_variants": [["qio", "80m", "opi_ram"]]
    }]
}"#;

/// A lib-builder with xip-ecc in it, a tree that it built, and the stock tree.
struct Setup {
    dir: tempfile::TempDir,
    layout: Layout,
}

impl Setup {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let chip = "esp32s3".parse().unwrap();
        write(dir.path(), "builder/configs/builds.json", BUILDS);
        for layer in [
            "common",
            "esp32s3",
            "debug_default",
            "qio",
            "80m",
            "qio_ram",
        ] {
            write(
                dir.path(),
                &format!("builder/configs/defconfig.{layer}"),
                "",
            );
        }
        write(
            dir.path(),
            "builder/configs/defconfig.opi_ram",
            "CONFIG_SPIRAM_MODE_OCT=y\n",
        );
        let kconfig = "choice M\nconfig A1\n    bool\nconfig A2\n    bool\nendchoice\n";
        write(dir.path(), "builder/esp-idf/components/x/Kconfig", kconfig);
        find("xip-ecc")
            .unwrap()
            .apply(&dir.path().join("builder"), &chip)
            .unwrap();
        let layout = Layout::read(&dir.path().join("builder/configs/builds.json"), &chip).unwrap();
        let setup = Self { dir, layout };
        for tree in ["built", "stock"] {
            setup.fill(tree);
        }
        let on = "#define CONFIG_SPIRAM_MODE_OCT 1\n#define CONFIG_SPIRAM_XIP_FROM_PSRAM 1\n#define CONFIG_SPIRAM_FETCH_INSTRUCTIONS 1\n\
                  #define CONFIG_SPIRAM_RODATA 1\n#define CONFIG_SPIRAM_ECC_ENABLE 1\n";
        setup.put("qio_opi/include/sdkconfig.h", on);
        setup
    }

    fn fill(&self, tree: &str) {
        for (path, text) in [
            ("bin/bootloader_qio_80m.elf", "ELF"),
            ("include/x/x.h", "int x;\n"),
            ("ld/memory.ld", "MEMORY\n"),
            ("lib/libx.a", "!<arch>\nmember"),
            ("sdkconfig", "# config\n"),
        ] {
            write(self.dir.path(), &format!("{tree}/{path}"), text);
        }
        for variant in ["qio_qspi", "qio_opi"] {
            for (file, text) in [
                ("libspi_flash.a", "!<arch>\nmember"),
                ("sections.ld", "SECTIONS\n"),
                ("include/sdkconfig.h", "#define CONFIG_SPIRAM 1\n"),
            ] {
                write(self.dir.path(), &format!("{tree}/{variant}/{file}"), text);
            }
        }
        for file in flags::FILES {
            write(
                self.dir.path(),
                &format!("{tree}/flags/{file}"),
                "-mlongcalls -Os -DIDF_VER=\\\"v5.5.5\\\"",
            );
        }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join("built").join(path)
    }

    fn put(&self, path: &str, text: &str) {
        write(self.dir.path(), &format!("built/{path}"), text);
    }

    fn examine(&self) -> Findings {
        let tree = Tree::open(&self.dir.path().join("built")).unwrap();
        let stock = Tree::open(&self.dir.path().join("stock")).unwrap();
        examine(&tree, &self.layout, &find("xip-ecc").unwrap(), Some(&stock)).unwrap()
    }

    /// The one error.
    fn error(&self) -> String {
        let errors = self.examine().errors;
        assert_eq!(errors.len(), 1, "{errors:#?}");
        errors[0].clone()
    }
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
fn a_good_tree_passes_and_its_values_are_given() {
    let setup = Setup::new();
    let tree = Tree::open(&setup.dir.path().join("built")).unwrap();
    let effective = check(&tree, &setup.layout, &find("xip-ecc").unwrap(), None).unwrap();
    assert_eq!(effective["qio_opi"]["CONFIG_SPIRAM_ECC_ENABLE"], "y");
    assert_eq!(effective["qio_qspi"]["CONFIG_SPIRAM_ECC_ENABLE"], "n");
    assert_eq!(effective["qio_opi"].len(), 4);
    let findings = setup.examine();
    assert!(
        findings.errors.is_empty() && findings.warnings.is_empty(),
        "{findings:#?}"
    );
}

#[test]
fn all_findings_are_told_at_once_as_a_check_that_said_no() {
    let setup = Setup::new();
    fs::remove_dir_all(setup.path("qio_opi")).unwrap();
    fs::remove_file(setup.path("bin/bootloader_qio_80m.elf")).unwrap();
    fs::remove_file(setup.path("qio_qspi/libspi_flash.a")).unwrap();
    fs::remove_file(setup.path("sdkconfig")).unwrap();
    fs::remove_file(setup.path("ld/memory.ld")).unwrap();
    let tree = Tree::open(&setup.dir.path().join("built")).unwrap();
    let error = check(&tree, &setup.layout, &find("xip-ecc").unwrap(), None).unwrap_err();
    assert_eq!(exit::code(&error), 3);
    let text = error.to_string();
    for want in [
        "memory variant qio_opi is missing",
        "bin/bootloader_qio_80m.elf is missing",
        "qio_qspi/libspi_flash.a is missing",
        "sdkconfig is missing",
        "ld/ holds no .ld file",
    ] {
        assert!(text.contains(want), "{want}: {text}");
    }
    assert_eq!(text.lines().count(), 6, "{text}");
}

#[test]
fn archives_and_empty_files() {
    let setup = Setup::new();
    setup.put("lib/libx.a", "!<thin>\nx");
    assert!(setup.error().contains("lib/libx.a is a thin archive"));
    setup.put("lib/libx.a", "!<arch>\n");
    assert!(setup.error().contains("without members"));
    setup.put("lib/libx.a", "<html>");
    assert!(setup.error().contains("is not an archive"));
    setup.put("lib/libx.a", "");
    assert!(setup.error().contains("lib/libx.a is empty"));
    setup.put("lib/libx.a", "!<arch>\nmember");
    setup.put("include/x/x.h", "");
    let findings = setup.examine();
    assert!(
        findings.errors.is_empty() && findings.warnings == ["empty headers: include/x/x.h"],
        "{findings:?}"
    );
}

#[test]
fn a_variant_of_another_build_is_left_over() {
    let setup = Setup::new();
    setup.put("opi_qspi/include/sdkconfig.h", "#define CONFIG_A 1\n");
    assert!(
        setup
            .error()
            .contains("opi_qspi is not one that builds.json names")
    );
}

#[test]
fn a_value_that_did_not_come_is_told_with_its_reason() {
    let setup = Setup::new();
    let config = "#define CONFIG_SPIRAM_XIP_FROM_PSRAM 1\n#define CONFIG_SPIRAM_FETCH_INSTRUCTIONS 1\n#define CONFIG_SPIRAM_RODATA 1\n";
    setup.put("qio_opi/include/sdkconfig.h", config);
    let error = setup.error();
    assert!(
        error.starts_with(
            "qio_opi: CONFIG_SPIRAM_ECC_ENABLE is n, expected y: configs/defconfig.opi_ram:4 `"
        ),
        "{error}"
    );
    assert!(error.contains("Kconfig dropped it"), "{error}");

    // A later line of the same file takes it back.
    let builder = setup.dir.path().join("builder/configs/defconfig.opi_ram");
    let text = fs::read_to_string(&builder).unwrap();
    fs::write(
        &builder,
        format!("{text}# CONFIG_SPIRAM_ECC_ENABLE is not set\n"),
    )
    .unwrap();
    assert!(setup.error().ends_with(
        "the line that wins is configs/defconfig.opi_ram:6 `# CONFIG_SPIRAM_ECC_ENABLE is not set`"
    ));

    setup.put(
        "qio_qspi/include/sdkconfig.h",
        "#define CONFIG_SPIRAM_RODATA 1\n",
    );
    let errors = setup.examine().errors;
    assert!(
        errors.iter().any(|error| error
            .contains("qio_qspi: CONFIG_SPIRAM_RODATA is y, expected n: no defconfig line")),
        "{errors:?}"
    );

    setup.put("qio_opi/include/sdkconfig.h", "#define CONFIG_CUT");
    assert!(
        setup
            .examine()
            .errors
            .iter()
            .any(|error| error.contains("qio_opi") && error.contains("line 1"))
    );
}

#[test]
fn a_rival_in_the_same_choice_is_named() {
    let setup = Setup::new();
    let dir = tempfile::tempdir().unwrap();
    write(
        dir.path(),
        "my-set/patch.toml",
        "summary = 's'\nchips = ['esp32s3']\n[[expect]]\nvariant = 'dio_*'\nCONFIG_A1 = 'y'\n",
    );
    write(dir.path(), "my-set/defconfig.esp32s3", "CONFIG_A1=y\n");
    let set = find(dir.path().join("my-set").to_str().unwrap()).unwrap();
    write(
        setup.dir.path(),
        "builder/configs/defconfig.esp32s3",
        "CONFIG_A1=y\n",
    );
    write(
        setup.dir.path(),
        "builder/configs/defconfig.80m",
        "CONFIG_A2=y",
    );
    let tree = Tree::open(&setup.dir.path().join("built")).unwrap();
    let errors = examine(&tree, &setup.layout, &set, None).unwrap().errors;
    assert_eq!(errors.len(), 3, "{errors:#?}");
    assert!(
        errors[0]
            .contains("`dio_*` matches no memory variant of esp32s3; they are qio_opi, qio_qspi"),
        "{errors:?}"
    );
    for error in &errors[1..] {
        assert!(
            error.contains("CONFIG_A1 is n, expected y: a later line sets another member"),
            "{error}"
        );
        assert!(
            error.ends_with("configs/defconfig.80m:1 `CONFIG_A2=y`"),
            "{error}"
        );
    }
}

#[test]
fn foreign_paths_and_lost_cpu_flags() {
    let setup = Setup::new();
    let good = "-mlongcalls -Os -DIDF_VER=\\\"v5.5.5\\\"";
    setup.put("flags/c_flags", &format!("\"@/build/cflags\" {good}"));
    assert!(
        setup
            .error()
            .contains("flags/c_flags: `\"@/build/cflags\"`: it refers to the file /build/cflags")
    );
    setup.put("flags/c_flags", &format!("{good} -specs=/opt/x.specs"));
    assert!(setup.error().contains("absolute path /opt/x.specs"));
    write(
        setup.dir.path(),
        "stock/flags/c_flags",
        &format!("{good} -specs=/opt/x.specs"),
    );
    let findings = setup.examine();
    assert!(
        findings.errors.is_empty() && findings.warnings[0].contains("the stock tree has it too"),
        "{findings:?}"
    );
    write(setup.dir.path(), "stock/flags/c_flags", good);

    setup.put("flags/c_flags", "-DIDF_VER=\\\"v5.5.5\\\" -Os");
    let errors = setup.examine().errors;
    assert!(
        errors
            .iter()
            .any(|error| error.contains("flags/c_flags lost -mlongcalls")),
        "{errors:?}"
    );
    assert!(
        errors
            .iter()
            .any(|error| error.contains("that the stock tree has: -mlongcalls")),
        "{errors:?}"
    );

    setup.put("flags/c_flags", "-mlongcalls -O2 -DIDF_VER=\\\"v5.5.5\\\"");
    setup.put("flags/ld_libs", "-Os -mlongcalls -DIDF_VER=\\\"v5.5.5\\\"");
    let findings = setup.examine();
    assert!(findings.errors.is_empty(), "{findings:?}");
    assert_eq!(
        findings.warnings,
        [
            "flags/c_flags lacks what the stock tree has: -Os",
            "flags/c_flags has what the stock tree lacks: -O2",
            "flags/ld_libs has the stock tree's flags in another order from number 1 on"
        ]
    );
    fs::remove_file(setup.path("flags/ld_libs")).unwrap();
    assert!(
        setup
            .examine()
            .errors
            .contains(&"flags/ld_libs: it is missing".to_owned())
    );
}

#[test]
fn files_against_stock() {
    let setup = Setup::new();
    for index in 0..20 {
        write(
            setup.dir.path(),
            &format!("stock/include/y/{index:02}.h"),
            "x",
        );
    }
    write(setup.dir.path(), "stock/versions.txt", "x");
    setup.put("dependencies.lock", "x");
    setup.put("libs-manifest.json", "{}");
    let error = setup.error();
    assert!(
        error.starts_with("files of the stock tree are missing: include/y/00.h ")
            && error.ends_with("include/y/11.h and 8 more"),
        "{error}"
    );
    assert_eq!(
        setup.examine().warnings,
        ["files that the stock tree lacks: dependencies.lock"]
    );
}
