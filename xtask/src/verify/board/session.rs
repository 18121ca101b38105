//! What a log holds: the bench's report among whatever else is in it.

use flightlog::command::{self, Command};
use flightlog::report::Source;
use flightlog::report::read::{self, Incomplete, Info, Log, PsramTest, Report, What};
use serde::Serialize;

/// A log that was read.
#[derive(Debug)]
pub(super) struct Session {
    log: Log,
    /// Index of the last report of the stall bench.
    bench: Option<usize>,
}

/// What the bench's report is, as far as there is one.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Bench {
    /// There is none; of how many other reports there are.
    Absent(usize),
    /// Not all of it is there.
    Half(Incomplete),
    /// All of it.
    Whole,
}

/// A run as a script and the page take it. What stood in a report that is not whole is left out.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Run {
    /// Where the log is from: a port or a file.
    pub from: String,
    /// `"board"`: measured. `"simulation"`: computed.
    pub source: Option<String>,
    /// What the board is.
    pub info: Option<Info>,
    /// What the run was going to do.
    pub plan: Option<read::Plan>,
    /// The phases of the stall bench.
    pub phases: Vec<read::Phase>,
    /// The memory bench.
    pub memory: Vec<read::Memory>,
    /// Pattern tests of PSRAM.
    pub psram_tests: Vec<PsramTest>,
    /// What went wrong on the way.
    pub trouble: Vec<String>,
}

impl Run {
    /// Whether its figures are computed.
    pub fn is_simulation(&self) -> bool {
        self.source
            .as_deref()
            .is_some_and(|source| source != Source::Board.name())
    }

    /// How its figures came to be, in a word.
    pub fn kind(&self) -> &'static str {
        match self.is_simulation() {
            true => "SIMULATED",
            false => "measured",
        }
    }
}

impl Session {
    /// Reads a log.
    pub(super) fn read(bytes: &[u8]) -> Self {
        let log = read::read(bytes);
        let bench = log.reports.iter().rposition(is_bench);
        Self { log, bench }
    }

    /// The bench's report, whole or not.
    pub(super) fn bench(&self) -> Option<&Report> {
        self.bench.map(|index| &self.log.reports[index])
    }

    /// Whether the bench's report is whole.
    pub(super) fn state(&self) -> Bench {
        match self.bench().map(Report::whole) {
            None => Bench::Absent(self.log.reports.len()),
            Some(Err(why)) => Bench::Half(why),
            Some(Ok(())) => Bench::Whole,
        }
    }

    /// The reports with the source of the bench's; all where there is none.
    fn reports(&self) -> impl Iterator<Item = &Report> {
        let source = self.bench().map(|bench| &bench.source);
        let same = move |report: &&Report| source.is_none_or(|source| *source == report.source);
        self.log.reports.iter().filter(same)
    }

    /// What the board is, by every report that says so; each different answer once.
    pub(super) fn infos(&self) -> Vec<&Info> {
        let mut found: Vec<&Info> = Vec::new();
        for info in self.reports().filter_map(Report::info) {
            if !found.contains(&info) {
                found.push(info);
            }
        }
        found
    }

    /// The pattern tests of reports that are whole.
    pub(super) fn psram_tests(&self) -> impl Iterator<Item = &PsramTest> {
        let whole = self.reports().filter(|report| report.whole().is_ok());
        whole.flat_map(Report::psram_tests)
    }

    /// Whether the figures are computed.
    pub(super) fn is_simulation(&self) -> bool {
        self.log.reports.iter().any(Report::is_simulation)
    }

    /// Whether there is no line of a report in it.
    pub(super) fn is_empty(&self) -> bool {
        self.log.reports.is_empty()
    }

    /// Crashes and resets, as the log tells them.
    pub(super) fn upsets(&self) -> Vec<String> {
        let upset = |what: &What| matches!(what, What::Panic(_) | What::Reset(_));
        self.trouble(upset)
    }

    /// Damaged lines, and lines of another schema.
    pub(super) fn damaged(&self) -> Vec<String> {
        self.trouble(|what| matches!(what, What::Broken(_) | What::Schema(_)))
    }

    fn trouble(&self, which: impl Fn(&What) -> bool) -> Vec<String> {
        let found = self.log.trouble.iter();
        found
            .filter(|trouble| which(&trouble.what))
            .map(ToString::to_string)
            .collect()
    }

    /// What a script and the page take of it.
    pub(super) fn run(&self, from: &str) -> Run {
        let whole = || self.reports().filter(|report| report.whole().is_ok());
        let bench = self.bench().filter(|report| report.whole().is_ok());
        Run {
            from: from.to_owned(),
            source: self.reports().next().map(|report| report.source.clone()),
            info: match self.infos().as_slice() {
                [one] => Some((*one).clone()),
                _ => None,
            },
            plan: bench.and_then(Report::plan).cloned(),
            phases: bench
                .iter()
                .flat_map(|report| report.phases())
                .cloned()
                .collect(),
            memory: whole().flat_map(Report::memory).cloned().collect(),
            psram_tests: self.psram_tests().cloned().collect(),
            trouble: self.trouble(|_| true),
        }
    }
}

/// Whether it is, or was to be, a report of the stall bench.
fn is_bench(report: &Report) -> bool {
    match report.begin() {
        Some(begin) => matches!(command::parse(&begin.command), Ok(Command::Run(_))),
        None => report.plan().is_some() || report.phases().next().is_some(),
    }
}
