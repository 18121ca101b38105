//! What would stop an install half-way, asked before it begins.

use std::path::Path;

use anyhow::{Result, bail};

use super::archive::Archive;
use super::place::{Place, STAGING, STOCK};
use crate::arduino::Os;
use crate::exit::Refusal;
use crate::package::portable::WINDOWS_PATH;

/// What a file takes beyond its bytes: the rest of its last block, its entry in the folder.
const OVERHEAD: u64 = 4096;

/// The disk has room for the package, and Windows, where it is the reader, for the paths.
pub(super) fn check(place: &Place, archive: &Archive) -> Result<()> {
    let need = archive.size() + OVERHEAD * archive.entries.len() as u64;
    match fs4::available_space(&place.tools) {
        Ok(free) => room(&place.tools, need, free)?,
        Err(error) => tracing::debug!("free space of {}: {error}", place.tools.display()),
    }
    let Some(folder) = windows_form(&place.tools, Os::HERE) else {
        return Ok(());
    };
    let paths = archive.entries.iter().map(|entry| entry.path.as_str());
    if let Some((path, length)) = longest(&folder, place, &archive.suffix, paths)
        && length > WINDOWS_PATH
    {
        bail!(Refusal::Check(format!(
            "in {folder} the paths would be longer than Windows takes: {length} characters, {WINDOWS_PATH} are the most ({path}); \
             move the Arduino data folder to a shorter path"
        )));
    }
    Ok(())
}

fn room(folder: &Path, need: u64, free: u64) -> Result<()> {
    if free < need {
        let megabytes = |bytes: u64| bytes as f64 / 1e6;
        bail!(
            "not enough space in {}: {:.1} MB are free, and about {:.1} MB are needed; free some and try again. Nothing was \
             changed",
            folder.display(),
            megabytes(free),
            megabytes(need)
        );
    }
    Ok(())
}

/// The folder as Windows' own programs name it; `None` where they do not read it. Under WSL, `/mnt/c` is `C:\`.
fn windows_form(folder: &Path, os: Os) -> Option<String> {
    let text = folder.to_str()?;
    match os {
        Os::Windows => Some(text.strip_prefix(r"\\?\").unwrap_or(text).to_owned()),
        Os::MacOs => None,
        Os::Linux => {
            let rest = text.strip_prefix("/mnt/")?;
            let (drive, below) = rest.split_once('/')?;
            let letter = drive.len() == 1 && drive.bytes().all(|byte| byte.is_ascii_lowercase());
            letter.then(|| {
                format!(
                    "{}:\\{}",
                    drive.to_ascii_uppercase(),
                    below.replace('/', "\\")
                )
            })
        }
    }
}

/// The longest path that any file gets on its way: unpacked, active, kept or set aside. Windows counts UTF-16 units.
fn longest<'p>(
    folder: &str,
    place: &Place,
    suffix: &str,
    paths: impl Iterator<Item = &'p str>,
) -> Option<(&'p str, usize)> {
    let names = [STAGING.to_owned(), place.aside(STOCK), place.aside(suffix)];
    let name = names.iter().map(String::len).max().unwrap_or_default();
    let before = folder.encode_utf16().count() + 1 + name + 1;
    paths
        .map(|path| (path, before + path.encode_utf16().count()))
        .max_by_key(|(_, length)| *length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_little_space_is_told_with_figures() {
        let folder = Path::new("tools");
        room(folder, 10, 10).unwrap();
        let error = room(folder, 140_000_000, 3_000_000)
            .unwrap_err()
            .to_string();
        for word in [
            "tools",
            "3.0 MB are free",
            "140.0 MB are needed",
            "Nothing was changed",
        ] {
            assert!(error.contains(word), "{error}");
        }
    }

    #[test]
    fn a_folder_is_named_as_windows_names_it() {
        let form = |path: &str, os| windows_form(Path::new(path), os);
        let users = r"C:\Users\me\AppData\Local\Arduino15";
        assert_eq!(form(users, Os::Windows).unwrap(), users);
        assert_eq!(form(&format!(r"\\?\{users}"), Os::Windows).unwrap(), users);
        assert_eq!(
            form("/mnt/c/Users/me/AppData/Local/Arduino15", Os::Linux).unwrap(),
            users
        );
        for elsewhere in ["/home/me/.arduino15", "/mnt/disk/a", "/mnt/c", "/mnt/C/a"] {
            assert_eq!(form(elsewhere, Os::Linux), None, "{elsewhere}");
        }
        assert_eq!(form("/mnt/c/a", Os::MacOs), None);
    }

    #[test]
    fn the_longest_path_counts_the_longest_name() {
        let place = Place::in_data_dir(
            Path::new("d"),
            &"esp32s3".parse().unwrap(),
            &"3.3.12".parse().unwrap(),
        );
        let found = longest("C:\\é", &place, "xip-ecc", ["a", "bb/c"].into_iter());
        // Four units, a separator, 3.3.12.xip-ecc, a separator, four.
        assert_eq!(found, Some(("bb/c", 4 + 1 + 14 + 1 + 4)));
        let found = longest("C:", &place, "x", ["a"].into_iter());
        assert_eq!(found, Some(("a", 2 + 1 + 12 + 1 + 1)));
    }
}
