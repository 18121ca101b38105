//! Arguments that say which release is meant and where its pins may be read; shared by the commands that need pins.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::{DEFAULT_CHIP, DEFAULT_CORE};
use crate::arduino::{self, DataDir};
use crate::names::{Chip, CoreVersion};
use crate::progress::Report;
use crate::release::{self, Pins, Request};

/// Which release.
#[derive(Debug, clap::Args)]
pub struct ReleaseArgs {
    /// Version of the Arduino core for ESP32
    #[arg(long, value_name = "VERSION", default_value = DEFAULT_CORE)]
    pub core: CoreVersion,

    /// The chip, as Espressif writes it
    #[arg(long, value_name = "CHIP", default_value = DEFAULT_CHIP)]
    pub chip: Chip,

    /// Take the pins from this versions.txt instead of the release's own
    #[arg(long, value_name = "FILE")]
    pub versions: Option<PathBuf>,

    /// Data folder of the Arduino programs [default: as arduino-cli and the IDE find it]
    ///
    /// Looked for in this order: this flag; the variables ARDUINO_DIRECTORIES_DATA and ARDUINO_DATA_DIR;
    /// `directories.data` in arduino-cli's configuration, then in the IDE's; the system's default.
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,

    /// Package index to ask, a file or an http(s) address [default: the copies at hand, then Espressif's]
    #[arg(long, value_name = "PATH|URL")]
    pub index: Option<String>,

    /// Use no network: only what is installed or was fetched before
    #[arg(long)]
    pub offline: bool,
}

impl ReleaseArgs {
    /// The data folder of the Arduino programs.
    ///
    /// # Errors
    /// As [`arduino::data_dir()`].
    pub fn data_dir(&self) -> Result<Option<DataDir>> {
        arduino::data_dir(self.data_dir.as_deref())
    }

    /// Finds the pins; `downloads` is where fetched files are kept.
    ///
    /// # Errors
    /// As [`release::resolve`].
    pub fn resolve(&self, data_dir: Option<&Path>, downloads: &Path, report: Report<'_>) -> Result<Pins> {
        let request = Request {
            core: &self.core,
            chip: &self.chip,
            versions: self.versions.as_deref(),
            data_dir,
            index: self.index.as_deref(),
            offline: self.offline,
            downloads,
        };
        release::resolve(&request, report)
    }
}
