//! Renames that wait for a virus scanner.
//!
//! On Windows a scanner, an indexer or a language server may hold a file for a moment, and while it does, neither the file
//! nor a folder above it can be renamed. Elsewhere open files do not hinder a rename, so nothing is tried twice.

use std::io;
use std::path::Path;
use std::time::Duration;

/// The first wait; each further one is twice as long, up to [`LONGEST`].
const FIRST: Duration = Duration::from_millis(10);
/// The longest wait.
const LONGEST: Duration = Duration::from_millis(500);
/// Tries after the first one; all waits together are some 6 s.
const TRIES: u32 = 16;

/// What Windows answers while somebody holds what is to be renamed: ERROR_ACCESS_DENIED, ERROR_SHARING_VIOLATION,
/// ERROR_LOCK_VIOLATION.
const HELD: [i32; 3] = [5, 32, 33];

/// Renames `from` to `to`, again and again for some seconds where somebody holds it.
///
/// # Errors
/// The last try's.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    // The standard library's, whose errors keep the system's number.
    let attempt = || std::fs::rename(from, to);
    again(cfg!(windows), attempt, std::thread::sleep).map_err(|error| {
        let text = format!("renaming {} to {}: {error}", from.display(), to.display());
        io::Error::new(error.kind(), text)
    })
}

/// Tries, and waits in between as [`pause`] says.
fn again(
    windows: bool,
    mut attempt: impl FnMut() -> io::Result<()>,
    mut wait: impl FnMut(Duration),
) -> io::Result<()> {
    let mut failed = 0;
    loop {
        match attempt() {
            Err(error) => match pause(windows, failed, error.raw_os_error()) {
                Some(time) => wait(time),
                None => return Err(error),
            },
            Ok(()) => return Ok(()),
        }
        failed += 1;
    }
}

/// How long to wait after `failed` earlier tries and one that gave this error; `None` to give up.
fn pause(windows: bool, failed: u32, error: Option<i32>) -> Option<Duration> {
    let held = error.is_some_and(|number| HELD.contains(&number));
    (windows && held && failed < TRIES).then(|| {
        FIRST
            .saturating_mul(2_u32.saturating_pow(failed))
            .min(LONGEST)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use fs_err as fs;

    /// Renames that fail `times` with `number`; gives the outcome, the tries and the time waited.
    fn play(windows: bool, times: u32, number: i32) -> (io::Result<()>, u32, Duration) {
        let (mut tries, mut waited) = (0, Duration::ZERO);
        let outcome = again(
            windows,
            || {
                tries += 1;
                if tries > times {
                    Ok(())
                } else {
                    Err(io::Error::from_raw_os_error(number))
                }
            },
            |time| waited += time,
        );
        (outcome, tries, waited)
    }

    #[test]
    fn a_scanner_is_waited_for() {
        for number in HELD {
            let (outcome, tries, waited) = play(true, 2, number);
            outcome.unwrap();
            assert_eq!((tries, waited), (3, Duration::from_millis(30)));
        }
    }

    #[test]
    fn it_is_not_waited_for_ever() {
        let (outcome, tries, waited) = play(true, u32::MAX, 32);
        assert_eq!(outcome.unwrap_err().raw_os_error(), Some(32));
        assert_eq!(tries, TRIES + 1);
        assert!(
            waited > Duration::from_secs(4) && waited < Duration::from_secs(8),
            "{waited:?}"
        );
    }

    #[test]
    fn other_errors_and_other_systems_are_final() {
        // 2 is ERROR_FILE_NOT_FOUND; 5 is EIO on Linux.
        for (windows, number) in [(true, 2), (false, 5), (false, 32)] {
            let (outcome, tries, _) = play(windows, 1, number);
            assert!(outcome.is_err() && tries == 1);
        }
    }

    #[test]
    fn a_real_error_keeps_its_kind_and_names_both_paths() {
        let dir = tempfile::tempdir().unwrap();
        let error = rename(&dir.path().join("none"), &dir.path().join("there")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        let text = error.to_string();
        assert!(text.contains("none") && text.contains("there"), "{text}");
        let (old, new) = (dir.path().join("old"), dir.path().join("new"));
        fs::create_dir(&old).unwrap();
        rename(&old, &new).unwrap();
        assert!(new.is_dir() && !old.exists());
    }
}
