//! Stage 5: can anyone rebuild these very bytes?
//!
//! A package is three files in the output folder:
//!
//! | file | content |
//! | --- | --- |
//! | `<chip>-libs-<core>-<suffix>.zip` | the tree below one folder `<core>/`, with `libs-manifest.json` in it |
//! | the same with `.zip.sha256` | the zip's SHA-256 in the format of `sha256sum` |
//! | the same with `.json` in place of `.zip` | the manifest again, to read without unpacking |
//!
//! The bytes depend on names and content alone: entries in byte order, 1980-01-01, modes by name, no folder entries
//! (every unpacker makes the folders itself; arduino-cli's `findPackageRoot` looks at what was unpacked), one deflate
//! encoder at a fixed level. Only plain files with names that every system holds are taken.

mod archive;
mod compress;
mod fill;
mod found;
mod listing;
mod ordered;
pub(crate) mod portable;
mod publish;

use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use fs_err as fs;
use serde::Serialize;

use crate::build::BuiltLibs;
use crate::exit::Refusal;
use crate::libs::files::TreeFile;
use crate::libs::manifest::{self, Manifest, PatchSetRecord};
use crate::names::{Chip, CoreVersion};
use crate::progress::{Event, Report};
use archive::Archive;
use fill::Fill;
pub use found::{manifest_of, newest};
use publish::{Disk, Publication, RealDisk};

/// A finished package.
#[derive(Debug, Serialize)]
pub struct Package {
    /// `esp32s3-libs-<core>-<suffix>.zip`.
    pub zip: PathBuf,
    /// Its SHA-256, lower-case hex; also in the `.sha256` file beside it.
    pub sha256: String,
    /// Size of the zip in bytes.
    pub size: u64,
    /// The manifest, also inside the zip and in the `.json` file beside it.
    pub manifest: Manifest,
}

/// How much time compressing may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Effort {
    /// For work: libdeflate's level 6.
    #[default]
    Fast,
    /// For releases: level 11, some ten times the work for a zip 5 % smaller. Level 12 would take a third more time for
    /// another 0.04 %.
    Best,
}

impl Effort {
    fn deflate_level(self) -> i32 {
        match self {
            Self::Fast => 6,
            Self::Best => 11,
        }
    }
}

/// Packs the tree and its manifest into `out`, which is made where it is missing.
///
/// The same tree gives the same bytes, whatever its path, times and modes. All cores are used (`RAYON_NUM_THREADS`
/// limits them). A package of the same name is replaced, the zip in one step; when packing fails, the old one stays.
/// The tree is only read; a manifest that stands in it is left out in favour of the new one.
///
/// # Errors
/// [`Refusal::Usage`] where `out` lies in the tree or the patch set's suffix cannot be part of a file's name;
/// [`Refusal::Check`] for an empty tree and with every link, special file and name that some system cannot hold;
/// files that cannot be read; a full disk, of which nothing is left behind.
pub fn pack(built: &BuiltLibs, out: &Path, effort: Effort, report: Report<'_>) -> Result<Package> {
    let pool = rayon::ThreadPoolBuilder::new()
        .build()
        .context("starting threads")?;
    pack_with(&RealDisk, &pool, built, out, effort, report)
}

/// Sees that the output folder is there and takes files, so that a build of hours does not end at one that does not.
///
/// # Errors
/// It cannot be made, or written into.
pub fn make_ready(out: &Path) -> Result<()> {
    let ready = fs::create_dir_all(out).and_then(|()| {
        tempfile::Builder::new()
            .prefix(".xtask-")
            .suffix(".part")
            .tempfile_in(out)
            .map(drop)
    });
    ready.with_context(|| {
        format!(
            "{} cannot take the package; choose another output folder with --out",
            out.display()
        )
    })
}

/// [`pack`] on a given disk and threads.
fn pack_with(
    disk: &dyn Disk,
    pool: &rayon::ThreadPool,
    built: &BuiltLibs,
    out: &Path,
    effort: Effort,
    report: Report<'_>,
) -> Result<Package> {
    report(Event::Step("package"));
    fs::create_dir_all(out)?;
    let out = dunce::canonicalize(out).with_context(|| format!("resolving {}", out.display()))?;
    let tree = dunce::canonicalize(&built.tree)
        .with_context(|| format!("resolving the libraries tree {}", built.tree.display()))?;
    if out.starts_with(&tree) {
        bail!(Refusal::Usage(format!(
            "the output folder {} lies in the tree that is to be packed; choose another with --out",
            out.display()
        )));
    }
    let stem = stem(&built.chip, &built.core, &built.patch_set)?;
    let files = checked_files(&tree, built, report)?;
    let fill = Fill::new(built, files, effort, report);
    write(disk, pool, &fill, &out, &stem).map_err(|error| explain_full(error, &out))
}

/// Writes and publishes the three files.
fn write(
    disk: &dyn Disk,
    pool: &rayon::ThreadPool,
    fill: &Fill<'_>,
    out: &Path,
    stem: &str,
) -> Result<Package> {
    let publication = Publication::begin(disk, out, stem)?;
    let mut archive = Archive::new(publication.zip());
    let manifest = fill.archive(&mut archive, pool)?;
    let (zip, written) = archive.finish().context("finishing the zip")?;
    disk.sync(zip).context("writing the zip to the disk")?;
    written.verify(zip)?;
    let zip = publication.publish(&written.sha256, &manifest.to_json()?)?;
    Ok(Package {
        zip,
        sha256: written.sha256,
        size: written.size,
        manifest,
    })
}

/// The zip's name without `.zip`: `<chip>-libs-<core>-<suffix>`.
///
/// # Errors
/// [`Refusal::Usage`] where the patch set's suffix cannot be part of a file's name.
pub fn stem(chip: &Chip, core: &CoreVersion, set: &PatchSetRecord) -> Result<String> {
    let suffix = &set.suffix;
    let stem = format!("{}-{core}-{suffix}", chip.tool_name());
    let reason = if suffix.is_empty() {
        Some("it is empty".to_owned())
    } else {
        portable::illegal(&stem)
    };
    match reason {
        None => Ok(stem),
        Some(reason) => bail!(Refusal::Usage(format!(
            "the suffix `{suffix}` of the patch set `{}` cannot be part of a zip's name: {reason}",
            set.name
        ))),
    }
}

/// The tree's files but for an old manifest, all of them fit to travel.
fn checked_files(tree: &Path, built: &BuiltLibs, report: Report<'_>) -> Result<Vec<TreeFile>> {
    let mut files = listing::list(tree)?;
    files.retain(|file| file.name != manifest::FILE_NAME);
    let names = || files.iter().map(|file| file.name.as_str());
    let found = portable::findings(names().chain([manifest::FILE_NAME]));
    if !found.is_empty() {
        bail!(Refusal::Check(format!(
            "the libraries tree {} has names that not every system can hold:\n  {}",
            tree.display(),
            found.join("\n  ")
        )));
    }
    // An installed tree is set aside as `<core>.<suffix>`, the longest name of its folder.
    let folder = format!("{}.{}", built.core, built.patch_set.suffix);
    let long = portable::too_long(&built.chip.tool_name(), &folder, names());
    if let Some((name, length)) = long.first() {
        report(Event::Warning(&format!(
            "{} of the files would have a path that Windows refuses (over 259 characters below a user name of 20); \
             the longest has {length}: {name}",
            long.len()
        )));
    }
    Ok(files)
}

/// Says in front of an error that comes from a full disk what to do about it.
fn explain_full(error: anyhow::Error, out: &Path) -> anyhow::Error {
    let full = error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| {
            matches!(
                cause.kind(),
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
            )
        });
    if full {
        error.context(format!(
            "no space left in {}; free some there, or choose another folder with --out",
            out.display()
        ))
    } else {
        error
    }
}

#[cfg(test)]
mod tests;
