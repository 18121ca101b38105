//! `cargo xtask verify`.

mod board;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use fs_err as fs;
use serde::Serialize;

use self::board::{BoardArgs, Built};
use super::{DEFAULT_CHIP, DEFAULT_CORE};
use crate::arduino::{self, Search, Surroundings, cores};
use crate::exit::Refusal;
use crate::firmware;
use crate::libs::Tree;
use crate::names::{Chip, CoreVersion};
use crate::patchset;
use crate::progress::{Event, Report};
use crate::release;
use crate::swap::Depth;
use crate::swap::menu::{self, MENU, MenuState, Offer, STOCK};
use crate::ui;
use crate::verify::board::Seen;
use crate::verify::board::port::Candidate;
use crate::verify::compile::{self, ArduinoCli, Looked, Request, Source};
use crate::verify::subject::Account;
use crate::verify::{Check, Expected, Outcome, Subject, Verdict, files, page};

/// Check libraries, and programs that are linked with them: is it really running from PSRAM?
///
/// Every check is told as passed, as failed (why, and what to do) or as not run (why). Exit code 0: nothing failed and all
/// that was asked for ran; 3: not so. Libraries are held against what they say of themselves: a package against its
/// manifest and its patch set, stock libraries as stock ones. With --expect, against what you name. A board is held
/// against what rebuilt libraries are for: code and constants in PSRAM, a loop that keeps 499 Hz without a gap over 6 ms;
/// --expect stock lifts the loop's limits.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("builds").multiple(true)), after_help = "\
Examples:
  cargo xtask verify
  cargo xtask verify --expect xip-ecc
  cargo xtask verify --tree ~/.arduino15/packages/esp32/tools/esp32s3-libs/3.3.12.stock --expect stock
  cargo xtask verify --compile
  cargo xtask verify --compile --sketch ~/Arduino/MySketch --fqbn esp32:esp32:esp32s3:PSRAM=opi,FlashSize=16M
  cargo xtask verify --elf build/MySketch.ino.elf
  cargo xtask verify --port
  cargo xtask verify --port /dev/ttyACM0 --log board.log
  cargo xtask verify --ab
  cargo xtask verify --replay board.log --stock stock.log --html report.html
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
    #[arg(long, group = "builds", conflicts_with = "elf")]
    compile: bool,
    /// The sketch for --compile [default: StallBench, which comes with this tool]
    #[arg(long, value_name = "DIR", requires = "builds")]
    sketch: Option<PathBuf>,
    /// The board with its options; where they choose libraries in the menu CoreLibs, these are looked at [default: a generic
    /// ESP32-S3 with octal PSRAM; behind its own USB with CDCOnBoot=cdc]
    #[arg(long, value_name = "FQBN")]
    fqbn: Option<String>,
    /// Folder of a library for --compile, which goes before an installed one (repeatable) [default: for StallBench, where
    /// `firmware build` lays it out]
    #[arg(long = "library", value_name = "DIR", requires = "builds")]
    libraries: Vec<PathBuf>,
    /// The arduino-cli for --compile [default: on the PATH]
    #[arg(long, value_name = "PROGRAM", requires = "builds")]
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
    /// Write the result as a page for a browser too, with plots of a board's loop; it opens without network
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
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
        if let Some(file) = &self.html {
            let page = page::page(&answer.verdict, answer.board.as_ref())?;
            fs::write(file, page)?;
        }
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
        let port = self.board.find_port(report)?;
        let menu = self.board.ab.then(|| self.menu(report)).transpose()?;
        let mut verdict = Verdict::default();
        let base = self.base_fqbn(port.as_ref());
        let fqbn = match &menu {
            Some(menu) => with_option(&base, MENU, &menu.offer.suffix),
            None => base.clone(),
        };
        // Who names a finished program, a log or a running board asks about that.
        let asked = self.tree.is_some() || (self.elf.is_none() && !self.board.is_alone());
        let found = if asked {
            match self.subject(&expected, &fqbn, report)? {
                Ok(found) => Some(found),
                Err(why) if self.builds() => {
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
        let (subject, data) = match found {
            Some((subject, data)) => (Some(subject), data),
            None => (None, self.data_dir.clone()),
        };
        if let Some(subject) = &subject {
            verdict.checks.extend(files::check(subject, report));
        }
        // Dropped at the end, with all that was built in it.
        let build = self.builds().then(|| self.build_folder()).transpose()?;
        let plan = compile::Plan {
            source: self.source(
                build.as_ref().map(tempfile::TempDir::path),
                data.as_deref(),
                &fqbn,
            )?,
            chip: &self.chip,
            subject: subject.as_ref(),
            expected: &expected,
            psram_mb: self.psram,
        };
        let (checks, program) = compile::check(&plan, report);
        verdict.checks.extend(checks);
        let built = built(&plan.source, program.as_ref(), &verdict.checks);
        let stock = match (&menu, &plan.source) {
            (
                Some(_),
                Source::Sketch {
                    cli: Ok(cli),
                    request,
                },
            ) => {
                let request = Request {
                    fqbn: with_option(&base, MENU, "stock"),
                    build: request.build.join("stock"),
                    ..request.clone()
                };
                Some(self.stock_program(cli, request, report))
            }
            _ => None,
        };
        let call = board::Call {
            port: port.as_ref(),
            built: built.as_ref(),
            stock: stock.as_ref(),
            report,
        };
        let (checks, board) = self.board.look(&call, &expected)?;
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

    /// The libraries to look at, and the data folder that they were found in; else why there are none.
    fn subject(
        &self,
        expected: &Expected,
        fqbn: &str,
        report: Report<'_>,
    ) -> Result<Result<(Subject, Option<PathBuf>), String>> {
        if let Some(tree) = &self.tree {
            let subject = Subject::open(tree, &self.chip, expected.clone(), None)?;
            return Ok(Ok((subject, self.data_dir.clone())));
        }
        let surroundings = Surroundings::here();
        let search = Search::run(self.data_dir.as_deref(), &surroundings, report)?;
        let data = search.one(|name| name == self.core.to_string(), &surroundings)?;
        let core = match cores::find(&data.path, &self.core) {
            Ok(core) => core,
            Err(error) => return Ok(Err(format!("{error:#}; or name them with --tree"))),
        };
        let root = match self.chosen_in_menu(fqbn) {
            Some(offer) => Some(offer.place(&data.path).active()),
            None => core.libraries(&data.path, &self.chip),
        };
        let root = match root {
            Some(root) if root.is_dir() => root,
            Some(root) => return Ok(Err(format!("{} is not there", root.display()))),
            None => {
                return Ok(Err(format!(
                    "the core {} in {} does not tell where its libraries are; name them with --tree",
                    core.version,
                    data.path.display()
                )));
            }
        };
        let stock = release::stock_folder(&data.path, &self.chip, &self.core)
            .ok()
            .filter(|stock| *stock != root)
            .and_then(|stock| Tree::open(&stock).ok());
        let subject = Subject::open(&root, &self.chip, expected.clone(), stock)?;
        Ok(Ok((subject, Some(data.path))))
    }

    /// The libraries that the FQBN chooses in the board's menu, where it does.
    fn chosen_in_menu(&self, fqbn: &str) -> Option<Offer> {
        let options = fqbn.split(':').nth(3)?;
        let (_, suffix) = options
            .split(',')
            .filter_map(|option| option.split_once('='))
            .find(|(menu, option)| *menu == MENU && *option != STOCK)?;
        Some(Offer {
            chip: self.chip.clone(),
            suffix: suffix.to_owned(),
            core: self.core.clone(),
        })
    }

    /// The program to look at. With `data`, arduino-cli takes the core from there.
    fn source<'a>(
        &'a self,
        build: Option<&Path>,
        data: Option<&Path>,
        fqbn: &str,
    ) -> Result<Source<'a>> {
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
        let cli = ArduinoCli::find(self.arduino_cli.as_deref(), data);
        let cli = cli.map_err(|error| format!("{error:#}"));
        let (cli, libraries) = match self.libraries(&super::workspace()) {
            Ok(libraries) => (cli, libraries),
            Err(why) => (cli.and(Err(why)), Vec::new()),
        };
        Ok(Source::Sketch {
            cli,
            request: Request {
                sketch: self.sketch()?,
                fqbn: fqbn.to_owned(),
                libraries,
                build: build.to_owned(),
                limit: Duration::from_secs(60 * self.compile_limit),
            },
        })
    }

    /// Whether a sketch is built.
    fn builds(&self) -> bool {
        self.compile || self.board.uploads()
    }

    /// The board to build for. Behind the chip's own USB the sketch's Serial must be that USB (boards.txt, CDCOnBoot).
    fn base_fqbn(&self, port: Option<&Candidate>) -> String {
        match &self.fqbn {
            Some(fqbn) => fqbn.clone(),
            None if port.is_some_and(|port| port.own_usb) => {
                with_option(DEFAULT_FQBN, "CDCOnBoot", "cdc")
            }
            None => DEFAULT_FQBN.to_owned(),
        }
    }

    /// The rebuilt libraries that the board's menu offers.
    fn menu(&self, report: Report<'_>) -> Result<MenuState> {
        let data = arduino::data_dir(self.data_dir.as_deref(), report)?;
        let data =
            data.context("no data folder of the Arduino programs; name it with --data-dir")?;
        let mut offered = menu::menus(&data.path, &self.chip, Depth::Quick)?.found;
        offered.retain(|state| state.in_menu && state.offer.core == self.core);
        let many = offered.len() > 1;
        match offered.pop() {
            Some(only) if !many => Ok(only),
            Some(_) => bail!(Refusal::Usage(
                "the board's menu offers several rebuilt libraries; run --compile and --port with each FQBN".into()
            )),
            None => bail!(Refusal::Usage(format!(
                "the menu of core {} offers no rebuilt libraries: cargo xtask install --as menu puts them there",
                self.core
            ))),
        }
    }

    /// The sketch built with stock libraries, or why it is not.
    fn stock_program(
        &self,
        cli: &ArduinoCli,
        request: Request,
        report: Report<'_>,
    ) -> Result<Built, String> {
        fs::create_dir_all(&request.build).map_err(|error| error.to_string())?;
        let plan = compile::Plan {
            source: Source::Sketch {
                cli: Ok(cli.clone()),
                request,
            },
            chip: &self.chip,
            subject: None,
            expected: &Expected::Stock,
            psram_mb: self.psram,
        };
        let (checks, program) = compile::check(&plan, report);
        // Where it runs from is for the board to say.
        built(&plan.source, program.as_ref(), &checks).ok_or_else(|| {
            let why = checks.iter().find_map(|check| match &check.outcome {
                Outcome::Failed { why, .. } => Some(why.clone()),
                _ => None,
            });
            format!(
                "not built with stock libraries: {}",
                why.unwrap_or_default()
            )
        })
    }

    /// The libraries for the sketch. StallBench is linked with the flight logger, which has to be built before.
    fn libraries(&self, workspace: &Path) -> Result<Vec<PathBuf>, String> {
        if self.sketch.is_some() || !self.libraries.is_empty() {
            return Ok(self.libraries.clone());
        }
        match firmware::library::laid_out(workspace) {
            Some(library) => Ok(vec![library]),
            None => Err(
                "StallBench is linked with the flight logger, which is not built: cargo xtask firmware build, or name its \
                 folder with --library"
                    .into(),
            ),
        }
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

/// What can be uploaded.
fn built(source: &Source<'_>, program: Option<&Looked>, checks: &[Check]) -> Option<Built> {
    let Source::Sketch {
        cli: Ok(cli),
        request,
    } = source
    else {
        return None;
    };
    let compiled = |check: &Check| check.id == "compile.built" && !check.is_bad();
    let folder = program?.elf.parent()?;
    checks.iter().any(compiled).then(|| Built {
        cli: cli.clone(),
        request: request.clone(),
        folder: folder.to_owned(),
    })
}

/// `fqbn` with one option more, in place of that option's value where it has one.
fn with_option(fqbn: &str, option: &str, value: &str) -> String {
    let mut parts = fqbn.splitn(4, ':');
    let board: Vec<&str> = parts.by_ref().take(3).collect();
    let mut options: Vec<String> = parts
        .next()
        .unwrap_or_default()
        .split(',')
        .filter(|pair| !pair.is_empty() && pair.split('=').next() != Some(option))
        .map(str::to_owned)
        .collect();
    options.push(format!("{option}={value}"));
    format!("{}:{}", board.join(":"), options.join(","))
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

#[cfg(test)]
mod tests {
    use super::with_option;

    #[test]
    fn an_option_takes_the_place_of_its_like() {
        for (fqbn, with) in [
            ("esp32:esp32:esp32s3", "esp32:esp32:esp32s3:CoreLibs=stock"),
            ("e:e:s3:PSRAM=opi", "e:e:s3:PSRAM=opi,CoreLibs=stock"),
            (
                "e:e:s3:CoreLibs=xip-ecc,PSRAM=opi",
                "e:e:s3:PSRAM=opi,CoreLibs=stock",
            ),
        ] {
            assert_eq!(with_option(fqbn, "CoreLibs", "stock"), with);
        }
    }
}
