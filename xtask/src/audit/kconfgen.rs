//! Upstream's own Kconfig evaluator, the Python package esp-idf-kconfig, in an environment of its own.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use fs_err as fs;
use xshell::{Shell, cmd};

use crate::engine::{self, Ended};
use crate::progress::{Event, Report};
use crate::workdir::WorkDir;

/// The version that is asked. ESP-IDF 5.5.5 was measured with it.
pub const VERSION: &str = "2.5.0";

/// What pip may install: this version, and no other bytes. kconfgen needs none of the package's dependencies.
const REQUIREMENTS: &str = "esp-idf-kconfig==2.5.0 \
    --hash=sha256:6edf859b7c4ec37066ebf841a2004e8df65e95e343d1ab30e1f624401e12c6f3\n";

/// Python that esp-idf-kconfig 2.5 needs.
const PYTHON: &str = "3.8";

/// What a Python must say to be one.
const ASK_VERSION: &str = "import sys; sys.exit(sys.version_info < (3, 8))";

const TO_START: Duration = Duration::from_secs(60);
const TO_MAKE: Duration = Duration::from_secs(120);
const TO_INSTALL: Duration = Duration::from_secs(180);
/// Eighteen evaluations of ESP-IDF 5.5.5 take three seconds.
const TO_EVALUATE: Duration = Duration::from_secs(300);

/// Lines of a program's own words that an error repeats.
const KEPT_LINES: usize = 12;

/// Ctrl-C, which ends the audit too and is no reason to go on by lines alone.
#[derive(Debug, thiserror::Error)]
#[error("interrupted")]
pub(super) struct Interrupted;

/// A Python that has kconfgen.
#[derive(Debug)]
pub(super) struct Kconfgen {
    python: PathBuf,
}

impl Kconfgen {
    /// The environment in the work folder's cache, made on first use.
    ///
    /// # Errors
    /// No Python, one without venv, no network: each says what to do.
    pub(super) fn ready(work: &WorkDir, offline: bool, report: Report<'_>) -> Result<Self> {
        let _lock = work.lock("kconfgen", || {
            report(Event::Note(
                "waiting for another run that sets up esp-idf-kconfig",
            ));
        })?;
        let folder = work.cache().join("kconfgen");
        let home = folder.join(VERSION);
        if let Some(known) = Self::in_folder(&home)? {
            return Ok(known);
        }
        if offline {
            bail!(
                "esp-idf-kconfig {VERSION} is not in the work folder yet, and --offline keeps it from being fetched; run once \
                 without"
            );
        }
        report(Event::Step("set up esp-idf-kconfig"));
        let python = system_python()?;
        fs::create_dir_all(&folder)?;
        // An environment of a Python that is gone, or one that was cut short.
        if home.exists() {
            fs::remove_dir_all(&home)?;
        }
        let part = folder.join(format!("{VERSION}.part"));
        make(&python, &part)?;
        install(&inside(&part), &folder)?;
        fs::rename(&part, &home)?;
        Self::in_folder(&home)?.with_context(|| {
            format!(
                "esp-idf-kconfig was installed in {} and does not start there",
                home.display()
            )
        })
    }

    fn in_folder(home: &Path) -> Result<Option<Self>> {
        let python = inside(home);
        let starts = python.exists() && runs(&python, "import kconfgen.core")?;
        Ok(starts.then_some(Self { python }))
    }

    /// Runs `script` with the path of its job.
    ///
    /// # Errors
    /// What the script ended with.
    pub(super) fn run(&self, script: &Path, job: &Path) -> Result<()> {
        let arguments = [text(script)?, text(job)?];
        match run(&self.python, &arguments, TO_EVALUATE)? {
            Ok(_) => Ok(()),
            Err(said) => bail!("kconfgen failed:\n{said}"),
        }
    }
}

/// The Python on the PATH.
fn system_python() -> Result<PathBuf> {
    for name in ["python3", "python"] {
        // Windows has stubs of these names that only lead to its shop.
        if let Ok(python) = which::which(name)
            && runs(&python, ASK_VERSION)?
        {
            return Ok(python);
        }
    }
    bail!("no Python {PYTHON} or later is on the PATH (python3, python); install one")
}

/// Whether this is a Python that runs `code` without a fault.
///
/// # Errors
/// Ctrl-C alone, which says nothing of the program.
fn runs(python: &Path, code: &str) -> Result<bool> {
    match run(python, &["-c", code], TO_START) {
        Ok(said) => Ok(said.is_ok()),
        Err(error) if error.is::<Interrupted>() => Err(error),
        Err(_) => Ok(false),
    }
}

fn make(python: &Path, to: &Path) -> Result<()> {
    match run(python, &["-m", "venv", "--clear", text(to)?], TO_MAKE)? {
        Ok(_) => Ok(()),
        Err(said) if said.contains("ensurepip") || said.contains("No module named venv") => {
            bail!(
                "{} cannot make virtual environments; install that part of Python (Debian: apt-get install python3-venv)",
                python.display()
            )
        }
        Err(said) => bail!("making a virtual environment failed:\n{said}"),
    }
}

fn install(python: &Path, folder: &Path) -> Result<()> {
    let requirements = folder.join("requirements.txt");
    fs::write(&requirements, REQUIREMENTS)?;
    let arguments = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-input",
        "--disable-pip-version-check",
        "--no-deps",
        "--only-binary=:all:",
        "--require-hashes",
        "--retries=1",
        "--timeout=15",
        "-r",
        text(&requirements)?,
    ];
    match run(python, &arguments, TO_INSTALL)? {
        Ok(_) => Ok(()),
        Err(said) => bail!(
            "pip could not install esp-idf-kconfig {VERSION}; it uses the package index that pip is set up for:\n{said}"
        ),
    }
}

/// The Python of a virtual environment.
fn inside(home: &Path) -> PathBuf {
    if cfg!(windows) {
        home.join("Scripts").join("python.exe")
    } else {
        home.join("bin").join("python")
    }
}

fn text(path: &Path) -> Result<&str> {
    path.to_str()
        .with_context(|| format!("the path {} is not UTF-8", path.display()))
}

/// Runs Python apart from the user's own settings of it. Gives its last words; those of a failure as the inner error.
fn run(python: &Path, arguments: &[&str], limit: Duration) -> Result<Result<String, String>> {
    let sh = Shell::new()?;
    let mut command: Command = cmd!(sh, "{python} -I -X utf8 {arguments...}").into();
    command.env("LC_ALL", "C.UTF-8");
    let mut lines: Vec<String> = Vec::new();
    let ended = engine::limited(command, limit, &mut |line| {
        if lines.len() == KEPT_LINES {
            lines.remove(0);
        }
        lines.push(line.to_owned());
        Ok(())
    })?;
    if let Ended::Interrupted = ended {
        bail!(Interrupted);
    }
    let said = lines.join("\n");
    Ok(if ended.success() { Ok(said) } else { Err(said) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stand-in for Python that says `words` and ends with `status`.
    #[cfg(unix)]
    fn python(dir: &Path, script: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = dir.join("python");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[cfg(unix)]
    #[test]
    fn what_to_do_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let no_venv = python(dir.path(), "echo 'ensurepip is not available'; exit 1");
        let error = make(&no_venv, &dir.path().join("x")).unwrap_err();
        assert!(error.to_string().contains("python3-venv"), "{error}");
        let no_network = python(dir.path(), "echo 'ERROR: no connection' >&2; exit 1");
        let error = install(&no_network, dir.path()).unwrap_err().to_string();
        assert!(
            error.contains("package index") && error.contains("no connection"),
            "{error}"
        );
    }

    #[cfg(unix)]
    #[test]
    fn what_hangs_is_ended() {
        let dir = tempfile::tempdir().unwrap();
        let slow = python(dir.path(), "trap '' TERM; sleep 60");
        let begun = std::time::Instant::now();
        let error = run(&slow, &[], Duration::from_millis(200)).unwrap_err();
        assert!(error.to_string().contains("was ended after"), "{error}");
        assert!(begun.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn without_network_nothing_is_tried() {
        let dir = tempfile::tempdir().unwrap();
        let work = WorkDir::open(dir.path()).unwrap();
        let error = Kconfgen::ready(&work, true, &|_| {}).unwrap_err();
        assert!(error.to_string().contains("--offline"), "{error}");
        assert!(!work.cache().exists());
    }
}
