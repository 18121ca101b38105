//! What stands in a tool folder. Nothing is changed here.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;
use fs_err as fs;
use serde::Serialize;

use super::content::{self, Content};
use super::journal::{Journal, Remedy, Run};
use super::listing::Depth;
use super::place::{self, Place, STOCK};
use super::plan::{Plan, Standing};
use super::record::Records;
use super::yard::there;
use crate::names::{Chip, CoreVersion};

/// What a tool folder holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct State {
    /// The tool folder.
    pub tools: PathBuf,
    /// The chip.
    pub chip: Chip,
    /// Every core version of which a folder stands there, the oldest first.
    pub cores: Vec<CoreState>,
    /// A run that was not finished.
    pub unfinished: Option<Unfinished>,
}

/// The folders of one core version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CoreState {
    /// The version.
    pub core: CoreVersion,
    /// What `<core>` holds, the folder that sketches are built with.
    pub active: Content,
    /// What `<core>.stock` holds.
    pub stock: Content,
    /// The other folders `<core>.<suffix>`, sorted by name.
    pub asides: Vec<Aside>,
}

/// A folder that was set aside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Aside {
    /// What follows the core version and its dot.
    pub suffix: String,
    /// What it holds.
    pub content: Content,
}

/// A run that was not finished, and what the next install or revert does about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unfinished {
    /// Which command it was.
    pub run: Run,
    /// For which core version.
    pub core: CoreVersion,
    /// When it began, in UTC.
    pub begun: String,
    /// How many of its renames were done; `None` where the folders do not tell.
    pub done: Option<usize>,
    /// How many it wanted.
    pub of: usize,
    /// What will be done.
    pub remedy: Remedy,
}

impl Unfinished {
    /// What will be done about it, in a line.
    pub fn line(&self) -> String {
        let verb = match self.remedy {
            Remedy::Finish => "finish",
            Remedy::Undo => "undo",
            Remedy::Forget => "forget, since folders were moved since,",
        };
        let run = match self.run {
            Run::Install => "install",
            Run::Revert => "install --revert",
        };
        format!(
            "{verb} an {run} of core {} that began {} and was cut off",
            self.core, self.begun
        )
    }
}

/// Looks at every core version in the tool folder `tools` of `chip`; a folder that does not exist holds none.
///
/// # Errors
/// What cannot be read; a record or journal of ours that is not as it was written.
pub fn state(tools: &Path, chip: &Chip, depth: Depth) -> Result<State> {
    let mut cores: BTreeMap<semver::Version, CoreState> = BTreeMap::new();
    for (core, suffix) in names(tools)? {
        let entry = cores
            .entry(core.semver().clone())
            .or_insert_with(|| CoreState {
                core: core.clone(),
                active: Content::Missing,
                stock: Content::Missing,
                asides: Vec::new(),
            });
        let place = Place {
            tools: tools.to_owned(),
            chip: chip.clone(),
            core,
        };
        let look = |folder: PathBuf| content::look(&folder, place.records(), depth);
        match suffix.as_deref() {
            None => entry.active = look(place.active())?,
            Some(STOCK) => entry.stock = look(place.stock())?,
            Some(suffix) => entry.asides.push(Aside {
                suffix: suffix.to_owned(),
                content: look(place.at(&place.aside(suffix)))?,
            }),
        }
    }
    Ok(State {
        tools: tools.to_owned(),
        chip: chip.clone(),
        cores: cores.into_values().collect(),
        unfinished: unfinished(tools)?,
    })
}

/// The run that was not finished, if there is one. A run that is at work at this moment looks the same.
pub(super) fn unfinished(tools: &Path) -> Result<Option<Unfinished>> {
    let Some(journal) = Journal::read(tools)? else {
        return Ok(None);
    };
    let done = journal.done(|name| there(tools, name));
    Ok(Some(Unfinished {
        remedy: journal.remedy(done),
        done,
        of: journal.moves.len(),
        run: journal.run,
        core: journal.core,
        begun: journal.begun,
    }))
}

/// The folders of core versions: version and suffix, sorted by name.
pub(super) fn names(tools: &Path) -> Result<Vec<(CoreVersion, Option<String>)>> {
    if !tools.is_dir() {
        return Ok(Vec::new());
    }
    let mut names = Vec::new();
    for entry in fs::read_dir(tools)? {
        names.extend(entry?.file_name().into_string().ok());
    }
    names.sort();
    Ok(names
        .iter()
        .filter_map(|name| place::parse(name, &names))
        .collect())
}

/// Looks at one core version, as a plan needs it.
pub(super) fn with_standing(
    place: &Place,
    decide: impl FnOnce(&Standing<'_>) -> Result<Plan>,
) -> Result<Plan> {
    let look = |folder: PathBuf| content::look(&folder, place.records(), Depth::Quick);
    let asides = names(&place.tools)?
        .into_iter()
        .filter(|(core, _)| *core == place.core)
        .filter_map(|(_, suffix)| suffix)
        .filter(|suffix| suffix != STOCK)
        .collect();
    let (active, stock) = rayon::join(|| look(place.active()), || look(place.stock()));
    decide(&Standing {
        place,
        active: active?,
        stock: stock?,
        asides,
        look: &|suffix| look(place.at(&place.aside(suffix))),
        taken: &|name| there(&place.tools, name),
    })
}

impl Place {
    pub(super) fn records(&self) -> Records<'_> {
        Records {
            tools: &self.tools,
            core: &self.core,
        }
    }
}
