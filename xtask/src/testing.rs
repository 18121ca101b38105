//! What tests share; integration tests include this file by path.
#![allow(dead_code, reason = "each test program uses its part")]

use std::path::{Path, PathBuf};

/// The workspace's top folder.
pub(crate) fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask stands in the workspace")
        .to_owned()
}

/// Says on standard error that a test could not run, and why.
pub(crate) fn skipped(test: &str, why: &str) {
    eprintln!("SKIPPED {test}: {why}");
}

/// A file of the knowledge folder beside the workspace, or `None` (said as SKIPPED) where it is not there.
pub(crate) fn shared(test: &str, path: &str) -> Option<PathBuf> {
    let file = workspace().parent()?.join("shared").join(path);
    if file.exists() {
        return Some(file);
    }
    skipped(test, &format!("shared/{path} is not beside this checkout"));
    None
}
