//! What is asked of a libraries tree after the build, whichever way it was built.
//!
//! Findings that make the tree unusable, or that show that it is not what was asked for, are errors. Differences to the
//! stock tree that a patch set may well want (a flag more, a header more) are warnings.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;

use anyhow::{Result, bail};
use fs_err as fs;

use crate::exit::Refusal;
use crate::libs::flags::{self, Flags};
use crate::libs::layout::{Build, Layout};
use crate::libs::{Tree, Value, files, manifest};
use crate::patchset::PatchSet;
use crate::patchset::kconfig::Symbols;
use crate::patchset::layers::Stack;

/// Targets with an Xtensa CPU; all others are RISC-V.
const XTENSA: [&str; 3] = ["esp32", "esp32s2", "esp32s3"];

/// Files of a released tree that are put there after the build.
const ADDED_LATER: [&str; 3] = ["versions.txt", "package.json", manifest::FILE_NAME];

/// Names of files told in one finding; more are counted.
const SHOWN: usize = 12;

/// Memory variant -> symbol -> value in its sdkconfig.h (`y`, a number, a text, or `n`).
pub type Effective = BTreeMap<String, BTreeMap<String, String>>;

/// All that a check found.
#[derive(Debug, Default)]
pub struct Findings {
    /// What makes the tree unusable.
    pub errors: Vec<String>,
    /// What is worth telling.
    pub warnings: Vec<String>,
    /// Effective values of every symbol that the set assigns or expects.
    pub effective: Effective,
}

/// Checks `tree` against what upstream's builds must leave (`layout`), the patch set's expectations and, where there is
/// one, the stock tree of the same core version. Warnings go to the log.
///
/// # Errors
/// One [`Refusal::Check`] that tells every finding.
pub fn check(
    tree: &Tree,
    layout: &Layout,
    set: &PatchSet,
    stock: Option<&Tree>,
) -> Result<Effective> {
    let findings = examine(tree, layout, set, stock)?;
    for warning in &findings.warnings {
        tracing::warn!("{warning}");
    }
    findings.verdict(tree)
}

/// The same as [`check`], but gives back what was found without judging it.
///
/// # Errors
/// Only what keeps it from looking: a file that cannot be read, a link or a device in the tree.
pub fn examine(
    tree: &Tree,
    layout: &Layout,
    set: &PatchSet,
    stock: Option<&Tree>,
) -> Result<Findings> {
    let mut findings = Findings::default();
    let ours = sizes(tree)?;
    let theirs = stock.map(sizes).transpose()?;
    findings.complete(layout, &ours);
    findings.nothing_empty(&ours, theirs.as_ref());
    findings.archives(tree, &ours)?;
    findings.configuration(tree, layout, set)?;
    findings.flags(tree, layout, stock)?;
    if let Some(theirs) = &theirs {
        findings.same_files(&ours, theirs);
    }
    Ok(findings)
}

/// Size of every file by its path.
type Sizes = BTreeMap<String, u64>;

fn sizes(tree: &Tree) -> Result<Sizes> {
    files::paths(tree.root())?
        .into_iter()
        .map(|(path, on_disk)| Ok((path, fs::metadata(on_disk)?.len())))
        .collect()
}

impl Findings {
    /// The effective values, or one refusal that tells every error.
    pub fn verdict(self, tree: &Tree) -> Result<Effective> {
        if self.errors.is_empty() {
            return Ok(self.effective);
        }
        bail!(Refusal::Check(format!(
            "the libraries in {} are not what was asked for\n  {}",
            tree.root().display(),
            self.errors.join("\n  ")
        )))
    }

    /// Every memory variant with its files, every bootloader, and the folders that all share.
    fn complete(&mut self, layout: &Layout, ours: &Sizes) {
        let variants = layout.memory_variants();
        for variant in variants.keys() {
            if !ours.contains_key(&format!("{variant}/include/sdkconfig.h")) {
                self.errors
                    .push(format!("memory variant {variant} is missing"));
                continue;
            }
            for file in &layout.variant_files {
                if !ours.contains_key(&format!("{variant}/{file}")) {
                    self.errors.push(format!("{variant}/{file} is missing"));
                }
            }
        }
        for path in ours.keys() {
            let left_over = path
                .strip_suffix("/include/sdkconfig.h")
                .filter(|variant| !variant.contains('/') && !variants.contains_key(variant));
            if let Some(variant) = left_over {
                self.errors.push(format!(
                    "memory variant {variant} is not one that builds.json names: it is left over from another build; \
                     remove the output and build again"
                ));
            }
        }
        for bootloader in layout.bootloaders() {
            if !ours.contains_key(bootloader) {
                self.errors.push(format!("{bootloader} is missing"));
            }
        }
        for (folder, suffix) in [("lib/", ".a"), ("ld/", ".ld"), ("include/", ".h")] {
            if !ours
                .keys()
                .any(|path| path.starts_with(folder) && path.ends_with(suffix))
            {
                self.errors.push(format!("{folder} holds no {suffix} file"));
            }
        }
        if !ours.contains_key("sdkconfig") {
            self.errors.push("sdkconfig is missing".to_owned());
        }
    }

    /// A file without content is a copy that was cut short. A header may be so on purpose, and so may what is in stock.
    fn nothing_empty(&mut self, ours: &Sizes, theirs: Option<&Sizes>) {
        let empty = ours.iter().filter(|(path, size)| {
            **size == 0 && theirs.and_then(|files| files.get(*path)) != Some(&0)
        });
        let (headers, others): (Vec<&str>, Vec<&str>) = empty
            .map(|(path, _)| path.as_str())
            .partition(|path| path.starts_with("include/"));
        self.errors
            .extend(others.into_iter().map(|path| format!("{path} is empty")));
        if !headers.is_empty() {
            self.warnings
                .push(format!("empty headers: {}", some_of(&headers)));
        }
    }

    /// Every archive is one, with members of its own.
    fn archives(&mut self, tree: &Tree, ours: &Sizes) -> Result<()> {
        for (path, size) in ours
            .iter()
            .filter(|(path, size)| path.ends_with(".a") && **size > 0)
        {
            let mut magic = Vec::new();
            fs::File::open(tree.root().join(path))?
                .take(8)
                .read_to_end(&mut magic)?;
            let fault = match &magic[..] {
                b"!<arch>\n" if *size > 8 => continue,
                b"!<arch>\n" => "is an archive without members",
                b"!<thin>\n" => "is a thin archive: its members stayed on the build machine",
                _ => "is not an archive",
            };
            self.errors.push(format!("{path} {fault}"));
        }
        Ok(())
    }

    /// Each variant's sdkconfig.h against the set.
    fn configuration(&mut self, tree: &Tree, layout: &Layout, set: &PatchSet) -> Result<()> {
        let variants = layout.memory_variants();
        let idle = set.idle_expects(layout);
        self.errors.extend(idle.iter().map(ToString::to_string));
        let expected: BTreeMap<&str, BTreeMap<&str, &Value>> = variants
            .iter()
            .map(|(variant, build)| (*variant, set.expected(variant, build)))
            .collect();
        let symbols: BTreeMap<&str, &Value> = expected
            .values()
            .flatten()
            .map(|(symbol, value)| (*symbol, *value))
            .collect();
        let mut reasons = Reasons::new(layout);
        for (variant, build) in &variants {
            if !tree
                .root()
                .join(variant)
                .join("include/sdkconfig.h")
                .is_file()
            {
                continue;
            }
            let config = match tree.sdkconfig(variant) {
                Ok(config) => config,
                Err(error) => {
                    self.errors.push(format!("{error:#}"));
                    continue;
                }
            };
            let shown =
                |symbol: &str, like: &Value| (symbol.to_owned(), config.shown(symbol, like));
            let values = symbols
                .iter()
                .map(|(symbol, like)| shown(symbol, like))
                .collect();
            self.effective.insert((*variant).to_owned(), values);
            for (symbol, wanted) in &expected[variant] {
                if !config.is(symbol, wanted) {
                    let (_, found) = shown(symbol, wanted);
                    let why = reasons.tell(build, symbol, wanted);
                    self.errors.push(format!(
                        "{variant}: {symbol} is {found}, expected {wanted}: {why}"
                    ));
                }
            }
        }
        Ok(())
    }

    /// Flags without places of the build machine, with those of the CPU; with a stock tree, against its own.
    fn flags(&mut self, tree: &Tree, layout: &Layout, stock: Option<&Tree>) -> Result<()> {
        let ours = Flags::read(tree.root())?;
        let theirs = stock.map(|stock| Flags::read(stock.root())).transpose()?;
        for (file, why) in &ours.faults {
            self.errors.push(format!("flags/{file}: {why}"));
        }
        for (file, token, why) in ours.foreign() {
            let in_stock = theirs.as_ref().is_some_and(|stock| {
                stock
                    .tokens(file)
                    .iter()
                    .any(|other| other.value == token.value)
            });
            let list = if in_stock {
                &mut self.warnings
            } else {
                &mut self.errors
            };
            let note = if in_stock {
                " (the stock tree has it too)"
            } else {
                ""
            };
            list.push(format!("flags/{file}: `{}`: {why}{note}", token.raw));
        }
        if XTENSA.contains(&layout.target.as_str()) {
            for file in ours.without_long_calls() {
                self.errors.push(format!(
                    "flags/{file} lost -mlongcalls, without which code for {} does not link",
                    layout.target
                ));
            }
        }
        for difference in theirs.iter().flat_map(|stock| ours.differences(stock)) {
            let (cpu, lost): (Vec<&str>, Vec<&str>) = difference
                .lost
                .iter()
                .map(String::as_str)
                .partition(|token| flags::is_cpu_flag(token));
            let file = difference.file;
            if !cpu.is_empty() {
                self.errors.push(format!(
                    "flags/{file} lost flags for the CPU that the stock tree has: {}",
                    cpu.join(" ")
                ));
            }
            if !lost.is_empty() {
                self.warnings.push(format!(
                    "flags/{file} lacks what the stock tree has: {}",
                    some_of(&lost)
                ));
            }
            if !difference.extra.is_empty() {
                let extra: Vec<&str> = difference.extra.iter().map(String::as_str).collect();
                self.warnings.push(format!(
                    "flags/{file} has what the stock tree lacks: {}",
                    some_of(&extra)
                ));
            }
            if let Some(token) = difference.reordered {
                self.warnings.push(format!(
                    "flags/{file} has the stock tree's flags in another order from number {token} on"
                ));
            }
        }
        Ok(())
    }

    /// The same pins give the same files: one that is missing shows a build that was not whole.
    fn same_files(&mut self, ours: &Sizes, theirs: &Sizes) {
        let added_later = |path: &str| ADDED_LATER.contains(&path);
        // A missing variant has been told as one.
        let whole_variant_missing = |path: &str| {
            path.split_once('/').is_some_and(|(folder, _)| {
                let config = format!("{folder}/include/sdkconfig.h");
                theirs.contains_key(&config) && !ours.contains_key(&config)
            })
        };
        let known: BTreeSet<&str> = ours.keys().map(String::as_str).collect();
        let missing: Vec<&str> = theirs
            .keys()
            .map(String::as_str)
            .filter(|path| {
                !known.contains(path) && !added_later(path) && !whole_variant_missing(path)
            })
            .collect();
        if !missing.is_empty() {
            self.errors.push(format!(
                "files of the stock tree are missing: {}",
                some_of(&missing)
            ));
        }
        let extra: Vec<&str> = known
            .into_iter()
            .filter(|path| !theirs.contains_key(*path) && !added_later(path))
            .collect();
        if !extra.is_empty() {
            self.warnings.push(format!(
                "files that the stock tree lacks: {}",
                some_of(&extra)
            ));
        }
    }
}

/// Says why a symbol did not get its value. The sources are read when the first one did not.
struct Reasons<'a> {
    layout: &'a Layout,
    sources: Option<(Option<Stack>, Symbols)>,
}

impl<'a> Reasons<'a> {
    fn new(layout: &'a Layout) -> Self {
        Self {
            layout,
            sources: None,
        }
    }

    fn tell(&mut self, build: &Build, symbol: &str, wanted: &Value) -> String {
        let layout = self.layout;
        let (stack, symbols) = self.sources.get_or_insert_with(|| {
            // The finding stands without a reason too, so that sources which cannot be read do not hide it.
            let root = layout.configs.parent().unwrap_or(Path::new("."));
            let symbols = Symbols::scan(root, &layout.target).unwrap_or_default();
            (Stack::read(layout, &BTreeMap::new()).ok(), symbols)
        });
        let Some(stack) = stack else {
            return "the defconfig files cannot be read, so no reason is known".to_owned();
        };
        let rivals = symbols.rivals(symbol);
        let deciding = stack.last(build, |name, value| {
            name == symbol || value == "y" && rivals.contains(&name)
        });
        match deciding {
            None => "no defconfig line of this build sets it, so Kconfig's default or another symbol decided"
                .to_owned(),
            Some(winner) if stack.winner(build, symbol).as_ref() != Some(&winner) => {
                format!("a later line sets another member of the same choice, {winner}")
            }
            Some(winner) if Value::parse(&winner.value).as_ref() == Some(wanted) => {
                format!(
                    "{winner} sets it so, but Kconfig dropped it: what it depends on is not met, or another symbol forces it"
                )
            }
            Some(winner) => format!("the line that wins is {winner}"),
        }
    }
}

/// The first of `names`, and how many more there are.
fn some_of(names: &[&str]) -> String {
    let shown = names[..names.len().min(SHOWN)].join(" ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests;
