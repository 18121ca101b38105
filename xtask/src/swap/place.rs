//! The names in the tool folder.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::names::{Chip, CoreVersion};

/// Our one folder in the tool folder. arduino-cli passes over hidden folders when it lists a tool's versions, so nothing in
/// it is ever taken for one; and being inside, it is on the same file system.
pub(super) const OWN: &str = ".xip";

/// Where a tree is unpacked; short, for Windows counts every letter of a path.
pub(super) const STAGING: &str = ".xip/new";

/// What the kept original is called after the core version's dot.
pub(super) const STOCK: &str = "stock";

/// One chip's libraries of one core version, in the tool folder of one installation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Place {
    /// The tool folder, `<data>/packages/esp32/tools/esp32s3-libs`.
    pub tools: PathBuf,
    /// The chip.
    pub chip: Chip,
    /// The core version.
    pub core: CoreVersion,
}

impl Place {
    /// The place below an Arduino data folder (cores 3.3.6 and later, ARDUINO-FACTS C7).
    pub fn in_data_dir(data: &Path, chip: &Chip, core: &CoreVersion) -> Self {
        Self {
            tools: tool_folder(data, chip),
            chip: chip.clone(),
            core: core.clone(),
        }
    }

    /// The folder that sketches are built with.
    pub fn active(&self) -> PathBuf {
        self.at(&self.core.to_string())
    }

    /// The folder of the kept original.
    pub fn stock(&self) -> PathBuf {
        self.at(&self.aside(STOCK))
    }

    /// The name `<core>.<suffix>`.
    pub(super) fn aside(&self, suffix: &str) -> String {
        format!("{}.{suffix}", self.core)
    }

    /// A name in the tool folder, with `/` on every system.
    pub(super) fn at(&self, name: &str) -> PathBuf {
        at(&self.tools, name)
    }
}

/// The tool folder of a chip below an Arduino data folder.
pub fn tool_folder(data: &Path, chip: &Chip) -> PathBuf {
    ["packages", "esp32", "tools", &chip.tool_name()]
        .iter()
        .fold(data.to_owned(), |path, part| path.join(part))
}

pub(super) fn at(tools: &Path, name: &str) -> PathBuf {
    name.split('/')
        .fold(tools.to_owned(), |path, part| path.join(part))
}

/// What a folder's name says: the core version, and what follows its dot.
///
/// `3.3.6-RC1.stock` is by itself a version too (semver allows dots in the part after the dash): `known` are the names that
/// stand beside it, and tell.
pub(super) fn parse(name: &str, known: &[String]) -> Option<(CoreVersion, Option<String>)> {
    let split = name.rsplit_once('.').and_then(|(core, suffix)| {
        let core: CoreVersion = core.parse().ok()?;
        Some((core, suffix.to_owned()))
    });
    let whole = name.parse::<CoreVersion>().ok();
    match (split, whole) {
        (Some((core, suffix)), None) => Some((core, Some(suffix))),
        (Some((core, suffix)), Some(_))
            if suffix == STOCK
                || known.iter().any(|name| {
                    *name == core.to_string() || *name == format!("{core}.{STOCK}")
                }) =>
        {
            Some((core, Some(suffix)))
        }
        (_, Some(core)) => Some((core, None)),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_articles() {
        let place = Place::in_data_dir(
            Path::new("d"),
            &"esp32s3".parse().unwrap(),
            &"3.3.12".parse().unwrap(),
        );
        let text = |path: PathBuf| path.to_str().unwrap().replace('\\', "/");
        assert_eq!(
            text(place.active()),
            "d/packages/esp32/tools/esp32s3-libs/3.3.12"
        );
        assert_eq!(
            text(place.stock()),
            "d/packages/esp32/tools/esp32s3-libs/3.3.12.stock"
        );
        assert_eq!(
            text(place.at(STAGING)),
            "d/packages/esp32/tools/esp32s3-libs/.xip/new"
        );
    }

    #[test]
    fn a_folders_name_tells_core_and_suffix() {
        let read = |name: &str, known: &[&str]| {
            let known: Vec<String> = known.iter().map(|name| (*name).to_owned()).collect();
            parse(name, &known).map(|(core, suffix)| (core.to_string(), suffix.unwrap_or_default()))
        };
        let two = |core: &str, suffix: &str| Some((core.to_owned(), suffix.to_owned()));
        assert_eq!(read("3.3.12", &[]), two("3.3.12", ""));
        assert_eq!(read("3.3.12.stock", &[]), two("3.3.12", "stock"));
        assert_eq!(read("3.3.12.xip-ecc", &[]), two("3.3.12", "xip-ecc"));
        assert_eq!(read("3.3.6-RC1", &[]), two("3.3.6-RC1", ""));
        assert_eq!(read("3.3.6-RC1.stock", &[]), two("3.3.6-RC1", "stock"));
        assert_eq!(
            read("3.3.6-RC1.xip-ecc", &["3.3.6-RC1"]),
            two("3.3.6-RC1", "xip-ecc")
        );
        assert_eq!(read("3.3.6-RC.1", &[]), two("3.3.6-RC.1", ""));
        for odd in ["", ".xip", "notes", "3.3", "3.3.12-"] {
            assert_eq!(read(odd, &[]), None, "{odd}");
        }
    }
}
