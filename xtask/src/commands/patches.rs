//! `cargo xtask patches`.

use anyhow::Result;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Patches {}

impl Patches {
    /// Carries the command out.
    pub fn run(self) -> Result<()> {
        anyhow::bail!("not written yet")
    }
}
