//! `cargo xtask demo`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Result;

use super::{DEFAULT_CHIP, DEFAULT_CORE};
use crate::demo::quick::Quick;
use crate::demo::swapped::Swapped;
use crate::demo::{self, Options, Played, SERVER, difference::Difference, difference::What};
use crate::engine;
use crate::libs::manifest::BuildRecord;
use crate::progress::Event;
use crate::swap::{Content, CoreState, Move};
use crate::ui;

/// Build and package patched libraries of a small upstream that comes with the tool; no network is used
///
/// Makes real git repositories and a released core of it, then runs the stages of build-libs on them: pins, checkout,
/// patch, build, checks, package; and shows what changed between the stock and the patched libraries. Then it builds the
/// same the quick way and compares, installs the package into a data folder of its own, and puts the stock libraries back. It compiles with this machine's C compiler, or in a container with --engine (then
/// without the quick way). A second run uses what the first one made.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cargo xtask demo
  cargo xtask demo --dir ~/xip-demo
  cargo xtask demo --engine podman --image localhost/with-a-compiler")]
pub struct Demo {
    /// Folder for all that it makes [default: target/demo]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// What runs the sample's builds
    #[arg(long, value_enum, default_value = "host")]
    engine: engine::Choice,
    /// A ready image that has a shell, a C compiler and `ar`
    #[arg(long, value_name = "IMAGE")]
    image: Option<String>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

impl Demo {
    /// Carries the command out.
    ///
    /// # Errors
    /// As [`demo::play`].
    pub fn run(self) -> Result<()> {
        let engine = self.engine_words();
        let options = Options {
            dir: self
                .dir
                .unwrap_or_else(|| super::workspace().join("target").join("demo")),
            core: DEFAULT_CORE.parse().map_err(anyhow::Error::msg)?,
            chip: DEFAULT_CHIP.parse().map_err(anyhow::Error::msg)?,
            engine: self.engine,
            image: match self.image {
                Some(ready) => engine::Image::Ready(ready),
                None => engine::Image::Ours {
                    base: engine::DEFAULT_BASE.to_owned(),
                },
            },
        };
        let bar = ui::Bar::new(self.json);
        let played = demo::play(&options, &|event: Event<'_>| bar.event(event));
        bar.finish();
        let played = played?;
        if self.json {
            ui::println(&serde_json::to_string_pretty(&played)?)?;
        } else {
            ui::println(&shown(&played, &engine))?;
        }
        Ok(())
    }

    /// The engine as it is asked for on the command line of build-libs.
    fn engine_words(&self) -> String {
        let name = clap::ValueEnum::to_possible_value(&self.engine);
        let name = name.map_or_else(String::new, |value| {
            format!("--engine {}", value.get_name())
        });
        match &self.image {
            Some(image) => format!("{name} --image {}", shell_words::quote(image)),
            None => name,
        }
    }
}

/// The result for a person; `engine` is how build-libs is asked for the same engine.
fn shown(played: &Played, engine: &str) -> String {
    let mut parts = vec![format!("Stock libraries: {}", played.stock.display())];
    if let Some(applied) = &played.outcome.applied {
        let lines = applied
            .lines
            .iter()
            .map(|line| format!("\n  {}:{}  {}", line.file, line.line, line.after));
        parts.push(format!(
            "Lines of the patch set {}:{}",
            applied.set,
            lines.collect::<String>()
        ));
    }
    parts.push(difference(&played.difference));
    if let Some(package) = &played.outcome.package {
        parts.push(format!(
            "Package: {}\n  {} in {} files, SHA-256 {}",
            package.zip.display(),
            ui::bytes(package.size),
            package.manifest.files.len(),
            package.sha256
        ));
    }
    if let Some(quick) = &played.quick {
        parts.push(quick_way(quick));
    }
    parts.push(swapped(&played.swapped));
    parts.push(next(played, engine));
    parts.join("\n\n")
}

fn difference(difference: &Difference) -> String {
    let mut text = format!(
        "From stock to patched: {} files the same, {} changed, {} added, {} removed",
        difference.same,
        difference.changed.len(),
        difference.added.len(),
        difference.removed.len()
    );
    for (sign, paths) in [("+", &difference.added), ("-", &difference.removed)] {
        for path in paths {
            text += &format!("\n  {sign} {path}");
        }
    }
    let mut table = ui::table(&["changed file", "before", "after", "archive members"]);
    let mut configs: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for changed in &difference.changed {
        let members = match &changed.what {
            What::Members(members) => members.join(", "),
            What::Lines { added, removed } => {
                let signed = |sign: &str, lines: &[String]| -> String {
                    lines
                        .iter()
                        .map(|line| format!("\n  {sign} {line}"))
                        .collect()
                };
                let lines = signed("+", added) + &signed("-", removed);
                configs.entry(lines).or_default().push(&changed.path);
                continue;
            }
            What::Content => String::new(),
        };
        table.add_row([
            changed.path.clone(),
            ui::bytes(changed.before),
            ui::bytes(changed.after),
            members,
        ]);
    }
    if !table.is_empty() {
        text += &format!("\n\n{}", table.trim_fmt());
    }
    for (lines, paths) in configs {
        text += &format!("\n\n{}{lines}", paths.join("\n"));
    }
    text
}

/// What the quick build gave, beside the full one.
fn quick_way(quick: &Quick) -> String {
    let members = match &quick.package.manifest.build {
        BuildRecord::Quick { members, .. } => members.len(),
        BuildRecord::Full { .. } => 0,
    };
    format!(
        "The quick way: {}\n  {members} archive members reproduced, rebuilt and replaced in {:.1} s; {}",
        quick.package.zip.display(),
        quick.seconds,
        if quick.comparison.same {
            "code, data and all other files agree with the full build's"
        } else {
            "the result is NOT the full build's: see cargo xtask compare"
        }
    )
}

/// What install and revert did.
fn swapped(swapped: &Swapped) -> String {
    let stands = |cores: &[CoreState]| -> String {
        let line = |core: &CoreState| {
            let kept = match &core.stock {
                Content::Missing => String::new(),
                stock => format!("; {}.stock: {}", core.core, stock.summary()),
            };
            format!("\n  then  {}: {}{kept}", core.core, core.active.summary())
        };
        cores.iter().map(line).collect()
    };
    let moves = |moves: &[Move]| -> String {
        let line = |step: &Move| format!("\n  renamed  {} -> {}", step.from, step.to);
        moves.iter().map(line).collect()
    };
    format!(
        "Installed in {}, every file verified:{}{}\nReverted:{}{}",
        swapped.installed.place.tools.display(),
        moves(&swapped.installed.moves),
        stands(&swapped.after_install),
        moves(&swapped.reverted.moves),
        stands(&swapped.after_revert)
    )
}

/// The same by hand.
fn next(played: &Played, engine: &str) -> String {
    let data_dir = quoted(&played.data_dir);
    let mirror = shell_words::quote(&format!("{SERVER}={}/", played.git.display())).into_owned();
    format!(
        "The same by hand, as with the real upstream:\n  cargo xtask pins --data-dir {data_dir}\n  \
         cargo xtask audit --data-dir {data_dir} --mirror {mirror}\n  \
         cargo xtask build-libs --data-dir {data_dir} --mirror {mirror} {engine}\n  \
         cargo xtask build-libs --data-dir {data_dir} --mirror {mirror} --quick\n  \
         cargo xtask install --data-dir {data_dir}\n  \
         cargo xtask install --data-dir {data_dir} --revert"
    )
}

fn quoted(path: &std::path::Path) -> String {
    shell_words::quote(&path.display().to_string()).into_owned()
}
