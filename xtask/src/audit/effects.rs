//! What a patch set changes in each build, and which of its wishes are not met, with the reason.

use std::collections::BTreeSet;

use serde::Serialize;

use super::view::{Circumstances, Values, View};
use crate::libs::Value;
use crate::libs::layout::{Build, Layout};
use crate::patchset::PatchSet;
use crate::patchset::layers::Stack;

/// A symbol whose value is another with the set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// With `CONFIG_`.
    pub symbol: String,
    /// Its value without the set, as a defconfig file writes it; `None` where it is off or not there.
    pub stock: Option<String>,
    /// The same with the set.
    pub patched: Option<String>,
}

/// A line of the set that did not take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unmet {
    /// With `CONFIG_`.
    pub symbol: String,
    /// What the set wants.
    pub wanted: String,
    /// What it is; `None` where it is off or not there.
    pub found: Option<String>,
    /// File and line of the set, where a line of it asks.
    pub line: Option<String>,
    /// Why.
    pub reason: String,
    /// Whether the set says itself that it will be so, by an `[[expect]]`.
    pub expected: bool,
}

/// One build.
#[derive(Debug, Clone, Serialize)]
pub struct Effect {
    /// What a person calls it, for example `memory variant qio_opi`.
    pub build: String,
    /// The memory variant that it leaves; `None` for a bootloader.
    pub variant: Option<String>,
    /// What changes in the build's sdkconfig.
    pub changes: Vec<Change>,
    /// What was asked for and did not take. Not told of a bootloader's build.
    pub unmet: Vec<Unmet>,
    /// What changes in the bootloader's own project, which takes of the sdkconfig what its Kconfig files know; all else that
    /// its build makes is thrown away. `None` for other builds, and where Kconfig was not asked.
    pub bootloader: Option<Vec<Change>>,
}

impl Effect {
    /// The changes that what the build leaves can feel.
    pub fn felt(&self) -> &[Change] {
        match (&self.variant, &self.bootloader) {
            (Some(_), _) => &self.changes,
            (None, own) => own.as_deref().unwrap_or_default(),
        }
    }
}

/// The effects of `set` on every build; `views` are theirs, in the layout's order.
pub(super) fn of(
    set: &PatchSet,
    layout: &Layout,
    patched: &Stack,
    views: &[View<'_>],
    not_seen: usize,
) -> Vec<Effect> {
    let one = |(build, view): (&Build, &View<'_>)| {
        let wishes = Wishes {
            set,
            build,
            stack: patched,
            found: view.patched,
            not_seen,
        };
        Effect {
            build: build.name(),
            variant: build.variant().map(str::to_owned),
            changes: changes(view.stock, view.patched),
            unmet: build
                .variant()
                .map(|variant| wishes.unmet(variant))
                .unwrap_or_default(),
            bootloader: view
                .bootloader
                .map(|(stock, patched)| changes(stock, patched)),
        }
    };
    layout.builds.iter().zip(views).map(one).collect()
}

fn changes(stock: &dyn Values, patched: &dyn Values) -> Vec<Change> {
    let symbols: BTreeSet<&str> = stock
        .symbols()
        .into_iter()
        .chain(patched.symbols())
        .collect();
    let change = |symbol: &str| Change {
        symbol: symbol.to_owned(),
        stock: stock.value(symbol).map(str::to_owned),
        patched: patched.value(symbol).map(str::to_owned),
    };
    symbols
        .into_iter()
        .map(change)
        .filter(|change| change.stock != change.patched)
        .collect()
}

/// What the set asks of one build.
struct Wishes<'a> {
    set: &'a PatchSet,
    build: &'a Build,
    stack: &'a Stack,
    found: &'a dyn Values,
    not_seen: usize,
}

impl Wishes<'_> {
    fn unmet(&self, variant: &str) -> Vec<Unmet> {
        let expected = self.set.expected(variant, self.build);
        let lines = self.set.reaching(self.build);
        let missed = |symbol: &str, wanted: &Value, expected: bool| Unmet {
            symbol: symbol.to_owned(),
            wanted: wanted.to_string(),
            found: self.found.value(symbol).map(str::to_owned),
            line: lines
                .get(symbol)
                .map(|(file, line)| format!("{}/{file}:{}", self.set.place, line.number)),
            reason: self.reason(symbol, wanted),
            expected,
        };
        let met = |symbol: &str, wanted: &Value| {
            !self.found.knows(symbol) || is(self.found.value(symbol), wanted)
        };
        let broken = expected
            .iter()
            .filter(|(symbol, wanted)| !met(symbol, wanted))
            .map(|(symbol, wanted)| missed(symbol, wanted, false));
        // A line that the set itself expects to have no effect here.
        let given_up = lines
            .iter()
            .filter(|(symbol, (_, line))| {
                let given_up = expected
                    .get(*symbol)
                    .is_some_and(|value| met(symbol, value));
                !met(symbol, &line.value) && given_up
            })
            .map(|(symbol, (_, line))| missed(symbol, &line.value, true));
        broken.chain(given_up).collect()
    }

    /// A later line that says otherwise.
    fn later(&self, symbol: &str, wanted: &Value) -> Option<String> {
        self.stack
            .winner(self.build, symbol)
            .filter(|winner| Value::parse(&winner.value).as_ref() != Some(wanted))
            .map(|winner| format!("a later line wins, {winner}"))
    }

    fn reason(&self, symbol: &str, wanted: &Value) -> String {
        if let Some(reason) = self.later(symbol, wanted) {
            return reason;
        }
        let Some(known) = self.found.circumstances(symbol) else {
            let others = match self.not_seen {
                0 => String::new(),
                some => format!("; {some} components were not seen"),
            };
            return format!("no Kconfig file that was read defines it{others}");
        };
        let known: &Circumstances = &known;
        let off = *wanted == Value::Bool(false);
        if let (true, Some(by)) = (off, known.selected_by.first()) {
            return format!("{by} selects it");
        }
        if let Some(unmet) = known.unmet.first() {
            if let Some(value) = unmet.values.get(&unmet.condition) {
                let by = self.set_by(&unmet.condition);
                return format!("it depends on {}, which is {value}{by}", unmet.condition);
            }
            let values: Vec<String> = unmet
                .values
                .iter()
                .map(|(name, value)| format!("{name} is {value}{}", self.set_by(name)))
                .collect();
            return format!(
                "it depends on {}, and {}",
                unmet.condition,
                values.join(", ")
            );
        }
        if let Some(chosen) = &known.chosen {
            return format!("{chosen} is on in the same choice{}", self.set_by(chosen));
        }
        if !known.prompt {
            return "it has no prompt, so no line can set it".to_owned();
        }
        if let Some((low, high)) = &known.range {
            return format!("it must be {low} to {high}");
        }
        match self.stack.winner(self.build, symbol) {
            Some(_) => "Kconfig did not take the line".to_owned(),
            None => "no line of this build sets it".to_owned(),
        }
    }

    /// The line that decides over `symbol`, in brackets.
    fn set_by(&self, symbol: &str) -> String {
        self.stack
            .winner(self.build, symbol)
            .map(|winner| format!(" ({}:{})", winner.file, winner.line))
            .unwrap_or_default()
    }
}

/// Whether a value, as a defconfig file writes it, is the one that is wanted.
fn is(found: Option<&str>, wanted: &Value) -> bool {
    Value::parse(found.unwrap_or("n")).as_ref() == Some(wanted)
}
