//! The quick build of the same libraries, held against the full one.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use serde::Serialize;

use super::folder::Folder;
use super::{Options, mirrors};
use crate::build::quick::inputs;
use crate::build::quick::trees::{self, Comparison};
use crate::package::{Effort, Package};
use crate::patchset;
use crate::pipeline::{self, Way};
use crate::progress::Report;
use crate::release::{self, Request};
use crate::workdir::WorkDir;

/// What the quick build gave.
#[derive(Debug, Serialize)]
pub struct Quick {
    /// Its package.
    pub package: Package,
    /// How long it took, from the stock libraries to the package, in seconds.
    pub seconds: f64,
    /// How its libraries compare with those of the full build.
    pub comparison: Comparison,
}

/// Builds quickly what stands in `full` as upstream's own build made it.
///
/// # Errors
/// Those of `build-libs --quick`.
pub(super) fn build(
    options: &Options,
    folder: &Folder,
    full: &Path,
    report: Report<'_>,
) -> Result<Quick> {
    let begun = Instant::now();
    let (core, chip, data_dir) = (&options.core, &options.chip, folder.arduino());
    let work = WorkDir::open(&folder.work())?;
    let stock = inputs::stock(None, &data_dir, core, chip, &work, report)?;
    let request = Request {
        core,
        chip,
        versions: Some(&stock.versions),
        data_dir: None,
        index: None,
        offline: true,
        downloads: &work.downloads(),
    };
    let pins = release::resolve(&request, report)?;
    let options = pipeline::Options {
        core: core.clone(),
        chip: chip.clone(),
        set: patchset::find(patchset::DEFAULT)?,
        way: Way::Quick {
            compiler: inputs::compiler(None, &data_dir, core, chip, report)?,
            stock,
            accept_unproven: false,
        },
        data_dir: Some(data_dir),
        mirrors: mirrors(folder)?,
        offline: false,
        work,
        out: folder.quick(),
        stop_after: None,
        effort: Effort::Fast,
        accepted: Vec::new(),
        without_kconfig: super::WITHOUT_KCONFIG,
    };
    let outcome = pipeline::run(pins, &options, report)?;
    let seconds = begun.elapsed().as_secs_f64();
    let tree = outcome.tree.context("the quick build gave no tree")?;
    Ok(Quick {
        package: outcome.package.context("the quick build gave no package")?,
        seconds,
        comparison: trees::compare(full, &tree)?,
    })
}
