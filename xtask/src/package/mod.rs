//! Stage 5: can anyone rebuild these very bytes?

use std::path::PathBuf;

use crate::libs::manifest::Manifest;

/// A finished package.
#[derive(Debug)]
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
