//! `cargo xtask verify`.

use std::path::PathBuf;

use anyhow::{Result, bail};
use serde::Serialize;

use super::{DEFAULT_CHIP, DEFAULT_CORE};
use crate::arduino;
use crate::exit::Refusal;
use crate::libs::Tree;
use crate::names::{Chip, CoreVersion};
use crate::patchset;
use crate::progress::{Event, Report};
use crate::release;
use crate::ui;
use crate::verify::subject::{self, Account};
use crate::verify::{Expected, Subject, Verdict, files};

/// Check libraries, and programs that are linked with them: is it really running from PSRAM?
///
/// Every check is told as passed, as failed (why, and what to do) or as not run (why). Exit code 0: nothing failed and all
/// that was asked for ran; 3: not so. Libraries are held against what they say of themselves: a package against its
/// manifest and its patch set, stock libraries as stock ones. With --expect, against what you name.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cargo xtask verify
  cargo xtask verify --expect xip-ecc
  cargo xtask verify --tree ~/.arduino15/packages/esp32/tools/esp32s3-libs/3.3.12.stock --expect stock
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
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// The result for a script.
#[derive(Serialize)]
struct Answer<'a> {
    /// Whether the exit code is 0.
    good: bool,
    libraries: Option<Libraries>,
    #[serde(flatten)]
    verdict: &'a Verdict,
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
    /// [`Refusal::Usage`] for a tree or a patch set that is none; [`Refusal::Check`] where the verdict is not good.
    pub fn run(self) -> Result<()> {
        let bar = ui::Bar::new(self.json);
        let report = |event: Event<'_>| bar.event(event);
        let outcome = self.look(&report);
        bar.finish();
        let (libraries, verdict) = outcome?;
        let good = verdict.is_good();
        if self.json {
            let answer = Answer {
                good,
                libraries,
                verdict: &verdict,
            };
            ui::println(&serde_json::to_string_pretty(&answer)?)?;
        } else {
            if let Some(libraries) = &libraries {
                ui::println(&format!(
                    "{}\n{}",
                    libraries.path.display(),
                    libraries.account
                ))?;
            }
            ui::println(&ui::verdict(&verdict))?;
        }
        if good {
            return Ok(());
        }
        let bad = verdict.checks.iter().filter(|check| check.is_bad());
        let bad: Vec<&str> = bad.map(|check| check.id).collect();
        bail!(Refusal::Check(format!("not good: {}", bad.join(", "))))
    }

    fn look(&self, report: Report<'_>) -> Result<(Option<Libraries>, Verdict)> {
        let mut verdict = Verdict::default();
        let subject = match self.subject()? {
            Ok(subject) => {
                verdict.checks.extend(files::check(&subject, report));
                Some(subject)
            }
            Err(why) => bail!(Refusal::Usage(format!("no libraries to look at: {why}"))),
        };
        let libraries = subject.as_ref().map(|subject| Libraries {
            path: subject.root().to_owned(),
            account: subject.account(),
        });
        Ok((libraries, verdict))
    }

    /// The libraries to look at, or why there are none.
    fn subject(&self) -> Result<Result<Subject, String>> {
        let data = match &self.tree {
            Some(_) => None,
            None => arduino::data_dir(self.data_dir.as_deref())?.map(|found| found.path),
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
        Subject::open(&root, &self.chip, self.expected()?, stock).map(Ok)
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
