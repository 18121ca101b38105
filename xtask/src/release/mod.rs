//! Stage 1: which commits is this release made of?

mod constraints;
mod index;
mod index_source;
mod installed;
mod official;
mod tried;
pub mod versions_txt;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use fs_err as fs;
use serde::Serialize;

use crate::exit::Refusal;
use crate::http::Http;
use crate::names::{Chip, CoreVersion};
use crate::progress::Report;
use crate::whole_file;
use tried::Tried;
use versions_txt::Versions;

pub use constraints::{constraints, unpinned};
pub use index_source::OFFICIAL_INDEX;
pub use installed::stock_folder;

/// The commits and component versions that a core version's libraries were built from: a `versions.txt`, read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Pins {
    /// The core version asked for; `None` for a file of the user's own, which may be any version's.
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
        /// Its size in bytes, as the index says.
        size: u64,
        /// Bytes of it fetched by this run; 0 where a copy was at hand.
        fetched: u64,
        /// The file that was read: the whole zip, its checksum compared, or the `versions.txt` that an earlier run
        /// took out of it. `None` where this run read it by ranges.
        local: Option<PathBuf>,
    },
}

impl Pins {
    /// The git source called `name`.
    pub fn source(&self, name: &str) -> Option<&SourcePin> {
        self.sources.iter().find(|pin| pin.name == name)
    }
}

/// What is asked of [`resolve`].
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The core version; not looked at where `versions` is given.
    pub core: &'a CoreVersion,
    /// The chip.
    pub chip: &'a Chip,
    /// A `versions.txt` to take instead of the release's own.
    pub versions: Option<&'a Path>,
    /// The data folder of the Arduino programs, where there is one.
    pub data_dir: Option<&'a Path>,
    /// Path or URL of the package index to ask instead of those at hand and Espressif's.
    pub index: Option<&'a str>,
    /// Whether the network is out of bounds.
    pub offline: bool,
    /// Where fetched files are kept for later runs.
    pub downloads: &'a Path,
}

/// The first core version whose libraries are a tool of their own for each chip (arduino-esp32 pull request 12219).
const FIRST_CORE: (u64, u64, u64) = (3, 3, 6);

/// Finds the release's pins: in the file given, in the installed stock libraries, in the official zip.
///
/// Of that zip only the directory and `versions.txt` are fetched where the server can serve parts; otherwise all of
/// it, its checksum compared. What is fetched is kept in `downloads`, so that later runs need no network.
///
/// # Errors
/// [`Refusal::Usage`] for a core version that the package index does not know, or that is too old. Else what could not
/// be read, or fetched; without network, all places that were looked at.
pub fn resolve(request: &Request<'_>, report: Report<'_>) -> Result<Pins> {
    if let Some(path) = request.versions {
        let versions = versions_txt::parse(&fs::read(path)?, path.display())?;
        return Ok(pins(
            None,
            versions,
            Origin::File {
                path: path.to_owned(),
            },
        ));
    }
    let core = request.core;
    supported(core)?;
    let mut tried = Tried::default();
    tried.add("--versions: not given");
    if let Some((versions, origin)) = from_installation(request, &mut tried)? {
        return Ok(pins(Some(core), versions, origin));
    }
    let http = if request.offline {
        None
    } else {
        Some(Http::new()?)
    };
    if let Some(archive) = index_source::archive(request, http.as_ref(), &mut tried, report)?
        && let Some((versions, origin)) =
            official::versions(request, &archive, http.as_ref(), &mut tried, report)?
    {
        return Ok(pins(Some(core), versions, origin));
    }
    bail!(
        "no pins of core {core} for the {} without network; tried in this order:\n{tried}\
         give --versions FILE, or run once without --offline: what it fetches is kept in {}",
        request.chip,
        request.downloads.display()
    )
}

fn from_installation(
    request: &Request<'_>,
    tried: &mut Tried,
) -> Result<Option<(Versions, Origin)>> {
    let Some(data_dir) = request.data_dir else {
        tried.add("installed libraries: no data folder of the Arduino programs is known");
        return Ok(None);
    };
    match installed::stock_versions(data_dir, request.chip, request.core) {
        Ok(path) => {
            let versions = versions_txt::parse(&fs::read(&path)?, path.display()).context(
                "the installed stock libraries (give --versions FILE to do without them)",
            )?;
            Ok(Some((versions, Origin::Installed { path })))
        }
        Err(why_not) => {
            tried.add(why_not);
            Ok(None)
        }
    }
}

fn pins(core: Option<&CoreVersion>, versions: Versions, origin: Origin) -> Pins {
    Pins {
        core: core.cloned(),
        origin,
        sources: versions.sources,
        components: versions.components,
    }
}

fn supported(core: &CoreVersion) -> Result<()> {
    let version = core.semver();
    let (major, minor, patch) = FIRST_CORE;
    if (version.major, version.minor, version.patch) < FIRST_CORE {
        bail!(Refusal::Usage(format!(
            "core {core} ships the libraries of all chips as one tool, esp32-arduino-libs; \
             supported are {major}.{minor}.{patch} and later (or give that release's own versions.txt by --versions FILE)"
        )));
    }
    Ok(())
}

/// Keeps a fetched file for later runs.
fn keep(path: &Path, content: &[u8]) -> Result<()> {
    fs::create_dir_all(path.parent().context("a file needs a folder")?)?;
    whole_file::replace(path, content)
}

#[cfg(test)]
mod tests;
