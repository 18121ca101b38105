//! Finds and reads Kconfig files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail};
use fs_err as fs;
use rayon::prelude::*;
use walkdir::{DirEntry, WalkDir};

use super::{Kind, Symbol, Symbols, assigned};

/// Where Kconfig files stand that a build of the lib-builder reads.
const PLACES: [&str; 5] = [
    "esp-idf/Kconfig",
    "esp-idf/components",
    "components",
    "managed_components",
    "main",
];

/// Folders inside components that hold projects of their own.
const PROJECTS: [&str; 6] = ["examples", "test_apps", "host_test", "test", "tests", "docs"];

/// What one Kconfig file says.
#[derive(Debug, Default)]
struct File {
    symbols: Vec<(String, Symbol)>,
    /// Files that it includes, as it writes them.
    sources: Vec<Source>,
}

#[derive(Debug, PartialEq, Eq)]
struct Source {
    path: String,
    /// `rsource` and `orsource` are relative to the file, `source` to the ESP-IDF.
    relative: bool,
}

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
        for entry in WalkDir::new(place).into_iter().filter_entry(|entry| !skip(entry)) {
            let entry = entry.with_context(|| format!("looking for Kconfig files in {}", place.display()))?;
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
    let mut applicable: BTreeSet<&PathBuf> = files.keys().filter(|path| !other_chips(path, target)).collect();
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
fn other_chips(path: &Path, target: &str) -> bool {
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
        if entry.file_name().to_string_lossy().starts_with("defconfig.") {
            let text = fs::read_to_string(entry.path())?;
            symbols.extend(assigned(crate::patchset::inject::before_block(&text)));
        }
    }
    Ok(symbols)
}

/// Reads the definitions in a Kconfig file. `place` names unnamed choices.
fn parse(text: &str, place: &str) -> File {
    let mut file = File::default();
    let mut help = Help::Outside;
    let mut choice: Option<String> = None;
    let mut in_symbol = false;
    for (number, line) in (1..).zip(text.lines()) {
        if help.covers(line) {
            continue;
        }
        let mut words = line.split_whitespace();
        let keyword = words.next().unwrap_or_default();
        let rest = line.trim_start()[keyword.len()..].trim();
        match keyword {
            "config" | "menuconfig" => {
                in_symbol = true;
                let name = words.next().unwrap_or_default();
                let symbol = Symbol {
                    choice: choice.clone(),
                    ..Symbol::default()
                };
                file.symbols.push((format!("CONFIG_{name}"), symbol));
            }
            "choice" => {
                in_symbol = false;
                choice = Some(match words.next() {
                    Some(name) if !name.starts_with('#') => name.to_owned(),
                    _ => format!("{place}:{number}"),
                });
            }
            "endchoice" => (choice, in_symbol) = (None, false),
            "menu" | "endmenu" | "if" | "endif" | "comment" | "mainmenu" => in_symbol = false,
            "source" | "rsource" | "osource" | "orsource" => {
                in_symbol = false;
                file.sources.extend(rest.split('"').nth(1).map(|path| Source {
                    path: path.to_owned(),
                    relative: keyword.ends_with("rsource"),
                }));
            }
            "help" | "---help---" => help = Help::Begins(indent(line)),
            _ if in_symbol => {
                if let Some((_, symbol)) = file.symbols.last_mut() {
                    symbol.property(keyword, rest);
                }
            }
            _ => {}
        }
    }
    for (_, symbol) in &mut file.symbols {
        // A range that is not plain numbers was marked by bounds that cannot be met.
        if symbol.ranges.iter().any(|(low, high)| low > high) {
            symbol.ranges.clear();
        }
    }
    file
}

impl Symbol {
    fn property(&mut self, keyword: &str, rest: &str) {
        match keyword {
            "bool" | "def_bool" | "tristate" | "def_tristate" => self.kind = Some(Kind::Bool),
            "int" | "def_int" => self.kind = Some(Kind::Int),
            "hex" | "def_hex" => self.kind = Some(Kind::Hex),
            "string" | "def_string" => self.kind = Some(Kind::Text),
            "range" => {
                let mut words = rest.split_whitespace().take_while(|word| !word.starts_with('#'));
                let mut bound = || match words.next().and_then(crate::libs::Value::parse) {
                    Some(crate::libs::Value::Number(number)) => Some(number),
                    _ => None,
                };
                let bounds = bound().zip(bound());
                // The range of a condition counts beside the others; one that ends in a symbol makes all unknown.
                self.ranges.push(bounds.unwrap_or((1, 0)));
            }
            _ => {}
        }
    }
}

/// Where a help text is: it is indented deeper than its `help` line, and ends with the first line that is less so.
enum Help {
    Outside,
    Begins(usize),
    Inside(usize),
}

impl Help {
    fn covers(&mut self, line: &str) -> bool {
        if matches!(self, Self::Outside) {
            return false;
        }
        if line.trim().is_empty() {
            return true;
        }
        let depth = indent(line);
        match *self {
            Self::Begins(help) if depth > help => *self = Self::Inside(depth),
            Self::Inside(text) if depth >= text => {}
            _ => *self = Self::Outside,
        }
        !matches!(self, Self::Outside)
    }
}

/// Columns of blanks before the text; a tab goes to the next multiple of eight.
fn indent(line: &str) -> usize {
    let mut columns = 0;
    for next in line.chars() {
        match next {
            ' ' => columns += 1,
            '\t' => columns = columns / 8 * 8 + 8,
            _ => break,
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
menu \"SPI RAM\"
    config SPIRAM_ECC
        bool \"ECC\"
        help
            Long text.

            config NOT_ONE of the symbols
    choice
        prompt \"Speed\"
        config SPEED_40M
            bool \"40\"
        config SPEED_80M  # comment
            bool
    endchoice
    config STACK
        int \"Stack\" if ADVANCED
        range 1024 16384
    config COUNT
        int
        range 1 LIMIT
    menuconfig NAME
        string \"Name\"
    orsource \"./$IDF_TARGET/Kconfig.spiram\"
    source \"$IDF_PATH/components/bt/controller/esp32c3/Kconfig.in\"
endmenu
";

    #[test]
    fn definitions_types_choices_and_includes() {
        let file = parse(TEXT, "a/Kconfig");
        let names: Vec<&str> = file.symbols.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names.join(" "),
            "CONFIG_SPIRAM_ECC CONFIG_SPEED_40M CONFIG_SPEED_80M CONFIG_STACK CONFIG_COUNT CONFIG_NAME"
        );
        let symbol = |index: usize| &file.symbols[index].1;
        assert_eq!((symbol(0).kind, &symbol(0).choice), (Some(Kind::Bool), &None));
        assert_eq!(symbol(1).choice, symbol(2).choice);
        assert_eq!(symbol(1).choice.as_deref(), Some("a/Kconfig:8"));
        assert_eq!(
            (symbol(3).kind, symbol(3).ranges.as_slice()),
            (Some(Kind::Int), &[(1024, 16384)][..])
        );
        assert!(symbol(4).ranges.is_empty());
        assert_eq!((symbol(5).kind, &symbol(5).choice), (Some(Kind::Text), &None));
        let from = Path::new("esp-idf/components/psram/Kconfig");
        let resolved: Vec<PathBuf> = file
            .sources
            .iter()
            .map(|source| resolve(from, source, "esp32s3"))
            .collect();
        assert_eq!(
            resolved,
            [
                Path::new("esp-idf/components/psram/esp32s3/Kconfig.spiram"),
                Path::new("esp-idf/components/bt/controller/esp32c3/Kconfig.in")
            ]
        );
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
        assert!(!rename_applies(Path::new("a/sdkconfig.rename.esp32"), "esp32s3"));
        let renames = read_renames("# old new\nCONFIG_A   CONFIG_B\nCONFIG_C !CONFIG_D\n");
        assert_eq!(renames[0], ("CONFIG_A".into(), "CONFIG_B".into()));
        assert!(renames[1].1.contains("opposite"));
    }
}
