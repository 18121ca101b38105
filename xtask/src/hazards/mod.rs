//! What is known to go wrong with settings: rules, each with a name, a level, a reason and where the reason comes from.
//!
//! The one place that knows them. A patch set refers to a rule by its name; the audit asks the rules of every build.

mod clocks;
mod values;

use serde::Serialize;

pub use values::{Case, Settings, found};

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Worth knowing.
    Note,
    /// It works, but not as one may think.
    Warning,
    /// The libraries would be broken for somebody: nothing is built unless the hazard is accepted by name.
    Error,
}

impl std::fmt::Display for Level {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// One thing that can go wrong.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Rule {
    /// Its name, for `--accept-hazard` and for `[hazard]` of a patch set.
    pub name: &'static str,
    /// How bad it is.
    pub level: Level,
    /// What happens, as the second half of a sentence that begins with the builds.
    pub says: &'static str,
    /// Why.
    pub reason: &'static str,
    /// Where that is written.
    pub source: &'static str,
}

/// Found by reading ESP-IDF 5.5.5 and in its objects, not yet seen on a board.
pub const XIP_WITHOUT_BOOT_INIT: Rule = Rule {
    name: "xip-without-boot-init",
    level: Level::Error,
    says: "PSRAM is not initialised at boot there, so the program stays in flash while the flash driver is built to leave the \
           cache on during writes",
    reason: "Start-up copies the program to PSRAM only where it initialises PSRAM (CONFIG_SPIRAM_BOOT_INIT). The flash \
             driver decides when it is compiled: with instructions and constants said to be in PSRAM it leaves the cache on \
             while flash is written. A program that still runs from flash may then crash. Found by reading ESP-IDF 5.5.5 and \
             in its objects, not yet seen on a board.",
    source: "ESP-IDF components/spi_flash/spi_flash_os_func_app.c (SPI_FLASH_CACHE_NO_DISABLE), \
             components/esp_system/port/cpu_start.c (esp_psram_init)",
};

pub(crate) const ECC_WITHOUT_OCTAL: Rule = Rule {
    name: "ecc-without-octal",
    level: Level::Warning,
    says: "Kconfig drops it there without a word, because ECC depends on octal PSRAM",
    reason: "Only octal PSRAM has error correction; CONFIG_SPIRAM_ECC_ENABLE depends on CONFIG_SPIRAM_MODE_OCT, and a value \
             whose dependency is not met is dropped.",
    source: "ESP-IDF components/esp_psram/esp32s3/Kconfig.spiram",
};

pub(crate) const HALF_MOVED: Rule = Rule {
    name: "half-of-the-program-moved",
    level: Level::Warning,
    says: "only one of instructions and constants is moved to PSRAM, so the program still stops while flash is written",
    reason: "The flash driver leaves the cache on only where both CONFIG_SPIRAM_FETCH_INSTRUCTIONS and CONFIG_SPIRAM_RODATA \
             are on. One alone takes PSRAM and gains nothing during writes; CONFIG_SPIRAM_XIP_FROM_PSRAM selects both.",
    source: "ESP-IDF components/spi_flash/spi_flash_os_func_app.c (SPI_FLASH_CACHE_NO_DISABLE)",
};

pub(crate) const AUTO_SUSPEND: Rule = Rule {
    name: "auto-suspend",
    level: Level::Warning,
    says: "the flash chip must be able to suspend a write, which depends on the board",
    reason: "CONFIG_SPI_FLASH_AUTO_SUSPEND leaves the cache on during writes and relies on the flash chip to stop them for \
             every read. Only some chips can; libraries built so are for boards whose flash was looked up.",
    source: "ESP-IDF components/spi_flash/Kconfig (SPI_FLASH_AUTO_SUSPEND)",
};

pub(crate) const OCTAL_120_DROPPED: Rule = Rule {
    name: "120mhz-without-experimental",
    level: Level::Warning,
    says: "Kconfig drops 120 MHz there without a word: with octal PSRAM it needs CONFIG_IDF_EXPERIMENTAL_FEATURES=y",
    reason: "CONFIG_SPIRAM_SPEED_120M depends on quad mode or experimental features; another speed is taken instead.",
    source: "ESP-IDF components/esp_psram/esp32s3/Kconfig.spiram (SPIRAM_SPEED_120M)",
};

pub(crate) const DDR_120: Rule = Rule {
    name: "120mhz-by-temperature",
    level: Level::Warning,
    says: "octal memory at 120 MHz is tuned once at boot and crashes at random after some 20 degrees Celsius up or down",
    reason: "Flash or PSRAM with two transfers a clock (octal) at 120 MHz is an experimental feature of ESP-IDF; it works \
             while the temperature is stable.",
    source: "ESP-IDF components/esp_psram/esp32s3/Kconfig.spiram, components/spi_flash/esp32s3/Kconfig.flash_freq",
};

pub(crate) const CLOCKS_DIFFER: Rule = Rule {
    name: "120mhz-clocks-do-not-fit",
    level: Level::Error,
    says: "flash and PSRAM ask for clocks that their one core clock cannot give, so it does not compile",
    reason: "On the ESP32-S3 flash and PSRAM share one core clock: with both tuned it must suit both, and double transfer \
             rates need a divider that is a power of two.",
    source: "ESP-IDF components/esp_hw_support/mspi_timing_tuning/port/esp32s3/mspi_timing_tuning_configs.h (limitations 1, 2)",
};

pub(crate) const FLASH_120_WITHOUT_BOOTLOADER: Rule = Rule {
    name: "120mhz-flash-without-bootloader",
    level: Level::Error,
    says: "flash runs at 120 MHz there, and builds.json has no 120 MHz bootloader for its flash mode",
    reason: "The bootloader sets the flash up for the speed that the program is compiled for; in high performance mode the \
             two must agree.",
    source: "lib-builder configs/builds.json (bootloaders); ESP-IDF components/spi_flash/Kconfig (SPI_FLASH_HPM)",
};

pub(crate) const FLASH_120: Rule = Rule {
    name: "120mhz-flash-needs-its-bootloader",
    level: Level::Warning,
    says: "flash runs at 120 MHz there, and a sketch works only with the 120 MHz bootloader of its flash mode",
    reason: "Every other entry of the Flash Mode menu that uses this memory variant writes a bootloader for 80 MHz.",
    source: "arduino-esp32 boards.txt (menu FlashMode); ESP-IDF components/spi_flash/Kconfig (SPI_FLASH_HPM)",
};

/// Case of an LCD driver that crashed with octal PSRAM alone, because its archive came from the build with quad PSRAM.
pub(crate) const SHARED_ARCHIVE: Rule = Rule {
    name: "variant-symbol-in-shared-archive",
    level: Level::Error,
    says: "built once, with the libraries build's value of a symbol that differs between memory variants",
    reason: "Upstream takes only the files of mem_variants_files from each memory variant's build. Every other archive and \
             linker script is the libraries build's, so in the other variants its code and their sdkconfig.h disagree.",
    source: "lib-builder configs/builds.json (mem_variants_files), tools/copy-mem-variant.sh",
};

pub(crate) const SHARED_THROUGH_HEADER: Rule = Rule {
    name: "variant-symbol-through-header",
    level: Level::Warning,
    says: "built once, and by a header that its sources include it reads a symbol that differs between memory variants",
    reason: "As variant-symbol-in-shared-archive, but by a header alone: whether the code uses that part of it is not known.",
    source: "lib-builder configs/builds.json (mem_variants_files), tools/copy-mem-variant.sh",
};

pub(crate) const LINKER_SCRIPT: Rule = Rule {
    name: "changes-linker-script",
    level: Level::Warning,
    says: "read by a linker script or fragment, so every sketch's memory map may change",
    reason: "Linker scripts and fragments that read a changed symbol can move code and data between internal RAM, flash and \
             PSRAM.",
    source: "ESP-IDF components/*/linker.lf, components/esp_system/ld",
};

pub(crate) const OUTPUT_RENAMED: Rule = Rule {
    name: "output-renamed",
    level: Level::Error,
    says: "what it leaves gets another name, so that the file or folder which builds.json promises is missing",
    reason: "lib-builder names a bootloader by the flash mode and speed, and a memory variant by the flash mode and the kind of \
             PSRAM, that Kconfig made of the build.",
    source: "lib-builder main/Kconfig.projbuild, CMakeLists.txt, tools/copy-bootloader.sh, tools/copy-mem-variant.sh",
};

/// Every rule, the worst first.
pub const RULES: [&Rule; 13] = [
    &XIP_WITHOUT_BOOT_INIT,
    &SHARED_ARCHIVE,
    &OUTPUT_RENAMED,
    &CLOCKS_DIFFER,
    &FLASH_120_WITHOUT_BOOTLOADER,
    &ECC_WITHOUT_OCTAL,
    &HALF_MOVED,
    &OCTAL_120_DROPPED,
    &DDR_120,
    &FLASH_120,
    &AUTO_SUSPEND,
    &SHARED_THROUGH_HEADER,
    &LINKER_SCRIPT,
];

/// The rule called `name`.
pub fn named(name: &str) -> Option<&'static Rule> {
    RULES.into_iter().find(|rule| rule.name == name)
}

#[cfg(test)]
mod tests;
