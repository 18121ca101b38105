//! The last stage: is it really running from PSRAM?
//!
//! [`files`] looks at a libraries tree ([`subject`]), [`compile`] at a program ([`program`]), [`board`] at what
//! a board puts out. Each gives [`Check`]s; a
//! [`Verdict`] holds them all.

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

/// Names told in one answer; more are counted.
const SHOWN: usize = 6;

/// The first of `names` with `, ` between them, and how many more there are.
fn some_of<T: AsRef<str>>(names: &[T]) -> String {
    let shown: Vec<&str> = names.iter().take(SHOWN).map(AsRef::as_ref).collect();
    match names.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// The first of `findings` with `; ` between them, and how many more there are.
fn findings(findings: &[String]) -> String {
    let shown = findings[..findings.len().min(SHOWN)].join("; ");
    match findings.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown}; and {more} more"),
    }
}
