//! Upstream's own build.sh, driven at pinned commits.
//!
//! [`run_upstream`] lays a job beside the work tree, sees that all is there that the build calls, and runs it on an engine;
//! [`build`] takes its output through the checks and puts it where no later build touches it.

mod cause;
mod follow;
mod preflight;
mod programs;
mod script;
mod ship;
mod site;
mod space;
mod transcript;
mod versions;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use fs_err as fs;

use super::BuiltLibs;
use crate::engine::{Engine, Image, ImageRecord};
use crate::libs::Tree;
use crate::libs::layout::Layout;
use crate::libs::manifest::{BuildRecord, PatchSetRecord, SourceRecord};
use crate::names::{Chip, CoreVersion};
use crate::progress::{Event, Report};
use crate::release::Pins;
use crate::upstream::Sources;
use crate::workdir::WorkDir;

/// Effective values of the patch set's expected symbols: memory variant -> symbol -> value.
pub type Effective = BTreeMap<String, BTreeMap<String, String>>;

/// What a full build is made from.
pub struct Plan<'a> {
    /// Where mirrors, trees, caches, logs and the result are.
    pub work: &'a WorkDir,
    /// The patched work trees, below [`Plan::work`].
    pub sources: &'a Sources,
    /// What the trees were resolved from.
    pub pins: &'a Pins,
    /// Text of the component manager's constraint file.
    pub constraints: &'a str,
    /// The core version that the libraries are for.
    pub core: &'a CoreVersion,
    /// The chip.
    pub chip: &'a Chip,
    /// The patch set that the trees hold.
    pub patch_set: &'a PatchSetRecord,
    /// Where the build runs.
    pub engine: &'a Engine,
    /// In which image; not used on the host.
    pub image: &'a Image,
    /// Whether the network is out of bounds.
    pub offline: bool,
    /// What must hold of the output. It gives the effective values, or says everything that is wrong.
    pub check: &'a (dyn Fn(&Tree, &Layout) -> Result<Effective> + Sync),
    /// Where progress goes.
    pub report: Report<'a>,
}

/// What upstream's build left, before any check of its content.
#[derive(Debug)]
pub struct RawOutput {
    /// The chip's folder in upstream's `out/`.
    pub folder: PathBuf,
    /// The versions.txt that build.sh wrote, above that folder.
    pub versions: PathBuf,
    /// The whole log.
    pub log: PathBuf,
    /// The image; `None` on the host.
    pub image: Option<ImageRecord>,
}

/// Builds the libraries, checks them, and puts them at `<work>/built/<tree>-<chip>-<suffix>/<core>`.
///
/// # Errors
/// As [`run_upstream`]; what [`Plan::check`] says; components that upstream resolved to other versions than the pins.
pub fn build(plan: &Plan<'_>) -> Result<BuiltLibs> {
    let layout = layout(plan)?;
    let raw = run_upstream(plan)?;
    (plan.report)(Event::Step("check the output"));
    let text = fs::read(&raw.versions)?;
    for extra in versions::compare(plan.pins, &text, &raw.versions)? {
        (plan.report)(Event::Warning(&extra));
    }
    let key = plan
        .sources
        .root
        .file_name()
        .context("the work tree's folder has no name")?;
    let key = format!(
        "{}-{}-{}",
        key.to_string_lossy(),
        plan.chip,
        plan.patch_set.suffix
    );
    let folder = plan.work.root().join("built").join(key);
    let (staging, built) = (
        folder.join(format!("{}.part", plan.core)),
        folder.join(plan.core.to_string()),
    );
    ship::stage(&raw.folder, &raw.versions, &staging)?;
    let effective = (plan.check)(&Tree::open(&staging)?, &layout).with_context(|| {
        format!(
            "upstream's output in {} (log: {})",
            staging.display(),
            raw.log.display()
        )
    })?;
    ship::publish(&staging, &built)?;
    Ok(BuiltLibs {
        tree: built,
        core: plan.core.clone(),
        chip: plan.chip.clone(),
        patch_set: plan.patch_set.clone(),
        sources: plan.sources.trees.iter().map(source_record).collect(),
        components: plan
            .pins
            .components
            .iter()
            .map(|pin| (pin.name.clone(), pin.version.clone()))
            .collect(),
        build: BuildRecord::Full {
            engine: plan.engine.name().to_owned(),
            image: raw.image.as_ref().map(ImageRecord::text),
        },
        effective,
    })
}

/// Runs upstream's build for one chip in the patched work tree.
///
/// # Errors
/// Too little space; no image; programs that are missing, all in one error; a work tree that git does not give at its commit;
/// a build that fails (the error has its last lines, the recognised cause, the log's path), that is interrupted, or that says
/// all is well and leaves nothing.
pub fn run_upstream(plan: &Plan<'_>) -> Result<RawOutput> {
    let layout = layout(plan)?;
    let root = &plan.sources.root;
    let image = prepare(plan)?;
    let site = site::Site::new(plan, image.as_ref())?;
    check_space(plan, &site.tools, None)?;
    let mut log = transcript::Transcript::begin(&plan.work.logs(), plan.chip.as_str())?;
    (plan.report)(Event::Step("look for what the build needs"));
    if image.is_none() {
        tell_host(plan);
    }
    (plan.report)(Event::Note(&format!("log: {}", log.path().display())));
    preflight::check(plan, &site, image.as_ref(), &mut log)?;
    // Whatever an earlier build left must not pass for this one's.
    let out = root.join("out");
    if out.exists() {
        fs::remove_dir_all(&out)?;
    }
    let mut follow = follow::Follow::new(&layout.builds, plan.report);
    let ended = plan
        .engine
        .run(&site.build(&layout.target)?, image.as_ref(), &mut |line| {
            follow.line(line);
            log.line(line)
        })?;
    if !ended.success() {
        return Err(log.failure(ended, follow.title()));
    }
    let libs = out.join("tools").join("esp32-arduino-libs");
    let raw = RawOutput {
        folder: libs.join(plan.chip.as_str()),
        versions: libs.join("versions.txt"),
        log: log.path().to_owned(),
        image,
    };
    not_empty(&raw)?;
    Ok(raw)
}

fn layout(plan: &Plan<'_>) -> Result<Layout> {
    Layout::read(
        &plan.sources.root.join("configs").join("builds.json"),
        plan.chip,
    )
}

/// What a build without a container means.
fn tell_host(plan: &Plan<'_>) {
    (plan.report)(Event::Note(
        "building on this machine itself, without a container: its programs, not an image's, decide the result",
    ));
    if plan.offline {
        (plan.report)(Event::Note(
            "--offline cannot cut a build on the host off the network; nothing of ours fetches",
        ));
    }
}

/// The image, and an engine that does nothing else in our tree.
fn prepare(plan: &Plan<'_>) -> Result<Option<ImageRecord>> {
    let container = match plan.engine {
        Engine::Container(container) => container,
        Engine::Host(_) => return Ok(None),
    };
    for name in container.end_leftovers(&plan.sources.root)? {
        (plan.report)(Event::Warning(&format!(
            "ended the container {name}, left over by a run that was killed"
        )));
    }
    if !container.has_image(plan.image)? {
        check_space(
            plan,
            &plan.work.cache().join("idf-tools"),
            container.facts().storage.as_deref(),
        )?;
    }
    container
        .image(plan.image, plan.offline, plan.report)
        .map(Some)
}

fn check_space(plan: &Plan<'_>, tools: &Path, storage: Option<&Path>) -> Result<()> {
    let need = space::need(&plan.sources.root, tools);
    space::check(plan.work.root(), need, storage, |folder| {
        fs4::available_space(folder)
    })
}

/// Upstream's scripts end with status 0 in some cases in which they built nothing.
fn not_empty(raw: &RawOutput) -> Result<()> {
    let entries = match raw.folder.is_dir() {
        true => fs::read_dir(&raw.folder)?.count(),
        false => 0,
    };
    let log = raw.log.display();
    if entries == 0 {
        bail!(
            "upstream's build says that all went well, but {} is empty; see its log: {log}",
            raw.folder.display()
        );
    }
    if !raw.versions.is_file() {
        bail!(
            "upstream's build says that all went well, but {} is not there; see its log: {log}",
            raw.versions.display()
        );
    }
    Ok(())
}

fn source_record(tree: &crate::upstream::SourceTree) -> SourceRecord {
    SourceRecord {
        name: tree.name.clone(),
        url: tree.url.clone(),
        refs: tree.refs.clone(),
        commit: tree.commit.clone(),
    }
}
