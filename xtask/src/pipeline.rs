//! The stages in order, from a core version to a package. `build-libs` and `demo` run this same code.

use std::path::PathBuf;

use anyhow::Result;
use serde::Serialize;

use crate::audit::{self, Basis, Kconfig};
use crate::build::quick::inputs::{Compiler, Stock};
use crate::build::quick::recipe::Recipe;
use crate::build::{BuiltLibs, check, full, quick};
use crate::engine::{self, Engine};
use crate::hazards::Level;
use crate::libs::Tree;
use crate::names::{Chip, CoreVersion};
use crate::package::{self, Effort, Package};
use crate::patchset::{Applied, PatchSet};
use crate::progress::{Event, Report};
use crate::release::{self, Pins};
use crate::upstream::{Checkout, Mirrors, SourceTree, Sources};
use crate::workdir::WorkDir;

/// What is to be built, from what, where, and how far: every decision made.
#[derive(Debug)]
pub struct Options {
    /// Core version that the libraries are for.
    pub core: CoreVersion,
    /// Chip.
    pub chip: Chip,
    /// Patch set, syntax checked.
    pub set: PatchSet,
    /// Data folder of the Arduino programs; its stock libraries are compared with what is built.
    pub data_dir: Option<PathBuf>,
    /// Replacements for git addresses.
    pub mirrors: Mirrors,
    /// No network work.
    pub offline: bool,
    /// Mirrors, work trees, caches, logs.
    pub work: WorkDir,
    /// Where the package goes.
    pub out: PathBuf,
    /// Which of the two ways to build.
    pub way: Way,
    /// The last stage to run; `None` for all.
    pub stop_after: Option<Stage>,
    /// How hard to pack.
    pub effort: Effort,
    /// Hazards of level error that may stand, by their names ([`crate::hazards`]).
    pub accepted: Vec<String>,
    /// Why the audit does not ask Kconfig; `None` where it does.
    pub without_kconfig: Option<&'static str>,
}

/// The two ways to build; both end in the same checks and the same package.
#[derive(Debug)]
pub enum Way {
    /// Upstream's own build of everything.
    Full {
        /// What runs it.
        engine: engine::Choice,
        /// The container image.
        image: engine::Image,
    },
    /// Only the objects that the patch set changes, into the stock libraries.
    Quick {
        /// The stock libraries.
        stock: Stock,
        /// The compiler that the core installed.
        compiler: Compiler,
        /// Go on where a stock object does not come out as the release has it.
        accept_unproven: bool,
    },
}

/// A stage to stop after.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Stage {
    /// The commits are known.
    Pins,
    /// Every source is on disk at its commit, unpatched.
    Checkout,
    /// The lib-builder is checked out and patched; nothing else is fetched.
    Patch,
    /// Upstream built it and the checks passed; nothing is packed.
    Build,
}

/// What each stage that ran gave.
#[derive(Debug, Serialize)]
pub struct Outcome {
    /// The commits.
    pub pins: Pins,
    /// Work trees, the lib-builder's first.
    pub sources: Vec<SourceTree>,
    /// Where the lib-builder's work tree stands.
    pub root: Option<PathBuf>,
    /// The lines of the patch set and where they landed.
    pub applied: Option<Applied>,
    /// The built libraries tree.
    pub tree: Option<PathBuf>,
    /// The package.
    pub package: Option<Package>,
}

impl Outcome {
    fn new(pins: Pins) -> Self {
        Self {
            pins,
            sources: Vec::new(),
            root: None,
            applied: None,
            tree: None,
            package: None,
        }
    }
}

/// Runs the stages after the pins.
///
/// # Errors
/// The first stage that fails ends the run; what the stages before it left on disk is reused by the next run.
pub fn run(pins: Pins, options: &Options, report: Report<'_>) -> Result<Outcome> {
    let mut outcome = Outcome::new(pins);
    if options.stop_after == Some(Stage::Pins) {
        return Ok(outcome);
    }
    if options.stop_after.is_none() {
        package::make_ready(&options.out)?;
    }
    match &options.way {
        Way::Full { engine, image } => full_way(&mut outcome, options, *engine, image, report)?,
        Way::Quick {
            stock,
            compiler,
            accept_unproven,
        } => {
            let lock = quick::lock(&options.work, report)?;
            tell_hazard(options, report);
            audit_quick(options, &stock.tree, report)?;
            let built = quick::build(&quick::QuickPlan {
                work: &options.work,
                lock: &lock,
                core: &options.core,
                chip: &options.chip,
                set: &options.set,
                stock,
                compiler,
                pins: &outcome.pins,
                mirrors: &options.mirrors,
                offline: options.offline,
                accept_unproven: *accept_unproven,
                report,
            })?;
            finish(&mut outcome, &built, options, report)?;
        }
    }
    Ok(outcome)
}

/// Checkout, patch, upstream's build, package.
fn full_way(
    outcome: &mut Outcome,
    options: &Options,
    engine: engine::Choice,
    image: &engine::Image,
    report: Report<'_>,
) -> Result<()> {
    // The engine is asked for before gigabytes are fetched for it.
    let engine = match options.stop_after {
        None | Some(Stage::Build) => Some(Engine::find(engine)?),
        Some(_) => None,
    };
    let checkout = Checkout {
        work: &options.work,
        mirrors: &options.mirrors,
        offline: options.offline,
        report,
    };
    let mut sources = checkout.lib_builder(&outcome.pins)?;
    outcome.root = Some(sources.root.clone());
    if options.stop_after != Some(Stage::Checkout) {
        outcome.applied = Some(apply(options, &sources, report)?);
    }
    // So is its image, for the same reason.
    if let Some(Engine::Container(container)) = &engine {
        report(Event::Step("look for the image"));
        container.image(image, options.offline, report)?;
    }
    if options.stop_after != Some(Stage::Patch) {
        checkout.complete(&outcome.pins, &mut sources)?;
    }
    outcome.sources.clone_from(&sources.trees);
    let Some(engine) = engine else {
        return Ok(());
    };
    audit_full(options, &sources, report)?;
    let built = build(options, &outcome.pins, &sources, &engine, image, report)?;
    finish(outcome, &built, options, report)
}

/// Packs what was built, unless the run stops before.
fn finish(
    outcome: &mut Outcome,
    built: &BuiltLibs,
    options: &Options,
    report: Report<'_>,
) -> Result<()> {
    outcome.tree = Some(built.tree.clone());
    if options.stop_after != Some(Stage::Build) {
        outcome.package = Some(package::pack(built, &options.out, options.effort, report)?);
    }
    Ok(())
}

/// What is to be feared of the patch set, said whenever it is used.
fn tell_hazard(options: &Options, report: Report<'_>) {
    if let Some(hazard) = &options.set.hazard {
        report(Event::Warning(&format!(
            "patch set {}: {}",
            options.set.name, hazard.text
        )));
    }
}

/// The patch set's lines, with what is to be feared of them said.
fn apply(options: &Options, sources: &Sources, report: Report<'_>) -> Result<Applied> {
    report(Event::Step("patch the lib-builder"));
    tell_hazard(options, report);
    for warning in options.set.warnings(&sources.root, &options.chip)? {
        report(Event::Warning(&warning));
    }
    // Lines alone tell most hazards, before gigabytes are fetched.
    let hazards = audit::hazards_of_lines(&options.set, &sources.root, &options.chip)?;
    if matches!(options.stop_after, None | Some(Stage::Build)) {
        audit::stop(&options.set, &hazards, &options.accepted)?;
    }
    tell(&hazards, report);
    options.set.apply(&sources.root, &options.chip)
}

/// What the set will do, asked before hours are spent on building it.
fn audit_full(options: &Options, sources: &Sources, report: Report<'_>) -> Result<()> {
    let kconfig = match options.without_kconfig {
        Some(why) => Kconfig::LinesAlone(why),
        None => Kconfig::Ask {
            work: &options.work,
            offline: options.offline,
        },
    };
    let audit = audit::run(&audit::Request {
        lib_builder: &sources.root,
        chip: &options.chip,
        set: &options.set,
        kconfig,
        show: &[],
        report,
    })?;
    if let (None, Basis::Lines { why }) = (options.without_kconfig, &audit.basis) {
        report(Event::Note(&format!(
            "Kconfig was not asked before the build: {why}"
        )));
    }
    audit.verdict(&options.accepted)?;
    let lines_told = audit::hazards_of_lines(&options.set, &sources.root, &options.chip)?;
    let new = audit
        .hazards
        .iter()
        .filter(|hazard| !lines_told.contains(hazard));
    tell(&new.cloned().collect::<Vec<_>>(), report);
    Ok(())
}

/// The same of a quick build, which has no Kconfig files: its settings are those of the stock libraries and of its recipe.
fn audit_quick(options: &Options, stock: &Tree, report: Report<'_>) -> Result<()> {
    let recipe = Recipe::of(&options.set)?;
    let mut ready = Vec::new();
    for variant in stock.memory_variants()? {
        let lines = recipe.defines.iter().filter(|_| recipe.covers(&variant));
        let defines = lines.map(|define| (define.symbol.clone(), define.value.clone()));
        ready.push(audit::Ready {
            config: stock.sdkconfig(&variant)?,
            defines: defines.collect(),
            variant,
        });
    }
    let hazards = audit::of_stock_libraries(&options.set, &ready);
    if options.without_kconfig.is_none() {
        report(Event::Note(
            "audited by the stock libraries' settings and the recipe's lines; a quick build does not ask Kconfig",
        ));
    }
    audit::stop(&options.set, &hazards, &options.accepted)?;
    tell(&hazards, report);
    Ok(())
}

fn tell(hazards: &[audit::Finding], report: Report<'_>) {
    for hazard in hazards {
        let text = hazard.to_string();
        report(match hazard.level {
            Level::Note => Event::Note(&text),
            Level::Warning | Level::Error => Event::Warning(&text),
        });
    }
}

/// Upstream's build, and the checks on what it left.
fn build(
    options: &Options,
    pins: &Pins,
    sources: &Sources,
    engine: &Engine,
    image: &engine::Image,
    report: Report<'_>,
) -> Result<BuiltLibs> {
    let stock = stock_tree(options)?;
    full::build(&full::Plan {
        work: &options.work,
        sources,
        pins,
        constraints: &release::constraints(pins),
        core: &options.core,
        chip: &options.chip,
        patch_set: &options.set.record(),
        engine,
        image,
        offline: options.offline,
        check: &|tree, layout| {
            let findings = check::examine(tree, layout, &options.set, stock.as_ref())?;
            for warning in &findings.warnings {
                report(Event::Warning(warning));
            }
            findings.verdict(tree)
        },
        report,
    })
}

/// The installed stock libraries, to compare flags and files with; `None` where there are none.
fn stock_tree(options: &Options) -> Result<Option<Tree>> {
    let Some(data_dir) = &options.data_dir else {
        return Ok(None);
    };
    match release::stock_folder(data_dir, &options.chip, &options.core) {
        Ok(folder) => Tree::open(&folder).map(Some),
        Err(_) => Ok(None),
    }
}
