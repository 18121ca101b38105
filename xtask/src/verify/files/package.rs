//! The manifest: is it there, can it be read, and is the package in the place that it is for?

use anyhow::Result;

use crate::libs::manifest::{BuildRecord, Manifest};
use crate::names::CoreVersion;
use crate::progress::Report;
use crate::verify::subject::{Account, ManifestFile};
use crate::verify::{Expected, Outcome, Subject};

pub(super) fn check(subject: &Subject, _: Report<'_>) -> Result<Outcome> {
    let manifest = match &subject.manifest {
        ManifestFile::Read(manifest) => manifest,
        ManifestFile::Broken(why) => {
            return Ok(Outcome::failed(why.clone(), "install the package again"));
        }
        ManifestFile::Absent => {
            return Ok(match (&subject.expected, subject.account()) {
                (Expected::Set(set), Account::Stock) => Outcome::failed(
                    format!(
                        "these are stock libraries, not those of patch set {}",
                        set.name
                    ),
                    "install the package; an update of the core puts stock libraries back",
                ),
                _ => Outcome::not_run("there is none: only packages of this tool carry one"),
            });
        }
    };
    if let Some(why) = misplaced(subject, manifest) {
        return Ok(Outcome::failed(
            why,
            "install the package that is for this place",
        ));
    }
    let made = match &manifest.build {
        BuildRecord::Full { .. } => "full build".to_owned(),
        BuildRecord::Quick { proven: true, .. } => "quick build, proven".to_owned(),
        BuildRecord::Quick { proven: false, .. } => "quick build, UNPROVEN".to_owned(),
    };
    Ok(Outcome::passed(format!(
        "core {}, patch set {}, {made}",
        manifest.core, manifest.patch_set.name
    )))
}

/// Why the package does not belong here.
fn misplaced(subject: &Subject, manifest: &Manifest) -> Option<String> {
    if manifest.chip != subject.chip {
        return Some(format!(
            "the package is for {}, not for {}",
            manifest.chip, subject.chip
        ));
    }
    let set = &manifest.patch_set.name;
    match &subject.expected {
        Expected::Stock => {
            return Some(format!(
                "this is a package of patch set {set}, not stock libraries"
            ));
        }
        Expected::Set(wanted) if wanted.name != *set => {
            return Some(format!(
                "the package is of patch set {set}, not of {}",
                wanted.name
            ));
        }
        _ => {}
    }
    // The folder of an installed tree is named after its core version; any other name says nothing.
    let folder = subject.root().file_name()?.to_str()?;
    let core: CoreVersion = folder.parse().ok()?;
    (core != manifest.core).then(|| {
        format!(
            "the package is for core {}, and stands where core {core} looks",
            manifest.core
        )
    })
}
