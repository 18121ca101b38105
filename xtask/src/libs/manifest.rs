//! `libs-manifest.json`: what a package is made of. It travels inside the zip and beside it.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use fs_err as fs;
use serde::{Deserialize, Serialize};

use crate::names::{Chip, CoreVersion};

/// Name of the manifest inside a libraries tree.
pub const FILE_NAME: &str = "libs-manifest.json";

/// Version of the manifest's schema; a reader refuses a higher one.
pub const SCHEMA: u32 = 1;

/// The manifest.
///
/// It holds nothing that differs between two runs over the same inputs: no times, no paths of the build machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The core version that the libraries are for.
    pub core: CoreVersion,
    /// The chip.
    pub chip: Chip,
    /// The patch set and its lines.
    pub patch_set: PatchSetRecord,
    /// Every git source with its full commit, submodules excepted.
    pub sources: Vec<SourceRecord>,
    /// Managed components as pinned; `None` where the release recorded no version.
    pub components: BTreeMap<String, Option<String>>,
    /// How the libraries were made.
    pub build: BuildRecord,
    /// Effective values of the patch set's expected symbols: memory variant -> symbol -> value (`y`, a number, a text, or `n`).
    pub effective: BTreeMap<String, BTreeMap<String, String>>,
    /// Every file of the tree but the manifest itself, sorted by path in byte order.
    pub files: Vec<FileRecord>,
}

impl Manifest {
    /// Reads the manifest at `path`.
    ///
    /// # Errors
    /// A schema above [`SCHEMA`]; content that does not parse (the error has line and column).
    pub fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path)?;
        Self::from_json(&text).with_context(|| format!("reading {}", path.display()))
    }

    /// Reads the manifest's text.
    pub fn from_json(text: &str) -> Result<Self> {
        /// The one field that every schema has.
        #[derive(Deserialize)]
        struct Head {
            schema: u32,
        }
        let Head { schema } = serde_json::from_str(text)?;
        if schema > SCHEMA {
            bail!(
                "it has schema {schema}, this tool reads up to {SCHEMA}; use a newer version of the tool"
            );
        }
        Ok(serde_json::from_str(text)?)
    }

    /// The manifest's one text: the same value gives the same bytes (fields in order, maps sorted, LF, a last newline).
    pub fn to_json(&self) -> Result<String> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        Ok(text)
    }
}

/// The patch set that a package was built with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatchSetRecord {
    /// Its name.
    pub name: String,
    /// The suffix of the zip's name and of the folder set aside by revert, for example `xip-ecc`.
    pub suffix: String,
    /// Its lines: defconfig file below `configs/` -> lines.
    pub lines: BTreeMap<String, Vec<String>>,
}

/// A git source at its commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceRecord {
    /// Upstream's name.
    pub name: String,
    /// Its canonical address.
    pub url: String,
    /// Branch or tags named by the release.
    pub refs: Vec<String>,
    /// Full commit id. A quick build looks up ESP-IDF alone: its other sources stand as the release abbreviates them.
    pub commit: String,
}

/// How the libraries were made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "way", rename_all = "kebab-case")]
pub enum BuildRecord {
    /// Upstream's whole build.
    Full {
        /// `docker`, `podman` or `host`.
        engine: String,
        /// The image's name and digest; `None` for the host.
        image: Option<String>,
    },
    /// Only the changed objects were rebuilt; everything else is the stock file.
    Quick {
        /// The compiler's own version line.
        compiler: String,
        /// Whether every object was first reproduced from stock settings.
        proven: bool,
        /// The rebuilt archive members.
        members: Vec<MemberRecord>,
    },
}

/// An archive member that a quick build replaced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberRecord {
    /// Archive, relative to the tree, for example `qio_opi/libesp_psram.a`.
    pub archive: String,
    /// Member name, for example `esp_psram.c.obj`.
    pub member: String,
    /// SHA-256 of the stock member, lower-case hex.
    pub before: String,
    /// SHA-256 of the new member, lower-case hex.
    pub after: String,
}

/// One file of the tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRecord {
    /// Path relative to the tree's root, with `/`.
    pub path: String,
    /// Size in bytes.
    pub size: u64,
    /// SHA-256 in lower-case hex.
    pub sha256: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Manifest {
        Manifest {
            schema: SCHEMA,
            core: "3.3.12".parse().unwrap(),
            chip: "esp32s3".parse().unwrap(),
            patch_set: PatchSetRecord {
                name: "xip-ecc".into(),
                suffix: "xip-ecc".into(),
                lines: [("defconfig.opi_ram".into(), vec!["CONFIG_A=y".into()])].into(),
            },
            sources: Vec::new(),
            components: [
                ("espressif__cbor".into(), Some("0.6.0~1".into())),
                ("a__b".into(), None),
            ]
            .into(),
            build: BuildRecord::Full {
                engine: "docker".into(),
                image: None,
            },
            effective: BTreeMap::new(),
            files: Vec::new(),
        }
    }

    #[test]
    fn what_is_written_is_read_back_and_has_one_form() {
        let text = manifest().to_json().unwrap();
        assert_eq!(Manifest::from_json(&text).unwrap(), manifest());
        assert!(text.ends_with("}\n") && !text.contains('\r'), "{text}");
        assert!(text.find("a__b").unwrap() < text.find("espressif__cbor").unwrap());
    }

    #[test]
    fn a_higher_schema_is_refused_before_its_fields_are_judged() {
        let error = Manifest::from_json("{\"schema\": 9, \"news\": []}")
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("schema 9") && error.contains("newer version"),
            "{error}"
        );
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE_NAME);
        fs::write(&path, "{\"schema\": 1,\n \"core\": 7}").unwrap();
        let error = format!("{:#}", Manifest::read(&path).unwrap_err());
        assert!(
            error.contains(FILE_NAME) && error.contains("line 2"),
            "{error}"
        );
    }
}
