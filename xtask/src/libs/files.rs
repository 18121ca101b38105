//! The list of a tree's files with their hashes.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use fs_err as fs;
use rayon::prelude::*;
use sha2::{Digest, Sha256};
use walkdir::WalkDir;

use super::manifest::{self, FileRecord};
use crate::exit::Refusal;

/// Size and SHA-256 of every file below `root` but the manifest at its top, sorted by path in byte order.
///
/// # Errors
/// [`Refusal::Check`] for a symbolic link, a device or the like; a name that is not UTF-8: each by its name.
pub fn records(root: &Path) -> Result<Vec<FileRecord>> {
    let mut paths = paths(root)?;
    paths.retain(|(name, _)| name != manifest::FILE_NAME);
    paths
        .into_par_iter()
        .map(|(path, on_disk)| {
            let (size, sha256) = hash(&on_disk)?;
            Ok(FileRecord { path, size, sha256 })
        })
        .collect()
}

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
            None => bail!("the name of {} is not UTF-8; rename or remove it", path.display()),
        }
    }
    Ok(parts.join("/"))
}

/// Writes a file in one step: until the new content is on the disk, the old file stays. It keeps the old file's permissions.
pub(crate) fn replace(path: &Path, content: &[u8]) -> Result<()> {
    let dir = path.parent().unwrap_or(Path::new("."));
    let writing = || format!("writing {}", path.display());
    let builder = tempfile::Builder::new();
    // Temporary files are their owner's alone; a new file of ours is as open as the user's umask says.
    #[cfg(unix)]
    let builder = {
        let mut builder = builder;
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        builder
    };
    let mut file = builder.tempfile_in(dir).with_context(writing)?;
    file.write_all(content).with_context(writing)?;
    if path.exists() {
        fs::set_permissions(file.path(), fs::metadata(path)?.permissions())?;
    }
    file.as_file().sync_all().with_context(writing)?;
    file.persist(path).with_context(writing)?;
    Ok(())
}

/// Size and SHA-256 (lower-case hex) of a file.
pub(crate) fn hash(path: &Path) -> Result<(u64, String)> {
    let mut file = fs::File::open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 256 * 1024];
    let mut size = 0;
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        hasher.update(&buffer[..count]);
        size += count as u64;
    }
    let sha256 = hasher
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    Ok((size, sha256))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("lib/b.a", "abc"),
            ("lib.txt", ""),
            ("lib/B.a", "x"),
            (manifest::FILE_NAME, "{}"),
            ("lib/libs-manifest.json", "y"),
        ] {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        dir
    }

    #[test]
    fn paths_are_sorted_by_bytes_and_only_the_top_manifest_is_left_out() {
        let dir = tree();
        let records = records(dir.path()).unwrap();
        let paths: Vec<_> = records.iter().map(|record| record.path.as_str()).collect();
        assert_eq!(paths, ["lib.txt", "lib/B.a", "lib/b.a", "lib/libs-manifest.json"]);
        assert_eq!((records[0].size, records[2].size), (0, 3));
        assert_eq!(
            records[2].sha256,
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[cfg(unix)]
    #[test]
    fn links_specials_and_odd_names_are_refused_by_name() {
        use std::os::unix::ffi::OsStrExt;
        let dir = tree();
        std::os::unix::fs::symlink("b.a", dir.path().join("lib/link.a")).unwrap();
        let error = records(dir.path()).unwrap_err();
        assert_eq!(crate::exit::code(&error), 3);
        let error = error.to_string();
        assert!(
            error.contains("link.a") && error.contains("symbolic link"),
            "{error}"
        );

        let dir = tree();
        let _socket = std::os::unix::net::UnixListener::bind(dir.path().join("lib/socket")).unwrap();
        let error = records(dir.path()).unwrap_err().to_string();
        assert!(
            error.contains("socket") && error.contains("not a regular file"),
            "{error}"
        );

        let dir = tree();
        if fs::write(dir.path().join(std::ffi::OsStr::from_bytes(b"caf\xe9.h")), "").is_err() {
            return crate::testing::skipped("odd names", "this file system takes UTF-8 names only");
        }
        let error = records(dir.path()).unwrap_err().to_string();
        assert!(error.contains("caf") && error.contains("UTF-8"), "{error}");
    }
}
