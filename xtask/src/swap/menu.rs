//! The other way to install: nothing is replaced. The libraries get a tool folder of their own, and every board of the chip a
//! menu that chooses between them and the stock ones.
//!
//! The choice is part of the FQBN, hence of the name under which a compiled core is kept. The libraries come first, and are
//! verified; the menu follows by one replacement of boards.local.txt. A revert goes the other way round. So at no time does a
//! menu offer what is not there, and a run that died is finished by running it again.

mod block;
mod boards;
mod links;
mod platform;
mod properties;
mod revert;
mod state;

pub use block::{MENU, STOCK};
pub use revert::{MenuReverted, revert};
pub use state::{MenuState, Menus, menus};

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::Serialize;

use super::archive::Archive;
use super::content::{self, Content};
use super::disk::Disk;
use super::install::{InstallOptions, Job, Outcome};
use super::journal::{Journal, Run};
use super::listing::Depth;
use super::place::{Place, STAGING, at};
use super::plan::Plan;
use super::preflight;
use super::yard::{Caches, Recovered, Yard, there};
use crate::arduino::Os;
use crate::arduino::cores::{self, Core};
use crate::exit::Refusal;
use crate::libs::manifest::PatchSetRecord;
use crate::names::{Chip, CoreVersion};
use crate::progress::{Event, Report};
use boards::Boards;
use platform::Platform;

/// Patched libraries that a menu offers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Offer {
    /// The chip.
    pub chip: Chip,
    /// The suffix of the package, which is the option's id.
    pub suffix: String,
    /// The core version.
    pub core: CoreVersion,
}

impl Offer {
    /// Where its libraries stand below the data folder.
    pub fn place(&self, data: &Path) -> Place {
        Place {
            tools: tool_folder(data, &self.chip, &self.suffix),
            chip: self.chip.clone(),
            core: self.core.clone(),
        }
    }
}

/// The tool folder that `build.chip_variant=<chip>-<suffix>` leads to.
fn tool_folder(data: &Path, chip: &Chip, suffix: &str) -> PathBuf {
    cores::tools_dir(data).join(format!("{chip}-{suffix}-libs"))
}

/// What an install into the menu did, or would do.
#[derive(Debug, Clone, Serialize)]
pub struct MenuInstalled {
    /// What the menu offers now.
    pub offer: Offer,
    /// Where its libraries are.
    pub libraries: PathBuf,
    /// The package.
    pub zip: PathBuf,
    /// What was done.
    pub outcome: Outcome,
    /// The patch set and its lines; `None` for a package without a manifest.
    pub patch_set: Option<PatchSetRecord>,
    /// Number of files in the package.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
    /// The file that has the menu.
    pub file: PathBuf,
    /// Number of boards that have it.
    pub boards: usize,
    /// Boards of the chip that do not get it, each with why.
    pub left_out: Vec<String>,
    /// What a sketch says to be built with them.
    pub fqbn: String,
    /// Libraries of core versions that are not installed any more, which were removed.
    pub removed: Vec<PathBuf>,
    /// Patched libraries that stood in the very place, and were removed for these: what they were.
    pub replaced: Option<String>,
    /// What became of the core caches; only libraries that took the place of others make entries stale.
    pub caches: Caches,
    /// What became of an earlier run that was not finished.
    pub recovered: Option<Recovered>,
}

/// Installs the package `zip` into the menu of `core` in the data folder.
///
/// # Errors
/// As [`super::install()`]; and [`Refusal::Check`] where the core's platform.txt does not heed the menu, where the file for it is
/// no plain one or was changed by hand, where libraries of another installed core version would be taken in place of these, or
/// where a link, stock libraries or anything else that is not patched stands in the place of these.
pub fn install(
    data: &Path,
    core: &Core,
    chip: &Chip,
    zip: &Path,
    options: &InstallOptions<'_>,
    disk: &dyn Disk,
    report: Report<'_>,
) -> Result<MenuInstalled> {
    core.check_swappable(chip)?;
    let platform = Platform {
        folder: &core.platform,
    };
    platform.check(Os::HERE)?;
    let boards = platform.boards(chip)?;
    if boards.ids.is_empty() {
        bail!(Refusal::Check(format!(
            "{} has no board that takes the libraries of {chip}",
            core.platform.join("boards.txt").display()
        )));
    }
    report(Event::Step("look at the package"));
    let archive = Archive::open(zip, &Place::in_data_dir(data, chip, &core.version))?;
    let offer = Offer {
        chip: chip.clone(),
        suffix: option_id(chip, &archive.suffix)?,
        core: core.version.clone(),
    };
    let place = offer.place(data);
    // The menu's file will be new, and arduino-cli compiles a core anew where a file of it is; not so where only the libraries
    // are replaced.
    let replaces = place.active().exists();
    let caches = || match replaces {
        true => (options.caches)(),
        false => Vec::new(),
    };
    let job = Job {
        place: &place,
        zip,
        archive: &archive,
        options: &InstallOptions {
            caches: &caches,
            ..*options
        },
        disk,
        report,
    };
    job.tell_doubts();
    let menu = Menu {
        data,
        platform,
        boards,
        offer,
        job,
    };
    menu.install()
}

/// The suffix as an option's id in boards.txt and in an FQBN.
fn option_id(chip: &Chip, suffix: &str) -> Result<String> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let taken = format!("{chip}-{suffix}-libs") == cores::SHARED_TOOL;
    if !taken && suffix.bytes().all(fits) {
        return Ok(suffix.to_owned());
    }
    bail!(Refusal::Check(format!(
        "the patch set's suffix `{suffix}` cannot be a menu's option (letters, digits, - and _ can, `arduino` cannot); install \
         without --as menu"
    )))
}

/// What stands in the tool folder and has to go, and the renames for it.
struct Planned {
    plan: Plan,
    /// Core versions that are not installed any more.
    stale: Vec<CoreVersion>,
    /// What stands in the very place.
    replaces: Option<String>,
}

/// One install on its way.
struct Menu<'a> {
    data: &'a Path,
    platform: Platform<'a>,
    boards: Boards,
    offer: Offer,
    job: Job<'a>,
}

impl Menu<'_> {
    fn install(&self) -> Result<MenuInstalled> {
        let job = &self.job;
        // What is refused leaves no trace.
        let mut planned = self.plan()?;
        self.check_space()?;
        if job.options.dry_run {
            let there = self.is_there()?;
            if there {
                planned.replaces = None;
            }
            let nothing = there && planned.stale.is_empty() && self.file()?.is_none();
            let outcome = if nothing {
                Outcome::Nothing
            } else {
                Outcome::Planned
            };
            return Ok(self.result(outcome, planned, Caches::default(), None));
        }
        if !job.place.tools.exists() {
            let made = job.disk.create_dir(&job.place.tools);
            made.context("making the folder for the libraries")?;
        }
        let (yard, recovered) = Yard::open(&job.place.tools, job.disk, job.report)?;
        if let Some(recovered) = &recovered {
            (job.report)(Event::Note(&recovered.line()));
        }
        self.warn_if_stock_is_swapped()?;
        let there = self.is_there()?;
        // To put an unfinished run in order may have moved folders.
        let mut planned = self.plan()?;
        let mut caches = Caches::default();
        if !there {
            job.warn_if_running();
            let put = job.put(&yard, &planned.plan);
            caches = put.map_err(|error| job.explain_full(error))?;
        } else {
            planned.replaces = None;
            if !planned.stale.is_empty() {
                self.remove(&yard, &planned.stale)?;
            }
        }
        let nothing = !self.write()? && there && planned.stale.is_empty();
        let outcome = if nothing {
            Outcome::Nothing
        } else {
            Outcome::Done
        };
        Ok(self.result(outcome, planned, caches, recovered))
    }

    /// Writes the menu; `false` where it stands there already.
    fn write(&self) -> Result<bool> {
        self.platform.clear_leftovers(self.job.disk);
        let Some(file) = self.file()? else {
            return Ok(false);
        };
        (self.job.report)(Event::Step("write the menu"));
        let written = self.job.disk.replace(&self.platform.local_file(), &file);
        written.context(
            "the libraries are in place, the menu is not; nothing of the core was changed. Run the same command again",
        )?;
        Ok(true)
    }

    /// The menu's stock option leads to the core's own folder, whatever stands there.
    fn warn_if_stock_is_swapped(&self) -> Result<()> {
        let Offer { chip, core, .. } = &self.offer;
        let place = Place::in_data_dir(self.data, chip, core);
        let own = content::look(&place.active(), place.records(), Depth::Quick)?;
        if !matches!(own, Content::Stock { .. }) {
            (self.job.report)(Event::Warning(&format!(
                "Stock in the menu leads to {}, and that is {}; cargo xtask install --revert --as folder brings the stock libraries back",
                place.active().display(),
                own.summary()
            )));
        }
        Ok(())
    }

    /// Whether these very libraries stand there already.
    fn is_there(&self) -> Result<bool> {
        self.job.is_installed()
    }

    /// boards.local.txt as it is to be; `None` where it is so already.
    fn file(&self) -> Result<Option<Vec<u8>>> {
        let before = self.platform.local()?;
        let mut offers = self.platform.offers()?;
        let Offer { chip, suffix, .. } = &self.offer;
        offers.insert((chip.to_string(), suffix.clone()));
        let after = self.platform.with(before.as_deref(), &offers)?;
        Ok(after.filter(|after| before.as_ref() != Some(after)))
    }

    /// The renames that put the staged tree in place, and the versions whose libraries go: of several in one tool folder the
    /// programs take the highest, whichever core asks (ARDUINO-FACTS E9). Nothing goes but what is patched.
    fn plan(&self) -> Result<Planned> {
        let place = self.job.place;
        if let Some(link) = links::in_place_of(place) {
            bail!(Refusal::Check(links::told(&link)));
        }
        let mut plan = Plan::default();
        let taken = |name: &str| there(&place.tools, name);
        let replaces = match content::look(&place.active(), place.records(), Depth::Quick)? {
            Content::Missing => None,
            content if content.is_patched() => {
                plan.give_up(place.core.to_string(), &taken);
                Some(content.summary())
            }
            content => bail!(Refusal::Check(format!(
                "{} is left as it is, for it holds no patched libraries ({}), and the menu's would stand there; move it elsewhere, \
                 then install again",
                place.active().display(),
                content.summary()
            ))),
        };
        let mut stale = Vec::new();
        let installed = cores::installed(self.data)?;
        for state in super::state::state(&place.tools, &place.chip, Depth::Quick)?.cores {
            if state.core == place.core || state.active == Content::Missing {
                continue;
            }
            if installed.iter().any(|core| core.version == state.core) {
                bail!(Refusal::Check(format!(
                    "core {} is installed too and has this menu; the programs would take the newer libraries for both. Take that one \
                     out first: cargo xtask install --revert --as menu --core {0}",
                    state.core
                )));
            }
            let other = at(&place.tools, &state.core.to_string());
            if links::is_link(&other) {
                bail!(Refusal::Check(links::told(&other)));
            }
            if !state.active.is_patched() {
                bail!(Refusal::Check(format!(
                    "{} would be taken in place of these libraries, and it is not known ({}); move it elsewhere",
                    other.display(),
                    state.active.summary()
                )));
            }
            plan.give_up(state.core.to_string(), &taken);
            stale.push(state.core);
        }
        plan.rename(STAGING.to_owned(), place.core.to_string());
        Ok(Planned {
            plan,
            stale,
            replaces,
        })
    }

    /// Removes the libraries of core versions that are not installed any more.
    fn remove(&self, yard: &Yard<'_>, versions: &[CoreVersion]) -> Result<()> {
        let place = self.job.place;
        let mut plan = Plan::default();
        for version in versions {
            plan.give_up(version.to_string(), &|name| there(&place.tools, name));
        }
        let journal = Journal {
            moves: plan.moves,
            remove: plan.remove,
            ..Journal::new(Run::Revert, &place.core)
        };
        yard.carry_out(&journal).map(drop)
    }

    /// The tool folder may not be there yet, so the space is asked for where it will be.
    fn check_space(&self) -> Result<()> {
        let job = &self.job;
        preflight::check(job.place, job.archive)?;
        let tools = Place {
            tools: cores::tools_dir(self.data),
            ..job.place.clone()
        };
        preflight::check(&tools, job.archive)
    }

    fn result(
        &self,
        outcome: Outcome,
        planned: Planned,
        caches: Caches,
        recovered: Option<Recovered>,
    ) -> MenuInstalled {
        let job = &self.job;
        let manifest = job.archive.manifest.as_ref();
        MenuInstalled {
            offer: self.offer.clone(),
            libraries: job.place.active(),
            zip: job.zip.to_owned(),
            outcome,
            patch_set: manifest.map(|(manifest, _)| manifest.patch_set.clone()),
            files: job.archive.entries.len(),
            bytes: job.archive.size(),
            file: self.platform.local_file(),
            boards: self.boards.ids.len(),
            left_out: self.boards.left_out.clone(),
            fqbn: self.fqbn(),
            replaced: planned.replaces,
            removed: planned
                .stale
                .iter()
                .map(|version| at(&job.place.tools, &version.to_string()))
                .collect(),
            caches,
            recovered,
        }
    }

    /// An FQBN that chooses these libraries: of the chip's generic board where there is one, with octal PSRAM where it has it.
    fn fqbn(&self) -> String {
        let chip = self.offer.chip.as_str();
        let generic = self.boards.ids.iter().find(|id| *id == chip);
        let board = generic.or(self.boards.ids.first());
        let octal = board.filter(|board| self.boards.octal.contains(board));
        let psram = octal.map_or("", |_| "PSRAM=opi,");
        let board = board.map_or(chip, String::as_str);
        format!("esp32:esp32:{board}:{psram}{MENU}={}", self.offer.suffix)
    }
}

#[cfg(test)]
mod tests;
