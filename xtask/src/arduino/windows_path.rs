//! Paths of Windows seen from Linux inside it (WSL), and the other way round.

use std::path::{Path, PathBuf};

use super::surroundings::{Os, Surroundings};

/// A path that this system understands in place of `path`, or why there is none.
///
/// On WSL `C:\Users\Ann` becomes `/mnt/c/Users/Ann` where that is a folder; every other path of another system is an error
/// that names the form wanted. A path of this system's own comes back as it is.
///
/// # Errors
/// The text of the refusal.
pub(super) fn understood(path: &Path, surroundings: &Surroundings<'_>) -> Result<PathBuf, String> {
    let Some(text) = path.to_str() else {
        return Ok(path.to_owned());
    };
    match surroundings.os {
        Os::Windows => match to_windows(text) {
            Some(windows) => Err(format!(
                "{text} is a path of Linux inside Windows; here it is called {windows}"
            )),
            None => Ok(path.to_owned()),
        },
        Os::Linux | Os::MacOs => {
            let Some(mounted) = to_mounted(text) else {
                return Ok(path.to_owned());
            };
            if !surroundings.is_wsl() {
                Err(format!(
                    "{text} is a path of Windows, and this is not Windows"
                ))
            } else if surroundings.machine.is_dir(Path::new(&mounted)) {
                Ok(mounted.into())
            } else {
                Err(format!(
                    "{text} is a path of Windows; from Linux inside it the folder would be {mounted}, which is not there"
                ))
            }
        }
    }
}

/// `C:\Users\Ann` as `/mnt/c/Users/Ann`; `None` for what does not begin with a drive.
fn to_mounted(text: &str) -> Option<String> {
    let mut chars = text.chars();
    let drive = chars.next().filter(char::is_ascii_alphabetic)?;
    let rest = chars.as_str().strip_prefix(':')?;
    if !rest.is_empty() && !rest.starts_with(['\\', '/']) {
        return None;
    }
    let drive = drive.to_ascii_lowercase();
    Some(format!("/mnt/{drive}{}", rest.replace('\\', "/")))
}

/// `/mnt/c/Users/Ann` as `C:\Users\Ann`; `None` for what does not begin so.
fn to_windows(text: &str) -> Option<String> {
    let (drive, rest) = match text.strip_prefix("/mnt/")?.split_once('/') {
        Some((drive, rest)) => (drive, rest),
        None => (text.strip_prefix("/mnt/")?, ""),
    };
    let single = drive.len() == 1 && drive.chars().all(|letter| letter.is_ascii_alphabetic());
    single.then(|| {
        format!(
            "{}:\\{}",
            drive.to_ascii_uppercase(),
            rest.replace('/', "\\")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn drives_are_translated_and_nothing_else() {
        for (windows, mounted) in [
            ("C:\\Users\\Ann B", "/mnt/c/Users/Ann B"),
            ("d:/x", "/mnt/d/x"),
            ("C:\\", "/mnt/c/"),
        ] {
            assert_eq!(to_mounted(windows).as_deref(), Some(mounted));
        }
        for other in [
            "/home/ann",
            "C",
            "C:x",
            "CC:\\x",
            "\\\\server\\share",
            "",
            "é:\\x",
        ] {
            assert_eq!(to_mounted(other), None, "{other}");
        }
        assert_eq!(to_windows("/mnt/c").as_deref(), Some("C:\\"));
        for other in ["/mnt", "/mnt/", "/mnt/data/x", "/home/mnt/c", "C:\\x"] {
            assert_eq!(to_windows(other), None, "{other}");
        }
    }

    proptest! {
        #[test]
        fn a_translated_path_comes_back(drive in "[A-Z]", parts in prop::collection::vec("[^/\\\\\u{0}]{1,12}", 0..5)) {
            let windows = format!("{drive}:\\{}", parts.join("\\"));
            let mounted = to_mounted(&windows).unwrap();
            prop_assert_eq!(to_windows(&mounted), Some(windows));
        }
    }
}
