//! Where pins were looked for, in order, for the error that says that none were found.

use std::fmt;

/// Places looked at, each with why it gave nothing.
#[derive(Debug, Default)]
pub(super) struct Tried(Vec<String>);

impl Tried {
    /// Adds a place, as `place: why not`.
    pub(super) fn add(&mut self, place: impl Into<String>) {
        self.0.push(place.into());
    }
}

impl fmt::Display for Tried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, place) in (1..).zip(&self.0) {
            writeln!(f, "  {number}. {place}")?;
        }
        Ok(())
    }
}
