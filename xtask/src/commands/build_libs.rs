//! `cargo xtask build-libs`.

use std::path::PathBuf;

use anyhow::Result;

use super::release_args::ReleaseArgs;
use super::{DEFAULT_CORE, dry_run};
use crate::config::{Config, Mirror};
use crate::engine;
use crate::exit::Refusal;
use crate::names::CoreVersion;
use crate::package::Effort;
use crate::patchset;
use crate::pipeline::{self, Options, Outcome, Stage};
use crate::progress::Event;
use crate::ui;
use crate::upstream::Mirrors;

/// Build patched libraries for a core version and package them as a zip.
///
/// Reads the commits that the official libraries were built from, checks exactly these out, adds the patch set's lines to
/// the lib-builder's defconfig files, runs upstream's own build in a container, checks what came out, and packs it.
/// The package, its SHA-256 and its manifest are left in the output folder.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Config file: what is repeated on every call can stand in config.toml in the folder esp32-xip-libs of your config folder
(Linux: ~/.config/esp32-xip-libs/config.toml), or in the file that the variable XTASK_CONFIG names:

  work-dir = \"/data/xip\"
  engine = \"podman\"
  base-image = \"registry.example/debian:bookworm\"

  [[mirror]]
  from = \"https://github.com/\"
  to = \"/srv/git/\"

Examples:
  cargo xtask build-libs
  cargo xtask build-libs --core 3.3.11 --best
  cargo xtask build-libs --stop-after patch --patch ~/my-set")]
pub struct BuildLibs {
    #[command(flatten)]
    release: ReleaseArgs,
    /// Patch set: a name listed by `patches`, or the path of a folder of your own
    #[arg(long, value_name = "NAME|DIR", default_value = patchset::DEFAULT)]
    patch: String,
    /// Replace a prefix of the git addresses, for example https://github.com/=/srv/git/ (repeatable)
    #[arg(long = "mirror", value_name = "FROM=TO")]
    mirrors: Vec<Mirror>,
    /// Where mirrors, work trees and caches are kept [default: target/xip]
    #[arg(long, value_name = "DIR")]
    work_dir: Option<PathBuf>,
    /// Where the package is put [default: target/dist]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// What runs upstream's build; `auto` takes docker or podman, whichever runs
    #[arg(long, value_enum)]
    engine: Option<engine::Choice>,
    /// Base of the image that is built for the job
    #[arg(long, value_name = "IMAGE", conflicts_with = "image")]
    base_image: Option<String>,
    /// A ready image that has all that upstream's build needs
    #[arg(long, value_name = "IMAGE")]
    image: Option<String>,
    /// Stop after a stage: `patch` needs the lib-builder alone, `checkout` fetches everything
    #[arg(long, value_enum, value_name = "STAGE")]
    stop_after: Option<Stage>,
    /// Pack as small as possible, for releases
    #[arg(long)]
    best: bool,
    /// Say what would be done; fetches the release's pins where they are not at hand, and nothing else
    #[arg(long)]
    dry_run: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

impl BuildLibs {
    /// Carries the command out.
    ///
    /// # Errors
    /// Those of the stages; see the exit codes of [`crate::exit`].
    pub fn run(self) -> Result<()> {
        let options = self.decide(&super::config()?)?;
        let bar = ui::Bar::new(self.json);
        let report = |event: Event<'_>| bar.event(event);
        let pins = self
            .release
            .resolve(options.data_dir.as_deref(), &options.work.downloads(), &report)?;
        if self.dry_run {
            bar.finish();
            return dry_run::show(&pins, &options, self.json);
        }
        let outcome = pipeline::run(pins, &options, &report);
        bar.finish();
        let outcome = outcome?;
        if self.json {
            ui::println(&serde_json::to_string_pretty(&outcome)?)?;
        } else {
            print(&options, &outcome)?;
        }
        Ok(())
    }

    /// Turns flags and config into decided values; nothing is fetched.
    fn decide(&self, config: &Config) -> Result<Options> {
        let set = patchset::find(&self.patch)?;
        set.check_chip(&self.release.chip)?;
        let mirrors = self.mirrors.iter().chain(&config.mirrors).cloned().collect();
        Ok(Options {
            core: self.core()?,
            chip: self.release.chip.clone(),
            set,
            data_dir: self.release.data_dir()?.map(|found| found.path),
            mirrors: Mirrors::new(mirrors),
            offline: self.release.offline,
            work: super::work_dir(self.work_dir.as_deref(), config)?,
            out: self
                .out
                .clone()
                .unwrap_or_else(|| super::workspace().join("target").join("dist")),
            engine: self.engine(config)?,
            image: self.image(config),
            stop_after: self.stop_after,
            effort: if self.best { Effort::Best } else { Effort::Fast },
        })
    }

    /// The core version; the package carries it in its name, so what builds one must know it.
    fn core(&self) -> Result<CoreVersion> {
        match (&self.release.core, self.stop_after) {
            (None, Some(Stage::Pins | Stage::Checkout | Stage::Patch)) => {
                DEFAULT_CORE.parse().map_err(anyhow::Error::msg)
            }
            _ => self.release.core(),
        }
    }

    fn engine(&self, config: &Config) -> Result<engine::Choice> {
        match (&self.engine, &config.engine) {
            (Some(choice), _) => Ok(*choice),
            (None, None) => Ok(engine::Choice::Auto),
            (None, Some(name)) => <engine::Choice as clap::ValueEnum>::from_str(name, false).map_err(|_| {
                Refusal::Usage(format!(
                    "the config file's engine `{name}` is not one of auto, docker, podman, host"
                ))
                .into()
            }),
        }
    }

    fn image(&self, config: &Config) -> engine::Image {
        match (
            &self.image,
            self.base_image.as_ref().or(config.base_image.as_ref()),
        ) {
            (Some(ready), _) => engine::Image::Ready(ready.clone()),
            (None, Some(base)) => engine::Image::Ours { base: base.clone() },
            (None, None) => engine::Image::Ours {
                base: engine::DEFAULT_BASE.into(),
            },
        }
    }
}

/// The result for a person: what was pinned, what was changed, what came out.
fn print(options: &Options, outcome: &Outcome) -> Result<()> {
    ui::println(&format!(
        "core {}, {}, patch set {}",
        options.core, options.chip, options.set.name
    ))?;
    if !outcome.sources.is_empty() {
        let mut table = ui::table(&["source", "pinned as", "commit"]);
        for tree in &outcome.sources {
            table.add_row([&tree.name, &tree.refs.join(" "), &tree.commit]);
        }
        ui::println(&format!("\n{table}"))?;
    }
    if let Some(applied) = &outcome.applied {
        ui::println("")?;
        for line in &applied.lines {
            ui::println(&format!("  {}:{}  {}", line.file, line.line, line.after))?;
        }
    }
    if let Some(package) = &outcome.package {
        let files = package.manifest.files.len();
        ui::println(&format!("\n{}", package.zip.display()))?;
        ui::println(&format!("  {} in {files} files", ui::bytes(package.size)))?;
        ui::println(&format!("  SHA-256 {}", package.sha256))?;
    } else if let Some(tree) = &outcome.tree {
        ui::println(&format!("\nbuilt and checked, not packed: {}", tree.display()))?;
    } else if let Some(root) = &outcome.root {
        ui::println(&format!("\nsources: {}", root.display()))?;
    }
    Ok(())
}
