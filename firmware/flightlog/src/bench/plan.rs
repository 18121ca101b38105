//! What a run will write and erase, reckoned before it begins.

use super::{Kind, Phase};
use crate::flash::{BLOCK, ERASED, Flash, SECTOR};

/// Blocks of 64 KB that a plan can keep account of: 32 MiB of flash.
pub const MAX_BLOCKS: u32 = 512;
/// Stages that a plan can hold: all phases with both places of the buffer, each with an erase before it.
const MAX_STAGES: usize = 16;
const SECTORS_PER_BLOCK: u32 = BLOCK / SECTOR;

/// A set of blocks, counted from the partition's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marked([u32; MAX_BLOCKS as usize / 32]);

impl Marked {
    /// No block.
    pub const NONE: Marked = Marked([0; MAX_BLOCKS as usize / 32]);

    /// Whether `block` is in the set.
    pub fn has(&self, block: u32) -> bool {
        let word = self.0.get((block / 32) as usize);
        word.is_some_and(|word| word & (1 << (block % 32)) != 0)
    }

    /// Puts `block` in, or takes it out. A block from [`MAX_BLOCKS`] up is never in.
    pub fn set(&mut self, block: u32, marked: bool) {
        if let Some(word) = self.0.get_mut((block / 32) as usize) {
            let bit = 1 << (block % 32);
            *word = if marked { *word | bit } else { *word & !bit };
        }
    }

    /// How many blocks are in the set.
    pub fn count(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }
}

/// Looks which blocks of the partition are not blank, through `buffer`.
///
/// # Errors
/// The flash cannot be read.
pub fn survey<F: Flash>(flash: &mut F, buffer: &mut [u8]) -> Result<Marked, F::Error> {
    let mut dirty = Marked::NONE;
    let step = u32::try_from(buffer.len()).unwrap_or(BLOCK).clamp(1, BLOCK);
    for block in 0..(flash.size() / BLOCK).min(MAX_BLOCKS) {
        let mut done = 0;
        while done < BLOCK && !dirty.has(block) {
            let piece = &mut buffer[..step.min(BLOCK - done) as usize];
            flash.read(block * BLOCK + done, piece)?;
            if piece.iter().any(|byte| *byte != ERASED) {
                dirty.set(block, true);
            }
            done += step;
        }
    }
    Ok(dirty)
}

/// One thing after the other of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Erases, outside any phase and unmeasured, the blocks that the next phase finds written.
    Prepare(Marked),
    /// Writes `bytes` from `offset`.
    Write {
        /// Which phase.
        phase: Phase,
        /// First byte in the partition, at a block's start.
        offset: u32,
        /// Whole blocks.
        bytes: u32,
    },
    /// Erases blocks, measured.
    Erase {
        /// Which phase.
        phase: Phase,
        /// What the run wrote; where the run is this phase alone, what a write phase would use.
        blocks: Marked,
    },
}

impl Stage {
    /// Sectors of 4 KB that it erases.
    pub fn erased_sectors(&self) -> u32 {
        match self {
            Stage::Prepare(blocks) | Stage::Erase { blocks, .. } => {
                blocks.count() * SECTORS_PER_BLOCK
            }
            Stage::Write { .. } => 0,
        }
    }

    /// Bytes that it writes.
    pub fn written_bytes(&self) -> u32 {
        match self {
            Stage::Write { bytes, .. } => *bytes,
            Stage::Prepare(_) | Stage::Erase { .. } => 0,
        }
    }
}

/// A run cannot be planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanError {
    /// The partition, or the bytes wanted of a phase, hold no block of 64 KB.
    TooSmall,
    /// More phases than a plan holds.
    TooLong,
}

impl core::fmt::Display for PlanError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            PlanError::TooSmall => {
                "the partition and the bytes of a phase must each be 65536 bytes or more"
            }
            PlanError::TooLong => "a run has at most 8 phases",
        })
    }
}

impl core::error::Error for PlanError {}

/// The stages of a run.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    stages: [Option<Stage>; MAX_STAGES],
    len: usize,
}

impl Plan {
    const EMPTY: Plan = Plan {
        stages: [None; MAX_STAGES],
        len: 0,
    };

    /// Plans `phases` on a partition of `partition_bytes` of which the blocks `dirty` are not blank.
    ///
    /// A phase writes `phase_bytes`, rounded down to blocks and no more than the partition holds. Each takes the blocks
    /// after the phase before, from the start again where they do not fit, and what is not blank there is erased first.
    ///
    /// # Errors
    /// [`PlanError`].
    pub fn new(
        phases: &[Phase],
        phase_bytes: u32,
        partition_bytes: u32,
        dirty: &Marked,
    ) -> Result<Self, PlanError> {
        let all = (partition_bytes / BLOCK).min(MAX_BLOCKS);
        let each = (phase_bytes / BLOCK).min(all);
        if each == 0 {
            return Err(PlanError::TooSmall);
        }
        let mut plan = Plan::EMPTY;
        let mut dirty = *dirty;
        let mut written = Marked::NONE;
        let mut next = 0;
        for phase in phases {
            if phase.kind == Kind::Erase64k {
                if written == Marked::NONE {
                    (0..each).for_each(|block| written.set(block, true));
                }
                plan.push(Stage::Erase {
                    phase: *phase,
                    blocks: written,
                })?;
                (0..all)
                    .filter(|block| written.has(*block))
                    .for_each(|block| dirty.set(block, false));
                written = Marked::NONE;
                next = 0;
                continue;
            }
            if next + each > all {
                next = 0;
            }
            let mut stale = Marked::NONE;
            for block in next..next + each {
                stale.set(block, dirty.has(block));
                dirty.set(block, true);
                written.set(block, true);
            }
            if stale != Marked::NONE {
                plan.push(Stage::Prepare(stale))?;
            }
            plan.push(Stage::Write {
                phase: *phase,
                offset: next * BLOCK,
                bytes: each * BLOCK,
            })?;
            next += each;
        }
        Ok(plan)
    }

    /// Erases `dirty` and nothing else: no phase, nothing is measured.
    pub fn erase(dirty: Marked) -> Self {
        let mut plan = Plan::EMPTY;
        if dirty != Marked::NONE {
            plan.stages[0] = Some(Stage::Prepare(dirty));
            plan.len = 1;
        }
        plan
    }

    fn push(&mut self, stage: Stage) -> Result<(), PlanError> {
        let place = self.stages.get_mut(self.len).ok_or(PlanError::TooLong)?;
        *place = Some(stage);
        self.len += 1;
        Ok(())
    }

    /// The stages in their order.
    pub fn stages(&self) -> impl Iterator<Item = &Stage> {
        self.stages.iter().flatten()
    }

    /// Stage `index`, `None` after the last.
    pub fn stage(&self, index: usize) -> Option<&Stage> {
        self.stages.get(index)?.as_ref()
    }

    /// Phases among the stages: each gives one result.
    pub fn phases(&self) -> u32 {
        let phases = self
            .stages()
            .filter(|stage| !matches!(stage, Stage::Prepare(_)));
        u32::try_from(phases.count()).unwrap_or(u32::MAX)
    }

    /// Sectors of 4 KB that the whole run erases.
    pub fn erased_sectors(&self) -> u32 {
        self.stages().map(Stage::erased_sectors).sum()
    }

    /// Bytes that the whole run writes.
    pub fn written_bytes(&self) -> u64 {
        self.stages()
            .map(|stage| u64::from(stage.written_bytes()))
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::Place;
    use proptest::prelude::*;

    const MB: u32 = 1024 * 1024;

    fn all() -> std::vec::Vec<Phase> {
        Place::ALL
            .into_iter()
            .flat_map(|place| Kind::ALL.map(|kind| Phase { kind, place }))
            .collect()
    }

    #[test]
    fn a_whole_run_on_a_blank_partition_erases_what_it_writes() {
        let plan = Plan::new(&all(), 2 * MB, 8 * MB, &Marked::NONE).unwrap();
        assert_eq!(plan.phases(), 8);
        assert_eq!(plan.stages().count(), 8);
        assert_eq!(plan.written_bytes(), u64::from(12 * MB));
        assert_eq!(plan.erased_sectors(), 12 * MB / SECTOR);
    }

    #[test]
    fn where_the_partition_is_small_the_blocks_are_erased_between_phases() {
        let plan = Plan::new(&all(), 2 * MB, 3 * MB, &Marked::NONE).unwrap();
        assert_eq!(plan.stages().count(), 12);
        // Three writes of 2 MiB, two erased before the next one and the last by the measured erase; twice.
        assert_eq!(plan.erased_sectors(), 12 * MB / SECTOR);
    }

    #[test]
    fn what_lies_there_already_is_counted() {
        let mut dirty = Marked::NONE;
        dirty.set(3, true);
        dirty.set(90, true);
        let write = [Phase {
            kind: Kind::Write166,
            place: Place::Psram,
        }];
        let plan = Plan::new(&write, MB, 8 * MB, &dirty).unwrap();
        assert_eq!(plan.erased_sectors(), 16);
        assert_eq!(plan.stage(0).map(Stage::erased_sectors), Some(16));
    }

    #[test]
    fn an_erase_alone_erases_what_a_phase_would_use() {
        let erase = [Phase {
            kind: Kind::Erase64k,
            place: Place::Internal,
        }];
        let plan = Plan::new(&erase, MB, 8 * MB, &Marked::NONE).unwrap();
        assert_eq!(plan.erased_sectors(), 256);
    }

    #[test]
    fn a_plan_to_erase_takes_what_is_not_blank_and_no_more() {
        let mut dirty = Marked::NONE;
        dirty.set(3, true);
        dirty.set(90, true);
        let plan = Plan::erase(dirty);
        assert_eq!((plan.erased_sectors(), plan.phases()), (32, 0));
        assert_eq!(Plan::erase(Marked::NONE).stages().count(), 0);
    }

    #[test]
    fn nothing_fits_into_less_than_a_block() {
        for (bytes, partition) in [(BLOCK - 1, 8 * MB), (MB, BLOCK - 1)] {
            let plan = Plan::new(&all(), bytes, partition, &Marked::NONE);
            assert_eq!(plan.err(), Some(PlanError::TooSmall));
        }
    }

    proptest! {
        #[test]
        fn no_phase_writes_where_it_is_not_blank_and_every_erase_is_counted(
            kinds in prop::collection::vec(0usize..4, 1..=8), phase_blocks in 1u32..40, blocks in 1u32..100,
            dirty_blocks in prop::collection::vec(0u32..100, 0..20),
        ) {
            let phases: std::vec::Vec<Phase> =
                kinds.iter().map(|kind| Phase { kind: Kind::ALL[*kind], place: Place::Internal }).collect();
            let mut dirty = Marked::NONE;
            dirty_blocks.iter().filter(|block| **block < blocks).for_each(|block| dirty.set(*block, true));
            let plan = Plan::new(&phases, phase_blocks * BLOCK, blocks * BLOCK + 5, &dirty).unwrap();
            let mut erased = 0;
            for stage in plan.stages() {
                match stage {
                    Stage::Prepare(gone) | Stage::Erase { blocks: gone, .. } => {
                        for block in (0..MAX_BLOCKS).filter(|block| gone.has(*block)) {
                            prop_assert!(block < blocks);
                            dirty.set(block, false);
                            erased += 16;
                        }
                    }
                    Stage::Write { offset, bytes, .. } => {
                        prop_assert!(offset + bytes <= blocks * BLOCK);
                        for block in offset / BLOCK..(offset + bytes) / BLOCK {
                            prop_assert!(!dirty.has(block));
                            dirty.set(block, true);
                        }
                    }
                }
            }
            prop_assert_eq!(erased, plan.erased_sectors());
        }
    }
}
