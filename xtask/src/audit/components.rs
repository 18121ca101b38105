//! The components that a build is made of, as far as they are on disk.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use fs_err as fs;
use serde::Deserialize;

/// A component's folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Component {
    /// Its name, for example `spi_flash`.
    pub(super) name: String,
    /// Relative to the lib-builder, with `/`, for example `esp-idf/components/spi_flash`.
    pub(super) place: String,
    /// On disk.
    pub(super) folder: PathBuf,
}

/// What a checkout holds of them.
#[derive(Debug, Default)]
pub(super) struct Components {
    /// Sorted by name. A component of the lib-builder goes before one of ESP-IDF's.
    pub(super) list: Vec<Component>,
    /// What a build has and this checkout has not, for people.
    pub(super) not_seen: Vec<String>,
}

/// Folders whose subfolders are components, relative to the lib-builder; a later one wins over an earlier one.
const PLACES: [&str; 3] = ["esp-idf/components", "components", "managed_components"];

#[derive(Deserialize)]
struct Manifest {
    #[serde(default)]
    dependencies: BTreeMap<String, serde_json::Value>,
}

impl Components {
    /// Those below `lib_builder` for an ESP-IDF target.
    pub(super) fn read(lib_builder: &Path, target: &str) -> Result<Self> {
        let mut found: BTreeMap<String, Component> = BTreeMap::new();
        for place in PLACES {
            let folder = lib_builder.join(place);
            if !folder.is_dir() {
                continue;
            }
            for entry in fs::read_dir(&folder)? {
                let entry = entry?;
                let name = entry.file_name().to_string_lossy().into_owned();
                // tools/cmake/build.cmake leaves ESP-IDF's own `linux` to that target.
                let other = name == "linux" && target != "linux";
                if entry.path().is_dir() && !other && !name.starts_with('.') {
                    let component = Component {
                        place: format!("{place}/{name}"),
                        folder: entry.path(),
                        name: name.clone(),
                    };
                    found.insert(name, component);
                }
            }
        }
        let main = Component {
            name: "main".to_owned(),
            place: "main".to_owned(),
            folder: lib_builder.join("main"),
        };
        found.insert(main.name.clone(), main);
        Ok(Self {
            list: found.into_values().collect(),
            not_seen: not_seen(lib_builder)?,
        })
    }

    /// Those of these names.
    pub(super) fn only(&self, names: &[String]) -> Self {
        let wanted = |component: &&Component| names.contains(&component.name);
        Self {
            list: self.list.iter().filter(wanted).cloned().collect(),
            not_seen: Vec::new(),
        }
    }

    /// Files of one of these names right in a component's folder.
    pub(super) fn files(&self, names: &[&str]) -> Vec<PathBuf> {
        self.list
            .iter()
            .flat_map(|component| names.iter().map(|name| component.folder.join(name)))
            .filter(|file| file.is_file())
            .collect()
    }
}

/// The Arduino core, managed components and submodules that are not there.
fn not_seen(lib_builder: &Path) -> Result<Vec<String>> {
    let mut missing = Vec::new();
    if is_empty(&lib_builder.join("components/arduino")) {
        missing.push("components/arduino".to_owned());
    }
    let manifest = lib_builder.join("main/idf_component.yml");
    if manifest.is_file() {
        let text = fs::read_to_string(&manifest)?;
        let read: Manifest = serde_saphyr::from_str(&text)
            .with_context(|| format!("reading {}", manifest.display()))?;
        for name in read.dependencies.keys().filter(|name| *name != "idf") {
            let folder = format!("managed_components/{}", name.replace('/', "__"));
            if is_empty(&lib_builder.join(&folder)) {
                missing.push(folder);
            }
        }
    }
    let modules = lib_builder.join("esp-idf/.gitmodules");
    if modules.is_file() {
        let text = fs::read_to_string(&modules)?;
        let paths = text
            .lines()
            .filter_map(|line| line.trim().strip_prefix("path = "))
            .filter(|path| is_empty(&lib_builder.join("esp-idf").join(path)));
        missing.extend(paths.map(|path| format!("esp-idf/{path}")));
    }
    Ok(missing)
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).map_or(true, |mut entries| entries.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, files: &[(&str, &str)]) {
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }

    #[test]
    fn what_is_there_and_what_is_not() {
        let dir = tempfile::tempdir().unwrap();
        write(
            dir.path(),
            &[
                ("esp-idf/components/spi_flash/Kconfig", ""),
                ("esp-idf/components/linux/Kconfig", ""),
                ("esp-idf/components/heap/CMakeLists.txt", ""),
                ("esp-idf/components/README.md", ""),
                (
                    "esp-idf/.gitmodules",
                    "[submodule \"a\"]\n\tpath = components/heap/tlsf\n[submodule \"b\"]\n\tpath = components/spi_flash\n",
                ),
                ("components/heap/Kconfig.projbuild", ""),
                (
                    "main/idf_component.yml",
                    "dependencies:\n  idf: \">=5.3\"\n  espressif/cbor:\n    version: \"1\"\n  espressif/esp-sr: \"2\"\n",
                ),
                ("managed_components/espressif__cbor/Kconfig", ""),
            ],
        );
        let components = Components::read(dir.path(), "esp32s3").unwrap();
        let places: Vec<&str> = components
            .list
            .iter()
            .map(|one| one.place.as_str())
            .collect();
        assert_eq!(
            places,
            [
                "managed_components/espressif__cbor",
                "components/heap",
                "main",
                "esp-idf/components/spi_flash"
            ]
        );
        assert_eq!(
            components.not_seen,
            [
                "components/arduino",
                "managed_components/espressif__esp-sr",
                "esp-idf/components/heap/tlsf"
            ]
        );
        assert_eq!(components.files(&["Kconfig", "Kconfig.projbuild"]).len(), 3);
    }
}
