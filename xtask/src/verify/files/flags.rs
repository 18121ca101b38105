//! The flags that every sketch is compiled and linked with.

use anyhow::Result;

use crate::libs::flags::{FILES, Flags};
use crate::progress::Report;
use crate::verify::object_file::Machine;
use crate::verify::subject::Account;
use crate::verify::{Outcome, Subject, findings};

pub(super) fn check(subject: &Subject, _: Report<'_>) -> Result<Outcome> {
    let flags = Flags::read(subject.root())?;
    let stock = subject
        .stock
        .as_ref()
        .map(|stock| Flags::read(stock.root()))
        .transpose()?;
    let is_stock = subject.account() == Account::Stock;
    let mut faults: Vec<String> = flags
        .faults
        .iter()
        .map(|(file, why)| format!("flags/{file}: {why}"))
        .collect();
    let mut released = 0;
    for (file, token, why) in flags.foreign() {
        // What the release has is Espressif's, harmless or not; it is told, and no reason to distrust a tree.
        let in_stock = stock.as_ref().is_some_and(|stock| {
            let mut tokens = stock.tokens(file).iter();
            tokens.any(|other| other.value == token.value)
        });
        if is_stock || in_stock {
            released += 1;
        } else {
            faults.push(format!("flags/{file}: `{}`: {why}", token.raw));
        }
    }
    if Machine::of(&subject.chip).is_xtensa() {
        for file in flags.without_long_calls() {
            faults.push(format!(
                "flags/{file} lacks -mlongcalls, without which code for {} does not link",
                subject.chip
            ));
        }
    }
    if !faults.is_empty() {
        return Ok(Outcome::failed(
            findings(&faults),
            "sketches may not compile: install the libraries again",
        ));
    }
    let count: usize = FILES.iter().map(|file| flags.tokens(file).len()).sum();
    let note = match released {
        0 => String::new(),
        count => format!("; {count} name a place of Espressif's build machine, as released"),
    };
    Ok(Outcome::passed(format!(
        "{count} flags in {} files{note}",
        FILES.len()
    )))
}
