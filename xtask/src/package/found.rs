//! Packages that are there already.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use fs_err as fs;

use crate::libs::manifest::{self, Manifest};
use crate::names::{Chip, CoreVersion};

/// The package in `out` that was written last, of those for this chip and core; `None` where there is none.
///
/// # Errors
/// The folder is there and cannot be read.
pub fn newest(out: &Path, chip: &Chip, core: &CoreVersion) -> Result<Option<PathBuf>> {
    if !out.is_dir() {
        return Ok(None);
    }
    let prefix = format!("{}-{core}-", chip.tool_name());
    let mut found = Vec::new();
    for entry in fs::read_dir(out)? {
        let entry = entry?;
        let name = entry.file_name();
        let ours = name
            .to_str()
            .is_some_and(|name| name.starts_with(&prefix) && name.ends_with(".zip"));
        if ours && entry.file_type()?.is_file() {
            // Two of the same time: the order of names decides, not that of the folder.
            found.push((entry.metadata()?.modified()?, entry.path()));
        }
    }
    Ok(found.into_iter().max().map(|(_, path)| path))
}

/// The manifest in a package; `None` where it has none.
///
/// # Errors
/// What is no whole zip, or holds a manifest that this version cannot read.
pub fn manifest_of(zip: &Path) -> Result<Option<Manifest>> {
    let file = fs::File::open(zip)?;
    let reading = || format!("reading {}", zip.display());
    let mut archive = zip::ZipArchive::new(file).with_context(reading)?;
    let wanted = format!("/{}", manifest::FILE_NAME);
    let name = archive
        .file_names()
        .filter_map(Result::ok)
        .find(|name| name.matches('/').count() == 1 && name.ends_with(&wanted))
        .map(String::from);
    let Some(name) = name else {
        return Ok(None);
    };
    let mut text = String::new();
    archive
        .by_name(&name)
        .map_err(anyhow::Error::from)
        .and_then(|mut entry| Ok(entry.read_to_string(&mut text)?))
        .with_context(reading)?;
    Manifest::from_json(&text).map(Some).with_context(reading)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, SystemTime};

    #[test]
    fn the_newest_of_the_right_name_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let (chip, core) = ("esp32s3".parse().unwrap(), "3.3.12".parse().unwrap());
        let newest = || {
            let found = newest(dir.path(), &chip, &core).unwrap()?;
            Some(found.file_name()?.to_str()?.to_owned())
        };
        assert_eq!(newest(), None);
        let begun = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        for (age, name) in [
            (9, "esp32s3-libs-3.3.12-xip-ecc.zip"),
            (5, "esp32s3-libs-3.3.12-other.zip"),
            (7, "esp32s3-libs-3.3.12-older.zip"),
            (0, "esp32s3-libs-3.3.11-xip-ecc.zip"),
            (0, "esp32c3-libs-3.3.12-xip-ecc.zip"),
            (0, "esp32s3-libs-3.3.12-xip-ecc.json"),
            (0, ".esp32s3-libs-3.3.12-xip-ecc.zip.42-0.part"),
        ] {
            let file = fs::File::create(dir.path().join(name)).unwrap();
            let time = begun - Duration::from_secs(age);
            file.file().set_modified(time).unwrap();
        }
        fs::create_dir(dir.path().join("esp32s3-libs-3.3.12-folder.zip")).unwrap();
        assert_eq!(newest().unwrap(), "esp32s3-libs-3.3.12-other.zip");
    }

    #[test]
    fn what_is_no_zip_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("p.zip");
        fs::write(&path, "no zip").unwrap();
        let error = format!("{:#}", manifest_of(&path).unwrap_err());
        assert!(error.contains("p.zip"), "{error}");
    }
}
