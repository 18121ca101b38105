//! `versions.txt` out of the official zip: from a copy at hand, by ranges from the server, or from a whole download.

use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use fs_err as fs;

use super::index::Archive;
use super::tried::Tried;
use super::versions_txt::{self, Versions};
use super::{Origin, Request, keep};
use crate::digest::sha256_file;
use crate::http::Http;
use crate::progress::{Event, Report};

/// Most bytes that reading by ranges may take: some ten times what the largest official zip needs. A server whose
/// ranges are wrong could otherwise make the search for the zip's directory read all of it, backwards.
const RANGES_LIMIT: u64 = 4_000_000;
/// Largest `versions.txt` taken out of a zip, in bytes; real ones have some 800.
const VERSIONS_LIMIT: u64 = 1_000_000;

/// The release's pins as the official zip tells them, and where they were read.
///
/// `http` is `None` for `--offline`; then `Ok(None)` says that nothing at hand has them, and `tried` what was looked at.
pub(super) fn versions(
    request: &Request<'_>,
    archive: &Archive,
    http: Option<&Http>,
    tried: &mut Tried,
    report: Report<'_>,
) -> Result<Option<(Versions, Origin)>> {
    if let Some(found) = from_zip_at_hand(request, archive, tried, report)? {
        return Ok(Some(found));
    }
    if let Some(found) = from_kept_text(request, archive, tried)? {
        return Ok(Some(found));
    }
    let Some(http) = http else {
        tried.add(format!("{}: needs the network", archive.url));
        return Ok(None);
    };
    match by_ranges(request, archive, http, report)? {
        Some(found) => Ok(Some(found)),
        None => whole(request, archive, http, report).map(Some),
    }
}

/// A zip in our downloads or in Arduino's, if it is the one that the index means.
fn from_zip_at_hand(
    request: &Request<'_>,
    archive: &Archive,
    tried: &mut Tried,
    report: Report<'_>,
) -> Result<Option<(Versions, Origin)>> {
    let staging = request
        .data_dir
        .map(|data| data.join("staging").join("packages"));
    for folder in [Some(request.downloads.to_owned()), staging]
        .into_iter()
        .flatten()
    {
        let path = folder.join(&archive.file_name);
        if !path.is_file() {
            tried.add(format!("{}: not there", path.display()));
            continue;
        }
        if sha256_file(&path)?.1 != archive.sha256 {
            let text = format!(
                "{}: its checksum is not the package index's",
                path.display()
            );
            report(Event::Note(&text));
            tried.add(text);
            continue;
        }
        return read_local(&path, archive, 0).map(Some);
    }
    Ok(None)
}

/// The text that an earlier run read by ranges.
fn from_kept_text(
    request: &Request<'_>,
    archive: &Archive,
    tried: &mut Tried,
) -> Result<Option<(Versions, Origin)>> {
    let path = kept_text(request, archive);
    if !path.is_file() {
        tried.add(format!("{}: not there", path.display()));
        return Ok(None);
    }
    let versions = versions_txt::parse(&fs::read(&path)?, path.display())?;
    Ok(Some((versions, origin(archive, 0, Some(path)))))
}

/// Where a `versions.txt` read by ranges is kept. The checksum in its name ties it to one zip.
fn kept_text(request: &Request<'_>, archive: &Archive) -> PathBuf {
    let stem = archive.file_name.trim_end_matches(".zip");
    let short = &archive.sha256[..archive.sha256.len().min(12)];
    request
        .downloads
        .join(format!("{stem}-{short}.versions.txt"))
}

/// Only the zip's directory and one entry are fetched. `None` where the server cannot do that, or not reliably.
fn by_ranges(
    request: &Request<'_>,
    archive: &Archive,
    http: &Http,
    report: Report<'_>,
) -> Result<Option<(Versions, Origin)>> {
    report(Event::Step(&format!(
        "read versions.txt in {}",
        archive.file_name
    )));
    let Some(mut file) = http.remote_file(&archive.url, RANGES_LIMIT, report)? else {
        report(Event::Note(
            "the server does not serve parts of a file; fetching the whole zip",
        ));
        return Ok(None);
    };
    if file.size() != archive.size {
        let (is, should) = (file.size(), archive.size);
        report(Event::Warning(&format!(
            "{} has {is} bytes, {should} in the package index; fetching all of it to compare its checksum",
            archive.url
        )));
        return Ok(None);
    }
    let text = match read_entry(&mut file) {
        Ok(text) => text,
        Err(error) => {
            report(Event::Warning(&format!(
                "reading parts of {} failed ({error:#}); fetching all of it",
                archive.url
            )));
            return Ok(None);
        }
    };
    let versions = versions_txt::parse(&text, format_args!("versions.txt in {}", archive.url))?;
    keep(&kept_text(request, archive), &text)?;
    Ok(Some((versions, origin(archive, file.fetched(), None))))
}

fn whole(
    request: &Request<'_>,
    archive: &Archive,
    http: &Http,
    report: Report<'_>,
) -> Result<(Versions, Origin)> {
    report(Event::Step(&format!("download {}", archive.file_name)));
    let path = request.downloads.join(&archive.file_name);
    let fetched = http.download(&archive.url, &path, &archive.sha256, report)?;
    read_local(&path, archive, fetched)
}

fn read_local(path: &Path, archive: &Archive, fetched: u64) -> Result<(Versions, Origin)> {
    let text =
        read_entry(fs::File::open(path)?).with_context(|| format!("reading {}", path.display()))?;
    let versions = versions_txt::parse(&text, format_args!("versions.txt in {}", path.display()))?;
    Ok((versions, origin(archive, fetched, Some(path.to_owned()))))
}

fn origin(archive: &Archive, fetched: u64, local: Option<PathBuf>) -> Origin {
    Origin::OfficialZip {
        url: archive.url.clone(),
        size: archive.size,
        fetched,
        local,
    }
}

/// The `versions.txt` in the zip's one root folder, whose name is free.
fn read_entry(zip: impl Read + Seek) -> Result<Vec<u8>> {
    let mut zip = zip::ZipArchive::new(zip)?;
    let names: Vec<String> = zip
        .file_names()
        .filter_map(|name| name.ok().map(|name| name.into_owned()))
        .filter(|name| name.split('/').count() == 2 && name.ends_with("/versions.txt"))
        .collect();
    let [name] = names.as_slice() else {
        bail!(
            "{} files called <folder>/versions.txt in the zip; expected one",
            names.len()
        );
    };
    let entry = zip.by_name(name)?;
    let mut text = Vec::new();
    entry.take(VERSIONS_LIMIT + 1).read_to_end(&mut text)?;
    if text.len() as u64 > VERSIONS_LIMIT {
        bail!(io::Error::new(
            io::ErrorKind::InvalidData,
            "its versions.txt is over 1 MB"
        ));
    }
    Ok(text)
}
