//! Runs one program with its output streamed, and ends it at Ctrl-C.

use std::io::{BufRead, BufReader, PipeReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use xshell::{Shell, cmd};

use super::interrupt::Watch;

/// How a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this status.
    Status(ExitStatus),
    /// By Ctrl-C or a termination signal.
    Interrupted,
}

impl Ended {
    /// Whether it ended by itself and says that all went well.
    pub fn success(self) -> bool {
        matches!(self, Self::Status(status) if status.success())
    }
}

/// What an interrupt ends.
pub(super) enum Target {
    /// The program and its children, which form a process group of their own.
    Group,
    /// The container `name`, by the engine `program`; then the program itself.
    Container { program: PathBuf, name: String },
}

/// Runs `command` as [`run`] does; an interrupt ends it and its children.
pub(super) fn stream(command: Command, sink: &mut dyn FnMut(&str) -> Result<()>) -> Result<Ended> {
    run(command, Stdio::null(), &Target::Group, sink)
}

/// Runs `command` for at most `limit`. Both its outputs go line by line to `sink`; Ctrl-C ends it and its children.
///
/// # Errors
/// It was still running then; it and its children have been ended.
pub fn limited(
    command: Command,
    limit: Duration,
    sink: &mut dyn FnMut(&str) -> Result<()>,
) -> Result<Ended> {
    let what = command.get_program().to_string_lossy().into_owned();
    let end = Instant::now().checked_add(limit);
    let ended = run_until(command, Stdio::null(), &Target::Group, end, sink)?;
    if end.is_some_and(|end| Instant::now() >= end) && !ended.success() {
        bail!("{what} was ended after {} s", limit.as_secs());
    }
    Ok(ended)
}

/// Runs `command` with `input`. Both its outputs go line by line to `sink`, in the order of writing; bytes that are not
/// UTF-8 are replaced. An error of `sink` ends the program too.
pub(super) fn run(
    command: Command,
    input: Stdio,
    target: &Target,
    sink: &mut dyn FnMut(&str) -> Result<()>,
) -> Result<Ended> {
    run_until(command, input, target, None, sink)
}

/// [`run`] that ends the program at `end`.
fn run_until(
    mut command: Command,
    input: Stdio,
    target: &Target,
    end: Option<Instant>,
    sink: &mut dyn FnMut(&str) -> Result<()>,
) -> Result<Ended> {
    let what = command.get_program().to_string_lossy().into_owned();
    let (reader, writer) = std::io::pipe().context("making a pipe")?;
    let both = writer.try_clone().context("making a pipe")?;
    command.stdin(input).stdout(writer).stderr(both);
    own_group(&mut command);
    let watch = Watch::begin()?;
    let mut child = command
        .spawn()
        .with_context(|| format!("starting {what}"))?;
    // The pipe ends when the last writer is gone, so ours must not stay open.
    drop(command);
    let (done, broken) = (AtomicBool::new(false), AtomicBool::new(false));
    let id = child.id();
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| end_when_asked(&watch, target, id, end, &done, &broken));
        let outcome = lines(reader, sink);
        if outcome.is_err() {
            broken.store(true, Ordering::SeqCst);
            watch.wake();
        }
        let status = child.wait();
        done.store(true, Ordering::SeqCst);
        watch.wake();
        outcome.and(status.with_context(|| format!("waiting for {what}")))
    });
    if watch.count() > 0 {
        return Ok(Ended::Interrupted);
    }
    outcome.map(Ended::Status)
}

fn lines(reader: PipeReader, sink: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
    let mut reader = BufReader::new(reader);
    let mut line = Vec::new();
    loop {
        line.clear();
        if reader
            .read_until(b'\n', &mut line)
            .context("reading the output")?
            == 0
        {
            return Ok(());
        }
        sink(String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r']))?;
    }
}

/// Waits for interrupts until the program is done: the first asks it to end, the next one forces it. At `late` it is asked,
/// and a second later forced.
///
/// Asked again each second: a container that is only being made cannot be stopped yet.
fn end_when_asked(
    watch: &Watch,
    target: &Target,
    id: u32,
    late: Option<Instant>,
    done: &AtomicBool,
    broken: &AtomicBool,
) {
    let is_done = || done.load(Ordering::SeqCst);
    let is_broken = || broken.load(Ordering::SeqCst);
    let left = || {
        late.map_or(Duration::MAX, |at| {
            at.saturating_duration_since(Instant::now())
        })
    };
    let mut asked = 0;
    let mut helpers = Vec::new();
    while !is_done() {
        let limit = if asked == 0 {
            left()
        } else {
            Duration::from_secs(1)
        };
        let count = watch.wait(asked, limit, || is_done() || (asked == 0 && is_broken()));
        let overdue = if left().is_zero() { asked + 1 } else { 0 };
        asked = count.max(usize::from(is_broken())).max(overdue);
        if asked > 0 && !is_done() {
            end(target, id, asked > 1, &mut helpers);
        }
    }
    for mut helper in helpers {
        if let Err(error) = helper.wait() {
            tracing::debug!("waiting for the engine: {error}");
        }
    }
}

/// `helpers` are calls of the engine that may still run: its `stop` waits for the container, and meanwhile a second
/// interrupt has to be heard.
fn end(target: &Target, id: u32, force: bool, helpers: &mut Vec<Child>) {
    let Target::Container { program, name } = target else {
        return signal_group(id, force);
    };
    if force {
        helpers.extend(call(program, &["kill", name]));
        signal_group(id, true);
    } else if helpers
        .iter_mut()
        .all(|helper| !matches!(helper.try_wait(), Ok(None)))
    {
        helpers.extend(call(program, &["stop", "-t", "5", name]));
    }
}

/// Starts the engine with these words, out of reach of the terminal's Ctrl-C.
fn call(program: &Path, words: &[&str]) -> Option<Child> {
    let started = Shell::new()
        .map_err(std::io::Error::other)
        .and_then(|shell| {
            let mut command: Command = cmd!(shell, "{program} {words...}").into();
            command
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            own_group(&mut command);
            command.spawn()
        });
    started
        .inspect_err(|error| tracing::debug!("running {}: {error}", program.display()))
        .ok()
}

#[cfg(unix)]
fn own_group(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    // Ctrl-C at a terminal goes to the whole foreground group; ours alone shall take it, and end the job in order.
    command.process_group(0);
}

#[cfg(unix)]
fn signal_group(id: u32, force: bool) {
    use rustix::process::{Pid, Signal, kill_process_group};
    let signal = if force { Signal::KILL } else { Signal::TERM };
    let group = i32::try_from(id).ok().and_then(Pid::from_raw);
    if let Some(Err(error)) = group.map(|group| kill_process_group(group, signal)) {
        tracing::debug!("ending process group {id}: {error}");
    }
}

#[cfg(windows)]
fn own_group(command: &mut Command) {
    use std::os::windows::process::CommandExt;
    const CREATE_NEW_PROCESS_GROUP: u32 = 0x0000_0200;
    command.creation_flags(CREATE_NEW_PROCESS_GROUP);
}

#[cfg(windows)]
fn signal_group(id: u32, _force: bool) {
    let id = id.to_string();
    let ended = Shell::new().and_then(|shell| {
        cmd!(shell, "taskkill /T /F /PID {id}")
            .quiet()
            .ignore_stdout()
            .ignore_stderr()
            .run()
    });
    if let Err(error) = ended {
        tracing::debug!("ending process {id}: {error}");
    }
}
