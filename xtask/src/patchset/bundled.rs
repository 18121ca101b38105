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
    "xip-ecc": ["patch.toml", "defconfig.opi_ram", "quick.toml"],
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
    let full =
        dunce::canonicalize(path).with_context(|| format!("resolving {}", path.display()))?;
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
    use crate::libs::layout::Layout;
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
            assert_eq!(
                format!("{:?}", on_disk.expects),
                format!("{:?}", bundled.expects)
            );
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

    /// What Kconfig made of the lines on ESP-IDF 5.5.5 is what `xip-ecc-chip` expects.
    #[test]
    fn expectations_are_what_was_measured() {
        const TEST: &str = "expectations_are_what_was_measured";
        let (Some(table), Some(builds)) = (
            testing::shared(TEST, "upstream/kconfig-effect-idf-5.5.5.tsv"),
            testing::shared(TEST, "upstream/configs/builds.json"),
        ) else {
            return;
        };
        let table = fs::read_to_string(table).unwrap();
        let set = find("xip-ecc-chip").unwrap();
        let layout = Layout::read(&builds, &set.chips[0]).unwrap();
        for (variant, build) in layout.memory_variants() {
            let own = build.layers[build.layers.len() - 3..]
                .join("_")
                .replace("defconfig.", "");
            let build_name = if variant == "qio_qspi" {
                "idf_libs".to_owned()
            } else {
                format!("mem_{own}")
            };
            let expected = set.expected(variant, build);
            assert_eq!(expected.len(), 4);
            for (symbol, value) in expected {
                let row = table
                    .lines()
                    .find(|row| row.starts_with(&format!("{build_name}\t{symbol}\t")));
                // A symbol whose value did not change has no row; all four are off in stock.
                let measured = row.and_then(|row| row.split('\t').nth(3)).unwrap_or("n");
                assert_eq!(value.to_string(), measured, "{build_name} {symbol}");
            }
        }
    }

    #[test]
    fn the_readmes_example_is_read() {
        let readme =
            fs::read_to_string(testing::workspace().join("defconfig-patches/README.md")).unwrap();
        let block = |first: &str| -> String {
            let from = readme.find(&format!("    {first}")).unwrap();
            let lines = readme[from..]
                .lines()
                .take_while(|line| line.is_empty() || line.starts_with("    "));
            lines
                .map(|line| format!("{}\n", line.trim_start()))
                .collect()
        };
        let toml = block("summary = ");
        assert!(
            toml.contains("[[replace]]") && toml.contains("[hazard]"),
            "{toml}"
        );
        let lines = block("CONFIG_SPIRAM_ECC_ENABLE=y");
        let with_choice =
            format!("{lines}CONFIG_ESP32S3_DATA_CACHE_LINE_64B=y\nCONFIG_CAMERA_OV2640=y\n");
        let files = [
            ("patch.toml", toml),
            ("defconfig.opi_ram", lines),
            ("defconfig.esp32s3", with_choice),
        ];
        let files = files.map(|(name, text)| (name.to_owned(), text.into_bytes()));
        let set = load::load("my-set", "my-set", &files.into()).unwrap();
        assert_eq!(
            (
                set.files["defconfig.opi_ram"].len(),
                set.replaces.len(),
                set.managed.len()
            ),
            (4, 1, 1)
        );
    }

    #[test]
    fn only_the_form_for_the_whole_chip_has_a_hazard() {
        let xip_ecc = find("xip-ecc").unwrap();
        assert!(xip_ecc.hazard.is_none());
        let chip = find("xip-ecc-chip").unwrap();
        let hazard = chip.hazard.unwrap();
        assert!(hazard.text.contains("use xip-ecc"));
        assert_eq!(hazard.reason, crate::hazards::XIP_WITHOUT_BOOT_INIT.reason);
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
        fs::write(
            set.join("patch.toml"),
            "summary = 's'\nchips = ['esp32s3']\n",
        )
        .unwrap();
        fs::write(
            set.join("defconfig.common"),
            "\u{feff}CONFIG_A=y\r\nB=y\r\n",
        )
        .unwrap();
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
        assert_eq!(
            (found.name.as_str(), found.suffix.as_str()),
            ("my-set", "my-set")
        );
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
