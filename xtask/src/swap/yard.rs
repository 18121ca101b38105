//! The tool folder, held by one run at a time: what an earlier run left unfinished is put in order, then a plan is carried
//! out.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use fs_err as fs;
use serde::Serialize;

use super::content::{self, Content};
use super::disk::Disk;
use super::journal::{Journal, Remedy, Run};
use super::listing::Depth;
use super::place::{LOCK, OWN, STOCK, at};
use super::plan::Move;
use super::record::Records;
use super::state;
use crate::names::CoreVersion;
use crate::progress::{Event, Report};

/// What became of a run that an earlier process did not finish.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Recovered {
    /// Which command it was.
    pub run: Run,
    /// For which core version.
    pub core: CoreVersion,
    /// When it began, in UTC.
    pub begun: String,
    /// What was done about it.
    pub remedy: Remedy,
}

/// What became of the entries of core caches.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Caches {
    /// Removed.
    pub removed: Vec<PathBuf>,
    /// Links, which are not followed: the user's to remove.
    pub links: Vec<PathBuf>,
    /// Still there although they should not be, each with why; the next run tries again.
    pub left: Vec<String>,
}

impl Caches {
    /// What would become of these entries.
    pub(super) fn planned(entries: Vec<PathBuf>) -> Self {
        let is_link = |path: &PathBuf| {
            path.symlink_metadata()
                .is_ok_and(|found| found.is_symlink())
        };
        let there = entries
            .into_iter()
            .filter(|path| path.symlink_metadata().is_ok());
        let (links, removed) = there.partition(is_link);
        Self {
            removed,
            links,
            left: Vec::new(),
        }
    }
}

/// The tool folder of one chip, while its lock is held.
pub(super) struct Yard<'a> {
    tools: &'a Path,
    disk: &'a dyn Disk,
    report: Report<'a>,
    _lock: Option<File>,
}

impl<'a> Yard<'a> {
    /// Makes `.xip`, takes its lock, waiting for another run, and puts in order what an earlier one left.
    pub(super) fn open(
        tools: &'a Path,
        disk: &'a dyn Disk,
        report: Report<'a>,
    ) -> Result<(Self, Option<Recovered>)> {
        let own = at(tools, OWN);
        let writing = || format!("{} cannot be written to", tools.display());
        if own.symlink_metadata().is_ok_and(|found| !found.is_dir()) {
            bail!(
                "{} is a link or a file, not the folder that this tool makes; move it away",
                own.display()
            );
        }
        match disk.create_dir(&own) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(error).with_context(writing);
            }
            _ => {}
        }
        let lock = lock(&own, report).with_context(writing)?;
        let yard = Self {
            tools,
            disk,
            report,
            _lock: lock,
        };
        let recovered = yard.recover()?;
        yard.clear_leftovers()?;
        Ok((yard, recovered))
    }

    /// Writes the journal, renames, and does what follows; gives what became of the caches.
    ///
    /// # Errors
    /// The journal cannot be written or a rename fails: then everything is as it was before.
    pub(super) fn carry_out(&self, journal: &Journal) -> Result<Caches> {
        let path = Journal::path(self.tools);
        match self.disk.replace(&path, journal.to_text()?.as_bytes()) {
            // Going back must be possible on a full disk, and the folders of a revert tell by themselves what is missing.
            Err(error) if journal.run == Run::Revert && is_full(&error) => {
                (self.report)(Event::Warning(
                    "the disk is full; should this run be killed, run install --revert again",
                ))
            }
            outcome => outcome.context("writing down what is about to be done")?,
        }
        for (done, step) in journal.moves.iter().enumerate() {
            if let Err(error) = self.rename(step) {
                return Err(self.take_back(&journal.moves[..done], error));
            }
        }
        Ok(self.finish(journal))
    }

    fn rename(&self, step: &Move) -> io::Result<()> {
        self.disk
            .rename(&at(self.tools, &step.from), &at(self.tools, &step.to))
    }

    fn rename_back(&self, step: &Move) -> io::Result<()> {
        self.disk
            .rename(&at(self.tools, &step.to), &at(self.tools, &step.from))
    }

    /// Undoes the renames that were done before one failed.
    fn take_back(&self, done: &[Move], error: io::Error) -> anyhow::Error {
        let hint = "close the Arduino IDE and whatever else reads there, and try again";
        for step in done.iter().rev() {
            if let Err(second) = self.rename_back(step) {
                return anyhow::Error::from(error).context(format!(
                    "{hint}; what was already renamed could not be renamed back ({second}): the next run of this command, or \
                     install --revert, does that"
                ));
            }
        }
        self.end_journal();
        anyhow::Error::from(error).context(format!("nothing was changed; {hint}"))
    }

    /// What follows the last rename. Each step may be done again by a later run; what fails is told.
    fn finish(&self, journal: &Journal) -> Caches {
        let warn = |text: String| (self.report)(Event::Warning(&text));
        // Both folders took part in renames. Until they are on the disk, the journal must stand.
        for folder in [self.tools.to_owned(), at(self.tools, OWN)] {
            if let Err(error) = self.disk.sync_dir(&folder) {
                warn(format!(
                    "{} may not survive a power cut now: {error}",
                    folder.display()
                ));
            }
        }
        let caches = self.clear_caches(&journal.caches);
        for link in &caches.links {
            warn(format!(
                "{} is a link and was not followed; remove what it leads to, it was compiled against other libraries",
                link.display()
            ));
        }
        for left in &caches.left {
            warn(format!("{left}; the next run tries again"));
        }
        if let Some((suffix, record)) = &journal.record {
            let records = Records {
                tools: self.tools,
                core: &journal.core,
            };
            let written = serde_json::to_string_pretty(record)
                .map_err(anyhow::Error::from)
                .and_then(|text| {
                    self.disk
                        .replace(&records.install_path(suffix), text.as_bytes())
                });
            if let Err(error) = written {
                warn(format!(
                    "the install could not be recorded, the next run does that: {error:#}"
                ));
                return caches;
            }
        }
        for name in &journal.remove {
            let path = at(self.tools, name);
            if let Err(error) = self.remove_given_up(&path, &journal.core) {
                warn(format!("{} is left over: {error:#}", path.display()));
            }
        }
        if caches.left.is_empty() {
            self.end_journal();
        } else {
            self.keep_caches(journal);
        }
        caches
    }

    /// Leaves a journal of nothing but the cache entries, so that no later run renames by it again.
    fn keep_caches(&self, journal: &Journal) {
        let rest = Journal {
            moves: Vec::new(),
            remove: Vec::new(),
            record: None,
            ..journal.clone()
        };
        let written = rest.to_text().and_then(|text| {
            self.disk
                .replace(&Journal::path(self.tools), text.as_bytes())
        });
        if let Err(error) = written {
            (self.report)(Event::Warning(&format!("{error:#}")));
            self.end_journal();
        }
    }

    fn end_journal(&self) {
        let path = Journal::path(self.tools);
        if let Err(error) = self.remove_if_there(&path) {
            (self.report)(Event::Warning(&format!(
                "{} is left over, the next run removes it: {error}",
                path.display()
            )));
        }
    }

    fn clear_caches(&self, entries: &[PathBuf]) -> Caches {
        let mut caches = Caches::default();
        for entry in entries {
            let removed = match fs::symlink_metadata(entry) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => Err(error),
                Ok(found) if found.is_symlink() => {
                    caches.links.push(entry.clone());
                    continue;
                }
                Ok(found) if found.is_dir() => self.disk.remove_tree(entry),
                Ok(_) => self.disk.remove_file(entry),
            };
            match removed {
                Ok(()) => caches.removed.push(entry.clone()),
                Err(error) => caches.left.push(format!(
                    "{} was compiled against other libraries and could not be removed: {error}",
                    entry.display()
                )),
            }
        }
        caches
    }

    fn remove_if_there(&self, path: &Path) -> io::Result<()> {
        match fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
            Ok(found) if found.is_dir() => self.disk.remove_tree(path),
            Ok(_) => self.disk.remove_file(path),
        }
    }

    /// Finishes or undoes the run that a journal tells of.
    fn recover(&self) -> Result<Option<Recovered>> {
        let Some(journal) = Journal::read(self.tools)? else {
            return Ok(None);
        };
        let done = journal.done(|name| there(self.tools, name));
        let mut remedy = journal.remedy(done);
        // Names alone may deceive: folders may have been made since that only bear the right names.
        if let (Remedy::Finish, Some(done)) = (remedy, done)
            && !self.may_still_be_renamed(&journal, done)?
        {
            remedy = Remedy::Forget;
        }
        let failed = "an earlier run was not finished, and this one could not put its folders in order; close the Arduino IDE \
                      and whatever else reads there, and try again";
        match (remedy, done) {
            (Remedy::Finish, Some(done)) => {
                for step in &journal.moves[done..] {
                    self.rename(step).context(failed)?;
                }
                self.finish(&journal);
            }
            (Remedy::Undo, Some(done)) => {
                for step in journal.moves[..done].iter().rev() {
                    self.rename_back(step).context(failed)?;
                }
                self.end_journal();
            }
            _ => self.end_journal(),
        }
        Ok(Some(Recovered {
            run: journal.run,
            core: journal.core,
            begun: journal.begun,
            remedy,
        }))
    }

    /// Whether the renames that are wanting bring stock libraries back and give up patched ones, by what is in the folders.
    fn may_still_be_renamed(&self, journal: &Journal, done: usize) -> Result<bool> {
        let core = &journal.core;
        let place = |name: &str| {
            let records = Records {
                tools: self.tools,
                core,
            };
            content::look(&at(self.tools, name), records, Depth::Quick)
        };
        for step in &journal.moves[done..] {
            let fits = if step.from == format!("{core}.{STOCK}") {
                step.to == core.to_string() && matches!(place(&step.from)?, Content::Stock { .. })
            } else if is_given_up(&step.to) {
                place(&step.from)?.is_patched()
            } else {
                true
            };
            if !fits {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Removes a tree that a plan gave up, unless it turns out to hold what must not be lost: anything but patched libraries
    /// is kept where no whole stock tree of its core stands in one of its two places.
    fn remove_given_up(&self, path: &Path, core: &CoreVersion) -> Result<()> {
        self.see_that_stock_stands(path, core)?;
        self.remove_if_there(path)?;
        Ok(())
    }

    /// Says no where the tree may hold the only stock libraries of `core`.
    fn see_that_stock_stands(&self, path: &Path, core: &CoreVersion) -> Result<()> {
        let records = Records {
            tools: self.tools,
            core,
        };
        if path.is_dir() && !content::look(path, records, Depth::Quick)?.is_patched() {
            let stands = |name: &str| -> Result<bool> {
                let found = content::look(&at(self.tools, name), records, Depth::Quick)?;
                Ok(matches!(found, Content::Stock { .. }))
            };
            if !stands(&core.to_string())? && !stands(&format!("{core}.{STOCK}"))? {
                bail!(
                    "it may hold the only stock libraries of core {core}; look at it, and move it away"
                );
            }
        }
        Ok(())
    }

    /// The same for a tree of which no journal tells the core: every core that has a folder here must have its stock tree.
    fn remove_leftover(&self, path: &Path) -> Result<()> {
        for (core, _) in state::names(self.tools)? {
            self.see_that_stock_stands(path, &core)?;
        }
        self.remove_if_there(path)?;
        Ok(())
    }

    /// Removes what killed runs left in `.xip`: staging, trees that were given up, half-written files. All that a plan ever
    /// puts there has its successor in place once no journal stands.
    fn clear_leftovers(&self) -> Result<()> {
        let own = at(self.tools, OWN);
        for entry in fs::read_dir(&own)? {
            let entry = entry?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let removed = if is_given_up(&format!("{OWN}/{name}")) {
                self.remove_leftover(&entry.path())
            } else if name == "new" || is_half_written(&name) {
                self.remove_if_there(&entry.path()).map_err(Into::into)
            } else {
                continue;
            };
            if let Err(error) = removed {
                (self.report)(Event::Warning(&format!(
                    "{} is left over from an earlier run: {error:#}",
                    entry.path().display()
                )));
            }
        }
        Ok(())
    }
}

/// Whether a name in the tool folder is one that a plan gives to trees that are about to be removed.
pub(super) fn is_given_up(name: &str) -> bool {
    let number = name
        .strip_prefix(OWN)
        .and_then(|rest| rest.strip_prefix("/old."));
    number.is_some_and(|number| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// Whether a name in `.xip` is that of a file which was being written ([`crate::whole_file`]).
fn is_half_written(name: &str) -> bool {
    name.strip_prefix("tmp_").is_some_and(|rest| {
        rest.len() == 6 && rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

/// Whether anything, a dangling link too, has this name in the tool folder.
pub(super) fn there(tools: &Path, name: &str) -> bool {
    fs::symlink_metadata(at(tools, name)).is_ok()
}

/// The lock is the operating system's, so a run that dies gives it up. `None` where the file system has no locks.
fn lock(own: &Path, report: Report<'_>) -> io::Result<Option<File>> {
    let path = own.join(LOCK);
    let file = fs::OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)?
        .into_file();
    match file.try_lock() {
        Ok(()) => return Ok(Some(file)),
        Err(TryLockError::WouldBlock) => {
            report(Event::Note(
                "another run is at work in this folder; waiting for it",
            ));
        }
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
            report(Event::Warning(
                "this file system has no locks; start no second run before this one ends",
            ));
            return Ok(None);
        }
        Err(TryLockError::Error(error)) => return Err(error),
    }
    file.lock()?;
    Ok(Some(file))
}

/// Whether a full disk is the cause.
pub(super) fn is_full(error: &anyhow::Error) -> bool {
    let mut causes = error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>());
    causes.any(|cause| {
        matches!(
            cause.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
        )
    })
}
