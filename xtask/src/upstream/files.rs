//! A few files of one repository at its pinned commit, for a build that needs no more.
//!
//! Who brings them: the mirror, where an earlier run left the whole commit there; libgit2, from a folder of this machine; the git
//! program, from a server, without fetching anything else. Without a git program, and from a server that gives no commits by
//! their ids, the whole commit is brought into the mirror first.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use fs_err as fs;
use git2::{ObjectType, Oid, Repository};
use serde::{Deserialize, Serialize};

use super::address::Address;
use super::fetch::{Fetchers, GitProgram, Listed, Sparse, open};
use super::mirror::Mirror;
use super::repositories::{self, Repository as Known};
use super::stock::Stock;
use super::{Checkout, resolve, space};
use crate::progress::Event;
use crate::release::{Pins, SourcePin};

/// Written last: a folder without it is no cache.
const RECORD: &str = "complete.json";

/// Files of one repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Files {
    /// The folder that stands for the repository's root.
    pub root: PathBuf,
    /// The full commit id.
    pub commit: String,
}

/// What a complete cache folder holds.
#[derive(Serialize, Deserialize)]
struct Record {
    commit: String,
    paths: Vec<String>,
    /// Each file's blob id.
    files: BTreeMap<String, String>,
}

impl Checkout<'_> {
    /// The files and folders `paths` (relative, with `/`) of the repository called `name`, at its pinned commit.
    ///
    /// They are kept for later runs, which need no network. Each file is compared with its id in the commit, every time.
    ///
    /// # Errors
    /// A repository that is not known or not pinned; a commit that is not found; a path that it does not have; nothing kept,
    /// and `offline`.
    pub fn files(&self, pins: &Pins, name: &str, paths: &[String]) -> Result<Files> {
        let known = repositories::ALL.iter().find(|known| known.name == name);
        let known = known.with_context(|| format!("no repository called {name} is known"))?;
        let pin = pins
            .source(name)
            .with_context(|| format!("the release names no commit of {name}"))?;
        let _lock = self.work.lock(&format!("files-{name}"), || {
            (self.report)(Event::Note(&format!(
                "waiting for another run that fetches files of {name}"
            )));
        })?;
        let folder = self.work.root().join("files").join(name);
        fs::create_dir_all(&folder)?;
        if let Some(place) = place(&folder, pin)?
            && let Some(files) = whole(&place, paths)?
        {
            return Ok(files);
        }
        let brought = self.bring_files(known, pin, paths, &folder);
        let place = brought.map_err(|error| space::explain(error, self.work.root()))?;
        match whole(&place, paths)? {
            Some(files) => Ok(files),
            None => bail!(
                "the files of {name} did not arrive whole in {}",
                place.display()
            ),
        }
    }

    /// Brings the files; where they are.
    fn bring_files(
        &self,
        known: &'static Known,
        pin: &SourcePin,
        paths: &[String],
        folder: &Path,
    ) -> Result<PathBuf> {
        let stock = Stock {
            work: self.work,
            mirrors: self.mirrors,
            offline: self.offline,
            fetcher: &Fetchers::new(),
        };
        let mirror = Mirror::open(
            self.work,
            &repositories::mirror_name(known.url),
            self.report,
        )?;
        if let Some(commit) = stock.known(&mirror, pin) {
            return export(&mirror.repo, commit, paths, folder);
        }
        stock.refuse_offline(&format!("{} {}", known.name, pin.commit), known.url)?;
        (self.report)(Event::Step(&format!("fetch files of {}", known.name)));
        let address = stock.address(known.url)?;
        let context = || {
            format!(
                "fetching files of {} {} from {address}",
                known.name, pin.commit
            )
        };
        let meaning = {
            let _lock = mirror.lock(self.report)?;
            resolve::resolve(stock.fetcher, &address, pin, &mirror, self.report)
                .with_context(context)?
        };
        if let Address::Folder(from) = &address {
            return export(&open(from)?, meaning.commit, paths, folder).with_context(context);
        }
        let why = match GitProgram::find() {
            None => "there is no git program".to_owned(),
            Some(git) => match self
                .by_program(&git, &address, meaning.commit, paths, folder)
                .with_context(context)?
            {
                Ok(place) => return Ok(place),
                Err(words) => format!("the server gives no commits by their ids: {words}"),
            },
        };
        (self.report)(Event::Note(&format!(
            "{} comes whole, which takes longer: {why}",
            known.name
        )));
        let commit = stock.fetch_pinned(known, pin, &mirror, self.report)?;
        export(&mirror.repo, commit, paths, folder)
    }

    /// Where the files are, or the words of a server that gives none.
    fn by_program(
        &self,
        git: &GitProgram,
        from: &Address,
        commit: Oid,
        paths: &[String],
        folder: &Path,
    ) -> Result<Result<PathBuf, String>> {
        (self.report)(Event::Note(
            "git fetches the few files that are needed, and nothing else of the repository",
        ));
        let place = clear(folder, commit)?;
        let scratch = tempfile::Builder::new().prefix("tmp_").tempdir_in(folder)?;
        match git.few_files(
            from,
            commit,
            paths,
            scratch.path(),
            &place.join("root"),
            self.report,
        )? {
            Sparse::Refused(words) => Ok(Err(words)),
            Sparse::Files(files) => keep(&place, commit, paths, &files).map(|()| Ok(place)),
        }
    }
}

/// An empty folder for the files of `commit`.
fn clear(folder: &Path, commit: Oid) -> Result<PathBuf> {
    let place = folder.join(commit.to_string());
    if place.exists() {
        fs::remove_dir_all(&place).with_context(|| format!("clearing {}", place.display()))?;
    }
    fs::create_dir_all(place.join("root"))?;
    Ok(place)
}

/// Writes the files of `commit` from a repository that has them.
fn export(repo: &Repository, commit: Oid, paths: &[String], folder: &Path) -> Result<PathBuf> {
    let place = clear(folder, commit)?;
    let tree = repo.find_commit(commit)?.tree()?;
    let mut files = Listed::new();
    for path in paths {
        let Ok(entry) = tree.get_path(Path::new(path)) else {
            continue;
        };
        if entry.kind() == Some(ObjectType::Blob) {
            files.insert(path.clone(), entry.id());
        } else if let Ok(below) = repo.find_tree(entry.id()) {
            below.walk(git2::TreeWalkMode::PreOrder, |parent, entry| {
                if entry.kind() == Some(ObjectType::Blob) {
                    let name = String::from_utf8_lossy(entry.name_bytes());
                    files.insert(format!("{path}/{parent}{name}"), entry.id());
                }
                git2::TreeWalkResult::Ok
            })?;
        }
    }
    for (path, id) in &files {
        let file = place.join("root").join(path);
        if let Some(parent) = file.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(
            &file,
            repo.find_blob(*id)
                .with_context(|| format!("reading {path}"))?
                .content(),
        )?;
    }
    keep(&place, commit, paths, &files)?;
    Ok(place)
}

/// Says that the folder is complete, if all paths are.
fn keep(place: &Path, commit: Oid, paths: &[String], files: &Listed) -> Result<()> {
    for path in paths {
        let below = format!("{path}/");
        if !files
            .keys()
            .any(|file| file == path || file.starts_with(&below))
        {
            bail!("commit {commit} has no {path}");
        }
    }
    let record = Record {
        commit: commit.to_string(),
        paths: paths.to_vec(),
        files: files
            .iter()
            .map(|(path, id)| (path.clone(), id.to_string()))
            .collect(),
    };
    super::write(&place.join(RECORD), &serde_json::to_vec_pretty(&record)?)
}

/// Where an earlier run left files of the pinned commit.
fn place(folder: &Path, pin: &SourcePin) -> Result<Option<PathBuf>> {
    let mut places = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(&pin.commit) {
            places.push(entry.path());
        }
    }
    // Of two commits that begin alike the repository has to say which one is meant.
    Ok(places.pop().filter(|_| places.is_empty()))
}

/// The files at `place`; `None` where they are not these, or not as the commit has them.
fn whole(place: &Path, paths: &[String]) -> Result<Option<Files>> {
    let Ok(text) = fs::read_to_string(place.join(RECORD)) else {
        return Ok(None);
    };
    let Ok(record) = serde_json::from_str::<Record>(&text) else {
        return Ok(None);
    };
    let root = place.join("root");
    for (path, id) in &record.files {
        let same = match fs::read(root.join(path)) {
            Ok(bytes) => Oid::hash_object(ObjectType::Blob, &bytes)?.to_string() == *id,
            Err(_) => false,
        };
        if !same {
            tracing::warn!("{} is not as the commit has it", root.join(path).display());
            return Ok(None);
        }
    }
    let these = record.paths == paths;
    Ok(these.then_some(Files {
        root,
        commit: record.commit,
    }))
}
