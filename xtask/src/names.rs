//! The two names that run through every stage: the core version and the chip.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Version of the Arduino core for ESP32, for example `3.3.12` or `3.3.6-RC1`; the libraries of a chip carry the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CoreVersion(semver::Version);

impl CoreVersion {
    /// The parsed version, for ordering.
    pub fn semver(&self) -> &semver::Version {
        &self.0
    }
}

impl FromStr for CoreVersion {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        semver::Version::parse(text)
            .map(Self)
            .map_err(|error| format!("`{text}` is not a core version such as 3.3.12 ({error})"))
    }
}

impl TryFrom<String> for CoreVersion {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<CoreVersion> for String {
    fn from(version: CoreVersion) -> Self {
        version.to_string()
    }
}

impl fmt::Display for CoreVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A chip (upstream's `chip_variant`), for example `esp32s3`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Chip(String);

/// Chips whose libraries core 3.3.6 and later ship as a tool of their own (ARDUINO-FACTS C3).
pub const CHIPS: [&str; 9] = [
    "esp32",
    "esp32c3",
    "esp32c5",
    "esp32c6",
    "esp32h2",
    "esp32p4",
    "esp32p4_es",
    "esp32s2",
    "esp32s3",
];

impl Chip {
    /// The chip's name as upstream writes it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The Arduino tool that holds this chip's libraries, for example `esp32s3-libs`.
    pub fn tool_name(&self) -> String {
        format!("{}-libs", self.0)
    }
}

impl FromStr for Chip {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if CHIPS.contains(&text) {
            Ok(Self(text.to_owned()))
        } else {
            Err(format!(
                "unknown chip `{text}`; known are {}",
                CHIPS.join(", ")
            ))
        }
    }
}

impl TryFrom<String> for Chip {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Chip> for String {
    fn from(chip: Chip) -> Self {
        chip.0
    }
}

impl fmt::Display for Chip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_and_chips_are_refused_by_name() {
        assert!("3.3.6-RC1".parse::<CoreVersion>().is_ok());
        let error = "3.3".parse::<CoreVersion>().unwrap_err();
        assert!(
            error.contains("`3.3`") && error.contains("3.3.12"),
            "{error}"
        );
        let error = "esp32s9".parse::<Chip>().unwrap_err();
        assert!(
            error.contains("esp32s9") && error.contains("esp32s3"),
            "{error}"
        );
    }
}
