//! The values of a build's symbols, from whichever side they are known.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::hazards::Settings;

/// Values of one build.
pub(super) trait Values: Settings {
    /// The symbols that are known of.
    fn symbols(&self) -> Vec<&str>;

    /// The value of a symbol as a defconfig file writes it, `n` where it is off; `None` where it is not there.
    fn written(&self, symbol: &str) -> Option<&str>;

    /// The same, but `None` where it is off too: to a compiler that is one.
    fn value(&self, symbol: &str) -> Option<&str> {
        self.written(symbol).filter(|value| *value != "n")
    }

    /// Whether it can be told what a symbol is.
    fn knows(&self, symbol: &str) -> bool;

    /// What decides over a symbol besides lines; `None` where nothing defines it.
    fn circumstances(&self, symbol: &str) -> Option<Circumstances>;
}

/// One build without and with a patch set.
pub(super) struct View<'a> {
    pub(super) stock: &'a dyn Values,
    pub(super) patched: &'a dyn Values,
    /// Of a bootloader's build: the same of the bootloader's own project, where it was asked.
    pub(super) bootloader: Option<(&'a dyn Values, &'a dyn Values)>,
}

/// What decides over a symbol besides defconfig lines.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Circumstances {
    /// Conditions of its dependencies, or of its prompt, that are not met.
    pub unmet: Vec<Condition>,
    /// Whether it has a prompt; no line can set a symbol without.
    pub prompt: bool,
    /// The member that is on in its choice, where that is another.
    pub chosen: Option<String>,
    /// Symbols that force it on.
    pub selected_by: Vec<String>,
    /// The range that is in force.
    pub range: Option<(String, String)>,
}

/// A condition that is not met.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Condition {
    /// As Kconfig writes it.
    pub condition: String,
    /// The symbols in it and their values.
    pub values: BTreeMap<String, String>,
}
