//! Every archive: is it one that a linker can use, with objects for this chip?

use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Result;
use fs_err as fs;
use rayon::prelude::*;

use crate::build::quick::archive::Archive;
use crate::progress::{Event, Report};
use crate::verify::object_file::{self, Kind, Machine};
use crate::verify::{Outcome, Subject, findings};

pub(super) fn check(subject: &Subject, report: Report<'_>) -> Result<Outcome> {
    let machine = Machine::of(&subject.chip);
    let archives: Vec<_> = subject
        .files
        .iter()
        .filter(|(path, _)| path.ends_with(".a"))
        .collect();
    if archives.is_empty() {
        return Ok(Outcome::failed(
            "there is no archive at all",
            "install the libraries again",
        ));
    }
    let done = AtomicUsize::new(0);
    let looked: Vec<Result<usize, String>> = archives
        .par_iter()
        .map(|(path, on_disk)| {
            let bytes = fs::read(on_disk)?;
            report(Event::Count {
                done: done.fetch_add(1, Ordering::Relaxed) as u64 + 1,
                total: archives.len() as u64,
                unit: "archives",
            });
            Ok(objects(&bytes, machine).map_err(|why| format!("{path}{why}")))
        })
        .collect::<Result<_>>()?;
    let mut faults: Vec<String> = Vec::new();
    let mut count = 0;
    for archive in looked {
        match archive {
            Ok(objects) => count += objects,
            Err(why) => faults.push(why),
        }
    }
    Ok(if faults.is_empty() {
        Outcome::passed(format!(
            "{count} objects in {} archives, all {}",
            archives.len(),
            machine.name()
        ))
    } else {
        Outcome::failed(
            format!(
                "{} of {}: {}",
                faults.len(),
                archives.len(),
                findings(&faults)
            ),
            "install the libraries again",
        )
    })
}

/// How many objects an archive holds, or what is wrong with it, to be read behind its name.
pub(super) fn objects(bytes: &[u8], machine: Machine) -> Result<usize, String> {
    let archive = Archive::parse(bytes).map_err(|error| format!(": {error:#}"))?;
    for member in archive.members() {
        object_file::read(member.data, Kind::Object, machine)
            .map_err(|error| format!(" ({}) {error:#}", String::from_utf8_lossy(member.name)))?;
    }
    match archive.members().len() {
        0 => Err(": it has no members".to_owned()),
        count => Ok(count),
    }
}
