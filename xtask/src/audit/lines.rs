//! What defconfig lines alone tell of a build, where Kconfig is not asked.

use std::collections::BTreeMap;

use super::view::{Circumstances, Condition, Values, View};
use crate::hazards::Settings;
use crate::libs::layout::{Build, Layout};
use crate::patchset::Stacks;
use crate::patchset::kconfig::Symbols;
use crate::patchset::layers::Stack;

/// ESP-IDF components/esp_psram/esp32s3/Kconfig.spiram: the first selects the others.
const XIP: &str = "CONFIG_SPIRAM_XIP_FROM_PSRAM";
const SELECTED: [&str; 2] = ["CONFIG_SPIRAM_FETCH_INSTRUCTIONS", "CONFIG_SPIRAM_RODATA"];
/// The same file: it depends on octal PSRAM.
const ECC: &str = "CONFIG_SPIRAM_ECC_ENABLE";
const OCTAL: &str = "CONFIG_SPIRAM_MODE_OCT";
/// components/esp_psram/Kconfig.spiram.common: on where no line says otherwise, and the second is what it depends on.
const BOOT_INIT: [&str; 2] = ["CONFIG_SPIRAM_BOOT_INIT", "CONFIG_SPIRAM_BOOT_HW_INIT"];

/// The settings that the lines of a build give, the last assignment of a symbol and of a choice winning, with the few
/// defaults and dependencies that the hazards ask about.
#[derive(Debug)]
pub(super) struct ByLines {
    values: BTreeMap<String, String>,
    /// The member of a choice that was set after this one.
    chosen: BTreeMap<String, String>,
}

/// One build by its lines, without and with a patch set.
#[derive(Debug)]
pub(super) struct Pair {
    stock: ByLines,
    patched: ByLines,
}

impl Pair {
    pub(super) fn view(&self) -> View<'_> {
        View {
            stock: &self.stock,
            patched: &self.patched,
            bootloader: None,
        }
    }
}

/// Every build of the layout.
pub(super) fn read(layout: &Layout, stacks: &Stacks, symbols: &Symbols) -> Vec<Pair> {
    let read = |stack: &Stack, build: &Build| ByLines::read(stack, build, &layout.target, symbols);
    let pair = |build: &Build| Pair {
        stock: read(&stacks.stock, build),
        patched: read(&stacks.patched, build),
    };
    layout.builds.iter().map(pair).collect()
}

impl ByLines {
    fn read(stack: &Stack, build: &Build, target: &str, symbols: &Symbols) -> Self {
        let mut settings = Self {
            values: BTreeMap::new(),
            chosen: BTreeMap::new(),
        };
        for (symbol, value) in stack.assignments(build) {
            if value == "y" {
                settings.chosen.remove(symbol);
                for rival in symbols.rivals(symbol) {
                    settings.values.insert(rival.to_owned(), "n".to_owned());
                    settings.chosen.insert(rival.to_owned(), symbol.to_owned());
                }
            }
            settings.values.insert(symbol.to_owned(), value.to_owned());
        }
        settings.turn_on(&format!("CONFIG_IDF_TARGET_{}", target.to_uppercase()));
        if settings.on(XIP) {
            for symbol in SELECTED {
                settings.turn_on(symbol);
            }
        }
        if !settings.on(OCTAL) && settings.values.contains_key(ECC) {
            settings.values.insert(ECC.to_owned(), "n".to_owned());
        }
        let off = |name: &str| settings.values.get(name).is_some_and(|value| value == "n");
        if !BOOT_INIT.into_iter().any(off) {
            settings.turn_on(BOOT_INIT[0]);
        }
        settings
    }

    fn turn_on(&mut self, symbol: &str) {
        self.values.insert(symbol.to_owned(), "y".to_owned());
    }
}

impl Values for ByLines {
    fn symbols(&self) -> Vec<&str> {
        self.values.keys().map(String::as_str).collect()
    }

    fn written(&self, symbol: &str) -> Option<&str> {
        self.values.get(symbol).map(String::as_str)
    }

    fn knows(&self, symbol: &str) -> bool {
        self.values.contains_key(symbol)
    }

    fn circumstances(&self, symbol: &str) -> Option<Circumstances> {
        let octal = Condition {
            condition: OCTAL.to_owned(),
            values: BTreeMap::from([(OCTAL.to_owned(), "n".to_owned())]),
        };
        Some(Circumstances {
            unmet: Vec::from_iter((symbol == ECC && !self.on(OCTAL)).then_some(octal)),
            prompt: true,
            chosen: self.chosen.get(symbol).cloned(),
            ..Circumstances::default()
        })
    }
}

impl Settings for ByLines {
    fn on(&self, symbol: &str) -> bool {
        self.value(symbol) == Some("y")
    }
}
