//! Reads reports out of a serial log, whatever else is in it.
//!
//! Garbage before a line, a line cut in two, other programs' lines in between, CRLF, a reset or a panic in the middle: what
//! counts is only what the CRC of its line vouches for, and a [`Report`] is whole only if every line from the first to the
//! last is there. Feed [`Reader::push`] as bytes arrive, or [`read`] a whole log.

mod lines;
mod report;
mod schema;

#[cfg(test)]
mod tests;

pub use report::{Incomplete, Report};
pub use schema::{
    Begin, Body, End, Entry, Fault, First, Info, MappingLine, Memory, Phase, Plan, PsramTest,
};

use std::string::String;
use std::vec::Vec;

use lines::{Found, Lines};

/// One thing found in a log, in its order.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A line of a report, its CRC right.
    Entry(Entry),
    /// A line that is none: text for people, or other programs'.
    Text(String),
    /// Something went wrong.
    Trouble(Trouble),
}

/// Something that went wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// Line of the log, from 1.
    pub line: usize,
    /// What.
    pub what: What,
}

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// Looks like a line of a report, but its CRC is wrong or it was cut and never completed.
    Broken(String),
    /// A line with a right CRC in a schema that this reader does not know.
    Schema(String),
    /// The program crashed: the line that says so.
    Panic(String),
    /// The chip was reset while a report was under way: the line that says why.
    Reset(String),
}

impl core::fmt::Display for Trouble {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let line = self.line;
        match &self.what {
            What::Broken(text) => {
                write!(f, "line {line}: a damaged report line: {}", shortened(text))
            }
            What::Schema(why) => write!(
                f,
                "line {line}: a report line that this version cannot read: {why}"
            ),
            What::Panic(text) => write!(f, "line {line}: the program crashed: {}", shortened(text)),
            What::Reset(text) => write!(
                f,
                "line {line}: the chip was reset in the middle of a report: {}",
                shortened(text)
            ),
        }
    }
}

/// Enough of a line to know it by.
fn shortened(text: &str) -> String {
    const SHOWN: usize = 80;
    let mut short: String = text.chars().take(SHOWN).collect();
    if text.chars().nth(SHOWN).is_some() {
        short.push_str(" ...");
    }
    short
}

/// What was in a log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Log {
    /// The reports in their order, whole or not: see [`Report::whole`].
    pub reports: Vec<Report>,
    /// What went wrong.
    pub trouble: Vec<Trouble>,
}

/// Reads a whole log.
pub fn read(bytes: &[u8]) -> Log {
    let mut reader = Reader::default();
    reader.push(bytes);
    reader.finish()
}

/// Reads a log as it arrives.
#[derive(Debug, Default)]
pub struct Reader {
    lines: Lines,
    reports: Vec<Report>,
    /// Whether the last report may still grow.
    open: bool,
    trouble: Vec<Trouble>,
}

impl Reader {
    /// Takes the next bytes in and gives what they complete.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Event> {
        let found = self.lines.push(bytes);
        self.take(found)
    }

    /// Ends the log: a last line without its line end is read too.
    pub fn finish(mut self) -> Log {
        let found = self.lines.finish();
        self.take(found);
        Log {
            reports: self.reports,
            trouble: self.trouble,
        }
    }

    /// Reports so far; the last may be in the middle.
    pub fn reports(&self) -> &[Report] {
        &self.reports
    }

    fn take(&mut self, found: Vec<Found>) -> Vec<Event> {
        found
            .into_iter()
            .filter_map(|found| self.event(found))
            .collect()
    }

    fn event(&mut self, found: Found) -> Option<Event> {
        let (line, what) = match found {
            Found::Entry(entry) => {
                self.add(&entry);
                return Some(Event::Entry(entry));
            }
            Found::Text(text) => return Some(Event::Text(text)),
            Found::Broken(line, text) => (line, What::Broken(text)),
            Found::Schema(line, why) => (line, What::Schema(why)),
            Found::Panic(line, text) => (line, What::Panic(text)),
            // The reset that begins a log, or follows a report, is how a board is started.
            Found::Reset(_, text) if !self.open => return Some(Event::Text(text)),
            Found::Reset(line, text) => {
                self.open = false;
                (line, What::Reset(text))
            }
        };
        let trouble = Trouble { line, what };
        self.trouble.push(trouble.clone());
        Some(Event::Trouble(trouble))
    }

    fn add(&mut self, entry: &Entry) {
        let begins = matches!(entry.body, Body::Begin(_));
        let fits = self
            .reports
            .last()
            .is_some_and(|report| self.open && !begins && report.takes(entry));
        if !fits {
            self.reports.push(Report::of(entry));
        }
        if let Some(report) = self.reports.last_mut() {
            report.add(entry.clone());
        }
        self.open = !matches!(entry.body, Body::End(_));
    }
}
