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
mod listing;
mod ordered;
mod portable;
mod publish;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::{Context, Result, bail};
use fs_err as fs;
use serde::Serialize;

use crate::build::BuiltLibs;
use crate::exit::Refusal;
use crate::libs::manifest::{self, FileRecord, Manifest, PatchSetRecord};
use crate::names::{Chip, CoreVersion};
use crate::progress::{Event, Report};
use archive::{Archive, mode};
use compress::{Packed, Packer};
use listing::TreeFile;
use publish::{Disk, Publication, RealDisk};

/// Bytes of files that may be under way at once: large enough that one huge archive does not idle the other cores.
const WINDOW: u64 = 64 << 20;

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
    /// For releases: libdeflate's level 12, about nine times the work for a zip some 5 % smaller.
    Best,
}

impl Effort {
    fn deflate_level(self) -> i32 {
        match self {
            Self::Fast => 6,
            Self::Best => 12,
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
    pack_with(&RealDisk, 0, built, out, effort, report)
}

/// [`pack`] on a given disk and number of threads (0: one a core).
fn pack_with(
    disk: &dyn Disk,
    threads: usize,
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
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .context("starting threads")?;
    write(disk, &pool, &files, built, &out, &stem, effort, report).map_err(|error| explain_full(error, &out))
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

/// Writes and publishes the three files.
#[expect(clippy::too_many_arguments, reason = "the parts of one call, each named")]
fn write(
    disk: &dyn Disk,
    pool: &rayon::ThreadPool,
    files: &[TreeFile],
    built: &BuiltLibs,
    out: &Path,
    stem: &str,
    effort: Effort,
    report: Report<'_>,
) -> Result<Package> {
    let publication = Publication::begin(disk, out, stem)?;
    let mut archive = Archive::new(publication.zip());
    let manifest = fill(&mut archive, pool, files, built, effort, report)?;
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

/// Adds every file and, at its place in the order, the manifest, which is given back.
///
/// The manifest needs every file's hash, so the compressed bytes of the files behind it wait in memory.
fn fill(
    archive: &mut Archive<impl io::Write + io::Seek>,
    pool: &rayon::ThreadPool,
    files: &[TreeFile],
    built: &BuiltLibs,
    effort: Effort,
    report: Report<'_>,
) -> Result<Manifest> {
    let before = files.partition_point(|file| file.name.as_str() < manifest::FILE_NAME);
    let sizes: Vec<u64> = files.iter().map(|file| file.size).collect();
    let (mut done, total) = (0, sizes.iter().sum());
    let mut behind = Vec::new();
    let mut records = Vec::with_capacity(files.len());
    let packers = Mutex::new(Vec::new());
    let compress = |index: usize| with_packer(&packers, effort, |packer| packer.file(&files[index].disk));
    ordered::in_order(pool, &sizes, WINDOW, compress, |index, packed| {
        let name = &files[index].name;
        records.push(FileRecord {
            path: name.clone(),
            size: packed.size.into(),
            sha256: packed.sha256.clone(),
        });
        if index < before {
            add(archive, built, name, &packed)?;
        } else {
            behind.push(packed);
        }
        done += sizes[index];
        report(Event::Bytes { done, total });
        Ok(())
    })?;
    let manifest = manifest_of(built, records);
    let json = manifest.to_json()?;
    let packed = with_packer(&packers, effort, |packer| packer.bytes(json.as_bytes()))?;
    add(archive, built, manifest::FILE_NAME, &packed)?;
    for (file, packed) in files[before..].iter().zip(&behind) {
        add(archive, built, &file.name, packed)?;
    }
    Ok(manifest)
}

/// Runs `work` with a packer that no other thread uses, made where none is free.
fn with_packer(
    packers: &Mutex<Vec<Packer>>,
    effort: Effort,
    work: impl FnOnce(&mut Packer) -> Result<Packed>,
) -> Result<Packed> {
    let free = || packers.lock().unwrap_or_else(|poison| poison.into_inner());
    let idle = free().pop();
    let mut packer = match idle {
        Some(packer) => packer,
        None => Packer::new(effort)?,
    };
    let packed = work(&mut packer);
    free().push(packer);
    packed
}

fn add(
    archive: &mut Archive<impl io::Write + io::Seek>,
    built: &BuiltLibs,
    name: &str,
    packed: &Packed,
) -> Result<()> {
    archive.add(format!("{}/{name}", built.core), mode(name), packed)
}

fn manifest_of(built: &BuiltLibs, files: Vec<FileRecord>) -> Manifest {
    Manifest {
        schema: manifest::SCHEMA,
        core: built.core.clone(),
        chip: built.chip.clone(),
        patch_set: built.patch_set.clone(),
        sources: built.sources.clone(),
        components: built.components.clone(),
        build: built.build.clone(),
        effective: built.effective.clone(),
        files,
    }
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
