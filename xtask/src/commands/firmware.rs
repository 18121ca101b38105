//! `cargo xtask firmware`.

use std::path::PathBuf;

use anyhow::Result;
use serde::Serialize;

use super::workspace;
use crate::digest;
use crate::firmware::compile::Call;
use crate::firmware::{Target, archive, library, toolchain};
use crate::ui;

/// The test sketch's Rust part.
#[derive(Debug, clap::Args)]
pub struct Firmware {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Build(Build),
}

/// Compile the flight logger to a static library and lay out an Arduino library with it.
///
/// For the ESP32-S3 this needs Espressif's Rust toolchain (espup installs it). The library defines nothing but its own
/// functions; one that would define a name of the C library is refused.
#[derive(Debug, clap::Args)]
struct Build {
    /// What to compile for
    #[arg(long, value_enum, default_value = "esp32s3")]
    target: Target,
    /// Folder to write; one made by this command before is replaced [default: target/firmware/FlightLog, or .../host]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// rustup toolchain, or folder of one (with bin/rustc) [default: esp for esp32s3, else whichever can]
    #[arg(long, value_name = "NAME")]
    toolchain: Option<String>,
    /// Say what would be run and written, and stop
    #[arg(long)]
    dry_run: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// What was built, or would be.
#[derive(Debug, Serialize)]
struct Outcome {
    target: &'static str,
    triple: String,
    compiler: String,
    command: String,
    folder: PathBuf,
    files: Vec<PathBuf>,
    archive: Option<Archive>,
}

/// The static library.
#[derive(Debug, Serialize)]
struct Archive {
    path: PathBuf,
    bytes: usize,
    sha256: String,
    functions: Vec<String>,
    needs: Vec<String>,
}

impl Firmware {
    /// Carries the command out.
    ///
    /// # Errors
    /// No compiler for the target; cargo fails; the library defines what it must not.
    pub fn run(self) -> Result<()> {
        let Command::Build(build) = self.command;
        build.run()
    }
}

impl Build {
    fn run(self) -> Result<()> {
        let workspace = workspace();
        let target_dir = workspace.join("target").join("firmware");
        let out = self
            .out
            .unwrap_or_else(|| library::default_out(&workspace, self.target));
        let toolchain = toolchain::find(self.target, self.toolchain.as_deref())?;
        library::check_out(&out)?;
        let files = library::files(self.target, &workspace)?;
        let call = Call::new(&toolchain, &workspace, &target_dir.join("cargo"));
        let paths = files.iter().map(|file| out.join(&file.path));
        let mut outcome = Outcome {
            target: self.target.name(),
            triple: toolchain.triple.clone(),
            compiler: toolchain.version.clone(),
            command: call.text(),
            folder: out.clone(),
            files: paths
                .chain([out.join(library::archive_path(self.target))])
                .collect(),
            archive: None,
        };
        if !self.dry_run {
            let built = call.run()?;
            let reduced = archive::reduce(&built, self.target != Target::Host)?;
            outcome.files = library::write(self.target, &files, &reduced, &out)?;
            outcome.archive = Some(Archive {
                path: out.join(library::archive_path(self.target)),
                bytes: reduced.bytes.len(),
                sha256: digest::sha256(&reduced.bytes),
                functions: reduced.defines,
                needs: reduced.needs,
            });
        }
        if self.json {
            return ui::println(&serde_json::to_string_pretty(&outcome)?);
        }
        print(&outcome)
    }
}

fn print(outcome: &Outcome) -> Result<()> {
    let would = if outcome.archive.is_some() {
        ""
    } else {
        "would "
    };
    let verb =
        |done: &'static str, plain: &'static str| if would.is_empty() { done } else { plain };
    ui::println(&format!(
        "{would}{}   {}",
        verb("ran", "run"),
        outcome.command
    ))?;
    for file in &outcome.files {
        ui::println(&format!(
            "{would}{} {}",
            verb("wrote", "write"),
            file.display()
        ))?;
    }
    if let Some(archive) = &outcome.archive {
        let needs = match archive.needs.len() {
            0..=12 => format!("; it needs {}", archive.needs.join(", ")),
            many => format!("; it needs {many} functions of this machine's C library"),
        };
        ui::println(&format!(
            "{} functions in an archive of {} for {}, by {}{needs}",
            archive.functions.len(),
            ui::bytes(archive.bytes as u64),
            outcome.triple,
            outcome.compiler
        ))?;
    }
    Ok(())
}
