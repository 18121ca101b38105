//! Every archive: is it one that a linker can use, with objects for this chip?

use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Result;
use fs_err as fs;
use rayon::prelude::*;

use crate::build::quick::archive::Archive;
use crate::progress::{Event, Report};
use crate::verify::object_file::{self, Kind, Machine};
use crate::verify::{Outcome, Subject, by_kind, findings};

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
    let looked: Vec<Result<usize, Fault>> = archives
        .par_iter()
        .map(|(path, on_disk)| {
            let bytes = fs::read(on_disk)?;
            report(Event::Count {
                done: done.fetch_add(1, Ordering::Relaxed) as u64 + 1,
                total: archives.len() as u64,
                unit: "archives",
            });
            Ok(objects(&bytes, machine).map_err(|(member, why)| (format!("{path}{member}"), why)))
        })
        .collect::<Result<_>>()?;
    let mut faults = Vec::new();
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
                "{} of {}\n{}",
                faults.len(),
                archives.len(),
                findings(&by_kind(faults))
            ),
            "install the libraries again",
        )
    })
}

/// A member in brackets where it is one, and what is wrong.
type Fault = (String, String);

/// How many objects an archive holds, or its first fault.
pub(super) fn objects(bytes: &[u8], machine: Machine) -> Result<usize, Fault> {
    let archive = Archive::parse(bytes).map_err(|error| (String::new(), format!("{error:#}")))?;
    for member in archive.members() {
        object_file::read(member.data, Kind::Object, machine).map_err(|error| {
            let name = String::from_utf8_lossy(member.name);
            (format!(" ({name})"), format!("{error:#}"))
        })?;
    }
    match archive.members().len() {
        0 => Err((String::new(), "no members".to_owned())),
        count => Ok(count),
    }
}
