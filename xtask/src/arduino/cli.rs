//! The arduino-cli that is installed, asked for its configuration.

use std::io::{Read, Seek};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// `arduino-cli config dump` as JSON; `None` where no such program is on the search path.
///
/// # Errors
/// It does not end within `limit`, or fails.
pub(super) fn config_dump(limit: Duration) -> Result<Option<String>> {
    match which::which("arduino-cli") {
        Ok(program) => ask(&program, limit).map(Some),
        Err(_) => Ok(None),
    }
}

fn ask(program: &Path, limit: Duration) -> Result<String> {
    let shell = xshell::Shell::new()?;
    // `--format`, not `--json`: versions before 1.0 know it, too.
    let command = xshell::cmd!(shell, "{program} config dump --format json");
    let asking = format!("asking {command}");
    // A file, not a pipe: nothing has to be read while it is waited for.
    let mut answer = tempfile::tempfile().context("making a temporary file")?;
    let mut child = Command::from(command)
        .stdin(Stdio::null())
        .stdout(answer.try_clone()?)
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| asking.clone())?;
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().with_context(|| asking.clone())? {
            break status;
        }
        if started.elapsed() > limit {
            // It may have ended just now; then there is nothing left to end.
            let _ = child.kill();
            let _ = child.wait();
            bail!("{asking}: no answer within {} s", limit.as_secs_f32());
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    if !status.success() {
        bail!("{asking}: it ended with {status}");
    }
    let mut text = String::new();
    answer.rewind()?;
    answer
        .read_to_string(&mut text)
        .with_context(|| asking.clone())?;
    Ok(text)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn ask_script(script: &str, limit: Duration) -> Result<String> {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("arduino-cli");
        fs_err::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs_err::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        // Another thread that forks while the script is open for writing makes the kernel call it busy for a moment.
        loop {
            let answer = ask(&program, limit);
            let busy = |error: &anyhow::Error| format!("{error:#}").contains("Text file busy");
            if !answer.as_ref().is_err_and(busy) {
                return answer;
            }
        }
    }

    #[test]
    fn it_is_asked_once_and_not_waited_for_for_ever() {
        let long = Duration::from_secs(60);
        assert_eq!(
            ask_script("echo \"$@\"", long).unwrap(),
            "config dump --format json\n"
        );
        let error = ask_script("echo half; exit 3", long)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("arduino-cli config dump") && error.contains('3'),
            "{error}"
        );
        let begun = Instant::now();
        let error = ask_script("exec sleep 60", Duration::from_millis(50)).unwrap_err();
        assert!(error.to_string().contains("no answer within"), "{error}");
        assert!(begun.elapsed() < Duration::from_secs(30));
    }
}
