//! `cargo xtask pins`.

use std::path::PathBuf;

use anyhow::Result;
use serde::Serialize;

use super::release_args::ReleaseArgs;
use crate::arduino::DataDir;
use crate::names::Chip;
use crate::release::{self, ComponentPin, Origin, Pins};
use crate::ui;

/// Show which commits and component versions a core release was built from
///
/// The list is the release's own versions.txt. It is taken from the first of these that has it: the file given by
/// --versions; the installed stock libraries (3.3.12, or 3.3.12.stock where they were swapped); the official zip that
/// the package index names. Of that zip only its directory and versions.txt are fetched, a few hundred kB, unless the
/// server cannot serve parts of a file; then all of it, and its checksum is compared. What is fetched is kept in the
/// work folder, so that a second run, also with --offline, needs no network.
///
/// Components that the release recorded without a version are listed as not pinned: a build takes what its manifests
/// allow.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cargo xtask pins
  cargo xtask pins --core 3.3.11 --json
  cargo xtask pins --versions ~/libs/esp32s3/versions.txt")]
pub struct PinsCommand {
    #[command(flatten)]
    release: ReleaseArgs,

    /// Folder for what is fetched [default: target/xip, or work-dir of the config file]
    #[arg(long, value_name = "DIR")]
    work_dir: Option<PathBuf>,

    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
}

/// What `--json` prints. Keys are only ever added.
#[derive(Debug, Serialize)]
struct Answer<'a> {
    chip: &'a Chip,
    #[serde(flatten)]
    pins: &'a Pins,
    /// Names of the components without a version.
    unpinned: Vec<&'a str>,
    /// The data folder of the Arduino programs that was looked in.
    data_dir: Option<&'a DataDir>,
}

impl PinsCommand {
    /// Carries the command out.
    ///
    /// # Errors
    /// As [`release::resolve`].
    pub fn run(self) -> Result<()> {
        let work = super::work_dir(self.work_dir.as_deref(), &super::config()?)?;
        let bar = ui::Bar::new(self.json);
        let data_dir = self.release.data_dir(&|event| bar.event(event))?;
        let folder = data_dir.as_ref().map(|dir| dir.path.as_path());
        let pins = self
            .release
            .resolve(folder, &work.downloads(), &|event| bar.event(event))?;
        bar.finish();
        if self.json {
            let answer = Answer {
                chip: &self.release.chip,
                pins: &pins,
                unpinned: release::unpinned(&pins),
                data_dir: data_dir.as_ref(),
            };
            ui::println(&serde_json::to_string_pretty(&answer)?)?;
        } else {
            ui::println(&tables(&pins, &self.release.chip, data_dir.as_ref()))?;
        }
        Ok(())
    }
}

fn tables(pins: &Pins, chip: &Chip, data_dir: Option<&DataDir>) -> String {
    let head = match &pins.core {
        Some(core) => format!(
            "Core {core}, {chip}: pins from {}",
            origin(&pins.origin, data_dir)
        ),
        None => format!("Pins from {}", origin(&pins.origin, data_dir)),
    };
    let mut sources = ui::table(&["source", "branch or tags", "commit"]);
    for pin in &pins.sources {
        sources.add_row([pin.name.clone(), pin.refs.join(" "), pin.commit.clone()]);
    }
    let mut components = ui::table(&["component", "version"]);
    for ComponentPin { name, version } in &pins.components {
        if let Some(version) = version {
            components.add_row([name, version]);
        }
    }
    let mut text = format!(
        "{head}\n\n{}\n\n{}",
        sources.trim_fmt(),
        components.trim_fmt()
    );
    let unpinned = release::unpinned(pins);
    if !unpinned.is_empty() {
        text += &format!(
            "\n\nNot pinned (recorded without a version): {}",
            unpinned.join(", ")
        );
    }
    text
}

fn origin(origin: &Origin, data_dir: Option<&DataDir>) -> String {
    match origin {
        Origin::File { path } => path.display().to_string(),
        Origin::Installed { path } => {
            let found_by = data_dir.map_or(String::new(), |dir| {
                format!("; data folder: {}", dir.found_by)
            });
            format!("{} (installed{found_by})", path.display())
        }
        Origin::OfficialZip {
            url,
            size,
            fetched,
            local,
        } => {
            let fetched = match fetched {
                0 => "nothing fetched".to_owned(),
                _ => format!("{} of {} fetched", ui::bytes(*fetched), ui::bytes(*size)),
            };
            let read = match local {
                Some(path) => format!("; read from {}", path.display()),
                None => String::new(),
            };
            format!("{url} ({fetched}{read})")
        }
    }
}
