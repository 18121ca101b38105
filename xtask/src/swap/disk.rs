//! Every step that changes something on the disk, so that tests can let each one fail, or be the last of a killed run.

use std::io;
use std::path::Path;

use anyhow::Result;
use fs_err as fs;

use crate::{patient_rename, whole_file};

/// What a swap does to a disk.
pub trait Disk: Sync {
    /// Makes a folder whose parent is there.
    fn create_dir(&self, path: &Path) -> io::Result<()>;
    /// Writes a new file.
    fn write(&self, path: &Path, content: &[u8], executable: bool) -> io::Result<()>;
    /// Writes a file in one step, durably; the old one stays until the new one is there.
    fn replace(&self, path: &Path, content: &[u8]) -> Result<()>;
    /// Renames; nothing may stand at `to`.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove_file(&self, path: &Path) -> io::Result<()>;
    /// Removes a folder and all below it; links are removed, not followed.
    fn remove_tree(&self, path: &Path) -> io::Result<()>;
    /// Waits until all files and folders below `root` are on the disk.
    fn sync_tree(&self, root: &Path) -> io::Result<()>;
    /// Waits until the names in a folder are on the disk.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;
}

/// The real one.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealDisk;

impl Disk for RealDisk {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        fs::create_dir(path)
    }

    fn write(&self, path: &Path, content: &[u8], executable: bool) -> io::Result<()> {
        use std::io::Write;
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        {
            use fs_err::os::unix::fs::OpenOptionsExt;
            options.mode(if executable { 0o777 } else { 0o666 });
        }
        #[cfg(not(unix))]
        let _ = executable;
        options.open(path)?.write_all(content)
    }

    fn replace(&self, path: &Path, content: &[u8]) -> Result<()> {
        whole_file::replace(path, content)?;
        if let Some(folder) = path.parent() {
            self.sync_dir(folder)?;
        }
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        // Unix would put a folder over an empty one.
        if to.symlink_metadata().is_ok() {
            return Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                format!("{} is in the way", to.display()),
            ));
        }
        patient_rename::rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn remove_tree(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir_all(path)
    }

    fn sync_tree(&self, root: &Path) -> io::Result<()> {
        sync_tree(root)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        // Windows has no such call; there the journal of NTFS keeps the order of renames.
        if cfg!(unix) {
            fs::File::open(path)?.sync_all()?;
        }
        Ok(())
    }
}

/// One call for the whole file system, in place of one for every file.
#[cfg(target_os = "linux")]
fn sync_tree(root: &Path) -> io::Result<()> {
    let folder = fs::File::open(root)?;
    rustix::fs::syncfs(&folder).map_err(io::Error::from)
}

/// Every file by itself, all cores at once: neither macOS nor Windows has a call for the whole file system that waits.
#[cfg(not(target_os = "linux"))]
fn sync_tree(root: &Path) -> io::Result<()> {
    use rayon::prelude::*;
    let entries: Vec<_> = walkdir::WalkDir::new(root)
        .into_iter()
        .collect::<Result<_, _>>()?;
    entries.par_iter().try_for_each(|entry| {
        if entry.file_type().is_dir() {
            RealDisk.sync_dir(entry.path())
        } else {
            // Windows syncs only what is open for writing.
            let file = fs::OpenOptions::new().write(true).open(entry.path())?;
            file.sync_all()
        }
    })
}
