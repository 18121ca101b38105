//! The demonstration's folder: what stands where in it, and what an earlier run left.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use fs_err as fs;
use serde::{Deserialize, Serialize};

use crate::exit::Refusal;
use crate::whole_file;
use crate::workdir::{Lock, WorkDir};

/// Marks a folder as a demonstration's, from before anything else is made in it.
const RECORD: &str = "demo.json";

/// What the parts that do not change between runs were made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Made {
    /// Hash over the sample upstream.
    pub(super) content: String,
    pub(super) core: String,
    pub(super) chip: String,
    /// Engine and image: another compiler gives other stock libraries.
    pub(super) engine: String,
}

/// The folder, held against a second run at the same time.
#[derive(Debug)]
pub(super) struct Folder {
    root: PathBuf,
    _lock: Lock,
}

impl Folder {
    /// Opens a folder that a demonstration made, or an empty one, or makes it.
    pub(super) fn open(dir: &Path) -> Result<Self> {
        let record = dir.join(RECORD);
        if !record.is_file() {
            if dir.is_dir() && fs::read_dir(dir)?.next().is_some() {
                bail!(Refusal::Usage(format!(
                    "{} holds files that no demonstration made; name an empty or a new folder with --dir",
                    dir.display()
                )));
            }
            fs::create_dir_all(dir)?;
            fs::write(&record, "null\n")?;
        }
        let work = WorkDir::open(dir).context("the demonstration's folder (--dir)")?;
        let lock = work.lock("demo", || {
            tracing::warn!("waiting for another demonstration in the same folder");
        })?;
        Ok(Self {
            root: work.root().to_owned(),
            _lock: lock,
        })
    }

    /// Bare repositories, in place of a server.
    pub(super) fn git(&self) -> PathBuf {
        self.root.join("git")
    }

    /// The work folder in which upstream built the release.
    pub(super) fn upstream(&self) -> PathBuf {
        self.root.join("upstream")
    }

    /// The Arduino data folder.
    pub(super) fn arduino(&self) -> PathBuf {
        self.root.join("Arduino15")
    }

    /// The work folder of the patched build.
    pub(super) fn work(&self) -> PathBuf {
        self.root.join("work")
    }

    /// Where the package goes.
    pub(super) fn dist(&self) -> PathBuf {
        self.root.join("dist")
    }

    /// The package of the quick build.
    pub(super) fn quick(&self) -> PathBuf {
        self.root.join("dist-quick")
    }

    /// Whether repositories and release stand here, complete, made from the same.
    pub(super) fn holds(&self, made: &Made) -> Result<bool> {
        let path = self.root.join(RECORD);
        let found: Option<Made> =
            serde_json::from_slice(&fs::read(&path)?).unwrap_or_else(|error| {
                tracing::debug!("{} is not of this version: {error}", path.display());
                None
            });
        let whole = self.git().is_dir() && self.arduino().is_dir();
        Ok(whole && found.as_ref() == Some(made))
    }

    /// Clears what an earlier run left, by name, so that nothing of another sample is used.
    pub(super) fn begin(&self) -> Result<()> {
        self.record("null\n")?;
        for folder in [
            self.git(),
            self.upstream(),
            self.arduino(),
            self.work(),
            self.dist(),
        ] {
            if folder.exists() {
                fs::remove_dir_all(folder)?;
            }
        }
        Ok(())
    }

    /// Records that repositories and release are complete.
    pub(super) fn complete(&self, made: &Made) -> Result<()> {
        self.record(&serde_json::to_string_pretty(made)?)
    }

    fn record(&self, text: &str) -> Result<()> {
        whole_file::replace(&self.root.join(RECORD), text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(engine: &str) -> Made {
        Made {
            content: "c".into(),
            core: "3.3.12".into(),
            chip: "esp32s3".into(),
            engine: engine.into(),
        }
    }

    #[test]
    fn a_folder_with_other_files_is_refused_and_left_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("git")).unwrap();
        let error = Folder::open(dir.path()).unwrap_err();
        assert_eq!(crate::exit::code(&error), 2);
        assert!(error.to_string().contains("--dir"), "{error}");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn only_what_was_completed_from_the_same_is_used_again() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("new");
        let folder = Folder::open(&root).unwrap();
        assert!(!folder.holds(&made("host")).unwrap());
        folder.begin().unwrap();
        for part in [folder.git(), folder.arduino()] {
            fs::create_dir(part).unwrap();
        }
        assert!(
            !folder.holds(&made("host")).unwrap(),
            "a run died before it was complete"
        );
        folder.complete(&made("host")).unwrap();
        drop(folder);
        let folder = Folder::open(&root).unwrap();
        assert!(folder.holds(&made("host")).unwrap());
        assert!(!folder.holds(&made("docker")).unwrap());
        fs::write(root.join("mine"), "").unwrap();
        folder.begin().unwrap();
        assert!(!folder.git().exists() && root.join("mine").exists());
        assert!(!folder.holds(&made("host")).unwrap());
    }
}
