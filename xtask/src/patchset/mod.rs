//! Stage 3: did every line land where it wins?

use serde::{Deserialize, Serialize};

/// What applying a patch set did to upstream's defconfig files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Applied {
    /// Name of the patch set.
    pub set: String,
    /// Each line of the set, in order.
    pub lines: Vec<AppliedLine>,
}

/// One line of a patch set and where it stands now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppliedLine {
    /// Defconfig file relative to the lib-builder, for example `configs/defconfig.opi_ram`.
    pub file: String,
    /// Line number in that file now, from 1.
    pub line: usize,
    /// The line that it replaced; `None` where it is new.
    pub before: Option<String>,
    /// The line as the set writes it, for example `CONFIG_SPIRAM_XIP_FROM_PSRAM=y`.
    pub after: String,
}
