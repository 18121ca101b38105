//! Holds two libraries trees, or packages of them, against each other.
//!
//! Archives are compared member by member: the same bytes, or the same code and data with other debug information, or a
//! difference. All other files are compared as bytes. The manifest, which says how a tree was made, is left out.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use fs_err as fs;
use rayon::prelude::*;
use serde::Serialize;

use super::archive::Archive;
use super::compare;
use crate::libs::{Tree, files, manifest};

/// How two trees compare.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Comparison {
    /// Nothing but debug information differs.
    pub same: bool,
    /// By the first folder of a path: a memory variant, `lib`, `include` and so on; `.` for the top.
    pub folders: BTreeMap<String, Folder>,
    /// Files that only the first tree has.
    pub only_left: Vec<String>,
    /// Files that only the second tree has.
    pub only_right: Vec<String>,
}

/// How one folder of two trees compares.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Folder {
    /// Files that are the same bytes, archives too.
    pub same_bytes: usize,
    /// Archives of the same code and data whose debug information differs.
    pub same_code: Vec<String>,
    /// What differs in archives.
    pub members: Vec<MemberDifference>,
    /// Other files that differ.
    pub differ: Vec<String>,
}

/// What differs in an archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MemberDifference {
    /// The archive.
    pub archive: String,
    /// The member; `None` where the archive as a whole cannot be compared.
    pub member: Option<String>,
    /// The first difference.
    pub what: String,
}

/// One file's verdict.
enum Verdict {
    SameBytes,
    SameCode,
    Members(Vec<MemberDifference>),
    Differ,
}

/// Compares the trees or zips at `left` and `right`.
///
/// # Errors
/// A path that is neither a libraries tree nor a zip of one.
pub fn compare(left: &Path, right: &Path) -> Result<Comparison> {
    let (left, right) = (Side::open(left)?, Side::open(right)?);
    let (ours, theirs) = (left.paths()?, right.paths()?);
    let verdicts: Vec<(&String, Verdict)> = ours
        .par_iter()
        .filter(|path| theirs.contains(*path))
        .map(|path| Ok((path, judge(path, &left.read(path)?, &right.read(path)?))))
        .collect::<Result<_>>()?;
    let mut comparison = Comparison {
        only_left: ours.difference(&theirs).cloned().collect(),
        only_right: theirs.difference(&ours).cloned().collect(),
        ..Comparison::default()
    };
    for (path, verdict) in verdicts {
        let name = path.split_once('/').map_or(".", |(folder, _)| folder);
        let folder = comparison.folders.entry(name.to_owned()).or_default();
        match verdict {
            Verdict::SameBytes => folder.same_bytes += 1,
            Verdict::SameCode => folder.same_code.push(path.clone()),
            Verdict::Members(members) => folder.members.extend(members),
            Verdict::Differ => folder.differ.push(path.clone()),
        }
    }
    let alike = |folder: &Folder| folder.members.is_empty() && folder.differ.is_empty();
    comparison.same = comparison.only_left.is_empty()
        && comparison.only_right.is_empty()
        && comparison.folders.values().all(alike);
    Ok(comparison)
}

fn judge(path: &str, left: &[u8], right: &[u8]) -> Verdict {
    if left == right {
        return Verdict::SameBytes;
    }
    if !path.ends_with(".a") {
        return Verdict::Differ;
    }
    let difference = |member: Option<String>, what: String| MemberDifference {
        archive: path.to_owned(),
        member,
        what,
    };
    match (Archive::parse(left), Archive::parse(right)) {
        (Ok(left), Ok(right)) => match archives(&left, &right) {
            found if found.is_empty() => Verdict::SameCode,
            found => Verdict::Members(
                found
                    .into_iter()
                    .map(|(member, what)| difference(Some(member), what))
                    .collect(),
            ),
        },
        (Err(error), _) | (_, Err(error)) => Verdict::Members(vec![difference(
            None,
            format!("the bytes differ, and it cannot be read: {error:#}"),
        )]),
    }
}

/// Members that differ: name and first difference. Members of one name are told apart by their order.
fn archives(left: &Archive<'_>, right: &Archive<'_>) -> Vec<(String, String)> {
    let (left, right) = (numbered(left), numbered(right));
    let names: BTreeSet<_> = left.keys().chain(right.keys()).collect();
    let mut found = Vec::new();
    for name in names {
        let what = match (left.get(name), right.get(name)) {
            (Some(left), Some(right)) if left == right => continue,
            (Some(left), Some(right)) => match compare::objects(left, right) {
                Ok(None) => continue,
                Ok(Some(difference)) => difference.to_string(),
                Err(error) => format!("the bytes differ, and it cannot be read: {error:#}"),
            },
            (Some(_), None) => "only in the first".to_owned(),
            _ => "only in the second".to_owned(),
        };
        found.push((name.0.clone(), what));
    }
    found
}

fn numbered<'a>(archive: &Archive<'a>) -> BTreeMap<(String, usize), &'a [u8]> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut members = BTreeMap::new();
    for member in archive.members() {
        let name = String::from_utf8_lossy(member.name).into_owned();
        let number = seen.entry(name.clone()).or_default();
        members.insert((name, *number), member.data);
        *number += 1;
    }
    members
}

/// A tree on disk, or one in a zip.
enum Side {
    Folder(PathBuf),
    Zip {
        zip: zip::ZipArchive<Cursor<Arc<[u8]>>>,
        /// Path relative to the tree -> name in the zip.
        files: BTreeMap<String, String>,
    },
}

impl Side {
    fn open(path: &Path) -> Result<Self> {
        if path.is_dir() {
            return Ok(Self::Folder(Tree::open(path)?.root().to_owned()));
        }
        let bytes: Arc<[u8]> = fs::read(path)?.into();
        let zip = zip::ZipArchive::new(Cursor::new(bytes)).with_context(|| {
            format!(
                "{} is neither a libraries tree nor a zip of one",
                path.display()
            )
        })?;
        let (mut roots, mut files) = (BTreeSet::new(), BTreeMap::new());
        for name in zip.file_names() {
            let name = name?.into_owned();
            let (root, below) = name.split_once('/').unwrap_or((&name, ""));
            roots.insert(root.to_owned());
            if !below.is_empty() && !below.ends_with('/') {
                files.insert(below.to_owned(), name);
            }
        }
        if roots.len() != 1 {
            bail!(
                "{} is no zip of libraries: its one root entry should be a folder",
                path.display()
            );
        }
        Ok(Self::Zip { zip, files })
    }

    /// Every file but the manifest, relative to the tree, with `/`.
    fn paths(&self) -> Result<BTreeSet<String>> {
        let mut paths: BTreeSet<String> = match self {
            Self::Folder(root) => files::paths(root)?
                .into_iter()
                .map(|(path, _)| path)
                .collect(),
            Self::Zip { files, .. } => files.keys().cloned().collect(),
        };
        paths.remove(manifest::FILE_NAME);
        Ok(paths)
    }

    fn read(&self, path: &str) -> Result<Vec<u8>> {
        match self {
            Self::Folder(root) => Ok(fs::read(root.join(path))?),
            Self::Zip { zip, files } => {
                // A clone shares the bytes and the directory; reading needs a position of its own.
                let mut zip = zip.clone();
                let mut entry = zip.by_name(&files[path])?;
                let mut bytes = Vec::new();
                entry
                    .read_to_end(&mut bytes)
                    .with_context(|| format!("reading {path}"))?;
                Ok(bytes)
            }
        }
    }
}
