//! What an installation holds: cores, libraries, menus, leftovers, kept builds. Nothing is changed here.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::Result;
use fs_err as fs;
use serde::Serialize;

use crate::arduino::caches::{self, Entry, Place as CachePlace};
use crate::arduino::cores::{self, Core};
use crate::arduino::{DataDir, Surroundings};
use crate::names::{CHIPS, Chip, CoreVersion};
use crate::progress::{Event, Report};
use crate::swap::menu::{self, MenuState};
use crate::swap::{self, Content, CoreState, Depth, State};

/// What is asked for.
pub struct Question<'a> {
    /// One core version, or all.
    pub core: Option<&'a CoreVersion>,
    /// One chip, or all.
    pub chip: Option<&'a Chip>,
    /// How closely files are looked at.
    pub depth: Depth,
}

/// One data folder.
#[derive(Debug, Serialize)]
pub struct Status {
    /// The folder, and how it was found.
    pub data_dir: DataDir,
    /// The installed cores, newest first.
    pub cores: Vec<Core>,
    /// The libraries of each chip, with folders that were set aside and runs that were not finished.
    pub tools: Vec<State>,
    /// Libraries that an installed core asks for, and of which no folder stands there.
    pub missing: Vec<Missing>,
    /// Menus, and libraries for them.
    pub menus: Vec<MenuState>,
    /// A core cloned into the sketchbook, which the programs take instead; it is not changed by this tool.
    pub cloned: Option<PathBuf>,
    /// Kept builds of this core.
    pub caches: Vec<Kept>,
    /// What the user should know or do, a sentence each.
    pub notes: Vec<String>,
}

/// Libraries that are not there.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// For which core version.
    pub core: CoreVersion,
    /// For which chip.
    pub chip: Chip,
}

/// A kept build.
#[derive(Debug, Serialize)]
pub struct Kept {
    /// What it is.
    #[serde(flatten)]
    pub entry: Entry,
    /// It is older than the last change of libraries that this tool or the article's commands swapped, so possibly compiled
    /// against others. Times are all that can be known.
    pub may_be_stale: bool,
}

/// Looks at one data folder; `sketchbook` and `places` are those of the programs that use it.
///
/// # Errors
/// What cannot be read; records of this tool, or blocks in boards.local.txt, that are not as it wrote them.
pub fn look(
    data_dir: DataDir,
    question: &Question<'_>,
    sketchbook: Option<&Path>,
    places: &[CachePlace],
    report: Report<'_>,
) -> Result<Status> {
    let data = data_dir.path.clone();
    let mut cores = cores::installed(&data)?;
    cores.retain(|core| question.core.is_none_or(|wanted| *wanted == core.version));
    let (mut tools, mut missing, mut menus) = (Vec::new(), Vec::new(), Vec::new());
    let (mut changed, mut told) = (None, Vec::new());
    for chip in CHIPS.iter().filter_map(|chip| chip.parse::<Chip>().ok()) {
        if question.chip.is_some_and(|wanted| *wanted != chip) {
            continue;
        }
        report(Event::Detail(chip.as_str()));
        for core in cores.iter().filter(|core| core.chips().contains(&chip)) {
            if !core.libraries(&data, &chip).is_some_and(|dir| dir.exists()) {
                missing.push(Missing {
                    core: core.version.clone(),
                    chip: chip.clone(),
                });
            }
        }
        let mut state = swap::state(&swap::tool_folder(&data, &chip), &chip, question.depth)?;
        if state.cores.iter().any(was_swapped) || has_records(&state) {
            changed = changed.max(caches::last_change(&state.tools));
        }
        state
            .cores
            .retain(|found| question.core.is_none_or(|wanted| *wanted == found.core));
        if !state.cores.is_empty() || state.unfinished.is_some() {
            tools.push(state);
        }
        let found = menu::menus(&data, &chip, question.depth)?;
        told.extend(found.passed_over);
        menus.extend(found.found.into_iter().filter(|menu| {
            question
                .core
                .is_none_or(|wanted| *wanted == menu.offer.core)
        }));
    }
    let found = caches::entries(places);
    let mut status = Status {
        data_dir,
        cloned: sketchbook.and_then(cores::cloned),
        caches: found
            .entries
            .into_iter()
            .map(|entry| kept(entry, changed))
            .collect(),
        notes: found.passed_over,
        cores,
        tools,
        missing,
        menus,
    };
    told.extend(notes(&status));
    status.notes.extend(told);
    Ok(status)
}

fn kept(entry: Entry, changed: Option<SystemTime>) -> Kept {
    Kept {
        may_be_stale: changed.is_some_and(|changed| entry.is_older_than(changed)),
        entry,
    }
}

/// Whether anything but untouched stock libraries stands there.
fn was_swapped(core: &CoreState) -> bool {
    core.stock != Content::Missing
        || !core.asides.is_empty()
        || !matches!(core.active, Content::Stock { .. } | Content::Missing)
}

/// Whether this tool was at work in the tool folder.
fn has_records(state: &State) -> bool {
    fs::symlink_metadata(state.tools.join(".xip")).is_ok()
}

impl Status {
    /// Whether files of libraries are damaged, or of two builds.
    pub fn has_damage(&self) -> bool {
        let of_tools = self.tools.iter().flat_map(|state| &state.cores);
        let contents = of_tools.flat_map(|core| [&core.active, &core.stock]);
        let of_menus = self.menus.iter().map(|menu| &menu.content);
        contents
            .chain(of_menus)
            .any(|content| matches!(content, Content::Damaged { .. } | Content::Mixed { .. }))
    }

    /// The installed core of that version.
    pub fn core(&self, version: &CoreVersion) -> Option<&Core> {
        self.cores.iter().find(|core| core.version == *version)
    }
}

fn notes(status: &Status) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(clone) = &status.cloned {
        notes.push(format!(
            "{} is a core of its own, which the Arduino programs take too; this tool does not change it",
            clone.display()
        ));
    }
    for core in &status.cores {
        if core.chips().is_empty() {
            let chip = status.tools.first().map(|state| &state.chip);
            let default = "esp32s3".parse().ok();
            if let Some(chip) = chip.or(default.as_ref())
                && let Err(error) = core.check_swappable(chip)
            {
                notes.push(error.to_string());
            }
        }
    }
    for state in &status.tools {
        if let Some(run) = &state.unfinished {
            notes.push(format!(
                "a run on {} was cut off; the next install or install --revert will {}",
                state.chip,
                run.line()
            ));
        }
        notes.extend(after_upgrade(status, state));
    }
    notes.extend(status.menus.iter().filter_map(|menu| of_menu(status, menu)));
    notes
}

/// Case I2: an upgrade brought a core with its own stock libraries, and took the folder of the patched ones away.
fn after_upgrade(status: &Status, state: &State) -> Option<String> {
    let newest = status.cores.first()?;
    let active = state.cores.iter().find(|core| core.core == newest.version);
    if !active.is_some_and(|core| matches!(core.active, Content::Stock { .. })) {
        return None;
    }
    let left = state
        .cores
        .iter()
        .rev()
        .find(|core| status.core(&core.core).is_none() && was_swapped(core))?;
    Some(format!(
        "core {0} came with its own stock libraries for {1}: the patched ones were for core {2}, which is not installed any more. \
         For the new core: cargo xtask build-libs --quick --core {0}, then cargo xtask install --core {0}. What is left of {2} in {3} \
         can be deleted",
        newest.version,
        state.chip,
        left.core,
        state.tools.display()
    ))
}

fn of_menu(status: &Status, menu: &MenuState) -> Option<String> {
    let (suffix, core) = (&menu.offer.suffix, &menu.offer.core);
    if let Some(run) = &menu.unfinished {
        return Some(format!(
            "an install into the menu was cut off; the next one, or install --revert, will {}",
            run.line()
        ));
    }
    let whole = matches!(menu.content, Content::Patched(_));
    let own = status
        .tools
        .iter()
        .find(|state| state.chip == menu.offer.chip);
    let own = own.and_then(|state| state.cores.iter().find(|found| found.core == *core));
    if let Some(own) = own
        && menu.in_menu
        && whole
        && !matches!(own.active, Content::Stock { .. })
    {
        return Some(format!(
            "Stock in the menu of core {core} leads to the core's own folder, and that is {}; \
             cargo xtask install --revert --as folder --core {core} brings the stock libraries back",
            own.active.summary()
        ));
    }
    let text = match (menu.core_installed, menu.in_menu) {
        (true, true) if whole => return None,
        (true, true) => format!(
            "the menu of core {core} offers {suffix}, and its libraries are not whole: run cargo xtask install --as menu --core {core} \
             again, or take the menu out with --revert"
        ),
        (true, false) if whole => format!(
            "the libraries {suffix} of core {core} are there, and the menu is not: cargo xtask install --as menu --core {core} writes \
             it, cargo xtask install --revert --as menu --core {core} removes them"
        ),
        (false, _) if whole => {
            let newest = status.cores.first().map(|core| &core.version);
            let again = newest.map_or(String::new(), |newest| {
                format!("For core {newest}: cargo xtask install --as menu --core {newest}. ")
            });
            format!(
                "the menu that offered {suffix} went with core {core}, which is not installed any more. {again}To remove its \
                 libraries: cargo xtask install --revert --as menu --core {core}"
            )
        }
        _ => return None,
    };
    Some(text)
}

/// Where the programs that use `data` keep builds, and their sketchbook.
pub fn surroundings_of(
    data: &Path,
    configs: &[crate::arduino::Config],
    surroundings: &Surroundings<'_>,
) -> (Vec<CachePlace>, Option<PathBuf>) {
    (
        caches::places(data, configs, surroundings),
        crate::arduino::sketchbook(configs, surroundings),
    )
}

#[cfg(test)]
mod tests;
