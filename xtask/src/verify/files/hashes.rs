//! Every file against the manifest's SHA-256.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Result;
use rayon::prelude::*;

use crate::digest;
use crate::libs::manifest;
use crate::progress::{Event, Report};
use crate::verify::subject::ManifestFile;
use crate::verify::{Outcome, Subject, some_of};

pub(super) fn check(subject: &Subject, report: Report<'_>) -> Result<Outcome> {
    let manifest = match &subject.manifest {
        ManifestFile::Read(manifest) => manifest,
        ManifestFile::Broken(_) => {
            return Ok(Outcome::failed(
                "the manifest cannot be read, so nothing says what the files should be",
                "install the package again",
            ));
        }
        ManifestFile::Absent => {
            return Ok(Outcome::not_run(
                "without a manifest nothing says what the files should be",
            ));
        }
    };
    let recorded: BTreeMap<&str, &manifest::FileRecord> = manifest
        .files
        .iter()
        .map(|file| (file.path.as_str(), file))
        .collect();
    let present: BTreeSet<&str> = subject
        .files
        .iter()
        .map(|(path, _)| path.as_str())
        .filter(|path| *path != manifest::FILE_NAME)
        .collect();
    let total = present.len() as u64;
    let done = AtomicUsize::new(0);
    let verdicts: Vec<Option<&str>> = subject
        .files
        .par_iter()
        .map(|(path, on_disk)| {
            let Some(record) = recorded.get(path.as_str()) else {
                return Ok(None);
            };
            let (size, sha256) = digest::sha256_file(on_disk)?;
            report(Event::Count {
                done: done.fetch_add(1, Ordering::Relaxed) as u64 + 1,
                total,
                unit: "files",
            });
            let same = size == record.size && sha256 == record.sha256;
            Ok((!same).then_some(path.as_str()))
        })
        .collect::<Result<_>>()?;
    let changed: Vec<&str> = verdicts.into_iter().flatten().collect();
    let missing: Vec<&str> = recorded
        .keys()
        .copied()
        .filter(|path| !present.contains(path))
        .collect();
    let extra: Vec<&str> = present
        .iter()
        .copied()
        .filter(|path| !recorded.contains_key(path))
        .collect();
    let told: Vec<String> = [
        ("changed", &changed),
        ("missing", &missing),
        ("not the package's", &extra),
    ]
    .into_iter()
    .filter(|(_, names)| !names.is_empty())
    .map(|(what, names)| format!("{} {what}: {}", names.len(), some_of(names)))
    .collect();
    if told.is_empty() {
        return Ok(Outcome::passed(format!("{} files", recorded.len())));
    }
    Ok(Outcome::failed(
        told.join("\n"),
        "install the package again",
    ))
}
