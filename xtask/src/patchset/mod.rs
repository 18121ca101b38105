//! Stage 3: did every line land where it wins?
//!
//! A patch set is a folder whose files mirror upstream's `configs/`, with a `patch.toml` beside them; its format is told in
//! `defconfig-patches/README.md`.

mod apply;
mod bundled;
mod defconfig;
mod inject;
pub mod kconfig;
pub mod layers;
mod load;
mod syntax;

use std::collections::BTreeMap;
use std::fmt;

use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};

use crate::exit::Refusal;
use crate::libs::Value;
use crate::libs::layout::{Build, Layout};
use crate::libs::manifest::PatchSetRecord;
use crate::names::Chip;

pub use apply::Stacks;
pub use bundled::{DEFAULT, find, list};

/// A patch set whose every line has been read and found well-formed.
#[derive(Debug, Clone)]
pub struct PatchSet {
    /// The folder's name, for example `xip-ecc`.
    pub name: String,
    /// Where its files stand, for messages: `defconfig-patches/xip-ecc`, or the user's folder.
    pub place: String,
    /// One line on what it does.
    pub summary: String,
    /// The chips that it is for.
    pub chips: Vec<Chip>,
    /// The suffix of the zip's name and of the folder set aside by revert.
    pub suffix: String,
    /// What speaks against choosing it.
    pub hazard: Option<Hazard>,
    /// Its lines: file of upstream's `configs/` -> lines in order.
    pub files: BTreeMap<String, Vec<SetLine>>,
    /// What must be true of the built libraries.
    pub expects: Vec<Expect>,
    /// Lines of upstream's that it takes the place of.
    pub replaces: Vec<Replace>,
    /// Symbols of managed components, which are fetched only in the build, so that nothing before it knows them.
    pub managed: Vec<String>,
    /// The text of `quick.toml`, the recipe of the quick build, where the set has one.
    pub quick: Option<String>,
}

/// What speaks against choosing a set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Hazard {
    /// What happens to whom, in one sentence.
    pub text: String,
    /// Why, and how it is known.
    pub reason: String,
    /// The rule of [`crate::hazards`] that says so, where there is one; the reason is its own.
    pub rule: Option<&'static str>,
}

/// One assignment of a set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetLine {
    /// Line number in the set's file, from 1.
    pub number: usize,
    /// The line, for example `CONFIG_SPIRAM_ECC_ENABLE=y`.
    pub text: String,
    /// The symbol, with `CONFIG_`.
    pub symbol: String,
    /// The value.
    pub value: Value,
}

/// Values that symbols must have in some memory variants.
#[derive(Debug, Clone)]
pub struct Expect {
    /// Which variants: a name in which `*` stands for anything, for example `*_opi`.
    pub variant: glob::Pattern,
    /// Symbol (with `CONFIG_`) -> value; off is `n`.
    pub symbols: BTreeMap<String, Value>,
}

/// A line of upstream's that a set takes the place of. Upstream's other values stay errors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replace {
    /// File of upstream's `configs/`.
    pub file: String,
    /// The symbol of upstream's line.
    pub symbol: String,
    /// The value of upstream's line.
    pub value: Value,
    /// The set's symbol that takes its place; another one where both belong to one choice.
    pub by: String,
}

/// What applying a patch set did to upstream's defconfig files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Applied {
    /// Name of the patch set.
    pub set: String,
    /// Each line of the set, in order.
    pub lines: Vec<AppliedLine>,
}

/// One line of a patch set and where it stands now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppliedLine {
    /// Defconfig file relative to the lib-builder, for example `configs/defconfig.opi_ram`.
    pub file: String,
    /// Line number in that file now, from 1.
    pub line: usize,
    /// The line that it replaced, or the line itself where it stood there already; `None` where it is new.
    pub before: Option<String>,
    /// The line as the set writes it, for example `CONFIG_SPIRAM_XIP_FROM_PSRAM=y`.
    pub after: String,
}

impl PatchSet {
    /// What the manifest says of this set.
    pub fn record(&self) -> PatchSetRecord {
        let texts = |lines: &Vec<SetLine>| lines.iter().map(|line| line.text.clone()).collect();
        PatchSetRecord {
            name: self.name.clone(),
            suffix: self.suffix.clone(),
            lines: self
                .files
                .iter()
                .map(|(file, lines)| (file.clone(), texts(lines)))
                .collect(),
        }
    }

    /// Refuses a chip that the set is not for.
    pub fn check_chip(&self, chip: &Chip) -> Result<()> {
        if self.chips.contains(chip) {
            return Ok(());
        }
        let chips: Vec<&str> = self.chips.iter().map(Chip::as_str).collect();
        bail!(Refusal::Usage(format!(
            "patch set {} is for {}, not for {chip}; choose another with --patch (`cargo xtask patches` lists them)",
            self.name,
            chips.join(", ")
        )))
    }

    /// One verdict for each `[[expect]]` that speaks of no memory variant of `layout`: nothing would be compared with it.
    pub fn idle_expects(&self, layout: &Layout) -> Vec<Verdict> {
        let variants = layout.memory_variants();
        let idle = |expect: &&Expect| !variants.keys().any(|name| expect.variant.matches(name));
        let names: Vec<&str> = variants.keys().copied().collect();
        self.expects
            .iter()
            .filter(idle)
            .map(|expect| Verdict {
                place: format!("{}/patch.toml", self.place),
                text: format!(
                    "[[expect]]: `{}` matches no memory variant of {}; they are {}",
                    expect.variant,
                    layout.chip,
                    names.join(", ")
                ),
            })
            .collect()
    }

    /// Refuses what [`PatchSet::idle_expects`] finds.
    ///
    /// # Errors
    /// [`Refusal::Usage`] with every verdict.
    pub fn check_expects(&self, layout: &Layout) -> Result<()> {
        refuse(&self.name, &self.idle_expects(layout))
    }

    /// The line of the set for each symbol that reaches `build`, with its file; of two lines the later one counts.
    pub fn reaching(&self, build: &Build) -> BTreeMap<&str, (&str, &SetLine)> {
        build
            .layers
            .iter()
            .filter_map(|file| self.files.get_key_value(file))
            .flat_map(|(file, lines)| lines.iter().map(move |line| (file.as_str(), line)))
            .map(|(file, line)| (line.symbol.as_str(), (file, line)))
            .collect()
    }

    /// The values that the memory variant left by `build` must have: those of its `[[expect]]`s (of two that name the same
    /// symbol the later one counts), and every line of the set that reaches the build and of which they say nothing.
    pub fn expected(&self, variant: &str, build: &Build) -> BTreeMap<&str, &Value> {
        let mut expected: BTreeMap<&str, &Value> = self
            .reaching(build)
            .into_iter()
            .map(|(symbol, (_, line))| (symbol, &line.value))
            .collect();
        for expect in self
            .expects
            .iter()
            .filter(|expect| expect.variant.matches(variant))
        {
            expected.extend(
                expect
                    .symbols
                    .iter()
                    .map(|(symbol, value)| (symbol.as_str(), value)),
            );
        }
        expected
    }
}

/// One fault of a patch set, and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// File, with its line where there is one, for example `my-set/defconfig.opi_ram:3`.
    pub place: String,
    /// What is wrong and what to do.
    pub text: String,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.text)
    }
}

/// Nothing where there are no verdicts, else one refusal that tells them all.
fn refuse(set: &str, verdicts: &[Verdict]) -> Result<()> {
    if verdicts.is_empty() {
        return Ok(());
    }
    let mut text = format!("patch set {set} cannot be used");
    for verdict in verdicts {
        text.push_str(&format!("\n  {verdict}"));
    }
    bail!(Refusal::Usage(text))
}

/// The name among `known` that is most like `wrong`, for "did you mean".
fn nearest<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(wrong, name), name))
        .min()
        .filter(|(distance, _)| *distance <= wrong.len() / 3)
        .map(|(_, name)| name)
}
