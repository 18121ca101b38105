//! The settings that decide where a program runs, as one memory variant's sdkconfig.h has them.

use super::program::Placement;
use crate::libs::Value;
use crate::libs::sdkconfig::SdkConfig;

/// Those that the checks ask about, each on or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Settings {
    /// `CONFIG_SPIRAM_FETCH_INSTRUCTIONS`: code is copied to PSRAM.
    pub(super) code: bool,
    /// `CONFIG_SPIRAM_RODATA`: constants are copied to PSRAM.
    pub(super) constants: bool,
    /// `CONFIG_SPIRAM_ECC_ENABLE`.
    pub(super) ecc: bool,
    /// `CONFIG_SPIRAM_BOOT_INIT`: start-up initialises PSRAM, and so copies.
    pub(super) started: bool,
    /// `CONFIG_SPI_FLASH_AUTO_SUSPEND`: the other reason for which the flash driver leaves the cache on.
    pub(super) auto_suspend: bool,
}

impl Settings {
    /// Reads them.
    pub(super) fn of(config: &SdkConfig) -> Self {
        let on = |symbol| config.is(symbol, &Value::Bool(true));
        Self {
            code: on("CONFIG_SPIRAM_FETCH_INSTRUCTIONS"),
            constants: on("CONFIG_SPIRAM_RODATA"),
            ecc: on("CONFIG_SPIRAM_ECC_ENABLE"),
            started: on("CONFIG_SPIRAM_BOOT_INIT"),
            auto_suspend: on("CONFIG_SPI_FLASH_AUTO_SUSPEND"),
        }
    }

    /// Code and constants are in PSRAM. Only with both does the flash driver leave the cache on (ESP-IDF
    /// components/spi_flash/spi_flash_os_func_app.c, SPI_FLASH_CACHE_NO_DISABLE).
    pub(super) fn xip(self) -> bool {
        self.code && self.constants
    }

    /// Whether the flash driver leaves the cache on while flash is written.
    pub(super) fn cache_stays_on(self) -> bool {
        self.xip() || self.auto_suspend
    }

    /// Where a program of these settings runs from.
    pub(super) fn placement(self) -> Placement {
        match (self.xip(), self.auto_suspend) {
            (true, _) => Placement::Psram,
            (false, true) => Placement::FlashSuspended,
            (false, false) => Placement::Flash,
        }
    }

    /// What they are, in a word: `XIP and ECC`, `XIP`, `stock` or what is odd.
    pub(super) fn shown(self) -> &'static str {
        match (self.code, self.constants, self.ecc) {
            (true, true, true) => "XIP and ECC",
            (true, true, false) => "XIP",
            (false, false, true) => "ECC",
            (false, false, false) => "stock",
            (true, false, _) => "code alone in PSRAM",
            (false, true, _) => "constants alone in PSRAM",
        }
    }
}
