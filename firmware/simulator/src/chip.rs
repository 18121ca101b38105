//! The chip: a clock, the loop's core, and the flash whose commands the writer's core waits for.

use std::cell::RefCell;
use std::rc::Rc;

use flightlog::bench::{Place, Settings};
use flightlog::fifo::Counts;
use flightlog::flash::{BLOCK, ERASED, Flash, PAGE, SECTOR};
use flightlog::stats::GapStats;

use crate::Libraries;
use crate::constants::Constants;
use crate::core::{Core, Pace};

/// The chip, as all that stands on it sees it.
#[derive(Clone)]
pub(crate) struct Chip(Rc<RefCell<State>>);

struct State {
    constants: Constants,
    libraries: Libraries,
    now_ns: u64,
    /// The loop's core, while a phase is measured.
    core: Option<Core>,
    memory: Vec<u8>,
    erases: u64,
}

impl Chip {
    /// A chip with a blank flight partition of `bytes`.
    pub(crate) fn new(constants: Constants, libraries: Libraries, bytes: u32) -> Self {
        Self(Rc::new(RefCell::new(State {
            constants,
            libraries,
            now_ns: 0,
            core: None,
            memory: vec![ERASED; bytes as usize],
            erases: 0,
        })))
    }

    /// The clock in microseconds.
    pub(crate) fn now_us(&self) -> u64 {
        self.0.borrow().now_ns / 1_000
    }

    /// Starts the loop on its core, at a tick.
    pub(crate) fn start_loop(&self, settings: &Settings) {
        let mut state = self.0.borrow_mut();
        state.now_ns = state.constants.tick_from(state.now_ns);
        state.core = Some(Core::new(settings, &state.constants, state.now_ns));
    }

    /// Ends the loop.
    pub(crate) fn end_loop(&self) -> Option<(GapStats, Counts)> {
        self.0.borrow_mut().core.take().map(Core::finish)
    }

    /// The writer's core works for `ns`.
    pub(crate) fn work(&self, ns: u64) {
        self.0.borrow_mut().pass_time(ns, Pace::Running);
    }

    /// The writer sleeps until `us`, and wakes at the tick.
    pub(crate) fn sleep_until(&self, us: u64) {
        let mut state = self.0.borrow_mut();
        let wake = state.constants.tick_from(us * 1_000);
        let ns = wake.saturating_sub(state.now_ns);
        state.pass_time(ns, Pace::Running);
    }

    /// The flight partition, for a writer whose buffer stands in `place`.
    pub(crate) fn flash(&self, place: Place) -> Partition {
        Partition {
            chip: self.clone(),
            place,
        }
    }
}

impl State {
    fn pass_time(&mut self, ns: u64, pace: Pace) {
        self.now_ns += ns;
        if let Some(core) = &mut self.core {
            core.advance(self.now_ns, pace);
        }
    }

    /// Flash commands that together take `ns`, of which the bus is taken for `share` thousandths.
    ///
    /// Stock: the writer asks the other core to hold still, waits until that has ended the burst that it may be in, and both
    /// caches are off until the commands are done. XIP: the other core only waits for the bus now and then.
    fn commands(&mut self, ns: u64, share: u64) {
        match self.libraries {
            Libraries::Xip => self.pass_time(ns, Pace::Sharing(share)),
            Libraries::Stock => {
                let burst = self.core.as_ref().map_or(0, Core::burst_left_ns);
                self.pass_time(burst, Pace::Running);
                self.pass_time(ns + self.constants.stop_ns, Pace::Stopped);
            }
        }
    }

    fn program(&mut self, place: Place, bytes: usize) {
        let constants = self.constants;
        let round = match place {
            Place::Internal => constants.chunk_bytes,
            Place::Psram => constants.bounce_bytes,
        };
        let mut left = bytes;
        while left > 0 {
            let now = left.min(round);
            self.pass_time(constants.round_ns, Pace::Running);
            let (whole, rest) = (now / constants.command_bytes, now % constants.command_bytes);
            let mut ns = constants.program_command_ns(constants.command_bytes) * whole as u64;
            if rest > 0 {
                ns += constants.program_command_ns(rest);
            }
            self.commands(ns, constants.bus_share(now.min(constants.command_bytes)));
            left -= now;
        }
    }
}

/// An access that leaves the partition or is not aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfRange {
    /// Where it begins.
    pub offset: u32,
    /// How many bytes it wants.
    pub bytes: u64,
}

impl std::fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} bytes at {:#x} leave the simulated partition or are not aligned",
            self.bytes, self.offset
        )
    }
}

impl std::error::Error for OutOfRange {}

/// The flight partition. Reads take no time: no measured phase reads.
pub(crate) struct Partition {
    chip: Chip,
    place: Place,
}

impl Partition {
    fn range(&self, offset: u32, bytes: usize) -> Result<std::ops::Range<usize>, OutOfRange> {
        let start = offset as usize;
        match start.checked_add(bytes) {
            Some(end) if end <= self.size() as usize => Ok(start..end),
            _ => Err(OutOfRange {
                offset,
                bytes: bytes as u64,
            }),
        }
    }
}

impl Flash for Partition {
    type Error = OutOfRange;

    fn size(&self) -> u32 {
        self.chip.0.borrow().memory.len() as u32
    }

    fn read(&mut self, offset: u32, into: &mut [u8]) -> Result<(), OutOfRange> {
        let range = self.range(offset, into.len())?;
        into.copy_from_slice(&self.chip.0.borrow().memory[range]);
        Ok(())
    }

    fn program(&mut self, offset: u32, data: &[u8]) -> Result<(), OutOfRange> {
        let range = self.range(offset, data.len())?;
        let mut state = self.chip.0.borrow_mut();
        // NOR: a program clears bits and sets none.
        for (cell, byte) in state.memory[range].iter_mut().zip(data) {
            *cell &= byte;
        }
        state.program(self.place, data.len());
        Ok(())
    }

    fn erase(&mut self, offset: u32, len: u32) -> Result<(), OutOfRange> {
        let range = self.range(offset, len as usize)?;
        if !offset.is_multiple_of(SECTOR) || !len.is_multiple_of(BLOCK) {
            return Err(OutOfRange {
                offset,
                bytes: u64::from(len),
            });
        }
        let mut state = self.chip.0.borrow_mut();
        state.memory[range].fill(ERASED);
        for _ in 0..len / BLOCK {
            let ns = state.constants.erase_ns(state.erases);
            state.erases += 1;
            let round_ns = state.constants.round_ns;
            state.pass_time(round_ns, Pace::Running);
            state.commands(ns, 0);
        }
        Ok(())
    }
}

const _: () = assert!(
    PAGE.is_multiple_of(64),
    "no command of 64 bytes crosses a page"
);
