//! Which lines reach which build, and which of them win there.
//!
//! build.sh hands idf.py a list of defconfig files for every build; the last assignment over all of them wins.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use fs_err as fs;

use super::{PatchSet, SetLine, Verdict, defconfig};
use crate::libs::Value;
use crate::libs::layout::{Build, Layout};

/// The texts of all defconfig files that a chip's builds read.
#[derive(Debug, Clone)]
pub struct Stack(BTreeMap<String, String>);

/// The assignment of a symbol that decides in a build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Winner {
    /// Defconfig file relative to the lib-builder.
    pub file: String,
    /// Line number, from 1.
    pub line: usize,
    /// The line.
    pub text: String,
    /// The right-hand side, `n` for `is not set`.
    pub value: String,
}

impl std::fmt::Display for Winner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{} `{}`", self.file, self.line, self.text)
    }
}

/// A symbol whose effect needs another one, where the chip's Kconfig files or start-up code say so.
struct Need {
    symbols: &'static [&'static str],
    needs: &'static str,
    /// Whether `needs` is on where no line sets it.
    on_by_default: bool,
    says: &'static str,
}

const NEEDS: [Need; 2] = [
    // ESP-IDF components/esp_psram/esp32s3/Kconfig.spiram: SPIRAM_ECC_ENABLE depends on SPIRAM_MODE_OCT.
    Need {
        symbols: &["CONFIG_SPIRAM_ECC_ENABLE"],
        needs: "CONFIG_SPIRAM_MODE_OCT",
        on_by_default: false,
        says: "Kconfig drops it there without a word, because ECC depends on octal PSRAM",
    },
    // ESP-IDF components/esp_system/port/cpu_start.c and components/spi_flash/spi_flash_os_func_app.c.
    Need {
        symbols: &[
            "CONFIG_SPIRAM_XIP_FROM_PSRAM",
            "CONFIG_SPIRAM_FETCH_INSTRUCTIONS",
            "CONFIG_SPIRAM_RODATA",
        ],
        needs: "CONFIG_SPIRAM_BOOT_INIT",
        on_by_default: true,
        says: "PSRAM is not initialised at boot there, so the program stays in flash while the flash driver is built to \
               leave the cache on during writes",
    },
];

impl Stack {
    /// Reads every defconfig file that the builds of `layout` name. A text in `overlay` (by file name) goes before the file.
    pub fn read(layout: &Layout, overlay: &BTreeMap<String, String>) -> Result<Self> {
        let mut texts = overlay.clone();
        for file in layout.builds.iter().flat_map(|build| &build.layers) {
            if !texts.contains_key(file) {
                let text = fs::read_to_string(layout.configs.join(file))
                    .with_context(|| format!("builds.json names {file} for {}", layout.chip))?;
                texts.insert(file.clone(), text);
            }
        }
        Ok(Self(texts))
    }

    /// The last assignment of `symbol` in the layers of `build`.
    pub fn winner(&self, build: &Build, symbol: &str) -> Option<Winner> {
        self.last(build, |name, _| name == symbol)
    }

    /// The last assignment in the layers of `build` for which `asked` (of symbol and value) is true.
    pub fn last(&self, build: &Build, asked: impl Fn(&str, &str) -> bool) -> Option<Winner> {
        build.layers.iter().rev().find_map(|file| {
            let lines = defconfig::lines(self.0.get(file)?);
            lines.iter().enumerate().rev().find_map(|(index, line)| {
                let (_, value) =
                    defconfig::assignment(line.text).filter(|(name, value)| asked(name, value))?;
                Some(Winner {
                    file: format!("configs/{file}"),
                    line: index + 1,
                    text: line.text.trim_end().to_owned(),
                    value: value.to_owned(),
                })
            })
        })
    }

    /// Lines of `set` that no build of the chip reads, or that win in none of those that read them.
    pub(crate) fn powerless(&self, layout: &Layout, set: &PatchSet) -> Vec<Verdict> {
        let mut verdicts = Vec::new();
        for (file, line) in set_lines(set) {
            let readers: Vec<&Build> = layout
                .builds
                .iter()
                .filter(|build| build.layers.contains(file))
                .collect();
            let losses: Vec<Winner> = readers
                .iter()
                .filter_map(|build| self.taken_back(build, line))
                .collect();
            let text = match losses.first() {
                _ if readers.is_empty() => format!("no build of {} reads {file}", layout.chip),
                Some(winner) if losses.len() == readers.len() => {
                    format!(
                        "`{}` has no effect: in every build that reads it a later line wins, {winner}",
                        line.text
                    )
                }
                _ => continue,
            };
            verdicts.push(Verdict {
                place: format!("{}/{file}:{}", set.place, line.number),
                text,
            });
        }
        verdicts
    }

    /// What is worth telling of `set` in these builds.
    pub(crate) fn warnings(&self, layout: &Layout, set: &PatchSet) -> Vec<String> {
        let mut warnings = Vec::new();
        for (file, line) in set_lines(set) {
            let readers = || {
                layout
                    .builds
                    .iter()
                    .filter(|build| build.layers.contains(file))
            };
            let lost: Vec<(&Build, Winner)> = readers()
                .filter_map(|build| Some((build, self.taken_back(build, line)?)))
                .filter(|(_, winner)| !own(set, &winner.file, &line.symbol))
                .collect();
            if let Some((_, winner)) = lost.first() {
                let builds = names(lost.iter().map(|(build, _)| *build));
                warnings.push(format!(
                    "`{}` of {file} has no effect in {builds}: a later line wins, {winner}",
                    line.text
                ));
            }
            for need in NEEDS
                .iter()
                .filter(|need| need.symbols.contains(&line.symbol.as_str()))
            {
                let unmet: Vec<&Build> = readers()
                    .filter(|build| build.variant().is_some() && line.value == Value::Bool(true))
                    .filter(|build| {
                        self.taken_back(build, line).is_none() && !self.met(build, need)
                    })
                    .collect();
                if !unmet.is_empty() {
                    warnings.push(format!(
                        "`{}` of {file} reaches {}: {}",
                        line.text,
                        names(unmet),
                        need.says
                    ));
                }
            }
        }
        warnings
    }

    /// The line that wins over `line` in a build that reads it, where that one says otherwise.
    fn taken_back(&self, build: &Build, line: &SetLine) -> Option<Winner> {
        self.winner(build, &line.symbol)
            .filter(|winner| Value::parse(&winner.value).as_ref() != Some(&line.value))
    }

    fn met(&self, build: &Build, need: &Need) -> bool {
        match self.winner(build, need.needs) {
            Some(winner) => winner.value == "y",
            None => need.on_by_default,
        }
    }
}

/// Every line of the set with its file.
fn set_lines(set: &PatchSet) -> impl Iterator<Item = (&String, &SetLine)> {
    set.files
        .iter()
        .flat_map(|(file, lines)| lines.iter().map(move |line| (file, line)))
}

/// Whether the set itself assigns `symbol` in that file of the lib-builder.
fn own(set: &PatchSet, file: &str, symbol: &str) -> bool {
    set_lines(set)
        .any(|(own, line)| file.strip_prefix("configs/") == Some(own) && line.symbol == symbol)
}

fn names<'a>(builds: impl IntoIterator<Item = &'a Build>) -> String {
    let names: Vec<String> = builds.into_iter().map(Build::name).collect();
    names.join(", ")
}
