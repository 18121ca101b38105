//! `cargo xtask pins`.

use anyhow::Result;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct PinsCommand {}

impl PinsCommand {
    /// Carries the command out.
    pub fn run(self) -> Result<()> {
        anyhow::bail!("not written yet")
    }
}
