//! The quick way: only the objects that a patch set changes are rebuilt, with the compiler that the Arduino core
//! installed, after those very objects were reproduced from stock settings. Everything else stays the stock file.

pub mod archive;
mod checks;
pub mod compare;
pub mod compile;
pub mod inputs;
mod members;
mod prove;
pub mod recipe;
pub mod sdkconfig;
mod stage;
mod stock_zip;
mod targets;
pub mod trees;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use fs_err as fs;
use rayon::prelude::*;

use self::archive::Archive;
use self::compile::{Job, Kit, TreeFlags};
use self::inputs::{Compiler, Stock};
use self::prove::Finding;
use self::recipe::Recipe;
use self::targets::Target;
use super::BuiltLibs;
use crate::exit::Refusal;
use crate::libs::Tree;
use crate::libs::manifest::{BuildRecord, PatchSetRecord, SourceRecord};
use crate::names::{Chip, CoreVersion};
use crate::patchset::PatchSet;
use crate::progress::{Event, Report};
use crate::release::Pins;
use crate::upstream::{self, Checkout, Files, Mirrors, Needed};
use crate::workdir::{Lock, WorkDir};

/// Upstream's name for ESP-IDF.
const IDF: &str = "esp-idf";

/// What a quick build needs.
pub struct QuickPlan<'a> {
    /// The work folder.
    pub work: &'a WorkDir,
    /// Held from before the build until its tree was packed; from [`lock`].
    pub lock: &'a Lock,
    /// The core version.
    pub core: &'a CoreVersion,
    /// The chip.
    pub chip: &'a Chip,
    /// The patch set; it needs a recipe.
    pub set: &'a PatchSet,
    /// The stock libraries, from [`inputs::stock`].
    pub stock: &'a Stock,
    /// The compiler, from [`inputs::compiler`].
    pub compiler: &'a Compiler,
    /// The pins of the stock libraries' own `versions.txt`.
    pub pins: &'a Pins,
    /// Replacements for git addresses.
    pub mirrors: &'a Mirrors,
    /// Whether the network must not be used.
    pub offline: bool,
    /// Whether to go on where a stock object does not come out as the release has it.
    pub accept_unproven: bool,
    /// Told what is going on.
    pub report: Report<'a>,
}

/// The lock of quick builds in a work folder: they share the folder that trees are laid out in.
pub fn lock(work: &WorkDir, report: Report<'_>) -> Result<Lock> {
    work.lock("quick", || {
        report(Event::Note(
            "another quick build uses this work folder; waiting for it",
        ))
    })
}

/// Rebuilds the objects that the patch set changes, in a copy of the stock tree.
///
/// # Errors
/// [`Refusal::Usage`] where the set has no recipe for these libraries; [`Refusal::Check`] where a stock object does not come
/// out as the release has it, with file, section and first difference (unless `accept_unproven`), and where the result fails
/// the checks of every build. Else what is missing or does not compile. The stock tree is never written to.
pub fn build(plan: &QuickPlan<'_>) -> Result<BuiltLibs> {
    let root = plan.stock.tree.root();
    let recipe = Recipe::of(plan.set)?;
    let flags = TreeFlags::read(root)?;
    check_release(plan, &recipe, &flags)?;
    let variants = targets::variants(&plan.stock.tree, &recipe)?;
    let targets = targets::targets(&recipe, &variants);
    let configs = targets::patched_configs(root, &recipe, &variants)?;
    let bytes = targets::read_archives(root, &targets)?;
    let archives = targets::parse_archives(&bytes, &targets)?;
    let idf = idf_sources(plan, &recipe)?;

    let folder = emptied(plan)?;
    let kit = Kit {
        compiler: plan.compiler,
        tree: root,
        idf: &idf.root,
        flags: &flags,
        recipe: &recipe,
    };
    let proven = reproduce(plan, &kit, &targets, &archives, &folder)?;
    let objects = compile_patched(plan, &kit, &targets, &configs, &folder)?;
    (plan.report)(Event::Step("replace archive members"));
    let mut replaced = members::replace(&targets, &archives, &objects, plan.report)?;
    let configs = configs
        .into_iter()
        .map(|(variant, text)| (targets::config_path(variant), text.into_bytes()));
    replaced.archives.extend(configs);
    (plan.report)(Event::Step("lay out the libraries"));
    let tree = folder.join("tree");
    stage::lay_out(root, &tree, &replaced.archives)?;
    (plan.report)(Event::Step("check the libraries"));
    let effective = checks::check(
        &tree,
        &plan.stock.tree,
        plan.chip,
        plan.set,
        &recipe,
        plan.report,
    )?;
    Ok(BuiltLibs {
        tree,
        core: plan.core.clone(),
        chip: plan.chip.clone(),
        patch_set: patch_set(plan, proven),
        sources: source_records(plan, &idf)?,
        components: plan
            .pins
            .components
            .iter()
            .map(|pin| (pin.name.clone(), pin.version.clone()))
            .collect(),
        build: BuildRecord::Quick {
            compiler: plan.compiler.version.clone(),
            proven,
            members: replaced.members,
        },
        effective,
    })
}

/// The archive members that a build with `set` would rebuild in `stock`, as `archive(member)`.
///
/// # Errors
/// A set without a recipe; variants that the recipe names and the tree lacks.
pub fn members(set: &PatchSet, stock: &Tree) -> Result<Vec<String>> {
    let recipe = Recipe::of(set)?;
    let variants = targets::variants(stock, &recipe)?;
    let targets = targets::targets(&recipe, &variants);
    Ok(targets
        .iter()
        .map(|target| format!("{}({})", target.archive, target.source.member))
        .collect())
}

/// The recipe must have been measured on the ESP-IDF that the tree was built with.
fn check_release(plan: &QuickPlan<'_>, recipe: &Recipe, flags: &TreeFlags) -> Result<()> {
    plan.set.check_chip(plan.chip)?;
    let version = flags.idf_version()?;
    if recipe.idf.matches(&version) {
        return Ok(());
    }
    bail!(Refusal::Usage(format!(
        "the quick recipe of {} is for ESP-IDF {}, and these libraries were built with {version}; build without --quick",
        plan.set.name, recipe.idf
    )))
}

fn idf_sources(plan: &QuickPlan<'_>, recipe: &Recipe) -> Result<Files> {
    let checkout = Checkout {
        work: plan.work,
        mirrors: plan.mirrors,
        offline: plan.offline,
        report: plan.report,
    };
    let files = checkout.files(plan.pins, IDF, &recipe.idf_paths());
    files.with_context(|| format!("the recipe of {} needs sources of ESP-IDF", plan.set.name))
}

/// The folder of this build, without what an earlier one left.
fn emptied(plan: &QuickPlan<'_>) -> Result<PathBuf> {
    let name = format!("{}-{}-{}", plan.chip, plan.core, plan.set.name);
    let folder = plan.work.root().join("quick").join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("clearing {}", folder.display()))?;
    }
    Ok(folder)
}

/// A job a target, with sdkconfig.h from the folder that `config` gives for its variant.
fn jobs<'a>(
    targets: &[Target<'a>],
    folder: &Path,
    settings: &str,
    config: impl Fn(&str) -> PathBuf,
) -> Vec<Job<'a>> {
    let job = |target: &Target<'a>| Job {
        source: target.source,
        config: config(target.variant),
        object: folder
            .join(settings)
            .join(&target.archive)
            .join(&target.source.member),
    };
    targets.iter().map(job).collect()
}

/// Compiles every object from stock settings and compares it with the release's own. Whether all agreed.
fn reproduce(
    plan: &QuickPlan<'_>,
    kit: &Kit<'_>,
    targets: &[Target<'_>],
    archives: &BTreeMap<&str, Archive<'_>>,
    folder: &Path,
) -> Result<bool> {
    (plan.report)(Event::Step("reproduce stock objects"));
    let jobs = jobs(targets, folder, "stock", |variant| {
        kit.tree.join(variant).join("include")
    });
    compile::all(kit, &jobs, plan.report)?;
    let findings: Vec<Option<Finding>> = targets
        .par_iter()
        .zip(&jobs)
        .map(|(target, job)| {
            prove::compare(target, &archives[target.archive.as_str()], &job.object)
        })
        .collect::<Result<_>>()?;
    let findings: Vec<Finding> = findings.into_iter().flatten().collect();
    if findings.is_empty() {
        (plan.report)(Event::Note(&format!(
            "{} stock objects came out as the release has them",
            targets.len()
        )));
        return Ok(true);
    }
    let told = prove::told(&findings, targets.len());
    if plan.accept_unproven {
        (plan.report)(Event::Warning(&told));
        return Ok(false);
    }
    bail!(Refusal::Check(format!(
        "{told}\nnothing was built; --accept-unproven goes on all the same, or build without --quick"
    )))
}

/// Compiles every object from patched settings: their content, in the order of `targets`.
fn compile_patched(
    plan: &QuickPlan<'_>,
    kit: &Kit<'_>,
    targets: &[Target<'_>],
    configs: &BTreeMap<&str, String>,
    folder: &Path,
) -> Result<Vec<Vec<u8>>> {
    (plan.report)(Event::Step("compile patched objects"));
    let config = |variant: &str| folder.join("config").join(variant);
    for (variant, text) in configs {
        fs::create_dir_all(config(variant))?;
        fs::write(config(variant).join("sdkconfig.h"), text)?;
    }
    let jobs = jobs(targets, folder, "patched", config);
    compile::all(kit, &jobs, plan.report)?;
    jobs.iter().map(|job| Ok(fs::read(&job.object)?)).collect()
}

/// The set's record; a suffix of its own keeps an unproven package apart.
fn patch_set(plan: &QuickPlan<'_>, proven: bool) -> PatchSetRecord {
    let mut record = plan.set.record();
    if !proven {
        record.suffix.push_str("-unproven");
    }
    record
}

/// The release's sources. Only ESP-IDF was looked up, so the others stand as the release abbreviates them.
fn source_records(plan: &QuickPlan<'_>, idf: &Files) -> Result<Vec<SourceRecord>> {
    let needed = upstream::needed(plan.pins, &Mirrors::new(Vec::new()))?;
    let record = |needed: Needed| SourceRecord {
        name: needed.name.to_owned(),
        url: needed.address,
        refs: needed.refs,
        commit: if needed.name == IDF {
            idf.commit.clone()
        } else {
            needed.commit
        },
    };
    Ok(needed.into_iter().map(record).collect())
}
