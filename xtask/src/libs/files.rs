//! The list of a tree's files with their hashes.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use walkdir::WalkDir;

use crate::exit::Refusal;

/// Every file below `root`: its path relative to `root` with `/`, and where it stands; sorted by the former's bytes.
pub(crate) fn paths(root: &Path) -> Result<Vec<(String, PathBuf)>> {
    let mut paths = Vec::new();
    for entry in WalkDir::new(root).follow_root_links(true) {
        let entry = entry.with_context(|| format!("listing {}", root.display()))?;
        if entry.file_type().is_dir() {
            continue;
        }
        if !entry.file_type().is_file() {
            let kind = if entry.path_is_symlink() {
                "a symbolic link"
            } else {
                "not a regular file"
            };
            bail!(Refusal::Check(format!(
                "{} is {kind}; a libraries tree holds plain files only",
                entry.path().display()
            )));
        }
        paths.push((relative(root, entry.path())?, entry.into_path()));
    }
    paths.sort();
    Ok(paths)
}

fn relative(root: &Path, path: &Path) -> Result<String> {
    let below = path
        .strip_prefix(root)
        .with_context(|| format!("listing {}", root.display()))?;
    let mut parts = Vec::new();
    for part in below.components() {
        match part.as_os_str().to_str() {
            Some(part) => parts.push(part),
            None => bail!(
                "the name of {} is not UTF-8; rename or remove it",
                path.display()
            ),
        }
    }
    Ok(parts.join("/"))
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
            error.contains("link.a") && error.contains("symbolic link"),
            "{error}"
        );

        let dir = tree();
        let _socket =
            std::os::unix::net::UnixListener::bind(dir.path().join("lib/socket")).unwrap();
        let error = paths(dir.path()).unwrap_err().to_string();
        assert!(
            error.contains("socket") && error.contains("not a regular file"),
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
        assert!(error.contains("caf") && error.contains("UTF-8"), "{error}");
    }
}
