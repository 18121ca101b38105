//! What a stage tells while it works. The stage calls back; bars and lines are the command's ([`crate::ui`]).

/// One thing worth telling.
#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
    /// A new step begins, for example `fetch esp-idf`. It ends the one before.
    Step(&'a str),
    /// Bytes of the current step; `total` is 0 where unknown.
    Bytes {
        /// Bytes done so far.
        done: u64,
        /// Bytes in all, or 0.
        total: u64,
    },
    /// Items of the current step (files, objects, compile steps); `total` is 0 where unknown.
    Count {
        /// Items done so far.
        done: u64,
        /// Items in all, or 0.
        total: u64,
        /// What is counted, in the plural.
        unit: &'a str,
    },
    /// What the current step is at, for example the file being compiled.
    Detail(&'a str),
    /// A line that stays on the screen.
    Note(&'a str),
    /// A line that stays, and that the user should not miss.
    Warning(&'a str),
}

/// Where a stage reports to. `&|_| {}` is silent.
pub type Report<'a> = &'a (dyn Fn(Event<'_>) + Sync);
