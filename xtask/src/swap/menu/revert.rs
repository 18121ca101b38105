//! Takes the menu out again, and the libraries that it offered.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use fs_err as fs;
use serde::Serialize;

use super::platform::Platform;
use super::state::suffixes;
use super::{Offer, tool_folder};
use crate::arduino::cores;
use crate::names::{Chip, CoreVersion};
use crate::progress::{Event, Report};
use crate::swap::content::{self, Content};
use crate::swap::disk::Disk;
use crate::swap::install::{InstallOptions, Outcome};
use crate::swap::journal::{Journal, Run};
use crate::swap::listing::Depth;
use crate::swap::place::{OWN, Place, at};
use crate::swap::plan::Plan;
use crate::swap::yard::{Recovered, Yard, there};

/// What a revert of the menu did, or would do.
#[derive(Debug, Clone, Serialize)]
pub struct MenuReverted {
    /// What was done.
    pub outcome: Outcome,
    /// The file that is as it was before the menu came; `None` where it held none.
    pub file: Option<PathBuf>,
    /// Whether that file is gone, since it was made for the menu.
    pub file_removed: bool,
    /// Libraries that were removed.
    pub removed: Vec<PathBuf>,
    /// Folders of the right name that hold something else, left as they are.
    pub left: Vec<String>,
    /// What became of earlier runs that were not finished.
    pub recovered: Vec<Recovered>,
}

/// Takes out of the core version `core` in the data folder what `install --as menu` put in for `chip`: first the menu, then its
/// libraries. That version need not be installed any more.
///
/// # Errors
/// [`crate::exit::Refusal::Check`] where the block in boards.local.txt was changed by hand: nothing is touched. What the disk
/// refuses: the next run goes on from there.
pub fn revert(
    data: &Path,
    chip: &Chip,
    core: &CoreVersion,
    options: &InstallOptions<'_>,
    disk: &dyn Disk,
    report: Report<'_>,
) -> Result<MenuReverted> {
    let folder = cores::package_dir(data)
        .join("hardware")
        .join("esp32")
        .join(core.to_string());
    let mut reverted = MenuReverted {
        outcome: Outcome::Nothing,
        file: None,
        file_removed: false,
        removed: Vec::new(),
        left: Vec::new(),
        recovered: Vec::new(),
    };
    let platform = Platform { folder: &folder };
    take_menu(&platform, chip, options, disk, &mut reverted)?;
    if !options.dry_run {
        platform.clear_leftovers(disk);
    }
    for suffix in suffixes(data, chip)? {
        let offer = Offer {
            chip: chip.clone(),
            suffix,
            core: core.clone(),
        };
        take_tree(&offer.place(data), options, disk, report, &mut reverted)?;
        if !options.dry_run {
            remove_if_bare(&tool_folder(data, chip, &offer.suffix), disk);
        }
    }
    if reverted.file.is_some() || !reverted.removed.is_empty() {
        reverted.outcome = match options.dry_run {
            true => Outcome::Planned,
            false => Outcome::Done,
        };
    }
    Ok(reverted)
}

fn take_menu(
    platform: &Platform<'_>,
    chip: &Chip,
    options: &InstallOptions<'_>,
    disk: &dyn Disk,
    reverted: &mut MenuReverted,
) -> Result<()> {
    let mut offers = platform.offers()?;
    let before = offers.len();
    offers.retain(|(of, _)| of != chip.as_str());
    if offers.len() == before {
        return Ok(());
    }
    let path = platform.local_file();
    let content = platform.with(platform.local()?.as_deref(), &offers)?;
    reverted.file = Some(path.clone());
    reverted.file_removed = content.is_none();
    if options.dry_run {
        return Ok(());
    }
    match content {
        Some(content) => disk.replace(&path, &content),
        None => disk
            .remove_file(&path)
            .and_then(|()| disk.sync_dir(platform.folder))
            .map_err(anyhow::Error::from),
    }
    .context("taking the menu out")
}

/// Removes a tree of ours; it can be installed again from its package.
fn take_tree(
    place: &Place,
    options: &InstallOptions<'_>,
    disk: &dyn Disk,
    report: Report<'_>,
    reverted: &mut MenuReverted,
) -> Result<()> {
    let look = || content::look(&place.active(), place.records(), Depth::Quick);
    if options.dry_run {
        if look()?.is_patched() {
            reverted.removed.push(place.active());
        }
        return Ok(());
    }
    // A folder without `.xip` was never this tool's.
    if !at(&place.tools, OWN).exists() && !look()?.is_patched() {
        return Ok(());
    }
    let (yard, recovered) = Yard::open(&place.tools, disk, report)?;
    reverted.recovered.extend(recovered);
    match look()? {
        Content::Missing => return Ok(()),
        found if !found.is_patched() => {
            reverted
                .left
                .push(format!("{}: {}", place.active().display(), found.summary()));
            return Ok(());
        }
        _ => {}
    }
    if let Some(running) = (options.running)() {
        report(Event::Warning(&format!(
            "{running} is running; restart it afterwards"
        )));
    }
    let mut plan = Plan::default();
    plan.give_up(place.core.to_string(), &|name| there(&place.tools, name));
    let journal = Journal {
        moves: plan.moves,
        remove: plan.remove,
        caches: Vec::new(),
        ..Journal::new(Run::Revert, &place.core)
    };
    yard.carry_out(&journal)?;
    reverted.removed.push(place.active());
    Ok(())
}

/// Removes the tool folder where nothing but this tool's own folder is left in it. That another run finds it gone is no harm:
/// it makes it again.
fn remove_if_bare(tools: &Path, disk: &dyn Disk) {
    let names = fs::read_dir(tools).map(|entries| {
        let entries = entries.flatten();
        entries.map(|entry| entry.file_name()).collect::<Vec<_>>()
    });
    let bare = names.is_ok_and(|names| names.iter().all(|name| name == OWN));
    if bare && let Err(error) = disk.remove_tree(tools) {
        tracing::info!("{} is left: {error}", tools.display());
    }
}
