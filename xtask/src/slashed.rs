//! Paths for programs that want `/` on every system: on Windows GCC's response files and Kconfig take `\` for an escape.

use std::path::Path;

use anyhow::{Context, Result};

/// The path with `/`.
///
/// # Errors
/// A path that is not UTF-8.
pub fn slashed(path: &Path) -> Result<String> {
    let text = path
        .to_str()
        .with_context(|| format!("the path {} is not UTF-8", path.display()))?;
    Ok(if cfg!(windows) {
        text.replace('\\', "/")
    } else {
        text.to_owned()
    })
}
