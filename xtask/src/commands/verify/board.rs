//! The part of `cargo xtask verify` that looks at a board, or at the log of one.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use fs_err as fs;

use crate::exit::Refusal;
use crate::progress::{Event, Report};
use crate::ui;
use crate::verify::board::port::{self, Candidate};
use crate::verify::board::{self, Figures, Heard, Limits, Row, Run, Seen};
use crate::verify::compile::{ArduinoCli, Request, Upload};
use crate::verify::{Check, Expected, Outcome};

/// A log longer than this is none of the bench's: a run's has about 20 KB.
const LONGEST_LOG: u64 = 256 << 20;

/// A program that arduino-cli built.
pub(super) struct Built {
    pub(super) cli: ArduinoCli,
    pub(super) request: Request,
    /// The folder with the program.
    pub(super) folder: PathBuf,
}

/// What the rest of the command found for the board.
pub(super) struct Call<'a> {
    /// The board's port, where one is asked for.
    pub(super) port: Option<&'a Candidate>,
    /// What is uploaded.
    pub(super) built: Option<&'a Built>,
    /// With --ab the same sketch with stock libraries, or why there is none.
    pub(super) stock: Option<&'a Result<Built, String>>,
    /// Where to tell.
    pub(super) report: Report<'a>,
}

/// What is asked about a board.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Board")]
pub(super) struct BoardArgs {
    /// Upload the sketch to the board at this port and let it run the bench, which erases the board's partition `flight`
    /// [without PORT: the only board that is found by its USB ids]
    #[arg(long, value_name = "PORT", num_args = 0..=1, group = "builds", conflicts_with = "replay")]
    port: Option<Option<String>>,
    /// Upload nothing: StallBench is on the board
    #[arg(long, requires = "port", conflicts_with = "compile")]
    no_upload: bool,
    /// Where the board's menu offers rebuilt libraries (install --as menu): build, upload and run with these and with stock ones
    #[arg(long, group = "builds", conflicts_with_all = ["replay", "stock", "no_upload", "elf", "tree"])]
    pub(super) ab: bool,
    /// Keep all that the board puts out in this file; with --ab the stock run's goes to FILE.stock
    #[arg(
        long,
        value_name = "FILE",
        requires = "builds",
        conflicts_with = "replay"
    )]
    log: Option<PathBuf>,
    /// Give the board up after so many seconds without a word
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..))]
    idle_limit: u64,
    /// Give the run up after so many minutes
    #[arg(long, value_name = "MINUTES", default_value_t = 15, value_parser = clap::value_parser!(u64).range(1..))]
    run_limit: u64,
    /// Judge a captured serial log; it must hold the answers to `membench` and `run` (`-`: standard input)
    #[arg(long, value_name = "FILE")]
    pub(super) replay: Option<PathBuf>,
    /// Put the log of a run with stock libraries beside it, as in the article's table
    #[arg(long, value_name = "FILE")]
    stock: Option<PathBuf>,
    /// Let the figures of a simulation stand (`cargo xtask sim --report`); it is labelled everywhere
    #[arg(long)]
    accept_simulation: bool,
}

impl BoardArgs {
    /// Whether it is asked about what runs already, and not about the installed libraries.
    pub(super) fn is_alone(&self) -> bool {
        self.replay.is_some() || self.no_upload
    }

    /// Whether a sketch is to be built and uploaded.
    pub(super) fn uploads(&self) -> bool {
        self.ab || (self.port.is_some() && !self.no_upload)
    }

    /// The port to talk at, where one is asked for.
    ///
    /// # Errors
    /// [`Refusal::Usage`] where no board is found, or several are.
    pub(super) fn find_port(&self, report: Report<'_>) -> Result<Option<Candidate>> {
        if let Some(Some(name)) = &self.port {
            return Ok(Some(Candidate {
                name: name.clone(),
                why: "named".into(),
                own_usb: false,
            }));
        }
        if self.port.is_none() && !self.ab {
            return Ok(None);
        }
        let mut found = port::candidates().context("looking for a board")?;
        match (found.pop(), found.is_empty()) {
            (Some(only), true) => {
                let line = format!("board at {}: the only one, {}", only.name, only.why);
                report(Event::Note(&line));
                Ok(Some(only))
            }
            (None, _) => bail!(Refusal::Usage(
                "no board is found by its USB ids (Espressif's own USB, CP210x, CH34x); name its port with --port PORT".into()
            )),
            (Some(last), false) => {
                found.push(last);
                let lines = found.iter().map(|port| format!("\n  {}  {}", port.name, port.why));
                bail!(Refusal::Usage(format!(
                    "several boards may be meant; name one with --port PORT:{}",
                    lines.collect::<String>()
                )))
            }
        }
    }

    /// Every check of the board.
    pub(super) fn look(
        &self,
        call: &Call<'_>,
        expected: &Expected,
    ) -> Result<(Vec<Check>, Option<Seen>)> {
        let both_stdin = [&self.replay, &self.stock]
            .into_iter()
            .all(|log| log.as_deref() == Some(Path::new("-")));
        if both_stdin {
            bail!(Refusal::Usage(
                "--replay and --stock cannot both be standard input".into()
            ));
        }
        let mut stock = self.stock.as_deref().map(read_log).transpose()?;
        let mut checks = Vec::new();
        let heard = match (&self.replay, call.port) {
            (Some(log), _) => read_log(log)?,
            (None, Some(port)) => {
                match self.live(call, port, call.built, self.log.as_deref(), &mut checks)? {
                    Some(heard) => heard,
                    None => {
                        checks.extend(board::not_run(
                            "nothing was heard of the board, see above",
                            true,
                        ));
                        return Ok((checks, None));
                    }
                }
            }
            (None, None) if stock.is_some() => bail!(Refusal::Usage(
                "--stock puts a run beside another; give that with --replay or --port".into()
            )),
            (None, None) => {
                let why = "not asked for: --port talks to a board, --replay reads a log of one";
                return Ok((board::not_run(why, false), None));
            }
        };
        let mut of_stock = Vec::new();
        if let (true, Some(port)) = (self.ab, call.port) {
            stock = self.run_stock(call, port, &mut of_stock)?;
        }
        let plan = board::Plan {
            expected,
            accept_simulation: self.accept_simulation,
        };
        let (judged, seen) = board::check(plan, &heard, stock.as_ref());
        checks.extend(judged);
        checks.extend(of_stock);
        Ok((checks, Some(seen)))
    }

    /// The stock half of --ab.
    fn run_stock(
        &self,
        call: &Call<'_>,
        port: &Candidate,
        checks: &mut Vec<Check>,
    ) -> Result<Option<Heard>> {
        let failed = |why: String| {
            board::stock_check(Outcome::failed(
                why,
                "see whether the sketch builds and uploads with Stock in the board's menu",
            ))
        };
        let built = match call.stock {
            Some(Ok(built)) => built,
            Some(Err(why)) => {
                checks.push(failed(why.clone()));
                return Ok(None);
            }
            None => return Ok(None),
        };
        let log = self.log.as_ref().map(|log| {
            let mut name = log.clone().into_os_string();
            name.push(".stock");
            PathBuf::from(name)
        });
        let mut uploaded = Vec::new();
        let heard = self.live(call, port, Some(built), log.as_deref(), &mut uploaded)?;
        let why = uploaded.into_iter().find_map(|check| match check.outcome {
            Outcome::Failed { why, .. } | Outcome::NotRun { why } => Some(why),
            Outcome::Passed { .. } => None,
        });
        checks.extend(why.map(failed));
        Ok(heard)
    }

    /// Uploads, and talks with the board; nothing heard where a check in `checks` says why.
    fn live(
        &self,
        call: &Call<'_>,
        port: &Candidate,
        built: Option<&Built>,
        log: Option<&Path>,
        checks: &mut Vec<Check>,
    ) -> Result<Option<Heard>> {
        let mut name = port.name.clone();
        let mut push = |outcome| checks.push(board::upload_check(outcome));
        if self.uploads() {
            let Some(built) = built else {
                push(Outcome::not_run("there is no program to upload, see above"));
                return Ok(None);
            };
            (call.report)(Event::Step(&format!("upload to {name}")));
            match built.cli.upload(&Upload {
                request: &built.request,
                build: &built.folder,
                port: &name,
                limit: Duration::from_secs(300),
            }) {
                Ok(moved) => {
                    push(Outcome::passed(format!(
                        "{name}, {}; {}",
                        port.why, built.request.fqbn
                    )));
                    name = moved.unwrap_or(name);
                }
                Err(error) => {
                    push(Outcome::failed(
                        format!("{name}: {error:#}"),
                        "is the board's boot mode right (hold BOOT, press RESET), is it an ESP32-S3, is the port free?",
                    ));
                    return Ok(None);
                }
            }
        }
        let mut keep: Box<dyn Write> = match log {
            Some(path) => Box::new(fs::File::create(path)?),
            None => Box::new(std::io::sink()),
        };
        let limits = Limits {
            idle: Duration::from_secs(self.idle_limit),
            total: Duration::from_secs(60 * self.run_limit),
        };
        match port::open(&name) {
            Ok(mut open) => board::talk(&mut open, &name, limits, &mut keep, call.report)
                .map(Some)
                .context("keeping what the board puts out (--log)"),
            Err(why) => Ok(Some(Heard {
                from: name,
                bytes: Vec::new(),
                broke_off: Some(why),
            })),
        }
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
