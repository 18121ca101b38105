//! `cargo xtask build-libs`.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use super::release_args::ReleaseArgs;
use super::{DEFAULT_CORE, dry_run};
use crate::audit::Ask;
use crate::build::quick::inputs;
use crate::config::{Config, Mirror};
use crate::engine;
use crate::exit::Refusal;
use crate::libs::manifest::BuildRecord;
use crate::names::CoreVersion;
use crate::package::{Effort, Package};
use crate::patchset;
use crate::pipeline::{self, Options, Outcome, Stage, Way};
use crate::progress::{Event, Report};
use crate::release::{self, Pins};
use crate::ui;
use crate::upstream::Mirrors;
use crate::workdir::WorkDir;

/// Build patched libraries for a core version and package them as a zip.
///
/// Reads the commits that the official libraries were built from, checks exactly these out, adds the patch set's lines to
/// the lib-builder's defconfig files, audits what they will do, runs upstream's own build in a container, checks what came
/// out, and packs it. The first time that takes hours; with --quick it is seconds, for a patch set that has a recipe for it.
/// The package, its SHA-256, its manifest and scripts that install it are left in the output folder.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Config file: what is repeated on every call can stand in config.toml in the folder esp32-xip-libs of your config folder \
(Linux: ~/.config/esp32-xip-libs/config.toml), or in the file that the variable XTASK_CONFIG names:

  work-dir = \"/data/xip\"
  engine = \"podman\"
  base-image = \"registry.example/debian:bookworm\"

  [[mirror]]
  from = \"https://github.com/\"
  to = \"/srv/git/\"

Examples:
  cargo xtask build-libs --quick
  cargo xtask build-libs
  cargo xtask build-libs --core 3.3.11 --best
  cargo xtask build-libs --stop-after patch --patch ~/my-set")]
pub struct BuildLibs {
    #[command(flatten)]
    release: ReleaseArgs,
    /// Patch set: a name listed by `patches`, or the path of a folder of your own
    #[arg(long, value_name = "NAME|DIR", default_value = patchset::DEFAULT)]
    patch: String,
    /// Replace a prefix of the git addresses, for example `https://github.com/=/srv/git/` (repeatable)
    #[arg(long = "mirror", value_name = "FROM=TO")]
    mirrors: Vec<Mirror>,
    /// Where mirrors, work trees and caches are kept [default: target/xip, or work-dir of the config file]
    #[arg(long, value_name = "DIR")]
    work_dir: Option<PathBuf>,
    /// Where the package is put [default: target/dist]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// What runs upstream's build; `auto` takes docker or podman, whichever runs [default: auto, or engine of the config
    /// file]
    #[arg(long, value_enum)]
    engine: Option<engine::Choice>,
    /// Base of the image that is built for the job [default: Debian 12 of a fixed date, or base-image of the
    /// config file]
    #[arg(long, value_name = "IMAGE", conflicts_with = "image")]
    base_image: Option<String>,
    /// A ready image that has all that upstream's build needs
    #[arg(long, value_name = "IMAGE")]
    image: Option<String>,
    /// Rebuild only the objects that the patch set changes, with the compiler that the Arduino core installed
    ///
    /// Takes seconds and needs no container. Every object is first rebuilt from the stock settings and compared with the
    /// official one; only if all agree are they rebuilt with the patch set's, and put into a copy of the stock libraries.
    /// Needs a patch set with a recipe for the release's ESP-IDF.
    #[arg(long, conflicts_with_all = ["engine", "image", "base_image"])]
    quick: bool,
    /// Stock libraries for --quick: a folder or an official zip [default: those installed, or set aside as .stock]
    #[arg(long, value_name = "DIR|ZIP", requires = "quick")]
    stock: Option<PathBuf>,
    /// Folder of the compiler for --quick [default: the tool that the installed core depends on]
    #[arg(long, value_name = "DIR", requires = "quick")]
    compiler_dir: Option<PathBuf>,
    /// Go on where a stock object does not come out as the official one; the package's name then says `unproven`
    #[arg(long, requires = "quick")]
    accept_unproven: bool,
    /// Build although this hazard of level error stands; `audit` tells the hazards of a patch set (repeatable)
    #[arg(long = "accept-hazard", value_name = "NAME", value_parser = super::audit::hazard_names())]
    accepted: Vec<String>,
    /// Whether the audit before a full build asks upstream's Kconfig, for which Python is needed
    #[arg(
        long,
        value_enum,
        value_name = "WHEN",
        default_value = "auto",
        conflicts_with = "quick"
    )]
    kconfig: Ask,
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
        let bar = ui::Bar::new(self.json);
        let report = |event: Event<'_>| bar.event(event);
        let options = self.decide(&super::config()?, &report)?;
        let pins = self.pins(&options, &report)?;
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
    fn decide(&self, config: &Config, report: Report<'_>) -> Result<Options> {
        let set = patchset::find(&self.patch)?;
        set.check_chip(&self.release.chip)?;
        let mirrors = self
            .mirrors
            .iter()
            .chain(&config.mirrors)
            .cloned()
            .collect();
        let core = self.core()?;
        let data_dir = self.release.data_dir(report)?.map(|found| found.path);
        let work = super::work_dir(self.work_dir.as_deref(), config)?;
        Ok(Options {
            way: self.way(config, &core, data_dir.as_deref(), &work, report)?,
            core,
            chip: self.release.chip.clone(),
            set,
            data_dir,
            mirrors: Mirrors::new(mirrors),
            offline: self.release.offline,
            work,
            out: self.out.clone().unwrap_or_else(super::output_folder),
            stop_after: self.stop_after,
            effort: if self.best {
                Effort::Best
            } else {
                Effort::Fast
            },
            accepted: self.accepted.clone(),
            ask_kconfig: self.kconfig,
        })
    }

    fn way(
        &self,
        config: &Config,
        core: &CoreVersion,
        data_dir: Option<&Path>,
        work: &WorkDir,
        report: Report<'_>,
    ) -> Result<Way> {
        if !self.quick {
            return Ok(Way::Full {
                engine: self.engine(config)?,
                image: self.image(config),
            });
        }
        if let Some(Stage::Checkout | Stage::Patch) = self.stop_after {
            bail!(Refusal::Usage(
                "--quick checks no lib-builder out and patches none; stop it after `pins` or `build`".into()
            ));
        }
        let data_dir = data_dir.unwrap_or(Path::new(""));
        let chip = &self.release.chip;
        Ok(Way::Quick {
            stock: inputs::stock(self.stock.as_deref(), data_dir, core, chip, work, report)?,
            compiler: inputs::compiler(self.compiler_dir.as_deref(), data_dir, core, chip, report)?,
            accept_unproven: self.accept_unproven,
        })
    }

    /// The pins: a quick build's stand in the stock libraries that it starts from.
    fn pins(&self, options: &Options, report: Report<'_>) -> Result<Pins> {
        let downloads = options.work.downloads();
        match &options.way {
            Way::Quick { stock, .. } if self.release.versions.is_none() => {
                let request = release::Request {
                    core: &options.core,
                    chip: &options.chip,
                    versions: Some(&stock.versions),
                    data_dir: None,
                    index: None,
                    offline: true,
                    downloads: &downloads,
                };
                let pins = release::resolve(&request, report)?;
                Ok(Pins {
                    core: Some(options.core.clone()),
                    ..pins
                })
            }
            _ => self
                .release
                .resolve(options.data_dir.as_deref(), &downloads, report),
        }
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
            (None, Some(name)) => <engine::Choice as clap::ValueEnum>::from_str(name, false)
                .map_err(|_| {
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
    let mut table = ui::table(&["source", "pinned as", "commit"]);
    if options.stop_after == Some(Stage::Pins) {
        for pin in &outcome.pins.sources {
            table.add_row([&pin.name, &pin.refs.join(" "), &pin.commit]);
        }
    }
    for tree in &outcome.sources {
        table.add_row([&tree.name, &tree.refs.join(" "), &tree.commit]);
    }
    if !table.is_empty() {
        ui::println(&format!("\n{}", table.trim_fmt()))?;
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
        ui::println(
            "  for people without Rust: install.cmd, install.sh and install.command beside it",
        )?;
        if let BuildRecord::Quick {
            members, proven, ..
        } = &package.manifest.build
        {
            let proof = if *proven {
                "after each was reproduced from stock settings"
            } else {
                "UNPROVEN"
            };
            ui::println(&format!(
                "  {} archive members rebuilt, {proof}; the rest is stock",
                members.len()
            ))?;
        }
        ui::println(&format!("\nNext: {}", install_command(package)))?;
    } else if let Some(tree) = &outcome.tree {
        ui::println(&format!(
            "\nbuilt and checked, not packed: {}",
            tree.display()
        ))?;
    } else if let Some(root) = &outcome.root {
        ui::println(&format!("\nsources: {}", root.display()))?;
    }
    Ok(())
}

/// The command that installs what was built; a package where it is looked for need not be named.
fn install_command(package: &Package) -> String {
    if package.zip.parent() == dunce::canonicalize(super::output_folder()).ok().as_deref() {
        let core = &package.manifest.core;
        return super::again::install(None, core, &package.manifest.chip);
    }
    let zip = package.zip.display().to_string();
    format!("cargo xtask install --zip {}", shell_words::quote(&zip))
}
