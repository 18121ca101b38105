//! The list of a tree's files.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use walkdir::WalkDir;

use crate::exit::Refusal;

/// One file of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeFile {
    /// Path relative to the tree, with `/`.
    pub name: String,
    /// Where it is.
    pub disk: PathBuf,
    /// Its size in bytes when it was listed.
    pub size: u64,
}

/// All that stands in a folder, folders excepted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Walked {
    /// Plain files, sorted by name in byte order (as `LC_ALL=C sort` does).
    pub files: Vec<TreeFile>,
    /// What no libraries tree holds, each with why: links, special files, names that are not Unicode; sorted.
    pub odd: Vec<String>,
}

/// Lists what stands below `root`; a link is not followed, but `root` itself may be one.
///
/// # Errors
/// A folder that cannot be read.
pub fn walk(root: &Path) -> Result<Walked> {
    let mut walked = Walked::default();
    for entry in WalkDir::new(root).follow_root_links(true) {
        let entry = entry.with_context(|| format!("listing {}", root.display()))?;
        if entry.file_type().is_dir() {
            continue;
        }
        match tree_file(root, entry)? {
            Ok(file) => walked.files.push(file),
            Err(why) => walked.odd.push(why),
        }
    }
    walked.files.sort_by(|a, b| a.name.cmp(&b.name));
    walked.odd.sort();
    Ok(walked)
}

/// The entry as a plain file, or why it is none.
fn tree_file(root: &Path, entry: walkdir::DirEntry) -> Result<Result<TreeFile, String>> {
    let below = entry.path().strip_prefix(root).unwrap_or(entry.path());
    let shown = below.display();
    let kind = entry.file_type();
    if kind.is_symlink() {
        return Ok(Err(format!(
            "`{shown}` is a link; put the file itself in its place"
        )));
    }
    if !kind.is_file() {
        return Ok(Err(format!("`{shown}` is neither a file nor a folder")));
    }
    let parts: Option<Vec<_>> = below.iter().map(|part| part.to_str()).collect();
    let Some(parts) = parts else {
        return Ok(Err(format!("`{shown}`: the name is not Unicode")));
    };
    let name = parts.join("/");
    let size = entry.metadata().context("reading a file's size")?.len();
    Ok(Ok(TreeFile {
        name,
        disk: entry.into_path(),
        size,
    }))
}

/// Every file below `root`: its path relative to `root` with `/`, and where it stands; sorted by the former's bytes.
///
/// # Errors
/// [`Refusal::Check`] where anything but plain files with Unicode names stands there.
pub(crate) fn paths(root: &Path) -> Result<Vec<(String, PathBuf)>> {
    let walked = walk(root)?;
    if !walked.odd.is_empty() {
        bail!(Refusal::Check(format!(
            "{} holds what no libraries tree does:\n  {}",
            root.display(),
            walked.odd.join("\n  ")
        )));
    }
    Ok(walked
        .files
        .into_iter()
        .map(|file| (file.name, file.disk))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use fs_err as fs;

    fn tree() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in [("lib/b.a", "abc"), ("lib.txt", ""), ("lib/B.a", "x")] {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        dir
    }

    #[test]
    fn paths_are_sorted_by_bytes() {
        let dir = tree();
        let paths = paths(dir.path()).unwrap();
        let names: Vec<_> = paths.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["lib.txt", "lib/B.a", "lib/b.a"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_specials_and_odd_names_are_refused_by_name() {
        use std::os::unix::ffi::OsStrExt;
        let dir = tree();
        std::os::unix::fs::symlink("b.a", dir.path().join("lib/link.a")).unwrap();
        let error = paths(dir.path()).unwrap_err();
        assert_eq!(crate::exit::code(&error), 3);
        let error = error.to_string();
        assert!(
            error.contains("link.a") && error.contains("is a link"),
            "{error}"
        );

        let dir = tree();
        let _socket =
            std::os::unix::net::UnixListener::bind(dir.path().join("lib/socket")).unwrap();
        let error = paths(dir.path()).unwrap_err().to_string();
        assert!(
            error.contains("socket") && error.contains("neither a file nor a folder"),
            "{error}"
        );

        let dir = tree();
        if fs::write(
            dir.path().join(std::ffi::OsStr::from_bytes(b"caf\xe9.h")),
            "",
        )
        .is_err()
        {
            return crate::testing::skipped("odd names", "this file system takes UTF-8 names only");
        }
        let error = paths(dir.path()).unwrap_err().to_string();
        assert!(
            error.contains("caf") && error.contains("not Unicode"),
            "{error}"
        );
    }
}
