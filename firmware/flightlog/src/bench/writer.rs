//! The task on the other core that writes or erases.

use super::{BUFFER, Marked, Phase};
use crate::flash::{BLOCK, Flash, SECTOR};
use crate::pacing::Pacing;

/// Microseconds for which the writer leaves the flash alone after each erased block: two passes of a 500 Hz loop.
///
/// The flash driver's own pause (CONFIG_SPI_FLASH_YIELD_DURING_ERASE) comes only between the blocks of one call.
const PAUSE_US: u64 = 4_000;

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
#[derive(Debug)]
pub struct WriterTask<'m> {
    target: Target,
    pacing: Option<Pacing>,
    start_us: u64,
    not_before_us: u64,
    /// Bytes written, or the first block not yet looked at for an erase.
    position: u32,
    buffer: &'m mut [u8; BUFFER],
    written: Written,
}

impl<'m> WriterTask<'m> {
    /// A writer that begins at `now_us`, in microseconds of a clock that only moves forward.
    ///
    /// `buffer` stands where the phase says: it is up to the caller to take it from there.
    pub fn new(phase: Phase, target: Target, buffer: &'m mut [u8; BUFFER], now_us: u64) -> Self {
        let pacing = phase
            .kind
            .target_bytes_per_second()
            .and_then(|rate| Pacing::new(rate, now_us));
        Self {
            target,
            pacing,
            start_us: now_us,
            not_before_us: now_us,
            position: 0,
            buffer,
            written: Written::default(),
        }
    }

    /// What to do at `now_us`.
    pub fn next(&mut self, now_us: u64) -> Step {
        if self.written.stopped {
            return Step::Done;
        }
        let (step, due) = match self.target {
            Target::Write { bytes, .. } if self.position >= bytes => return Step::Done,
            Target::Write { .. } => {
                // A buffer goes out when the last of its bytes is due: the logger writes no half buffers.
                let full = u64::from(self.position) + BUFFER as u64;
                let due = self.pacing.map_or(now_us, |pacing| pacing.due_at(full));
                (Step::Write, due)
            }
            Target::Erase(blocks) => {
                let block = (self.position..super::MAX_BLOCKS).find(|block| blocks.has(*block));
                let Some(block) = block else {
                    return Step::Done;
                };
                self.position = block;
                (Step::Erase, self.not_before_us)
            }
        };
        if now_us < due { Step::Wait(due) } else { step }
    }

    /// Gathers a buffer and writes it. `clock` gives the time in microseconds.
    ///
    /// # Errors
    /// The flash failed; the phase is over.
    pub fn write<F: Flash>(
        &mut self,
        flash: &mut F,
        clock: impl Fn() -> u64,
    ) -> Result<(), F::Error> {
        let Target::Write { offset, .. } = self.target else {
            return Ok(());
        };
        self.gather();
        let begin = clock();
        let outcome = flash.program(offset + self.position, self.buffer);
        let end = clock();
        self.account(begin, end, outcome.is_ok());
        outcome?;
        self.position += BUFFER as u32;
        self.written.bytes += BUFFER as u32;
        Ok(())
    }

    /// Erases the next block. `clock` as for [`WriterTask::write`].
    ///
    /// # Errors
    /// The flash failed; the phase is over.
    pub fn erase<F: Flash>(
        &mut self,
        flash: &mut F,
        clock: impl Fn() -> u64,
    ) -> Result<(), F::Error> {
        let Target::Erase(_) = self.target else {
            return Ok(());
        };
        let begin = clock();
        let outcome = flash.erase(self.position * BLOCK, BLOCK);
        let end = clock();
        self.account(begin, end, outcome.is_ok());
        outcome?;
        self.position += 1;
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

    /// Fills the buffer with bytes that differ from buffer to buffer and are not blank.
    fn gather(&mut self) {
        let mut state = self.position ^ 0x9E37_79B9;
        for word in self.buffer.chunks_exact_mut(4) {
            // A linear congruential step: cheap, and no two buffers alike.
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            word.copy_from_slice(&state.to_le_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::{Kind, Place};
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

    fn run(kind: Kind, target: Target, fake: &mut Fake<'_>) -> Result<Written, u32> {
        let mut buffer = [0; BUFFER];
        let now_us = fake.now_us;
        let phase = Phase {
            kind,
            place: Place::Internal,
        };
        let mut writer = WriterTask::new(phase, target, &mut buffer, now_us.get());
        loop {
            match writer.next(now_us.get()) {
                Step::Wait(until) => {
                    assert!(until > now_us.get());
                    now_us.set(until);
                }
                Step::Write => writer.write(fake, || now_us.get())?,
                Step::Erase => writer.erase(fake, || now_us.get())?,
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
        let written = run(Kind::Write55, target, &mut flash).unwrap();
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
            run(Kind::WriteFlatOut, target, &mut flash)
                .unwrap()
                .elapsed_us,
            32_000
        );
        let mut blocks = Marked::NONE;
        blocks.set(0, true);
        blocks.set(3, true);
        now_us.set(0);
        let written = run(Kind::Erase64k, Target::Erase(blocks), &mut flash).unwrap();
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
    fn a_failing_flash_ends_the_phase_and_a_stop_too() {
        let now_us = Cell::new(0);
        let mut flash = fake(&now_us);
        flash.fail_at = Some(8_192);
        let target = Target::Write {
            offset: 0,
            bytes: 131_072,
        };
        assert_eq!(run(Kind::WriteFlatOut, target, &mut flash), Err(8_192));

        let mut buffer = [0; BUFFER];
        let phase = Phase {
            kind: Kind::WriteFlatOut,
            place: Place::Psram,
        };
        let mut writer = WriterTask::new(phase, target, &mut buffer, 0);
        assert_eq!(writer.next(0), Step::Write);
        assert!(writer.write(&mut fake(&now_us), || 5).is_ok());
        writer.stop();
        assert_eq!(writer.next(6), Step::Done);
        assert_eq!(
            (writer.written().bytes, writer.written().stopped),
            (4_096, true)
        );
    }
}
