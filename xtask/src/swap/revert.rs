//! Puts the stock libraries back, by renames alone.

use std::path::PathBuf;

use anyhow::Result;
use serde::Serialize;

use super::disk::Disk;
use super::install::Outcome;
use super::journal::{Journal, Run};
use super::place::{OWN, Place};
use super::plan::{Move, Plan};
use super::state::{self, Unfinished};
use super::yard::{Caches, Recovered, Yard};
use crate::progress::{Event, Report};

/// What the caller of [`revert`] decides and knows.
pub struct RevertOptions<'a> {
    /// Only say what would be done.
    pub dry_run: bool,
    /// Remove the patched libraries, once the stock ones are back, instead of keeping them aside.
    pub discard: bool,
    /// Lists the entries of core caches that hold this core, compiled against the libraries that are active now. Asked right
    /// before the renames, for a compile may end at any time.
    pub caches: &'a dyn Fn() -> Vec<PathBuf>,
    /// Says what is running that may hold the folder open, for example the IDE; `None` for nothing.
    pub running: &'a dyn Fn() -> Option<String>,
}

/// What a revert did, or would do.
#[derive(Debug, Clone, Serialize)]
pub struct Reverted {
    /// Where.
    pub place: Place,
    /// What was done.
    pub outcome: Outcome,
    /// The renames, in order, relative to the tool folder.
    pub moves: Vec<Move>,
    /// What is removed afterwards.
    pub removed: Vec<String>,
    /// What was put back has its files in the recorded names and sizes; to read them all would take many times longer.
    pub recorded: bool,
    /// The folder in which the patched libraries are kept.
    pub aside: Option<PathBuf>,
    /// What became of the core caches; for a dry run `removed` is what would be.
    pub caches: Caches,
    /// What became of an earlier run that was not finished.
    pub recovered: Option<Recovered>,
    /// For a dry run: the run that would be finished or undone first.
    pub unfinished: Option<Unfinished>,
}

/// Puts the stock libraries of `place` back where they are kept aside.
///
/// # Errors
/// [`crate::exit::Refusal::Usage`] where the core is not installed; [`crate::exit::Refusal::Check`] where there are no stock
/// libraries to go back to, or not as they were recorded: then nothing is touched. A folder that cannot be renamed: what was
/// renamed before it is renamed back.
pub fn revert(
    place: &Place,
    options: &RevertOptions<'_>,
    disk: &dyn Disk,
    report: Report<'_>,
) -> Result<Reverted> {
    let job = Job { place, options };
    let unfinished = state::unfinished(&place.tools)?;
    if options.dry_run {
        return job.dry_run(unfinished, report);
    }
    // Where this tool never was, what is refused, or is nothing to do, leaves no trace.
    if !place.at(OWN).exists() && job.plan()?.moves.is_empty() {
        return Ok(job.result(Outcome::Nothing, Plan::default()));
    }
    let (yard, recovered) = Yard::open(&place.tools, disk, report)?;
    if let Some(recovered) = &recovered {
        report(Event::Note(&recovered.line()));
    }
    let plan = job.plan()?;
    job.warn(&plan, report);
    let mut caches = Caches::default();
    let outcome = match plan.moves.is_empty() {
        true => Outcome::Nothing,
        false => {
            if let Some(running) = (options.running)() {
                report(Event::Warning(&format!(
                    "{running} is running; let nothing compile until this is done, and restart it afterwards"
                )));
            }
            if plan
                .moves
                .iter()
                .any(|step| step.to == place.core.to_string())
            {
                report(Event::Step("put the stock libraries back"));
            }
            caches = yard.carry_out(&job.journal(&plan))?;
            Outcome::Done
        }
    };
    Ok(Reverted {
        caches,
        recovered,
        ..job.result(outcome, plan)
    })
}

/// One revert on its way.
struct Job<'a> {
    place: &'a Place,
    options: &'a RevertOptions<'a>,
}

impl Job<'_> {
    fn plan(&self) -> Result<Plan> {
        state::with_standing(self.place, |standing| standing.revert(self.options.discard))
    }

    fn warn(&self, plan: &Plan, report: Report<'_>) {
        for warning in &plan.warnings {
            report(Event::Warning(warning));
        }
    }

    /// Where the active libraries stay, they are those that the caches were compiled against.
    fn caches(&self, plan: &Plan) -> Vec<PathBuf> {
        let active = self.place.core.to_string();
        match plan.moves.iter().any(|step| step.to == active) {
            true => (self.options.caches)(),
            false => Vec::new(),
        }
    }

    fn journal(&self, plan: &Plan) -> Journal {
        Journal {
            moves: plan.moves.clone(),
            remove: plan.remove.clone(),
            caches: self.caches(plan),
            ..Journal::new(Run::Revert, &self.place.core)
        }
    }

    /// What would be done. Where an unfinished run comes first, what follows depends on how that ends.
    fn dry_run(&self, unfinished: Option<Unfinished>, report: Report<'_>) -> Result<Reverted> {
        let plan = match unfinished {
            None => self.plan()?,
            Some(_) => Plan::default(),
        };
        self.warn(&plan, report);
        let outcome = match plan.moves.is_empty() && unfinished.is_none() {
            true => Outcome::Nothing,
            false => Outcome::Planned,
        };
        Ok(Reverted {
            caches: Caches::planned(self.caches(&plan)),
            unfinished,
            ..self.result(outcome, plan)
        })
    }

    fn result(&self, outcome: Outcome, plan: Plan) -> Reverted {
        Reverted {
            place: self.place.clone(),
            outcome,
            recorded: plan.recorded,
            aside: plan.aside.map(|name| self.place.at(&name)),
            moves: plan.moves,
            removed: plan.remove,
            caches: Caches::default(),
            recovered: None,
            unfinished: None,
        }
    }
}
