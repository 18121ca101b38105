//! Which symbols a checked out lib-builder and its ESP-IDF know, found by reading their Kconfig files without running Kconfig.
//!
//! Conditions are not evaluated: whether a dependency is met is only seen in the built sdkconfig.h.

mod parse;
pub(crate) mod scan;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Result;

use super::{PatchSet, SetLine, Verdict, defconfig, nearest, refuse};
use crate::libs::Value;
use crate::libs::layout::Layout;
use crate::names::Chip;

/// The symbols that one chip's build can know.
#[derive(Debug, Default)]
pub struct Symbols {
    /// Symbol with `CONFIG_` -> what is known of it.
    known: BTreeMap<String, Symbol>,
    /// Symbols that only other chips' files define -> those files, relative to the tree.
    elsewhere: BTreeMap<String, String>,
    /// Old name -> new name, from `sdkconfig.rename` files.
    renamed: BTreeMap<String, String>,
    /// Symbols that upstream's own defconfig files assign; managed components define some of them.
    assigned: BTreeSet<String>,
}

/// What the Kconfig files say of a symbol. A symbol may be defined in several places.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Symbol {
    pub(crate) kind: Option<Kind>,
    /// The choice that it is a member of: file and line, or the choice's name.
    pub(crate) choice: Option<String>,
    /// Bounds of its `range` lines in numbers; empty where one depends on other symbols or on a condition.
    pub(crate) ranges: Vec<(i128, i128)>,
}

/// Types of symbols.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Bool,
    Int,
    Hex,
    Text,
}

impl Symbols {
    /// Reads the Kconfig files of `lib_builder` and of the ESP-IDF in it, for an ESP-IDF target such as `esp32s3`.
    ///
    /// # Errors
    /// A tree without any: nothing could be judged by it.
    pub fn scan(lib_builder: &Path, target: &str) -> Result<Self> {
        scan::scan(lib_builder, target)
    }

    /// Number of symbols known for the chip.
    pub fn count(&self) -> usize {
        self.known.len()
    }

    /// The other members of the choice that `symbol` belongs to.
    pub fn rivals(&self, symbol: &str) -> Vec<&str> {
        let Some(choice) = self
            .known
            .get(symbol)
            .and_then(|known| known.choice.as_ref())
        else {
            return Vec::new();
        };
        self.known
            .iter()
            .filter(|(name, other)| {
                name.as_str() != symbol && other.choice.as_ref() == Some(choice)
            })
            .map(|(name, _)| name.as_str())
            .collect()
    }

    /// What is wrong with a set's line; `None` where nothing is.
    fn judge(&self, line: &SetLine) -> Option<String> {
        let symbol = line.symbol.as_str();
        if let Some(known) = self.known.get(symbol) {
            return known.judge(&line.value);
        }
        if let Some(new) = self.renamed.get(symbol) {
            return Some(format!("{symbol} is an old name of {new}; write that"));
        }
        if let Some(file) = self.elsewhere.get(symbol) {
            return Some(format!(
                "unknown symbol for this chip: {symbol} is known to another chip only ({file})"
            ));
        }
        if self.assigned.contains(symbol) {
            return None;
        }
        let hint = match nearest(symbol, self.known.keys().map(String::as_str)) {
            Some(name) => format!("the nearest is {name}"),
            None => "no known one is like it".to_owned(),
        };
        Some(format!(
            "unknown symbol {symbol}: {hint}; if a managed component defines it, list it as `managed` in patch.toml"
        ))
    }

    /// Two members of one choice switched on by the same file of a set: the earlier one would be lost.
    fn rivalry<'a>(&self, lines: &'a [SetLine]) -> Vec<(&'a SetLine, &'a SetLine)> {
        let on: Vec<&SetLine> = lines
            .iter()
            .filter(|line| line.value == Value::Bool(true))
            .collect();
        let mut pairs = Vec::new();
        for (index, line) in on.iter().enumerate() {
            let rivals = self.rivals(&line.symbol);
            let earlier = on[..index]
                .iter()
                .find(|other| rivals.contains(&other.symbol.as_str()));
            pairs.extend(earlier.map(|other| (*line, *other)));
        }
        pairs
    }
}

impl Symbol {
    fn judge(&self, value: &Value) -> Option<String> {
        let (fits, wanted) = match self.kind? {
            Kind::Bool => (
                matches!(value, Value::Bool(_)),
                "is on or off: write y or n",
            ),
            Kind::Int => (matches!(value, Value::Number(_)), "is a number"),
            Kind::Hex => (matches!(value, Value::Number(_)), "is a hexadecimal number"),
            Kind::Text => (
                matches!(value, Value::Text(_)),
                "is a text: write it in quotes",
            ),
        };
        if !fits {
            return Some(format!("the symbol {wanted}"));
        }
        let Value::Number(number) = value else {
            return None;
        };
        let outside = !self.ranges.is_empty()
            && !self
                .ranges
                .iter()
                .any(|(low, high)| (low..=high).contains(&number));
        let ranges: Vec<String> = self
            .ranges
            .iter()
            .map(|(low, high)| format!("{low} to {high}"))
            .collect();
        outside.then(|| format!("the value is outside its range, {}", ranges.join(" or ")))
    }
}

impl PatchSet {
    /// Judges every line against the symbols that the checked out sources know, and gives those symbols back.
    ///
    /// # Errors
    /// [`crate::exit::Refusal::Usage`] with a verdict for every unknown symbol (with the nearest known name), one that only
    /// another chip knows, an old name, a value of the wrong type or out of range, two members of one choice.
    pub fn check_symbols(&self, lib_builder: &Path, chip: &Chip) -> Result<Symbols> {
        let layout = Layout::read(&lib_builder.join("configs/builds.json"), chip)?;
        let symbols = Symbols::scan(lib_builder, &layout.target)?;
        let mut verdicts = Vec::new();
        for (file, lines) in &self.files {
            let place = |line: &SetLine| format!("{}/{file}:{}", self.place, line.number);
            for line in lines
                .iter()
                .filter(|line| !self.managed.contains(&line.symbol))
            {
                verdicts.extend(symbols.judge(line).map(|text| Verdict {
                    place: place(line),
                    text: format!("`{}`: {text}", line.text),
                }));
            }
            for (line, earlier) in symbols.rivalry(lines) {
                verdicts.push(Verdict {
                    place: place(line),
                    text: format!(
                        "`{}` and line {} `{}` belong to one choice, of which one member can be on",
                        line.text, earlier.number, earlier.text
                    ),
                });
            }
        }
        refuse(&self.name, &verdicts)?;
        Ok(symbols)
    }
}

/// Adds the symbols that a defconfig text assigns.
fn assigned(text: &str) -> impl Iterator<Item = String> + '_ {
    defconfig::lines(text)
        .into_iter()
        .filter_map(|line| defconfig::assignment(line.text).map(|(symbol, _)| symbol.to_owned()))
}

#[cfg(test)]
mod tests;
