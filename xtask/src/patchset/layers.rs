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

    /// The text of a defconfig file that a build of the layout reads.
    pub fn text(&self, file: &str) -> Option<&str> {
        self.0.get(file).map(String::as_str)
    }

    /// Every assignment in the layers of `build`, symbol and value, in the order in which Kconfig reads them.
    pub fn assignments<'a>(&'a self, build: &'a Build) -> impl Iterator<Item = (&'a str, &'a str)> {
        build
            .layers
            .iter()
            .filter_map(|file| self.text(file))
            .flat_map(defconfig::lines)
            .filter_map(|line| defconfig::assignment(line.text))
    }

    /// Lines of `set` that a later line takes back in some of the builds that read them.
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
        }
        warnings
    }

    /// The line that wins over `line` in a build that reads it, where that one says otherwise.
    fn taken_back(&self, build: &Build, line: &SetLine) -> Option<Winner> {
        self.winner(build, &line.symbol)
            .filter(|winner| Value::parse(&winner.value).as_ref() != Some(&line.value))
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
