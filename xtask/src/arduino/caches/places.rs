//! Where the programs keep what they compiled; the places moved over the years.

use std::path::{Path, PathBuf};

use crate::arduino::config::Config;
use crate::arduino::elsewhere;
use crate::arduino::surroundings::{Os, Surroundings};

/// The variable that moves arduino-cli's cache.
const CACHE_VARIABLE: &str = "ARDUINO_BUILD_CACHE_PATH";

/// A place to look in; it need not be there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The folder.
    pub folder: PathBuf,
    /// How it is laid out.
    pub form: Form,
}

/// How a cache is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `cores/<name>/core.a` and `sketches/<hash>/`: arduino-cli from 0.33, and the IDE 2 with it.
    Cache,
    /// `core_<name>.a`: IDE 1, and arduino-cli before 0.33.
    Archives,
    /// The build folder of one sketch, of the same programs.
    Sketch,
}

/// All known places for the programs that use the data folder `data`, in an order that tells the usual one first.
///
/// A snap's own `/tmp` is left out: only root can look into it, and it is emptied at every start of the machine.
pub fn places(data: &Path, configs: &[Config], surroundings: &Surroundings<'_>) -> Vec<Place> {
    let mut search = Places {
        surroundings,
        places: Vec::new(),
    };
    search.add_caches(data, configs);
    search.add_temporary(data);
    search.places
}

struct Places<'a> {
    surroundings: &'a Surroundings<'a>,
    places: Vec<Place>,
}

impl Places<'_> {
    fn add(&mut self, folder: PathBuf, form: Form) {
        let machine = self.surroundings.machine;
        let real = machine.real(&folder);
        let known = |place: &Place| place.form == form && machine.real(&place.folder) == real;
        if !self.places.iter().any(known) {
            self.places.push(Place { folder, form });
        }
    }

    fn add_caches(&mut self, data: &Path, configs: &[Config]) {
        let around = self.surroundings;
        let named = around.set(CACHE_VARIABLE).map(PathBuf::from);
        for folder in named
            .into_iter()
            .chain(configs.iter().flat_map(Config::build_caches))
        {
            self.add(folder, Form::Cache);
        }
        let mut bases = Vec::new();
        match around.os {
            Os::Linux => {
                // The IDE, started from the desktop, need not have the variable that a shell sets.
                bases.extend(around.set("XDG_CACHE_HOME").map(PathBuf::from));
                bases.extend(around.below_home(&[".cache"]));
            }
            Os::MacOs => bases.extend(around.below_home(&["Library", "Caches"])),
            Os::Windows => bases.extend(around.local_app_data()),
        }
        for (_, home) in elsewhere::snaps(around) {
            bases.push(around.child(&home, &["common", ".cache"]));
            bases.push(around.child(&home, &["current", ".cache"]));
        }
        for (_, home) in elsewhere::flatpaks(around) {
            bases.push(around.child(&home, &["cache"]));
        }
        bases.extend(windows_local(data, around));
        for base in bases {
            self.add(around.child(&base, &["arduino"]), Form::Cache);
        }
    }

    fn add_temporary(&mut self, data: &Path) {
        let around = self.surroundings;
        let mut folders = Vec::new();
        match around.os {
            Os::Linux | Os::MacOs => {
                folders.extend(around.set("TMPDIR").map(PathBuf::from));
                folders.push(PathBuf::from("/tmp"));
            }
            Os::Windows => {
                let variables = ["TMP", "TEMP"].iter();
                folders.extend(
                    variables
                        .filter_map(|name| around.set(name))
                        .map(PathBuf::from),
                );
                let local = around.local_app_data();
                folders.extend(local.map(|local| around.child(&local, &["Temp"])));
            }
        }
        // The flatpak makes its cache folder the temporary one.
        for (_, home) in elsewhere::flatpaks(around) {
            folders.push(around.child(&home, &["cache"]));
        }
        let local = windows_local(data, around);
        folders.extend(local.map(|local| around.child(&local, &["Temp"])));
        for folder in folders {
            self.add(around.child(&folder, &["arduino"]), Form::Cache);
            self.add(
                around.child(&folder, &["arduino-core-cache"]),
                Form::Archives,
            );
            for name in around.machine.folders(&folder) {
                let path = around.child(&folder, &[&name]);
                if name.starts_with("arduino_cache_") {
                    self.add(around.child(&path, &["core"]), Form::Archives);
                } else if ["arduino_build_", "arduino-sketch-"]
                    .iter()
                    .any(|prefix| name.starts_with(prefix))
                {
                    self.add(path, Form::Sketch);
                }
            }
        }
    }
}

/// `%LOCALAPPDATA%` of the Windows user whose data folder is worked on from Linux inside it.
fn windows_local(data: &Path, surroundings: &Surroundings<'_>) -> Option<PathBuf> {
    let is_windows = surroundings.is_wsl() && data.starts_with("/mnt");
    data.parent().filter(|_| is_windows).map(Path::to_owned)
}
