//! `cargo xtask install`.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use serde::Serialize;

use super::{DEFAULT_CHIP, DEFAULT_CORE, again, install_menu};
use crate::arduino::cores::Core;
use crate::arduino::{DataDir, Search, Surroundings, caches, cores, ide};
use crate::exit::Refusal;
use crate::names::{Chip, CoreVersion};
use crate::package;
use crate::progress::{Event, Report};
use crate::swap::menu::{self, MenuReverted};
use crate::swap::{
    self, Caches, InstallOptions, Installed, Move, Outcome, Place, RealDisk, RevertOptions,
    Reverted, Unfinished,
};
use crate::ui;

/// Put a package's libraries in the place of the core's own, or put these back.
///
/// The folder of the libraries is replaced as a whole: the new ones are unpacked beside it and every file is verified, the
/// stock ones are kept as `<core>.stock`, and two renames swap them. What the Arduino programs compiled against the libraries
/// before is removed from their caches. A run that is cut off at any moment loses nothing: the next one finishes or undoes it.
///
/// With --as menu nothing is replaced: the libraries get a folder of their own, and every board of the chip a menu in the IDE's
/// Tools that chooses between them and the stock ones; stock stays the default. arduino-cli takes the choice as a board option.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cargo xtask install
  cargo xtask install --as menu
  cargo xtask install --zip ~/Downloads/esp32s3-libs-3.3.12-xip-ecc.zip --dry-run
  cargo xtask install --revert")]
pub struct Install {
    /// The package [default: the newest in target/dist for this core and chip]
    #[arg(long, value_name = "FILE", conflicts_with = "revert")]
    zip: Option<PathBuf>,
    /// How: in the place of the core's own, or beside them and in a menu [default: folder; with --revert: both]
    #[arg(long = "as", value_name = "WAY", value_enum)]
    way: Option<Way>,
    /// Put the stock libraries back; the patched ones are kept aside as `<core>.<suffix>`
    #[arg(long)]
    revert: bool,
    /// With --revert: remove the patched libraries, also those that were set aside before
    #[arg(long, requires = "revert")]
    discard: bool,
    /// Version of the installed Arduino core for ESP32 [default: that of --zip, else as for build-libs]
    #[arg(long, value_name = "VERSION")]
    core: Option<CoreVersion>,
    /// The chip, as Espressif writes it [default: that of --zip, else as for build-libs]
    #[arg(long, value_name = "CHIP")]
    chip: Option<Chip>,
    /// Data folder of the Arduino programs [default: as arduino-cli and the IDE find it]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Say what would be done: every rename, every cache entry that would be removed
    #[arg(long)]
    dry_run: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// The two ways to install.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Way {
    /// The folder of the core's own libraries is replaced.
    Folder,
    /// The libraries get a folder of their own, and a menu offers them.
    Menu,
}

/// The result, with the data folder and why it was taken.
#[derive(Serialize)]
struct Shown<'a, T> {
    data_dir: &'a DataDir,
    #[serde(flatten)]
    result: &'a T,
}

/// A revert of both ways.
#[derive(Serialize)]
struct Both {
    #[serde(flatten)]
    folder: Reverted,
    menu: MenuReverted,
}

/// Where to swap, and what else the programs there keep.
struct Found {
    data_dir: DataDir,
    place: Place,
    search: Search,
}

impl Install {
    /// Carries the command out.
    ///
    /// # Errors
    /// As [`swap::install`] and [`swap::revert`]; no installation, several of them, or one whose layout is not swapped.
    pub fn run(self) -> Result<()> {
        let bar = ui::Bar::new(self.json);
        let report = |event: Event<'_>| bar.event(event);
        let (zip, core, chip) = self.decide()?;
        let found = Found::look(self.data_dir.as_deref(), core, chip, &report)?;
        let text = match (self.revert, self.way) {
            (false, Some(Way::Menu)) => self.install_menu(&found, zip, &report),
            (false, _) => self.install(&found, zip, &report),
            (true, Some(Way::Menu)) => self.revert_menu(&found, &report),
            (true, Some(Way::Folder)) => self.revert(&found, &report),
            (true, None) => self.revert_both(&found, &report),
        };
        bar.finish();
        ui::println(&text?)
    }

    fn install(&self, found: &Found, zip: Option<PathBuf>, report: Report<'_>) -> Result<String> {
        found.core()?;
        let zip = zip.map_or_else(|| default_zip(&found.place), Ok)?;
        let options = InstallOptions {
            dry_run: self.dry_run,
            caches: &|| found.caches(report),
            running: &running,
        };
        let done = swap::install(&found.place, &zip, &options, &RealDisk, report)?;
        self.text(found, &done, shown_install(&done, &self.again(found)))
    }

    fn install_menu(
        &self,
        found: &Found,
        zip: Option<PathBuf>,
        report: Report<'_>,
    ) -> Result<String> {
        let core = found.core()?;
        let zip = zip.map_or_else(|| default_zip(&found.place), Ok)?;
        let options = InstallOptions {
            dry_run: self.dry_run,
            caches: &|| found.caches(report),
            running: &running,
        };
        let (data, chip) = (&found.data_dir.path, &found.place.chip);
        let done = menu::install(data, &core, chip, &zip, &options, &RealDisk, report)?;
        self.text(
            found,
            &done,
            install_menu::shown_install(&done, &self.again(found)),
        )
    }

    fn revert(&self, found: &Found, report: Report<'_>) -> Result<String> {
        let done = self.folder_reverted(found, report)?;
        self.text(found, &done, shown_revert(&done, &self.again(found)))
    }

    fn revert_menu(&self, found: &Found, report: Report<'_>) -> Result<String> {
        let done = self.menu_reverted(found, report)?;
        self.text(found, &done, install_menu::shown_revert(&done))
    }

    /// Whatever is there, a menu or swapped libraries, goes.
    fn revert_both(&self, found: &Found, report: Report<'_>) -> Result<String> {
        let menu = self.menu_reverted(found, report)?;
        if menu.outcome != Outcome::Nothing && found.core().is_err() {
            return self.text(found, &menu, install_menu::shown_revert(&menu));
        }
        let folder = self.folder_reverted(found, report)?;
        let text = match (menu.outcome, folder.outcome) {
            (Outcome::Nothing, _) => shown_revert(&folder, &self.again(found)),
            (_, Outcome::Nothing) => install_menu::shown_revert(&menu),
            _ => format!(
                "{}\n\n{}",
                install_menu::shown_revert(&menu),
                shown_revert(&folder, &self.again(found))
            ),
        };
        self.text(found, &Both { folder, menu }, text)
    }

    fn folder_reverted(&self, found: &Found, report: Report<'_>) -> Result<Reverted> {
        found.core()?;
        let options = RevertOptions {
            dry_run: self.dry_run,
            discard: self.discard,
            caches: &|| found.caches(report),
            running: &running,
        };
        swap::revert(&found.place, &options, &RealDisk, report)
    }

    fn menu_reverted(&self, found: &Found, report: Report<'_>) -> Result<MenuReverted> {
        let options = InstallOptions {
            dry_run: self.dry_run,
            caches: &Vec::new,
            running: &running,
        };
        let Place { core, chip, .. } = &found.place;
        let data = &found.data_dir.path;
        menu::revert(data, chip, core, &options, &RealDisk, report)
    }

    /// The package, where it is named, and the core and chip that it or the flags name.
    fn decide(&self) -> Result<(Option<PathBuf>, CoreVersion, Chip)> {
        let mut core = self.core.clone();
        let mut chip = self.chip.clone();
        if let Some(zip) = self.zip.as_ref().filter(|zip| zip.is_file()) {
            // A zip that cannot be read is refused later, with more to say.
            if let Ok(Some(manifest)) = package::manifest_of(zip) {
                core = core.or(Some(manifest.core));
                chip = chip.or(Some(manifest.chip));
            }
        }
        Ok((
            self.zip.clone(),
            match core {
                Some(core) => core,
                None => DEFAULT_CORE.parse().map_err(anyhow::Error::msg)?,
            },
            match chip {
                Some(chip) => chip,
                None => DEFAULT_CHIP.parse().map_err(anyhow::Error::msg)?,
            },
        ))
    }

    /// The command that leads to the same place again.
    fn again(&self, found: &Found) -> String {
        let Place { core, chip, .. } = &found.place;
        again::install(self.data_dir.as_deref(), core, chip)
    }

    /// The result as it is printed.
    fn text<T: Serialize>(&self, found: &Found, result: &T, shown: String) -> Result<String> {
        let data_dir = &found.data_dir;
        if self.json {
            return Ok(serde_json::to_string_pretty(&Shown { data_dir, result })?);
        }
        Ok(format!(
            "Arduino data folder: {} ({})\n\n{shown}",
            data_dir.path.display(),
            data_dir.found_by
        ))
    }
}

impl Found {
    fn look(
        explicit: Option<&Path>,
        core: CoreVersion,
        chip: Chip,
        report: Report<'_>,
    ) -> Result<Self> {
        let surroundings = Surroundings::here();
        let search = Search::run(explicit, &surroundings, report)?;
        let data_dir = search.one(|name| name == core.to_string(), &surroundings)?;
        Ok(Self {
            place: Place::in_data_dir(&data_dir.path, &chip, &core),
            data_dir,
            search,
        })
    }

    /// The core, where its layout is one that libraries can be put into.
    fn core(&self) -> Result<Core> {
        let core = cores::find(&self.data_dir.path, &self.place.core)?;
        core.check_swappable(&self.place.chip)?;
        Ok(core)
    }

    /// What the programs compiled with this core.
    fn caches(&self, report: Report<'_>) -> Vec<PathBuf> {
        let surroundings = Surroundings::here();
        let places = caches::places(&self.data_dir.path, &self.search.configs, &surroundings);
        let found = caches::entries(&places);
        for passed_over in &found.passed_over {
            report(Event::Warning(passed_over));
        }
        found.entries.into_iter().map(|entry| entry.path).collect()
    }
}

fn running() -> Option<String> {
    let found = ide::running().into_iter().next()?;
    Some(format!("{} (process {})", found.what.name(), found.pid))
}

fn default_zip(place: &Place) -> Result<PathBuf> {
    let out = super::output_folder();
    if let Some(zip) = package::newest(&out, &place.chip, &place.core)? {
        return Ok(zip);
    }
    bail!(Refusal::Usage(format!(
        "there is no package for core {} and {} in {}; build one with cargo xtask build-libs --quick, or name one with --zip",
        place.core,
        place.chip,
        out.display()
    )))
}

fn shown_install(done: &Installed, again: &str) -> String {
    let place = &done.place;
    let what = match &done.patch_set {
        Some(set) => format!("patch set {}", set.name),
        None => "unverified: no manifest".to_owned(),
    };
    let zip = done.zip.display();
    let size = format!("{} files, {}", done.files, ui::bytes(done.bytes));
    let mut lines = Vec::new();
    match done.outcome {
        Outcome::Nothing => {
            return format!(
                "{zip} ({what}) is installed already, every file as it should be; nothing was changed"
            );
        }
        Outcome::Planned => {
            lines.extend(unfinished(done.unfinished.as_ref()));
            lines.push(format!("would unpack  {zip} ({what}): {size}"));
        }
        Outcome::Done => lines.push(format!(
            "installed {zip} ({what}) for core {} and {}: {size}",
            place.core, place.chip
        )),
    }
    lines.extend(steps(
        done.outcome,
        &place.tools,
        &done.moves,
        &done.removed,
        &done.caches,
    ));
    if done.outcome == Outcome::Done {
        lines.push(String::new());
        lines.push(
            "Next: restart the Arduino IDE if it is open, choose a board with octal PSRAM (Tools > PSRAM > OPI PSRAM), and compile."
                .to_owned(),
        );
        lines.push(format!("Back to the stock libraries: {again} --revert"));
    }
    lines.join("\n")
}

fn shown_revert(done: &Reverted, again: &str) -> String {
    let place = &done.place;
    let mut lines = Vec::new();
    let back = done
        .moves
        .iter()
        .any(|step| step.to == place.core.to_string());
    match done.outcome {
        Outcome::Nothing => {
            return format!(
                "the stock libraries of core {} are in place; there is nothing to revert",
                place.core
            );
        }
        Outcome::Planned => lines.extend(unfinished(done.unfinished.as_ref())),
        Outcome::Done if back => lines.push(format!(
            "the stock libraries of core {} for {} are back",
            place.core, place.chip
        )),
        Outcome::Done => {
            lines.push("the patched libraries that were kept aside are removed".to_owned())
        }
    }
    lines.extend(steps(
        done.outcome,
        &place.tools,
        &done.moves,
        &done.removed,
        &done.caches,
    ));
    if done.outcome == Outcome::Done && back {
        lines.push(String::new());
        if done.recorded {
            lines.push(
                "They have names and sizes as recorded; cargo xtask status --verify reads every file."
                    .to_owned(),
            );
        }
        lines.push("Next: restart the Arduino IDE if it is open, and compile again.".to_owned());
        if let Some(aside) = &done.aside {
            lines.push(format!(
                "The patched libraries are kept in {}; {again} --revert --discard removes them.",
                aside.display()
            ));
        }
    }
    lines.join("\n")
}

fn unfinished(run: Option<&Unfinished>) -> Option<String> {
    let run = run?;
    Some(format!("would first   {}", run.line()))
}

/// Renames, removals and cache entries, a line each.
fn steps(
    outcome: Outcome,
    tools: &Path,
    moves: &[Move],
    removed: &[String],
    caches: &Caches,
) -> Vec<String> {
    let [rename, remove] = match outcome {
        Outcome::Planned => ["would rename ", "would remove "],
        _ => ["renamed", "removed"],
    };
    let width = moves.iter().map(|step| step.from.len()).max().unwrap_or(0);
    let mut lines = vec![format!("in {}:", tools.display())];
    lines.extend(
        moves
            .iter()
            .map(|step| format!("  {rename} {:<width$} -> {}", step.from, step.to)),
    );
    lines.extend(removed.iter().map(|name| format!("  {remove} {name}")));
    if lines.len() == 1 {
        lines.clear();
    }
    if !caches.removed.is_empty() {
        lines.push("compiled against other libraries:".to_owned());
        let entries = caches.removed.iter();
        lines.extend(entries.map(|entry| format!("  {remove} {}", entry.display())));
    }
    lines
}
