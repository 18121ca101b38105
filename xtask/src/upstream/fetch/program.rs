//! The git program, which never asks and never changes the user's configuration.

use std::collections::VecDeque;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, anyhow, bail};
use git2::{Oid, Repository};
use xshell::{Shell, cmd};

use super::super::address::{Address, without_password};
use super::libgit::peel;
use super::{Advertised, Brought, Fetcher, Reach, Want, progress, tag_ref};
use crate::progress::{Event, Report};

/// Depth that git takes for a whole history, also in a repository that has it already.
const WHOLE: u32 = 0x7fff_ffff;

/// Lines of git's own words that an error repeats.
const KEPT_LINES: usize = 6;

/// The git program on the PATH.
#[derive(Debug)]
pub(in crate::upstream) struct GitProgram(PathBuf);

impl GitProgram {
    /// Looks for it, and whether it runs: a Mac without developer tools has one that only says how to get them.
    pub(in crate::upstream) fn find() -> Option<Self> {
        let program = which::which("git").ok()?;
        let sh = Shell::new().ok()?;
        let version = cmd!(sh, "{program} --version")
            .quiet()
            .ignore_stderr()
            .read()
            .ok()?;
        version.starts_with("git version").then_some(Self(program))
    }

    /// git on the bare repository `git_dir`, with the settings that keep it quiet and out of the user's files.
    ///
    /// The user's configuration is read (proxies, credential helpers, `url.*.insteadOf`), and written by nothing here.
    pub(super) fn command(&self, git_dir: &Path, arguments: &[&str]) -> Result<Command> {
        let sh = Shell::new()?;
        let program = &self.0;
        let mut command: Command = cmd!(
            sh,
            "{program} --git-dir {git_dir} -c core.hooksPath=/dev/null {arguments...}"
        )
        .into();
        // A git hook that runs this tool sets these, and they would lead git into the user's own repository.
        for name in [
            "GIT_DIR",
            "GIT_WORK_TREE",
            "GIT_INDEX_FILE",
            "GIT_OBJECT_DIRECTORY",
            "GIT_ALTERNATE_OBJECT_DIRECTORIES",
            "GIT_COMMON_DIR",
            "GIT_NAMESPACE",
            "GIT_SHALLOW_FILE",
            "GIT_CONFIG",
        ] {
            command.env_remove(name);
        }
        command
            .env("LC_ALL", "C")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_ASKPASS", "")
            .env("SSH_ASKPASS_REQUIRE", "never")
            .env("GCM_INTERACTIVE", "never")
            .env("GIT_ALLOW_PROTOCOL", "http:https:ssh:git:file")
            .stdin(Stdio::null());
        if let Some(ssh) = batch_ssh(
            std::env::var("GIT_SSH_COMMAND").ok(),
            std::env::var_os("GIT_SSH").is_some(),
        ) {
            command.env("GIT_SSH_COMMAND", ssh);
        }
        Ok(command)
    }

    /// `git fetch` with progress told to `report`; `Err` holds git's last words where it said no.
    pub(super) fn fetch(
        &self,
        git_dir: &Path,
        url: &str,
        options: &[&str],
        specs: &[String],
        report: Report<'_>,
    ) -> Result<Result<(), String>> {
        let mut arguments = vec![
            "-c",
            "gc.auto=0",
            "-c",
            "maintenance.auto=false",
            "-c",
            "fetch.writeCommitGraph=false",
            "-c",
            "fetch.fsckObjects=false",
            // One pack a fetch, never a crowd of files.
            "-c",
            "fetch.unpackLimit=1",
            // A server that stops sending must not hold the build up for ever.
            "-c",
            "http.lowSpeedLimit=1",
            "-c",
            "http.lowSpeedTime=300",
            "fetch",
            "--progress",
            "--no-tags",
            "--no-recurse-submodules",
        ];
        arguments.extend(options);
        arguments.push(url);
        arguments.extend(specs.iter().map(String::as_str));
        let mut command = self.command(git_dir, &arguments)?;
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().context("starting git fetch")?;
        let mut words = VecDeque::new();
        if let Some(stderr) = child.stderr.take() {
            lines(BufReader::new(stderr), |line| match progress::parse(line) {
                Some(state) => tell(&state, report),
                None => {
                    words.push_back(line.trim_end().to_owned());
                    if words.len() > KEPT_LINES {
                        words.pop_front();
                    }
                }
            })?;
        }
        let status = child.wait()?;
        if status.success() {
            return Ok(Ok(()));
        }
        let words: Vec<_> = words.into_iter().filter(|line| !line.is_empty()).collect();
        let words = words.join("; ").replace(url, &without_password(url));
        Ok(Err(format!("{words}{}", hint(&words))))
    }
}

impl Fetcher for GitProgram {
    fn advertised(&self, from: &Address) -> Result<Vec<Advertised>> {
        let url = server(from)?;
        // Outside any repository: the current folder's own configuration must not count.
        let nowhere = tempfile::tempdir()?;
        let output = self
            .command(nowhere.path(), &["ls-remote", "--heads", "--tags", url])?
            .output()
            .context("starting git ls-remote")?;
        if !output.status.success() {
            let words = String::from_utf8_lossy(&output.stderr)
                .trim()
                .replace('\n', "; ");
            let words = words.replace(url, &without_password(url));
            bail!(
                "asking {from} for its branches and tags: {words}{}",
                hint(&words)
            );
        }
        let mut list = Vec::new();
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let (id, name) = line
                .split_once('\t')
                .with_context(|| format!("git ls-remote {from} wrote `{line}`"))?;
            let oid = Oid::from_str(id)
                .with_context(|| format!("git ls-remote {from} wrote `{line}`"))?;
            list.push((name.to_owned(), oid));
        }
        Ok(peel(list.into_iter()))
    }

    fn bring(
        &self,
        from: &Address,
        want: &Want<'_>,
        into: &Repository,
        report: Report<'_>,
    ) -> Result<Brought> {
        let url = server(from)?;
        let mut specs = vec![want.commit.to_string()];
        specs.extend(
            want.tags
                .iter()
                .map(|tag| format!("+refs/tags/{tag}:{}", tag_ref(want.commit, tag))),
        );
        match self.fetch(into.path(), url, &["--depth=1"], &specs, report)? {
            Ok(()) => Ok(Brought::Commit),
            Err(words) if refuses_ids(&words) => Ok(Brought::Refused(words)),
            Err(words) => Err(anyhow!("fetching {} from {from}: {words}", want.commit)),
        }
    }

    fn has_bare_history(&self, _from: &Address) -> bool {
        true
    }

    fn history(
        &self,
        from: &Address,
        reach: &Reach,
        content: bool,
        scratch: Repository,
        report: Report<'_>,
    ) -> Result<Repository> {
        let url = server(from)?;
        let (depth, specs) = match reach {
            Reach::Branch { name, depth } => (
                depth.unwrap_or(WHOLE),
                vec![format!("+refs/heads/{name}:refs/heads/{name}")],
            ),
            Reach::Everything => (
                WHOLE,
                vec![
                    "+refs/heads/*:refs/heads/*".to_owned(),
                    "+refs/tags/*:refs/tags/*".to_owned(),
                ],
            ),
        };
        let depth = format!("--depth={depth}");
        let mut options = vec![depth.as_str(), "--prune"];
        if !content {
            options.push("--filter=tree:0");
        }
        let outcome = self.fetch(scratch.path(), url, &options, &specs, report)?;
        forget_origin(&scratch)?;
        if let Err(words) = outcome {
            bail!("fetching the history of {from}: {words}");
        }
        Ok(scratch)
    }
}

/// Takes out what git noted about the server that it left content out from: the address may hold a password, and
/// libgit2 refuses the repository for the extension that older versions of git note. The next fetch notes it anew.
fn forget_origin(scratch: &Repository) -> Result<()> {
    let plain = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n";
    super::super::write(&scratch.path().join("config"), plain.as_bytes())
}

fn server(from: &Address) -> Result<&str> {
    match from {
        Address::Server { url, .. } => Ok(url),
        Address::Folder(folder) => bail!(
            "{} is a folder, which libgit2 reads itself",
            folder.display()
        ),
    }
}

/// Whether a server's words mean that it gives no commits by id (or does not have this one).
pub(super) fn refuses_ids(words: &str) -> bool {
    [
        "not our ref",
        "unadvertised object",
        "does not allow request for",
        "no such remote ref",
        "couldn't find remote ref",
    ]
    .iter()
    .any(|sign| words.contains(sign))
}

/// What to do about causes that git words for somebody who is sitting at a prompt.
fn hint(words: &str) -> &'static str {
    if words.contains("terminal prompts disabled") || words.contains("Authentication failed") {
        " (the repository does not exist, or it asks for credentials: set up a git credential helper, or name another source with --mirror FROM=TO)"
    } else if words.contains("Permission denied (publickey")
        || words.contains("Host key verification failed")
    {
        " (ssh may not ask here: load the key into ssh-agent and connect once by hand)"
    } else if words.contains("Could not resolve host") || words.contains("Failed to connect") {
        " (is there a network, or a proxy to set in git's http.proxy?)"
    } else {
        ""
    }
}

fn tell(state: &progress::Progress<'_>, report: Report<'_>) {
    report(Event::Count {
        done: state.done,
        total: state.total,
        unit: "objects",
    });
    report(Event::Detail(if state.amount.is_empty() {
        state.phase
    } else {
        state.amount
    }));
}

/// Calls `each` with every line; git ends a line that it will overwrite with a carriage return.
fn lines(mut from: impl Read, mut each: impl FnMut(&str)) -> Result<()> {
    let (mut buffer, mut line) = ([0; 4096], Vec::new());
    loop {
        let count = match from.read(&mut buffer) {
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error).context("reading what git says"),
        };
        for &byte in &buffer[..count] {
            if matches!(byte, b'\r' | b'\n') {
                each(&String::from_utf8_lossy(&line));
                line.clear();
            } else {
                line.push(byte);
            }
        }
        if count == 0 {
            each(&String::from_utf8_lossy(&line));
            return Ok(());
        }
    }
}

/// The ssh command that never asks, made from the user's own; `None` leaves the user's as it is.
///
/// Only OpenSSH takes the options; another program (plink, a wrapper, `GIT_SSH`) is the user's choice and kept.
fn batch_ssh(from_env: Option<String>, has_git_ssh: bool) -> Option<String> {
    let configured = || {
        git2::Config::open_default()
            .ok()?
            .get_string("core.sshCommand")
            .ok()
    };
    let command = match from_env.or_else(configured) {
        Some(command) => command,
        None if has_git_ssh => return None,
        None => "ssh".to_owned(),
    };
    batch_mode(&command)
}

fn batch_mode(command: &str) -> Option<String> {
    let program = command.split_whitespace().next()?.trim_matches(['"', '\'']);
    let name = program.rsplit(['/', '\\']).next()?;
    let openssh = name == "ssh" || name.eq_ignore_ascii_case("ssh.exe");
    openssh.then(|| format!("{command} -oBatchMode=yes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ssh_never_asks_and_keeps_the_users_options() {
        let batch = |env: Option<&str>, git_ssh| batch_ssh(env.map(str::to_owned), git_ssh);
        assert_eq!(
            batch(Some("ssh -i ~/.ssh/work -F none"), false).as_deref(),
            Some("ssh -i ~/.ssh/work -F none -oBatchMode=yes")
        );
        assert_eq!(
            batch_mode(r"C:\Windows\System32\OpenSSH\ssh.exe").as_deref(),
            Some(r"C:\Windows\System32\OpenSSH\ssh.exe -oBatchMode=yes")
        );
        assert_eq!(batch(Some("plink -P 22"), false), None);
        assert_eq!(batch_mode("/opt/my-ssh"), None);
    }

    #[test]
    fn lines_end_at_either_sign_and_across_reads() {
        struct Slow<'a>(&'a [u8]);
        impl Read for Slow<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
                let count = self.0.len().min(3);
                buffer[..count].copy_from_slice(&self.0[..count]);
                self.0 = &self.0[count..];
                Ok(count)
            }
        }
        let mut read = Vec::new();
        lines(Slow(b"one: 1%\rtwo\nthree"), |line| {
            read.push(line.to_owned())
        })
        .unwrap();
        assert_eq!(read, ["one: 1%", "two", "three"]);
    }
}
