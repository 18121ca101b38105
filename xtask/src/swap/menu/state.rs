//! What of a menu stands in an installation. Nothing is changed here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Result;
use fs_err as fs;
use serde::Serialize;

use super::platform::Platform;
use super::{Offer, links, tool_folder};
use crate::arduino::cores;
use crate::names::{Chip, CoreVersion};
use crate::swap::content::Content;
use crate::swap::listing::Depth;
use crate::swap::place::at;
use crate::swap::state::{self, Unfinished};

/// Patched libraries that a menu offers, or offered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MenuState {
    /// Which.
    pub offer: Offer,
    /// What the tool folder holds for that core version.
    pub content: Content,
    /// The core's boards.local.txt offers it.
    pub in_menu: bool,
    /// That version of the core is installed.
    pub core_installed: bool,
    /// A run on that tool folder that was not finished.
    pub unfinished: Option<Unfinished>,
}

/// What there is of menus for one chip.
#[derive(Debug, Default)]
pub struct Menus {
    /// Sorted by suffix and core version.
    pub found: Vec<MenuState>,
    /// What was passed over, a sentence each.
    pub passed_over: Vec<String>,
}

/// Everything of menus for `chip` in the data folder, sorted.
///
/// # Errors
/// What cannot be read; a block in boards.local.txt that was changed by hand.
pub fn menus(data: &Path, chip: &Chip, depth: Depth) -> Result<Menus> {
    // By suffix and core version.
    let mut found: BTreeMap<(String, String), Content> = BTreeMap::new();
    let mut in_menu = BTreeSet::new();
    let mut unfinished = BTreeMap::new();
    let folders = tool_folders(data, chip)?;
    let mut passed_over: Vec<String> = folders.links.iter().map(|link| links::told(link)).collect();
    for suffix in folders.suffixes {
        let state = state::state(&tool_folder(data, chip, &suffix), chip, depth)?;
        for core in state.cores {
            let folder = at(&state.tools, &core.core.to_string());
            if links::is_link(&folder) {
                passed_over.push(links::told(&folder));
                continue;
            }
            found.insert((suffix.clone(), core.core.to_string()), core.active);
        }
        unfinished.insert(suffix, state.unfinished);
    }
    let installed = cores::installed(data)?;
    for core in &installed {
        let platform = Platform {
            folder: &core.platform,
        };
        for (of, suffix) in platform.offers()? {
            if of == chip.as_str() {
                let key = (suffix, core.version.to_string());
                found.entry(key.clone()).or_insert(Content::Missing);
                in_menu.insert(key);
            }
        }
    }
    let found = found
        .into_iter()
        .map(|(key, content)| {
            let core: CoreVersion = key.1.parse().map_err(anyhow::Error::msg)?;
            Ok(MenuState {
                in_menu: in_menu.contains(&key),
                core_installed: installed.iter().any(|found| found.version == core),
                content,
                unfinished: unfinished.get(&key.0).cloned().flatten(),
                offer: Offer {
                    chip: chip.clone(),
                    suffix: key.0,
                    core,
                },
            })
        })
        .collect::<Result<_>>()?;
    Ok(Menus { found, passed_over })
}

/// What is called `<chip>-<suffix>-libs`, each sorted.
#[derive(Debug, Default)]
pub(super) struct ToolFolders {
    /// Suffixes of the folders.
    pub(super) suffixes: Vec<String>,
    /// Links of such a name.
    pub(super) links: Vec<PathBuf>,
}

/// Looks for the tool folders of `chip` that a menu may lead to.
pub(super) fn tool_folders(data: &Path, chip: &Chip) -> Result<ToolFolders> {
    let tools = cores::tools_dir(data);
    if !tools.is_dir() {
        return Ok(ToolFolders::default());
    }
    let mut found = ToolFolders::default();
    for entry in fs::read_dir(&tools)? {
        let entry = entry?;
        let name = entry.file_name();
        let suffix = name
            .to_str()
            .filter(|name| *name != cores::SHARED_TOOL)
            .and_then(|name| name.strip_prefix(&format!("{chip}-")))
            .and_then(|rest| rest.strip_suffix("-libs"));
        let Some(suffix) = suffix else {
            continue;
        };
        let kind = entry.file_type()?;
        if kind.is_symlink() {
            found.links.push(entry.path());
        } else if kind.is_dir() {
            found.suffixes.push(suffix.to_owned());
        }
    }
    found.suffixes.sort();
    found.links.sort();
    Ok(found)
}
