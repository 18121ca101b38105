//! Takes the menu out again, and the libraries that it offered.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use fs_err as fs;
use serde::Serialize;

use super::platform::Platform;
use super::state::tool_folders;
use super::{Offer, links};
use crate::arduino::cores;
use crate::names::{Chip, CoreVersion};
use crate::progress::{Event, Report};
use crate::swap::content::{self, Content};
use crate::swap::disk::Disk;
use crate::swap::install::{InstallOptions, Outcome};
use crate::swap::journal::{Journal, Run};
use crate::swap::listing::Depth;
use crate::swap::place::{LOCK, OWN, Place, at};
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
    let folders = tool_folders(data, chip)?;
    let told = folders.links.iter().map(|link| links::told(link));
    reverted.left.extend(told);
    for suffix in folders.suffixes {
        let offer = Offer {
            chip: chip.clone(),
            suffix,
            core: core.clone(),
        };
        let place = offer.place(data);
        if let Some(link) = links::in_place_of(&place) {
            reverted.left.push(links::told(&link));
            continue;
        }
        if options.dry_run {
            let content = content::look(&place.active(), place.records(), Depth::Quick)?;
            reverted
                .removed
                .extend(content.is_patched().then(|| place.active()));
            continue;
        }
        take_tree(&platform, &place, options, disk, report, &mut reverted)?;
        if let Err(error) = remove_if_bare(&place.tools, disk) {
            tracing::info!("{} is left: {error}", place.tools.display());
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
    platform: &Platform<'_>,
    place: &Place,
    options: &InstallOptions<'_>,
    disk: &dyn Disk,
    report: Report<'_>,
    reverted: &mut MenuReverted,
) -> Result<()> {
    let look = || content::look(&place.active(), place.records(), Depth::Quick);
    // A folder without `.xip` was never this tool's.
    if !at(&place.tools, OWN).exists() && !look()?.is_patched() {
        return Ok(());
    }
    let (yard, recovered) = Yard::open(&place.tools, disk, report)?;
    reverted.recovered.extend(recovered);
    // An install that was waited for has written a menu since.
    take_menu(platform, &place.chip, options, disk, reverted)?;
    let found = look()?;
    if found.is_patched() {
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
            ..Journal::new(Run::Revert, &place.core)
        };
        yard.carry_out(&journal)?;
        reverted.removed.push(place.active());
    } else if found != Content::Missing {
        let left = format!("{}: {}", place.active().display(), found.summary());
        reverted.left.push(left);
        return Ok(());
    }
    remove_records(place, disk)
}

/// Removes the records of a tree that is gone.
fn remove_records(place: &Place, disk: &dyn Disk) -> Result<()> {
    let of_core = format!("{}.", place.core);
    for entry in fs::read_dir(at(&place.tools, OWN))? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(&of_core) {
            disk.remove_file(&entry.path())?;
        }
    }
    Ok(())
}

/// Removes the tool folder where nothing is left in it but a lock that nobody holds.
fn remove_if_bare(tools: &Path, disk: &dyn Disk) -> io::Result<()> {
    let own = at(tools, OWN);
    let lock = own.join(LOCK);
    // A run that died at its very beginning.
    if fs::read_dir(tools)?.next().is_none() {
        return disk.remove_dir(tools);
    }
    if only(tools, OWN)? && only(&own, LOCK)? {
        let held = fs::File::open(&lock)?.into_file();
        if held.try_lock().is_ok() {
            disk.remove_file(&lock)?;
            drop(held);
            disk.remove_dir(&own)?;
            disk.remove_dir(tools)?;
        }
    }
    Ok(())
}

/// Whether `name` and nothing else is in the folder.
fn only(folder: &Path, name: &str) -> io::Result<bool> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        names.push(entry?.file_name());
    }
    Ok(names.len() == 1 && names[0] == name)
}
