//! The checks that every build passes, for a tree that no builds.json is at hand for: the stock tree says what must be there.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;
use fs_err as fs;

use super::recipe::Recipe;
use crate::build::check::{self, Effective};
use crate::libs::Tree;
use crate::libs::layout::{Build, Layout, Product};
use crate::names::Chip;
use crate::patchset::PatchSet;
use crate::progress::{Event, Report};

/// Checks the tree at `root` against the patch set's expectations and the stock tree; the effective values.
///
/// # Errors
/// One [`crate::exit::Refusal::Check`] that tells every finding.
pub(super) fn check(
    root: &Path,
    stock: &Tree,
    chip: &Chip,
    set: &PatchSet,
    recipe: &Recipe,
    report: Report<'_>,
) -> Result<Effective> {
    let tree = Tree::open(root)?;
    let findings = check::examine(&tree, &layout(stock, chip, set, recipe)?, set, Some(stock))?;
    for warning in &findings.warnings {
        report(Event::Warning(warning));
    }
    findings.verdict(&tree)
}

/// What the stock tree holds. The set's lines count in the variants that the recipe covers.
fn layout(stock: &Tree, chip: &Chip, set: &PatchSet, recipe: &Recipe) -> Result<Layout> {
    let mut builds: Vec<Build> = Vec::new();
    for variant in stock.memory_variants()? {
        let layers = if recipe.covers(&variant) {
            set.files.keys().cloned().collect()
        } else {
            Vec::new()
        };
        builds.push(Build {
            product: Product::Variant { variant },
            layers,
        });
    }
    let folder = stock.root().join("bin");
    if folder.is_dir() {
        for entry in fs::read_dir(folder)? {
            let file = format!("bin/{}", entry?.file_name().to_string_lossy());
            builds.push(Build {
                product: Product::Bootloader { file },
                layers: Vec::new(),
            });
        }
    }
    let archives: BTreeSet<&String> = recipe
        .sources
        .iter()
        .map(|source| &source.archive)
        .collect();
    Ok(Layout {
        chip: chip.clone(),
        target: chip.to_string(),
        builds,
        variant_files: archives.into_iter().cloned().collect(),
        configs: stock.root().join("configs"),
    })
}
