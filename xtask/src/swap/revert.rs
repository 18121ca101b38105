//! Puts the stock libraries back, by renames alone.

use std::path::PathBuf;

use anyhow::Result;
use serde::Serialize;

use super::disk::Disk;
use super::install::Outcome;
use super::journal::{Journal, Run};
use super::place::{OWN, Place, at};
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
    report(Event::Step("put the stock libraries back"));
    let unfinished = state::unfinished(&place.tools)?;
    let result = |outcome, plan: Plan, caches, recovered, unfinished| Reverted {
        place: place.clone(),
        outcome,
        aside: plan.aside.map(|name| place.at(&name)),
        moves: plan.moves,
        removed: plan.remove,
        caches,
        recovered,
        unfinished,
    };
    let plan = || state::with_standing(place, |standing| standing.revert(options.discard));
    let caches = |plan: &Plan| match plan
        .moves
        .iter()
        .any(|step| step.to == place.core.to_string())
    {
        true => (options.caches)(),
        // The libraries stay those that the caches were compiled against.
        false => Vec::new(),
    };
    if options.dry_run {
        let plan = if unfinished.is_none() {
            plan()?
        } else {
            Plan::default()
        };
        let would = Caches::planned(caches(&plan));
        let outcome = match plan.moves.is_empty() && unfinished.is_none() {
            true => Outcome::Nothing,
            false => Outcome::Planned,
        };
        return Ok(result(outcome, plan, would, None, unfinished));
    }
    // Where this tool never was, what is refused, or is nothing to do, leaves no trace.
    if !at(&place.tools, OWN).exists() && plan()?.moves.is_empty() {
        return Ok(result(
            Outcome::Nothing,
            Plan::default(),
            Caches::default(),
            None,
            None,
        ));
    }
    let (yard, recovered) = Yard::open(&place.tools, disk, report)?;
    if let Some(recovered) = &recovered {
        report(Event::Note(&recovered.line()));
    }
    let plan = plan()?;
    if plan.moves.is_empty() {
        return Ok(result(
            Outcome::Nothing,
            plan,
            Caches::default(),
            recovered,
            None,
        ));
    }
    if let Some(running) = (options.running)() {
        report(Event::Warning(&format!(
            "{running} is running; let nothing compile until this is done, and restart it afterwards"
        )));
    }
    let journal = Journal {
        moves: plan.moves.clone(),
        remove: plan.remove.clone(),
        caches: caches(&plan),
        ..Journal::new(Run::Revert, &place.core)
    };
    let caches = yard.carry_out(&journal)?;
    Ok(result(Outcome::Done, plan, caches, recovered, None))
}
