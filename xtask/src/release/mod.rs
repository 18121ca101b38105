//! Stage 1: which commits is this release made of?

use std::path::PathBuf;

use serde::Serialize;

use crate::names::CoreVersion;

/// The commits and component versions that a core version's libraries were built from: a `versions.txt`, read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Pins {
    /// The core version asked for; `None` where only a file was given.
    pub core: Option<CoreVersion>,
    /// Where the `versions.txt` came from.
    pub origin: Origin,
    /// Git sources, in the file's order, each name once.
    pub sources: Vec<SourcePin>,
    /// Managed components, in the file's order, each name once.
    pub components: Vec<ComponentPin>,
}

/// A git source held at one commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SourcePin {
    /// Upstream's name, for example `esp-idf`.
    pub name: String,
    /// Branch, or tags, that the release named; empty where it named none.
    pub refs: Vec<String>,
    /// The commit, abbreviated as the release gives it (7 to 40 hex digits, lower case).
    pub commit: String,
}

/// A component from Espressif's registry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ComponentPin {
    /// `namespace__name`, as in `managed_components/`.
    pub name: String,
    /// The version, for example `0.6.0~1`; `None` for a git source whose commit was not recorded.
    pub version: Option<String>,
}

/// Where pins came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Origin {
    /// `--versions FILE`.
    File {
        /// The file.
        path: PathBuf,
    },
    /// The stock libraries of an Arduino installation, in place or set aside as `.stock`.
    Installed {
        /// The `versions.txt` read.
        path: PathBuf,
    },
    /// The official zip named by the package index.
    OfficialZip {
        /// Its address.
        url: String,
        /// Bytes fetched to read `versions.txt`.
        fetched: u64,
        /// Whether the whole zip was fetched (and its checksum compared).
        whole: bool,
    },
}

impl Pins {
    /// The git source called `name`.
    pub fn source(&self, name: &str) -> Option<&SourcePin> {
        self.sources.iter().find(|pin| pin.name == name)
    }
}
