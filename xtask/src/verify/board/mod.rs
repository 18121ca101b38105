//! What a board says of itself: StallBench's report, out of a serial port or a log, held against the article's figures.

mod judge;
#[cfg(test)]
pub(super) mod made_up;
pub mod port;
mod session;
mod table;
mod talk;
mod wanted;

pub use judge::{LOOP_HZ, WORST_GAP_US};
pub use session::Run;
pub use table::{Figures, Row, rows};
pub use talk::{Limits, talk};

use judge::Evidence;
use serde::Serialize;
use session::{Bench, Session};

use super::{Check, Expected, Group, Outcome, findings};

/// What a board, or a log of one, put out.
#[derive(Debug, Clone)]
pub struct Heard {
    /// Where it is from: a port or a file.
    pub from: String,
    /// All bytes.
    pub bytes: Vec<u8>,
    /// Why it ended before its time.
    pub broke_off: Option<String>,
}

/// What is known of the runs, for a script, the table and the page.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Seen {
    /// The run that was verified.
    pub run: Run,
    /// A run with stock libraries beside it.
    pub stock: Option<Run>,
    /// The article's table.
    pub table: Vec<Row>,
}

/// How runs are judged.
#[derive(Debug, Clone, Copy)]
pub struct Plan<'a> {
    /// What the run must be.
    pub expected: &'a Expected,
    /// Whether a simulation's figures are taken.
    pub accept_simulation: bool,
}

/// The checks where no board was asked about, or none could be talked to, and why.
pub fn not_run(why: &str, asked: bool) -> Vec<Check> {
    let check = |(id, title)| Check {
        id,
        group: Group::Board,
        title,
        outcome: Outcome::not_run(why),
        asked,
    };
    judge::CHECKS.into_iter().map(check).collect()
}

/// Every check on a run, and on the stock run beside it where there is one.
pub fn check(plan: Plan<'_>, run: &Heard, stock: Option<&Heard>) -> (Vec<Check>, Seen) {
    let session = Session::read(&run.bytes);
    let evidence = Evidence {
        session: &session,
        broke_off: run.broke_off.as_deref(),
        accept_simulation: plan.accept_simulation,
    };
    let mut checks = judge::checks(&evidence, plan.expected);
    let run = session.run(&run.from);
    let stock = stock.map(|heard| {
        let (outcome, stock) = beside(heard, &session, plan.accept_simulation);
        checks.push(stock_check(outcome));
        stock
    });
    let beside = stock.as_ref().map_or(&[][..], |stock| &stock.phases);
    let table = rows(&run.phases, beside);
    (checks, Seen { run, stock, table })
}

/// The check of an upload, with what came of it.
pub fn upload_check(outcome: Outcome) -> Check {
    Check {
        id: "board.upload",
        group: Group::Board,
        title: "The sketch is uploaded",
        outcome,
        asked: true,
    }
}

/// The check of the stock run, with what came of it.
pub fn stock_check(outcome: Outcome) -> Check {
    Check {
        id: "board.stock",
        group: Group::Board,
        title: "A stock run stands beside it",
        outcome,
        asked: true,
    }
}

/// Whether a stock run can stand beside the other: all that must hold of it but for the loop.
fn beside(heard: &Heard, other: &Session, accept_simulation: bool) -> (Outcome, Run) {
    let session = Session::read(&heard.bytes);
    let run = session.run(&heard.from);
    let evidence = Evidence {
        session: &session,
        broke_off: heard.broke_off.as_deref(),
        accept_simulation,
    };
    let wrong: Vec<String> = judge::checks(&evidence, &Expected::Stock)
        .iter()
        .filter_map(|check| match &check.outcome {
            Outcome::Failed { why, .. } => Some(why.clone()),
            _ => None,
        })
        .collect();
    let mixed = session.is_simulation() != other.is_simulation();
    let outcome = if !wrong.is_empty() {
        Outcome::failed(
            format!("{}: {}", heard.from, findings(&wrong)),
            "give a run of the same sketch with stock libraries",
        )
    } else if mixed && session.state() == Bench::Whole && other.state() == Bench::Whole {
        Outcome::failed(
            "one run is measured and the other simulated",
            "put two measured runs beside one another",
        )
    } else {
        Outcome::passed(format!("{} from {}", run.kind(), heard.from))
    };
    (outcome, run)
}

#[cfg(test)]
mod tests;
