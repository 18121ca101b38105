//! Which sources read the changed symbols, and so which archives and linker scripts can differ.
//!
//! By text: comments do not count, whether the chip compiles a file is not asked.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result};
use fs_err as fs;
use rayon::prelude::*;
use serde::Serialize;
use walkdir::WalkDir;

use super::comments::{has_word, without_c_comments, without_hash_comments};
use super::components::{Component, Components};
use crate::libs::layout::Layout;
use crate::patchset::kconfig::scan::{PROJECTS, other_chips};

/// Components that no archive of the libraries comes of (lib-builder's tools/copy-libs.sh): the core is compiled with every
/// sketch, by the settings of its memory variant.
const NOT_SHIPPED: [&str; 2] = ["arduino", "main"];

/// How a file comes to depend on a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Code that is compiled.
    Source,
    /// A header.
    Header,
    /// Code or a header that includes such a header.
    Includes,
    /// What CMake reads: which files are compiled, and how.
    BuildFile,
    /// A linker fragment, which says where sections of the component go.
    LinkerFragment,
    /// A linker script of the chip, or what it includes.
    LinkerScript,
}

/// One file that depends on changed symbols.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Mention {
    /// The component.
    pub component: String,
    /// The file, relative to the lib-builder.
    pub file: String,
    /// How.
    pub kind: Kind,
    /// On which symbols, with `CONFIG_`.
    pub symbols: BTreeSet<String>,
    /// Files of the libraries that it becomes part of, for example `libspi_flash.a`; none where it is compiled with every
    /// sketch, or is not shipped.
    pub becomes: BTreeSet<String>,
}

/// A file of the libraries that can differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Product {
    /// For example `libspi_flash.a` or `sections.ld`.
    pub name: String,
    /// The components that its changed parts come of.
    pub components: BTreeSet<String>,
    /// Whether every memory variant has its own.
    pub per_variant: bool,
}

/// What can differ, and why.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Impact {
    /// Files, by component.
    pub mentions: Vec<Mention>,
    /// What they become.
    pub products: Vec<Product>,
}

/// What is looked at in a file.
struct Text {
    component: String,
    file: String,
    kind: Kind,
    /// Without comments.
    code: String,
}

/// Looks for `symbols` in every file of the components that a build for the target can read.
pub(super) fn scan(
    lib_builder: &Path,
    components: &Components,
    layout: &Layout,
    symbols: &BTreeSet<String>,
) -> Result<Impact> {
    let texts: Vec<Vec<Text>> = components
        .list
        .par_iter()
        .map(|component| read(lib_builder, component, &layout.target))
        .collect::<Result<_>>()?;
    let texts: Vec<Text> = texts.into_iter().flatten().collect();
    let scripts = linker_scripts(&texts);
    let mut mentions: Vec<Mention> = texts
        .par_iter()
        .filter(|text| text.kind != Kind::LinkerScript || scripts.contains_key(&text.file))
        .filter_map(|text| {
            let found: BTreeSet<String> = symbols
                .iter()
                .filter(|symbol| text.mentions(symbol))
                .cloned()
                .collect();
            (!found.is_empty()).then(|| text.mention(text.kind, found, &scripts))
        })
        .collect();
    through_headers(&texts, &mut mentions);
    mentions.sort();
    let mut products: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for mention in &mentions {
        for name in &mention.becomes {
            let components = products.entry(name).or_default();
            components.insert(mention.component.clone());
        }
    }
    let products = products.into_iter().map(|(name, components)| Product {
        per_variant: layout.variant_files.iter().any(|file| file == name),
        name: name.to_owned(),
        components,
    });
    Ok(Impact {
        products: products.collect(),
        mentions,
    })
}

/// Linker script that is read -> the scripts that it becomes part of.
type Scripts = BTreeMap<String, BTreeSet<String>>;

impl Text {
    fn mentions(&self, symbol: &str) -> bool {
        // Linker fragments write symbols as Kconfig files do.
        let name = match self.kind {
            Kind::LinkerFragment => symbol.strip_prefix("CONFIG_").unwrap_or(symbol),
            _ => symbol,
        };
        has_word(&self.code, name)
    }

    fn mention(&self, kind: Kind, symbols: BTreeSet<String>, scripts: &Scripts) -> Mention {
        let becomes = match kind {
            _ if NOT_SHIPPED.contains(&self.component.as_str()) => BTreeSet::new(),
            Kind::LinkerScript => scripts.get(&self.file).cloned().unwrap_or_default(),
            Kind::LinkerFragment => BTreeSet::from(["sections.ld".to_owned()]),
            _ => BTreeSet::from([format!("lib{}.a", self.component)]),
        };
        Mention {
            becomes,
            component: self.component.clone(),
            file: self.file.clone(),
            kind,
            symbols,
        }
    }
}

/// The texts of one component that can read a symbol, those of other chips and of projects inside it left out.
fn read(lib_builder: &Path, component: &Component, target: &str) -> Result<Vec<Text>> {
    let mut texts = Vec::new();
    if !component.folder.is_dir() {
        return Ok(texts);
    }
    let below = |path: &Path| path.strip_prefix(&component.folder).map(Path::to_owned);
    let walk = WalkDir::new(&component.folder)
        .sort_by_file_name()
        .into_iter()
        .filter_entry(|entry| {
            let name = entry.file_name().to_string_lossy();
            let skipped =
                PROJECTS.contains(&name.as_ref()) || name == "subproject" || name == ".git";
            // The Arduino core of every chip stands in cores/esp32.
            let other = below(entry.path()).is_ok_and(|path| {
                other_chips(path.strip_prefix("cores/esp32").unwrap_or(&path), target)
            }) || named_for_another(&name, target);
            entry.depth() == 0 || !(entry.file_type().is_dir() && skipped || other)
        });
    for entry in walk {
        let entry = entry.with_context(|| format!("reading {}", component.folder.display()))?;
        let kind = match kind(entry.path()) {
            Some(kind) if entry.file_type().is_file() => kind,
            _ => continue,
        };
        let path = entry.path().strip_prefix(lib_builder)?;
        let file: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
        let text = String::from_utf8_lossy(&fs::read(entry.path())?).into_owned();
        // Most files are neither: to look is faster than to take comments out.
        if !text.contains("CONFIG_") && !text.contains("#include") && kind != Kind::LinkerFragment {
            continue;
        }
        texts.push(Text {
            component: component.name.clone(),
            file: file.join("/"),
            kind,
            code: match kind {
                Kind::BuildFile | Kind::LinkerFragment => without_hash_comments(&text),
                _ => without_c_comments(&text),
            },
        });
    }
    Ok(texts)
}

/// Whether a file's name ends in another chip's, as `flash_config_esp32c6.c`.
fn named_for_another(name: &str, target: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default();
    stem.rsplit_once('_')
        .is_some_and(|(_, last)| other_chips(Path::new(last), target))
}

fn kind(path: &Path) -> Option<Kind> {
    let name = path.file_name()?.to_str()?;
    // ESP-IDF's scripts are called memory.ld.in and sections.ld.in, and include ld.common and its like.
    if name.ends_with(".ld.in") || name.ends_with(".ld") || name.starts_with("ld.") {
        return Some(Kind::LinkerScript);
    }
    match path.extension()?.to_str()? {
        "c" | "cc" | "cpp" | "cxx" | "S" | "s" => Some(Kind::Source),
        "h" | "hpp" | "hh" | "inc" => Some(Kind::Header),
        "lf" => Some(Kind::LinkerFragment),
        "cmake" => Some(Kind::BuildFile),
        _ if name == "CMakeLists.txt" => Some(Kind::BuildFile),
        _ => None,
    }
}

/// The linker scripts that are generated (`.ld.in`), and what those include.
fn linker_scripts(texts: &[Text]) -> Scripts {
    let all = || texts.iter().filter(|text| text.kind == Kind::LinkerScript);
    let mut scripts = Scripts::new();
    for root in all() {
        let name = last_part(&root.file);
        let Some(script) = name.strip_suffix(".in") else {
            continue;
        };
        let mut queue = vec![root];
        while let Some(text) = queue.pop() {
            let parts = scripts.entry(text.file.clone()).or_default();
            if parts.insert(script.to_owned()) {
                let included =
                    |other: &&Text| includes(&text.code).any(|name| names_file(name, &other.file));
                queue.extend(all().filter(included));
            }
        }
    }
    scripts
}

/// Adds the files that include a header that mentions a symbol, directly or by another header.
fn through_headers(texts: &[Text], mentions: &mut Vec<Mention>) {
    let mut includers: BTreeMap<&str, Vec<&Text>> = BTreeMap::new();
    for text in texts {
        for name in includes(&text.code) {
            includers.entry(last_part(name)).or_default().push(text);
        }
    }
    let headers = mentions
        .iter()
        .filter(|mention| mention.kind == Kind::Header);
    let mut queue: Vec<(String, BTreeSet<String>)> = headers
        .map(|mention| (mention.file.clone(), mention.symbols.clone()))
        .collect();
    let mut reached: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    while let Some((header, symbols)) = queue.pop() {
        for text in includers.get(last_part(&header)).into_iter().flatten() {
            let named = includes(&text.code).any(|name| names_file(name, &header));
            let known = reached.entry(&text.file).or_default();
            if text.file == header || !named || known.is_superset(&symbols) {
                continue;
            }
            known.extend(symbols.iter().cloned());
            mentions.push(text.mention(Kind::Includes, symbols.clone(), &Scripts::new()));
            if text.kind == Kind::Header {
                queue.push((text.file.clone(), symbols.clone()));
            }
        }
    }
}

/// What the text includes, as it writes it.
fn includes(code: &str) -> impl Iterator<Item = &str> {
    code.lines().filter_map(|line| {
        let rest = line.trim_start().strip_prefix('#')?.trim_start();
        let rest = rest.strip_prefix("include")?.trim_start();
        let rest = rest.strip_prefix(['"', '<'])?;
        rest.split(['"', '>']).next()
    })
}

/// Whether `#include <name>` can mean `file`.
fn names_file(name: &str, file: &str) -> bool {
    let name = name.trim_start_matches("../").trim_start_matches("./");
    file == name || file.ends_with(&format!("/{name}"))
}

fn last_part(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests;
