use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::libs::Value;

struct On(BTreeSet<String>);

impl Settings for On {
    fn on(&self, symbol: &str) -> bool {
        self.0.contains(symbol)
    }
}

/// Settings in which the symbols named (without `CONFIG_`) are on.
fn on(names: &str) -> On {
    On(names
        .split_whitespace()
        .map(|name| format!("CONFIG_{name}"))
        .collect())
}

fn names(variant: &str, stock: &str, patched: &str, asked: &str) -> Vec<&'static str> {
    let yes = Value::Bool(true);
    let asked: Vec<String> = asked
        .split_whitespace()
        .map(|name| format!("CONFIG_{name}"))
        .collect();
    let case = Case {
        variant,
        stock: &on(stock),
        patched: &on(patched),
        asked: asked.iter().map(|name| (name.as_str(), &yes)).collect(),
        bootloaders: &["bin/bootloader_qio_80m.elf", "bin/bootloader_qio_120m.elf"],
    };
    found(&case).into_iter().map(|rule| rule.name).collect()
}

const OCTAL: &str = "IDF_TARGET_ESP32S3 SPIRAM SPIRAM_MODE_OCT SPIRAM_BOOT_INIT SPIRAM_SPEED_80M ESPTOOLPY_FLASHFREQ_80M";
const QUAD: &str =
    "IDF_TARGET_ESP32S3 SPIRAM SPIRAM_MODE_QUAD SPIRAM_SPEED_80M ESPTOOLPY_FLASHFREQ_80M";
const XIP: &str = "SPIRAM_XIP_FROM_PSRAM SPIRAM_FETCH_INSTRUCTIONS SPIRAM_RODATA";

#[test]
fn the_program_is_said_to_be_in_psram_that_nobody_fills() {
    let patched = format!("{QUAD} {XIP}");
    assert_eq!(
        names("qio_qspi", QUAD, &patched, "SPIRAM_XIP_FROM_PSRAM"),
        ["xip-without-boot-init"]
    );
    let initialised = format!("{patched} SPIRAM_BOOT_INIT");
    assert!(names("qio_qspi", QUAD, &initialised, "").is_empty());
    let octal = format!("{OCTAL} {XIP} SPIRAM_ECC_ENABLE");
    assert!(
        names(
            "qio_opi",
            OCTAL,
            &octal,
            "SPIRAM_XIP_FROM_PSRAM SPIRAM_ECC_ENABLE"
        )
        .is_empty()
    );
    // What upstream's own settings do is not the set's doing.
    assert!(names("qio_qspi", &patched, &patched, "").is_empty());
}

#[test]
fn half_of_the_program_and_ecc_for_quad() {
    let half = format!("{OCTAL} SPIRAM_RODATA");
    assert_eq!(
        names("qio_opi", OCTAL, &half, ""),
        ["half-of-the-program-moved"]
    );
    assert_eq!(
        names("qio_qspi", QUAD, QUAD, "SPIRAM_ECC_ENABLE"),
        ["ecc-without-octal"]
    );
    assert!(names("qio_opi", OCTAL, OCTAL, "SPIRAM_ECC_ENABLE").is_empty());
    let suspend = format!("{QUAD} SPI_FLASH_AUTO_SUSPEND");
    assert_eq!(names("qio_qspi", QUAD, &suspend, ""), ["auto-suspend"]);
}

#[test]
fn what_120_mhz_needs() {
    let psram = OCTAL.replace("SPEED_80M", "SPEED_120M");
    assert_eq!(
        names("qio_opi", OCTAL, &psram, ""),
        ["120mhz-by-temperature"]
    );
    assert_eq!(
        names("qio_opi", OCTAL, OCTAL, "SPIRAM_SPEED_120M"),
        ["120mhz-without-experimental"]
    );
    let both = psram.replace("FLASHFREQ_80M", "FLASHFREQ_120M");
    assert_eq!(
        names("qio_opi", OCTAL, &both, ""),
        ["120mhz-by-temperature", "120mhz-flash-needs-its-bootloader"]
    );
    assert_eq!(
        names("dio_opi", OCTAL, &both, ""),
        ["120mhz-by-temperature", "120mhz-flash-without-bootloader"]
    );
    // Flash at 120 MHz wants a core clock of 240 MHz beside octal PSRAM, which wants 160 MHz for 80 MHz.
    let flash = OCTAL.replace("FLASHFREQ_80M", "FLASHFREQ_120M");
    assert!(names("qio_opi", OCTAL, &flash, "").contains(&"120mhz-clocks-do-not-fit"));
    // Octal flash at 80 MHz wants 160 MHz, octal PSRAM at 120 MHz 240 MHz.
    let octal_flash = format!("{OCTAL} ESPTOOLPY_FLASH_SAMPLE_MODE_DTR");
    let patched = format!("{psram} ESPTOOLPY_FLASH_SAMPLE_MODE_DTR");
    assert!(names("opi_opi", &octal_flash, &patched, "").contains(&"120mhz-clocks-do-not-fit"));
    assert!(names("opi_opi", &octal_flash, &octal_flash, "").is_empty());
    let quad = QUAD.replace("_80M", "_120M");
    assert_eq!(
        names("qio_qspi", QUAD, &quad, ""),
        ["120mhz-flash-needs-its-bootloader"],
        "quad memories at 120 MHz are stable"
    );
}

#[test]
fn names_are_words_of_a_command_line_and_each_names_one_rule() {
    let by_name: BTreeMap<&str, &Rule> = RULES.iter().map(|rule| (rule.name, *rule)).collect();
    assert_eq!(by_name.len(), RULES.len());
    for rule in RULES {
        assert!(
            rule.name
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'),
            "{}",
            rule.name
        );
        assert_eq!(named(rule.name), Some(rule));
        assert!(!rule.reason.is_empty() && !rule.source.is_empty());
    }
    assert_eq!(named("xip"), None);
    assert!(Level::Error > Level::Warning && Level::Warning > Level::Note);
}
