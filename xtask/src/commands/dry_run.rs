//! `cargo xtask build-libs --dry-run`: what the run would do, said before sources are fetched or anything is built.

use std::path::PathBuf;

use anyhow::Result;
use serde::Serialize;

use crate::build::quick;
use crate::engine::Engine;
use crate::package;
use crate::patchset::PatchSet;
use crate::pipeline::{Options, Stage, Way};
use crate::release::Pins;
use crate::ui;
use crate::upstream::{self, Needed};

/// What the run would do.
#[derive(Debug, Serialize)]
struct Preview {
    /// Repositories that it would fetch, or take from the work folder where they are there.
    sources: Vec<Needed>,
    /// What would change: lines of defconfig files, or archive members of the quick build.
    changes: Vec<String>,
    /// What would run the build, or compile the objects of a quick one; `None` where it stops before.
    engine: Option<String>,
    /// Where everything but the package would be.
    work_dir: PathBuf,
    /// The package that would be written or replaced; `None` where it stops before.
    package: Option<PathBuf>,
}

/// Prints the preview.
///
/// # Errors
/// Those that the run itself would meet first: unusable pins, no engine.
pub(super) fn show(pins: &Pins, options: &Options, json: bool) -> Result<()> {
    let preview = preview(pins, options)?;
    if json {
        ui::println(&serde_json::to_string_pretty(&preview)?)?;
        return Ok(());
    }
    let mut table = ui::table(&["source", "pinned as", "commit", "from"]);
    for source in &preview.sources {
        table.add_row([
            source.name,
            &source.refs.join(" "),
            &source.commit,
            &source.address,
        ]);
    }
    ui::println(&format!("{}\n", table.trim_fmt()))?;
    for change in &preview.changes {
        ui::println(&format!("would change {change}"))?;
    }
    ui::println(&format!("would use    {}", preview.work_dir.display()))?;
    if let Some(engine) = &preview.engine {
        ui::println(&format!("would run    {engine}"))?;
    }
    if let Some(package) = &preview.package {
        ui::println(&format!("would pack   {}", package.display()))?;
    }
    Ok(())
}

fn preview(pins: &Pins, options: &Options) -> Result<Preview> {
    let builds = matches!(options.stop_after, None | Some(Stage::Build));
    let (engine, only) = match &options.way {
        Way::Full { engine, .. } if builds => {
            (Some(Engine::find(*engine)?.name().to_owned()), None)
        }
        Way::Full { .. } => (None, None),
        Way::Quick { compiler, .. } => (
            Some(compiler.program.display().to_string()),
            Some("esp-idf"),
        ),
    };
    let stem = package::stem(&options.chip, &options.core, &options.set.record())?;
    let mut sources = upstream::needed(pins, &options.mirrors)?;
    match options.stop_after {
        Some(Stage::Pins) => sources.clear(),
        Some(Stage::Patch) => sources.truncate(1),
        _ => sources.retain(|source| only.is_none_or(|only| source.name == only)),
    }
    Ok(Preview {
        sources,
        changes: match &options.way {
            Way::Full { .. } => lines(&options.set),
            Way::Quick { stock, .. } => quick::members(&options.set, &stock.tree)?,
        },
        engine,
        work_dir: options.work.root().to_owned(),
        package: options
            .stop_after
            .is_none()
            .then(|| options.out.join(format!("{stem}.zip"))),
    })
}

fn lines(set: &PatchSet) -> Vec<String> {
    let record = set.record();
    let by_file = record.lines.iter();
    by_file
        .flat_map(|(file, lines)| {
            lines
                .iter()
                .map(move |line| format!("configs/{file}: {line}"))
        })
        .collect()
}
