//! Stage 2: are exactly these commits on disk?
//!
//! Two steps. First the content of every pinned commit is brought into mirrors (`mirror`), submodules too; all network
//! work happens there (`fetch` tells who does it), and none where an earlier run left what is needed. Then work trees
//! are laid out from the mirrors (`worktree`), or put back to their commits where they stand already.

mod address;
mod content;
mod fetch;
mod files;
mod mirror;
mod mirrors;
mod repositories;
mod resolve;
mod space;
mod stock;
mod submodules;
#[cfg(test)]
mod tests;
mod version;
mod worktree;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use serde::Serialize;

use crate::progress::{Event, Report};
use crate::release::Pins;
use crate::whole_file;
use crate::workdir::{Lock, WorkDir};
use fetch::{Fetcher, Fetchers};
use stock::Stock;

pub use files::Files;
pub use mirrors::Mirrors;

/// Work trees laid out as upstream's build expects them, each at its pinned commit.
///
/// Another run that wants the same trees waits until this is dropped.
#[derive(Debug)]
pub struct Sources {
    /// The lib-builder's work tree; all others stand inside it.
    pub root: PathBuf,
    /// Every work tree, the lib-builder's first.
    pub trees: Vec<SourceTree>,
    _lock: Lock,
}

impl Sources {
    /// Work trees below `root`, held by `lock`.
    pub fn new(root: PathBuf, trees: Vec<SourceTree>, lock: Lock) -> Self {
        Self {
            root,
            trees,
            _lock: lock,
        }
    }
}

/// One work tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SourceTree {
    /// Upstream's name, for example `esp-idf`.
    pub name: String,
    /// Where it stands, relative to the lib-builder's root with `/`; `.` for the lib-builder.
    pub path: String,
    /// The canonical address, before any mirror.
    pub url: String,
    /// Branch or tags that the pin named.
    pub refs: Vec<String>,
    /// The full commit id.
    pub commit: String,
    /// Submodules (nested ones too), each at its recorded commit; paths relative to this tree, with `/`.
    pub submodules: Vec<String>,
}

/// A repository that a build needs, at the commit that the release names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Needed {
    /// Upstream's name.
    pub name: &'static str,
    /// Where it is fetched from, mirrors applied.
    pub address: String,
    /// Branch or tags that the pin named.
    pub refs: Vec<String>,
    /// The commit as the release gives it.
    pub commit: String,
}

/// The repositories of a release; submodules show only once these are on disk.
///
/// # Errors
/// Pins that name an unknown repository, or lack a required one.
pub fn needed(pins: &Pins, mirrors: &Mirrors) -> Result<Vec<Needed>> {
    let pairs = repositories::pair(pins)?.into_iter();
    Ok(pairs
        .map(|(repository, pin)| Needed {
            name: repository.name,
            address: mirrors.map(repository.url),
            refs: pin.refs.clone(),
            commit: pin.commit.clone(),
        })
        .collect())
}

/// Brings the repositories of a release to disk.
pub struct Checkout<'a> {
    /// Where mirrors and work trees stand.
    pub work: &'a WorkDir,
    /// Addresses to replace.
    pub mirrors: &'a Mirrors,
    /// Whether only what earlier runs brought may be used.
    pub offline: bool,
    /// Where progress goes.
    pub report: Report<'a>,
}

impl Checkout<'_> {
    /// The lib-builder alone, so that a patch set can fail before gigabytes are fetched.
    ///
    /// Tracked files have the commit's content afterwards, also where an earlier run patched them. The trees are locked
    /// until the result is dropped.
    ///
    /// # Errors
    /// Pins that name an unknown repository or lack a required one; a commit that is not found, or not here with
    /// `offline`; a fetch that fails; a full disk.
    pub fn lib_builder(&self, pins: &Pins) -> Result<Sources> {
        self.lib_builder_by(pins, &Fetchers::new())
    }

    /// Everything else, into place below the lib-builder; adds to `sources`.
    ///
    /// # Errors
    /// As [`Checkout::lib_builder`]. All repositories that cannot be had are named together.
    pub fn complete(&self, pins: &Pins, sources: &mut Sources) -> Result<()> {
        self.complete_by(pins, sources, &Fetchers::new())
    }

    fn lib_builder_by(&self, pins: &Pins, fetcher: &dyn Fetcher) -> Result<Sources> {
        let pairs = repositories::pair(pins)?;
        let key = repositories::tree_key(pins);
        let begin = || {
            let lock = self.work.lock(&format!("tree-{key}"), || {
                (self.report)(Event::Note(&format!(
                    "waiting for another run that uses the work tree {key}"
                )));
            })?;
            let mut sources = Sources::new(self.work.trees().join(&key), Vec::new(), lock);
            self.place(&pairs[..1], &mut sources, fetcher)?;
            Ok(sources)
        };
        begin().map_err(|error| space::explain(error, self.work.root()))
    }

    fn complete_by(&self, pins: &Pins, sources: &mut Sources, fetcher: &dyn Fetcher) -> Result<()> {
        let pairs = repositories::pair(pins)?;
        self.place(&pairs[1..], sources, fetcher)
            .map_err(|error| space::explain(error, self.work.root()))
    }

    fn place(
        &self,
        pairs: &[stock::Pair<'_>],
        sources: &mut Sources,
        fetcher: &dyn Fetcher,
    ) -> Result<()> {
        let stock = Stock {
            work: self.work,
            mirrors: self.mirrors,
            offline: self.offline,
            fetcher,
        };
        let holdings = pairs
            .iter()
            .map(|pair| stock.pinned(pair, self.report))
            .collect();
        for ((repository, pin), holding) in pairs.iter().zip(all(holdings)?) {
            (self.report)(Event::Step(&format!("check out {}", repository.name)));
            let at = sources.root.join(repository.path);
            worktree::lay_out(self.work, &holding, &at, self.report)?;
            sources.trees.push(SourceTree {
                name: repository.name.to_owned(),
                path: if repository.path.is_empty() {
                    "."
                } else {
                    repository.path
                }
                .to_owned(),
                url: repository.url.to_owned(),
                refs: pin.refs.clone(),
                commit: holding.commit.to_string(),
                submodules: holding.submodule_paths(),
            });
        }
        Ok(())
    }
}

/// All of the results, or one error that tells every failure.
fn all<T>(results: Vec<Result<T>>) -> Result<Vec<T>> {
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    for result in results {
        match result {
            Ok(value) => good.push(value),
            Err(error) => bad.push(error),
        }
    }
    if bad.len() > 1 {
        let lines: Vec<_> = bad.iter().map(|error| format!("\n  {error:#}")).collect();
        bail!(
            "{} repositories cannot be had:{}",
            lines.len(),
            lines.concat()
        );
    }
    match bad.pop() {
        Some(error) => Err(error),
        None => Ok(good),
    }
}

/// Writes a whole file, or leaves the one that is there.
fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    if fs_err::read(path).is_ok_and(|found| found == bytes) {
        return Ok(());
    }
    whole_file::replace(path, bytes)
}
