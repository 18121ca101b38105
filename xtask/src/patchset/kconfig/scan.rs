//! Finds and reads Kconfig files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail};
use fs_err as fs;
use rayon::prelude::*;
use walkdir::{DirEntry, WalkDir};

use super::parse::{File, Source, parse};
use super::{Symbol, Symbols, assigned};

/// Where Kconfig files stand that a build of the lib-builder reads.
const PLACES: [&str; 5] = [
    "esp-idf/Kconfig",
    "esp-idf/components",
    "components",
    "managed_components",
    "main",
];

/// Folders inside components that hold projects of their own.
pub(crate) const PROJECTS: [&str; 6] = [
    "examples",
    "test_apps",
    "host_test",
    "test",
    "tests",
    "docs",
];

pub(super) fn scan(lib_builder: &Path, target: &str) -> Result<Symbols> {
    let (kconfigs, renames) = find(lib_builder)?;
    if !kconfigs.iter().any(|path| path.starts_with("esp-idf")) {
        bail!(
            "no Kconfig file in {}, so no symbol can be looked up; check ESP-IDF out first",
            lib_builder.join("esp-idf").display()
        );
    }
    let files: BTreeMap<PathBuf, File> = kconfigs
        .into_par_iter()
        .map(|path| {
            let bytes = fs::read(lib_builder.join(&path))?;
            let file = parse(&String::from_utf8_lossy(&bytes), &shown(&path));
            Ok((path, file))
        })
        .collect::<Result<_>>()?;
    let mut symbols = Symbols::default();
    let applicable = applicable(&files, target);
    for (path, file) in &files {
        for (name, symbol) in &file.symbols {
            if applicable.contains(path) {
                merge(symbols.known.entry(name.clone()), symbol);
            } else {
                symbols
                    .elsewhere
                    .entry(name.clone())
                    .or_insert_with(|| shown(path));
            }
        }
    }
    symbols
        .elsewhere
        .retain(|name, _| !symbols.known.contains_key(name));
    for path in renames.iter().filter(|path| rename_applies(path, target)) {
        let text = fs::read_to_string(lib_builder.join(path))?;
        symbols.renamed.extend(read_renames(&text));
    }
    symbols.assigned = upstream_assigned(lib_builder)?;
    Ok(symbols)
}

/// Kconfig files and `sdkconfig.rename` files, relative to `lib_builder`.
fn find(lib_builder: &Path) -> Result<(Vec<PathBuf>, Vec<PathBuf>)> {
    let skip = |entry: &DirEntry| {
        let name = entry.file_name().to_string_lossy();
        entry.file_type().is_dir()
            && entry.depth() > 0
            && (name == ".git" || PROJECTS.contains(&name.as_ref()))
    };
    let (mut kconfigs, mut renames) = (Vec::new(), Vec::new());
    for place in PLACES
        .map(|place| lib_builder.join(place))
        .iter()
        .filter(|place| place.exists())
    {
        for entry in WalkDir::new(place)
            .into_iter()
            .filter_entry(|entry| !skip(entry))
        {
            let entry = entry
                .with_context(|| format!("looking for Kconfig files in {}", place.display()))?;
            let name = entry.file_name().to_string_lossy();
            let list = match &name {
                _ if !entry.file_type().is_file() => continue,
                name if name.starts_with("Kconfig") => &mut kconfigs,
                name if name.starts_with("sdkconfig.rename") => &mut renames,
                _ => continue,
            };
            list.push(entry.path().strip_prefix(lib_builder)?.to_owned());
        }
    }
    Ok((kconfigs, renames))
}

fn shown(path: &Path) -> String {
    path.components()
        .map(|part| part.as_os_str().to_string_lossy())
        .collect::<Vec<_>>()
        .join("/")
}

fn merge(entry: std::collections::btree_map::Entry<'_, String, Symbol>, symbol: &Symbol) {
    match entry {
        std::collections::btree_map::Entry::Vacant(place) => drop(place.insert(symbol.clone())),
        std::collections::btree_map::Entry::Occupied(mut known) => {
            let known = known.get_mut();
            // Two definitions of different types or ranges: which one counts depends on conditions.
            if known.kind != symbol.kind {
                known.kind = known.kind.xor(symbol.kind);
            }
            if known.ranges != symbol.ranges {
                known.ranges.clear();
            }
            known.choice = known.choice.take().or_else(|| symbol.choice.clone());
        }
    }
}

/// The files that a build for `target` reads: those in no other chip's folder, and what they include by name.
fn applicable<'a>(files: &'a BTreeMap<PathBuf, File>, target: &str) -> BTreeSet<&'a PathBuf> {
    let mut applicable: BTreeSet<&PathBuf> = files
        .keys()
        .filter(|path| !other_chips(path, target))
        .collect();
    let mut queue: Vec<&PathBuf> = applicable.iter().copied().collect();
    while let Some(path) = queue.pop() {
        for source in files
            .get(path)
            .map(|file| file.sources.as_slice())
            .unwrap_or_default()
        {
            let included = resolve(path, source, target);
            if let Some((included, _)) = files.get_key_value(&included)
                && applicable.insert(included)
            {
                queue.push(included);
            }
        }
    }
    applicable
}

/// Whether a folder on the way is named for another chip, such as `esp32c3` or `linux`.
pub(crate) fn other_chips(path: &Path, target: &str) -> bool {
    path.components().any(|part| {
        let name = part.as_os_str().to_string_lossy();
        let chip = name == "linux"
            || name.strip_prefix("esp32").is_some_and(|rest| {
                rest.is_empty()
                    || rest.len() <= 3
                        && rest.starts_with(|c: char| c.is_ascii_lowercase())
                        && rest[1..].bytes().all(|b| b.is_ascii_digit())
            });
        chip && name != target
    })
}

fn resolve(from: &Path, source: &Source, target: &str) -> PathBuf {
    let path = source
        .path
        .replace("$IDF_TARGET", target)
        .replace("${IDF_TARGET}", target);
    let path = path.replace("${IDF_PATH}", "$IDF_PATH");
    let base = match path.strip_prefix("$IDF_PATH/") {
        Some(_) => Path::new("esp-idf").to_owned(),
        None if source.relative => from.parent().unwrap_or(Path::new("")).to_owned(),
        None => Path::new("esp-idf").to_owned(),
    };
    let mut whole = PathBuf::new();
    for part in base
        .join(path.strip_prefix("$IDF_PATH/").unwrap_or(&path))
        .components()
    {
        match part {
            Component::ParentDir => drop(whole.pop()),
            Component::Normal(name) => whole.push(name),
            _ => {}
        }
    }
    whole
}

/// `sdkconfig.rename` is for every chip, `sdkconfig.rename.esp32s3` for one.
fn rename_applies(path: &Path, target: &str) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name == "sdkconfig.rename" || name.strip_prefix("sdkconfig.rename.") == Some(target)
}

/// Lines of the form `CONFIG_OLD CONFIG_NEW`; a `!` before the new name means the opposite value.
fn read_renames(text: &str) -> Vec<(String, String)> {
    text.lines()
        .filter_map(|line| line.trim().split_once(char::is_whitespace))
        .filter(|(old, _)| old.starts_with("CONFIG_"))
        .map(|(old, new)| {
            let new = new.trim();
            let shown = new
                .strip_prefix('!')
                .map(|name| format!("{name} (with the opposite value)"));
            (old.to_owned(), shown.unwrap_or_else(|| new.to_owned()))
        })
        .collect()
}

/// What the original defconfig files assign; lines of a patch set's block do not count.
fn upstream_assigned(lib_builder: &Path) -> Result<BTreeSet<String>> {
    let mut symbols = BTreeSet::new();
    for entry in fs::read_dir(lib_builder.join("configs"))? {
        let entry = entry?;
        if entry
            .file_name()
            .to_string_lossy()
            .starts_with("defconfig.")
        {
            let text = fs::read_to_string(entry.path())?;
            symbols.extend(assigned(crate::patchset::inject::before_block(&text)));
        }
    }
    Ok(symbols)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn includes_are_found_where_kconfig_finds_them() {
        let from = Path::new("esp-idf/components/psram/Kconfig");
        for (path, relative, want) in [
            (
                "./$IDF_TARGET/Kconfig.spiram",
                true,
                "esp-idf/components/psram/esp32s3/Kconfig.spiram",
            ),
            ("../bt/Kconfig", true, "esp-idf/components/bt/Kconfig"),
            (
                "$IDF_PATH/components/bt/controller/esp32c3/Kconfig.in",
                false,
                "esp-idf/components/bt/controller/esp32c3/Kconfig.in",
            ),
            (
                "${IDF_PATH}/components/x/${IDF_TARGET}/Kconfig",
                true,
                "esp-idf/components/x/esp32s3/Kconfig",
            ),
        ] {
            let source = Source {
                path: path.to_owned(),
                relative,
            };
            assert_eq!(resolve(from, &source, "esp32s3"), Path::new(want));
        }
    }

    #[test]
    fn folders_of_other_chips() {
        for (path, other) in [
            ("a/esp32s3/Kconfig", false),
            ("a/esp32/Kconfig", true),
            ("a/esp32c61/Kconfig", true),
            ("a/linux/Kconfig", true),
            ("a/esp32-camera/Kconfig", false),
            ("esp-idf/Kconfig", false),
            ("a/esp32_x/Kconfig", false),
        ] {
            assert_eq!(other_chips(Path::new(path), "esp32s3"), other, "{path}");
        }
        assert!(rename_applies(Path::new("a/sdkconfig.rename"), "esp32s3"));
        assert!(!rename_applies(
            Path::new("a/sdkconfig.rename.esp32"),
            "esp32s3"
        ));
        let renames = read_renames("# old new\nCONFIG_A   CONFIG_B\nCONFIG_C !CONFIG_D\n");
        assert_eq!(renames[0], ("CONFIG_A".into(), "CONFIG_B".into()));
        assert!(renames[1].1.contains("opposite"));
    }
}
