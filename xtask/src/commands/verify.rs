//! `cargo xtask verify`.

mod board;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use fs_err as fs;
use serde::Serialize;

use self::board::BoardArgs;
use super::{DEFAULT_CHIP, DEFAULT_CORE};
use crate::arduino;
use crate::exit::Refusal;
use crate::libs::Tree;
use crate::names::{Chip, CoreVersion};
use crate::patchset;
use crate::progress::{Event, Report};
use crate::release;
use crate::ui;
use crate::verify::board::Seen;
use crate::verify::compile::{self, ArduinoCli, Looked, Request, Source};
use crate::verify::subject::{self, Account};
use crate::verify::{Expected, Subject, Verdict, files};

/// Check libraries, and programs that are linked with them: is it really running from PSRAM?
///
/// Every check is told as passed, as failed (why, and what to do) or as not run (why). Exit code 0: nothing failed and all
/// that was asked for ran; 3: not so. Libraries are held against what they say of themselves: a package against its
/// manifest and its patch set, stock libraries as stock ones. With --expect, against what you name. A board is held
/// against what rebuilt libraries are for: code and constants in PSRAM, a loop that keeps 499 Hz without a gap over 6 ms;
/// --expect stock lifts the loop's limits.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cargo xtask verify
  cargo xtask verify --expect xip-ecc
  cargo xtask verify --tree ~/.arduino15/packages/esp32/tools/esp32s3-libs/3.3.12.stock --expect stock
  cargo xtask verify --compile
  cargo xtask verify --compile --sketch ~/Arduino/MySketch --fqbn esp32:esp32:esp32s3:PSRAM=opi,FlashSize=16M
  cargo xtask verify --elf build/MySketch.ino.elf
  cargo xtask verify --replay board.log --stock stock.log
  cargo xtask verify --json")]
pub struct Verify {
    /// Libraries to look at [default: those that the installed core uses]
    #[arg(long, value_name = "DIR")]
    tree: Option<PathBuf>,
    /// What the libraries must be: `stock`, or a patch set's name or folder [default: what they say they are]
    #[arg(long, value_name = "stock|NAME|DIR")]
    expect: Option<String>,
    /// Version of the Arduino core for ESP32
    #[arg(long, value_name = "VERSION", default_value = DEFAULT_CORE)]
    core: CoreVersion,
    /// The chip, as Espressif writes it
    #[arg(long, value_name = "CHIP", default_value = DEFAULT_CHIP)]
    chip: Chip,
    /// Data folder of the Arduino programs [default: as arduino-cli and the IDE find it]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Compile a sketch with arduino-cli, anew and in a folder of its own, and look at the program
    #[arg(long, conflicts_with = "elf")]
    compile: bool,
    /// The sketch for --compile [default: StallBench, which comes with this tool]
    #[arg(long, value_name = "DIR", requires = "compile")]
    sketch: Option<PathBuf>,
    /// The board for --compile, with its options
    #[arg(long, value_name = "FQBN", default_value = DEFAULT_FQBN)]
    fqbn: String,
    /// Folder of a library for --compile, which goes before an installed one (repeatable)
    #[arg(long = "library", value_name = "DIR", requires = "compile")]
    libraries: Vec<PathBuf>,
    /// The arduino-cli for --compile [default: on the PATH]
    #[arg(long, value_name = "PROGRAM", requires = "compile")]
    arduino_cli: Option<PathBuf>,
    /// Give up compiling after so many minutes
    #[arg(long, value_name = "MINUTES", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    compile_limit: u64,
    /// Look at a program that was compiled before; the libraries are then looked at with --tree alone
    #[arg(long, value_name = "FILE")]
    elf: Option<PathBuf>,
    /// PSRAM of your part, in MB
    #[arg(long, value_name = "MB", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=32))]
    psram: u32,
    /// Where --compile works [default: target/xip, or work-dir of the config file]
    #[arg(long, value_name = "DIR")]
    work_dir: Option<PathBuf>,
    #[command(flatten)]
    board: BoardArgs,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// The board where `--fqbn` is not given: a generic ESP32-S3 with octal PSRAM.
const DEFAULT_FQBN: &str = "esp32:esp32:esp32s3:PSRAM=opi";

/// All that was found.
#[derive(Serialize)]
struct Answer {
    /// Whether the exit code is 0.
    good: bool,
    libraries: Option<Libraries>,
    program: Option<Looked>,
    board: Option<Seen>,
    #[serde(flatten)]
    verdict: Verdict,
}

/// The tree that was looked at.
#[derive(Serialize)]
struct Libraries {
    path: PathBuf,
    #[serde(flatten)]
    account: Account,
}

impl Verify {
    /// Carries the command out.
    ///
    /// # Errors
    /// [`Refusal::Usage`] for a tree, a sketch or a patch set that is none; [`Refusal::Check`] where the verdict is not good.
    pub fn run(self) -> Result<()> {
        let bar = ui::Bar::new(self.json);
        let report = |event: Event<'_>| bar.event(event);
        let answer = self.look(&report);
        bar.finish();
        let answer = answer?;
        if self.json {
            ui::println(&serde_json::to_string_pretty(&answer)?)?;
        } else {
            print(&answer)?;
        }
        if answer.good {
            return Ok(());
        }
        let bad = answer.verdict.checks.iter().filter(|check| check.is_bad());
        let bad: Vec<&str> = bad.map(|check| check.id).collect();
        bail!(Refusal::Check(format!("not good: {}", bad.join(", "))))
    }

    fn look(&self, report: Report<'_>) -> Result<Answer> {
        let expected = self.expected()?;
        let mut verdict = Verdict::default();
        // Who names a finished program or a log asks about that.
        let asked = self.tree.is_some() || (self.elf.is_none() && !self.board.is_log());
        let subject = if asked {
            match self.subject(&expected, report)? {
                Ok(subject) => Some(subject),
                Err(why) if self.compile => {
                    verdict.checks.extend(files::not_run(&why, true));
                    None
                }
                Err(why) => bail!(Refusal::Usage(format!("no libraries to look at: {why}"))),
            }
        } else {
            let why = "only something else was asked about; --tree names libraries";
            verdict.checks.extend(files::not_run(why, false));
            None
        };
        if let Some(subject) = &subject {
            verdict.checks.extend(files::check(subject, report));
        }
        // Dropped at the end, with all that was built in it.
        let build = self.compile.then(|| self.build_folder()).transpose()?;
        let plan = compile::Plan {
            source: self.source(build.as_ref().map(tempfile::TempDir::path))?,
            chip: &self.chip,
            subject: subject.as_ref(),
            expected: &expected,
            psram_mb: self.psram,
        };
        let (checks, program) = compile::check(&plan, report);
        verdict.checks.extend(checks);
        let (checks, board) = self.board.look(&expected)?;
        verdict.checks.extend(checks);
        Ok(Answer {
            good: verdict.is_good(),
            libraries: subject.as_ref().map(|subject| Libraries {
                path: subject.root().to_owned(),
                account: subject.account(),
            }),
            program,
            board,
            verdict,
        })
    }

    /// The libraries to look at, or why there are none.
    fn subject(&self, expected: &Expected, report: Report<'_>) -> Result<Result<Subject, String>> {
        let data = match &self.tree {
            Some(_) => None,
            None => arduino::data_dir(self.data_dir.as_deref(), report)?.map(|found| found.path),
        };
        let root = match (&self.tree, &data) {
            (Some(tree), _) => tree.clone(),
            (None, Some(data)) => match subject::installed(data, &self.chip, &self.core) {
                Ok(root) => root,
                Err(why) => return Ok(Err(format!("{why}; --tree names another folder"))),
            },
            (None, None) => {
                return Ok(Err(
                    "no data folder of the Arduino programs; --tree names the libraries' folder"
                        .into(),
                ));
            }
        };
        let stock = data
            .and_then(|data| release::stock_folder(&data, &self.chip, &self.core).ok())
            .filter(|stock| *stock != root)
            .and_then(|stock| Tree::open(&stock).ok());
        Subject::open(&root, &self.chip, expected.clone(), stock).map(Ok)
    }

    /// The program to look at.
    fn source<'a>(&'a self, build: Option<&Path>) -> Result<Source<'a>> {
        if let Some(elf) = &self.elf {
            if !elf.is_file() {
                bail!(Refusal::Usage(format!(
                    "--elf {}: no such file",
                    elf.display()
                )));
            }
            return Ok(Source::Elf(elf));
        }
        let Some(build) = build else {
            return Ok(Source::Nothing(
                "not asked for: --compile compiles a sketch, --elf names a program",
            ));
        };
        let cli = ArduinoCli::find(self.arduino_cli.as_deref(), self.data_dir.as_deref());
        Ok(Source::Sketch {
            cli: cli.map_err(|error| format!("{error:#}")),
            request: Request {
                sketch: self.sketch()?,
                fqbn: self.fqbn.clone(),
                libraries: self.libraries.clone(),
                build: build.to_owned(),
                limit: Duration::from_secs(60 * self.compile_limit),
            },
        })
    }

    fn sketch(&self) -> Result<PathBuf> {
        let sketch = self
            .sketch
            .clone()
            .unwrap_or_else(|| super::workspace().join("firmware").join("StallBench"));
        let name = sketch.file_name().unwrap_or_default().to_string_lossy();
        // A sketch is named by its folder; arduino-cli also takes the file in it.
        if sketch.is_file() || sketch.join(format!("{name}.ino")).is_file() {
            return Ok(sketch);
        }
        bail!(Refusal::Usage(format!(
            "{} is no sketch: no {name}.ino in it; name one with --sketch",
            sketch.display()
        )))
    }

    /// An empty folder to compile in.
    fn build_folder(&self) -> Result<tempfile::TempDir> {
        let work = super::work_dir(self.work_dir.as_deref(), &super::config()?)?;
        let folder = work.root().join("verify");
        fs::create_dir_all(&folder)?;
        tempfile::tempdir_in(&folder)
            .with_context(|| format!("making a folder in {}", folder.display()))
    }

    fn expected(&self) -> Result<Expected> {
        Ok(match self.expect.as_deref() {
            None => Expected::AsTheySay,
            Some("stock") => Expected::Stock,
            Some(name) => {
                let set = patchset::find(name)?;
                set.check_chip(&self.chip)?;
                Expected::Set(Box::new(set))
            }
        })
    }
}

/// The result for a person.
fn print(answer: &Answer) -> Result<()> {
    if let Some(libraries) = &answer.libraries {
        ui::println(&format!(
            "{}\n{}",
            libraries.path.display(),
            libraries.account
        ))?;
    }
    ui::println(&ui::verdict(&answer.verdict))?;
    let left = answer.program.iter().flat_map(|program| &program.left);
    let mut table = ui::table(&["PSRAM", "usable", "left for the sketch"]);
    for part in left {
        let kb = |bytes: u64| format!("{} KB", bytes / 1024);
        let left = part.left.map_or("does not fit".to_owned(), kb);
        table.add_row([format!("{} MB", part.size_mb), kb(part.usable), left]);
    }
    if !table.is_empty() {
        ui::println(&format!("\n{}", table.trim_fmt()))?;
    }
    answer.board.iter().try_for_each(board::print)
}
