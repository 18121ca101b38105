//! What a verification found: every check, with what came of it.

use serde::Serialize;

/// All checks of one run, in the order in which they are told.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// The checks.
    pub checks: Vec<Check>,
}

/// One question, and its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// A name that stays, for scripts, for example `files.hashes`.
    pub id: &'static str,
    /// What it looks at.
    pub group: Group,
    /// What must hold, as a person reads it.
    pub title: &'static str,
    /// Whether it holds.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Whether the call asked for it: then not having run is a failure too.
    pub asked: bool,
}

/// What a check looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Group {
    /// The libraries on disk.
    Files,
    /// A program that is linked with them.
    Compile,
    /// A board that runs it.
    Board,
}

/// What came of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Outcome {
    /// It holds.
    Passed {
        /// What was seen, in a line.
        detail: String,
    },
    /// It does not hold.
    Failed {
        /// What was seen instead, a finding a line.
        why: String,
        /// What mends it.
        what_to_do: String,
    },
    /// It was not looked at.
    NotRun {
        /// What it would have needed.
        why: String,
    },
}

impl Outcome {
    /// It holds.
    pub fn passed(detail: impl Into<String>) -> Self {
        Self::Passed {
            detail: detail.into(),
        }
    }

    /// It does not hold.
    pub fn failed(why: impl Into<String>, what_to_do: impl Into<String>) -> Self {
        Self::Failed {
            why: why.into(),
            what_to_do: what_to_do.into(),
        }
    }

    /// It was not looked at.
    pub fn not_run(why: impl Into<String>) -> Self {
        Self::NotRun { why: why.into() }
    }
}

impl Check {
    /// Whether the run must not end well because of it.
    pub fn is_bad(&self) -> bool {
        match self.outcome {
            Outcome::Passed { .. } => false,
            Outcome::Failed { .. } => true,
            Outcome::NotRun { .. } => self.asked,
        }
    }
}

/// How many checks ended which way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// They hold.
    pub passed: usize,
    /// They do not.
    pub failed: usize,
    /// They were not looked at.
    pub not_run: usize,
    /// Of those: the call asked for them.
    pub asked_not_run: usize,
}

impl Verdict {
    /// Whether nothing failed, and all that was asked for ran.
    pub fn is_good(&self) -> bool {
        !self.checks.iter().any(Check::is_bad)
    }

    /// How many checks ended which way.
    pub fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        for check in &self.checks {
            match check.outcome {
                Outcome::Passed { .. } => tally.passed += 1,
                Outcome::Failed { .. } => tally.failed += 1,
                Outcome::NotRun { .. } => {
                    tally.not_run += 1;
                    tally.asked_not_run += usize::from(check.asked);
                }
            }
        }
        tally
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(outcomes: &[(Outcome, bool)]) -> Verdict {
        let check = |(outcome, asked): &(Outcome, bool)| Check {
            id: "files.hashes",
            group: Group::Files,
            title: "every file is the package's",
            outcome: outcome.clone(),
            asked: *asked,
        };
        Verdict {
            checks: outcomes.iter().map(check).collect(),
        }
    }

    #[test]
    fn a_check_that_was_asked_for_and_did_not_run_is_no_good() {
        let (passed, not_run) = (Outcome::passed("all"), Outcome::not_run("no board"));
        assert!(verdict(&[(passed.clone(), true), (not_run.clone(), false)]).is_good());
        assert!(!verdict(&[(passed.clone(), true), (not_run.clone(), true)]).is_good());
        let failed = Outcome::failed("one differs", "install again");
        assert!(!verdict(&[(failed.clone(), false)]).is_good());
        let all = [
            (passed, true),
            (failed, true),
            (not_run.clone(), true),
            (not_run, false),
        ];
        let tally = verdict(&all).tally();
        assert_eq!(
            (
                tally.passed,
                tally.failed,
                tally.not_run,
                tally.asked_not_run
            ),
            (1, 1, 2, 1)
        );
    }

    #[test]
    fn its_json_is_flat() {
        let verdict = verdict(&[(Outcome::failed("one differs", "install again"), true)]);
        let json = serde_json::to_value(&verdict).unwrap();
        assert_eq!(
            json["checks"][0],
            serde_json::json!({
                "id": "files.hashes", "group": "files", "title": "every file is the package's",
                "outcome": "failed", "why": "one differs", "what_to_do": "install again", "asked": true,
            })
        );
    }
}
