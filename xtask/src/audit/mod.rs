//! What a patch set will really do, known before the build: which symbols change, which wishes are not met and why, which
//! hazards it brings, and which files of the libraries can differ.

mod comments;
mod components;
mod effects;
mod evaluation;
mod findings;
mod impact;
mod kconfgen;
mod lines;
mod view;

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Result, bail};
use fs_err as fs;
use serde::Serialize;

use crate::exit::Refusal;
use crate::hazards::Level;
use crate::libs::layout::{Build, Layout};
use crate::names::Chip;
use crate::patchset::kconfig::Symbols;
use crate::patchset::{PatchSet, Stacks};
use crate::progress::{Event, Report};
use crate::workdir::WorkDir;
use components::Components;
use evaluation::Ground;
use kconfgen::{Interrupted, Kconfgen};
use lines::Pair;
use view::View;

pub use effects::{Change, Effect, Unmet};
pub use evaluation::{Answer, Evaluated};
pub use findings::{Finding, Ready, of_stock_libraries};
pub use impact::{Impact, Kind, Mention, Product};
pub use kconfgen::VERSION as KCONFGEN;

/// Whether Kconfig itself is asked.
#[derive(Debug, Clone, Copy)]
pub enum Kconfig<'a> {
    /// By upstream's kconfgen, which is kept in the work folder's cache; where it cannot be had, lines alone count.
    Ask {
        /// The work folder.
        work: &'a WorkDir,
        /// Whether the network is out of bounds.
        offline: bool,
    },
    /// No, and why.
    LinesAlone(&'a str),
}

/// What the answers stand on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "by", rename_all = "kebab-case")]
pub enum Basis {
    /// Kconfig was asked.
    Kconfgen {
        /// Version of esp-idf-kconfig.
        version: &'static str,
    },
    /// Kconfig was not asked: a check that was not run.
    Lines {
        /// Why not.
        why: String,
    },
}

/// The result.
#[derive(Debug, Serialize)]
pub struct Audit {
    /// Name of the patch set.
    pub set: String,
    /// The chip.
    pub chip: Chip,
    /// What the answers stand on.
    pub basis: Basis,
    /// Components that a build has and this checkout has not.
    pub not_seen: Vec<String>,
    /// Every build of builds.json, in its order.
    pub builds: Vec<Effect>,
    /// The worst first.
    pub hazards: Vec<Finding>,
    /// What can differ.
    pub impact: Impact,
    /// Values that were asked for.
    pub shown: Vec<Shown>,
}

/// The value of a symbol in a build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Shown {
    /// What a person calls the build.
    pub build: String,
    /// With `CONFIG_`.
    pub symbol: String,
    /// Without the set, as a defconfig file writes it; `None` where nothing tells.
    pub stock: Option<String>,
    /// The same with the set.
    pub patched: Option<String>,
}

/// What is audited.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// A checked out lib-builder with its ESP-IDF, whether the set is in it or not. It is not changed.
    pub lib_builder: &'a Path,
    /// The chip.
    pub chip: &'a Chip,
    /// The set.
    pub set: &'a PatchSet,
    /// Whether Kconfig is asked.
    pub kconfig: Kconfig<'a>,
    /// Symbols (with `CONFIG_`) whose values are told for every build, whether they change or not.
    pub show: &'a [String],
    /// Where progress goes.
    pub report: Report<'a>,
}

/// Audits a patch set.
///
/// # Errors
/// A set that cannot be used on these sources (bad lines, unknown symbols: [`Refusal::Usage`]). Hazards and unmet wishes
/// are no errors here; [`Audit::verdict`] judges them.
pub fn run(request: &Request<'_>) -> Result<Audit> {
    let Request {
        lib_builder,
        chip,
        set,
        report,
        ..
    } = *request;
    let layout = Layout::read(&lib_builder.join("configs/builds.json"), chip)?;
    set.check_expects(&layout)?;
    let stacks = set.stacks(lib_builder, &layout)?;
    let symbols = set.check_symbols(lib_builder, chip)?;
    let components = Components::read(lib_builder, &layout.target)?;
    let (evaluated, pairs);
    let (basis, views): (Basis, Vec<View<'_>>) =
        match evaluate(request, &layout, &stacks, &components)? {
            Ok(answers) => {
                evaluated = answers;
                let basis = Basis::Kconfgen { version: KCONFGEN };
                (basis, evaluated.iter().map(Evaluated::view).collect())
            }
            Err(why) => {
                pairs = lines::read(&layout, &stacks, &symbols);
                (Basis::Lines { why }, pairs.iter().map(Pair::view).collect())
            }
        };
    let not_seen = components.not_seen.len();
    let builds = effects::of(set, &layout, &stacks.patched, &views, not_seen);
    report(Event::Step("look for what reads the changed symbols"));
    let changed: BTreeSet<String> = builds
        .iter()
        .flat_map(Effect::felt)
        .map(|change| change.symbol.clone())
        .collect();
    let impact = impact::scan(lib_builder, &components, &layout, &changed)?;
    let differing = findings::differing(&layout, &views, &changed);
    let mut hazards = findings::of_values(set, &layout, &views);
    hazards.extend(findings::of_names(&layout, &views));
    hazards.extend(findings::of_impact(&impact, &differing));
    hazards.sort_by_key(|finding| std::cmp::Reverse(finding.level));
    Ok(Audit {
        set: set.name.clone(),
        chip: chip.clone(),
        basis,
        not_seen: components.not_seen,
        builds,
        hazards,
        impact,
        shown: shown(&layout, &views, request.show),
    })
}

fn shown(layout: &Layout, views: &[View<'_>], symbols: &[String]) -> Vec<Shown> {
    let builds = layout.builds.iter().zip(views);
    let of_build = |(build, view): (&Build, &View<'_>)| {
        let one = |symbol: &String| Shown {
            build: build.name(),
            symbol: symbol.clone(),
            stock: view.stock.written(symbol).map(str::to_owned),
            patched: view.patched.written(symbol).map(str::to_owned),
        };
        symbols.iter().map(one).collect::<Vec<_>>()
    };
    builds.flat_map(of_build).collect()
}

/// The hazards that lines alone tell, from a lib-builder whose ESP-IDF need not be there yet.
///
/// # Errors
/// A set that does not fit the lib-builder.
pub fn hazards_of_lines(set: &PatchSet, lib_builder: &Path, chip: &Chip) -> Result<Vec<Finding>> {
    let layout = Layout::read(&lib_builder.join("configs/builds.json"), chip)?;
    let stacks = set.stacks(lib_builder, &layout)?;
    let symbols = match lib_builder.join("esp-idf/Kconfig").is_file() {
        true => Symbols::scan(lib_builder, &layout.target)?,
        false => Symbols::default(),
    };
    let pairs = lines::read(&layout, &stacks, &symbols);
    let views: Vec<View<'_>> = pairs.iter().map(Pair::view).collect();
    Ok(findings::of_values(set, &layout, &views))
}

/// Kconfig's answers, or why there are none.
///
/// # Errors
/// Ctrl-C.
fn evaluate(
    request: &Request<'_>,
    layout: &Layout,
    stacks: &Stacks,
    components: &Components,
) -> Result<Result<Vec<Evaluated>, String>> {
    let (work, offline) = match request.kconfig {
        Kconfig::Ask { work, offline } => (work, offline),
        Kconfig::LinesAlone(why) => return Ok(Err(why.to_owned())),
    };
    let answers = || -> Result<Vec<Evaluated>> {
        let kconfgen = Kconfgen::ready(work, offline, request.report)?;
        (request.report)(Event::Step("ask Kconfig"));
        let jobs = work.root().join("jobs");
        fs::create_dir_all(&jobs)?;
        let folder = tempfile::Builder::new()
            .prefix("audit-")
            .tempdir_in(&jobs)?;
        let ground = Ground {
            kconfgen: &kconfgen,
            lib_builder: request.lib_builder,
            layout,
            components,
            folder: folder.path(),
        };
        let lines = request.set.files.values().flatten();
        let expected = request
            .set
            .expects
            .iter()
            .flat_map(|expect| expect.symbols.keys());
        let asked: BTreeSet<&str> = lines
            .map(|line| line.symbol.as_str())
            .chain(expected.map(String::as_str))
            .collect();
        ground.evaluate(stacks, &asked.into_iter().collect::<Vec<_>>())
    };
    match answers() {
        Ok(answers) => Ok(Ok(answers)),
        Err(error) if error.is::<Interrupted>() => Err(error),
        Err(error) => Ok(Err(format!("{error:#}"))),
    }
}

impl Audit {
    /// Wishes of the set that are not met, each with its build; those that the set gives up itself are not among them.
    pub fn unmet(&self) -> impl Iterator<Item = (&Effect, &Unmet)> {
        self.builds.iter().flat_map(|effect| {
            let unmet = effect.unmet.iter().filter(|unmet| !unmet.expected);
            unmet.map(move |unmet| (effect, unmet))
        })
    }

    /// Says no where a hazard of level error stands that is not among `accepted`, or a wish is not met.
    ///
    /// # Errors
    /// [`Refusal::Check`] that names each.
    pub fn verdict(&self, accepted: &[String]) -> Result<()> {
        let mut said: Vec<String> = standing(&self.hazards, accepted)
            .map(Finding::with_way_out)
            .collect();
        said.extend(self.unmet().map(|(effect, unmet)| {
            let found = unmet.found.as_deref().unwrap_or("off");
            format!(
                "{}: {} would be {found}, not {}: {}",
                effect.build, unmet.symbol, unmet.wanted, unmet.reason
            )
        }));
        refuse(&self.set, &said)
    }
}

/// Says no where one of `findings` is of level error and not among `accepted`.
///
/// # Errors
/// [`Refusal::Check`] that names each.
pub fn stop(set: &PatchSet, findings: &[Finding], accepted: &[String]) -> Result<()> {
    let said: Vec<String> = standing(findings, accepted)
        .map(Finding::with_way_out)
        .collect();
    refuse(&set.name, &said)
}

fn standing<'a>(
    findings: &'a [Finding],
    accepted: &'a [String],
) -> impl Iterator<Item = &'a Finding> {
    findings
        .iter()
        .filter(|finding| finding.level == Level::Error && !accepted.contains(&finding.name))
}

fn refuse(set: &str, said: &[String]) -> Result<()> {
    if said.is_empty() {
        return Ok(());
    }
    bail!(Refusal::Check(format!(
        "the audit of patch set {set} says no\n  {}",
        said.join("\n  ")
    )))
}
