//! The demonstration: a small upstream that is compiled in becomes git repositories and a released core, and the very
//! stages of `build-libs` run on them.

pub mod arduino;
pub mod content;
pub mod difference;
mod folder;
pub mod quick;
pub mod repositories;
pub mod swapped;

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use serde::Serialize;

use crate::build::full;
use crate::config::Mirror;
use crate::engine::{self, Engine};
use crate::libs::manifest::PatchSetRecord;
use crate::names::{Chip, CoreVersion};
use crate::package::Effort;
use crate::patchset;
use crate::pipeline::{self, Outcome, Way};
use crate::progress::{Event, Report};
use crate::release::{self, Pins};
use crate::upstream::{Checkout, Mirrors};
use crate::workdir::WorkDir;
use difference::Difference;
use folder::{Folder, Made};
use quick::Quick;
use swapped::Swapped;

/// What the address of every repository of upstream begins with; the demonstration's own folder stands in for it.
pub const SERVER: &str = "https://github.com/";

/// Why its audits do not ask Kconfig.
const WITHOUT_KCONFIG: Option<&str> = Some("the demonstration does without Python");

/// How the demonstration is to be played.
#[derive(Debug)]
pub struct Options {
    /// Folder for everything that it makes.
    pub dir: PathBuf,
    /// The core version that its release plays.
    pub core: CoreVersion,
    /// The chip; one that the default patch set is for.
    pub chip: Chip,
    /// What runs the builds.
    pub engine: engine::Choice,
    /// The container image; not used on the host.
    pub image: engine::Image,
}

/// What it left, and what it showed.
#[derive(Debug, Serialize)]
pub struct Played {
    /// The folder that stands for [`SERVER`].
    pub git: PathBuf,
    /// The Arduino data folder.
    pub data_dir: PathBuf,
    /// The stock libraries in it.
    pub stock: PathBuf,
    /// Whether repositories and stock libraries of an earlier run were used.
    pub reused: bool,
    /// What the stages gave.
    pub outcome: Outcome,
    /// What differs between the stock and the patched libraries.
    pub difference: Difference,
    /// The same built quickly, on the host; its compiler is this machine's, so an image's libraries cannot be its ground.
    pub quick: Option<Quick>,
    /// The package installed, and the stock libraries put back.
    pub swapped: Swapped,
}

/// Plays it: repositories and a release, unless an earlier run left them; then pins, checkout, patch, build, checks and
/// package, as `build-libs` does them; then `install`, and `install --revert`.
///
/// # Errors
/// [`crate::exit::Refusal::Usage`] for a folder that holds something else. Missing programs. Whatever the stages refuse.
pub fn play(options: &Options, report: Report<'_>) -> Result<Played> {
    needs(options)?;
    let folder = Folder::open(&options.dir)?;
    let made = Made {
        content: content::key(),
        core: options.core.to_string(),
        chip: options.chip.to_string(),
        engine: format!("{:?} {:?}", options.engine, options.image),
    };
    let reused = folder.holds(&made)?;
    if reused {
        report(Event::Note(
            "repositories and stock libraries: as an earlier run left them",
        ));
        swapped::begin(options, &folder)?;
    } else {
        folder.begin()?;
        publish(options, &folder, report)?;
        folder.complete(&made)?;
    }
    let outcome = build(options, &folder, report)?;
    let stock = arduino::stock_folder(&folder.arduino(), &options.core, &options.chip);
    let tree = outcome.tree.as_deref().context("the build gave no tree")?;
    report(Event::Step("compare with stock"));
    let difference = difference::between(&stock, tree)?;
    let quick = match options.engine {
        engine::Choice::Host => Some(quick::build(options, &folder, tree, &|event| {
            quick_event(event, report)
        })?),
        _ => None,
    };
    let package = outcome
        .package
        .as_ref()
        .context("the build gave no package")?;
    let swapped = swapped::play(options, &folder, &package.zip, report)?;
    Ok(Played {
        git: folder.git(),
        data_dir: folder.arduino(),
        difference,
        quick,
        swapped,
        stock,
        reused,
        outcome,
    })
}

/// On the host, the sample is compiled by the host's own programs: better said now than by a build that fails.
fn needs(options: &Options) -> Result<()> {
    if options.engine != engine::Choice::Host {
        return Ok(());
    }
    let missing: Vec<&str> = ["sh", "cc", "ar"]
        .into_iter()
        .filter(|program| which::which(program).is_err())
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    bail!(
        "the demonstration compiles a small upstream with this machine's own programs, and {} not on the PATH; install a C \
         compiler with its binutils (Debian: gcc; macOS: xcode-select --install; Windows: inside WSL or MSYS2), or let a \
         container do it: --engine docker or --engine podman",
        match missing.as_slice() {
            [one] => format!("`{one}` is"),
            several => format!("`{}` are", several.join("`, `")),
        }
    )
}

fn mirrors(folder: &Folder) -> Result<Mirrors> {
    let to = folder.git();
    let to = to
        .to_str()
        .with_context(|| format!("the path {} is not UTF-8", to.display()))?;
    Ok(Mirrors::new(vec![Mirror {
        from: SERVER.to_owned(),
        to: format!("{to}/"),
    }]))
}

/// Plays Espressif: the repositories, the release's build, and the installation of that release.
fn publish(options: &Options, folder: &Folder, report: Report<'_>) -> Result<()> {
    report(Event::Step("make the repositories"));
    let pins = repositories::make(&folder.git())?;
    let work = WorkDir::open(&folder.upstream())?;
    let checkout = Checkout {
        work: &work,
        mirrors: &mirrors(folder)?,
        offline: false,
        report: &|_| {},
    };
    report(Event::Step("lay the release out"));
    let mut sources = checkout.lib_builder(&pins)?;
    checkout.complete(&pins, &mut sources)?;
    let stock = PatchSetRecord {
        name: "stock".to_owned(),
        suffix: "stock".to_owned(),
        lines: BTreeMap::new(),
    };
    let raw = full::run_upstream(&full::Plan {
        work: &work,
        sources: &sources,
        pins: &pins,
        constraints: &release::constraints(&pins),
        core: &options.core,
        chip: &options.chip,
        patch_set: &stock,
        engine: &Engine::find(options.engine)?,
        image: &options.image,
        offline: false,
        check: &|_, _| Ok(full::Effective::new()),
        report: &|event| stock_event(event, report),
    })
    .context("building the stock libraries")?;
    report(Event::Step("install the stock libraries"));
    arduino::install(
        &folder.arduino(),
        &arduino::Release {
            libraries: &raw.folder,
            versions: &raw.versions,
            tools: &work.cache(),
            core: &options.core,
            chip: &options.chip,
        },
    )
}

/// The steps of the stock build are called so; its notes are those of the build that follows.
fn stock_event(event: Event<'_>, report: Report<'_>) {
    match event {
        Event::Step(name) => report(Event::Step(&format!("stock, {name}"))),
        Event::Note(_) => {}
        other => report(other),
    }
}

/// The steps of the quick build are called so.
fn quick_event(event: Event<'_>, report: Report<'_>) {
    match event {
        Event::Step(name) => report(Event::Step(&format!("quick, {name}"))),
        other => report(other),
    }
}

/// The stages of `build-libs`.
fn build(options: &Options, folder: &Folder, report: Report<'_>) -> Result<Outcome> {
    let work = WorkDir::open(&folder.work())?;
    let pins = pins(options, folder, &work, report)?;
    let options = pipeline::Options {
        core: options.core.clone(),
        chip: options.chip.clone(),
        set: patchset::find(patchset::DEFAULT)?,
        data_dir: Some(folder.arduino()),
        mirrors: mirrors(folder)?,
        offline: false,
        work,
        out: folder.dist(),
        way: Way::Full {
            engine: options.engine,
            image: options.image.clone(),
        },
        stop_after: None,
        effort: Effort::Fast,
        accepted: Vec::new(),
        without_kconfig: WITHOUT_KCONFIG,
    };
    pipeline::run(pins, &options, report)
}

fn pins(options: &Options, folder: &Folder, work: &WorkDir, report: Report<'_>) -> Result<Pins> {
    report(Event::Step("read the release's pins"));
    let request = release::Request {
        core: &options.core,
        chip: &options.chip,
        versions: None,
        data_dir: Some(&folder.arduino()),
        index: None,
        offline: true,
        downloads: &work.downloads(),
    };
    release::resolve(&request, report)
}
