//! The data folder of the Arduino programs (`.arduino15`), found as they find it.

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use serde::Serialize;

use super::config::{self, Config};
use super::elsewhere::{self, Place};
use super::surroundings::{Os, Surroundings};
use super::windows_path;
use crate::exit::Refusal;
use crate::progress::{Event, Report};

/// The variables that name the folder, the first one set wins; the second is the older name
/// (arduino-cli `docs/configuration.md`).
const VARIABLES: [&str; 2] = ["ARDUINO_DIRECTORIES_DATA", "ARDUINO_DATA_DIR"];

/// A data folder, and how it was found. It need not exist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DataDir {
    /// The folder.
    pub path: PathBuf,
    /// How it was found.
    pub found_by: FoundBy,
}

/// What named the data folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum FoundBy {
    /// `--data-dir`.
    Flag,
    /// An environment variable.
    Variable {
        /// Its name.
        name: &'static str,
    },
    /// `arduino-cli config dump`.
    ArduinoCli,
    /// `directories.data` in a configuration file of arduino-cli or the IDE.
    Config {
        /// The file.
        file: PathBuf,
    },
    /// Nothing: it is the system's default.
    Default,
    /// Nothing: it is where a program keeps its data that does not use the default.
    Place {
        /// Which.
        place: Place,
    },
}

impl FoundBy {
    /// The user named it, rather than the tool looking for it.
    pub fn is_named(&self) -> bool {
        !matches!(self, Self::Default | Self::Place { .. })
    }
}

impl fmt::Display for FoundBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag => f.write_str("by --data-dir"),
            Self::Variable { name } => write!(f, "by {name}"),
            Self::ArduinoCli => f.write_str("by directories.data in arduino-cli config dump"),
            Self::Config { file } => write!(f, "by directories.data in {}", file.display()),
            Self::Default => f.write_str("the default"),
            Self::Place { place } => place.fmt(f),
        }
    }
}

/// The data folder on this machine; `explicit` is `--data-dir`. `None` where no home folder is known.
///
/// # Errors
/// [`Refusal::Usage`] where `explicit` is no folder; else as [`locate`].
pub fn data_dir(explicit: Option<&Path>, report: Report<'_>) -> Result<Option<DataDir>> {
    locate(explicit, &Surroundings::here(), report)
}

/// The search itself: flag, variables, the arduino-cli that is installed, its configuration, the IDE's, the system's default.
///
/// The IDE passes a configuration of its own to the arduino-cli that it brings; where the two name different folders,
/// arduino-cli's counts. An arduino-cli that does not answer is told to `report`, and its files are read instead.
///
/// # Errors
/// [`Refusal::Usage`] where `explicit` is no folder or the path of another system; a configuration file that does not
/// parse, or one named by `ARDUINO_CONFIG_FILE` that is not there.
pub fn locate(
    explicit: Option<&Path>,
    surroundings: &Surroundings<'_>,
    report: Report<'_>,
) -> Result<Option<DataDir>> {
    look(explicit, surroundings, report).map(|(found, _)| found)
}

/// The data folder, and the configurations of the programs, those that count first.
fn look(
    explicit: Option<&Path>,
    surroundings: &Surroundings<'_>,
    report: Report<'_>,
) -> Result<(Option<DataDir>, Vec<Config>)> {
    if let Some(dir) = decided(explicit, surroundings)? {
        // The files say nothing about this folder any more, only about caches.
        let configs = config::read_all(surroundings, Some(&dir.path)).unwrap_or_else(|error| {
            report(Event::Warning(&format!("{error:#}")));
            Vec::new()
        });
        let configs = configs.into_iter().map(|(_, config)| config).collect();
        return Ok((Some(dir), configs));
    }
    let default = default_dir(surroundings);
    let mut configs = vec![(FoundBy::ArduinoCli, asked(surroundings, report))];
    for (file, config) in config::read_all(surroundings, default.as_deref())? {
        configs.push((FoundBy::Config { file }, config));
    }
    let by_config = configs
        .iter()
        .find_map(|(found_by, config)| Some((config.data()?, found_by.clone())));
    let found = match (by_config, default) {
        (Some((path, found_by)), _) => Some(named(path, found_by, surroundings)?),
        (None, default) => default.map(|path| DataDir {
            path,
            found_by: FoundBy::Default,
        }),
    };
    Ok((
        found,
        configs.into_iter().map(|(_, config)| config).collect(),
    ))
}

/// The data folder by flag or variable.
fn decided(explicit: Option<&Path>, surroundings: &Surroundings<'_>) -> Result<Option<DataDir>> {
    if let Some(path) = explicit {
        let data_dir = named(path.to_owned(), FoundBy::Flag, surroundings)?;
        if !surroundings.machine.is_dir(&data_dir.path) {
            bail!(Refusal::Usage(format!(
                "--data-dir {}: no such folder",
                data_dir.path.display()
            )));
        }
        return Ok(Some(data_dir));
    }
    let by_variable = VARIABLES
        .iter()
        .find_map(|name| Some((surroundings.set(name)?, name)));
    by_variable
        .map(|(path, name)| named(path.into(), FoundBy::Variable { name }, surroundings))
        .transpose()
}

/// A folder that the user named, as this system calls it.
fn named(path: PathBuf, found_by: FoundBy, surroundings: &Surroundings<'_>) -> Result<DataDir> {
    match windows_path::understood(&path, surroundings) {
        Ok(path) => Ok(DataDir { path, found_by }),
        Err(why) => bail!(Refusal::Usage(format!(
            "the data folder, named {found_by}: {why}"
        ))),
    }
}

/// What the installed arduino-cli says; empty where it is not there or says nothing that can be read.
fn asked(surroundings: &Surroundings<'_>, report: Report<'_>) -> Config {
    let answer = surroundings.machine.cli_config();
    match answer.and_then(|dump| dump.as_deref().map(Config::from_dump).transpose()) {
        Ok(config) => config.unwrap_or_default(),
        Err(error) => {
            report(Event::Warning(&format!(
                "{error:#}; its configuration files are read instead"
            )));
            Config::default()
        }
    }
}

/// Where the programs keep their data if nothing says otherwise (arduino-cli `internal/cli/configuration`).
pub(super) fn default_dir(surroundings: &Surroundings<'_>) -> Option<PathBuf> {
    match surroundings.os {
        Os::Linux => surroundings.below_home(&[".arduino15"]),
        Os::MacOs => surroundings.below_home(&["Library", "Arduino15"]),
        Os::Windows => {
            let local = surroundings.local_app_data()?;
            Some(surroundings.child(&local, &["Arduino15"]))
        }
    }
}

/// All data folders that come into question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Search {
    /// The one that the programs use by name or by default; it need not exist. `None` where no home folder is known.
    pub main: Option<DataDir>,
    /// Others that hold an ESP32 core, of programs that keep their data elsewhere.
    pub others: Vec<DataDir>,
    /// The configurations of the programs, those that count first; arduino-cli was asked for its own unless flag or variable
    /// name the folder.
    pub configs: Vec<Config>,
}

impl Search {
    /// Looks in all places of this machine; `explicit` is `--data-dir`.
    ///
    /// # Errors
    /// As [`locate`].
    pub fn run(
        explicit: Option<&Path>,
        surroundings: &Surroundings<'_>,
        report: Report<'_>,
    ) -> Result<Self> {
        let (main, configs) = look(explicit, surroundings, report)?;
        let mut seen: Vec<PathBuf> = main
            .iter()
            .map(|dir| surroundings.machine.real(&dir.path))
            .collect();
        // Where the user named one, the default of the system is one of the others.
        let default = default_dir(surroundings).map(|path| DataDir {
            path,
            found_by: FoundBy::Default,
        });
        let mut others = Vec::new();
        for dir in default
            .into_iter()
            .chain(elsewhere::data_dirs(surroundings))
        {
            let real = surroundings.machine.real(&dir.path);
            if !seen.contains(&real) && holds(&dir.path, |_| true, surroundings) {
                seen.push(real);
                others.push(dir);
            }
        }
        Ok(Self {
            main,
            others,
            configs,
        })
    }

    /// The one folder to work in: the one that the user named; else the one among all that holds what is `wanted`, which is
    /// asked of the names of the core versions in it.
    ///
    /// # Errors
    /// [`Refusal::Usage`] where several hold it and nothing decides, or only one that belongs to another system does; the
    /// folders are listed.
    pub fn one(
        &self,
        wanted: impl Fn(&str) -> bool,
        surroundings: &Surroundings<'_>,
    ) -> Result<DataDir> {
        if let Some(main) = self.main.as_ref().filter(|main| main.found_by.is_named()) {
            return Ok(main.clone());
        }
        // A folder of the Windows programs is offered, never taken.
        let (foreign, own): (Vec<&DataDir>, Vec<&DataDir>) = self
            .main
            .iter()
            .chain(&self.others)
            .filter(|dir| holds(&dir.path, &wanted, surroundings))
            .partition(|dir| dir.is_foreign());
        match (own.as_slice(), foreign.as_slice(), self.main.as_ref()) {
            ([one], _, _) => Ok((*one).clone()),
            ([], [], Some(main)) => Ok(main.clone()),
            ([], [], None) => bail!(Refusal::Usage(
                "no home folder is known, so there is no default data folder; give --data-dir DIR"
                    .into()
            )),
            ([], foreign, _) => bail!(Refusal::Usage(format!(
                "the core is installed in a folder of the programs on Windows alone; to change that one, say so:\n{}",
                flags(foreign)
            ))),
            (own, foreign, _) => bail!(Refusal::Usage(format!(
                "several data folders hold this core, and nothing says which one you use; choose one of:\n{}",
                flags(&[own, foreign].concat())
            ))),
        }
    }
}

impl DataDir {
    /// It belongs to the programs of the Windows around this Linux.
    pub fn is_foreign(&self) -> bool {
        let place = FoundBy::Place {
            place: Place::Windows,
        };
        self.found_by == place
    }
}

/// A line `--data-dir DIR  (why)` for each.
fn flags(dirs: &[&DataDir]) -> String {
    let line = |dir: &&DataDir| {
        let path = dir.path.to_string_lossy();
        let quoted = match shell_words::quote(&path) {
            _ if cfg!(windows) => format!("\"{path}\""),
            quoted => quoted.into_owned(),
        };
        format!("  --data-dir {quoted}  ({})", dir.found_by)
    };
    dirs.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Whether the data folder holds a version of the ESP32 core for which `wanted` is true.
fn holds(data: &Path, wanted: impl Fn(&str) -> bool, surroundings: &Surroundings<'_>) -> bool {
    let cores = surroundings.child(data, &["packages", "esp32", "hardware", "esp32"]);
    surroundings
        .machine
        .folders(&cores)
        .iter()
        .any(|name| wanted(name))
}

#[cfg(test)]
mod tests;
