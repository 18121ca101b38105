//! The task on the other core that writes or erases.

use super::region::Region;
use super::{BUFFER, Marked, Phase};
use crate::flash::{BLOCK, Flash, SECTOR};
use crate::pacing::Pacing;
use crate::pages::{PageWriter, WriteError};
use crate::record::{Kind, MAX_PAYLOAD};

/// Microseconds for which the writer leaves the flash alone after each erased block: two passes of a 500 Hz loop.
///
/// The flash driver's own pause (CONFIG_SPI_FLASH_YIELD_DURING_ERASE) comes only between the blocks of one call.
const PAUSE_US: u64 = 4_000;
/// The records of the bench.
const FILLER: Kind = Kind::OWN;

/// What the writer's task has to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Sleep until this moment, in microseconds.
    Wait(u64),
    /// Call [`WriterTask::write`].
    Write,
    /// Call [`WriterTask::erase`].
    Erase,
    /// All is done, or it was stopped: take [`WriterTask::written`].
    Done,
}

/// What to write or to erase, from a [`Stage`](super::Stage).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Writes this many bytes, a multiple of [`BUFFER`], from this offset.
    Write {
        /// First byte in the partition.
        offset: u32,
        /// How many.
        bytes: u32,
    },
    /// Erases these blocks.
    Erase(Marked),
}

/// What the writer did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Bytes written.
    pub bytes: u32,
    /// Sectors of 4 KB erased.
    pub erased_sectors: u32,
    /// Flash calls made.
    pub calls: u32,
    /// The longest of them in microseconds.
    pub longest_call_us: u32,
    /// From the phase's start to the end of the last call, in microseconds.
    pub elapsed_us: u64,
    /// Whether the phase was stopped before its end.
    pub stopped: bool,
}

/// The writer, one phase long. The task asks [`WriterTask::next`] what to do, does it, and asks again.
pub struct WriterTask<'m, F> {
    work: Work<'m, F>,
    /// Counts from the start.
    pacing: Option<Pacing>,
    start_us: u64,
    not_before_us: u64,
    written: Written,
}

enum Work<'m, F> {
    Write {
        pages: PageWriter<'m, Region<F>>,
        bytes: u32,
    },
    Erase {
        flash: F,
        blocks: Marked,
        /// The first block that has not been looked at.
        from: u32,
    },
}

impl<'m, F: Flash> WriterTask<'m, F> {
    /// A writer for `target`. Its time begins with [`WriterTask::start`]: for a write, this reads the target's sectors to see
    /// that they are blank, which takes its time.
    ///
    /// `buffer` stands where the phase says: it is up to the caller to take it from there. It goes back with the value's end.
    ///
    /// # Errors
    /// As [`PageWriter::begin`]: the flash failed, or the target is not blank.
    pub fn new(
        phase: Phase,
        target: Target,
        flash: F,
        buffer: &'m mut [u8; BUFFER],
    ) -> Result<Self, WriteError<F::Error>> {
        let work = match target {
            Target::Write { offset, bytes } => {
                let region = Region {
                    flash,
                    offset,
                    bytes,
                };
                // The bench's log is erased again and never looked for: any number will do.
                let pages = PageWriter::begin(region, buffer, offset)?;
                if pages.sectors_left() < bytes / SECTOR {
                    let offset = offset + pages.sectors_left() * SECTOR;
                    return Err(WriteError::NotErased { offset });
                }
                Work::Write { pages, bytes }
            }
            Target::Erase(blocks) => Work::Erase {
                flash,
                blocks,
                from: 0,
            },
        };
        let rate = phase.kind.target_bytes_per_second();
        Ok(Self {
            work,
            pacing: rate.and_then(|rate| Pacing::new(rate, 0)),
            start_us: 0,
            not_before_us: 0,
            written: Written::default(),
        })
    }

    /// Begins the phase at `now_us`, in microseconds of a clock that only moves forward.
    pub fn start(&mut self, now_us: u64) {
        self.start_us = now_us;
        self.not_before_us = now_us;
    }

    /// What to do at `now_us`.
    pub fn next(&mut self, now_us: u64) -> Step {
        if self.written.stopped {
            return Step::Done;
        }
        let (step, due) = match &mut self.work {
            Work::Write { bytes, .. } if self.written.bytes >= *bytes => return Step::Done,
            Work::Write { .. } => {
                // A buffer goes out when the last of its bytes is due: the logger writes no half buffers.
                let full = u64::from(self.written.bytes) + BUFFER as u64;
                let due = self.pacing.map_or(0, |pacing| pacing.due_at(full));
                (Step::Write, self.start_us.saturating_add(due))
            }
            Work::Erase { blocks, from, .. } => {
                let next = (*from..super::MAX_BLOCKS).find(|block| blocks.has(*block));
                let Some(block) = next else {
                    return Step::Done;
                };
                *from = block;
                (Step::Erase, self.not_before_us)
            }
        };
        if now_us < due { Step::Wait(due) } else { step }
    }

    /// Gathers a buffer and writes it, through the logger's own page writer. `clock` gives the time in microseconds. Does
    /// nothing in a phase that erases.
    ///
    /// # Errors
    /// The flash failed; the phase is over.
    pub fn write(&mut self, clock: impl Fn() -> u64) -> Result<(), WriteError<F::Error>> {
        let Work::Write { pages, .. } = &mut self.work else {
            return Ok(());
        };
        let time = clock();
        let gathered = gather(pages, time, self.written.bytes);
        let begin = clock();
        let outcome = gathered.and_then(|()| pages.flush());
        let end = clock();
        self.account(begin, end, outcome.is_ok());
        outcome?;
        self.written.bytes += BUFFER as u32;
        Ok(())
    }

    /// Erases the next block. `clock` as for [`WriterTask::write`]. Does nothing in a phase that writes.
    ///
    /// # Errors
    /// The flash failed; the phase is over.
    pub fn erase(&mut self, clock: impl Fn() -> u64) -> Result<(), F::Error> {
        let Work::Erase { flash, from, .. } = &mut self.work else {
            return Ok(());
        };
        let begin = clock();
        let outcome = flash.erase(*from * BLOCK, BLOCK);
        *from += 1;
        let end = clock();
        self.account(begin, end, outcome.is_ok());
        outcome?;
        self.not_before_us = end.saturating_add(PAUSE_US);
        self.written.erased_sectors += BLOCK / SECTOR;
        Ok(())
    }

    /// Ends the phase before its time; what is done so far stays in the result.
    pub fn stop(&mut self) {
        self.written.stopped = true;
    }

    /// What has been done so far.
    pub fn written(&self) -> Written {
        self.written
    }

    fn account(&mut self, begin_us: u64, end_us: u64, good: bool) {
        let call = u32::try_from(end_us.saturating_sub(begin_us)).unwrap_or(u32::MAX);
        let written = &mut self.written;
        written.calls += 1;
        written.longest_call_us = written.longest_call_us.max(call);
        written.elapsed_us = end_us.saturating_sub(self.start_us);
        written.stopped |= !good;
    }
}

/// Fills a sector with one record, of bytes that differ from sector to sector.
fn gather<F: Flash>(
    pages: &mut PageWriter<'_, F>,
    time_us: u64,
    number: u32,
) -> Result<(), WriteError<F::Error>> {
    pages.open_record(FILLER, time_us, MAX_PAYLOAD)?;
    let spare = pages.spare();
    let mut state = number ^ 0x9E37_79B9;
    for piece in spare.chunks_mut(4) {
        // A linear congruential step: cheap, and no two sectors alike.
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        piece.copy_from_slice(&state.to_le_bytes()[..piece.len()]);
    }
    let bytes = spare.len();
    pages.grow(bytes);
    pages.end_record();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::{self, Place};
    use core::cell::Cell;

    /// A flash of 256 KB in which each call takes a millisecond of `now_us`.
    struct Fake<'c> {
        now_us: &'c Cell<u64>,
        bytes: std::vec::Vec<u8>,
        fail_at: Option<u32>,
    }

    impl Flash for Fake<'_> {
        type Error = u32;

        fn size(&self) -> u32 {
            256 * 1024
        }

        fn read(&mut self, offset: u32, into: &mut [u8]) -> Result<(), u32> {
            let start = offset as usize;
            into.copy_from_slice(&self.bytes[start..start + into.len()]);
            Ok(())
        }

        fn program(&mut self, offset: u32, data: &[u8]) -> Result<(), u32> {
            self.now_us.set(self.now_us.get() + 1_000);
            if self.fail_at == Some(offset) {
                return Err(offset);
            }
            let start = offset as usize;
            assert!(
                self.bytes[start..start + data.len()]
                    .iter()
                    .all(|byte| *byte == 0xFF)
            );
            self.bytes[start..start + data.len()].copy_from_slice(data);
            Ok(())
        }

        fn erase(&mut self, offset: u32, len: u32) -> Result<(), u32> {
            self.now_us.set(self.now_us.get() + 1_000);
            let start = offset as usize;
            self.bytes[start..start + len as usize].fill(0xFF);
            Ok(())
        }
    }

    fn run(
        kind: bench::Kind,
        target: Target,
        fake: &mut Fake<'_>,
    ) -> Result<Written, WriteError<u32>> {
        let mut buffer = [0; BUFFER];
        let now_us = fake.now_us;
        let phase = Phase {
            kind,
            place: Place::Internal,
        };
        let mut writer = WriterTask::new(phase, target, fake, &mut buffer)?;
        writer.start(now_us.get());
        loop {
            match writer.next(now_us.get()) {
                Step::Wait(until) => {
                    assert!(until > now_us.get());
                    now_us.set(until);
                }
                Step::Write => writer.write(|| now_us.get())?,
                Step::Erase => writer.erase(|| now_us.get()).map_err(WriteError::Flash)?,
                Step::Done => return Ok(writer.written()),
            }
        }
    }

    fn fake(now_us: &Cell<u64>) -> Fake<'_> {
        Fake {
            now_us,
            bytes: std::vec![0xFF; 256 * 1024],
            fail_at: None,
        }
    }

    #[test]
    fn a_paced_phase_holds_its_rate_and_writes_every_byte_once() {
        let now_us = Cell::new(0);
        let mut flash = fake(&now_us);
        let target = Target::Write {
            offset: 65_536,
            bytes: 131_072,
        };
        let written = run(bench::Kind::Write55, target, &mut flash).unwrap();
        assert_eq!((written.bytes, written.calls), (131_072, 32));
        assert_eq!(written.longest_call_us, 1_000);
        // Due at 131072 B / 55000 B/s, and a millisecond for the last call.
        assert_eq!(written.elapsed_us, 2_383_128 + 1_000);
        assert!(flash.bytes[..65_536].iter().all(|byte| *byte == 0xFF));
        assert!(flash.bytes[196_608..].iter().all(|byte| *byte == 0xFF));
        let mut buffers: std::vec::Vec<_> = flash.bytes[65_536..196_608].chunks(BUFFER).collect();
        buffers.sort_unstable();
        buffers.dedup();
        assert_eq!(buffers.len(), 32);
    }

    #[test]
    fn flat_out_never_waits_and_an_erase_lets_the_loop_in_between() {
        let now_us = Cell::new(0);
        let mut flash = fake(&now_us);
        let target = Target::Write {
            offset: 0,
            bytes: 131_072,
        };
        assert_eq!(
            run(bench::Kind::WriteFlatOut, target, &mut flash)
                .unwrap()
                .elapsed_us,
            32_000
        );
        let mut blocks = Marked::NONE;
        blocks.set(0, true);
        blocks.set(3, true);
        now_us.set(0);
        let written = run(bench::Kind::Erase64k, Target::Erase(blocks), &mut flash).unwrap();
        assert_eq!(
            (written.erased_sectors, written.calls, written.bytes),
            (32, 2, 0)
        );
        assert_eq!(written.elapsed_us, 1_000 + PAUSE_US + 1_000);
        assert!(flash.bytes[..65_536].iter().all(|byte| *byte == 0xFF));
        assert!(
            flash.bytes[65_536..131_072]
                .iter()
                .any(|byte| *byte != 0xFF)
        );
    }

    #[test]
    fn what_is_not_blank_is_not_written_to() {
        let now_us = Cell::new(0);
        let mut flash = fake(&now_us);
        flash.bytes[100_000] = 0;
        let target = Target::Write {
            offset: 65_536,
            bytes: 131_072,
        };
        let refused = WriteError::NotErased { offset: 98_304 };
        assert_eq!(
            run(bench::Kind::WriteFlatOut, target, &mut flash),
            Err(refused)
        );
        let behind = Target::Write {
            offset: 131_072,
            bytes: 65_536,
        };
        assert!(run(bench::Kind::WriteFlatOut, behind, &mut flash).is_ok());
    }

    #[test]
    fn a_failing_flash_ends_the_phase_and_a_stop_too() {
        let now_us = Cell::new(0);
        let mut flash = fake(&now_us);
        flash.fail_at = Some(8_192);
        let target = Target::Write {
            offset: 0,
            bytes: 131_072,
        };
        assert_eq!(
            run(bench::Kind::WriteFlatOut, target, &mut flash),
            Err(WriteError::Flash(8_192))
        );

        let mut buffer = [0; BUFFER];
        let phase = Phase {
            kind: bench::Kind::WriteFlatOut,
            place: Place::Psram,
        };
        let mut writer = WriterTask::new(phase, target, fake(&now_us), &mut buffer).unwrap();
        writer.start(0);
        assert_eq!(writer.next(0), Step::Write);
        writer.write(|| 5).unwrap();
        writer.stop();
        assert_eq!(writer.next(6), Step::Done);
        assert_eq!(
            (writer.written().bytes, writer.written().stopped),
            (4_096, true)
        );
    }
}
