//! Stage 2: are exactly these commits on disk?

use std::path::PathBuf;

use serde::Serialize;

/// Work trees laid out as upstream's build expects them, each at its pinned commit.
#[derive(Debug)]
pub struct Sources {
    /// The lib-builder's work tree; all others stand inside it.
    pub root: PathBuf,
    /// Every work tree, the lib-builder's first.
    pub trees: Vec<SourceTree>,
}

/// One work tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SourceTree {
    /// Upstream's name, for example `esp-idf`.
    pub name: String,
    /// Where it stands, relative to the lib-builder's root with `/`; `.` for the lib-builder.
    pub path: String,
    /// The canonical address, before any mirror.
    pub url: String,
    /// Branch or tags that the pin named.
    pub refs: Vec<String>,
    /// The full commit id.
    pub commit: String,
    /// Submodules (nested ones too), each at its recorded commit; paths relative to this tree, with `/`.
    pub submodules: Vec<String>,
}
