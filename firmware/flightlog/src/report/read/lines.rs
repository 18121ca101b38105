//! Finds report lines among whatever a serial port gives.

use std::borrow::ToOwned;
use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

use super::schema::Entry;
use crate::crc::crc32;
use crate::report::SCHEMA;

/// How a report line begins ...
const BEGIN: &str = "{\"schema\":";
/// ... and how its CRC does. The CRC covers all before this.
const CRC: &str = ",\"crc\":\"";
/// Characters of the CRC itself, and of what closes the line.
const CRC_DIGITS: usize = 8;
const CLOSE: &str = "\"}";

/// A line longer than this is no line; a report line has at most about 3 KB.
const LONGEST: usize = 64 * 1024;
/// Unread lines that are kept, since the next one may be the rest of one of them.
const KEPT: usize = 4;

/// What the ROM prints when the chip starts, with the reason.
const RESETS: [&str; 1] = ["rst:0x"];
/// What a crash prints.
const PANICS: [&str; 7] = [
    "Guru Meditation Error",
    "abort() was called",
    "assert failed:",
    "Stack canary watchpoint triggered",
    "stack overflow in task",
    "Brownout detector was triggered",
    "Interrupt wdt timeout",
];

/// What a line turned out to be; numbers are those of lines in the log, from 1.
#[derive(Debug)]
pub(super) enum Found {
    Entry(Entry),
    Text(String),
    Broken(usize, String),
    Schema(usize, String),
    Panic(usize, String),
    Reset(usize, String),
}

/// Splits bytes into lines and looks at each.
#[derive(Debug, Default)]
pub(super) struct Lines {
    rest: Vec<u8>,
    number: usize,
    /// Lines that hold the begin of something, with their numbers, in order.
    kept: Vec<(usize, String)>,
}

impl Lines {
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<Found> {
        let mut found = Vec::new();
        for byte in bytes {
            if *byte == b'\n' || self.rest.len() >= LONGEST {
                self.line(&mut found);
            }
            if *byte != b'\n' {
                self.rest.push(*byte);
            }
        }
        found
    }

    pub(super) fn finish(&mut self) -> Vec<Found> {
        let mut found = Vec::new();
        if !self.rest.is_empty() {
            self.line(&mut found);
        }
        self.give_up(&mut found);
        found
    }

    fn line(&mut self, found: &mut Vec<Found>) {
        self.number += 1;
        let bytes = core::mem::take(&mut self.rest);
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim_end_matches('\r');

        if let Some(why) = first_of(&PANICS, text) {
            found.push(Found::Panic(self.number, why));
        }
        if let Some(why) = first_of(&RESETS, text) {
            // What was cut by the reset is never continued.
            self.give_up(found);
            found.push(Found::Reset(self.number, why));
        }
        let mut entries = Vec::new();
        if let Some(cut_off) = self.scan(text, &mut entries) {
            self.give_up(found);
            found.append(&mut entries);
            self.keep(cut_off, found);
            return;
        }
        if let Some(cut_off) = self.joined(text, found) {
            self.keep(cut_off, found);
            return;
        }
        self.keep(text.to_owned(), found);
        if !text.contains(BEGIN) && !text.trim().is_empty() {
            found.push(Found::Text(text.to_owned()));
        }
    }

    /// Adds the report lines in `text`, damaged ones between them too; returns what may be the begin of one more. `None` if
    /// there is no report line.
    fn scan(&self, text: &str, found: &mut Vec<Found>) -> Option<String> {
        let mut rest = text;
        let mut cut_off: Option<&str> = None;
        let mut any = false;
        while let Some(at) = rest.find(BEGIN) {
            let here = &rest[at..];
            match entry(here) {
                Some((parsed, length)) => {
                    if let Some(cut) = cut_off.take() {
                        let damaged = &cut[..cut.len() - here.len()];
                        found.push(Found::Broken(self.number, damaged.to_owned()));
                    }
                    any = true;
                    found.push(parsed.unwrap_or_else(|why| Found::Schema(self.number, why)));
                    rest = &here[length..];
                }
                None => {
                    cut_off = cut_off.or(Some(here));
                    rest = &here[BEGIN.len()..];
                }
            }
        }
        any.then(|| cut_off.unwrap_or(rest).to_owned())
    }

    /// Keeps what may be the begin of a report line, or a later piece of one.
    fn keep(&mut self, text: String, found: &mut Vec<Found>) {
        if text.contains('{') || !self.kept.is_empty() {
            self.kept.push((self.number, text));
        }
        if self.kept.len() > KEPT {
            let (number, oldest) = self.kept.remove(0);
            broken(number, &oldest, found);
        }
    }

    /// Adds the report lines that `text` completes, with or without the kept lines in between; returns as
    /// [`Lines::scan`] does.
    fn joined(&mut self, text: &str, found: &mut Vec<Found>) -> Option<String> {
        for index in (0..self.kept.len()).rev() {
            let alone = self.kept[index].1.clone() + text;
            let all = self.kept[index..]
                .iter()
                .map(|(_, piece)| piece.as_str())
                .collect::<String>()
                + text;
            for candidate in [alone, all] {
                let mut entries = Vec::new();
                if let Some(cut_off) = self.scan(&candidate, &mut entries) {
                    for (number, piece) in self.kept.drain(..).take(index) {
                        broken(number, &piece, found);
                    }
                    found.append(&mut entries);
                    return Some(cut_off);
                }
            }
        }
        None
    }

    /// What was kept will not be completed.
    fn give_up(&mut self, found: &mut Vec<Found>) {
        for (number, text) in self.kept.drain(..) {
            broken(number, &text, found);
        }
    }
}

/// Says so where `text` looks like a report line.
fn broken(number: usize, text: &str, found: &mut Vec<Found>) {
    if text.contains(BEGIN) || text.contains(CRC) {
        found.push(Found::Broken(number, text.to_owned()));
    }
}

fn first_of(marks: &[&str], text: &str) -> Option<String> {
    let at = marks.iter().filter_map(|mark| text.find(mark)).min()?;
    Some(text[at..].to_owned())
}

/// The report line at the start of `text` and its length in bytes, if its CRC is right.
///
/// Neither mark can stand inside a line, because strings have their quotes escaped. So one look is enough, and a log made
/// of nothing but marks takes no longer than another.
fn entry(text: &str) -> Option<(Result<Found, String>, usize)> {
    let next = text[BEGIN.len()..].find(BEGIN);
    let text = &text[..next.map_or(text.len(), |next| BEGIN.len() + next)];
    let at = text.find(CRC)?;
    let from = at + CRC.len();
    let digits = text.get(from..from + CRC_DIGITS)?;
    let said = u32::from_str_radix(digits, 16).ok()?;
    if !text[from + CRC_DIGITS..].starts_with(CLOSE) || said != crc32(&text.as_bytes()[..at]) {
        return None;
    }
    let length = from + CRC_DIGITS + CLOSE.len();
    Some((parse(&text[..length]), length))
}

/// A line whose CRC is right.
fn parse(line: &str) -> Result<Found, String> {
    #[derive(serde::Deserialize)]
    struct Version {
        schema: u32,
    }
    let version: Version = serde_json::from_str(line).map_err(|error| error.to_string())?;
    if version.schema != SCHEMA {
        return Err(format!("schema {}, not {SCHEMA}", version.schema));
    }
    let entry = serde_json::from_str(line).map_err(|error| error.to_string())?;
    Ok(Found::Entry(entry))
}
