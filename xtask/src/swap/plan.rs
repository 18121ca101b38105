//! Which folders are renamed, decided from what stands there and before anything is touched.
//!
//! Two rules hold in every plan: stock libraries are only ever renamed between `<core>` and `<core>.stock`, and what is
//! removed at its end has been renamed into `.xip` before, is patched (or a second copy of the stock tree, file for file),
//! and has its successor in place.

use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};

use super::content::{self, Content, Origin};
use super::place::{OWN, Place, STAGING, STOCK};
use crate::exit::Refusal;

/// One rename in the tool folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Move {
    /// Name before, relative to the tool folder, with `/`.
    pub from: String,
    /// Name after.
    pub to: String,
}

/// The renames of a run, in order, and what is removed after the last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) moves: Vec<Move>,
    pub(super) remove: Vec<String>,
    /// Where the tree that was active goes, where it is kept.
    pub(super) aside: Option<String>,
    /// The stock tree that a revert puts back was held against its list, by names and sizes.
    pub(super) recorded: bool,
    /// What the user should know.
    pub(super) warnings: Vec<String>,
}

/// What stands in the tool folder.
pub(super) struct Standing<'a> {
    pub(super) place: &'a Place,
    pub(super) active: Content,
    pub(super) stock: Content,
    /// Suffixes of the other folders `<core>.<suffix>`.
    pub(super) asides: Vec<String>,
    /// What such a folder holds.
    pub(super) look: &'a dyn Fn(&str) -> Result<Content>,
    /// Whether a name in the tool folder is taken.
    pub(super) taken: &'a dyn Fn(&str) -> bool,
}

impl Standing<'_> {
    /// Puts the staged tree in place of the active one. `same_stock` tells whether active and kept stock are alike, file for
    /// file; it is asked only where both are stock.
    pub(super) fn install(&self, same_stock: impl FnOnce() -> Result<bool>) -> Result<Plan> {
        let mut plan = self.with_warnings();
        let stock_is_kept = matches!(self.stock, Content::Stock { .. });
        match &self.active {
            Content::NotALibrariesTree { why } => bail!(self.foreign(why)),
            Content::Missing if !stock_is_kept => bail!(self.not_installed()),
            Content::Missing => {}
            Content::Stock { .. } if self.stock == Content::Missing => {
                plan.rename(self.active_name(), self.place.aside(STOCK));
            }
            Content::Stock { .. } if stock_is_kept => {
                if !same_stock()? {
                    bail!(Refusal::Check(format!(
                        "both {} and {} hold stock libraries, and they are not the same; rename or remove the one that is not \
                         Espressif's, then install again",
                        self.place.active().display(),
                        self.place.stock().display()
                    )));
                }
                self.give_up(&mut plan, self.active_name());
            }
            Content::Stock { .. } => bail!(Refusal::Check(format!(
                "{} is in the way: the stock libraries would be kept under that name, and it holds something else ({}); rename \
                 or remove it, then install again",
                self.place.stock().display(),
                self.stock.summary()
            ))),
            Content::Damaged {
                of: Origin::Stock,
                files,
            } if !stock_is_kept => {
                bail!(self.damaged_stock(&self.place.active(), files))
            }
            patched => {
                self.set_aside(&mut plan, patched.suffix().unwrap_or("damaged"))?;
                if !stock_is_kept {
                    plan.warnings.push(format!(
                        "the stock libraries are not kept here ({}); to have them again, {}",
                        self.stock.summary(),
                        self.way_back()
                    ));
                }
            }
        }
        plan.rename(STAGING.to_owned(), self.active_name());
        Ok(plan)
    }

    /// Puts the stock tree back. An empty plan: there is nothing to revert.
    pub(super) fn revert(&self, discard: bool) -> Result<Plan> {
        let mut plan = self.with_warnings();
        let back = match (&self.active, &self.stock) {
            (Content::NotALibrariesTree { why }, _) => bail!(self.foreign(why)),
            (Content::Stock { .. }, _) => false,
            (Content::Missing, Content::Missing) => bail!(self.not_installed()),
            (Content::Missing, Content::Stock { .. }) => true,
            (active, Content::Stock { .. }) => {
                if discard && active.is_patched() {
                    self.give_up(&mut plan, self.active_name());
                } else {
                    self.set_aside(&mut plan, active.suffix().unwrap_or("damaged"))?;
                }
                true
            }
            (
                Content::Damaged {
                    of: Origin::Stock,
                    files,
                },
                Content::Missing,
            ) => {
                bail!(self.damaged_stock(&self.place.active(), files))
            }
            (_, Content::Damaged { files, .. }) => {
                bail!(self.damaged_stock(&self.place.stock(), files))
            }
            (_, stock) => bail!(Refusal::Check(format!(
                "there are no stock libraries to go back to: {} ({}). Nothing was touched. To have them again, {}",
                self.place.stock().display(),
                stock.summary(),
                self.way_back()
            ))),
        };
        if back {
            plan.recorded = matches!(self.stock, Content::Stock { recorded: true, .. });
            plan.rename(self.place.aside(STOCK), self.active_name());
        }
        if discard {
            for suffix in &self.asides {
                let name = self.place.aside(suffix);
                // The active tree may just have taken a name whose older tree is given up already.
                let given_up = plan.moves.iter().any(|step| step.from == name);
                if !given_up && (self.look)(suffix)?.is_patched() {
                    self.give_up(&mut plan, name);
                }
            }
        }
        Ok(plan)
    }

    /// An empty plan that tells of files which are no part of the libraries.
    fn with_warnings(&self) -> Plan {
        let folders = [
            (&self.active, self.place.active()),
            (&self.stock, self.place.stock()),
        ];
        let warning = |(content, folder): (&Content, std::path::PathBuf)| {
            let strangers = content::strangers(content.extra())?;
            Some(format!(
                "{} holds {strangers}; the libraries themselves are whole",
                folder.display()
            ))
        };
        Plan {
            warnings: folders.into_iter().filter_map(warning).collect(),
            ..Plan::default()
        }
    }

    /// Renames the active tree to `<core>.<suffix>`. An older patched one of that name is removed afterwards; anything else
    /// keeps its name, and the suffix gets a number.
    fn set_aside(&self, plan: &mut Plan, suffix: &str) -> Result<()> {
        let mut numbered = suffix.to_owned();
        for number in 2.. {
            let name = self.place.aside(&numbered);
            if !(self.taken)(&name) {
                break;
            }
            if (self.look)(&numbered)?.is_patched() {
                self.give_up(plan, name);
                break;
            }
            numbered = format!("{suffix}-{number}");
        }
        let name = self.place.aside(&numbered);
        plan.rename(self.active_name(), name.clone());
        plan.aside = Some(name);
        Ok(())
    }

    fn give_up(&self, plan: &mut Plan, name: String) {
        plan.give_up(name, self.taken);
    }

    fn active_name(&self) -> String {
        self.place.core.to_string()
    }

    fn foreign(&self, why: &str) -> Refusal {
        Refusal::Check(format!(
            "{} is left as it is: {why}",
            self.place.active().display()
        ))
    }

    fn not_installed(&self) -> Refusal {
        Refusal::Usage(format!(
            "core {} is not installed: {} is not there; install esp32 {0} in the Boards Manager, or choose another version with \
             --core",
            self.place.core,
            self.place.active().display()
        ))
    }

    fn damaged_stock(&self, folder: &std::path::Path, files: &[String]) -> Refusal {
        Refusal::Check(format!(
            "the stock libraries in {} are not as they were recorded ({}). Nothing was touched. To have them again, {}",
            folder.display(),
            super::archive::some(files),
            self.way_back()
        ))
    }

    /// How to get stock libraries without this tool: a tool counts as installed when its folder exists, so the Boards
    /// Manager fetches it only where that is gone (ARDUINO-FACTS E15).
    fn way_back(&self) -> String {
        format!(
            "close the IDE, delete the folder {}, and in the Boards Manager remove and install esp32 {}",
            self.place.active().display(),
            self.place.core
        )
    }
}

impl Plan {
    /// Renames a folder into `.xip`, to be removed when all is in place; `taken` says which names are in use.
    pub(super) fn give_up(&mut self, name: String, taken: &dyn Fn(&str) -> bool) {
        let free = (0..)
            .map(|number| format!("{OWN}/old.{number}"))
            .find(|old| !taken(old) && !self.remove.contains(old));
        // There is a free number below the number of files that a folder can hold.
        let old = free.unwrap_or_else(|| format!("{OWN}/old"));
        self.rename(name, old.clone());
        self.remove.push(old);
    }

    pub(super) fn rename(&mut self, from: String, to: String) {
        self.moves.push(Move { from, to });
    }
}

#[cfg(test)]
mod tests;
