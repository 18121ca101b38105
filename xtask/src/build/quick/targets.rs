//! What is to be rebuilt: a source for each memory variant that the set changes, and the stock files it goes into.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use fs_err as fs;

use super::archive::Archive;
use super::recipe::{Recipe, Source};
use super::sdkconfig;
use crate::libs::Tree;

/// One object to rebuild.
pub(super) struct Target<'a> {
    /// The memory variant.
    pub(super) variant: &'a str,
    /// The source.
    pub(super) source: &'a Source,
    /// The archive, relative to the tree, with `/`.
    pub(super) archive: String,
}

/// The memory variants of `tree` that the recipe covers.
///
/// # Errors
/// There are none.
pub(super) fn variants(tree: &Tree, recipe: &Recipe) -> Result<Vec<String>> {
    let all = tree.memory_variants()?;
    let covered: Vec<String> = all
        .iter()
        .filter(|name| recipe.covers(name))
        .cloned()
        .collect();
    if covered.is_empty() {
        bail!(
            "{} has the memory variants {}, of which the recipe changes none",
            tree.root().display(),
            all.join(", ")
        );
    }
    Ok(covered)
}

/// Every source for every variant.
pub(super) fn targets<'a>(recipe: &'a Recipe, variants: &'a [String]) -> Vec<Target<'a>> {
    let of_variant = |variant: &'a String| {
        recipe.sources.iter().map(move |source| Target {
            variant,
            source,
            archive: format!("{variant}/{}", source.archive),
        })
    };
    variants.iter().flat_map(of_variant).collect()
}

/// A variant's sdkconfig.h, relative to the tree.
pub(super) fn config_path(variant: &str) -> String {
    format!("{variant}/include/sdkconfig.h")
}

/// Each variant's sdkconfig.h with the recipe's lines in it.
///
/// # Errors
/// A file that has them already, or lacks the lines that they follow ([`sdkconfig::insert`]).
pub(super) fn patched_configs<'a>(
    root: &Path,
    recipe: &Recipe,
    variants: &'a [String],
) -> Result<BTreeMap<&'a str, String>> {
    let patched = |variant: &'a String| {
        let path = root.join(config_path(variant));
        let text = sdkconfig::insert(&fs::read_to_string(&path)?, &recipe.defines);
        let text =
            text.with_context(|| format!("{} is not what the set is for", path.display()))?;
        Ok((variant.as_str(), text))
    };
    variants.iter().map(patched).collect()
}

/// The bytes of every archive that a target goes into.
///
/// # Errors
/// One that is not there a variant, but once for all: it cannot be changed for one alone.
pub(super) fn read_archives(
    root: &Path,
    targets: &[Target<'_>],
) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut bytes = BTreeMap::new();
    for target in targets {
        let path = root.join(&target.archive);
        let shared = root.join("lib").join(&target.source.archive);
        if !path.is_file() && shared.is_file() {
            bail!(
                "{} is one for all memory variants, so it cannot be changed for {} alone; the recipe does not fit this release",
                shared.display(),
                target.variant
            );
        }
        bytes.insert(target.archive.clone(), fs::read(&path)?);
    }
    Ok(bytes)
}

/// All archives, each of whose members to replace is there once.
pub(super) fn parse_archives<'a>(
    bytes: &'a BTreeMap<String, Vec<u8>>,
    targets: &[Target<'_>],
) -> Result<BTreeMap<&'a str, Archive<'a>>> {
    let mut archives = BTreeMap::new();
    for (path, bytes) in bytes {
        let archive = Archive::parse(bytes).with_context(|| format!("reading {path}"))?;
        for target in targets.iter().filter(|target| target.archive == *path) {
            archive
                .member(&target.source.member)
                .with_context(|| format!("reading {path}"))?;
        }
        archives.insert(path.as_str(), archive);
    }
    Ok(archives)
}
