//! `cargo xtask status`.

use std::path::PathBuf;

use anyhow::{Result, bail};
use serde::Serialize;

use crate::arduino::caches::Kind;
use crate::arduino::{DataDir, Search, Surroundings};
use crate::exit::Refusal;
use crate::names::{Chip, CoreVersion};
use crate::progress::Event;
use crate::status::{self, Question, Status};
use crate::swap::menu::MENU;
use crate::swap::{Content, CoreState, Depth};
use crate::ui;

/// Say which libraries stand in the Arduino installations, and whether they are whole.
///
/// Every core version and chip is looked at: stock, patched (by which set, when), patched by hand, mixed or damaged, what is
/// set aside, the menu of `install --as menu`, runs that were cut off, and builds that the programs keep. Nothing is changed.
///
/// Without --verify names and sizes are looked at, and the exit code is 0 whatever is found.
///
/// Exit code 3: with --verify, where libraries are damaged or of two builds. Files that do not belong there are no damage.
#[derive(Debug, clap::Args)]
pub struct StatusCommand {
    /// Only this version of the Arduino core for ESP32
    #[arg(long, value_name = "VERSION")]
    core: Option<CoreVersion>,
    /// Only this chip
    #[arg(long, value_name = "CHIP")]
    chip: Option<Chip>,
    /// Data folder of the Arduino programs [default: every one that holds the core]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Read every file and hold its SHA-256 against manifest or record; else names and sizes are looked at
    #[arg(long)]
    verify: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Answer<'a> {
    /// Whether every file was read.
    verified: bool,
    installations: &'a [Status],
}

impl StatusCommand {
    /// Carries the command out.
    ///
    /// # Errors
    /// As [`Search::run`] and [`status::look`]; [`Refusal::Check`] with `--verify` where libraries are damaged.
    pub fn run(self) -> Result<()> {
        let bar = ui::Bar::new(self.json);
        let report = |event: Event<'_>| bar.event(event);
        let surroundings = Surroundings::here();
        let search = Search::run(self.data_dir.as_deref(), &surroundings, &report)?;
        let dirs = dirs(&search);
        if dirs.is_empty() {
            bail!(Refusal::Usage(
                "no home folder is known, so there is no default data folder; give --data-dir DIR"
                    .into()
            ));
        }
        let question = Question {
            core: self.core.as_ref(),
            chip: self.chip.as_ref(),
            depth: if self.verify {
                Depth::Full
            } else {
                Depth::Quick
            },
        };
        if self.verify {
            report(Event::Step("read every file"));
        }
        let mut installations = Vec::new();
        for dir in dirs {
            let (places, sketchbook) =
                status::surroundings_of(&dir.path, &search.configs, &surroundings);
            installations.push(status::look(
                dir,
                &question,
                sketchbook.as_deref(),
                &places,
                &report,
            )?);
        }
        bar.finish();
        if self.json {
            let answer = Answer {
                verified: self.verify,
                installations: &installations,
            };
            ui::println(&serde_json::to_string_pretty(&answer)?)?;
        } else {
            let shown: Vec<String> = installations.iter().map(shown).collect();
            ui::println(&shown.join("\n\n"))?;
        }
        if self.verify && installations.iter().any(Status::has_damage) {
            bail!(Refusal::Check(
                "libraries are not whole; the lines above say which files".into()
            ));
        }
        Ok(())
    }
}

/// The folder that the user named, else all that hold a core; the default one where none does.
fn dirs(search: &Search) -> Vec<DataDir> {
    let main = search.main.iter();
    match &search.main {
        Some(named) if named.found_by.is_named() => vec![named.clone()],
        Some(default) if !default.path.is_dir() && !search.others.is_empty() => {
            search.others.clone()
        }
        _ => main.chain(&search.others).cloned().collect(),
    }
}

fn shown(status: &Status) -> String {
    let mut lines = vec![format!(
        "Arduino data folder: {} ({})",
        status.data_dir.path.display(),
        status.data_dir.found_by
    )];
    let rows = rows(status);
    if rows.is_empty() {
        let nothing = "no ESP32 core with libraries of their own for each chip (3.3.6 or later) is installed here";
        lines.extend([String::new(), nothing.to_owned()]);
    } else {
        let mut table = ui::table(&["core", "chip", "libraries"]);
        for row in rows {
            table.add_row(row);
        }
        lines.extend([String::new(), table.trim_fmt()]);
    }
    lines.extend(caches(status));
    if !status.notes.is_empty() {
        lines.push(String::new());
    }
    for note in &status.notes {
        let mut pieces = ui::fold(note, 2).into_iter();
        lines.extend(pieces.next().map(|piece| format!("- {piece}")));
        lines.extend(pieces.map(|piece| format!("  {piece}")));
    }
    lines.join("\n")
}

/// Core, chip, what stands there; chips that nobody ever changed share a row.
fn rows(status: &Status) -> Vec<[String; 3]> {
    let mut rows = Vec::new();
    let mut versions: Vec<&CoreVersion> = status
        .tools
        .iter()
        .flat_map(|state| &state.cores)
        .map(|core| &core.core)
        .collect();
    versions.extend(status.menus.iter().map(|menu| &menu.offer.core));
    versions.extend(
        status
            .cores
            .iter()
            .filter(|core| !core.chips().is_empty())
            .map(|core| &core.version),
    );
    versions.sort_by(|a, b| b.semver().cmp(a.semver()));
    versions.dedup();
    for version in versions {
        let installed = status.core(version).is_some();
        let name = match installed {
            true => version.to_string(),
            false => format!("{version} (not installed)"),
        };
        let mut untouched = Vec::new();
        for state in &status.tools {
            let Some(core) = state.cores.iter().find(|core| core.core == *version) else {
                continue;
            };
            if core.asides.is_empty()
                && core.stock == Content::Missing
                && matches!(
                    core.active,
                    Content::Stock {
                        recorded: false,
                        ..
                    }
                )
            {
                untouched.push(state.chip.to_string());
                continue;
            }
            for line in of_core(core) {
                rows.push([name.clone(), state.chip.to_string(), line]);
            }
        }
        for missing in status
            .missing
            .iter()
            .filter(|missing| missing.core == *version)
        {
            let line = "missing; remove and install the core in the Boards Manager".to_owned();
            rows.push([name.clone(), missing.chip.to_string(), line]);
        }
        for menu in status
            .menus
            .iter()
            .filter(|menu| menu.offer.core == *version)
        {
            let option = match menu.in_menu {
                true => format!("in the menu as {MENU}={}", menu.offer.suffix),
                false => format!("for the menu, {}", menu.offer.suffix),
            };
            let line = format!(
                "{option}: {}{}",
                menu.content.summary(),
                when(&menu.content)
            );
            rows.push([name.clone(), menu.offer.chip.to_string(), line]);
        }
        calm(&mut rows);
        if !untouched.is_empty() {
            let line = Content::Stock {
                recorded: false,
                read: false,
                extra: Vec::new(),
            };
            rows.push([name, untouched.join(" "), line.summary()]);
        }
    }
    rows
}

/// Leaves out what the row above says already.
fn calm(rows: &mut [[String; 3]]) {
    for index in (1..rows.len()).rev() {
        let above = [rows[index - 1][0].clone(), rows[index - 1][1].clone()];
        if rows[index][..2] == above {
            rows[index][0].clear();
            rows[index][1].clear();
        }
    }
}

fn of_core(core: &CoreState) -> Vec<String> {
    let mut lines = Vec::new();
    match (&core.active, &core.stock) {
        (Content::Missing, _) => {}
        (active, _) => lines.push(format!("{}{}", active.summary(), when(active))),
    }
    if let Content::Patched(patched) = &core.active
        && let Some(set) = &patched.patch_set
    {
        for (file, set) in &set.lines {
            lines.extend(set.iter().map(|line| format!("  {file}: {line}")));
        }
    }
    if core.stock != Content::Missing {
        lines.push(format!(
            "kept as {}.stock: {}",
            core.core,
            core.stock.summary()
        ));
    }
    for aside in &core.asides {
        lines.push(format!(
            "set aside as {}.{}: {}",
            core.core,
            aside.suffix,
            aside.content.summary()
        ));
    }
    lines
}

fn when(content: &Content) -> String {
    match content {
        Content::Patched(patched) => match &patched.installed {
            Some(record) => format!(", installed {} by {}", record.installed, record.by),
            None => ", unpacked by hand".to_owned(),
        },
        _ => String::new(),
    }
}

/// A line on the builds that the programs keep.
fn caches(status: &Status) -> Vec<String> {
    if status.caches.is_empty() {
        return Vec::new();
    }
    let count = |stale: bool, kind: Kind| {
        let all = status.caches.iter();
        all.filter(|kept| kept.entry.kind == kind && (!stale || kept.may_be_stale))
            .count()
    };
    let bytes = status.caches.iter().map(|kept| kept.entry.bytes).sum();
    let mut lines = vec![
        String::new(),
        format!(
            "The Arduino programs keep builds of this core: {} compiled cores, {} sketches, {}",
            count(false, Kind::Core),
            count(false, Kind::Sketch),
            ui::bytes(bytes)
        ),
    ];
    let stale = count(true, Kind::Core) + count(true, Kind::Sketch);
    if stale > 0 {
        lines.push(format!(
            "{stale} of them are older than the last change of the libraries and may have been compiled against others:"
        ));
        let paths = status.caches.iter().filter(|kept| kept.may_be_stale);
        lines.extend(paths.map(|kept| format!("  {}", kept.entry.path.display())));
    }
    lines
}
