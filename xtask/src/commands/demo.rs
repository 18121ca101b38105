//! `cargo xtask demo`.

use anyhow::Result;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Demo {}

impl Demo {
    /// Carries the command out.
    pub fn run(self) -> Result<()> {
        anyhow::bail!("not written yet")
    }
}
