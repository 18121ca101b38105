//! What the search for the Arduino programs' folders depends on: system, home folder, variables, files.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use anyhow::Result;
use fs_err as fs;

use super::cli;

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

/// What is asked of a machine; tests bring one of their own.
pub trait Machine {
    /// The value of an environment variable.
    fn variable(&self, name: &str) -> Option<OsString>;
    /// The content of a text file, `None` where it does not exist.
    ///
    /// # Errors
    /// It exists and cannot be read as text.
    fn read(&self, path: &Path) -> Result<Option<String>>;
    /// Whether `path` is a folder.
    fn is_dir(&self, path: &Path) -> bool;
    /// Names of the folders in `path`, sorted; none where it is not there or cannot be read.
    fn folders(&self, path: &Path) -> Vec<String>;
    /// The path without links, to tell whether two paths are one folder.
    fn real(&self, path: &Path) -> PathBuf;
    /// A program of that name on the search path.
    fn program(&self, name: &str) -> Option<PathBuf>;
    /// What `arduino-cli config dump` answers, as JSON; `None` where the program is not there.
    ///
    /// # Errors
    /// It is there and gives no answer.
    fn cli_config(&self) -> Result<Option<String>>;
}

/// A machine, its system and the user's home folder on it.
#[derive(Clone)]
pub struct Surroundings<'a> {
    /// The system.
    pub os: Os,
    /// The user's home folder, where it is known.
    pub home: Option<PathBuf>,
    /// The machine.
    pub machine: &'a dyn Machine,
}

impl Surroundings<'static> {
    /// The machine that the program runs on.
    pub fn here() -> Self {
        Self {
            os: Os::HERE,
            home: directories::BaseDirs::new().map(|base| base.home_dir().to_owned()),
            machine: &ThisMachine,
        }
    }
}

impl Surroundings<'_> {
    /// A variable that is set and not empty.
    pub fn set(&self, name: &str) -> Option<OsString> {
        self.machine
            .variable(name)
            .filter(|value| !value.is_empty())
    }

    /// A path below `base`, joined as this system joins, which need not be the one that the program runs on.
    pub fn child(&self, base: &Path, parts: &[&str]) -> PathBuf {
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

    /// A path below the home folder.
    pub fn below_home(&self, parts: &[&str]) -> Option<PathBuf> {
        self.home.as_ref().map(|home| self.child(home, parts))
    }

    /// Linux inside Windows (WSL), by the variable that it sets and the name of its kernel.
    pub fn is_wsl(&self) -> bool {
        let by_kernel = || {
            let release = self.machine.read(Path::new("/proc/sys/kernel/osrelease"));
            release.is_ok_and(|text| {
                text.is_some_and(|text| text.to_ascii_lowercase().contains("microsoft"))
            })
        };
        self.os == Os::Linux && (self.set("WSL_DISTRO_NAME").is_some() || by_kernel())
    }

    /// `%LOCALAPPDATA%`, which Windows always sets; else its usual place.
    pub fn local_app_data(&self) -> Option<PathBuf> {
        match self.set("LOCALAPPDATA") {
            Some(local) => Some(local.into()),
            None => self.below_home(&["AppData", "Local"]),
        }
    }
}

fn ends_with(path: &OsStr, separator: &str) -> bool {
    path.as_encoded_bytes().ends_with(separator.as_bytes())
}

/// The machine that the program runs on.
struct ThisMachine;

impl Machine for ThisMachine {
    fn variable(&self, name: &str) -> Option<OsString> {
        std::env::var_os(name)
    }

    fn read(&self, path: &Path) -> Result<Option<String>> {
        match fs::read_to_string(path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn is_dir(&self, path: &Path) -> bool {
        path.is_dir()
    }

    fn folders(&self, path: &Path) -> Vec<String> {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries
            .filter(|entry| entry.path().is_dir())
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        names.sort();
        names
    }

    fn real(&self, path: &Path) -> PathBuf {
        dunce::canonicalize(path).unwrap_or_else(|_| path.to_owned())
    }

    fn program(&self, name: &str) -> Option<PathBuf> {
        which::which(name).ok()
    }

    fn cli_config(&self) -> Result<Option<String>> {
        cli::config_dump(std::time::Duration::from_secs(10))
    }
}
