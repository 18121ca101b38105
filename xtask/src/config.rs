//! The user's config file: what would otherwise be repeated on every command line.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use fs_err as fs;
use serde::Deserialize;

/// Content of the config file. Unknown keys are errors, so that a misspelt one is noticed.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Config {
    /// URL prefixes to replace, tried after those of the command line.
    #[serde(default, rename = "mirror")]
    pub mirrors: Vec<Mirror>,
    /// Value of `--engine` where the flag is not given.
    pub engine: Option<String>,
    /// Value of `--base-image` where the flag is not given.
    pub base_image: Option<String>,
    /// Value of `--work-dir` where the flag is not given.
    pub work_dir: Option<PathBuf>,
}

/// Replaces a URL prefix: a company mirror, or a local folder.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mirror {
    /// Prefix to replace, for example `https://github.com/`.
    pub from: String,
    /// What stands in its place, for example `/srv/git/`.
    pub to: String,
}

impl std::str::FromStr for Mirror {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('=') {
            Some((from, to)) if !from.is_empty() && !to.is_empty() => Ok(Self {
                from: from.to_owned(),
                to: to.to_owned(),
            }),
            _ => Err(format!(
                "`{text}` is not FROM=TO, such as https://github.com/=/srv/git/"
            )),
        }
    }
}

impl Config {
    /// Reads the file at `path`, or the one in the user's config folder where it exists.
    ///
    /// # Errors
    /// A file named by `path` that is missing; one that does not parse (the error names line and key).
    pub fn load(path: Option<&Path>) -> Result<Self> {
        let path = match path {
            Some(path) => path.to_owned(),
            None => match default_path().filter(|path| path.is_file()) {
                Some(path) => path,
                None => return Ok(Self::default()),
            },
        };
        let text = fs::read_to_string(&path)?;
        toml::from_str(&text).with_context(|| format!("reading the config file {}", path.display()))
    }
}

/// Where the config file is looked for: `esp32-xip-libs/config.toml` in the user's config folder.
pub fn default_path() -> Option<PathBuf> {
    directories::ProjectDirs::from("", "", "esp32-xip-libs")
        .map(|dirs| dirs.config_dir().join("config.toml"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_key_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.toml");
        fs::write(
            &path,
            "[[mirror]]\nfrom = 'https://github.com/'\nto = '/srv/'\n\n[[miror]]\n",
        )
        .unwrap();
        let error = format!("{:#}", Config::load(Some(&path)).unwrap_err());
        assert!(
            error.contains("miror") && error.contains("config.toml"),
            "{error}"
        );
    }

    #[test]
    fn mirrors_are_read_and_a_bad_one_is_named() {
        let config: Config = toml::from_str("[[mirror]]\nfrom='a'\nto='b'\n").unwrap();
        assert_eq!(config.mirrors, ["a=b".parse().unwrap()]);
        assert!("nothing".parse::<Mirror>().unwrap_err().contains("nothing"));
    }
}
