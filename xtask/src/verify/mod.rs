//! The last stage: is it really running from PSRAM?
//!
//! [`files`] looks at a libraries tree ([`subject`]), [`compile`] at a program ([`program`]), [`board`] at what
//! a board puts out. Each gives [`Check`]s; a
//! [`Verdict`] holds them all.

use std::collections::BTreeMap;

pub mod board;
pub mod compile;
pub mod files;
#[cfg(test)]
mod made_up;
mod object_file;
pub mod page;
pub mod program;
pub mod psram;
mod settings;
pub mod subject;
mod verdict;

pub use subject::{Expected, Subject};
pub use verdict::{Check, Group, Outcome, Tally, Verdict};

/// Names, or findings, told in one answer; more are counted.
const SHOWN: usize = 5;

/// The first of `names` with `, ` between them, and how many more there are.
fn some_of<T: AsRef<str>>(names: &[T]) -> String {
    list(names, ", ", " and ")
}

/// The first of `findings`, each on a line, and how many more there are.
fn findings(findings: &[String]) -> String {
    list(findings, "\n", "\nand ")
}

fn list<T: AsRef<str>>(items: &[T], between: &str, last: &str) -> String {
    let shown: Vec<&str> = items.iter().take(SHOWN).map(AsRef::as_ref).collect();
    match items.len().saturating_sub(SHOWN) {
        0 => shown.join(between),
        more => format!("{}{last}{more} more", shown.join(between)),
    }
}

/// Findings of one kind on one line: where, then what is wrong.
fn by_kind(faults: impl IntoIterator<Item = (String, String)>) -> Vec<String> {
    let mut kinds: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (place, what) in faults {
        kinds.entry(what).or_default().push(place);
    }
    kinds
        .iter()
        .map(|(what, places)| format!("{}: {what}", some_of(places)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_are_cut_and_counted() {
        let names: Vec<String> = (0..7).map(|n| n.to_string()).collect();
        assert_eq!(some_of(&names), "0, 1, 2, 3, 4 and 2 more");
        assert_eq!(findings(&names[..6]), "0\n1\n2\n3\n4\nand 1 more");
        assert_eq!(some_of(&names[..1]), "0");
        let fault = |place: &str, what: &str| (place.to_owned(), what.to_owned());
        let faults = [fault("a", "empty"), fault("b", "cut"), fault("c", "empty")];
        assert_eq!(by_kind(faults), ["b: cut", "a, c: empty"]);
    }
}
