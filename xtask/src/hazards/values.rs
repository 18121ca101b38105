//! The rules that need nothing but a build's settings.

use std::collections::BTreeMap;

use super::{
    AUTO_SUSPEND, DDR_120, ECC_WITHOUT_OCTAL, FLASH_120, FLASH_120_WITHOUT_BOOTLOADER, HALF_MOVED,
    OCTAL_120_DROPPED, Rule, XIP_WITHOUT_BOOT_INIT, clocks,
};
use crate::libs::Value;

/// The settings of one build, wherever they are known from.
pub trait Settings {
    /// Whether a symbol (with `CONFIG_`) that is on or off is on.
    fn on(&self, symbol: &str) -> bool;
}

/// A build whose memory variant is used by sketches, without and with the patch set.
pub struct Case<'a> {
    /// The memory variant, for example `qio_opi`.
    pub variant: &'a str,
    /// Its settings without the set.
    pub stock: &'a dyn Settings,
    /// Its settings with the set.
    pub patched: &'a dyn Settings,
    /// Symbol -> value, of the set's lines that reach the build.
    pub asked: BTreeMap<&'a str, &'a Value>,
    /// Paths of the bootloaders that are built, for example `bin/bootloader_qio_120m.elf`.
    pub bootloaders: &'a [&'a str],
}

/// A rule and when it is broken.
type Check = (&'static Rule, fn(&Case<'_>, &dyn Settings) -> bool);

const CHECKS: [Check; 9] = [
    (&XIP_WITHOUT_BOOT_INIT, |_, now| {
        both_moved(now) && !now.on("CONFIG_SPIRAM_BOOT_INIT")
    }),
    (&ECC_WITHOUT_OCTAL, |case, now| {
        case.asks("CONFIG_SPIRAM_ECC_ENABLE") && !octal_psram(now)
    }),
    (&HALF_MOVED, |_, now| {
        now.on("CONFIG_SPIRAM_FETCH_INSTRUCTIONS") != now.on("CONFIG_SPIRAM_RODATA")
    }),
    (&AUTO_SUSPEND, |_, now| {
        now.on("CONFIG_SPI_FLASH_AUTO_SUSPEND")
    }),
    (&OCTAL_120_DROPPED, |case, now| {
        case.asks("CONFIG_SPIRAM_SPEED_120M")
            && octal_psram(now)
            && !now.on("CONFIG_IDF_EXPERIMENTAL_FEATURES")
    }),
    (&DDR_120, |_, now| {
        let flash = now.on("CONFIG_ESPTOOLPY_FLASH_SAMPLE_MODE_DTR")
            && now.on("CONFIG_ESPTOOLPY_FLASHFREQ_120M");
        flash || octal_psram(now) && now.on("CONFIG_SPIRAM_SPEED_120M")
    }),
    (&super::CLOCKS_DIFFER, |_, now| clocks::differ(now)),
    (&FLASH_120_WITHOUT_BOOTLOADER, |case, now| {
        now.on("CONFIG_ESPTOOLPY_FLASHFREQ_120M") && !case.has_bootloader_120m()
    }),
    (&FLASH_120, |case, now| {
        now.on("CONFIG_ESPTOOLPY_FLASHFREQ_120M") && case.has_bootloader_120m()
    }),
];

/// The rules that the set breaks in this build. What is so in stock too is upstream's own, and not told.
pub fn found(case: &Case<'_>) -> Vec<&'static Rule> {
    let unasked = Case {
        asked: BTreeMap::new(),
        ..*case
    };
    CHECKS
        .iter()
        .filter(|(_, broken)| broken(case, case.patched) && !broken(&unasked, case.stock))
        .map(|(rule, _)| *rule)
        .collect()
}

impl Case<'_> {
    /// Whether a line of the set turns `symbol` on.
    fn asks(&self, symbol: &str) -> bool {
        self.asked.get(symbol) == Some(&&Value::Bool(true))
    }

    fn has_bootloader_120m(&self) -> bool {
        let mode = self.variant.split('_').next().unwrap_or_default();
        let file = format!("bin/bootloader_{mode}_120m.elf");
        self.bootloaders.contains(&file.as_str())
    }
}

fn both_moved(now: &dyn Settings) -> bool {
    now.on("CONFIG_SPIRAM_FETCH_INSTRUCTIONS") && now.on("CONFIG_SPIRAM_RODATA")
}

fn octal_psram(now: &dyn Settings) -> bool {
    now.on("CONFIG_SPIRAM_MODE_OCT")
}
