//! What a folder holds: stock libraries, patched ones, or something else.

use std::path::Path;

use anyhow::Result;
use fs_err as fs;
use serde::Serialize;

use super::listing::{self, Depth, Differences};
use super::record::{InstallRecord, Records};
use crate::digest;
use crate::libs::Tree;
use crate::libs::files::{self, Walked};
use crate::libs::manifest::{self, FileRecord, Manifest, PatchSetRecord};

/// Files that upstream's build leaves in the tree and that a release leaves out (arduino-esp32
/// `.github/scripts/on-release.sh`): where they stand, somebody built the libraries.
const MARKS_OF_A_BUILD: [&str; 2] = ["dependencies.lock", "pioarduino-build.py"];

/// What a folder was seen to hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Content {
    /// There is no such folder.
    Missing,
    /// Espressif's own libraries.
    Stock {
        /// Whether they were held against the list that was made before they were first renamed. Without that list they are
        /// taken for stock because nothing in them says otherwise.
        recorded: bool,
        /// Whether every file was read for that, and not only its name and size looked at.
        read: bool,
        /// Files that are no part of the release; all of its own are there.
        extra: Vec<String>,
    },
    /// Libraries of a package, every file as it was in there.
    Patched(Box<Patched>),
    /// Libraries that run from PSRAM, or that somebody built, and of which neither manifest nor record tells.
    PatchedByHand {
        /// The memory variants in which XIP from PSRAM is on.
        xip: Vec<String>,
        /// Whether PSRAM has ECC in all of these.
        ecc: bool,
    },
    /// Files of two builds in one folder.
    Mixed {
        /// What does not fit to the rest, a line each.
        files: Vec<String>,
    },
    /// A libraries tree in which files are missing or changed.
    Damaged {
        /// What the rest of the files are.
        of: Origin,
        /// What is wrong, a line each.
        files: Vec<String>,
    },
    /// Something else of that name. It is never touched.
    NotALibrariesTree {
        /// What was found.
        why: String,
    },
}

/// What is known of patched libraries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Patched {
    /// What the folder is called when it is set aside.
    pub suffix: String,
    /// The patch set and its lines; `None` for a package without a manifest, whose files nothing vouches for.
    pub patch_set: Option<PatchSetRecord>,
    /// SHA-256 of the manifest.
    pub manifest_sha256: Option<String>,
    /// The install that put it there; `None` where it was unpacked by hand.
    pub installed: Option<InstallRecord>,
    /// Files that are no part of the package; all of its own are there.
    pub extra: Vec<String>,
}

/// Where the files of a damaged tree come from, for the most part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Origin {
    /// The release.
    Stock,
    /// A package.
    Package {
        /// What its folder is called when it is set aside.
        suffix: String,
    },
}

impl Content {
    /// The suffix under which a folder of this content is set aside; `None` for what is not set aside.
    pub(super) fn suffix(&self) -> Option<&str> {
        match self {
            Self::Patched(patched) => Some(&patched.suffix),
            Self::PatchedByHand { xip, ecc: true } if !xip.is_empty() => Some("xip-ecc"),
            Self::PatchedByHand { .. } => Some("by-hand"),
            Self::Mixed { .. } => Some("mixed"),
            Self::Damaged {
                of: Origin::Package { .. },
                ..
            } => Some("damaged"),
            Self::Damaged {
                of: Origin::Stock, ..
            }
            | Self::Missing
            | Self::Stock { .. }
            | Self::NotALibrariesTree { .. } => None,
        }
    }

    /// What it is, in a few words.
    pub fn summary(&self) -> String {
        match self {
            Self::Missing => "there is no such folder".to_owned(),
            Self::Stock {
                recorded,
                read,
                extra,
            } => {
                let how = match (recorded, read) {
                    (true, true) => "every file as recorded",
                    (true, false) => "names and sizes as recorded",
                    (false, _) => "by all that can be seen",
                };
                match strangers(extra) {
                    Some(strangers) => format!("stock, and {strangers}"),
                    None => format!("stock, {how}"),
                }
            }
            Self::Patched(patched) => {
                let what = match &patched.patch_set {
                    Some(set) => format!("patched, set {}", set.name),
                    None => format!("patched, {}, unverified: no manifest", patched.suffix),
                };
                match strangers(&patched.extra) {
                    Some(strangers) => format!("{what}, and {strangers}"),
                    None => what,
                }
            }
            Self::PatchedByHand { xip, .. } if xip.is_empty() => {
                "built by somebody else, not the release".to_owned()
            }
            Self::PatchedByHand { ecc, .. } => {
                format!(
                    "patched by hand: XIP from PSRAM{}",
                    if *ecc { " with ECC" } else { "" }
                )
            }
            Self::Mixed { files } => {
                format!("files of two builds: {}", super::archive::some(files))
            }
            Self::Damaged {
                of: Origin::Stock,
                files,
            } => format!("stock, but damaged: {}", super::archive::some(files)),
            Self::Damaged {
                of: Origin::Package { suffix },
                files,
            } => {
                format!(
                    "patched, {suffix}, but damaged: {}",
                    super::archive::some(files)
                )
            }
            Self::NotALibrariesTree { why } => why.clone(),
        }
    }

    /// The files in a whole tree that are no part of it.
    pub(super) fn extra(&self) -> &[String] {
        match self {
            Self::Stock { extra, .. } => extra,
            Self::Patched(patched) => &patched.extra,
            _ => &[],
        }
    }

    /// Whether the folder holds libraries of which the stock ones are no part, so that it may be given up for others.
    pub(super) fn is_patched(&self) -> bool {
        self.suffix().is_some()
    }
}

/// How many files do not belong there, and which; `None` for none.
pub(super) fn strangers(extra: &[String]) -> Option<String> {
    let which = super::archive::some(extra);
    match extra.len() {
        0 => None,
        1 => Some(format!("1 file that does not belong there: {which}")),
        more => Some(format!("{more} files that do not belong there: {which}")),
    }
}

/// Looks into the folder `root`, which belongs to the core version of `records`.
///
/// # Errors
/// Files that cannot be read, and records of ours that are not as they were written.
pub(super) fn look(root: &Path, records: Records<'_>, depth: Depth) -> Result<Content> {
    match fs::symlink_metadata(root) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Content::Missing),
        Err(error) => return Err(error.into()),
        // A link to a tree of the user's own: not ours to rename.
        Ok(found) if !found.is_dir() => {
            let what = if found.is_symlink() {
                "a link"
            } else {
                "a file"
            };
            return Ok(not_a_tree(format!("{} is {what}", root.display())));
        }
        Ok(_) => {}
    }
    let text = root.join(manifest::FILE_NAME);
    let has_manifest = text.exists();
    let tree = match Tree::open(root) {
        Ok(tree) => tree,
        // A manifest of ours says what it was.
        Err(_) if has_manifest => return with_manifest(root, &text, records, depth),
        Err(error) => return Ok(not_a_tree(format!("{error:#}"))),
    };
    if has_manifest {
        with_manifest(root, &text, records, depth)
    } else {
        without_manifest(&tree, records, depth)
    }
}

fn not_a_tree(why: String) -> Content {
    Content::NotALibrariesTree { why }
}

/// A tree that says what it is.
fn with_manifest(root: &Path, path: &Path, records: Records<'_>, depth: Depth) -> Result<Content> {
    let text = fs::read(path)?;
    let damaged = |suffix: &str, files: Vec<String>| Content::Damaged {
        of: Origin::Package {
            suffix: suffix.to_owned(),
        },
        files,
    };
    let parsed = std::str::from_utf8(&text)
        .map_err(anyhow::Error::from)
        .and_then(Manifest::from_json);
    let manifest = match parsed {
        Ok(mut manifest) => {
            manifest.files.sort_by(|a, b| a.path.cmp(&b.path));
            manifest
        }
        Err(error) => {
            return Ok(damaged(
                "unknown",
                vec![format!("{}: {error:#}", manifest::FILE_NAME)],
            ));
        }
    };
    let suffix = manifest.patch_set.suffix.clone();
    if manifest.core != *records.core {
        let line = format!("{}: it is for core {}", manifest::FILE_NAME, manifest.core);
        return Ok(damaged(&suffix, vec![line]));
    }
    let mut found = files::walk(root)?;
    found.files.retain(|file| file.name != manifest::FILE_NAME);
    let differences = listing::compare(&found, &manifest.files, depth)?;
    if !differences.none()
        && let Some(stock) = records.stock_list()?
        && differences.all_from(&stock, depth)
    {
        return Ok(mixed(&differences));
    }
    let Some(extra) = differences.only_extra() else {
        return Ok(damaged(&suffix, differences.lines()));
    };
    let manifest_sha256 = digest::sha256(&text);
    Ok(Content::Patched(Box::new(Patched {
        installed: records.install_of(&suffix, &manifest_sha256)?,
        suffix,
        patch_set: Some(manifest.patch_set),
        manifest_sha256: Some(manifest_sha256),
        extra,
    })))
}

fn mixed(differences: &Differences) -> Content {
    Content::Mixed {
        files: differences.lines(),
    }
}

/// A tree of which only our records, and what is in it, can tell.
fn without_manifest(tree: &Tree, records: Records<'_>, depth: Depth) -> Result<Content> {
    let found = files::walk(tree.root())?;
    let stock = records.stock_list()?;
    let from_stock = match &stock {
        Some(stock) => Some(listing::compare(&found, stock, depth)?),
        None => None,
    };
    if from_stock.as_ref().is_some_and(Differences::none) {
        return Ok(as_recorded(depth, Vec::new()));
    }
    if let Some(content) = of_unverified_package(&found, stock.as_deref(), records, depth)? {
        return Ok(content);
    }
    let settings = settings(tree)?;
    let octal_off: Vec<&Setting> = settings
        .iter()
        .filter(|setting| setting.variant.ends_with("_opi") && !setting.xip)
        .collect();
    let on: Vec<&Setting> = settings.iter().filter(|setting| setting.xip).collect();
    let built = MARKS_OF_A_BUILD
        .iter()
        .any(|mark| tree.root().join(mark).exists());
    Ok(match from_stock {
        _ if !on.is_empty() && !octal_off.is_empty() => Content::Mixed {
            files: settings.iter().map(Setting::line).collect(),
        },
        _ if !on.is_empty() || built => Content::PatchedByHand {
            ecc: !on.is_empty() && on.iter().all(|setting| setting.ecc),
            xip: on.iter().map(|setting| setting.variant.clone()).collect(),
        },
        Some(differences) => match differences.only_extra() {
            Some(extra) => as_recorded(depth, extra),
            None => Content::Damaged {
                of: Origin::Stock,
                files: differences.lines(),
            },
        },
        None if !found.odd.is_empty() => Content::Damaged {
            of: Origin::Stock,
            files: found.odd,
        },
        None => Content::Stock {
            recorded: false,
            read: false,
            extra: Vec::new(),
        },
    })
}

/// Stock libraries of which every file was found as the list has it.
fn as_recorded(depth: Depth, extra: Vec<String>) -> Content {
    Content::Stock {
        recorded: true,
        read: depth == Depth::Full,
        extra,
    }
}

/// A tree that an install of ours left from a package without a manifest.
fn of_unverified_package(
    found: &Walked,
    stock: Option<&[FileRecord]>,
    records: Records<'_>,
    depth: Depth,
) -> Result<Option<Content>> {
    for (suffix, record, list) in records.unverified()? {
        let differences = listing::compare(found, &list, depth)?;
        if !differences.none() && stock.is_some_and(|stock| differences.all_from(stock, depth)) {
            return Ok(Some(mixed(&differences)));
        }
        if let Some(extra) = differences.only_extra() {
            return Ok(Some(Content::Patched(Box::new(Patched {
                suffix,
                patch_set: None,
                manifest_sha256: None,
                installed: Some(record),
                extra,
            }))));
        }
    }
    Ok(None)
}

/// What a memory variant's sdkconfig.h says of PSRAM.
struct Setting {
    variant: String,
    xip: bool,
    ecc: bool,
}

impl Setting {
    fn line(&self) -> String {
        let on = if self.xip { "on" } else { "off" };
        format!("{}: XIP from PSRAM is {on}", self.variant)
    }
}

fn settings(tree: &Tree) -> Result<Vec<Setting>> {
    let read = |variant: String| {
        let path = tree
            .root()
            .join(&variant)
            .join("include")
            .join("sdkconfig.h");
        // Not `libs::sdkconfig`: a tree that somebody changed by hand need not parse.
        let text = fs::read(path)?;
        let text = String::from_utf8_lossy(&text);
        let on = |symbol: &str| {
            text.lines().any(|line| {
                let mut words = line.split_whitespace();
                (words.next(), words.next(), words.next())
                    == (Some("#define"), Some(symbol), Some("1"))
            })
        };
        Ok(Setting {
            // The first stands for the two others (esp_psram/esp32s3/Kconfig.spiram, SPIRAM_XIP_FROM_PSRAM).
            xip: on("CONFIG_SPIRAM_XIP_FROM_PSRAM")
                || on("CONFIG_SPIRAM_FETCH_INSTRUCTIONS") && on("CONFIG_SPIRAM_RODATA"),
            ecc: on("CONFIG_SPIRAM_ECC_ENABLE"),
            variant,
        })
    };
    tree.memory_variants()?.into_iter().map(read).collect()
}

#[cfg(test)]
mod tests;
