//! Lays out the new tree: the stock tree's files, byte for byte, but for those that are given.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use anyhow::{Context, Result, bail};
use fs_err as fs;
use rayon::prelude::*;

use crate::libs::files;

/// Copies the tree at `stock` to `to`, with the files in `replaced` (path relative to the tree, with `/` -> content) in place
/// of its own. The copies are plain new files: a read-only tree can be copied, and nothing is shared with it.
///
/// # Errors
/// A replaced file that the stock tree does not have; what is no plain file; what the disk refuses.
pub(super) fn lay_out(stock: &Path, to: &Path, replaced: &BTreeMap<String, Vec<u8>>) -> Result<()> {
    let paths = files::paths(stock)?;
    let known: BTreeSet<&str> = paths.iter().map(|(path, _)| path.as_str()).collect();
    if let Some(path) = replaced.keys().find(|path| !known.contains(path.as_str())) {
        bail!("{} has no {path}", stock.display());
    }
    let folders: BTreeSet<&str> = known
        .iter()
        .filter_map(|path| Some(path.rsplit_once('/')?.0))
        .collect();
    fs::create_dir_all(to)?;
    for folder in folders {
        fs::create_dir_all(to.join(folder))?;
    }
    paths.par_iter().try_for_each(|(path, on_disk)| {
        let new = to.join(path);
        let context = || format!("writing {}", new.display());
        match replaced.get(path) {
            Some(content) => fs::write(&new, content)?,
            None => {
                let mut from = std::fs::File::open(on_disk)
                    .with_context(|| format!("reading {}", on_disk.display()))?;
                let mut into = std::fs::File::create_new(&new).with_context(context)?;
                io::copy(&mut from, &mut into).with_context(context)?;
            }
        }
        Ok(())
    })
}
