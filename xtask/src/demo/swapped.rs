//! The package installed into the demonstration's own data folder, and the stock libraries put back.

use std::path::Path;

use anyhow::Result;
use serde::Serialize;

use super::Options;
use super::folder::Folder;
use crate::progress::{Event, Report};
use crate::swap::{
    self, CoreState, Depth, InstallOptions, Installed, Place, RealDisk, RevertOptions, Reverted,
};

/// What install and revert did, and what stood there after each.
#[derive(Debug, Serialize)]
pub struct Swapped {
    /// The install.
    pub installed: Installed,
    /// What stood there then, every file hashed.
    pub after_install: Vec<CoreState>,
    /// The revert.
    pub reverted: Reverted,
    /// What stood there in the end, every file hashed.
    pub after_revert: Vec<CoreState>,
}

/// Installs `zip` and reverts. The user's own programs and caches are none of the demonstration's.
///
/// # Errors
/// Those of install and revert.
pub(super) fn play(
    options: &Options,
    folder: &Folder,
    zip: &Path,
    report: Report<'_>,
) -> Result<Swapped> {
    let place = place(options, folder);
    let state = || -> Result<Vec<CoreState>> {
        report(Event::Step("look at every installed file"));
        Ok(swap::state(&place.tools, &place.chip, Depth::Full)?.cores)
    };
    let install = InstallOptions {
        dry_run: false,
        caches: &Vec::new,
        running: &|| None,
    };
    Ok(Swapped {
        installed: swap::install(&place, zip, &install, &RealDisk, report)?,
        after_install: state()?,
        reverted: put_back(&place, report)?,
        after_revert: state()?,
    })
}

/// Puts the stock libraries back where an earlier demonstration was cut off after its install.
pub(super) fn begin(options: &Options, folder: &Folder) -> Result<()> {
    put_back(&place(options, folder), &|_| {}).map(drop)
}

fn place(options: &Options, folder: &Folder) -> Place {
    Place::in_data_dir(&folder.arduino(), &options.chip, &options.core)
}

fn put_back(place: &Place, report: Report<'_>) -> Result<Reverted> {
    let revert = RevertOptions {
        dry_run: false,
        discard: true,
        caches: &Vec::new,
        running: &|| None,
    };
    swap::revert(place, &revert, &RealDisk, report)
}
