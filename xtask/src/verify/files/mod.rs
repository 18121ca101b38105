//! What can be seen of a libraries tree on disk.

mod archives;
mod bootloaders;
mod configuration;
mod flags;
mod hashes;
mod linked;
mod package;
mod placement;
mod symbols;

use anyhow::Result;

use super::{Check, Group, Outcome, Subject};
use crate::progress::{Event, Report};

/// One check: its name, what must hold, and what looks.
type Entry = (
    &'static str,
    &'static str,
    fn(&Subject, Report<'_>) -> Result<Outcome>,
);

/// All checks, in the order in which they are told.
const CHECKS: [Entry; 9] = [
    (
        "files.manifest",
        "The manifest fits the place",
        package::check,
    ),
    ("files.hashes", "Every file is the package's", hashes::check),
    (
        "files.settings",
        "Every memory variant has the settings",
        configuration::check,
    ),
    (
        "files.placement",
        "PSRAM that holds code is started at boot",
        placement::check,
    ),
    (
        "files.symbols",
        "The archives have the same settings",
        symbols::check,
    ),
    (
        "files.archives",
        "Every archive is one, for this chip",
        archives::check,
    ),
    ("files.linked", "All that is linked is there", linked::check),
    (
        "files.flags",
        "Flags name no place of the build machine",
        flags::check,
    ),
    (
        "files.bootloaders",
        "Every flash mode has its bootloaders",
        bootloaders::check,
    ),
];

/// Runs every check on `subject`. What the disk refuses keeps its check from running, not the others.
pub fn check(subject: &Subject, report: Report<'_>) -> Vec<Check> {
    report(Event::Step("look at the libraries"));
    CHECKS
        .into_iter()
        .map(|(id, title, look)| {
            report(Event::Detail(title));
            let (outcome, asked) = match look(subject, report) {
                // What a tree has nothing of cannot be asked of it.
                Ok(outcome) => {
                    let asked = !matches!(outcome, Outcome::NotRun { .. });
                    (outcome, asked)
                }
                Err(error) => (Outcome::not_run(format!("{error:#}")), true),
            };
            Check {
                id,
                group: Group::Files,
                title,
                outcome,
                asked,
            }
        })
        .collect()
}

/// The same checks, none of which ran. `asked` says whether the call was about them.
pub fn not_run(why: &str, asked: bool) -> Vec<Check> {
    CHECKS
        .into_iter()
        .map(|(id, title, _)| Check {
            id,
            group: Group::Files,
            title,
            outcome: Outcome::not_run(why),
            asked,
        })
        .collect()
}

#[cfg(test)]
mod tests;
