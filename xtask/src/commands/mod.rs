//! One file a subcommand: read the arguments, decide, call stages, print.

mod again;
pub mod audit;
pub mod build_libs;
pub mod compare;
pub mod demo;
mod dry_run;
pub mod firmware;
pub mod install;
mod install_menu;
pub mod patches;
pub mod pins;
pub mod plan;
pub mod release_args;
pub mod sim;
pub mod status;
pub mod verify;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::config::Config;
use crate::workdir::WorkDir;

/// The core version where `--core` is not given: the newest release that was looked into.
pub const DEFAULT_CORE: &str = "3.3.12";
/// The chip where `--chip` is not given.
pub const DEFAULT_CHIP: &str = "esp32s3";

/// The user's config file: the one that the variable `XTASK_CONFIG` names, else the one in the user's config folder.
///
/// # Errors
/// As [`Config::load`].
pub fn config() -> Result<Config> {
    match std::env::var_os("XTASK_CONFIG").filter(|path| !path.is_empty()) {
        Some(path) => {
            Config::load(Some(Path::new(&path))).context("XTASK_CONFIG names the config file")
        }
        None => Config::load(None),
    }
}

/// The folder for all that is fetched and built: `--work-dir`, else the config file's, else `target/xip` in the workspace.
///
/// # Errors
/// It cannot be made.
pub fn work_dir(flag: Option<&Path>, config: &Config) -> Result<WorkDir> {
    let root = match flag.or(config.work_dir.as_deref()) {
        Some(root) => root.to_owned(),
        None => workspace().join("target").join("xip"),
    };
    WorkDir::open(&root).context("the work folder (--work-dir DIR moves it)")
}

/// Where packages are put and looked for unless said otherwise: `target/dist` in the workspace.
pub fn output_folder() -> PathBuf {
    workspace().join("target").join("dist")
}

/// The workspace that this program was built in, or the current folder where it has been moved away from that.
pub fn workspace() -> PathBuf {
    let built_in = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    match built_in.filter(|folder| folder.is_dir()) {
        Some(folder) => folder.to_owned(),
        None => PathBuf::from("."),
    }
}
