//! The command line: parses it, runs the command, turns the outcome into an exit code.

use std::process::ExitCode;

use clap::Parser;

use crate::commands;
use crate::engine;
use crate::exit;
use crate::ui;

/// Build Arduino core libraries for the ESP32-S3 that run from PSRAM.
///
/// Exit codes: 0 all good; 1 the tool failed; 2 wrong usage; 3 a check on the result said no.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Audit(Box<commands::audit::AuditCommand>),
    BuildLibs(Box<commands::build_libs::BuildLibs>),
    Compare(commands::compare::Compare),
    Demo(commands::demo::Demo),
    Install(commands::install::Install),
    Patches(commands::patches::Patches),
    Pins(commands::pins::PinsCommand),
    Plan(commands::plan::Plan),
    Sim(commands::sim::Sim),
    Verify(Box<commands::verify::Verify>),
}

/// Runs the tool on the process's arguments.
pub fn run() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => error.exit(),
    };
    init_log();
    // 130: what a shell gives for a program that Ctrl-C ended.
    if let Err(error) = engine::listen(|| std::process::exit(130)) {
        tracing::warn!("{error:#}");
    }
    let outcome = match cli.command {
        Command::Audit(command) => command.run(),
        Command::BuildLibs(command) => command.run(),
        Command::Compare(command) => command.run(),
        Command::Demo(command) => command.run(),
        Command::Install(command) => command.run(),
        Command::Patches(command) => command.run(),
        Command::Pins(command) => command.run(),
        Command::Plan(command) => command.run(),
        Command::Sim(command) => command.run(),
        Command::Verify(command) => command.run(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            ui::note(&format!("error: {error:#}"));
            exit::exit_code(&error)
        }
    }
}

/// Diagnostics of the tool itself go to standard error, from the level named by `XTASK_LOG` (default: warnings).
fn init_log() {
    let level = std::env::var("XTASK_LOG")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(tracing::Level::WARN);
    tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(std::io::stderr)
        .without_time()
        .init();
}
