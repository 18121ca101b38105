//! A container engine that runs.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result, bail};
use fs_err as fs;
use xshell::{Shell, cmd};

use super::Choice;
use super::command::{Caller, HostOs, Job, command_line, label};
use super::detect::{Facts, Kind};
use super::image::ImageRecord;
use super::run::{Ended, Target, run};

/// Docker or podman, asked what it is.
#[derive(Debug)]
pub struct Container {
    program: PathBuf,
    facts: Facts,
    caller: Caller,
}

/// What became of looking for one engine.
enum Probe {
    Runs(Container),
    Absent,
    /// Installed, but does not run: the error says why and what to do.
    Down(String),
}

/// Containers of one process are told apart by a number.
static RUNS: AtomicU32 = AtomicU32::new(0);

impl Container {
    /// The first engine of `choice` that runs, on `path`.
    pub(super) fn find(choice: Choice, path: Option<OsString>, caller: Caller) -> Result<Self> {
        let names: &[&str] = match choice {
            Choice::Docker => &["docker"],
            Choice::Podman => &["podman"],
            Choice::Auto | Choice::Host => &["docker", "podman"],
        };
        let mut down = Vec::new();
        for name in names {
            match Self::probe_name(name, path.as_ref(), caller)? {
                Probe::Runs(container) => return Ok(container),
                Probe::Down(why) => down.push(why),
                Probe::Absent => {}
            }
        }
        if down.is_empty() {
            bail!(
                "no container engine: no {} on the PATH; {}, or build without a container by `--engine host`; \
                 `cargo xtask demo` needs none",
                names.join(" and no "),
                install_hint(caller.os)
            );
        }
        bail!("{}", down.join("; "))
    }

    fn probe_name(name: &str, path: Option<&OsString>, caller: Caller) -> Result<Probe> {
        match which::which_in(name, path, "") {
            Ok(program) => Self::ask(&program, caller),
            Err(_) => Ok(Probe::Absent),
        }
    }

    fn ask(program: &Path, caller: Caller) -> Result<Probe> {
        let version = Answer::of(program, &["--version"])?;
        // The alias of podman says who it is on standard error.
        let Some(kind) = Kind::from_version(&format!("{}{}", version.out, version.err)) else {
            return Ok(Probe::Absent);
        };
        let info = Answer::of(program, &kind.info())?;
        Ok(
            match Facts::from_info(kind, &info.out, caller.os != HostOs::Linux) {
                Ok(facts) if info.success => Probe::Runs(Self {
                    program: program.to_owned(),
                    facts,
                    caller,
                }),
                Ok(_) => Probe::Down(not_running(program, kind, &info.err, caller.os)),
                // What the program says on standard error is better than what its half answer lacks.
                Err(why) => {
                    let why = if info.success || info.err.trim().is_empty() {
                        &why
                    } else {
                        &info.err
                    };
                    Probe::Down(not_running(program, kind, why, caller.os))
                }
            },
        )
    }

    /// What is known of the engine.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Who calls it.
    pub fn caller(&self) -> Caller {
        self.caller
    }

    /// The engine's program.
    pub fn program(&self) -> &Path {
        &self.program
    }

    pub(super) fn run(
        &self,
        job: &Job<'_>,
        image: Option<&ImageRecord>,
        sink: &mut dyn FnMut(&str) -> Result<()>,
    ) -> Result<Ended> {
        let image = image.context("a container needs an image")?;
        // Else the engine makes them, and they are root's.
        for mount in &job.mounts {
            fs::create_dir_all(&mount.folder)?;
        }
        let number = RUNS.fetch_add(1, Ordering::Relaxed);
        let name = format!("xip-{}-{}-{number}", job.name, std::process::id());
        let words = command_line(&self.facts, self.caller, &image.id, &name, job)?;
        let (shell, program) = (Shell::new()?, &self.program);
        let command = cmd!(shell, "{program} {words...}").into();
        let target = Target::Container {
            program: self.program.clone(),
            name,
        };
        run(command, std::process::Stdio::null(), &target, sink)
    }

    /// Ends containers that still work in `folder`: those of a tool that was killed. The caller holds the folder's lock, so
    /// no other run can own them. Gives their names.
    pub fn end_leftovers(&self, folder: &Path) -> Result<Vec<String>> {
        let filter = format!("label={}", label(folder));
        let list = Answer::of(
            &self.program,
            &["ps", "--filter", &filter, "--format", "{{.Names}}"],
        )?;
        let names: Vec<String> = list.out.split_whitespace().map(String::from).collect();
        for name in &names {
            Answer::of(&self.program, &["kill", name])?;
        }
        Ok(names)
    }

    /// The answer of the engine to `words`.
    pub(super) fn answer(&self, words: &[&str]) -> Result<Answer> {
        Answer::of(&self.program, words)
    }
}

/// What a program said, and whether it was content.
pub(super) struct Answer {
    pub(super) out: String,
    pub(super) err: String,
    pub(super) success: bool,
}

impl Answer {
    fn of(program: &Path, words: &[&str]) -> Result<Self> {
        let shell = Shell::new()?;
        let output = cmd!(shell, "{program} {words...}")
            .quiet()
            .ignore_status()
            .output()
            .with_context(|| format!("running {}", program.display()))?;
        Ok(Self {
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
            success: output.status.success(),
        })
    }
}

fn install_hint(os: HostOs) -> &'static str {
    match os {
        HostOs::Linux => {
            "install one (on Debian, Ubuntu and Fedora the package `podman`, or `docker.io`)"
        }
        HostOs::Macos => "install Docker Desktop, Podman Desktop or colima",
        HostOs::Windows => "install Docker Desktop or Podman Desktop (both use WSL 2)",
    }
}

fn not_running(program: &Path, kind: Kind, why: &str, os: HostOs) -> String {
    let why = why
        .trim()
        .lines()
        .next()
        .unwrap_or("it says nothing")
        .trim_end_matches('.');
    let start = match (kind, os) {
        _ if why.contains("permission denied") => {
            "your user may not use it: join its group (`sudo usermod -aG docker $USER`, then log in again), or use podman"
        }
        (Kind::Docker, HostOs::Linux) => {
            "start it with `sudo systemctl start docker` (or `sudo dockerd`)"
        }
        (Kind::Docker, _) => "start Docker Desktop",
        (Kind::Podman, HostOs::Linux) => "see what `podman info` says",
        (Kind::Podman, _) => "start its machine with `podman machine start`",
    };
    format!(
        "{} is installed ({}) but does not run: {why}; {start}",
        kind.name(),
        program.display()
    )
}
