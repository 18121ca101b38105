//! Which package index is asked: the one given, a copy at hand, or Espressif's.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use fs_err as fs;
use reqwest::Url;

use super::index::{Archive, Index};
use super::tried::Tried;
use super::{Request, keep};
use crate::digest::sha256;
use crate::exit::Refusal;
use crate::http::{self, Http};
use crate::progress::{Event, Report};

/// Espressif's package index.
pub const OFFICIAL_INDEX: &str =
    "https://espressif.github.io/arduino-esp32/package_esp32_index.json";
/// The copies that the Arduino programs keep in their data folder. The second is Arduino's own, which lists this core too.
const ARDUINO_COPIES: [&str; 2] = ["package_esp32_index.json", "package_index.json"];
/// Largest index read, in bytes; Arduino's own has some megabytes.
const INDEX_LIMIT: u64 = 64_000_000;

/// The zip that the index names for this core and chip.
///
/// `http` is `None` for `--offline`; then `Ok(None)` says that no index at hand names it, and `tried` which were asked.
pub(super) fn archive(
    request: &Request<'_>,
    http: Option<&Http>,
    tried: &mut Tried,
    report: Report<'_>,
) -> Result<Option<Archive>> {
    let url = match request.index {
        Some(given) if !http::is_url(given) => {
            let path = local_path(given)?;
            let index = Index::parse(&fs::read(&path)?, path.display())?;
            return named(request, &index, &path.display().to_string()).map(Some);
        }
        Some(url) => url,
        None => {
            if let Some(archive) = from_arduinos_copies(request, tried, report)? {
                return Ok(Some(archive));
            }
            OFFICIAL_INDEX
        }
    };
    let kept = kept_index(request, url);
    // An index that was asked for by its address may have changed since; Espressif's only grows.
    if (request.index.is_none() || http.is_none())
        && let Some(archive) = from_copy(request, &kept, tried, report)?
    {
        return Ok(Some(archive));
    }
    let Some(http) = http else {
        tried.add(format!("{url}: needs the network"));
        return Ok(None);
    };
    let index = fetch(url, &kept, http, report)?;
    named(request, &index, url).map(Some)
}

fn from_arduinos_copies(
    request: &Request<'_>,
    tried: &mut Tried,
    report: Report<'_>,
) -> Result<Option<Archive>> {
    let Some(data_dir) = request.data_dir else {
        return Ok(None);
    };
    for name in ARDUINO_COPIES {
        if let Some(archive) = from_copy(request, &data_dir.join(name), tried, report)? {
            return Ok(Some(archive));
        }
    }
    Ok(None)
}

/// A copy serves if it names the version. One that cannot be read is told, and passed over: nobody asked for it by name.
fn from_copy(
    request: &Request<'_>,
    path: &Path,
    tried: &mut Tried,
    report: Report<'_>,
) -> Result<Option<Archive>> {
    if !path.is_file() {
        tried.add(format!("{}: not there", path.display()));
        return Ok(None);
    }
    let found = Index::parse(&fs::read(path)?, path.display()).and_then(|index| {
        index
            .archive(request.chip, request.core)
            .map(|archive| (archive, index))
    });
    match found {
        Ok((Some(archive), _)) => Ok(Some(archive)),
        Ok((None, index)) => {
            tried.add(format!(
                "{}: {}",
                path.display(),
                does_not_name(request, &index)
            ));
            Ok(None)
        }
        Err(error) => {
            report(Event::Warning(&format!("passed over: {error:#}")));
            tried.add(format!("{}: {error:#}", path.display()));
            Ok(None)
        }
    }
}

fn fetch(url: &str, kept: &Path, http: &Http, report: Report<'_>) -> Result<Index> {
    report(Event::Step(&format!("fetch the package index {url}")));
    let content = http.body(url, INDEX_LIMIT, report).context(
        "no package index at hand names this core, and none can be fetched; \
         give --versions FILE or --index PATH to do without the network",
    )?;
    let index = Index::parse(&content, url)?;
    keep(kept, &content)?;
    report(Event::Note(&format!(
        "package index: {} bytes from {url}",
        content.len()
    )));
    Ok(index)
}

/// The entry, where the index must have it.
fn named(request: &Request<'_>, index: &Index, name: &str) -> Result<Archive> {
    let archive = index
        .archive(request.chip, request.core)
        .with_context(|| name.to_owned())?;
    archive.ok_or_else(|| {
        anyhow!(Refusal::Usage(format!(
            "{name} {}",
            does_not_name(request, index)
        )))
    })
}

fn does_not_name(request: &Request<'_>, index: &Index) -> String {
    let (tool, core) = (request.chip.tool_name(), request.core);
    match index.newest(request.chip).as_slice() {
        [] => format!("names no {tool} at all"),
        newest => format!(
            "names no {tool} {core}; the newest it knows are {}",
            newest.join(", ")
        ),
    }
}

/// Where a fetched index is kept for later runs, one file an address.
fn kept_index(request: &Request<'_>, url: &str) -> PathBuf {
    let name = sha256(url.as_bytes())[..12].to_owned();
    request.downloads.join(format!("package-index-{name}.json"))
}

/// `--index` as a path; the `file:///...` form is what Arduino's own settings hold.
fn local_path(given: &str) -> Result<PathBuf> {
    if !given.starts_with("file:") {
        return Ok(given.into());
    }
    let url = Url::parse(given)
        .ok()
        .and_then(|url| url.to_file_path().ok());
    url.ok_or_else(|| {
        anyhow!(Refusal::Usage(format!(
            "--index {given} is not the address of a local file"
        )))
    })
}
