//! A variant whose program believes to be in PSRAM while nothing copies it there.
//!
//! The flash driver chooses when it is compiled not to disable the cache if code and constants are said to be in PSRAM
//! (ESP-IDF components/spi_flash/spi_flash_os_func_app.c); the copy happens in esp_psram_init(), which start-up calls only
//! with SPIRAM_BOOT_INIT (components/esp_system/port/cpu_start.c). Without it the program runs from flash with the cache on
//! while flash is written.

use anyhow::Result;

use crate::progress::Report;
use crate::verify::{Outcome, Subject, by_kind, findings};

pub(super) fn check(subject: &Subject, _: Report<'_>) -> Result<Outcome> {
    let (mut faults, mut placed) = (Vec::new(), Vec::new());
    for (variant, settings) in subject.settings() {
        if (settings.code || settings.constants) && !settings.started {
            let shown = settings.shown();
            let what = format!(
                "{shown}, but PSRAM is not started at boot (CONFIG_SPIRAM_BOOT_INIT is off)"
            );
            faults.push((variant.to_owned(), what));
        } else if settings.code != settings.constants {
            let shown = settings.shown();
            let what = format!("{shown}; while flash is written the cache goes off all the same");
            faults.push((variant.to_owned(), what));
        } else if settings.xip() {
            placed.push(variant);
        }
    }
    if !faults.is_empty() {
        return Ok(Outcome::failed(
            findings(&by_kind(faults)),
            "sketches of these variants may crash when flash is written: use libraries of patch set xip-ecc, which \
             leaves them stock",
        ));
    }
    Ok(if placed.is_empty() {
        Outcome::passed("every memory variant runs from flash")
    } else {
        Outcome::passed(format!("in {}", placed.join(", ")))
    })
}
