//! What differs between two libraries trees: files, members of archives, lines of sdkconfig.h.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use fs_err as fs;
use object::read::archive::ArchiveFile;
use serde::Serialize;

use crate::libs::{files, manifest};

/// The difference between a stock tree and a patched one. Paths are relative to the trees, with `/`.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Files that are the same, byte for byte.
    pub same: usize,
    /// Files that only the patched tree has.
    pub added: Vec<String>,
    /// Files that only the stock tree has.
    pub removed: Vec<String>,
    /// Files that both have and that differ.
    pub changed: Vec<Changed>,
}

/// A file that differs.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Changed {
    /// Which.
    pub path: String,
    /// Size in the stock tree, in bytes.
    pub before: u64,
    /// Size in the patched tree, in bytes.
    pub after: u64,
    /// What in it differs, where its kind is known.
    pub what: What,
}

/// What differs in a file.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// Members of an archive, in its order; a member that only one of the two has counts as well.
    Members(Vec<String>),
    /// Lines of a header.
    Lines {
        /// Lines that are new.
        added: Vec<String>,
        /// Lines that are gone.
        removed: Vec<String>,
    },
    /// Not looked into.
    Content,
}

/// Compares two libraries trees. The manifest of a package is no part of the libraries.
///
/// # Errors
/// A file that cannot be read; an archive that is none.
pub fn between(stock: &Path, patched: &Path) -> Result<Difference> {
    let (before, after) = (listed(stock)?, listed(patched)?);
    let only_in = |one: &BTreeMap<String, PathBuf>, other: &BTreeMap<String, PathBuf>| {
        one.keys()
            .filter(|path| !other.contains_key(*path))
            .cloned()
            .collect()
    };
    let mut difference = Difference {
        added: only_in(&after, &before),
        removed: only_in(&before, &after),
        ..Difference::default()
    };
    for (path, old) in &before {
        let Some(new) = after.get(path) else { continue };
        let (old, new) = (fs::read(old)?, fs::read(new)?);
        if old == new {
            difference.same += 1;
            continue;
        }
        difference.changed.push(Changed {
            path: path.clone(),
            before: old.len() as u64,
            after: new.len() as u64,
            what: what(path, &old, &new)?,
        });
    }
    Ok(difference)
}

fn listed(root: &Path) -> Result<BTreeMap<String, PathBuf>> {
    let mut paths: BTreeMap<String, PathBuf> = files::paths(root)?.into_iter().collect();
    paths.remove(manifest::FILE_NAME);
    Ok(paths)
}

fn what(path: &str, old: &[u8], new: &[u8]) -> Result<What> {
    if path.ends_with(".a") {
        let context = || format!("reading the members of {path}");
        let (old, new) = (
            members(old).with_context(context)?,
            members(new).with_context(context)?,
        );
        return Ok(What::Members(differing(&old, &new)));
    }
    if path.ends_with("sdkconfig.h") {
        let (old, new) = (String::from_utf8_lossy(old), String::from_utf8_lossy(new));
        return Ok(What::Lines {
            added: lines_missing(&new, &old),
            removed: lines_missing(&old, &new),
        });
    }
    Ok(What::Content)
}

/// A name may occur twice, so a member is known by its name and by how many of that name stood before it.
type Members<'a> = Vec<((String, usize), &'a [u8])>;

fn members(archive: &[u8]) -> Result<Members<'_>> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut members = Vec::new();
    for member in ArchiveFile::parse(archive)?.members() {
        let member = member?;
        let name = String::from_utf8_lossy(member.name()).into_owned();
        let count = seen.entry(name.clone()).or_default();
        members.push(((name, *count), member.data(archive)?));
        *count += 1;
    }
    Ok(members)
}

fn differing(old: &Members<'_>, new: &Members<'_>) -> Vec<String> {
    let find = |members: &Members<'_>, key: &(String, usize)| {
        members
            .iter()
            .find(|(found, _)| found == key)
            .map(|(_, data)| data.to_vec())
    };
    let gone = old.iter().filter(|(key, _)| find(new, key).is_none());
    let changed = new
        .iter()
        .filter(|(key, data)| find(old, key).as_deref() != Some(*data));
    changed
        .chain(gone)
        .map(|((name, _), _)| name.clone())
        .collect()
}

/// Lines of `one` that `other` does not have, in order.
fn lines_missing(one: &str, other: &str) -> Vec<String> {
    let other: BTreeSet<&str> = other.lines().collect();
    one.lines()
        .filter(|line| !other.contains(line))
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An archive as `ar` writes it, from names shorter than 16 and content.
    fn archive(members: &[(&str, &str)]) -> Vec<u8> {
        let mut bytes = b"!<arch>\n".to_vec();
        for (name, content) in members {
            let header = format!(
                "{:<16}0           0     0     644     {:<10}`\n",
                format!("{name}/"),
                content.len()
            );
            bytes.extend(header.bytes());
            bytes.extend(content.bytes());
            if content.len() % 2 == 1 {
                bytes.push(b'\n');
            }
        }
        bytes
    }

    fn tree(files: &[(&str, &[u8])]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        dir
    }

    #[test]
    fn files_members_and_lines_are_told_apart() {
        let old = archive(&[
            ("a.c.obj", "one"),
            ("twice.c.obj", "first"),
            ("twice.c.obj", "second"),
            ("gone.c.obj", "x"),
        ]);
        let new = archive(&[
            ("a.c.obj", "one"),
            ("twice.c.obj", "first"),
            ("twice.c.obj", "other"),
            ("new.c.obj", "y"),
        ]);
        let stock = tree(&[
            ("v/lib.a", &old),
            ("v/include/sdkconfig.h", b"#define A 1\n#define B 1\n"),
            ("same", b"s"),
            ("only-stock", b""),
        ]);
        let patched = tree(&[
            ("v/lib.a", &new),
            ("v/include/sdkconfig.h", b"#define A 1\n#define C 1\n"),
            ("same", b"s"),
            ("only-patched", b""),
            (manifest::FILE_NAME, b"{}"),
        ]);
        let difference = between(stock.path(), patched.path()).unwrap();
        assert_eq!(difference.same, 1);
        assert_eq!(difference.added, ["only-patched"]);
        assert_eq!(difference.removed, ["only-stock"]);
        let what: Vec<&What> = difference
            .changed
            .iter()
            .map(|changed| &changed.what)
            .collect();
        let lines = What::Lines {
            added: vec!["#define C 1".into()],
            removed: vec!["#define B 1".into()],
        };
        let members = What::Members(
            ["twice.c.obj", "new.c.obj", "gone.c.obj"]
                .map(String::from)
                .into(),
        );
        assert_eq!(what, [&lines, &members]);
        let none = between(stock.path(), stock.path()).unwrap();
        assert_eq!((none.same, none.changed.len()), (4, 0));
    }

    #[test]
    fn an_archive_that_is_none_is_named() {
        let (one, two) = (
            tree(&[("lib/x.a", b"no")]),
            tree(&[("lib/x.a", b"neither")]),
        );
        let error = format!("{:#}", between(one.path(), two.path()).unwrap_err());
        assert!(error.contains("lib/x.a"), "{error}");
    }
}
