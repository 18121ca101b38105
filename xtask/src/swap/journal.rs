//! What a run is about to do, on the disk before its first rename, so that the next run can finish or undo it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use fs_err as fs;
use serde::{Deserialize, Serialize};

use super::place::{OWN, STOCK, at};
use super::plan::Move;
use super::record::InstallRecord;
use super::yard::is_given_up;
use crate::names::CoreVersion;
use crate::package::portable;

const SCHEMA: u32 = 1;

/// The two kinds of runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Run {
    /// `install`.
    Install,
    /// `install --revert`.
    Revert,
}

/// A run, as its journal has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Journal {
    pub(super) schema: u32,
    pub(super) run: Run,
    pub(super) core: CoreVersion,
    /// When it began, in UTC.
    pub(super) begun: String,
    /// Program and version.
    pub(super) by: String,
    pub(super) moves: Vec<Move>,
    /// Names in `.xip` that are removed after the last rename.
    pub(super) remove: Vec<String>,
    /// Entries of core caches that are removed then.
    pub(super) caches: Vec<PathBuf>,
    /// What is recorded then: suffix and record.
    pub(super) record: Option<(String, InstallRecord)>,
}

/// What the next run does with an unfinished one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Remedy {
    /// Carries it to its end.
    Finish,
    /// Renames everything back.
    Undo,
    /// Nothing: somebody moved folders since, and they are taken as they stand.
    Forget,
}

impl Journal {
    pub(super) fn new(run: Run, core: &CoreVersion) -> Self {
        Self {
            schema: SCHEMA,
            run,
            core: core.clone(),
            begun: super::record::now(),
            by: super::record::this_tool(),
            moves: Vec::new(),
            remove: Vec::new(),
            caches: Vec::new(),
            record: None,
        }
    }

    pub(super) fn path(tools: &Path) -> PathBuf {
        at(tools, &format!("{OWN}/journal.json"))
    }

    pub(super) fn to_text(&self) -> Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// The journal that an unfinished run left.
    ///
    /// # Errors
    /// One that this version cannot read, or that names folders outside of the tool folder.
    pub(super) fn read(tools: &Path) -> Result<Option<Self>> {
        let path = Self::path(tools);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let journal = Self::parse(&text).with_context(|| {
            format!(
                "{} tells of an unfinished run and cannot be read; finish that run with the version that began it, or see that \
                 the folders beside it are in order and remove the file",
                path.display()
            )
        })?;
        Ok(Some(journal))
    }

    fn parse(text: &str) -> Result<Self> {
        let journal: Self = serde_json::from_str(text)?;
        if journal.schema != SCHEMA {
            bail!("it has schema {}, this tool reads {SCHEMA}", journal.schema);
        }
        let names = journal.moves.iter().flat_map(|step| [&step.from, &step.to]);
        for name in names.chain(&journal.remove) {
            let own = name
                .strip_prefix(OWN)
                .and_then(|rest| rest.strip_prefix('/'));
            if portable::illegal(own.unwrap_or(name)).is_some() {
                bail!("`{name}` is no name in the tool folder");
            }
        }
        let given_up = |name: &&String| {
            is_given_up(name) && journal.moves.iter().any(|step| step.to == **name)
        };
        if let Some(name) = journal.remove.iter().find(|name| !given_up(name)) {
            bail!("`{name}` would be removed");
        }
        if let Some((suffix, _)) = &journal.record
            && (portable::illegal(suffix).is_some() || suffix == STOCK)
        {
            bail!("`{suffix}` is no suffix");
        }
        Ok(journal)
    }

    /// How many of the renames were done, judged by the names that are there; `None` where no number explains them.
    pub(super) fn done(&self, exists: impl Fn(&str) -> bool) -> Option<usize> {
        let count = self.moves.len();
        (0..=count).rev().find(|done| {
            let names = self.names_after(*done);
            names.into_iter().all(|(name, there)| {
                // After the last rename these go, one by one.
                let going = *done == count && self.remove.iter().any(|remove| remove == name);
                going || exists(name) == there
            })
        })
    }

    /// Which names are there when so many renames are done.
    fn names_after(&self, done: usize) -> BTreeMap<&str, bool> {
        let mut names = BTreeMap::new();
        for step in &self.moves {
            names.entry(step.from.as_str()).or_insert(true);
            names.entry(step.to.as_str()).or_insert(false);
        }
        for step in &self.moves[..done] {
            names.insert(&step.from, false);
            names.insert(&step.to, true);
        }
        names
    }

    /// What the next run does. Either way the stock libraries end where this run, if it was an install, found them, or, if it
    /// was a revert, brings them: an install is finished only where all renames are done, a revert always.
    pub(super) fn remedy(&self, done: Option<usize>) -> Remedy {
        match (done, self.run) {
            (None, _) => Remedy::Forget,
            (Some(done), _) if done == self.moves.len() => Remedy::Finish,
            (Some(_), Run::Install) => Remedy::Undo,
            (Some(_), Run::Revert) => Remedy::Finish,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn journal(run: Run, moves: &[(&str, &str)], remove: &[&str]) -> Journal {
        let moves = moves.iter().map(|(from, to)| Move {
            from: (*from).to_owned(),
            to: (*to).to_owned(),
        });
        Journal {
            moves: moves.collect(),
            remove: remove.iter().map(|name| (*name).to_owned()).collect(),
            ..Journal::new(run, &"3.3.12".parse().unwrap())
        }
    }

    /// The names after so many renames, as a folder would have them.
    fn folder(journal: &Journal, done: usize) -> BTreeSet<String> {
        let names = journal.names_after(done).into_iter();
        names
            .filter(|(_, there)| *there)
            .map(|(name, _)| name.to_owned())
            .collect()
    }

    #[test]
    fn the_folders_tell_how_far_a_run_came() {
        let install = journal(Run::Install, &[("a", "a.stock"), (".xip/new", "a")], &[]);
        let over = journal(
            Run::Install,
            &[("a.x", ".xip/old.0"), ("a", "a.x"), (".xip/new", "a")],
            &[".xip/old.0"],
        );
        let revert = journal(
            Run::Revert,
            &[("a", ".xip/old.0"), ("a.stock", "a")],
            &[".xip/old.0"],
        );
        let discard = journal(Run::Revert, &[("a.x", ".xip/old.0")], &[".xip/old.0"]);
        for journal in [&install, &over, &revert, &discard] {
            for done in 0..=journal.moves.len() {
                let names = folder(journal, done);
                assert_eq!(
                    journal.done(|name| names.contains(name)),
                    Some(done),
                    "{names:?}"
                );
            }
            // What is to be removed may be gone when all else is done.
            let mut names = folder(journal, journal.moves.len());
            names.retain(|name| !journal.remove.contains(name));
            assert_eq!(
                journal.done(|name| names.contains(name)),
                Some(journal.moves.len())
            );
            assert_eq!(journal.remedy(None), Remedy::Forget);
        }
        assert_eq!(install.done(|name| name == "a"), None);
        assert_eq!(install.remedy(Some(1)), Remedy::Undo);
        assert_eq!(install.remedy(Some(2)), Remedy::Finish);
        assert_eq!(revert.remedy(Some(0)), Remedy::Finish);
    }

    #[test]
    fn what_is_written_is_read_and_nothing_outside_is_named() {
        let moves = [("3.3.12", ".xip/old.0"), ("3.3.12.stock", "3.3.12")];
        let journal = journal(Run::Revert, &moves, &[".xip/old.0"]);
        let text = journal.to_text().unwrap();
        assert_eq!(Journal::parse(&text).unwrap(), journal);
        for (good, bad) in [
            ("\"3.3.12.stock\"", "\"../3.3.12\""),
            ("\"3.3.12.stock\"", "\"a/b\""),
            ("\".xip/old.0\"", "\"3.3.12\""),
            ("\".xip/old.0\"", "\".xip/../x\""),
            ("\".xip/old.0\"", "\".xip/old.1\""),
            ("\".xip/old.0\"", "\".xip-mine\""),
            ("\".xip/old.0\"", "\".xip\""),
            ("\"schema\": 1", "\"schema\": 2"),
        ] {
            // The last one: a name that is removed, not the one that is moved.
            let at = text.rfind(good).unwrap();
            let altered = format!("{}{bad}{}", &text[..at], &text[at + good.len()..]);
            assert_ne!(altered, text);
            assert!(Journal::parse(&altered).is_err(), "{altered}");
        }
        assert!(Journal::parse("{").is_err());
    }
}
