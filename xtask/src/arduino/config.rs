//! The configuration of arduino-cli and of the IDE, which hands its own to the arduino-cli that it brings.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::surroundings::{Os, Surroundings};
use crate::exit::Refusal;

/// The variable that names arduino-cli's configuration file.
pub(super) const CONFIG_VARIABLE: &str = "ARDUINO_CONFIG_FILE";
/// Name of that file in the folders where it is looked for.
const CONFIG_NAME: &str = "arduino-cli.yaml";

/// The part of a configuration that matters here; what it leaves open is `None`.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Config {
    directories: Option<Directories>,
    build_cache: Option<BuildCache>,
}

#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct Directories {
    data: Option<String>,
    user: Option<String>,
}

#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct BuildCache {
    path: Option<String>,
    extra_paths: Option<Vec<String>>,
}

impl Config {
    /// Reads a configuration file.
    ///
    /// # Errors
    /// It is not YAML; names file and line.
    fn from_yaml(text: &str, file: &Path) -> Result<Self> {
        // The error in one line: the quoted piece of the file would spread over many.
        let plain = serde_saphyr::options! { with_snippet: false };
        let config: Option<Self> =
            serde_saphyr::from_str_with_options(text, plain).with_context(|| {
                format!(
                    "reading {} (give --data-dir DIR to do without it)",
                    file.display()
                )
            })?;
        Ok(config.unwrap_or_default())
    }

    /// Reads the answer of `arduino-cli config dump`; since 1.0 it stands below `config`.
    ///
    /// # Errors
    /// It is not JSON.
    pub fn from_dump(text: &str) -> Result<Self> {
        #[derive(Deserialize)]
        struct Wrapped {
            config: Option<Config>,
        }
        let reading = "the answer of arduino-cli config dump is not understood";
        let Wrapped { config } = serde_json::from_str(text).context(reading)?;
        match config {
            Some(config) => Ok(config),
            None => serde_json::from_str(text).context(reading),
        }
    }

    /// `directories.data`.
    pub fn data(&self) -> Option<PathBuf> {
        path(self.directories.as_ref()?.data.as_deref())
    }

    /// `directories.user`, the sketchbook's folder.
    pub fn user(&self) -> Option<PathBuf> {
        path(self.directories.as_ref()?.user.as_deref())
    }

    /// `build_cache.path` and `build_cache.extra_paths`.
    pub fn build_caches(&self) -> Vec<PathBuf> {
        let Some(cache) = &self.build_cache else {
            return Vec::new();
        };
        let extra = cache.extra_paths.iter().flatten().map(String::as_str);
        let paths = cache.path.as_deref().into_iter().chain(extra);
        paths.filter_map(|text| path(Some(text))).collect()
    }
}

fn path(text: Option<&str>) -> Option<PathBuf> {
    text.filter(|text| !text.is_empty()).map(PathBuf::from)
}

/// The configuration files that exist, in the order in which they count: arduino-cli's, then the IDE's.
///
/// # Errors
/// A file that does not parse, or one named by `ARDUINO_CONFIG_FILE` that is not there.
pub(super) fn read_all(
    surroundings: &Surroundings<'_>,
    default: Option<&Path>,
) -> Result<Vec<(PathBuf, Config)>> {
    let mut files = Vec::new();
    if let Some(named) = surroundings.set(CONFIG_VARIABLE) {
        let named = PathBuf::from(named);
        if surroundings.machine.read(&named)?.is_none() {
            bail!(Refusal::Usage(format!(
                "{CONFIG_VARIABLE} names {}, which does not exist",
                named.display()
            )));
        }
        files.push(named);
    } else if let Some(default) = default {
        files.push(surroundings.child(default, &[CONFIG_NAME]));
    }
    files.extend(surroundings.below_home(&[".arduinoIDE", CONFIG_NAME]));
    let mut configs = Vec::new();
    for file in files {
        if let Some(text) = surroundings.machine.read(&file)? {
            let config = Config::from_yaml(&text, &file)?;
            configs.push((file, config));
        }
    }
    Ok(configs)
}

/// The sketchbook's folder: variable, configuration, the system's default.
pub fn sketchbook(configs: &[Config], surroundings: &Surroundings<'_>) -> Option<PathBuf> {
    if let Some(path) = surroundings.set("ARDUINO_DIRECTORIES_USER") {
        return Some(path.into());
    }
    let configured = configs.iter().find_map(Config::user);
    configured.or_else(|| match surroundings.os {
        Os::Linux => surroundings.below_home(&["Arduino"]),
        Os::MacOs | Os::Windows => surroundings.below_home(&["Documents", "Arduino"]),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dump_is_read_in_both_of_its_forms() {
        let new = r#"{"config":{"directories":{"data":"/x/y","user":"/u"},"build_cache":{"path":"/c","ttl":"1h"}}}"#;
        let old = r#"{"board_manager":{"additional_urls":[]},"directories":{"data":"/x/y","user":"/u"},
                      "build_cache":{"path":"/c","extra_paths":["/d",""]}}"#;
        for text in [new, old] {
            let config = Config::from_dump(text).unwrap();
            assert_eq!(config.data(), Some("/x/y".into()));
            assert_eq!(config.user(), Some("/u".into()));
            assert_eq!(config.build_caches()[0], Path::new("/c"));
        }
        assert_eq!(Config::from_dump(old).unwrap().build_caches().len(), 2);
        assert_eq!(
            Config::from_dump(r#"{"config":{}}"#).unwrap(),
            Config::default()
        );
        assert!(Config::from_dump("config: {}").is_err());
    }
}
