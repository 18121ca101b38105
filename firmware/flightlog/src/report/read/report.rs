//! One report, whole or not.

use core::fmt;
use std::string::String;
use std::vec::Vec;

use super::schema::{Begin, Body, End, Entry, Fault, Info, Memory, Phase, Plan, PsramTest};

/// The lines of one report that were found.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// `"board"` or `"simulation"`.
    pub source: String,
    /// Which report.
    pub run: u32,
    /// Its lines, in the order of the log.
    pub entries: Vec<Entry>,
}

/// Why a report is not whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Incomplete {
    /// Its first line is not there.
    NoBegin,
    /// A line in the middle is not there, or the lines are out of order: the number that was expected.
    Missing(u32),
    /// It has no end.
    NoEnd,
    /// Its end counts other lines than were found.
    Count {
        /// What the end says.
        said: u32,
        /// What is there.
        found: u32,
    },
    /// It was stopped.
    Stopped,
    /// Something failed on the board.
    Failed(Vec<String>),
}

impl fmt::Display for Incomplete {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Incomplete::NoBegin => f.write_str("the report's first line is missing"),
            Incomplete::Missing(seq) => write!(f, "line {seq} of the report is missing"),
            Incomplete::NoEnd => f.write_str("the report has no end line"),
            Incomplete::Count { said, found } => {
                write!(f, "the report should have {said} results and has {found}")
            }
            Incomplete::Stopped => f.write_str("the run was stopped"),
            Incomplete::Failed(what) if what.is_empty() => f.write_str("the run failed"),
            Incomplete::Failed(what) => write!(f, "the run failed: {}", what.join("; ")),
        }
    }
}

impl core::error::Error for Incomplete {}

impl Report {
    pub(super) fn of(entry: &Entry) -> Self {
        Self {
            source: entry.source.clone(),
            run: entry.run,
            entries: Vec::new(),
        }
    }

    /// Whether `entry` belongs to this report.
    pub(super) fn takes(&self, entry: &Entry) -> bool {
        entry.run == self.run && entry.source == self.source
    }

    pub(super) fn add(&mut self, entry: Entry) {
        self.entries.push(entry);
    }

    /// Nothing if every line is there and the run came to its end.
    ///
    /// # Errors
    /// [`Incomplete`] says what is wanting.
    pub fn whole(&self) -> Result<(), Incomplete> {
        if self.begin().is_none() {
            return Err(Incomplete::NoBegin);
        }
        if let Some((expected, _)) = (0u32..)
            .zip(&self.entries)
            .find(|(expected, entry)| entry.seq != *expected)
        {
            return Err(Incomplete::Missing(expected));
        }
        let Some(end) = self.end() else {
            return Err(Incomplete::NoEnd);
        };
        let found = u32::try_from(self.entries.len()).unwrap_or(u32::MAX) - 2;
        if end.results != found {
            return Err(Incomplete::Count {
                said: end.results,
                found,
            });
        }
        match end.outcome.as_str() {
            "complete" => Ok(()),
            "stopped" => Err(Incomplete::Stopped),
            _ => Err(Incomplete::Failed(
                self.faults().map(|fault| fault.what.clone()).collect(),
            )),
        }
    }

    /// Whether its figures are the simulator's.
    pub fn is_simulation(&self) -> bool {
        self.source != super::super::Source::Board.name()
    }

    /// Its first line, if it is there.
    pub fn begin(&self) -> Option<&Begin> {
        match &self.entries.first()?.body {
            Body::Begin(begin) => Some(begin),
            _ => None,
        }
    }

    /// Its last line, if it is there.
    pub fn end(&self) -> Option<&End> {
        match &self.entries.last()?.body {
            Body::End(end) => Some(end),
            _ => None,
        }
    }

    /// What the board is.
    pub fn info(&self) -> Option<&Info> {
        self.bodies().find_map(|body| match body {
            Body::Info(info) => Some(info),
            _ => None,
        })
    }

    /// What the run was going to do.
    pub fn plan(&self) -> Option<&Plan> {
        self.bodies().find_map(|body| match body {
            Body::Plan(plan) => Some(plan),
            _ => None,
        })
    }

    /// The pattern tests of PSRAM.
    pub fn psram_tests(&self) -> impl Iterator<Item = &PsramTest> {
        self.bodies().filter_map(|body| match body {
            Body::PsramTest(test) => Some(test),
            _ => None,
        })
    }

    /// The rows of the memory bench.
    pub fn memory(&self) -> impl Iterator<Item = &Memory> {
        self.bodies().filter_map(|body| match body {
            Body::Memory(row) => Some(row),
            _ => None,
        })
    }

    /// The results of phases.
    pub fn phases(&self) -> impl Iterator<Item = &Phase> {
        self.bodies().filter_map(|body| match body {
            Body::Phase(phase) => Some(phase),
            _ => None,
        })
    }

    /// What failed.
    pub fn faults(&self) -> impl Iterator<Item = &Fault> {
        self.bodies().filter_map(|body| match body {
            Body::Fault(fault) => Some(fault),
            _ => None,
        })
    }

    fn bodies(&self) -> impl Iterator<Item = &Body> {
        self.entries.iter().map(|entry| &entry.body)
    }
}
