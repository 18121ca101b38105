//! A made-up machine for tests of the path logic: any system's paths on any system.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};

use super::surroundings::{Machine, Os, Surroundings};

#[derive(Default)]
pub(super) struct MadeUp {
    variables: Vec<(&'static str, &'static str)>,
    files: Vec<(String, String)>,
    folders: Vec<String>,
    links: Vec<(&'static str, &'static str)>,
    programs: Vec<(&'static str, &'static str)>,
    cli: Option<Result<&'static str, &'static str>>,
}

impl MadeUp {
    pub(super) fn variable(mut self, name: &'static str, value: &'static str) -> Self {
        self.variables.push((name, value));
        self
    }

    pub(super) fn file(mut self, path: &str, text: &str) -> Self {
        self.files.push((path.to_owned(), text.to_owned()));
        self
    }

    pub(super) fn folder(mut self, path: &str) -> Self {
        self.folders.push(path.to_owned());
        self
    }

    /// The data folder `path` holds version `core` of the ESP32 core.
    pub(super) fn core(self, path: &str, core: &str) -> Self {
        let separator = if path.contains('\\') { "\\" } else { "/" };
        let parts = [path, "packages", "esp32", "hardware", "esp32", core];
        self.folder(&parts.join(separator))
    }

    pub(super) fn link(mut self, path: &'static str, real: &'static str) -> Self {
        self.links.push((path, real));
        self
    }

    pub(super) fn program(mut self, name: &'static str, path: &'static str) -> Self {
        self.programs.push((name, path));
        self
    }

    /// What arduino-cli answers, or why it does not.
    pub(super) fn cli(mut self, answer: Result<&'static str, &'static str>) -> Self {
        self.cli = Some(answer);
        self
    }

    pub(super) fn on(&self, os: Os, home: &str) -> Surroundings<'_> {
        Surroundings {
            os,
            home: (!home.is_empty()).then(|| PathBuf::from(home)),
            machine: self,
        }
    }

    /// What stands below `path`, as text behind its separator.
    fn below<'a>(&'a self, path: &'a Path) -> impl Iterator<Item = &'a str> {
        let files = self.files.iter().map(|(name, _)| name.as_str());
        self.folders
            .iter()
            .map(String::as_str)
            .chain(files)
            .filter_map(|name| name.strip_prefix(path.to_str()?)?.strip_prefix(['/', '\\']))
    }
}

fn same(name: &str, path: &Path) -> bool {
    Path::new(name).as_os_str() == path.as_os_str()
}

impl Machine for MadeUp {
    fn variable(&self, name: &str) -> Option<OsString> {
        let found = self.variables.iter().find(|(key, _)| *key == name);
        found.map(|(_, value)| value.into())
    }

    fn read(&self, path: &Path) -> Result<Option<String>> {
        let found = self.files.iter().find(|(name, _)| same(name, path));
        Ok(found.map(|(_, text)| text.clone()))
    }

    fn is_dir(&self, path: &Path) -> bool {
        self.folders.iter().any(|name| same(name, path)) || self.below(path).next().is_some()
    }

    fn folders(&self, path: &Path) -> Vec<String> {
        let names = self.below(path).filter_map(|rest| {
            let name = rest.split(['/', '\\']).next()?;
            self.is_dir(Path::new(&format!("{}/{name}", path.display())))
                .then(|| name.to_owned())
                .or_else(|| {
                    self.is_dir(Path::new(&format!("{}\\{name}", path.display())))
                        .then(|| name.to_owned())
                })
        });
        names.collect::<BTreeSet<_>>().into_iter().collect()
    }

    fn real(&self, path: &Path) -> PathBuf {
        let found = self.links.iter().find(|(name, _)| same(name, path));
        found.map_or(path.to_owned(), |(_, real)| PathBuf::from(real))
    }

    fn program(&self, name: &str) -> Option<PathBuf> {
        let found = self.programs.iter().find(|(key, _)| *key == name);
        found.map(|(_, path)| PathBuf::from(path))
    }

    fn cli_config(&self) -> Result<Option<String>> {
        match self.cli {
            None => Ok(None),
            Some(Ok(text)) => Ok(Some(text.to_owned())),
            Some(Err(error)) => Err(anyhow!("{error}")),
        }
    }
}
