//! No container: the job runs on this machine, with nothing of the caller's environment but what a build cannot do without.

use std::ffi::{OsStr, OsString};
use std::io::Write;

use anyhow::{Context, Result, bail};
use xshell::{Shell, cmd};

use super::command::Job;
use super::run::{Ended, Target, run};

/// Variables that a job on the host keeps besides its own. All others go: `IDF_PATH`, `CFLAGS`, `GITHUB_TOKEN` and their
/// like would change what is built, or where upstream's scripts fetch from.
const KEPT: [&str; 8] = [
    "PATH",
    "USER",
    "LOGNAME",
    "TMPDIR",
    "TERM",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
];

/// Runs its arguments without input, and ends their whole process group when its own input ends without a line: the
/// run that started it was killed, and what goes on writing would spoil the next run's work tree.
const WATCHED: &str = "\
exec 3<&0 </dev/null
(read -r _ <&3 || kill -KILL 0) >/dev/null 2>&1 &
exec 3<&-
exec \"$@\"";

/// This machine, with a Unix shell.
#[derive(Debug)]
pub struct Host {
    path: OsString,
}

impl Host {
    pub(super) fn find(path: Option<OsString>) -> Result<Self> {
        let path = path.unwrap_or_default();
        if which::which_in("sh", Some(&path), "").is_err() {
            bail!(
                "`--engine host` needs a Unix shell, and no `sh` is on the PATH; use `--engine docker` or `--engine podman`"
            );
        }
        Ok(Self { path })
    }

    pub(super) fn run(
        &self,
        job: &Job<'_>,
        sink: &mut dyn FnMut(&str) -> Result<()>,
    ) -> Result<Ended> {
        let Some((program, arguments)) = job.command.split_first() else {
            bail!("the job `{}` has no command", job.name);
        };
        let program = which::which_in(program, Some(&self.path), &job.folder)
            .with_context(|| format!("finding `{program}` on the PATH"))?;
        let shell = Shell::new()?;
        let sh = which::which_in("sh", Some(&self.path), &job.folder)
            .context("finding `sh` on the PATH")?;
        let mut command: std::process::Command =
            cmd!(shell, "{sh} -c {WATCHED} sh {program} {arguments...}").into();
        command.current_dir(&job.folder).env_clear();
        for name in KEPT
            .iter()
            .copied()
            .chain(job.passed.iter().map(String::as_str))
        {
            if let Some(value) = self.value(name) {
                command.env(name, value);
            }
        }
        command.envs(job.env.iter().map(|(key, value)| (key, value)));
        let (input, mut alive) = std::io::pipe().context("making a pipe")?;
        let ended = run(command, input.into(), &Target::Group, sink);
        if let Err(error) = alive.write_all(b"\n") {
            tracing::debug!("nobody waits for the end of `{}`: {error}", job.name);
        }
        ended
    }

    fn value(&self, name: &str) -> Option<OsString> {
        if name == "PATH" {
            return Some(self.path.clone());
        }
        std::env::var_os(OsStr::new(name))
    }
}
