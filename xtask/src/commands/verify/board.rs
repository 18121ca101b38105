//! The part of `cargo xtask verify` that looks at a board, or at the log of one.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use fs_err as fs;

use crate::exit::Refusal;
use crate::ui;
use crate::verify::board::{self, Figures, Heard, Row, Run, Seen};
use crate::verify::{Check, Expected};

/// A log longer than this is none of the bench's: a run's has about 20 KB.
const LONGEST_LOG: u64 = 256 << 20;

/// What is asked about a board.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Board")]
pub(super) struct BoardArgs {
    /// Judge a captured serial log; it must hold the answers to `membench` and `run` (`-`: standard input)
    #[arg(long, value_name = "FILE")]
    pub(super) replay: Option<PathBuf>,
    /// Put the log of a run with stock libraries beside it, as in the article's table
    #[arg(long, value_name = "FILE", requires = "replay")]
    stock: Option<PathBuf>,
    /// Let the figures of a simulation stand (`cargo xtask sim --report`); it is labelled everywhere
    #[arg(long)]
    accept_simulation: bool,
}

impl BoardArgs {
    /// Whether a log is asked about.
    pub(super) fn is_log(&self) -> bool {
        self.replay.is_some()
    }

    /// Every check of the board.
    pub(super) fn look(&self, expected: &Expected) -> Result<(Vec<Check>, Option<Seen>)> {
        let Some(log) = &self.replay else {
            let why = "not asked for: --port talks to a board, --replay reads a log of one";
            return Ok((board::not_run(why, false), None));
        };
        if self.stock.as_deref() == Some(Path::new("-")) && log == Path::new("-") {
            bail!(Refusal::Usage(
                "--replay and --stock cannot both be standard input".into()
            ));
        }
        let heard = read_log(log)?;
        let stock = self.stock.as_deref().map(read_log).transpose()?;
        let plan = board::Plan {
            expected,
            accept_simulation: self.accept_simulation,
        };
        let (checks, seen) = board::check(plan, &heard, stock.as_ref());
        Ok((checks, Some(seen)))
    }
}

/// A captured log.
fn read_log(path: &Path) -> Result<Heard> {
    let (from, bytes) = if path == Path::new("-") {
        let mut bytes = Vec::new();
        let read = std::io::stdin()
            .lock()
            .take(LONGEST_LOG + 1)
            .read_to_end(&mut bytes);
        read.context("reading the log from standard input")?;
        ("standard input".to_owned(), bytes)
    } else {
        if !path.is_file() {
            bail!(Refusal::Usage(format!("{}: no such file", path.display())));
        }
        let mut bytes = Vec::new();
        let file = fs::File::open(path)?;
        file.take(LONGEST_LOG + 1).read_to_end(&mut bytes)?;
        (path.display().to_string(), bytes)
    };
    if bytes.len() as u64 > LONGEST_LOG {
        bail!(Refusal::Usage(format!(
            "{from} is longer than {}: that is no log of the stall bench",
            ui::bytes(LONGEST_LOG)
        )));
    }
    Ok(Heard {
        from,
        bytes,
        broke_off: None,
    })
}

/// The runs, for a person.
pub(super) fn print(seen: &Seen) -> Result<()> {
    if seen.table.is_empty() {
        return Ok(());
    }
    ui::println(&format!("\n{}", of_run("run", &seen.run)))?;
    if let Some(stock) = &seen.stock {
        ui::println(&of_run("stock", stock))?;
    }
    let mut table = match seen.stock {
        Some(_) => ui::table(&[
            "phase",
            "buffer",
            "kB/s aimed at",
            "loop Hz stock",
            "run",
            "worst gap ms stock",
            "run",
            "overruns stock",
            "run",
            "kB/s stock",
            "run",
        ]),
        None => ui::table(&[
            "phase",
            "buffer",
            "kB/s aimed at",
            "loop Hz",
            "worst gap ms",
            "overruns",
            "kB/s",
        ]),
    };
    for row in &seen.table {
        table.add_row(cells(row, seen.stock.is_some()));
    }
    ui::println(&table.trim_fmt())
}

/// Where a run's figures are from.
fn of_run(name: &str, run: &Run) -> String {
    let label = match run.is_simulation() {
        true => "SIMULATED, not measured",
        false => "measured",
    };
    format!("{name}: {}, {label}", run.from)
}

fn cells(row: &Row, with_stock: bool) -> Vec<String> {
    let mut cells = vec![row.phase.clone(), row.buffer.clone(), row.target()];
    let columns: [fn(&Figures) -> String; 4] = [
        |figures| format!("{:.1}", figures.loop_hz),
        |figures| format!("{:.1}", figures.worst_gap_ms),
        |figures| figures.fifo_overruns.to_string(),
        |figures| {
            figures
                .kb_s
                .map(|rate| format!("{rate:.1}"))
                .unwrap_or_default()
        },
    ];
    for column in columns {
        let shown = |figures: &Option<Figures>| figures.as_ref().map_or("-".to_owned(), column);
        if with_stock {
            cells.push(shown(&row.stock));
        }
        cells.push(shown(&row.run));
    }
    cells
}
