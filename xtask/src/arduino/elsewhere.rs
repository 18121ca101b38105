//! Data folders of programs that do not use the system's default: sandboxed ones, portable ones, those of another system.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::data_dir::{DataDir, FoundBy};
use super::surroundings::{Os, Surroundings};

/// Whose data folder it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "of", content = "name", rename_all = "kebab-case")]
pub enum Place {
    /// A snap.
    Snap(String),
    /// A flatpak whose home folder was made its own; as it is published, the IDE's uses the user's.
    Flatpak(String),
    /// The folder `portable` beside an IDE 1.
    Portable,
    /// The IDE 1 of the Microsoft Store.
    Store,
    /// The programs on Windows, seen from Linux inside it.
    Windows,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Snap(name) => write!(f, "of the snap {name}"),
            Self::Flatpak(name) => write!(f, "of the flatpak {name}"),
            Self::Portable => f.write_str("portable, beside the IDE 1"),
            Self::Store => f.write_str("of the Microsoft Store's IDE 1"),
            Self::Windows => f.write_str("of the programs on Windows"),
        }
    }
}

/// The folders that may be there, in the order in which they are told.
pub(super) fn data_dirs(surroundings: &Surroundings<'_>) -> Vec<DataDir> {
    let mut dirs = Vec::new();
    let mut add = |path: PathBuf, place: Place| {
        dirs.push(DataDir {
            path,
            found_by: FoundBy::Place { place },
        });
    };
    for (name, home) in snaps(surroundings) {
        add(
            surroundings.child(&home, &["current", ".arduino15"]),
            Place::Snap(name),
        );
    }
    for (name, home) in flatpaks(surroundings) {
        add(
            surroundings.child(&home, &[".arduino15"]),
            Place::Flatpak(name),
        );
    }
    for ide in ides_of_version_1(surroundings) {
        add(surroundings.child(&ide, &["portable"]), Place::Portable);
    }
    if surroundings.os == Os::Windows {
        for documents in [&["Documents"][..], &["OneDrive", "Documents"]] {
            if let Some(documents) = surroundings.below_home(documents) {
                add(
                    surroundings.child(&documents, &["ArduinoData"]),
                    Place::Store,
                );
            }
        }
    }
    for home in windows_homes(surroundings) {
        let local = surroundings.child(&home, &["AppData", "Local", "Arduino15"]);
        add(local, Place::Windows);
    }
    dirs
}

/// Name and folder of each Arduino snap: the IDE 1 is called `arduino`, others may come.
pub(super) fn snaps(surroundings: &Surroundings<'_>) -> Vec<(String, PathBuf)> {
    named_below(surroundings, &["snap"], "arduino")
}

/// Name and folder of each Arduino flatpak: `cc.arduino.IDE2`, and `cc.arduino.arduinoide` before it.
pub(super) fn flatpaks(surroundings: &Surroundings<'_>) -> Vec<(String, PathBuf)> {
    named_below(surroundings, &[".var", "app"], "cc.arduino.")
}

fn named_below(
    surroundings: &Surroundings<'_>,
    parts: &[&str],
    prefix: &str,
) -> Vec<(String, PathBuf)> {
    let Some(folder) = surroundings
        .below_home(parts)
        .filter(|_| surroundings.os == Os::Linux)
    else {
        return Vec::new();
    };
    let names = surroundings.machine.folders(&folder).into_iter();
    names
        .filter(|name| name.starts_with(prefix))
        .map(|name| (name.clone(), surroundings.child(&folder, &[&name])))
        .collect()
}

/// Folders in which an IDE 1 may stand: that of the `arduino` on the search path, and where people unpack it.
fn ides_of_version_1(surroundings: &Surroundings<'_>) -> Vec<PathBuf> {
    let machine = surroundings.machine;
    let mut folders = Vec::new();
    if let Some(program) = machine.program("arduino") {
        folders.extend(machine.real(&program).parent().map(Path::to_owned));
    }
    let mut unpacked_in = Vec::new();
    match surroundings.os {
        Os::MacOs => {
            let app = Path::new("/Applications/Arduino.app");
            folders.push(surroundings.child(app, &["Contents", "Java"]));
        }
        Os::Linux => unpacked_in.push(PathBuf::from("/opt")),
        Os::Windows => {
            for variable in ["ProgramFiles(x86)", "ProgramFiles"] {
                unpacked_in.extend(surroundings.set(variable).map(PathBuf::from));
            }
        }
    }
    for parts in [&[][..], &["Downloads"], &["Desktop"]] {
        unpacked_in.extend(surroundings.below_home(parts));
    }
    for folder in unpacked_in {
        for name in machine.folders(&folder) {
            let lower = name.to_ascii_lowercase();
            if lower == "arduino" || lower.starts_with("arduino-1.") {
                folders.push(surroundings.child(&folder, &[&name]));
            }
        }
    }
    folders
}

/// Home folders of Windows' users, seen from Linux inside it.
fn windows_homes(surroundings: &Surroundings<'_>) -> Vec<PathBuf> {
    if !surroundings.is_wsl() {
        return Vec::new();
    }
    let users = Path::new("/mnt/c/Users");
    let names = surroundings.machine.folders(users).into_iter();
    names
        .map(|name| surroundings.child(users, &[&name]))
        .collect()
}
