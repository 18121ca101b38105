//! Work trees: laid out at their commits from the mirrors, and put back to them when an earlier run left them there.
//!
//! Each has a `.git` folder of its own that borrows the mirror's objects by a relative path, so the whole work folder can
//! be moved, or mounted elsewhere, and git works inside. `.git/xip-complete` is written last; a tree without it, with
//! another commit in it, or with a `.git` that libgit2 cannot work with, is laid out anew.

use std::path::Path;

use anyhow::{Context, Result};
use fs_err as fs;
use git2::build::CheckoutBuilder;
use git2::{ConfigLevel, Oid, Repository, RepositoryInitOptions, ResetType};

use crate::progress::{Event, Report};
use crate::workdir::WorkDir;

/// Name of the record below `.git` that holds the commit at which the tree is complete.
const RECORD: &str = "xip-complete";

/// A repository's content in a mirror, and what its work tree is to look like.
#[derive(Debug)]
pub(super) struct Holding {
    /// The canonical address.
    pub(super) url: String,
    /// The mirror's folder name below the mirrors.
    pub(super) mirror: String,
    /// The commit.
    pub(super) commit: Oid,
    /// What HEAD is.
    pub(super) head: Head,
    /// How many digits `git rev-parse --short` is to print; `None` leaves it to git.
    pub(super) abbrev: Option<usize>,
    /// Content of a `version.txt` at the root that git does not see.
    pub(super) version: Option<String>,
    /// Submodules at their recorded commits.
    pub(super) submodules: Vec<Submodule>,
}

/// A submodule in its parent.
#[derive(Debug)]
pub(super) struct Submodule {
    /// Its name in `.gitmodules`.
    pub(super) name: String,
    /// Where it stands, relative to the parent's root, with `/`.
    pub(super) path: String,
    /// What it holds.
    pub(super) holding: Holding,
}

/// What a work tree's HEAD is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Head {
    /// A local branch of this name.
    Branch(String),
    /// The commit itself, with these tags (name, object) at it.
    Detached(Vec<(String, Oid)>),
}

impl Holding {
    /// Paths of all submodules, nested ones too, relative to this repository's root.
    pub(super) fn submodule_paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        for submodule in &self.submodules {
            paths.push(submodule.path.clone());
            for nested in submodule.holding.submodule_paths() {
                paths.push(format!("{}/{nested}", submodule.path));
            }
        }
        paths
    }
}

/// Makes `at` the work tree of `holding`, submodules included: every tracked file has the commit's content afterwards,
/// files that git does not track stay.
pub(super) fn lay_out(
    work: &WorkDir,
    holding: &Holding,
    at: &Path,
    report: Report<'_>,
) -> Result<()> {
    let record = at.join(".git").join(RECORD);
    let complete = fs::read_to_string(&record).is_ok_and(|text| text == holding.commit.to_string());
    let kept = complete && renew(work, holding, at, report).is_ok();
    if !kept {
        begin(at)
            .and_then(|()| renew(work, holding, at, report))
            .with_context(|| format!("laying out {} at {}", holding.url, at.display()))?;
    }
    for submodule in &holding.submodules {
        lay_out(work, &submodule.holding, &at.join(&submodule.path), report)?;
    }
    if let Some(version) = &holding.version {
        write_version(at, version)?;
    }
    super::write(&record, holding.commit.to_string().as_bytes())
}

/// Brings the repository that stands at `at` to the commit.
fn renew(work: &WorkDir, holding: &Holding, at: &Path, report: Report<'_>) -> Result<()> {
    let repo = Repository::open(at)?;
    connect(work, holding, &repo, at)?;
    put_back(holding, &repo, report)
}

/// An empty repository at `at`, in place of whatever `.git` stands there.
fn begin(at: &Path) -> Result<()> {
    let git = at.join(".git");
    match fs::symlink_metadata(&git) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(&git)?,
        Ok(_) => fs::remove_file(&git)?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(error.into()),
    }
    let mut options = RepositoryInitOptions::new();
    options.external_template(false).mkpath(true);
    Repository::init_opts(at, &options)?;
    Ok(())
}

/// Everything in `.git` but the index: objects, configuration, references.
fn connect(work: &WorkDir, holding: &Holding, repo: &Repository, at: &Path) -> Result<()> {
    let git = repo.path();
    let up = "../".repeat(2 + at.strip_prefix(work.root())?.components().count());
    let info = git.join("objects").join("info");
    fs::create_dir_all(&info)?;
    super::write(
        &info.join("alternates"),
        format!("{up}mirrors/{}/objects\n", holding.mirror).as_bytes(),
    )?;
    repo.odb()?.refresh()?;
    configure(holding, repo)?;
    point(holding, repo)
}

fn configure(holding: &Holding, repo: &Repository) -> Result<()> {
    let mut config = repo.config()?.open_level(ConfigLevel::Local)?;
    let mut settings = vec![
        // For git inside: files have the bytes that git stores, on every system, whatever the user's own settings are.
        ("core.autocrlf".to_owned(), "false".to_owned()),
        ("core.eol".to_owned(), "lf".to_owned()),
        ("gc.auto".to_owned(), "0".to_owned()),
        ("remote.origin.url".to_owned(), holding.url.clone()),
    ];
    if let Some(digits) = holding.abbrev {
        settings.push(("core.abbrev".to_owned(), digits.to_string()));
    }
    if cfg!(windows) {
        settings.push(("core.longpaths".to_owned(), "true".to_owned()));
    }
    for submodule in &holding.submodules {
        let key = format!("submodule.{}", submodule.name);
        settings.push((format!("{key}.url"), submodule.holding.url.clone()));
        settings.push((format!("{key}.active"), "true".to_owned()));
    }
    for (key, value) in settings {
        if config.get_string(&key).ok().as_deref() != Some(&value) {
            config.set_str(&key, &value)?;
        }
    }
    Ok(())
}

/// HEAD, its branch or tags, and the note that the parents are left out.
fn point(holding: &Holding, repo: &Repository) -> Result<()> {
    let commit = repo.find_commit(holding.commit)?;
    if commit.parent_count() > 0 {
        super::write(
            &repo.path().join("shallow"),
            format!("{}\n", holding.commit).as_bytes(),
        )?;
    }
    match &holding.head {
        Head::Branch(name) => {
            let full = format!("refs/heads/{name}");
            repo.reference(&full, holding.commit, true, "pinned")?;
            repo.set_head(&full)?;
        }
        Head::Detached(tags) => {
            for (name, object) in tags {
                repo.reference(&format!("refs/tags/{name}"), *object, true, "pinned")?;
            }
            repo.set_head_detached(holding.commit)?;
        }
    }
    Ok(())
}

/// Gives every tracked file the commit's content.
fn put_back(holding: &Holding, repo: &Repository, report: Report<'_>) -> Result<()> {
    let mut checkout = CheckoutBuilder::new();
    // No filter: neither the user's attributes nor the system's line endings change a byte.
    checkout.force().disable_filters(true);
    checkout.progress(|_, done, total| {
        report(Event::Count {
            done: done as u64,
            total: total as u64,
            unit: "files",
        });
    });
    let commit = repo.find_object(holding.commit, None)?;
    repo.reset(&commit, ResetType::Hard, Some(&mut checkout))?;
    Ok(())
}

/// Writes `version.txt`, which ESP-IDF takes for its version, and hides it from git.
fn write_version(at: &Path, version: &str) -> Result<()> {
    let exclude = at.join(".git").join("info").join("exclude");
    if let Some(parent) = exclude.parent() {
        fs::create_dir_all(parent)?;
    }
    super::write(&exclude, b"/version.txt\n")?;
    super::write(&at.join("version.txt"), format!("{version}\n").as_bytes())
}
