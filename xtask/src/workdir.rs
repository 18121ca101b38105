//! The folder that holds all that the tool fetches and builds, and its locks.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use fs_err as fs;

/// Mirrors, work trees, caches, logs and downloads below one folder (default `target/xip`).
#[derive(Debug, Clone)]
pub struct WorkDir {
    root: PathBuf,
}

impl WorkDir {
    /// Opens (and makes) the folder; its path becomes absolute, without `\\?\` on Windows.
    pub fn open(root: &Path) -> Result<Self> {
        fs::create_dir_all(root)?;
        let root =
            dunce::canonicalize(root).with_context(|| format!("resolving {}", root.display()))?;
        Ok(Self { root })
    }

    /// The folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Bare git mirrors, one a repository.
    pub fn mirrors(&self) -> PathBuf {
        self.root.join("mirrors")
    }

    /// Work trees, one a set of pins.
    pub fn trees(&self) -> PathBuf {
        self.root.join("trees")
    }

    /// What builds keep between runs: `idf-tools`, `ccache`, `components`.
    pub fn cache(&self) -> PathBuf {
        self.root.join("cache")
    }

    /// Files fetched by HTTP, complete and hashed.
    pub fn downloads(&self) -> PathBuf {
        self.root.join("downloads")
    }

    /// Whole logs of builds.
    pub fn logs(&self) -> PathBuf {
        self.root.join("logs")
    }

    /// Takes the lock `name`, waiting for another run that holds it; `waiting` is called once if it has to wait.
    ///
    /// The lock is the operating system's, so a run that dies gives it up.
    pub fn lock(&self, name: &str, waiting: impl FnOnce()) -> Result<Lock> {
        let dir = self.root.join("locks");
        fs::create_dir_all(&dir)?;
        let path = dir.join(format!("{name}.lock"));
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .with_context(|| format!("opening the lock {}", path.display()))?;
        match file.try_lock() {
            Ok(()) => return Ok(Lock { _file: file }),
            Err(std::fs::TryLockError::WouldBlock) => waiting(),
            Err(std::fs::TryLockError::Error(error)) => {
                bail!("locking {}: {error}", path.display())
            }
        }
        file.lock()
            .with_context(|| format!("locking {}", path.display()))?;
        Ok(Lock { _file: file })
    }
}

/// A lock held until dropped.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn a_second_holder_waits_for_the_first() {
        let dir = tempfile::tempdir().unwrap();
        let work = WorkDir::open(dir.path()).unwrap();
        let first = work.lock("mirror", || panic!("nobody holds it")).unwrap();
        let (waited, got) = (AtomicBool::new(false), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _second = work
                    .lock("mirror", || waited.store(true, Ordering::SeqCst))
                    .unwrap();
                got.store(true, Ordering::SeqCst);
            });
            while !waited.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
            assert!(!got.load(Ordering::SeqCst));
            drop(first);
        });
        assert!(got.load(Ordering::SeqCst));
    }
}
