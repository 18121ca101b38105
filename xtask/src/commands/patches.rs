//! `cargo xtask patches`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Serialize;

use crate::audit::{self, Finding};
use crate::names::Chip;
use crate::patchset::{self, AppliedLine, Hazard, PatchSet};
use crate::ui;

/// List the patch sets that come with the tool, or show one and check it.
#[derive(Debug, clap::Args)]
pub struct Patches {
    /// A set that comes with the tool, or the path of a folder of your own; its lines are checked
    #[arg(value_name = "NAME|PATH")]
    name: Option<String>,
    /// Also try the set on this checked out lib-builder and change nothing: where each line would stand, what it would not
    /// reach, whether the ESP-IDF in it knows the symbols
    #[arg(long, value_name = "DIR", requires = "name")]
    lib_builder: Option<PathBuf>,
    /// The chip whose builds the set is tried on
    #[arg(long, default_value = "esp32s3", requires = "lib_builder")]
    chip: Chip,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// A patch set as it is shown.
#[derive(Debug, Serialize)]
struct Shown {
    name: String,
    default: bool,
    place: String,
    summary: String,
    chips: Vec<Chip>,
    suffix: String,
    hazard: Option<Hazard>,
    /// File of upstream's `configs/` -> lines.
    lines: BTreeMap<String, Vec<String>>,
    /// The lines of upstream's that it takes the place of.
    replaces: Vec<String>,
    expected: Vec<Expected>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tried: Option<Tried>,
}

#[derive(Debug, Serialize)]
struct Expected {
    variant: String,
    symbols: BTreeMap<String, String>,
}

/// What trying it on a lib-builder showed.
#[derive(Debug, Serialize)]
struct Tried {
    lines: Vec<AppliedLine>,
    warnings: Vec<String>,
    /// By the lines alone; `audit` asks Kconfig.
    hazards: Vec<Finding>,
    /// How many symbols the sources know for the chip; `None` where no ESP-IDF is checked out.
    known_symbols: Option<usize>,
}

impl Patches {
    /// Carries the command out.
    pub fn run(self) -> Result<()> {
        let Some(name) = &self.name else {
            let sets: Vec<Shown> = patchset::list()?.iter().map(Shown::new).collect();
            let texts: Vec<String> = sets.iter().map(Shown::text).collect();
            return self.print(&sets, texts.join("\n"));
        };
        let set = patchset::find(name)?;
        let mut shown = Shown::new(&set);
        if let Some(dir) = &self.lib_builder {
            shown.tried = Some(Tried::new(&set, dir, &self.chip)?);
        }
        self.print(&shown, shown.text())
    }

    fn print(&self, value: &impl Serialize, text: String) -> Result<()> {
        if self.json {
            let json = serde_json::to_string_pretty(value).context("writing JSON")?;
            ui::println(&json)?;
        } else {
            ui::print(&text)?;
        }
        Ok(())
    }
}

impl Tried {
    fn new(set: &PatchSet, lib_builder: &Path, chip: &Chip) -> Result<Self> {
        let known_symbols = if lib_builder.join("esp-idf").exists() {
            Some(set.check_symbols(lib_builder, chip)?.count())
        } else {
            None
        };
        Ok(Self {
            lines: set.plan(lib_builder, chip)?.lines,
            warnings: set.warnings(lib_builder, chip)?,
            hazards: audit::hazards_of_lines(set, lib_builder, chip)?,
            known_symbols,
        })
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for line in &self.lines {
            let state = match &line.before {
                None => String::new(),
                Some(before) if *before == line.after => " (stands there already)".to_owned(),
                Some(before) => format!(" (in place of `{before}`)"),
            };
            entry(
                &mut text,
                "would stand",
                &format!("{}:{} {}{state}", line.file, line.line, line.after),
            );
        }
        for warning in &self.warnings {
            entry(&mut text, "warning", warning);
        }
        for hazard in &self.hazards {
            entry(&mut text, &hazard.level.to_string(), &hazard.to_string());
        }
        let symbols = match self.known_symbols {
            Some(count) => format!("all known to the sources ({count} symbols)"),
            None => "not looked up: no esp-idf is checked out in that folder".to_owned(),
        };
        entry(&mut text, "symbols", &symbols);
        text
    }
}

impl Shown {
    fn new(set: &PatchSet) -> Self {
        Self {
            name: set.name.clone(),
            default: set.name == patchset::DEFAULT,
            place: set.place.clone(),
            summary: set.summary.clone(),
            chips: set.chips.clone(),
            suffix: set.suffix.clone(),
            hazard: set.hazard.clone(),
            lines: set.record().lines,
            replaces: set
                .replaces
                .iter()
                .map(|replace| {
                    format!(
                        "{}={} in {}, by {}",
                        replace.symbol, replace.value, replace.file, replace.by
                    )
                })
                .collect(),
            expected: set
                .expects
                .iter()
                .map(|expect| Expected {
                    variant: expect.variant.to_string(),
                    symbols: expect
                        .symbols
                        .iter()
                        .map(|(symbol, value)| (symbol.clone(), value.to_string()))
                        .collect(),
                })
                .collect(),
            tried: None,
        }
    }

    fn text(&self) -> String {
        let default = if self.default { " (default)" } else { "" };
        let mut text = format!("{}{default}\n", self.name);
        entry(&mut text, "summary", &self.summary);
        let chips: Vec<&str> = self.chips.iter().map(Chip::as_str).collect();
        entry(&mut text, "chips", &chips.join(", "));
        for (file, lines) in &self.lines {
            entry(&mut text, file, &lines.join("\n"));
        }
        for replace in &self.replaces {
            entry(&mut text, "replaces", replace);
        }
        for expected in &self.expected {
            let symbols: Vec<String> = expected
                .symbols
                .iter()
                .map(|(symbol, value)| format!("{symbol}={value}"))
                .collect();
            entry(
                &mut text,
                &format!("expected of {}", expected.variant),
                &symbols.join("\n"),
            );
        }
        if let Some(hazard) = &self.hazard {
            entry(&mut text, "hazard", &hazard.text);
            entry(&mut text, "because", &hazard.reason);
        }
        if let Some(tried) = &self.tried {
            text.push_str(&tried.text());
        }
        text
    }
}

/// One or more lines under a label.
fn entry(text: &mut String, label: &str, value: &str) {
    let mut label = label;
    for line in value.lines().flat_map(|line| ui::fold(line, 23)) {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {label:<20} {line}");
        label = "";
    }
}
