//! Unpacks a package into a folder, on all cores, and holds every file against the manifest on its way.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result, bail};
use rayon::prelude::*;

use super::archive::{Archive, Entry};
use super::disk::Disk;
use super::place::at;
use crate::digest;
use crate::exit::Refusal;
use crate::libs::manifest::FileRecord;
use crate::progress::{Event, Report};

/// Unpacks into `to`, which is made and must not be there; gives every file's size and SHA-256, sorted by path.
///
/// # Errors
/// A file whose checksum, size or SHA-256 is not what zip and manifest say; what the disk refuses.
pub(super) fn unpack(
    disk: &dyn Disk,
    archive: &Archive,
    to: &Path,
    report: Report<'_>,
) -> Result<Vec<FileRecord>> {
    disk.create_dir(to)?;
    for folder in folders(&archive.entries) {
        disk.create_dir(&at(to, folder))?;
    }
    let expected = archive.expected();
    let (done, total) = (AtomicU64::new(0), archive.size());
    let one = |buffer: &mut Vec<u8>, entry: &Entry| {
        let altered = |why: String| {
            Refusal::Check(format!(
                "the package was altered: {why}; get it again, or build it anew"
            ))
        };
        let content = archive
            .inflate(entry, buffer)
            .map_err(|error| altered(format!("{error:#}")))?;
        let sha256 = digest::sha256(content);
        if expected
            .get(entry.path.as_str())
            .is_some_and(|file| file.sha256 != sha256)
        {
            bail!(altered(format!(
                "{}: its SHA-256 is not the manifest's",
                entry.path
            )));
        }
        disk.write(&at(to, &entry.path), content, entry.executable)
            .with_context(|| format!("writing {}", entry.path))?;
        let before = done.fetch_add(entry.size, Ordering::Relaxed);
        report(Event::Bytes {
            done: before + entry.size,
            total,
        });
        Ok(FileRecord {
            path: entry.path.clone(),
            size: entry.size,
            sha256,
        })
    };
    // One buffer a thread's share of the entries.
    archive.entries.par_iter().map_init(Vec::new, one).collect()
}

/// Every folder of the tree, parents first.
fn folders(entries: &[Entry]) -> BTreeSet<&str> {
    entries
        .iter()
        .flat_map(|entry| {
            let path = entry.path.as_str();
            path.match_indices('/').map(move |(end, _)| &path[..end])
        })
        .collect()
}
