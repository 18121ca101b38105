//! Unpacks an official zip of libraries for `--stock ZIP`.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use fs_err as fs;

use crate::digest::sha256_file;
use crate::progress::{Event, Report};
use crate::workdir::WorkDir;

/// The file that tells a whole unpacked zip from a part of one.
const COMPLETE: &str = "complete";

/// Unpacks `zip` into the work folder, or finds it there from an earlier run, and returns the folder of its one root entry.
///
/// # Errors
/// No zip; more than one root entry; an entry that leads elsewhere, or is a link.
pub(super) fn unpack(zip: &Path, work: &WorkDir, report: Report<'_>) -> Result<PathBuf> {
    let context = || format!("reading {}", zip.display());
    let (_, digest) = sha256_file(zip).with_context(context)?;
    let folder = work.root().join("stock").join(&digest[..16]);
    if !folder.join(COMPLETE).is_file() {
        report(Event::Step("unpack the stock libraries"));
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        extract(zip, &folder.join("tree")).with_context(context)?;
        fs::write(folder.join(COMPLETE), "")?;
    }
    let mut roots = fs::read_dir(folder.join("tree"))?.collect::<io::Result<Vec<_>>>()?;
    match (roots.pop(), roots.is_empty()) {
        (Some(root), true) if root.path().is_dir() => Ok(root.path()),
        _ => bail!(
            "{} is no zip of libraries: its one root entry should be a folder",
            zip.display()
        ),
    }
}

fn extract(zip: &Path, to: &Path) -> Result<()> {
    let mut archive = zip::ZipArchive::new(fs::File::open(zip)?)?;
    fs::create_dir_all(to)?;
    for number in 0..archive.len() {
        let mut entry = archive.by_index(number)?;
        let name = entry.name()?.into_owned();
        let Some(path) = entry
            .enclosed_name()
            .filter(|_| entry.is_dir() || entry.is_file())
        else {
            bail!("the entry `{name}` is a link, or leads out of the zip's folder");
        };
        let path = to.join(path);
        if entry.is_dir() {
            fs::create_dir_all(&path)?;
            continue;
        }
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        let mut file = fs::File::create_new(&path)?;
        io::copy(&mut entry, &mut file).with_context(|| format!("the entry `{name}`"))?;
    }
    Ok(())
}
