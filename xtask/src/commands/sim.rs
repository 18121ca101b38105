//! `cargo xtask sim`.

use anyhow::{Context, Result};
use flightlog::bench::{Phase, PhaseResult, Place, Settings};
use flightlog::command::Run;
use flightlog::report::read;
use simulator::article::{self, Cell, Quantity};
use simulator::{Constants, FLIGHT_BUFFER, Libraries, Simulation};

use crate::ui;

/// Simulate the stall bench on a model of the chip and hold it against the article's table.
///
/// The logger's own code runs in virtual time, with the stock libraries and with those rebuilt with XIP from PSRAM. Every figure
/// of it is simulated, none is measured; the article's figures beside it are measurements of one board.
#[derive(Debug, clap::Args)]
pub struct Sim {
    /// Only the stock libraries
    #[arg(long, conflicts_with = "xip")]
    stock: bool,
    /// Only the libraries with XIP from PSRAM
    #[arg(long)]
    xip: bool,
    /// Samples a second of the IMU [default: 8000, with which the article's table is compared]
    #[arg(long, value_name = "HZ", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    imu_hz: Option<u32>,
    /// Words of its FIFO, three to a sample [default: 256]
    #[arg(long, value_name = "WORDS", value_parser = clap::value_parser!(u32).range(3..=100_000))]
    fifo_words: Option<u32>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    /// Print the report lines that a board would print (of the libraries with XIP, unless --stock is given), labelled a simulation
    #[arg(long, conflicts_with = "json")]
    report: bool,
}

impl Sim {
    /// Carries the command out.
    ///
    /// # Errors
    /// The result cannot be printed.
    pub fn run(self) -> Result<()> {
        let default = Settings::default();
        let settings = Settings {
            imu_hz: self.imu_hz.unwrap_or(default.imu_hz),
            fifo_words: self.fifo_words.unwrap_or(default.fifo_words),
            ..default
        };
        if self.report {
            let libraries = if self.stock {
                Libraries::Stock
            } else {
                Libraries::Xip
            };
            return print_report(&simulate(libraries, &settings)?);
        }
        // The article wrote its whole flight buffer in each phase; the board's run writes less, to spare its flash.
        let whole = Settings {
            phase_bytes: FLIGHT_BUFFER,
            ..settings
        };
        let runs: Vec<Simulation> = Libraries::ALL
            .into_iter()
            .filter(|libraries| match libraries {
                Libraries::Stock => !self.xip,
                Libraries::Xip => !self.stock,
            })
            .map(|libraries| simulate(libraries, &whole))
            .collect::<Result<_>>()?;
        let cells: Vec<Cell> = if settings == default {
            runs.iter().flat_map(article::compare).collect()
        } else {
            Vec::new()
        };
        if self.json {
            print_json(&runs, &cells)
        } else {
            print_tables(&runs, &cells)
        }
    }
}

/// The command's name in its reports.
const COMMAND: &str = "run";

fn simulate(libraries: Libraries, settings: &Settings) -> Result<Simulation> {
    let phases: Vec<Phase> = Run::default().phases().collect();
    let constants = Constants::default();
    simulator::simulate(&constants, libraries, settings, &phases, FLIGHT_BUFFER)
        .context("simulating the stall bench")
}

fn report(run: &Simulation) -> Result<String> {
    let mut text = String::new();
    run.report(&mut text, COMMAND)?;
    Ok(text)
}

fn print_report(run: &Simulation) -> Result<()> {
    ui::print(&report(run)?)
}

fn print_json(runs: &[Simulation], cells: &[Cell]) -> Result<()> {
    let runs = runs
        .iter()
        .map(|run| {
            // The phases as their report lines: one shape for whoever reads either.
            let log = read::read(report(run)?.as_bytes());
            let phases: Vec<_> = log.reports.iter().flat_map(read::Report::phases).collect();
            Ok(serde_json::json!({ "libraries": run.libraries.name(), "phases": phases }))
        })
        .collect::<Result<Vec<_>>>()?;
    let result = serde_json::json!({ "source": "simulation", "runs": runs, "article": cells });
    ui::println(&serde_json::to_string_pretty(&result)?)
}

fn print_tables(runs: &[Simulation], cells: &[Cell]) -> Result<()> {
    ui::println(
        "SIMULATED, not measured: the logger's own code on a model of the chip, in virtual time.",
    )?;
    if !cells.is_empty() {
        ui::println(
            "In brackets: what the article measured on one board, and the simulation's deviation from it.",
        )?;
    }
    for place in [Place::Psram, Place::Internal] {
        ui::println(&format!("\nbuffer in {}", place_in_words(place)))?;
        let mut table = ui::table(&[
            "phase",
            "libraries",
            "kB/s",
            "loop Hz",
            "worst gap ms",
            "FIFO overruns",
        ]);
        for (run, result) in runs.iter().flat_map(|run| {
            let at_place = |result: &&PhaseResult| result.phase.place == place;
            run.results
                .iter()
                .filter(at_place)
                .map(move |result| (run, result))
        }) {
            table.add_row(row(run, result, cells));
        }
        ui::println(&table.trim_fmt())?;
    }
    let outside = cells.iter().filter(|cell| !cell.within).count();
    if cells.is_empty() {
        return ui::println(
            "\nNo comparison: the article's table is for the IMU and FIFO of the defaults.",
        );
    }
    ui::println(&format!(
        "\n{} of {} figures are as near to the article's as the model claims: XIP 1 Hz, gaps 10 %, no overruns; stock rates 20 %, \
         gaps 25 %, overruns where the article has them; speeds 5 %.",
        cells.len() - outside,
        cells.len()
    ))?;
    ui::println(
        "The article does not say where its buffer stood; only PSRAM gives its table. Constants and their sources: \
         firmware/simulator.",
    )
}

fn place_in_words(place: Place) -> &'static str {
    match place {
        Place::Internal => "internal RAM",
        Place::Psram => "PSRAM",
    }
}

fn row(run: &Simulation, result: &PhaseResult, cells: &[Cell]) -> [String; 6] {
    let phase = result.phase;
    let beside = |quantity: Quantity, simulated: f64, digits: usize| {
        let cell = cells.iter().find(|cell| {
            cell.quantity == quantity
                && cell.phase == phase.kind.name()
                && cell.buffer == phase.place.name()
                && cell.libraries == run.libraries.name()
        });
        let shown = format!("{simulated:.digits$}");
        let Some(cell) = cell else { return shown };
        let deviation = cell.deviation_percent.map(percent).unwrap_or_default();
        let mark = if cell.within { "" } else { " OUTSIDE" };
        format!("{shown} ({}{deviation}){mark}", cell.article)
    };
    let speed = if phase.kind.writes() {
        beside(Quantity::SpeedKbS, article::speed_kb_s(result), 1)
    } else {
        String::new()
    };
    [
        phase.kind.name().to_owned(),
        run.libraries.name().to_owned(),
        speed,
        beside(
            Quantity::LoopHz,
            f64::from(result.gaps.rate_millihertz()) / 1e3,
            1,
        ),
        beside(
            Quantity::WorstGapMs,
            f64::from(result.gaps.worst_us()) / 1e3,
            1,
        ),
        beside(Quantity::FifoOverruns, f64::from(result.fifo.overruns), 0),
    ]
}

/// A deviation, after the figure that it is of.
fn percent(deviation: f64) -> String {
    let shown = format!(", {deviation:+.1} %");
    if shown == ", -0.0 %" {
        ", +0.0 %".to_owned()
    } else {
        shown
    }
}
