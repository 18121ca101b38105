//! A package's zip, read whole and judged before anything of it reaches the disk.
//!
//! A zip may come from anywhere, so nothing in it is believed: no entry but plain files with names that every system can
//! hold, all below one folder named as the core version, each once, and no two entries of the same bytes (case I5).

use std::collections::BTreeMap;
use std::io::Cursor;
use std::ops::Range;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use fs_err as fs;
use zip::{CompressionMethod, ExtraField, ZipArchive};

use super::place::{Place, STOCK};
use crate::digest;
use crate::exit::Refusal;
use crate::libs::manifest::{self, FileRecord, Manifest};
use crate::package::portable;

/// What a whole tree may come to: thirty times upstream's. A zip that says more is no libraries tree.
const MOST_BYTES: u64 = 4 << 30;

/// File kind bits of a Unix mode, and the two kinds that are let in.
const KIND: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;
const FOLDER: u32 = 0o040_000;

/// Windows' mark of a link or mount point, FILE_ATTRIBUTE_REPARSE_POINT.
const REPARSE_POINT: u32 = 0x400;

/// Extra fields that can hold the target of a hard or symbolic link (APPNOTE 4.5.7, Info-ZIP's extrafld.txt), and the length
/// of one that does not.
const LINK_FIELDS: [(u16, usize); 2] = [(0x000d, 12), (0x756e, 14)];

/// A package that was judged fit to install.
#[derive(Debug)]
pub(super) struct Archive {
    /// The zip's bytes.
    bytes: Vec<u8>,
    /// Files, sorted by path.
    pub(super) entries: Vec<Entry>,
    /// SHA-256 of the zip.
    pub(super) sha256: String,
    /// Whether a `.sha256` file beside it agreed.
    pub(super) sum_agreed: bool,
    /// The manifest in it, with the SHA-256 of its text. A zip made by hand has none.
    pub(super) manifest: Option<(Manifest, String)>,
    /// What its tree is called when it is set aside, for example `xip-ecc`.
    pub(super) suffix: String,
}

/// A file in the zip.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// Path relative to the tree, with `/`.
    pub(super) path: String,
    /// Size of the file.
    pub(super) size: u64,
    /// Whether it may be run.
    pub(super) executable: bool,
    data: Range<usize>,
    deflated: bool,
    crc32: u32,
}

impl Archive {
    /// Reads the zip at `path` for `place`.
    ///
    /// # Errors
    /// [`Refusal::Usage`] for a zip of another core version or chip, or none at all; [`Refusal::Check`] for one that was cut,
    /// altered, holds anything but a libraries tree, or is not what its manifest or the `.sha256` beside it says.
    pub(super) fn open(path: &Path, place: &Place) -> Result<Self> {
        if !path.is_file() {
            bail!(Refusal::Usage(format!(
                "there is no zip {}; build one with cargo xtask build-libs, or name another with --zip",
                path.display()
            )));
        }
        let bytes = fs::read(path)?;
        let (sha256, entries) = rayon::join(|| digest::sha256(&bytes), || entries(&bytes, place));
        let sum_agreed = sum_agrees(path, &sha256)?;
        let entries = entries
            .map_err(|error| refused(path, format!("{error:#}")))?
            .map_err(|wrong_core| Refusal::Usage(format!("{}: {wrong_core}", path.display())))?;
        let mut archive = Self {
            bytes,
            entries,
            sha256,
            sum_agreed,
            manifest: None,
            suffix: String::new(),
        };
        archive.read_manifest(path, place)?;
        archive.suffix = match &archive.manifest {
            Some((manifest, _)) => manifest.patch_set.suffix.clone(),
            None => suffix_of(path, place),
        };
        if portable::illegal(&place.aside(&archive.suffix)).is_some()
            || archive.suffix.is_empty()
            || archive.suffix.to_ascii_lowercase().starts_with(STOCK)
        {
            return Err(refused(
                path,
                format!(
                    "its patch set's suffix `{}` cannot name a folder",
                    archive.suffix
                ),
            ));
        }
        archive.is_a_tree().map_err(|why| refused(path, why))?;
        Ok(archive)
    }

    /// Bytes of all files.
    pub(super) fn size(&self) -> u64 {
        self.entries.iter().map(|entry| entry.size).sum()
    }

    /// Inflates an entry into `buffer`.
    pub(super) fn inflate<'b>(
        &'b self,
        entry: &Entry,
        buffer: &'b mut Vec<u8>,
    ) -> Result<&'b [u8]> {
        let packed = &self.bytes[entry.data.clone()];
        let size = usize::try_from(entry.size)?;
        let content: &[u8] = if entry.deflated {
            if buffer.len() < size {
                *buffer = vec![0; size];
            }
            let length = libdeflater::Decompressor::new()
                .deflate_decompress(packed, &mut buffer[..size])
                .map_err(|error| anyhow::anyhow!("{}: {error}", entry.path))?;
            ensure!(
                length == size,
                "{}: it is shorter than the zip says",
                entry.path
            );
            &buffer[..size]
        } else {
            packed
        };
        ensure!(
            content.len() == size && libdeflater::crc32(content) == entry.crc32,
            "{}: its checksum is wrong",
            entry.path
        );
        Ok(content)
    }

    /// The hash that an entry must have; `None` where no manifest says.
    pub(super) fn expected(&self) -> BTreeMap<&str, &FileRecord> {
        let files = self
            .manifest
            .iter()
            .flat_map(|(manifest, _)| &manifest.files);
        files.map(|file| (file.path.as_str(), file)).collect()
    }

    fn read_manifest(&mut self, path: &Path, place: &Place) -> Result<()> {
        let Some(entry) = self
            .entries
            .iter()
            .find(|entry| entry.path == manifest::FILE_NAME)
        else {
            return Ok(());
        };
        let mut buffer = Vec::new();
        let read = self.inflate(entry, &mut buffer).and_then(|content| {
            let text = std::str::from_utf8(content)?;
            Ok((Manifest::from_json(text)?, digest::sha256(content)))
        });
        let (manifest, digest) = read.map_err(|error| refused(path, format!("{error:#}")))?;
        if manifest.core != place.core || manifest.chip != place.chip {
            bail!(Refusal::Usage(format!(
                "{} is for core {} and {}, not for core {} and {}",
                path.display(),
                manifest.core,
                manifest.chip,
                place.core,
                place.chip
            )));
        }
        self.manifest = Some((manifest, digest));
        self.lists_every_file().map_err(|why| refused(path, why))
    }

    /// The entries are those of the manifest, no more and no fewer, of the same sizes.
    fn lists_every_file(&self) -> Result<(), String> {
        let mut expected = self.expected();
        let mut wrong = Vec::new();
        for entry in self
            .entries
            .iter()
            .filter(|entry| entry.path != manifest::FILE_NAME)
        {
            match expected.remove(entry.path.as_str()) {
                None => wrong.push(format!("{}: not in the manifest", entry.path)),
                Some(file) if file.size != entry.size => {
                    wrong.push(format!(
                        "{}: {} bytes instead of {}",
                        entry.path, entry.size, file.size
                    ));
                }
                Some(_) => {}
            }
        }
        wrong.extend(expected.into_keys().map(|path| format!("{path}: missing")));
        if wrong.is_empty() {
            return Ok(());
        }
        Err(format!(
            "it is not what its manifest says: {}",
            some(&wrong)
        ))
    }

    /// The folders that a compile needs are there.
    fn is_a_tree(&self) -> Result<(), String> {
        let has = |test: &dyn Fn(&str) -> bool| self.entries.iter().any(|entry| test(&entry.path));
        let mut missing: Vec<&str> = ["flags/", "include/", "lib/"]
            .into_iter()
            .filter(|folder| !has(&|path| path.starts_with(folder)))
            .collect();
        if !has(&|path| {
            path.ends_with("_qspi/include/sdkconfig.h")
                || path.ends_with("_opi/include/sdkconfig.h")
        }) {
            missing.push("<memory variant>/include/sdkconfig.h");
        }
        if missing.is_empty() {
            return Ok(());
        }
        Err(format!(
            "it holds no libraries tree: no {}",
            missing.join(", no ")
        ))
    }
}

fn refused(path: &Path, why: String) -> anyhow::Error {
    Refusal::Check(format!(
        "{} cannot be installed: {why}; get it again, or build it anew",
        path.display()
    ))
    .into()
}

/// The first few of many, and how many there are.
pub(super) fn some(list: &[String]) -> String {
    const SHOWN: usize = 5;
    let shown = list
        .iter()
        .take(SHOWN)
        .cloned()
        .collect::<Vec<_>>()
        .join("; ");
    match list.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown}; and {more} more"),
    }
}

/// Whether a `.sha256` file stands beside the zip; an error where it says another sum.
fn sum_agrees(path: &Path, sha256: &str) -> Result<bool> {
    let mut sum = path.as_os_str().to_owned();
    sum.push(".sha256");
    let text = match fs::read_to_string(&sum) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error.into()),
    };
    let said = text.split_whitespace().next().unwrap_or_default();
    if said.eq_ignore_ascii_case(sha256) {
        return Ok(true);
    }
    Err(refused(
        path,
        format!("its SHA-256 is {sha256}, and the .sha256 file beside it says {said}"),
    ))
}

/// The zip's files, sorted by path; the inner error says that it is for another core version.
fn entries(bytes: &[u8], place: &Place) -> Result<Result<Vec<Entry>, String>> {
    let mut zip = ZipArchive::new(Cursor::new(bytes)).context("it is not a whole zip")?;
    ensure!(!zip.has_duplicate_names(), "a name stands in it twice");
    ensure!(
        !zip.has_overlapping_files()?,
        "two of its entries share bytes"
    );
    let mut entries = Vec::with_capacity(zip.len());
    let mut wrong = Vec::new();
    for index in 0..zip.len() {
        let file = zip.by_index_raw(index)?;
        let name = file.name()?.into_owned();
        match judge(&file) {
            Ok(Kind::Folder)
                if portable::findings([name.trim_end_matches('/')].into_iter()).is_empty() => {}
            Ok(Kind::Folder) => wrong.push(format!("`{name}` is no folder's name")),
            Ok(Kind::File {
                deflated,
                executable,
            }) => {
                let start = usize::try_from(file.data_start().context("an entry without data")?)?;
                let end = usize::try_from(file.compressed_size())?.checked_add(start);
                let end = end
                    .filter(|end| *end <= bytes.len())
                    .context("it was cut short")?;
                entries.push(Entry {
                    path: name,
                    size: file.size(),
                    executable,
                    data: start..end,
                    deflated,
                    crc32: file.crc32(),
                });
            }
            Err(why) => wrong.push(format!("`{name}` {why}")),
        }
    }
    wrong.extend(portable::findings(
        entries.iter().map(|entry| entry.path.as_str()),
    ));
    ensure!(wrong.is_empty(), "{}", some(&wrong));
    // Each size is at most 2^32 or so of a zip that is in memory: the sum cannot overflow.
    let total: u64 = entries.iter().map(|entry| entry.size.min(MOST_BYTES)).sum();
    ensure!(
        total <= MOST_BYTES,
        "it would unpack to more than {} GiB",
        MOST_BYTES >> 30
    );
    Ok(below_the_core(entries, place))
}

/// Takes the one folder `<core>/` off every path.
fn below_the_core(mut entries: Vec<Entry>, place: &Place) -> Result<Vec<Entry>, String> {
    let root = format!("{}/", place.core);
    for entry in &mut entries {
        match entry.path.strip_prefix(&root) {
            Some(path) => entry.path = path.to_owned(),
            None => {
                return Err(format!(
                    "it holds `{}`, and what is installed for core {} must stand in one folder {root}",
                    entry.path, place.core
                ));
            }
        }
    }
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(entries)
}

enum Kind {
    Folder,
    File { deflated: bool, executable: bool },
}

/// What an entry is; anything but a plain file or a folder is refused.
fn judge(file: &zip::read::ZipFile<'_, Cursor<&[u8]>>) -> Result<Kind, String> {
    let mode = file.unix_mode().unwrap_or(0);
    // The upper half is the Unix mode, the lower that of DOS; Unix packers fill both.
    if file.is_symlink() || file.external_attributes() & REPARSE_POINT != 0 {
        return Err("is a link".to_owned());
    }
    if ![0, REGULAR, FOLDER].contains(&(mode & KIND)) {
        return Err("is neither a file nor a folder".to_owned());
    }
    for field in file.extra_data_fields() {
        if let ExtraField::Custom(field) = field
            && LINK_FIELDS
                .iter()
                .any(|(id, plain)| field.header_id == *id && field.data.len() > *plain)
        {
            return Err("is a link".to_owned());
        }
    }
    if file.encrypted() {
        return Err("is encrypted".to_owned());
    }
    if file.is_dir() || mode & KIND == FOLDER {
        return if file.size() == 0 {
            Ok(Kind::Folder)
        } else {
            Err("is a folder with content".to_owned())
        };
    }
    let deflated = match file.compression() {
        CompressionMethod::Stored => false,
        CompressionMethod::Deflated => true,
        other => return Err(format!("is compressed by {other}")),
    };
    Ok(Kind::File {
        deflated,
        executable: mode & 0o111 != 0,
    })
}

/// The suffix in a zip's name, `esp32s3-libs-<core>-<suffix>.zip`, without what a browser added (` (1)`); `by-hand` where the
/// name tells none.
fn suffix_of(path: &Path, place: &Place) -> String {
    let stem = path
        .file_stem()
        .and_then(|stem| stem.to_str())
        .unwrap_or_default();
    let prefix = format!("{}-{}-", place.chip.tool_name(), place.core);
    let tail = stem.strip_prefix(&prefix).unwrap_or_default();
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let suffix: String = tail.chars().take_while(|c| plain(*c)).collect();
    if suffix.is_empty() || suffix.starts_with(STOCK) {
        "by-hand".to_owned()
    } else {
        suffix
    }
}

#[cfg(test)]
mod tests;
