//! What an install leaves in `.xip`, so that later runs know a tree again.
//!
//! | file | content |
//! | --- | --- |
//! | `<core>.stock.list` | every file of the stock tree, as it stood before it was first renamed |
//! | `<core>.<suffix>.json` | which package was installed, when, by what |
//! | `<core>.<suffix>.list` | every file of that package, where it brought no manifest of its own |

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use fs_err as fs;
use serde::{Deserialize, Serialize};

use super::listing;
use super::place::{OWN, STOCK, at};
use crate::libs::manifest::FileRecord;
use crate::names::CoreVersion;

/// One install.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstallRecord {
    /// When, in UTC: `2026-11-30T22:15:04Z`.
    pub installed: String,
    /// What installed it: program and version.
    pub by: String,
    /// Name of the zip.
    pub zip: String,
    /// SHA-256 of the zip.
    pub zip_sha256: String,
    /// SHA-256 of the manifest in the tree; `None` where the package had none.
    pub manifest_sha256: Option<String>,
}

/// The name and version of this program, as records have it.
pub(super) fn this_tool() -> String {
    concat!("xtask ", env!("CARGO_PKG_VERSION")).to_owned()
}

/// Now, as records have it.
pub(super) fn now() -> String {
    jiff::Timestamp::now()
        .strftime("%Y-%m-%dT%H:%M:%SZ")
        .to_string()
}

/// The records of one core version in a tool folder.
#[derive(Debug, Clone, Copy)]
pub(super) struct Records<'a> {
    pub(super) tools: &'a Path,
    pub(super) core: &'a CoreVersion,
}

impl Records<'_> {
    pub(super) fn stock_list_path(&self) -> PathBuf {
        self.path(STOCK, "list")
    }

    pub(super) fn install_path(&self, suffix: &str) -> PathBuf {
        self.path(suffix, "json")
    }

    pub(super) fn list_path(&self, suffix: &str) -> PathBuf {
        self.path(suffix, "list")
    }

    fn path(&self, suffix: &str, extension: &str) -> PathBuf {
        let name = format!("{OWN}/{}.{suffix}.{extension}", self.core);
        at(self.tools, &name)
    }

    /// Every file of the stock tree; `None` where none was recorded.
    pub(super) fn stock_list(&self) -> Result<Option<Vec<FileRecord>>> {
        listing::read(&self.stock_list_path())
    }

    /// The record of the install that left a tree with this manifest.
    pub(super) fn install_of(
        &self,
        suffix: &str,
        manifest_sha256: &str,
    ) -> Result<Option<InstallRecord>> {
        let record = read(&self.install_path(suffix))?;
        Ok(record.filter(|record| record.manifest_sha256.as_deref() == Some(manifest_sha256)))
    }

    /// Installs of packages without a manifest: suffix, record, files.
    pub(super) fn unverified(&self) -> Result<Vec<(String, InstallRecord, Vec<FileRecord>)>> {
        let own = at(self.tools, OWN);
        if !own.is_dir() {
            return Ok(Vec::new());
        }
        let mut found = Vec::new();
        for entry in fs::read_dir(&own)? {
            let Ok(name) = entry?.file_name().into_string() else {
                continue;
            };
            let suffix = name
                .strip_prefix(&format!("{}.", self.core))
                .and_then(|rest| rest.strip_suffix(".list"))
                .filter(|suffix| *suffix != STOCK);
            let Some(suffix) = suffix else { continue };
            let record = read(&self.install_path(suffix))?;
            let list = listing::read(&self.list_path(suffix))?;
            if let (Some(record), Some(list)) = (record, list)
                && record.manifest_sha256.is_none()
            {
                found.push((suffix.to_owned(), record, list));
            }
        }
        found.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(found)
    }
}

fn read(path: &Path) -> Result<Option<InstallRecord>> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let record = serde_json::from_str(&text).with_context(|| {
        format!(
            "{} is not as this tool wrote it; remove it, it only tells when a package was installed",
            path.display()
        )
    })?;
    Ok(Some(record))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_utc_to_the_second() {
        let now = now();
        let shape: String = now
            .chars()
            .map(|c| if c.is_ascii_digit() { '0' } else { c })
            .collect();
        assert_eq!(shape, "0000-00-00T00:00:00Z", "{now}");
    }
}
