//! `cargo xtask build-libs`.

use anyhow::Result;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct BuildLibs {}

impl BuildLibs {
    /// Carries the command out.
    pub fn run(self) -> Result<()> {
        anyhow::bail!("not written yet")
    }
}
