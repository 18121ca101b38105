//! Puts a package's libraries in the place of the active ones.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Serialize;

use super::archive::Archive;
use super::content::{self, Content, Patched};
use super::disk::Disk;
use super::journal::{Journal, Remedy, Run};
use super::listing::{self, Depth};
use super::place::{OWN, Place, STAGING, at};
use super::plan::{Move, Plan};
use super::preflight;
use super::record::{self, InstallRecord, Records};
use super::state::{self, Unfinished};
use super::unpack;
use super::yard::{Caches, Recovered, Yard, is_full};
use crate::libs::files;
use crate::libs::manifest::{self, FileRecord, PatchSetRecord};
use crate::progress::{Event, Report};

/// What the caller of [`install`] decides and knows.
pub struct InstallOptions<'a> {
    /// Only say what would be done.
    pub dry_run: bool,
    /// Lists the entries of core caches that hold this core, compiled against the libraries that are active now. Asked right
    /// before the renames, for a compile may end at any time.
    pub caches: &'a dyn Fn() -> Vec<PathBuf>,
    /// Says what is running that may hold the folder open, for example the IDE; `None` for nothing.
    pub running: &'a dyn Fn() -> Option<String>,
}

/// What an install did, or would do.
#[derive(Debug, Clone, Serialize)]
pub struct Installed {
    /// Where.
    pub place: Place,
    /// The package.
    pub zip: PathBuf,
    /// What was done.
    pub outcome: Outcome,
    /// The patch set and its lines; `None` for a package without a manifest, whose files nothing vouches for.
    pub patch_set: Option<PatchSetRecord>,
    /// Number of files in the package.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
    /// The renames, in order, relative to the tool folder.
    pub moves: Vec<Move>,
    /// What is removed afterwards: trees that others took the place of.
    pub removed: Vec<String>,
    /// The folder of the tree that was active, where it is kept and is not the stock one.
    pub aside: Option<PathBuf>,
    /// What became of the core caches; for a dry run `removed` is what would be.
    pub caches: Caches,
    /// What became of an earlier run that was not finished.
    pub recovered: Option<Recovered>,
    /// For a dry run: the run that would be finished or undone first.
    pub unfinished: Option<Unfinished>,
}

/// What an install came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It is in place now.
    Done,
    /// It would be; nothing was changed.
    Planned,
    /// There was nothing to do.
    Nothing,
}

/// Installs the package `zip` at `place`.
///
/// # Errors
/// [`crate::exit::Refusal::Usage`] where the core is not installed or the package is for another one;
/// [`crate::exit::Refusal::Check`] where the package is not whole or a folder of the right name holds something else. Whatever
/// the error, the active tree is as it was, or the message says which command puts it back.
pub fn install(
    place: &Place,
    zip: &Path,
    options: &InstallOptions<'_>,
    disk: &dyn Disk,
    report: Report<'_>,
) -> Result<Installed> {
    report(Event::Step("look at the package"));
    let archive = Archive::open(zip, place)?;
    let job = Job {
        place,
        zip,
        archive: &archive,
        options,
        disk,
        report,
    };
    job.tell_doubts();
    let unfinished = state::unfinished(&place.tools)?;
    if options.dry_run {
        return job.dry_run(unfinished);
    }
    // Where this tool never was, what is refused, or is nothing to do, leaves no trace.
    if !place.at(OWN).exists() {
        if job.is_installed()? {
            return Ok(job.nothing(None));
        }
        job.plan()?;
        preflight::check(place, &archive)?;
    }
    let (yard, recovered) = Yard::open(&place.tools, disk, report)?;
    if let Some(recovered) = &recovered {
        report(Event::Note(&recovered.line()));
    }
    job.run(&yard, recovered)
        .map_err(|error| job.explain_full(error))
}

/// One install on its way.
pub(super) struct Job<'a> {
    pub(super) place: &'a Place,
    pub(super) zip: &'a Path,
    pub(super) archive: &'a Archive,
    pub(super) options: &'a InstallOptions<'a>,
    pub(super) disk: &'a dyn Disk,
    pub(super) report: Report<'a>,
}

impl Job<'_> {
    /// What is not known of the package.
    pub(super) fn tell_doubts(&self) {
        if self.archive.manifest.is_none() {
            (self.report)(Event::Warning(
                "the package has no manifest, so nothing says what its files should be; they are recorded as they are",
            ));
        } else if !self.archive.sum_agreed {
            tracing::debug!("no .sha256 file beside {}", self.zip.display());
        }
    }

    fn records(&self) -> Records<'_> {
        self.place.records()
    }

    /// Whether this very package is active, every file of it.
    pub(super) fn is_installed(&self) -> Result<bool> {
        let manifest = self.place.active().join(manifest::FILE_NAME);
        if self.archive.manifest.is_some() && !manifest.exists() {
            return Ok(false);
        }
        // The cheap look first: to hash all takes longer.
        let same = |content: &Content| match content {
            Content::Patched(patched) => self.is_of(patched),
            _ => false,
        };
        let look = |depth| content::look(&self.place.active(), self.records(), depth);
        Ok(same(&look(Depth::Quick)?) && same(&look(Depth::Full)?))
    }

    fn is_of(&self, patched: &Patched) -> bool {
        if !patched.extra.is_empty() {
            return false;
        }
        match &self.archive.manifest {
            Some((_, sha256)) => patched.manifest_sha256.as_deref() == Some(sha256),
            None => {
                patched.manifest_sha256.is_none()
                    && patched
                        .installed
                        .as_ref()
                        .is_some_and(|record| record.zip_sha256 == self.archive.sha256)
            }
        }
    }

    fn plan(&self) -> Result<Plan> {
        let same_stock = || {
            let active = listing::record(&files::walk(&self.place.active())?.files, |_| {})?;
            let stock = files::walk(&self.place.stock())?;
            Ok(listing::compare(&stock, &active, Depth::Full)?.none())
        };
        state::with_standing(self.place, |standing| standing.install(same_stock))
    }

    fn run(&self, yard: &Yard<'_>, recovered: Option<Recovered>) -> Result<Installed> {
        if self.is_installed()? {
            return Ok(self.nothing(recovered));
        }
        let plan = self.plan()?;
        preflight::check(self.place, self.archive)?;
        self.warn_if_running();
        let caches = self.put(yard, &plan)?;
        Ok(self.result(Outcome::Done, plan, caches, recovered))
    }

    pub(super) fn warn_if_running(&self) {
        if let Some(running) = (self.options.running)() {
            (self.report)(Event::Warning(&format!(
                "{running} is running; let nothing compile until this is done, and restart it afterwards"
            )));
        }
    }

    /// Unpacks, verifies, and carries the plan out; the stock tree is listed before it is renamed for the first time.
    pub(super) fn put(&self, yard: &Yard<'_>, plan: &Plan) -> Result<Caches> {
        let staged = self.stage().inspect_err(|_| self.clear_staging())?;
        let journal = self.journal(plan, &staged)?;
        (self.report)(Event::Step("swap"));
        yard.carry_out(&journal)
            .inspect_err(|_| self.clear_staging())
    }

    /// Unpacks and verifies; the tree is on the disk when this returns.
    ///
    /// The stock tree is listed meanwhile: reading it and unpacking keep different parts of the machine waiting.
    fn stage(&self) -> Result<Vec<FileRecord>> {
        let (disk, archive, report) = (self.disk, self.archive, self.report);
        let staging = self.place.at(STAGING);
        let unlisted = self.unlisted_stock();
        report(Event::Step(match &unlisted {
            Some(_) => "record the stock libraries, unpack and verify",
            None => "unpack and verify",
        }));
        let list = || -> Result<Option<Vec<FileRecord>>> {
            let (Some(folders), records) = (&unlisted, self.place.records()) else {
                return Ok(None);
            };
            stock_list(folders, records).context("recording the stock libraries")
        };
        let (listed, unpacked) =
            rayon::join(list, || unpack::unpack(disk, archive, &staging, report));
        if let Some(list) = listed? {
            let what = format!("{} {}, stock", self.place.chip.tool_name(), self.place.core);
            disk.replace(
                &self.records().stock_list_path(),
                listing::to_text(&what, &list).as_bytes(),
            )
            .context("recording the stock libraries")?;
        }
        let unpacked = unpacked?;
        report(Event::Step("write to the disk"));
        disk.sync_tree(&staging).context("waiting for the disk")?;
        Ok(unpacked)
    }

    /// Where the stock tree may stand, unless it was listed by an earlier install.
    fn unlisted_stock(&self) -> Option<[PathBuf; 2]> {
        if self.records().stock_list_path().exists() {
            return None;
        }
        let folders = [self.place.stock(), self.place.active()];
        // The release has no manifest.
        let may_be =
            |folder: &PathBuf| folder.is_dir() && !folder.join(manifest::FILE_NAME).exists();
        folders.iter().any(may_be).then_some(folders)
    }

    fn clear_staging(&self) {
        let staging = self.place.at(STAGING);
        if staging.exists()
            && let Err(error) = self.disk.remove_tree(&staging)
        {
            tracing::info!("{} is left for the next run: {error}", staging.display());
        }
    }

    fn journal(&self, plan: &Plan, staged: &[FileRecord]) -> Result<Journal> {
        let suffix = self.archive.suffix.clone();
        let manifest_sha256 = self
            .archive
            .manifest
            .as_ref()
            .map(|(_, sha256)| sha256.clone());
        if manifest_sha256.is_none() {
            let what = format!(
                "{} {}, {suffix}",
                self.place.chip.tool_name(),
                self.place.core
            );
            self.disk
                .replace(
                    &self.records().list_path(&suffix),
                    listing::to_text(&what, staged).as_bytes(),
                )
                .context("recording the package's files")?;
        }
        let name = self.zip.file_name().unwrap_or_default();
        let record = InstallRecord {
            installed: record::now(),
            by: record::this_tool(),
            zip: name.to_string_lossy().into_owned(),
            zip_sha256: self.archive.sha256.clone(),
            manifest_sha256,
        };
        Ok(Journal {
            moves: plan.moves.clone(),
            remove: plan.remove.clone(),
            caches: (self.options.caches)(),
            record: Some((suffix, record)),
            ..Journal::new(Run::Install, &self.place.core)
        })
    }

    fn nothing(&self, recovered: Option<Recovered>) -> Installed {
        self.result(
            Outcome::Nothing,
            Plan::default(),
            Caches::default(),
            recovered,
        )
    }

    /// What would be done. Where an unfinished run comes first, what follows depends on how that ends.
    fn dry_run(&self, unfinished: Option<Unfinished>) -> Result<Installed> {
        if unfinished.is_none() && self.is_installed()? {
            return Ok(self.nothing(None));
        }
        let mut plan = Plan::default();
        let mut caches = Caches::default();
        if unfinished.is_none() {
            plan = self.plan()?;
            caches = Caches::planned((self.options.caches)());
        }
        preflight::check(self.place, self.archive)?;
        let mut result = self.result(Outcome::Planned, plan, caches, None);
        result.unfinished = unfinished;
        Ok(result)
    }

    fn result(
        &self,
        outcome: Outcome,
        plan: Plan,
        caches: Caches,
        recovered: Option<Recovered>,
    ) -> Installed {
        for warning in &plan.warnings {
            (self.report)(Event::Warning(warning));
        }
        let manifest = self.archive.manifest.as_ref();
        Installed {
            place: self.place.clone(),
            zip: self.zip.to_owned(),
            outcome,
            patch_set: manifest.map(|(manifest, _)| manifest.patch_set.clone()),
            files: self.archive.entries.len(),
            bytes: self.archive.size(),
            aside: plan.aside.map(|name| self.place.at(&name)),
            moves: plan.moves,
            removed: plan.remove,
            caches,
            recovered,
            unfinished: None,
        }
    }

    pub(super) fn explain_full(&self, error: anyhow::Error) -> anyhow::Error {
        if !is_full(&error) {
            return error;
        }
        error.context(format!(
            "no space left in {}; free some there and try again",
            at(&self.place.tools, OWN).display()
        ))
    }
}

/// Lists the stock tree, wherever it stands; `None` where there is none.
fn stock_list(folders: &[PathBuf], records: Records<'_>) -> Result<Option<Vec<FileRecord>>> {
    for folder in folders {
        if let Content::Stock { .. } = content::look(folder, records, Depth::Quick)? {
            return listing::record(&files::walk(folder)?.files, |_| {}).map(Some);
        }
    }
    Ok(None)
}

impl Recovered {
    /// What was done, in a line.
    pub fn line(&self) -> String {
        let run = match self.run {
            Run::Install => "install",
            Run::Revert => "install --revert",
        };
        let what = match self.remedy {
            Remedy::Finish => "was finished now",
            Remedy::Undo => "was undone",
            Remedy::Forget => "is forgotten: folders were moved since, and are taken as they stand",
        };
        format!(
            "an {run} of core {} that began {} and was cut off {what}",
            self.core, self.begun
        )
    }
}
