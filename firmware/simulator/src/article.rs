//! The article's figures, and how far the simulation is from them.
//!
//! The flight-computer article measured one board, an S3R8 with core 3.3.12, twice: with the stock libraries, and with those
//! rebuilt with XIP from PSRAM and ECC.

use flightlog::bench::{Kind, Phase, PhaseResult, Place};
use flightlog::stats::rate_per_second;
use serde::Serialize;

use crate::{Libraries, Simulation};

/// Where the article's buffer stood: an inference, see the [crate's documentation](crate).
pub const PLACE: Place = Place::Psram;

/// A row of the article's stall bench, for one of the libraries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// The phase.
    pub kind: Kind,
    /// Which libraries.
    pub libraries: Libraries,
    /// Passes of the loop a second.
    pub loop_hz: f64,
    /// The worst gap in milliseconds.
    pub worst_gap_ms: f64,
    /// FIFO overruns.
    pub overruns: u32,
}

const fn row(
    kind: Kind,
    libraries: Libraries,
    loop_hz: f64,
    worst_gap_ms: f64,
    overruns: u32,
) -> Row {
    Row {
        kind,
        libraries,
        loop_hz,
        worst_gap_ms,
        overruns,
    }
}

/// The article's stall bench.
pub const STALL_BENCH: [Row; 8] = [
    row(Kind::Write55, Libraries::Stock, 349.0, 15.8, 42),
    row(Kind::Write166, Libraries::Stock, 193.0, 15.0, 77),
    row(Kind::WriteFlatOut, Libraries::Stock, 196.0, 12.9, 24),
    row(Kind::Erase64k, Libraries::Stock, 17.0, 202.0, 3),
    row(Kind::Write55, Libraries::Xip, 499.0, 5.4, 0),
    row(Kind::Write166, Libraries::Xip, 499.0, 5.2, 0),
    row(Kind::WriteFlatOut, Libraries::Xip, 499.0, 4.6, 0),
    row(Kind::Erase64k, Libraries::Xip, 499.0, 4.9, 0),
];

/// The article's flat-out speeds in kB/s.
pub const FLAT_OUT: [(Libraries, Place, f64); 4] = [
    (Libraries::Stock, Place::Psram, 160.0),
    (Libraries::Stock, Place::Internal, 306.0),
    (Libraries::Xip, Place::Psram, 209.0),
    (Libraries::Xip, Place::Internal, 335.0),
];

/// What a cell counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Passes of the loop a second.
    LoopHz,
    /// The worst gap in milliseconds.
    WorstGapMs,
    /// FIFO overruns.
    FifoOverruns,
    /// Kilobytes a second.
    SpeedKbS,
}

/// How far a simulated figure may be from the article's for the model to count as fitting.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Allowed {
    /// By so much.
    Difference(f64),
    /// By so many percent.
    Percent(f64),
    /// Both are zero or neither is: how many there are, hangs on things that the article does not give.
    Presence,
}

/// One figure of the article beside the simulated one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cell {
    /// The phase's name.
    pub phase: &'static str,
    /// The buffer's place.
    pub buffer: &'static str,
    /// The libraries.
    pub libraries: &'static str,
    /// What it counts.
    pub quantity: Quantity,
    /// The article's figure, measured.
    pub article: f64,
    /// The model's figure, simulated.
    pub simulated: f64,
    /// The deviation from the article in percent; none where the article has 0.
    pub deviation_percent: Option<f64>,
    /// How far it may be.
    pub allowed: Allowed,
    /// Whether it is within that.
    pub within: bool,
}

/// All figures of the article that `simulation` has a counterpart to.
pub fn compare(simulation: &Simulation) -> Vec<Cell> {
    let mut cells = Vec::new();
    for row in STALL_BENCH {
        let phase = Phase {
            kind: row.kind,
            place: PLACE,
        };
        if row.libraries == simulation.libraries
            && let Some(result) = simulation.result(phase)
        {
            let hertz = f64::from(result.gaps.rate_millihertz()) / 1e3;
            let gap = f64::from(result.gaps.worst_us()) / 1e3;
            let (rate, worst) = match row.libraries {
                Libraries::Stock => (Allowed::Percent(20.0), Allowed::Percent(25.0)),
                Libraries::Xip => (Allowed::Difference(1.0), Allowed::Percent(10.0)),
            };
            let overruns = (f64::from(row.overruns), f64::from(result.fifo.overruns));
            cells.extend([
                cell(
                    simulation,
                    phase,
                    Quantity::LoopHz,
                    (row.loop_hz, hertz),
                    rate,
                ),
                cell(
                    simulation,
                    phase,
                    Quantity::WorstGapMs,
                    (row.worst_gap_ms, gap),
                    worst,
                ),
                cell(
                    simulation,
                    phase,
                    Quantity::FifoOverruns,
                    overruns,
                    Allowed::Presence,
                ),
            ]);
        }
    }
    for (libraries, place, article) in FLAT_OUT {
        let phase = Phase {
            kind: Kind::WriteFlatOut,
            place,
        };
        if libraries == simulation.libraries
            && let Some(result) = simulation.result(phase)
        {
            let figures = (article, speed_kb_s(result));
            cells.push(cell(
                simulation,
                phase,
                Quantity::SpeedKbS,
                figures,
                Allowed::Percent(5.0),
            ));
        }
    }
    cells
}

/// Kilobytes a second that a phase wrote.
pub fn speed_kb_s(result: &PhaseResult) -> f64 {
    let written = &result.written;
    f64::from(rate_per_second(
        u64::from(written.bytes),
        written.elapsed_us,
    )) / 1e3
}

fn cell(
    simulation: &Simulation,
    phase: Phase,
    quantity: Quantity,
    (article, simulated): (f64, f64),
    allowed: Allowed,
) -> Cell {
    let deviation = (article != 0.0).then(|| (simulated / article - 1.0) * 100.0);
    let within = match allowed {
        Allowed::Difference(most) => (simulated - article).abs() <= most,
        Allowed::Percent(most) => deviation.is_some_and(|deviation| deviation.abs() <= most),
        Allowed::Presence => (article == 0.0) == (simulated == 0.0),
    };
    Cell {
        phase: phase.kind.name(),
        buffer: phase.place.name(),
        libraries: simulation.libraries.name(),
        quantity,
        article,
        simulated,
        deviation_percent: deviation,
        allowed,
        within,
    }
}
