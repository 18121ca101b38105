//! The article's table: each phase, with the figures of stock libraries beside those of rebuilt ones.

use flightlog::report::read::Phase;
use serde::Serialize;

/// A phase of the stall bench.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Its name, for example `write-55`.
    pub phase: String,
    /// Where its buffer stood.
    pub buffer: String,
    /// The rate that it was to write at, in kB/s; `None`: flat out, or it only erases.
    pub target_kb_s: Option<f64>,
    /// With the libraries that were verified.
    pub run: Option<Figures>,
    /// With stock libraries, where such a run stands beside it.
    pub stock: Option<Figures>,
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Figures {
    /// Passes of the loop in a second.
    pub loop_hz: f64,
    /// The longest time between two passes, in ms.
    pub worst_gap_ms: f64,
    /// How often the sensor's FIFO overran.
    pub fifo_overruns: u32,
    /// What was written, in kB/s; `None` where the phase only erases.
    pub kb_s: Option<f64>,
}

/// The rows, in the order of the verified run; what only the stock run has comes last.
pub fn rows(run: &[Phase], stock: &[Phase]) -> Vec<Row> {
    let same = |a: &Phase, b: &Phase| a.phase == b.phase && a.buffer == b.buffer;
    let only_stock = stock
        .iter()
        .filter(|phase| !run.iter().any(|other| same(phase, other)));
    run.iter()
        .chain(only_stock)
        .map(|phase| {
            let of = |phases: &[Phase]| {
                phases
                    .iter()
                    .find(|other| same(phase, other))
                    .map(Figures::of)
            };
            Row {
                phase: phase.phase.clone(),
                buffer: phase.buffer.clone(),
                target_kb_s: phase.target_bytes_s.map(|rate| f64::from(rate) / 1e3),
                run: of(run),
                stock: of(stock),
            }
        })
        .collect()
}

impl Figures {
    fn of(phase: &Phase) -> Self {
        Self {
            loop_hz: phase.loop_hz,
            worst_gap_ms: f64::from(phase.worst_gap_us) / 1e3,
            fifo_overruns: phase.fifo_overruns,
            kb_s: (phase.bytes > 0).then(|| f64::from(phase.bytes_s) / 1e3),
        }
    }
}

impl Row {
    /// The rate that was aimed at, as the article's table has it.
    pub fn target(&self) -> String {
        match self.target_kb_s {
            Some(rate) => format!("{rate:.0}"),
            None if self.phase.contains("flat-out") => "flat-out".to_owned(),
            None => String::new(),
        }
    }
}
