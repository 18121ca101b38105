//! Files that are there whole or not at all.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use fs_err as fs;

use crate::patient_rename;

/// Writes a file in one step: until the new content is on the disk, the old file stays. It keeps the old file's permissions.
///
/// # Errors
/// The folder is missing or cannot be written to; the disk is full. The old file is untouched then.
pub fn replace(path: &Path, content: &[u8]) -> Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let writing = || format!("writing {}", path.display());
    let mut builder = tempfile::Builder::new();
    // A name that git, too, takes for something left over and clears away.
    builder.prefix("tmp_");
    // Temporary files are their owner's alone; a new file of ours is as open as the user's umask says.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = builder.tempfile_in(folder).with_context(writing)?;
    file.write_all(content).with_context(writing)?;
    if path.exists() {
        fs::set_permissions(file.path(), fs::metadata(path)?.permissions())?;
    }
    file.as_file().sync_all().with_context(writing)?;
    // Not `persist`, which gives up at once where a virus scanner holds one of the two.
    let (open, temporary) = file.keep().with_context(writing)?;
    drop(open);
    patient_rename::rename(&temporary, path)
        .inspect_err(|_| drop(fs::remove_file(&temporary)))
        .with_context(writing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_and_nothing_else_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.json");
        replace(&path, b"first").unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let plain = dir.path().join("plain");
            fs::write(&plain, "").unwrap();
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
            assert_eq!(
                mode(&path),
                mode(&plain),
                "as open as a file written plainly"
            );
            fs::remove_file(plain).unwrap();
            fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
            replace(&path, b"second").unwrap();
            assert_eq!(mode(&path) & 0o777, 0o640);
        }
        replace(&path, b"third").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"third");
        assert_eq!(
            fs::read_dir(dir.path()).unwrap().count(),
            1,
            "no temporary file stays"
        );
    }

    #[test]
    fn where_a_folder_has_the_name_nothing_is_left() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        fs::create_dir(&path).unwrap();
        assert!(replace(&path, b"text").is_err());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_missing_folder_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let error = format!("{:#}", replace(&dir.path().join("no/a"), b"").unwrap_err());
        assert!(error.contains("no"), "{error}");
    }
}
