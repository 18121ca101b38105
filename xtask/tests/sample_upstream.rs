//! The sample upstream by itself, driven by hand as its users would: laid out, installed, built; and what its patched builds
//! change. The real ESP-IDF's own figures stand beside each expectation.

#![allow(clippy::unwrap_used, reason = "a test's own helpers may panic too")]

#[path = "../src/testing.rs"]
mod testing;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fs_err as fs;
use xshell::{Shell, cmd};
use xtask::demo::content;
use xtask::demo::difference::{self, Difference, What};

/// Folder of the sample, and where upstream's build expects it.
const PLACES: [(&str, &str); 7] = [
    ("lib-builder", ""),
    ("esp-idf", "esp-idf"),
    ("tlsf", "esp-idf/components/heap/tlsf"),
    ("mbedtls", "esp-idf/components/mbedtls/mbedtls"),
    (
        "mbedtls-framework",
        "esp-idf/components/mbedtls/mbedtls/framework",
    ),
    ("arduino-esp32", "components/arduino"),
    ("tinyusb", "components/arduino_tinyusb/tinyusb"),
];

/// All that the sample calls. A PATH of these alone is a machine with a C compiler and nothing else.
const PROGRAMS: [&str; 12] = [
    "sh", "cc", "ar", "as", "ld", "cat", "chmod", "cp", "dirname", "mkdir", "mv", "rm",
];

/// The members that differ between stock and both lines in an octal variant, measured on ESP-IDF v5.5.5.
const OCTAL: [(&str, &[&str]); 3] = [
    (
        "libesp_psram.a",
        &[
            "esp_psram.c.obj",
            "mmu_psram_flash.c.obj",
            "esp_psram_impl_octal.c.obj",
        ],
    ),
    ("libesp_system.a", &["cpu_start.c.obj"]),
    (
        "libspi_flash.a",
        &[
            "cache_utils.c.obj",
            "flash_mmap.c.obj",
            "spi_flash_os_func_app.c.obj",
        ],
    ),
];

/// A folder with the sample laid out in it.
struct Laid {
    dir: tempfile::TempDir,
    root: PathBuf,
    path: PathBuf,
}

impl Laid {
    /// `None`, said as SKIPPED, where this machine lacks a program.
    fn out(test: &str, lines: &[(&str, &str)]) -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let (root, path) = (dir.path().join("a b ü"), dir.path().join("bin"));
        fs::create_dir(&path).unwrap();
        for program in PROGRAMS {
            let Ok(found) = which::which(program) else {
                testing::skipped(test, &format!("no `{program}` on the PATH"));
                return None;
            };
            link(&found, &path.join(program));
        }
        for (folder, place) in PLACES {
            for (file, content) in content::files(folder).unwrap() {
                let to = root.join(place).join(file);
                fs::create_dir_all(to.parent().unwrap()).unwrap();
                fs::write(&to, content).unwrap();
                make_executable(&to);
            }
        }
        for (file, text) in lines {
            let to = root.join("configs").join(file);
            let mut content = fs::read_to_string(&to).unwrap();
            content.push_str(text);
            fs::write(to, content).unwrap();
        }
        Some(Self { dir, root, path })
    }

    /// Runs `script` by `shell`, in the sample's root, with nothing of this process's environment. Gives its output.
    fn run(&self, shell: &str, script: &str) -> Result<String, String> {
        let sh = Shell::new().unwrap();
        sh.change_dir(&self.root);
        let shell = which::which(shell).unwrap();
        let (path, tools) = (&self.path, self.dir.path().join("tools"));
        let output = cmd!(
            sh,
            "/usr/bin/env -i PATH={path} HOME={tools} IDF_TOOLS_PATH={tools} {shell} -c {script}"
        )
        .quiet()
        .ignore_status()
        .output()
        .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr);
        if output.status.success() {
            Ok(text)
        } else {
            Err(text)
        }
    }

    fn build(&self, shell: &str, chip: &str) -> String {
        let script = format!(
            "./esp-idf/install.sh {chip} && . ./esp-idf/export.sh && {shell} ./build.sh -s -t {chip}",
            shell = which::which(shell).unwrap().display()
        );
        let said = self.run(shell, &script);
        said.unwrap_or_else(|text| panic!("building {chip} by {shell}:\n{text}"))
    }

    fn tree(&self, chip: &str) -> PathBuf {
        self.root.join("out/tools/esp32-arduino-libs").join(chip)
    }
}

#[cfg(unix)]
fn link(program: &Path, to: &Path) {
    std::os::unix::fs::symlink(program, to).unwrap();
}

#[cfg(not(unix))]
fn link(program: &Path, to: &Path) {
    fs::copy(program, to.with_extension("exe")).unwrap();
}

#[cfg(unix)]
fn make_executable(file: &Path) {
    use std::os::unix::fs::PermissionsExt;
    if fs::read(file).unwrap().starts_with(b"#!") {
        fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
}

#[cfg(not(unix))]
fn make_executable(_file: &Path) {}

/// Changed archive members by variant and archive.
fn members(difference: &Difference) -> BTreeMap<(String, String), Vec<String>> {
    let of = |changed: &difference::Changed| {
        let What::Members(members) = &changed.what else {
            return None;
        };
        let (variant, archive) = changed.path.split_once('/')?;
        Some(((variant.to_owned(), archive.to_owned()), members.clone()))
    };
    difference.changed.iter().filter_map(of).collect()
}

fn expected(variants: &[(&str, bool)]) -> BTreeMap<(String, String), Vec<String>> {
    let mut expected = BTreeMap::new();
    for (variant, octal) in variants {
        for (archive, members) in OCTAL {
            let members = members
                .iter()
                .filter(|member| *octal || **member != "esp_psram_impl_octal.c.obj")
                .map(|member| (*member).to_owned());
            expected.insert(
                ((*variant).to_owned(), archive.to_owned()),
                members.collect(),
            );
        }
    }
    expected
}

#[test]
fn patched_builds_change_the_members_that_the_real_ones_change() {
    let test = "patched_builds_change_the_members_that_the_real_ones_change";
    let both = "\nCONFIG_SPIRAM_XIP_FROM_PSRAM=y\nCONFIG_SPIRAM_ECC_ENABLE=y\n";
    let Some(stock) = Laid::out(test, &[]) else {
        return;
    };
    let said = stock.build("sh", "esp32s3");
    for line in [
        "* Skipping Target: esp32c3",
        "* Target: 'esp32s3', Variant: 'esp32s3'",
        "* Build BootLoader: configs/defconfig.common;configs/defconfig.esp32s3;configs/defconfig.debug_default;\
         configs/defconfig.esp_sr;configs/defconfig.qio;configs/defconfig.120m;configs/defconfig.qio_ram",
        "* Build Memory Variant: configs/defconfig.common;configs/defconfig.esp32s3;configs/defconfig.debug_default;\
         configs/defconfig.esp_sr;configs/defconfig.opi;configs/defconfig.80m;configs/defconfig.opi_ram",
    ] {
        assert!(
            said.lines().any(|found| found == line),
            "no line `{line}` in\n{said}"
        );
    }

    let octal = Laid::out(test, &[("defconfig.opi_ram", both)]).unwrap();
    octal.build("sh", "esp32s3");
    let difference = difference::between(&stock.tree("esp32s3"), &octal.tree("esp32s3")).unwrap();
    let variants = [("dio_opi", true), ("opi_opi", true), ("qio_opi", true)];
    assert_eq!(members(&difference), expected(&variants));
    assert_eq!(
        difference.changed.len(),
        12,
        "three archives and sdkconfig.h, each in three variants"
    );
    assert!(difference.added.is_empty() && difference.removed.is_empty());

    // The article's form: the quad variants change too, without ECC, which depends on octal mode.
    let bash = which::which("bash").map_or("sh", |_| "bash");
    let chip = Laid::out(test, &[("defconfig.esp32s3", both)]).unwrap();
    chip.build(bash, "esp32s3");
    let difference = difference::between(&stock.tree("esp32s3"), &chip.tree("esp32s3")).unwrap();
    let quad = [("dio_qspi", false), ("qio_qspi", false)];
    assert_eq!(
        members(&difference),
        expected(&[&variants[..], &quad].concat())
    );
    let lines = |variant: &str| {
        let path = format!("{variant}/include/sdkconfig.h");
        let changed = difference
            .changed
            .iter()
            .find(|changed| changed.path == path)
            .unwrap();
        let What::Lines { added, .. } = &changed.what else {
            panic!("{path}")
        };
        added.len()
    };
    assert_eq!((lines("qio_qspi"), lines("qio_opi")), (3, 4));
}

#[test]
fn the_other_chip_builds_and_wrong_calls_are_refused() {
    let Some(sample) = Laid::out("the_other_chip_builds_and_wrong_calls_are_refused", &[]) else {
        return;
    };
    sample.build("sh", "esp32c3");
    let tree = sample.tree("esp32c3");
    let archives = |variant: &str| {
        fs::read_dir(tree.join(variant))
            .unwrap()
            .filter(|entry| {
                entry
                    .as_ref()
                    .unwrap()
                    .path()
                    .extension()
                    .is_some_and(|found| found == "a")
            })
            .count()
    };
    assert_eq!(
        (archives("qio_qspi"), archives("dio_qspi")),
        (1, 1),
        "only libspi_flash.a is per variant"
    );
    let config = fs::read_to_string(tree.join("dio_qspi/include/sdkconfig.h")).unwrap();
    assert!(
        config.contains("#define CONFIG_FREERTOS_IDLE_TASK_STACKSIZE 2304\n"),
        "a CRLF file is read"
    );
    assert!(!config.contains("SPIRAM_MODE"), "this chip has no PSRAM");
    for (call, said) in [
        ("./build.sh -t esp32c3", "would clone"),
        ("./build.sh -s -n", "Invalid option: -n"),
        (
            ". ./esp-idf/export.sh && ./build.sh -s -t esp32s9",
            "no target 'esp32s9'",
        ),
    ] {
        let refused = sample.run("sh", call).unwrap_err();
        assert!(refused.contains(said), "{call}: {refused}");
    }
}
