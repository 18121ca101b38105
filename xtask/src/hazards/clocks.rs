//! Whether flash and PSRAM of an ESP32-S3 can run at the clocks that were chosen.
//!
//! After ESP-IDF 5.5.5, components/esp_hw_support/mspi_timing_tuning/port/esp32s3/mspi_timing_tuning_configs.h.

use super::Settings;

/// One of the two memories: its clock in MHz, and whether it transfers twice a clock.
#[derive(Debug, Clone, Copy)]
struct Memory {
    mhz: u32,
    double: bool,
}

impl Memory {
    /// Whether ESP-IDF tunes its timing; only then does it demand a core clock.
    fn tuned(self) -> bool {
        self.mhz > if self.double { 40 } else { 80 }
    }

    /// The core clock that it needs, in MHz, where the two memories share the divider `shared`.
    fn core(self, shared: u32) -> u32 {
        self.mhz * if self.double { 2 } else { shared }
    }
}

/// Whether the chosen clocks exclude each other. Clocks that no setting tells exclude nothing.
pub(super) fn differ(settings: &dyn Settings) -> bool {
    let speed = |prefix: &str| {
        [120, 80, 40, 20]
            .into_iter()
            .find(|mhz| settings.on(&format!("{prefix}_{mhz}M")))
    };
    let (true, Some(flash), Some(psram)) = (
        settings.on("CONFIG_IDF_TARGET_ESP32S3") && settings.on("CONFIG_SPIRAM"),
        speed("CONFIG_ESPTOOLPY_FLASHFREQ"),
        speed("CONFIG_SPIRAM_SPEED"),
    ) else {
        return false;
    };
    let flash = Memory {
        mhz: flash,
        double: settings.on("CONFIG_ESPTOOLPY_FLASH_SAMPLE_MODE_DTR"),
    };
    let psram = Memory {
        mhz: psram,
        double: settings.on("CONFIG_SPIRAM_MODE_OCT"),
    };
    let shared = if flash.double || psram.double { 2 } else { 1 };
    let core = match (flash.tuned(), psram.tuned()) {
        (false, false) => return false,
        (true, true) if flash.core(shared) != psram.core(shared) => return true,
        (true, _) => flash.core(shared),
        (false, true) => psram.core(shared),
    };
    [flash, psram].into_iter().any(|memory| {
        core % memory.mhz != 0 || memory.double && !(core / memory.mhz).is_power_of_two()
    })
}
