//! The files of a tree, in the order of the archive.

use std::path::Path;

use anyhow::{Result, bail};

use crate::exit::Refusal;
use crate::libs::files::{self, TreeFile, Walked};

/// Largest file that a zip entry holds without the zip64 extension, which some installers lack.
const LARGEST: u64 = u32::MAX as u64 - 1;

/// Every file below `tree`, sorted by name in byte order. Empty folders count for nothing.
///
/// # Errors
/// A folder that cannot be read, and [`Refusal::Check`] with every link, device, over-large file and name that is not
/// Unicode, or for a tree without a file.
pub(super) fn list(tree: &Path) -> Result<Vec<TreeFile>> {
    let Walked { files, odd } = files::walk(tree)?;
    let large = files.iter().filter(|file| file.size > LARGEST);
    let large = large.map(|file| format!("`{}` is larger than 4 GiB", file.name));
    let refused: Vec<String> = odd.into_iter().chain(large).collect();
    if !refused.is_empty() {
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
    Ok(files)
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
