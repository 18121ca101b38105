//! Stage 4: the two ways to build libraries. Both give [`BuiltLibs`].

pub mod check;
pub mod full;
pub mod quick;

use std::path::PathBuf;

use crate::libs::manifest::{BuildRecord, PatchSetRecord, SourceRecord};
use crate::names::{Chip, CoreVersion};
use std::collections::BTreeMap;

/// A libraries tree that passed the checks after the build, and what it was made of.
#[derive(Debug, Clone)]
pub struct BuiltLibs {
    /// The chip's folder: `lib/`, `include/`, `flags/`, memory variants, `versions.txt`.
    pub tree: PathBuf,
    /// The core version that it is for.
    pub core: CoreVersion,
    /// The chip.
    pub chip: Chip,
    /// The patch set.
    pub patch_set: PatchSetRecord,
    /// Git sources at full commits.
    pub sources: Vec<SourceRecord>,
    /// Managed components as pinned.
    pub components: BTreeMap<String, Option<String>>,
    /// How it was made.
    pub build: BuildRecord,
    /// Effective values of the patch set's expected symbols: memory variant -> symbol -> value.
    pub effective: BTreeMap<String, BTreeMap<String, String>>,
}
