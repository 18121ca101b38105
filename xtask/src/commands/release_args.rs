//! Arguments that say which release is meant and where its pins may be read; shared by the commands that need pins.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::builder::ArgPredicate;

use super::{DEFAULT_CHIP, DEFAULT_CORE};
use crate::arduino::{self, DataDir};
use crate::exit::Refusal;
use crate::names::{Chip, CoreVersion};
use crate::progress::Report;
use crate::release::{self, Pins, Request};

/// Which release.
#[derive(Debug, clap::Args)]
pub struct ReleaseArgs {
    /// Version of the Arduino core for ESP32; with --versions there is no default
    #[arg(long, value_name = "VERSION", default_value = DEFAULT_CORE)]
    #[arg(default_value_if("versions", ArgPredicate::IsPresent, None::<&str>))]
    pub core: Option<CoreVersion>,

    /// The chip, as Espressif writes it
    #[arg(long, value_name = "CHIP", default_value = DEFAULT_CHIP)]
    pub chip: Chip,

    /// Take the pins from this versions.txt instead of the release's own
    #[arg(long, value_name = "FILE")]
    pub versions: Option<PathBuf>,

    /// Data folder of the Arduino programs [default: as arduino-cli and the IDE find it]
    ///
    /// Looked for in this order: this flag; the variables ARDUINO_DIRECTORIES_DATA and ARDUINO_DATA_DIR; the answer of
    /// `arduino-cli config dump`; `directories.data` in arduino-cli's configuration, then in the IDE's; the system's default.
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
    pub fn data_dir(&self, report: Report<'_>) -> Result<Option<DataDir>> {
        arduino::data_dir(self.data_dir.as_deref(), report)
    }

    /// The core version.
    ///
    /// # Errors
    /// [`Refusal::Usage`] where only --versions was given: that file says which commits, not for which core version.
    pub fn core(&self) -> Result<CoreVersion> {
        self.core.clone().ok_or_else(|| {
            let text = "a versions.txt does not say which core version it is for; add --core, for example --core 3.3.12";
            Refusal::Usage(text.into()).into()
        })
    }

    /// Finds the pins; `downloads` is where fetched files are kept.
    ///
    /// # Errors
    /// As [`release::resolve`].
    pub fn resolve(
        &self,
        data_dir: Option<&Path>,
        downloads: &Path,
        report: Report<'_>,
    ) -> Result<Pins> {
        let core = match &self.core {
            Some(core) => core.clone(),
            None => DEFAULT_CORE.parse().map_err(anyhow::Error::msg)?,
        };
        let request = Request {
            core: &core,
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
