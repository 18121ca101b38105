//! The checks of a verification, as a person reads them.

use std::io::IsTerminal;

use super::fold;
use crate::verify::{Check, Group, Outcome, Verdict};

/// Width of a line's first columns: the word, and the title.
const WORD: usize = 9;
const TITLE: usize = 44;

/// Every check on a line, by group; what failed and what did not run with its reason below. Ends with a count.
pub fn verdict(verdict: &Verdict) -> String {
    let mut text = String::new();
    for (group, name) in [
        (Group::Files, "Files"),
        (Group::Compile, "Program"),
        (Group::Board, "Board"),
    ] {
        let checks: Vec<&Check> = verdict
            .checks
            .iter()
            .filter(|check| check.group == group)
            .collect();
        let Some(first) = checks.first() else {
            continue;
        };
        text.push_str(&format!("\n{name}\n"));
        let alike = checks.iter().all(|check| check.outcome == first.outcome);
        if checks.len() > 1 && alike && matches!(first.outcome, Outcome::NotRun { .. }) {
            push(
                &mut text,
                &format!("all {} checks", checks.len()),
                &first.outcome,
            );
        } else {
            checks
                .iter()
                .for_each(|check| push(&mut text, check.title, &check.outcome));
        }
    }
    let tally = verdict.tally();
    text.push_str(&format!(
        "\n{} passed, {} failed, {} not run{}",
        tally.passed,
        tally.failed,
        tally.not_run,
        match tally.asked_not_run {
            0 => String::new(),
            count => format!(" ({count} of them asked for)"),
        }
    ));
    text
}

fn push(text: &mut String, title: &str, outcome: &Outcome) {
    let (word, colour, lines) = match outcome {
        Outcome::Passed { detail } => ("ok", 32, vec![detail.clone()]),
        Outcome::Failed { why, what_to_do } => (
            "FAILED",
            31,
            vec![why.clone(), format!("what to do: {what_to_do}")],
        ),
        Outcome::NotRun { why } => ("not run", 33, vec![why.clone()]),
    };
    let word = format!("{word:<WORD$}");
    let word = if std::io::stdout().is_terminal() {
        format!("\u{1b}[{colour}m{word}\u{1b}[0m")
    } else {
        word
    };
    let indent = 2 + WORD + TITLE;
    let mut first = true;
    for line in lines
        .iter()
        .flat_map(|text| text.lines())
        .flat_map(|line| fold(line, indent))
    {
        if first {
            text.push_str(&format!("  {word}{title:<TITLE$}{line}\n"));
        } else {
            text.push_str(&format!("{:indent$}{line}\n", ""));
        }
        first = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_check_is_told_with_its_reason() {
        let check = |outcome, asked| Check {
            id: "files.hashes",
            group: Group::Files,
            title: "Every file is the package's",
            outcome,
            asked,
        };
        let text = verdict(&Verdict {
            checks: vec![
                check(Outcome::passed("12 files"), true),
                check(Outcome::failed("1 changed: a", "install again"), true),
                check(Outcome::not_run("no manifest"), true),
            ],
        });
        for line in [
            "Files",
            "  ok       Every file is the package's                 12 files",
            "  FAILED   Every file is the package's                 1 changed: a",
            "what to do: install again",
            "  not run  Every file is the package's                 no manifest",
            "1 passed, 1 failed, 1 not run (1 of them asked for)",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
        assert!(!text.contains("Board"), "{text}");
        let none = check(Outcome::not_run("no libraries"), false);
        let text = verdict(&Verdict {
            checks: vec![none.clone(), none],
        });
        let line = "  not run  all 2 checks                                no libraries\n";
        assert!(text.contains(line), "{text}");
    }
}
