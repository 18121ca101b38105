//! The sets that come with the tool, and how a set is named.
//!
//! Their files are compiled in, so that a binary works wherever it is put; a test holds the table against the folder.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use fs_err as fs;

use super::{PatchSet, load};
use crate::exit::Refusal;

/// The set that is used where none is named.
pub const DEFAULT: &str = "xip-ecc";

/// A set by its name, and its files by theirs.
type Bundled = (&'static str, &'static [(&'static str, &'static str)]);

macro_rules! bundled {
    ($($set:literal: [$($file:literal),+]),+ $(,)?) => {
        &[$(($set, &[$(($file, include_str!(concat!("../../../defconfig-patches/", $set, "/", $file)))),+])),+]
    };
}

const SETS: &[Bundled] = bundled! {
    "xip-ecc": ["patch.toml", "defconfig.opi_ram"],
    "xip-ecc-chip": ["patch.toml", "defconfig.esp32s3"],
};

/// The sets that come with the tool, the default one first.
pub fn list() -> Result<Vec<PatchSet>> {
    SETS.iter().map(load_bundled).collect()
}

/// The set called `name_or_path`: one that comes with the tool, or a folder of the user's own.
///
/// A bundled name goes before a folder of that name; `./NAME` is the folder.
///
/// # Errors
/// [`Refusal::Usage`] for an unknown name (the known ones are listed), and for a set with faults (all of them are told).
pub fn find(name_or_path: &str) -> Result<PatchSet> {
    if let Some(set) = SETS.iter().find(|(name, _)| *name == name_or_path) {
        return load_bundled(set);
    }
    let path = Path::new(name_or_path);
    if path.is_dir() {
        return from_folder(path);
    }
    let known: Vec<&str> = SETS.iter().map(|(name, _)| *name).collect();
    bail!(Refusal::Usage(format!(
        "unknown patch set `{name_or_path}`; known are {}, or give the path of a folder of your own that holds a patch.toml",
        known.join(", ")
    )))
}

fn load_bundled((name, files): &Bundled) -> Result<PatchSet> {
    let files = files
        .iter()
        .map(|(file, text)| ((*file).to_owned(), text.as_bytes().to_vec()))
        .collect();
    load::load(name, &format!("defconfig-patches/{name}"), &files)
}

fn from_folder(path: &Path) -> Result<PatchSet> {
    let full = dunce::canonicalize(path).with_context(|| format!("resolving {}", path.display()))?;
    let name = full
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let file = entry.file_name().to_string_lossy().into_owned();
        // Hidden files are the editor's or the desktop's; they cannot be meant as a defconfig file.
        if file.starts_with('.') {
            continue;
        }
        let content = if entry.path().is_dir() {
            bail!(Refusal::Usage(format!(
                "{} is a folder; a patch set holds files only, named as those in upstream's configs/",
                entry.path().display()
            )))
        } else {
            fs::read(entry.path())?
        };
        files.insert(file, content);
    }
    load::load(&name, &path.display().to_string(), &files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit;
    use crate::testing;

    #[test]
    fn the_table_holds_what_the_folder_holds() {
        let folder = testing::workspace().join("defconfig-patches");
        let mut names: Vec<String> = Vec::new();
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if !path.is_dir() {
                continue;
            }
            let on_disk = from_folder(&path).unwrap();
            let bundled = find(&on_disk.name).unwrap();
            assert_eq!(on_disk.record(), bundled.record());
            assert_eq!(format!("{:?}", on_disk.expects), format!("{:?}", bundled.expects));
            names.push(on_disk.name);
        }
        names.sort();
        assert_eq!(
            names,
            list()
                .unwrap()
                .into_iter()
                .map(|set| set.name)
                .collect::<Vec<_>>()
        );
        assert_eq!(names[0], DEFAULT);
    }

    #[test]
    fn only_the_form_for_the_whole_chip_has_a_hazard() {
        let xip_ecc = find("xip-ecc").unwrap();
        assert!(xip_ecc.hazard.is_none());
        let chip = find("xip-ecc-chip").unwrap();
        assert!(chip.hazard.unwrap().text.contains("use xip-ecc"));
    }

    #[test]
    fn an_unknown_name_is_wrong_usage_and_lists_the_known_ones() {
        let error = find("xip-eec").unwrap_err();
        assert_eq!(exit::code(&error), 2);
        let text = error.to_string();
        assert!(
            text.contains("`xip-eec`") && text.contains("xip-ecc, xip-ecc-chip"),
            "{text}"
        );
    }

    #[test]
    fn a_folder_of_the_users_own() {
        let dir = tempfile::tempdir().unwrap();
        let set = dir.path().join("my-set");
        fs::create_dir(&set).unwrap();
        fs::write(set.join("patch.toml"), "summary = 's'\nchips = ['esp32s3']\n").unwrap();
        fs::write(set.join("defconfig.common"), "\u{feff}CONFIG_A=y\r\nB=y\r\n").unwrap();
        fs::write(set.join(".DS_Store"), b"\xff").unwrap();
        let error = find(set.to_str().unwrap()).unwrap_err();
        let text = error.to_string();
        assert_eq!(exit::code(&error), 2);
        assert!(
            text.contains("defconfig.common:1: ") && text.contains("byte order mark"),
            "{text}"
        );
        assert!(
            text.contains("defconfig.common:2: ") && text.contains("write CONFIG_B"),
            "{text}"
        );

        fs::write(set.join("defconfig.common"), "# why\r\nCONFIG_A=y\r\n").unwrap();
        let found = find(set.to_str().unwrap()).unwrap();
        assert_eq!((found.name.as_str(), found.suffix.as_str()), ("my-set", "my-set"));
        assert_eq!(found.files["defconfig.common"][0].text, "CONFIG_A=y");
        assert_eq!(found.files["defconfig.common"][0].number, 2);

        fs::create_dir(set.join("configs")).unwrap();
        assert!(
            find(set.to_str().unwrap())
                .unwrap_err()
                .to_string()
                .contains("is a folder")
        );
    }
}
