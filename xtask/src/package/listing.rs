//! The files of a tree, in the order of the archive.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::exit::Refusal;

/// Largest file that a zip entry holds without the zip64 extension, which some installers lack.
const LARGEST: u64 = u32::MAX as u64 - 1;

/// One file to pack.
#[derive(Debug)]
pub(super) struct TreeFile {
    /// Path relative to the tree, with `/`.
    pub(super) name: String,
    /// Where it is.
    pub(super) disk: PathBuf,
    /// Its size in bytes when it was listed.
    pub(super) size: u64,
}

/// Every file below `tree`, sorted by name in byte order (as `LC_ALL=C sort` does). Empty folders count for nothing.
///
/// # Errors
/// A folder that cannot be read, and [`Refusal::Check`] with every link, device, over-large file and name that is not
/// Unicode, or for a tree without a file.
pub(super) fn list(tree: &Path) -> Result<Vec<TreeFile>> {
    let mut files = Vec::new();
    let mut refused = Vec::new();
    for entry in walkdir::WalkDir::new(tree) {
        let entry =
            entry.with_context(|| format!("reading the libraries tree {}", tree.display()))?;
        if entry.file_type().is_dir() {
            continue;
        }
        match tree_file(tree, &entry)? {
            Ok(file) => files.push(file),
            Err(finding) => refused.push(finding),
        }
    }
    if !refused.is_empty() {
        refused.sort();
        bail!(Refusal::Check(format!(
            "the libraries tree {} holds what a package cannot:\n  {}",
            tree.display(),
            refused.join("\n  ")
        )));
    }
    if files.is_empty() {
        bail!(Refusal::Check(format!(
            "the libraries tree {} holds no files; look into the build's log",
            tree.display()
        )));
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(files)
}

/// The entry as a file to pack, or why it cannot be one.
fn tree_file(tree: &Path, entry: &walkdir::DirEntry) -> Result<Result<TreeFile, String>> {
    let relative = entry.path().strip_prefix(tree).unwrap_or(entry.path());
    let shown = relative.display();
    let kind = entry.file_type();
    if kind.is_symlink() {
        return Ok(Err(format!(
            "`{shown}` is a link; put the file itself in its place"
        )));
    }
    if !kind.is_file() {
        return Ok(Err(format!("`{shown}` is neither a file nor a folder")));
    }
    let parts: Option<Vec<_>> = relative.iter().map(|part| part.to_str()).collect();
    let Some(parts) = parts else {
        return Ok(Err(format!("`{shown}`: the name is not Unicode")));
    };
    let size = entry.metadata().context("reading a file's size")?.len();
    if size > LARGEST {
        return Ok(Err(format!("`{shown}` is larger than 4 GiB")));
    }
    Ok(Ok(TreeFile {
        name: parts.join("/"),
        disk: entry.path().to_owned(),
        size,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fs_err as fs;

    fn tree(files: &[&str]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for file in files {
            let path = dir.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, file).unwrap();
        }
        dir
    }

    #[test]
    fn order_is_that_of_bytes_over_the_whole_path() {
        let dir = tree(&["b/x.a", "b-c/x.a", "b.a", "B/z", "a", "_"]);
        let names: Vec<_> = list(dir.path())
            .unwrap()
            .into_iter()
            .map(|f| f.name)
            .collect();
        assert_eq!(names, ["B/z", "_", "a", "b-c/x.a", "b.a", "b/x.a"]);
    }

    #[test]
    fn an_empty_or_missing_tree_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("lib")).unwrap();
        let error = list(dir.path()).unwrap_err();
        assert_eq!(crate::exit::code(&error), 3);
        assert!(error.to_string().contains("holds no files"), "{error}");
        let error = format!("{:#}", list(&dir.path().join("nothing")).unwrap_err());
        assert!(error.contains("nothing"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn links_and_specials_are_all_named() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;
        let dir = tree(&["lib/libhal.a"]);
        std::os::unix::fs::symlink("libhal.a", dir.path().join("lib/link.a")).unwrap();
        std::os::unix::fs::symlink(".", dir.path().join("loop")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(dir.path().join("socket")).unwrap();
        let odd = OsStr::from_bytes(b"odd\xff.h");
        // macOS refuses such a name itself.
        let odd_made = fs::write(dir.path().join(odd), "").is_ok();
        let error = list(dir.path()).unwrap_err();
        assert_eq!(crate::exit::code(&error), 3);
        let text = error.to_string();
        for name in [
            "lib/link.a` is a link",
            "loop` is a link",
            "socket` is neither",
        ] {
            assert!(text.contains(name), "{name}: {text}");
        }
        assert!(!odd_made || text.contains("not Unicode"), "{text}");
    }
}
