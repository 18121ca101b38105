//! Symbols in the archives that show which settings they were compiled with.
//!
//! Found in the objects of ESP-IDF 5.5.5 and 5.1, for the ESP32-S3: which members differ, and by which names.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result};
use fs_err as fs;

use crate::build::quick::archive::Archive;
use crate::progress::Report;
use crate::verify::object_file::{self, Kind, Machine, Symbols};
use crate::verify::settings::Settings;
use crate::verify::{Outcome, Subject, by_kind, findings};

/// What a symbol's presence in a member shows.
struct Sign {
    archive: &'static str,
    member: &'static str,
    symbol: &'static str,
    how: How,
    /// The setting that it shows, and how that is read.
    setting: (&'static str, fn(Settings) -> bool),
    /// The setting's value with which the symbol is there.
    there_when: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    Defines,
    RefersTo,
}

const SIGNS: [Sign; 4] = [
    Sign {
        archive: "libspi_flash.a",
        member: "spi_flash_os_func_app.c.obj",
        symbol: "spi_flash_disable_interrupts_caches_and_other_cpu",
        how: How::RefersTo,
        setting: (
            "flash is written with the cache on",
            Settings::cache_stays_on,
        ),
        there_when: false,
    },
    Sign {
        archive: "libesp_psram.a",
        member: "mmu_psram_flash.c.obj",
        symbol: "mmu_config_psram_text_segment",
        how: How::Defines,
        setting: ("code in PSRAM", |settings| settings.code),
        there_when: true,
    },
    Sign {
        archive: "libesp_psram.a",
        member: "mmu_psram_flash.c.obj",
        symbol: "mmu_config_psram_rodata_segment",
        how: How::Defines,
        setting: ("constants in PSRAM", |settings| settings.constants),
        there_when: true,
    },
    Sign {
        archive: "libesp_system.a",
        member: "cpu_start.c.obj",
        symbol: "esp_psram_init",
        how: How::RefersTo,
        setting: ("PSRAM started at boot", |settings| settings.started),
        there_when: true,
    },
];

pub(super) fn check(subject: &Subject, _: Report<'_>) -> Result<Outcome> {
    if subject.chip.as_str() != "esp32s3" {
        return Ok(Outcome::not_run(format!(
            "which symbols show it is known for the esp32s3 alone, not for {}",
            subject.chip
        )));
    }
    let machine = Machine::of(&subject.chip);
    let (mut unread, mut faults, mut looked) = (Vec::new(), Vec::new(), 0);
    for (variant, settings) in subject.settings() {
        let mut members: BTreeMap<&str, Option<Symbols>> = BTreeMap::new();
        for sign in &SIGNS {
            let symbols = members.entry(sign.member).or_insert_with(|| {
                read(subject, variant, sign, machine)
                    .map_err(|fault| unread.push(fault))
                    .ok()
            });
            if let Some(symbols) = symbols {
                looked += 1;
                let fault = sign.fault(settings, symbols);
                faults.extend(fault.map(|fault| (variant.to_owned(), fault)));
            }
        }
    }
    Ok(if !unread.is_empty() {
        let told: Vec<String> = [by_kind(unread), by_kind(faults)].concat();
        Outcome::failed(findings(&told), "install the libraries again")
    } else if !faults.is_empty() {
        Outcome::failed(
            findings(&by_kind(faults)),
            "the archives are of other settings than sdkconfig.h says: install the package again, or put back stock libraries",
        )
    } else {
        Outcome::passed(format!(
            "{looked} symbols in {} variants are as their settings say",
            subject.settings().count()
        ))
    })
}

impl Sign {
    /// Where the archive contradicts the settings, how.
    fn fault(&self, settings: Settings, symbols: &Symbols) -> Option<String> {
        let (there, yes, no) = match self.how {
            How::Defines => (&symbols.defined, "defines", "does not define"),
            How::RefersTo => (&symbols.undefined, "refers to", "does not refer to"),
        };
        let there = there.contains(self.symbol);
        let (setting, read) = self.setting;
        let on = read(settings);
        (there != (on == self.there_when)).then(|| {
            format!(
                "by sdkconfig.h `{setting}` is {}, but {} ({}) {} {}",
                if on { "on" } else { "off" },
                self.archive,
                self.member,
                if there { yes } else { no },
                self.symbol
            )
        })
    }
}

/// The symbols of the sign's member; else where, and why there are none.
fn read(
    subject: &Subject,
    variant: &str,
    sign: &Sign,
    machine: Machine,
) -> Result<Symbols, (String, String)> {
    let look = || -> Result<Symbols> {
        let path = archive(subject, variant, sign.archive).context("missing")?;
        let bytes = fs::read(path)?;
        let archive = Archive::parse(&bytes)?;
        let object = object_file::read(archive.member(sign.member)?.data, Kind::Object, machine)?;
        Symbols::of(&object)
    };
    look().map_err(|error| {
        let place = format!("{variant}/{} ({})", sign.archive, sign.member);
        (place, format!("{error:#}"))
    })
}

/// The archive that a sketch of `variant` links: lib/ goes before the variant's own folder (platform.txt, `-L`).
fn archive(subject: &Subject, variant: &str, name: &str) -> Option<PathBuf> {
    ["lib", "ld", variant]
        .into_iter()
        .map(|folder| subject.root().join(folder).join(name))
        .find(|path| path.is_file())
}
