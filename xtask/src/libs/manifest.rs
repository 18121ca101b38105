//! `libs-manifest.json`: what a package is made of. It travels inside the zip and beside it.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
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
    /// The manifest as it is written to disk: indented JSON in the order of the fields, with a line end.
    pub fn to_json(&self) -> Result<String> {
        let text = serde_json::to_string_pretty(self).context("writing the manifest as JSON")?;
        Ok(text + "\n")
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
    /// Full commit id.
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
