//! The data folder of the Arduino programs (`.arduino15`), found as they find it.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use fs_err as fs;
use serde::{Deserialize, Serialize};

use crate::exit::Refusal;

/// The variables that name the folder, the first one set wins; the second is the older name
/// (arduino-cli `docs/configuration.md`).
const VARIABLES: [&str; 2] = ["ARDUINO_DIRECTORIES_DATA", "ARDUINO_DATA_DIR"];
/// The variable that names arduino-cli's configuration file.
const CONFIG_VARIABLE: &str = "ARDUINO_CONFIG_FILE";
/// Name of that file in the folders where it is looked for.
const CONFIG_NAME: &str = "arduino-cli.yaml";

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
    /// `directories.data` in a configuration file of arduino-cli or the IDE.
    Config {
        /// The file.
        file: PathBuf,
    },
    /// Nothing: it is the system's default.
    Default,
}

impl fmt::Display for FoundBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag => f.write_str("by --data-dir"),
            Self::Variable { name } => write!(f, "by {name}"),
            Self::Config { file } => write!(f, "by directories.data in {}", file.display()),
            Self::Default => f.write_str("the default"),
        }
    }
}

/// Systems whose defaults differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Os {
    /// Linux, and every other Unix but macOS.
    Linux,
    /// macOS.
    MacOs,
    /// Windows.
    Windows,
}

impl Os {
    /// The system that this program was built for.
    pub const HERE: Self = if cfg!(windows) {
        Self::Windows
    } else if cfg!(target_os = "macos") {
        Self::MacOs
    } else {
        Self::Linux
    };
}

/// What the search depends on.
pub struct Surroundings<'a> {
    /// The system.
    pub os: Os,
    /// The user's home folder, where it is known.
    pub home: Option<&'a Path>,
    /// The value of an environment variable.
    pub variable: &'a dyn Fn(&str) -> Option<OsString>,
    /// The content of a file, `None` where it does not exist.
    pub read: &'a dyn Fn(&Path) -> Result<Option<String>>,
}

/// The data folder on this machine; `explicit` is `--data-dir`. `None` where no home folder is known.
///
/// # Errors
/// [`Refusal::Usage`] where `explicit` is no folder; else as [`locate`].
pub fn data_dir(explicit: Option<&Path>) -> Result<Option<DataDir>> {
    if let Some(path) = explicit.filter(|path| !path.is_dir()) {
        bail!(Refusal::Usage(format!(
            "--data-dir {}: no such folder",
            path.display()
        )));
    }
    let base = directories::BaseDirs::new();
    let surroundings = Surroundings {
        os: Os::HERE,
        home: base.as_ref().map(directories::BaseDirs::home_dir),
        variable: &|name| std::env::var_os(name),
        read: &|path| match fs::read_to_string(path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        },
    };
    locate(explicit, &surroundings)
}

/// The search itself: flag, variables, arduino-cli's configuration, the IDE's, the system's default.
///
/// The IDE passes a configuration of its own to the arduino-cli that it brings; where the two name different folders,
/// arduino-cli's counts.
///
/// # Errors
/// A configuration file that does not parse, or one named by `ARDUINO_CONFIG_FILE` that is not there.
pub fn locate(explicit: Option<&Path>, surroundings: &Surroundings<'_>) -> Result<Option<DataDir>> {
    let found = |path: PathBuf, found_by| Ok(Some(DataDir { path, found_by }));
    if let Some(path) = explicit {
        return found(path.to_owned(), FoundBy::Flag);
    }
    for name in VARIABLES {
        if let Some(path) = surroundings.set(name) {
            return found(path.into(), FoundBy::Variable { name });
        }
    }
    let default = surroundings.default_dir();
    for file in surroundings.config_files(default.as_deref())? {
        if let Some(path) = surroundings.configured(&file)? {
            return found(path, FoundBy::Config { file });
        }
    }
    match default {
        Some(path) => found(path, FoundBy::Default),
        None => Ok(None),
    }
}

impl Surroundings<'_> {
    /// A variable that is set and not empty.
    fn set(&self, name: &str) -> Option<OsString> {
        (self.variable)(name).filter(|value| !value.is_empty())
    }

    /// Where the programs keep their data if nothing says otherwise (arduino-cli `internal/cli/configuration`).
    fn default_dir(&self) -> Option<PathBuf> {
        let below_home = |parts: &[&str]| self.home.map(|home| self.child(home, parts));
        match self.os {
            Os::Linux => below_home(&[".arduino15"]),
            Os::MacOs => below_home(&["Library", "Arduino15"]),
            Os::Windows => match self.set("LOCALAPPDATA") {
                Some(local) => Some(self.child(Path::new(&local), &["Arduino15"])),
                None => below_home(&["AppData", "Local", "Arduino15"]),
            },
        }
    }

    /// The configuration files to ask, in order. The IDE's is below its own folder in the home folder.
    fn config_files(&self, default: Option<&Path>) -> Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        if let Some(named) = self.set(CONFIG_VARIABLE) {
            let named = PathBuf::from(named);
            if (self.read)(&named)?.is_none() {
                bail!(
                    "{CONFIG_VARIABLE} names {}, which does not exist",
                    named.display()
                );
            }
            files.push(named);
        } else if let Some(default) = default {
            files.push(self.child(default, &[CONFIG_NAME]));
        }
        if let Some(home) = self.home {
            files.push(self.child(home, &[".arduinoIDE", CONFIG_NAME]));
        }
        Ok(files)
    }

    /// `directories.data` in a configuration file.
    fn configured(&self, file: &Path) -> Result<Option<PathBuf>> {
        let Some(text) = (self.read)(file)? else {
            return Ok(None);
        };
        // The error in one line: the quoted piece of the file would spread over many.
        let plain = serde_saphyr::options! { with_snippet: false };
        let config: Option<ArduinoConfig> = serde_saphyr::from_str_with_options(&text, plain)
            .with_context(|| {
                format!(
                    "reading {} (give --data-dir DIR to do without it)",
                    file.display()
                )
            })?;
        let data = config.and_then(|config| config.directories?.data);
        Ok(data.filter(|data| !data.is_empty()).map(PathBuf::from))
    }

    /// A path below `base`, joined as this system joins, which need not be the one that the program runs on.
    fn child(&self, base: &Path, parts: &[&str]) -> PathBuf {
        let separator = if self.os == Os::Windows { "\\" } else { "/" };
        let mut path = base.as_os_str().to_owned();
        for part in parts {
            if !ends_with(&path, separator) {
                path.push(separator);
            }
            path.push(part);
        }
        path.into()
    }
}

fn ends_with(path: &OsStr, separator: &str) -> bool {
    path.as_encoded_bytes().ends_with(separator.as_bytes())
}

/// The part of `arduino-cli.yaml` that matters here.
#[derive(Debug, Deserialize)]
struct ArduinoConfig {
    directories: Option<Directories>,
}

#[derive(Debug, Deserialize)]
struct Directories {
    data: Option<String>,
}

#[cfg(test)]
mod tests;
