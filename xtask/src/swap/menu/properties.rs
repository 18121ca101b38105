//! Arduino's `key=value` files, as far as a menu needs them (arduino-cli `docs/platform-specification.md`).

use std::collections::BTreeMap;

use crate::arduino::Os;

/// Keys and values of one or more files; a later file wins.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Properties {
    values: BTreeMap<String, String>,
}

impl Properties {
    /// Adds the lines of a file. Bytes that are no UTF-8 are replaced: they can only stand in texts for people.
    pub(super) fn add(&mut self, content: &[u8]) {
        for line in String::from_utf8_lossy(content).lines() {
            let line = line.trim();
            if line.starts_with('#') {
                continue;
            }
            if let Some((key, value)) = line.split_once('=') {
                self.values
                    .insert(key.trim().to_owned(), value.trim().to_owned());
            }
        }
    }

    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.values.get(key).map(String::as_str)
    }

    /// The value on `os`: `key.windows` and its like win over `key`.
    pub(super) fn get_on(&self, key: &str, os: Os) -> Option<&str> {
        let suffix = match os {
            Os::Linux => "linux",
            Os::MacOs => "macosx",
            Os::Windows => "windows",
        };
        self.get(&format!("{key}.{suffix}"))
            .or_else(|| self.get(key))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.values
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()))
    }
}
