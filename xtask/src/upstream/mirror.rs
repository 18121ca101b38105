//! A bare repository below the work folder that keeps the content of pinned commits, without their history.
//!
//! What may be trusted is said by references that are written last:
//! * `refs/pins/<commit>`: the whole content of that commit was fetched, and every object was read and compared with
//!   its hash. Nothing else in the mirror counts: an interrupted fetch leaves objects, but no such reference.
//! * `refs/resolved/<short id>-<hash of the names>`: the commit that a pin turned out to mean.
//! * `refs/tagged/<commit>/<tag>`: tags that a pin named.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use fs_err as fs;
use git2::{Oid, Repository, RepositoryInitOptions};
use sha2::{Digest, Sha256};

use super::content;
use crate::digest::hex;
use crate::progress::{Event, Report};
use crate::release::SourcePin;
use crate::workdir::{Lock, WorkDir};

/// One mirror.
pub(super) struct Mirror {
    pub(super) repo: Repository,
    work: WorkDir,
    name: String,
}

impl Mirror {
    /// Opens the mirror called `name`, and makes it where it is not there.
    pub(super) fn open(work: &WorkDir, name: &str, report: Report<'_>) -> Result<Self> {
        let dir = work.mirrors().join(format!("{name}.git"));
        // libgit2 sees no packs at all where their folder is missing as it opens a repository.
        let sound = dir.join("objects").join("pack").is_dir();
        let repo = match Repository::open_bare(&dir) {
            Ok(repo) if sound => repo,
            _ => {
                let _lock = lock(work, name, report)?;
                init_bare(&dir).with_context(|| {
                    format!(
                        "the mirror {} cannot be opened; remove that folder, it is fetched again",
                        dir.display()
                    )
                })?
            }
        };
        Ok(Self {
            repo,
            work: work.clone(),
            name: name.to_owned(),
        })
    }

    /// Its folder's name, for example `esp-idf.git`.
    pub(super) fn folder(&self) -> String {
        format!("{}.git", self.name)
    }

    /// Where it stands, for an error.
    pub(super) fn path(&self) -> PathBuf {
        self.work.mirrors().join(self.folder())
    }

    /// Locks the mirror for writing, and clears away what a run that died left behind.
    pub(super) fn lock(&self, report: Report<'_>) -> Result<Lock> {
        let lock = lock(&self.work, &self.name, report)?;
        sweep(self.repo.path())?;
        self.forget_damaged()?;
        Ok(lock)
    }

    /// A bare repository beside the mirror for `purpose`. Hold the mirror's lock.
    pub(super) fn scratch(&self, purpose: &str) -> Result<Repository> {
        let dir = self
            .work
            .mirrors()
            .join(format!("{}.{purpose}.git", self.name));
        init_bare(&dir)
    }

    /// Whether the commit's content is here, whole, as an earlier run proved and nothing removed since.
    pub(super) fn has(&self, commit: Oid) -> bool {
        self.repo.find_reference(&pin_ref(commit)).is_ok()
            && content::is_present(&self.repo, commit)
    }

    /// Proves that the commit's content is whole and says so for later runs. Hold the lock.
    ///
    /// # Errors
    /// An object that is missing or damaged.
    pub(super) fn trust(&self, commit: Oid) -> Result<()> {
        content::verify(&self.repo, commit).with_context(|| {
            format!(
                "what was fetched is not whole; if it stays so, remove {} and run again",
                self.path().display()
            )
        })?;
        self.mark_shallow(commit)?;
        self.repo
            .reference(&pin_ref(commit), commit, true, "content is whole")?;
        Ok(())
    }

    /// The commit that `pin` was resolved to by an earlier run.
    pub(super) fn resolved(&self, pin: &SourcePin) -> Option<Oid> {
        self.repo.find_reference(&resolved_ref(pin)).ok()?.target()
    }

    /// Keeps the commit that `pin` means. Hold the lock.
    pub(super) fn keep_resolved(&self, pin: &SourcePin, commit: Oid) -> Result<()> {
        self.repo
            .reference(&resolved_ref(pin), commit, true, "resolved")?;
        Ok(())
    }

    /// The object that a tag of `commit` points to: the commit, or an annotated tag that is here.
    pub(super) fn tag(&self, commit: Oid, tag: &str) -> Option<Oid> {
        let reference = self
            .repo
            .find_reference(&super::fetch::tag_ref(commit, tag))
            .ok()?;
        let names = reference
            .peel_to_commit()
            .is_ok_and(|peeled| peeled.id() == commit);
        reference.target().filter(|_| names)
    }

    /// Keeps a light tag for a name that the server has for no longer or for another commit. Hold the lock.
    pub(super) fn keep_light_tag(&self, commit: Oid, tag: &str) -> Result<()> {
        self.repo.reference(
            &super::fetch::tag_ref(commit, tag),
            commit,
            true,
            "light tag of a pin",
        )?;
        Ok(())
    }

    /// What `git describe` said of `commit` where the history was known; empty where there is nothing to say.
    pub(super) fn description(&self, commit: Oid) -> Option<String> {
        fs::read_to_string(self.description_file(commit)).ok()
    }

    /// Keeps it. Hold the lock.
    pub(super) fn keep_description(&self, commit: Oid, text: &str) -> Result<()> {
        super::write(&self.description_file(commit), text.as_bytes())
    }

    fn description_file(&self, commit: Oid) -> PathBuf {
        self.repo.path().join(format!("described-{commit}"))
    }

    /// Tells git that the commit's parents are left out on purpose.
    fn mark_shallow(&self, commit: Oid) -> Result<()> {
        if self.repo.find_commit(commit)?.parent_count() == 0 {
            return Ok(());
        }
        let path = self.repo.path().join("shallow");
        let mut text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error.into()),
        };
        let id = commit.to_string();
        if text.lines().any(|line| line == id) {
            return Ok(());
        }
        text.push_str(&id);
        text.push('\n');
        super::write(&path, text.as_bytes())
    }

    /// Removes references to content that is no longer whole: git would refuse to fetch, or offer it to a server as had.
    fn forget_damaged(&self) -> Result<()> {
        let (mut damaged, mut whole) = (Vec::new(), HashMap::new());
        for reference in self.repo.references()? {
            let reference = reference?;
            let commit = reference.peel_to_commit().map(|commit| commit.id()).ok();
            let keep = commit.is_some_and(|commit| {
                *whole
                    .entry(commit)
                    .or_insert_with(|| content::is_present(&self.repo, commit))
            });
            if !keep {
                damaged.push(reference);
            }
        }
        for mut reference in damaged {
            reference.delete()?;
        }
        Ok(())
    }
}

fn pin_ref(commit: Oid) -> String {
    format!("refs/pins/{commit}")
}

fn resolved_ref(pin: &SourcePin) -> String {
    let names = Sha256::digest(pin.refs.join("\n"));
    format!("refs/resolved/{}-{}", pin.commit, &hex(&names)[..12])
}

fn lock(work: &WorkDir, name: &str, report: Report<'_>) -> Result<Lock> {
    work.lock(&format!("mirror-{name}"), || {
        report(Event::Note(&format!(
            "waiting for another run that uses the mirror of {name}"
        )));
    })
}

/// Makes a bare repository, or mends the one that is there. Only under the mirror's lock.
fn init_bare(dir: &Path) -> Result<Repository> {
    fs::create_dir_all(dir.join("objects").join("pack"))?;
    sweep(dir)?;
    let mut options = RepositoryInitOptions::new();
    options.bare(true).external_template(false).mkpath(true);
    Repository::init_opts(dir, &options)
        .with_context(|| format!("making the bare repository {}", dir.display()))
}

/// Removes lock files and half-written packs of processes that died. Only under the mirror's lock.
fn sweep(git_dir: &Path) -> Result<()> {
    let packs = git_dir.join("objects").join("pack");
    for entry in walkdir::WalkDir::new(git_dir) {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy();
        let stale = name.ends_with(".lock")
            || name.starts_with("tmp_")
            || name.contains("_git2_")
            || (entry.path().starts_with(&packs)
                && name.ends_with(".pack")
                && !entry.path().with_extension("idx").exists());
        if stale && entry.file_type().is_file() {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}
