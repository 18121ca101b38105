//! The files of an installed core that decide about the menu, and the one that gets it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use fs_err as fs;

use super::block::{self, Offers};
use super::boards::{self, Boards};
use super::properties::Properties;
use crate::arduino::Os;
use crate::exit::Refusal;
use crate::names::Chip;
use crate::swap::disk::Disk;

/// The folder of an installed core, `<data>/packages/esp32/hardware/esp32/<core>`.
#[derive(Debug, Clone)]
pub(super) struct Platform<'a> {
    pub(super) folder: &'a Path,
}

impl Platform<'_> {
    /// The file that gets the menu.
    pub(super) fn local_file(&self) -> PathBuf {
        self.folder.join("boards.local.txt")
    }

    /// Its content, `None` where there is none.
    ///
    /// # Errors
    /// [`Refusal::Check`] where it is a link: to replace it would cut it off from what it points to.
    pub(super) fn local(&self) -> Result<Option<Vec<u8>>> {
        let path = self.local_file();
        match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
            Ok(found) if !found.is_file() => bail!(Refusal::Check(format!(
                "{} is no plain file; nothing was changed. Put one in its place, or install without --as menu",
                path.display()
            ))),
            Ok(_) => {}
        }
        Ok(Some(fs::read(&path)?))
    }

    /// What the menu offers; nothing where there is no menu.
    ///
    /// # Errors
    /// [`Refusal::Check`] where the block was changed by hand.
    pub(super) fn offers(&self) -> Result<Offers> {
        match self.local()? {
            Some(file) => self.judged(block::offers(&file)),
            None => Ok(Offers::new()),
        }
    }

    /// The file with a menu of these offers: `None` where it is to be as if there had never been one, and there was no file.
    ///
    /// # Errors
    /// As [`Self::offers`].
    pub(super) fn with(&self, file: Option<&[u8]>, offers: &Offers) -> Result<Option<Vec<u8>>> {
        if offers.is_empty() {
            return match file {
                None => Ok(None),
                Some(file) => Ok(self
                    .judged(block::take(file))?
                    .unwrap_or_else(|| Some(file.to_vec()))),
            };
        }
        let mut boards = BTreeMap::new();
        for (chip, _) in offers {
            let parsed: Chip = chip.parse().map_err(anyhow::Error::msg)?;
            boards.insert(chip.as_str(), self.boards(&parsed)?.ids);
        }
        let of = |chip: &Chip| boards.get(chip.as_str()).cloned().unwrap_or_default();
        self.judged(block::put(file, offers, &of)).map(Some)
    }

    /// The boards of a chip, the user's own too.
    ///
    /// # Errors
    /// There is no boards.txt, or another menu has this menu's id.
    pub(super) fn boards(&self, chip: &Chip) -> Result<Boards> {
        let mut all = Properties::default();
        all.add(&fs::read(self.folder.join("boards.txt")).context("this is no installed core")?);
        if let Some(local) = self.local()? {
            let without = self.judged(block::take(&local))?;
            all.add(&without.unwrap_or(Some(local)).unwrap_or_default());
        }
        let taken = all.iter().find(|(key, _)| {
            let menu = key.strip_suffix(&format!("menu.{}", block::MENU));
            menu.is_some() || key.contains(&format!(".menu.{}.", block::MENU))
        });
        if let Some((key, _)) = taken {
            bail!(Refusal::Check(format!(
                "{} or the core's boards.txt has a menu of the same id already ({key}); remove it, or install without --as menu",
                self.local_file().display()
            )));
        }
        Ok(boards::of_chip(&all, chip))
    }

    /// Whether the core's platform.txt, with the user's changes to it, heeds the menu.
    ///
    /// # Errors
    /// [`Refusal::Check`] with what it says instead.
    pub(super) fn check(&self, os: Os) -> Result<()> {
        let file = self.folder.join("platform.txt");
        let mut properties = Properties::default();
        properties.add(&fs::read(&file).context("this is no installed core")?);
        let local = self.folder.join("platform.local.txt");
        if local.is_file() {
            properties.add(&fs::read(&local)?);
        }
        boards::check_platform(&properties, os).map_err(|why| {
            let text = format!(
                "no menu can choose the libraries of this core: {} does not find them by the board's build.chip_variant ({why}); \
                 install without --as menu",
                file.display()
            );
            Refusal::Check(text).into()
        })
    }

    /// Removes what a killed run left beside the file: the new content on its way there (`whole_file`).
    pub(super) fn clear_leftovers(&self, disk: &dyn Disk) {
        let entries = fs::read_dir(self.folder).into_iter().flatten().flatten();
        for entry in entries {
            let name = entry.file_name();
            let left = name.to_str().and_then(|name| name.strip_prefix("tmp_"));
            let ours = left.is_some_and(|rest| {
                rest.len() == 6 && rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
            });
            if ours && let Err(error) = disk.remove_file(&entry.path()) {
                tracing::info!("{} is left: {error}", entry.path().display());
            }
        }
    }

    fn judged<T>(&self, outcome: Result<T, String>) -> Result<T> {
        outcome
            .map_err(|why| Refusal::Check(format!("{}: {why}", self.local_file().display())).into())
    }
}
