//! A bootloader for every flash mode and frequency that the board menus offer.

use std::collections::BTreeSet;

use anyhow::Result;
use fs_err as fs;

use crate::progress::Report;
use crate::verify::object_file::{self, Kind, Machine};
use crate::verify::{Outcome, Subject, by_kind, findings, some_of};

/// Flash mode and frequency of the ESP32-S3's menu FlashMode (boards.txt); `qio` at 120 MHz shares its libraries with
/// `qio` at 80 MHz and needs only a bootloader of its own.
const S3_MENU: [(&str, &str); 4] = [
    ("qio", "80m"),
    ("qio", "120m"),
    ("dio", "80m"),
    ("opi", "80m"),
];

pub(super) fn check(subject: &Subject, _: Report<'_>) -> Result<Outcome> {
    let modes: BTreeSet<&str> = subject
        .configs
        .keys()
        .filter_map(|variant| variant.split('_').next())
        .collect();
    let present: Vec<&str> = subject
        .files
        .iter()
        .filter_map(|(path, _)| path.strip_prefix("bin/"))
        .filter(|name| name.starts_with("bootloader_"))
        .collect();
    let mut faults = Vec::new();
    if subject.chip.as_str() == "esp32s3" {
        let needed = S3_MENU
            .iter()
            .filter(|(mode, _)| modes.contains(mode))
            .map(|(mode, frequency)| format!("bootloader_{mode}_{frequency}.elf"))
            .filter(|name| !present.contains(&name.as_str()));
        faults.extend(needed.map(|name| (format!("bin/{name}"), "missing".to_owned())));
    } else {
        // Which frequencies another chip's menu offers is not known here; each mode needs at least one.
        let bare = modes.iter().filter(|mode| {
            let prefix = format!("bootloader_{mode}_");
            !present.iter().any(|name| name.starts_with(&prefix))
        });
        faults.extend(
            bare.map(|mode| (format!("bin/bootloader_{mode}_*.elf"), "missing".to_owned())),
        );
    }
    let machine = Machine::of(&subject.chip);
    for name in &present {
        let bytes = fs::read(subject.root().join("bin").join(name))?;
        if let Err(error) = object_file::read(&bytes, Kind::Program, machine) {
            faults.push((format!("bin/{name}"), format!("{error:#}")));
        }
    }
    Ok(if faults.is_empty() {
        Outcome::passed(some_of(&present))
    } else {
        Outcome::failed(findings(&by_kind(faults)), "install the libraries again")
    })
}
