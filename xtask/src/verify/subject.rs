//! The libraries tree that is looked at: where it stands, and what it says it is.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use serde::Serialize;

use super::settings::Settings;
use crate::exit::Refusal;
use crate::libs::manifest::{self, Manifest};
use crate::libs::sdkconfig::SdkConfig;
use crate::libs::{Tree, Value, files};
use crate::names::{Chip, CoreVersion};
use crate::patchset::PatchSet;

/// Files that upstream's build leaves and a release does not hold (arduino-esp32 `.github/scripts/on-release.sh`).
const MARKS_OF_A_BUILD: [&str; 2] = ["dependencies.lock", "pioarduino-build.py"];

/// A libraries tree, with all that the checks ask it more than once.
#[derive(Debug)]
pub struct Subject {
    pub(super) tree: Tree,
    pub(super) chip: Chip,
    pub(super) manifest: ManifestFile,
    /// Memory variant -> its sdkconfig.h, or why that cannot be read.
    pub(super) configs: BTreeMap<String, Result<SdkConfig, String>>,
    /// Every file: its path with `/`, and where it stands.
    pub(super) files: Vec<(String, PathBuf)>,
    pub(super) expected: Expected,
    /// The stock tree of the same core version that was set aside, where there is one.
    pub(super) stock: Option<Tree>,
}

/// The manifest of a tree.
#[derive(Debug)]
pub(super) enum ManifestFile {
    /// There is none: nothing of ours made this tree.
    Absent,
    /// It is there and cannot be read.
    Broken(String),
    /// As read.
    Read(Box<Manifest>),
}

/// What the user says that the libraries are.
#[derive(Debug, Clone)]
pub enum Expected {
    /// Nothing: they are held against what they say of themselves.
    AsTheySay,
    /// Stock ones.
    Stock,
    /// Those of a patch set.
    Set(Box<PatchSet>),
}

/// What a tree is by its own account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Account {
    /// A package of ours.
    Package {
        /// The core version that it is for.
        core: CoreVersion,
        /// Its patch set.
        patch_set: String,
    },
    /// A manifest stands in it and cannot be read.
    BrokenPackage,
    /// As Espressif releases it: no manifest, no trace of a build, every setting in question off.
    Stock,
    /// Somebody built it or put files into it without this tool.
    ByHand {
        /// Each memory variant's settings, for example `XIP and ECC`.
        variants: BTreeMap<String, String>,
    },
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Package { core, patch_set } => {
                write!(f, "package for core {core}, patch set {patch_set}")
            }
            Self::BrokenPackage => f.write_str("a package whose manifest cannot be read"),
            Self::Stock => f.write_str("stock libraries"),
            Self::ByHand { variants } => {
                write!(
                    f,
                    "built by hand, without a manifest: {}",
                    by_settings(variants)
                )
            }
        }
    }
}

impl Subject {
    /// Reads the tree at `root`. `chip` is the one that was asked for; `stock` is the stock tree set aside beside it.
    ///
    /// # Errors
    /// It is no libraries tree ([`Refusal::Usage`]), or it is another chip's; it holds links or devices.
    pub fn open(root: &Path, chip: &Chip, expected: Expected, stock: Option<Tree>) -> Result<Self> {
        let tree = Tree::open(root).map_err(|error| Refusal::Usage(format!("{error:#}")))?;
        let path = root.join(manifest::FILE_NAME);
        let manifest = if !path.is_file() {
            ManifestFile::Absent
        } else {
            match Manifest::read(&path) {
                Ok(manifest) => ManifestFile::Read(Box::new(manifest)),
                Err(error) => ManifestFile::Broken(format!("{error:#}")),
            }
        };
        let mut configs = BTreeMap::new();
        for variant in tree.memory_variants()? {
            let config = tree
                .sdkconfig(&variant)
                .map_err(|error| format!("{error:#}"));
            configs.insert(variant, config);
        }
        let subject = Self {
            files: files::paths(root)?,
            chip: chip.clone(),
            tree,
            manifest,
            configs,
            expected,
            stock,
        };
        subject.refuse_other_chip()?;
        Ok(subject)
    }

    /// The tree's folder.
    pub fn root(&self) -> &Path {
        self.tree.root()
    }

    /// What the tree is by its own account.
    pub fn account(&self) -> Account {
        match &self.manifest {
            ManifestFile::Read(manifest) => Account::Package {
                core: manifest.core.clone(),
                patch_set: manifest.patch_set.name.clone(),
            },
            ManifestFile::Broken(_) => Account::BrokenPackage,
            ManifestFile::Absent => {
                let variants: BTreeMap<String, String> = self
                    .settings()
                    .map(|(variant, settings)| (variant.to_owned(), settings.shown().to_owned()))
                    .collect();
                let built = MARKS_OF_A_BUILD
                    .iter()
                    .any(|mark| self.root().join(mark).exists());
                if built || variants.values().any(|settings| settings != "stock") {
                    Account::ByHand { variants }
                } else {
                    Account::Stock
                }
            }
        }
    }

    /// The settings of every memory variant whose sdkconfig.h can be read.
    pub(super) fn settings(&self) -> impl Iterator<Item = (&str, Settings)> {
        self.configs.iter().filter_map(|(variant, config)| {
            Some((variant.as_str(), Settings::of(config.as_ref().ok()?)))
        })
    }

    /// `CONFIG_IDF_TARGET` is the chip but for a revision of its own (`esp32p4_es` is built for `esp32p4`).
    fn refuse_other_chip(&self) -> Result<()> {
        let asked = self.chip.as_str();
        for (variant, config) in &self.configs {
            let target = config
                .as_ref()
                .ok()
                .and_then(|config| config.get("CONFIG_IDF_TARGET"));
            if let Some(Value::Text(target)) = target.and_then(Value::parse)
                && asked.split('_').next() != Some(&target)
            {
                bail!(Refusal::Usage(format!(
                    "{} holds libraries for {target} ({variant}/include/sdkconfig.h), not for {asked}; name the chip with --chip",
                    self.root().display()
                )));
            }
        }
        Ok(())
    }
}

/// Variants by their settings, for example `XIP: dio_opi, qio_opi; stock: qio_qspi`.
pub(super) fn by_settings<V: AsRef<str>, S: AsRef<str>>(
    variants: impl IntoIterator<Item = (V, S)>,
) -> String {
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (variant, settings) in variants {
        let group = groups.entry(settings.as_ref().to_owned()).or_default();
        group.push(variant.as_ref().to_owned());
    }
    let told: Vec<String> = groups
        .iter()
        .map(|(settings, variants)| format!("{settings}: {}", variants.join(", ")))
        .collect();
    told.join("; ")
}
