//! A build's log: the whole of it in a file, the end of it and the likeliest cause of a failure at hand.

use std::collections::VecDeque;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use anyhow::{Result, anyhow};
use fs_err as fs;

use super::cause::{Cause, Causes};
use crate::engine::Ended;

/// Lines that the message of a failure repeats.
const LAST: usize = 20;

/// The log.
pub(super) struct Transcript {
    path: PathBuf,
    file: fs::File,
    last: VecDeque<String>,
    causes: Causes,
}

impl Transcript {
    /// Begins `<time>-<chip>.log` in `folder`; the time is UTC. A second one within the second gets a number.
    pub(super) fn begin(folder: &Path, chip: &str) -> Result<Self> {
        fs::create_dir_all(folder)?;
        let time = jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S").to_string();
        let mut number = 1;
        loop {
            let name = match number {
                1 => format!("{time}-{chip}.log"),
                _ => format!("{time}-{chip}-{number}.log"),
            };
            let path = folder.join(name);
            match fs::File::create_new(&path) {
                Ok(file) => {
                    return Ok(Self {
                        path,
                        file,
                        last: VecDeque::new(),
                        causes: Causes::default(),
                    });
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Takes a line; it is in the file when this returns.
    pub(super) fn line(&mut self, line: &str) -> Result<()> {
        self.file.write_all(format!("{line}\n").as_bytes())?;
        self.causes.line(line);
        if !line.trim().is_empty() {
            self.last.push_back(line.to_owned());
        }
        if self.last.len() > LAST {
            self.last.pop_front();
        }
        Ok(())
    }

    /// The error for a job that did not end well while it was at `title`.
    pub(super) fn failure(&self, ended: Ended, title: &str) -> anyhow::Error {
        let log = self.path.display();
        match ended {
            Ended::Interrupted => anyhow!(
                "interrupted in `{title}`; what is in the caches stays usable, run the same command again to go on (log: {log})"
            ),
            Ended::Status(status) => {
                let cause = self.causes.cause().or_else(|| killed(status));
                let last: Vec<&str> = self.last.iter().map(String::as_str).collect();
                anyhow!(
                    "{}\n  whole log: {log}",
                    message(title, &status.to_string(), &last, cause.as_ref())
                )
            }
        }
    }
}

/// The cause where the job, or a program that its shell ran (status 137), was killed and nothing in the log says why.
fn killed(status: ExitStatus) -> Option<Cause> {
    #[cfg(unix)]
    let by_signal = std::os::unix::process::ExitStatusExt::signal(&status) == Some(9);
    #[cfg(not(unix))]
    let by_signal = false;
    (by_signal || status.code() == Some(137)).then(|| Cause {
        what: "it was killed, most likely because memory ran out".to_owned(),
        advice: "close other programs, or give the engine's virtual machine more memory",
        line: String::new(),
    })
}

fn message(title: &str, status: &str, last: &[&str], cause: Option<&Cause>) -> String {
    let mut text = format!("upstream's build failed ({status}) in `{title}`; its last lines:\n");
    for line in last {
        text += &format!("    {line}\n");
    }
    match cause {
        None => text += "  cause: not recognised",
        Some(cause) => {
            text += &format!("  cause: {}", cause.what);
            // Said only where it is not among the last lines anyway.
            if !cause.line.is_empty() && !last.iter().any(|line| line.trim() == cause.line) {
                text += &format!(" ({})", cause.line);
            }
            text += &format!("\n  next: {}", cause.advice);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_logs_of_one_second_are_two_files_and_lines_are_there_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let mut first = Transcript::begin(dir.path(), "esp32s3").unwrap();
        let second = Transcript::begin(dir.path(), "esp32s3").unwrap();
        assert_ne!(first.path(), second.path());
        first.line("one").unwrap();
        assert_eq!(fs::read_to_string(first.path()).unwrap(), "one\n");
    }

    #[test]
    fn a_failure_shows_the_last_lines_the_cause_and_what_to_do() {
        let cause = Cause {
            what: "a program is missing: jq".into(),
            advice: "install it",
            line: "./build.sh: line 9: jq: command not found".into(),
        };
        let text = message("build 2 of 9", "exit status: 1", &["a", "b"], Some(&cause));
        assert_eq!(
            text,
            "upstream's build failed (exit status: 1) in `build 2 of 9`; its last lines:\n    a\n    b\n  \
             cause: a program is missing: jq (./build.sh: line 9: jq: command not found)\n  next: install it"
        );
        assert!(message("x", "y", &[], None).contains("not recognised"));
    }

    #[cfg(unix)]
    #[test]
    fn a_job_or_a_program_of_it_that_was_killed_ran_out_of_memory() {
        use std::os::unix::process::ExitStatusExt;
        // As wait(2) gives them: a signal in the low byte, an exit status in the next.
        for raw in [9, 137 << 8] {
            assert!(
                killed(ExitStatus::from_raw(raw))
                    .unwrap()
                    .what
                    .contains("memory")
            );
        }
        assert!(
            [15, 1 << 8]
                .iter()
                .all(|raw| killed(ExitStatus::from_raw(*raw)).is_none())
        );
    }
}
