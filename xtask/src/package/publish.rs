//! Puts the three files of a package into the output folder, so that no half of one ever stands there.
//!
//! Each file is written under a hidden name (`.<name>.<process>-<n>.part`), synced, and renamed. A `.sha256` of another
//! zip must never stand beside a zip, so the old `.sha256` and `.json` step aside first, then come the zip, the
//! `.json` and, last, the `.sha256`: where it stands, all is complete.

use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use fs_err as fs;
use fs_err::File;

use crate::patient_rename;

/// The steps on the output folder that can fail or be the last of a killed run; tests put failing ones in their place.
pub(super) trait Disk {
    /// Makes a file that must not exist.
    fn create(&self, path: &Path) -> io::Result<File>;
    /// Waits until the file's content is on the disk.
    fn sync(&self, file: &File) -> io::Result<()>;
    /// Renames a file over whatever file has that name.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
}

/// The real one.
pub(super) struct RealDisk;

impl Disk for RealDisk {
    fn create(&self, path: &Path) -> io::Result<File> {
        let mut options = fs::OpenOptions::new();
        options.read(true).write(true).create_new(true).open(path)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        file.sync_all()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        patient_rename::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }
}

/// A package on its way into the output folder. Dropped before it is published, it leaves nothing.
pub(super) struct Publication<'d> {
    folder: Folder<'d>,
    zip: Staged<'d>,
}

impl<'d> Publication<'d> {
    /// Removes what killed runs of the same package left, and makes the zip's temporary file.
    pub(super) fn begin(disk: &'d dyn Disk, out: &Path, stem: &str) -> Result<Self> {
        let folder = Folder {
            disk,
            out: out.to_owned(),
            stem: stem.to_owned(),
        };
        let _alone = Alone::in_folder(out)?;
        folder.remove_leftovers()?;
        let zip = folder.stage(".zip")?;
        // While this lock is held, other runs know that the file is no leftover.
        if let Err(error) = zip.file.lock() {
            tracing::debug!("no locks in {}: {error}", out.display());
        }
        Ok(Self { folder, zip })
    }

    /// The zip's temporary file, open for reading and writing.
    pub(super) fn zip(&self) -> &File {
        &self.zip.file
    }

    /// Publishes the zip, which is complete and synced, with its hash and its manifest; gives the zip's path.
    pub(super) fn publish(self, sha256: &str, json: &str) -> Result<PathBuf> {
        let Self { folder, zip } = self;
        let _alone = Alone::in_folder(&folder.out)?;
        let path = folder.path(".zip");
        let sum = format!("{sha256}  {}.zip\n", folder.stem);
        let sum = folder.stage_text(".zip.sha256", &sum)?;
        let json = folder.stage_text(".json", json)?;
        let old_sum = folder.set_aside(".zip.sha256")?;
        let old_json = folder.set_aside(".json")?;
        zip.publish()?;
        // From here on the old ones belong to no zip.
        drop((old_sum.map(Aside::forget), old_json.map(Aside::forget)));
        json.publish()
            .and_then(|()| sum.publish())
            .with_context(|| {
                format!(
                    "{} is complete, but what belongs beside it is not",
                    path.display()
                )
            })?;
        sync_folder(&folder.out);
        Ok(path)
    }
}

/// The output folder, as one package sees it.
struct Folder<'d> {
    disk: &'d dyn Disk,
    out: PathBuf,
    stem: String,
}

impl<'d> Folder<'d> {
    fn path(&self, extension: &str) -> PathBuf {
        self.out.join(format!("{}{extension}", self.stem))
    }

    fn temporary(&self, extension: &str, n: u32) -> PathBuf {
        let process = std::process::id();
        self.out
            .join(format!(".{}{extension}.{process}-{n}.part", self.stem))
    }

    fn stage(&self, extension: &str) -> Result<Staged<'d>> {
        for n in 0..100 {
            let temporary = self.temporary(extension, n);
            match self.disk.create(&temporary) {
                Ok(file) => {
                    return Ok(Staged {
                        disk: self.disk,
                        file,
                        temporary,
                        target: self.path(extension),
                        published: false,
                    });
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error).context("writing the package"),
            }
        }
        bail!(
            "{} is full of .part files that other runs hold; end those runs",
            self.out.display()
        )
    }

    fn stage_text(&self, extension: &str, text: &str) -> Result<Staged<'d>> {
        let mut staged = self.stage(extension)?;
        staged.file.write_all(text.as_bytes())?;
        self.disk.sync(&staged.file)?;
        Ok(staged)
    }

    /// Moves a file of the package before to a temporary name; it comes back unless it is forgotten.
    fn set_aside(&self, extension: &str) -> Result<Option<Aside<'d>>> {
        let target = self.path(extension);
        let temporary = self.temporary(&format!("{extension}.old"), 0);
        match self.disk.rename(&target, &temporary) {
            Ok(()) => Ok(Some(Aside {
                disk: self.disk,
                temporary,
                target,
                restore: true,
            })),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).context("replacing the package that is there"),
        }
    }

    /// Removes `.part` files of this package that no running process holds.
    fn remove_leftovers(&self) -> Result<()> {
        let prefix = format!(".{}.", self.stem);
        for entry in fs::read_dir(&self.out)? {
            let entry = entry?;
            let name = entry.file_name();
            let ours = name
                .to_str()
                .is_some_and(|name| name.starts_with(&prefix) && name.ends_with(".part"));
            if ours && entry.file_type()?.is_file() && is_left(&entry.path()) {
                tracing::info!(
                    "removing {}, which a killed run left",
                    entry.path().display()
                );
                remove_or_log(self.disk, &entry.path());
            }
        }
        Ok(())
    }
}

/// Whether no running process holds the lock on the file, as far as the file system can tell.
fn is_left(path: &Path) -> bool {
    let file = File::options().read(true).write(true).open(path);
    file.is_ok_and(|file| file.try_lock().is_ok())
}

/// A file under its temporary name; removed when dropped, unless published.
struct Staged<'d> {
    disk: &'d dyn Disk,
    file: File,
    temporary: PathBuf,
    target: PathBuf,
    published: bool,
}

impl Staged<'_> {
    fn publish(mut self) -> Result<()> {
        self.disk
            .rename(&self.temporary, &self.target)
            .with_context(|| format!("putting {} in place", self.target.display()))?;
        self.published = true;
        Ok(())
    }
}

impl Drop for Staged<'_> {
    fn drop(&mut self) {
        if !self.published {
            remove_or_log(self.disk, &self.temporary);
        }
    }
}

/// A file of the package before, under a temporary name; when dropped it comes back, or goes if forgotten.
struct Aside<'d> {
    disk: &'d dyn Disk,
    temporary: PathBuf,
    target: PathBuf,
    restore: bool,
}

impl Aside<'_> {
    fn forget(mut self) -> Self {
        self.restore = false;
        self
    }
}

impl Drop for Aside<'_> {
    fn drop(&mut self) {
        if !self.restore {
            remove_or_log(self.disk, &self.temporary);
        } else if let Err(error) = self.disk.rename(&self.temporary, &self.target) {
            tracing::warn!("{} is lost: {error}", self.target.display());
        }
    }
}

fn remove_or_log(disk: &dyn Disk, path: &Path) {
    if let Err(error) = disk.remove(path) {
        tracing::warn!("{} is left over: {error}", path.display());
    }
}

/// Holds the output folder, so that two runs that publish at once do not mix their files. The system gives it up when
/// the process dies.
struct Alone {
    _handle: std::fs::File,
}

impl Alone {
    #[cfg(not(windows))]
    fn in_folder(out: &Path) -> Result<Self> {
        let handle = File::open(out)?.into_file();
        if let Err(error) = handle.lock() {
            // Some network file systems have no locks; one run at a time is safe there.
            tracing::debug!("no locks in {}: {error}", out.display());
        }
        Ok(Self { _handle: handle })
    }

    /// Windows has no locks on folders: a file that nobody else may open, and that goes with its handle, stands for one.
    #[cfg(windows)]
    fn in_folder(out: &Path) -> Result<Self> {
        use std::os::windows::fs::OpenOptionsExt;
        const GENERIC_WRITE_AND_DELETE: u32 = 0x4001_0000;
        const FILE_FLAG_DELETE_ON_CLOSE: u32 = 0x0400_0000;
        let path = out.join(".package.lock");
        for _ in 0..400 {
            let opened = std::fs::OpenOptions::new()
                .write(true)
                .create(true)
                .access_mode(GENERIC_WRITE_AND_DELETE)
                .share_mode(0)
                .custom_flags(FILE_FLAG_DELETE_ON_CLOSE)
                .open(&path);
            match opened {
                Ok(handle) => return Ok(Self { _handle: handle }),
                // ERROR_ACCESS_DENIED (being deleted) or ERROR_SHARING_VIOLATION.
                Err(error) if matches!(error.raw_os_error(), Some(5 | 32)) => {
                    std::thread::sleep(std::time::Duration::from_millis(50));
                }
                Err(error) => {
                    return Err(error).with_context(|| format!("locking {}", out.display()));
                }
            }
        }
        bail!("another run holds {}; end it", path.display())
    }
}

/// Makes the renames themselves last through a power cut, where the system can.
fn sync_folder(out: &Path) {
    if cfg!(unix)
        && let Err(error) = File::open(out).and_then(|folder| folder.sync_all())
    {
        tracing::debug!("syncing {}: {error}", out.display());
    }
}
