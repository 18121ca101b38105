//! The audit on the real ESP-IDF v5.5.5 and lib-builder, by upstream's own kconfgen.
//!
//! `XTASK_REAL_IDF` names a git repository that has commit b774170ff46c (v5.5.5), `XTASK_REAL_LIB_BUILDER` one that has
//! ee57070. What they lack (large files, submodules) is left out. Measured values stand in the knowledge folder beside the
//! workspace.

#![allow(clippy::unwrap_used, reason = "a test program: a panic is its verdict")]

#[path = "../src/testing.rs"]
mod testing;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use fs_err as fs;
use git2::{ObjectType, Repository, TreeWalkMode, TreeWalkResult};
use serde_json::Value;

const IDF: &str = "b774170ff46c";
const LIB_BUILDER: &str = "ee57070";

/// The real sources, or `None`, said as SKIPPED.
fn sources(test: &str) -> Option<tempfile::TempDir> {
    let named = |variable: &str| {
        let found = std::env::var_os(variable).map(PathBuf::from);
        if found.is_none() {
            testing::unasked(test, &format!("{variable} names no repository"));
        }
        found
    };
    let (idf, lib_builder) = (named("XTASK_REAL_IDF")?, named("XTASK_REAL_LIB_BUILDER")?);
    let dir = tempfile::tempdir().unwrap();
    write(&lib_builder, LIB_BUILDER, dir.path(), &[""]);
    let places = [
        "Kconfig",
        "sdkconfig.rename",
        "tools/cmake/",
        "components/",
        ".gitmodules",
    ];
    write(&idf, IDF, &dir.path().join("esp-idf"), &places);
    Some(dir)
}

/// Writes the files of a commit that begin with one of `places`.
fn write(repository: &Path, commit: &str, to: &Path, places: &[&str]) {
    let repository = Repository::open(repository).unwrap();
    let tree = repository
        .revparse_single(commit)
        .unwrap()
        .peel_to_tree()
        .unwrap();
    tree.walk(TreeWalkMode::PreOrder, |folder, entry| {
        let path = format!("{folder}{}", entry.name().unwrap());
        let wanted = places.iter().any(|place| path.starts_with(place));
        if entry.kind() == Some(ObjectType::Blob) && wanted {
            // Copies of the repository may lack large files, and none of those is a source.
            if let Ok(blob) = repository.find_blob(entry.id()) {
                let file = to.join(&path);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, blob.content()).unwrap();
            }
        }
        TreeWalkResult::Ok
    })
    .unwrap();
}

fn audit(sources: &Path, code: i32, more: &[&str]) -> Value {
    let work = sources.join("work");
    let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(["audit", "--json", "--require-kconfig", "--lib-builder"])
        .arg(sources)
        .arg("--work-dir")
        .arg(work)
        .args(more)
        .assert()
        .code(code)
        .get_output()
        .clone();
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The builds of the table, in the order of builds.json.
const BUILDS: [&str; 9] = [
    "idf_libs",
    "boot_qio_120m_qio_ram",
    "boot_qio_80m_qio_ram",
    "boot_dio_80m_qio_ram",
    "boot_opi_80m_opi_ram",
    "mem_qio_80m_opi_ram",
    "mem_dio_80m_qio_ram",
    "mem_dio_80m_opi_ram",
    "mem_opi_80m_opi_ram",
];

#[test]
fn both_lines_for_the_whole_chip_do_what_was_measured() {
    const TEST: &str = "both_lines_for_the_whole_chip_do_what_was_measured";
    let (Some(sources), Some(table)) = (
        sources(TEST),
        testing::shared(TEST, "upstream/kconfig-effect-idf-5.5.5.tsv"),
    ) else {
        return;
    };
    let show = ["CONFIG_SPIRAM_BOOT_INIT", "CONFIG_SPIRAM_MODE_OCT"];
    let more = [
        "--patch",
        "xip-ecc-chip",
        "--show",
        show[0],
        "--show",
        show[1],
    ];
    let audit = audit(sources.path(), 3, &more);
    let mut rows = BTreeSet::new();
    for (name, build) in BUILDS.iter().zip(audit["builds"].as_array().unwrap()) {
        for change in build["changes"].as_array().unwrap() {
            let value = |side: &str| change[side].as_str().unwrap_or("n").to_owned();
            let symbol = change["symbol"].as_str().unwrap();
            rows.insert(format!(
                "{name}\t{symbol}\t{}\t{}",
                value("stock"),
                value("patched")
            ));
        }
        let own = &build["bootloader"];
        assert_eq!(own.is_array(), name.starts_with("boot_"), "{own}");
        assert!(
            own.as_array().is_none_or(Vec::is_empty),
            "its own project knows none of them"
        );
    }
    let names = BUILDS.iter().flat_map(|name| [*name, *name]);
    for (name, shown) in names.zip(audit["shown"].as_array().unwrap()) {
        let value = |side: &str| shown[side].as_str().unwrap_or("absent").to_owned();
        let symbol = shown["symbol"].as_str().unwrap();
        rows.insert(format!(
            "{name}\t{symbol}\t{}\t{}",
            value("stock"),
            value("patched")
        ));
    }
    let table = fs::read_to_string(table).unwrap();
    let measured: BTreeSet<String> = table.lines().skip(1).map(str::to_owned).collect();
    assert_eq!(rows, measured);
    assert_eq!(rows.len(), 49);
}

fn products(audit: &Value) -> Vec<(&str, bool)> {
    let products = audit["impact"]["products"].as_array().unwrap();
    products
        .iter()
        .map(|product| {
            (
                product["name"].as_str().unwrap(),
                product["per_variant"].as_bool().unwrap(),
            )
        })
        .collect()
}

/// By reading (UPSTREAM.md): four archives, all kept for each memory variant, no linker script.
#[test]
fn the_default_set_is_clean_and_touches_four_archives() {
    let Some(sources) = sources("the_default_set_is_clean_and_touches_four_archives") else {
        return;
    };
    let audit = audit(sources.path(), 0, &[]);
    assert!(audit["hazards"].as_array().unwrap().is_empty());
    assert_eq!(
        products(&audit),
        [
            ("libesp_hw_support.a", true),
            ("libesp_psram.a", true),
            ("libesp_system.a", true),
            ("libspi_flash.a", true)
        ]
    );
}

/// By reading (QUICK-BUILD.md): the SPI driver reads the speed of PSRAM, and its archive is one for all variants.
#[test]
fn octal_psram_at_120_mhz_is_told_what_it_needs() {
    let Some(sources) = sources("octal_psram_at_120_mhz_is_told_what_it_needs") else {
        return;
    };
    let set = sources.path().join("psram-120m");
    fs::create_dir(&set).unwrap();
    fs::write(
        set.join("patch.toml"),
        "summary = 's'\nchips = ['esp32s3']\n",
    )
    .unwrap();
    let lines = "CONFIG_IDF_EXPERIMENTAL_FEATURES=y\nCONFIG_ESPTOOLPY_FLASHFREQ_120M=y\nCONFIG_SPIRAM_SPEED_120M=y\n";
    fs::write(set.join("defconfig.opi_ram"), lines).unwrap();
    let audit = audit(sources.path(), 3, &["--patch", set.to_str().unwrap()]);
    let found = |name: &str| {
        let hazards = audit["hazards"].as_array().unwrap();
        let of_it: Vec<&Value> = hazards
            .iter()
            .filter(|hazard| hazard["name"] == name)
            .collect();
        of_it
    };
    let shared = found("variant-symbol-in-shared-archive");
    let text = shared[0]["found"].to_string();
    for archive in [
        "libesp_driver_spi.a: CONFIG_SPIRAM_SPEED in esp-idf/components/esp_driver_spi/",
        "libxtensa.a: CONFIG_SPIRAM_SPEED_80M in ",
        // Experimental features bring a symbol that no line of the set names.
        "libusb.a: CONFIG_USB_HOST_EXT_PORT_RESET_ATTEMPTS in ",
    ] {
        assert!(text.contains(archive), "{text}");
    }
    let renamed = found("output-renamed")[0]["subject"].as_str();
    assert_eq!(
        renamed,
        Some("bin/bootloader_opi_80m.elf"),
        "it would be called opi_120m"
    );
    for name in [
        "120mhz-by-temperature",
        "120mhz-flash-without-bootloader",
        "120mhz-flash-needs-its-bootloader",
    ] {
        assert_eq!(found(name).len(), 1, "{name}");
    }
}
