//! The 500 Hz loop of the flight computer.

use super::{Load, Settings};
use crate::fifo::{Counts, Fifo};
use crate::stats::GapStats;

/// The loop, one phase long. The task sleeps until [`LoopTask::due_us`], calls [`LoopTask::pass`], spends the times that it
/// gives, and begins again.
#[derive(Clone, Copy, Debug)]
pub struct LoopTask {
    period_us: u64,
    due_us: u64,
    load: Load,
    fifo: Fifo,
    gaps: GapStats,
}

/// What one pass has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    /// Samples that the burst brought.
    pub samples: u32,
    /// Microseconds of the burst over the IMU's bus, with this core's scheduler held off.
    pub burst_us: u32,
    /// Microseconds of work after it.
    pub work_us: u32,
}

impl LoopTask {
    /// A loop whose first pass is due one period after `now_us` (microseconds of a clock that only moves forward).
    pub fn new(settings: &Settings, now_us: u64) -> Self {
        let period_us = u64::from(settings.loop_period_us.max(1));
        Self {
            period_us,
            due_us: now_us.saturating_add(period_us),
            load: settings.load,
            fifo: Fifo::new(settings.fifo_words, settings.imu_hz, now_us),
            gaps: GapStats::new(now_us),
        }
    }

    /// When the next pass is due. The past: at once.
    pub fn due_us(&self) -> u64 {
        self.due_us
    }

    /// Begins a pass.
    ///
    /// Passes that a stall has cost are not made up, because a control loop that ran them in a row would compute with stale
    /// times; the beat itself never shifts, so that it stays on the ticks of the scheduler.
    pub fn pass(&mut self, now_us: u64) -> Pass {
        self.gaps.pass(now_us);
        let late = now_us.saturating_sub(self.due_us);
        let beats = late / self.period_us + 1;
        self.due_us = self
            .due_us
            .saturating_add(beats.saturating_mul(self.period_us));
        let samples = self.fifo.drain(now_us).samples;
        let burst_us = u64::from(samples) * u64::from(self.load.sample_ns) / 1_000;
        Pass {
            samples,
            burst_us: u32::try_from(burst_us).unwrap_or(u32::MAX),
            work_us: self.load.pass_us,
        }
    }

    /// Ends the phase: how the loop was held up, and what became of the samples.
    pub fn finish(mut self, now_us: u64) -> (GapStats, Counts) {
        self.gaps.finish(now_us);
        (self.gaps, self.fifo.counts())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_passes_keep_the_beat_and_missed_ones_are_left_out() {
        let mut task = LoopTask::new(&Settings::default(), 10_000);
        assert_eq!(task.due_us(), 12_000);
        for (now, due) in [
            (12_000, 14_000),
            (15_999, 16_000),
            (16_000, 18_000),
            (25_000, 26_000),
        ] {
            task.pass(now);
            assert_eq!(task.due_us(), due);
        }
    }

    #[test]
    fn a_pass_reads_what_the_imu_gave_and_says_how_long_that_takes() {
        let mut task = LoopTask::new(&Settings::default(), 0);
        let pass = task.pass(2_000);
        assert_eq!(
            pass,
            Pass {
                samples: 16,
                burst_us: 268,
                work_us: 1_125
            }
        );
        let late = task.pass(30_000);
        assert_eq!(late.samples, 85);
        let (gaps, counts) = task.finish(31_000);
        assert_eq!(gaps.worst_us(), 28_000);
        assert_eq!(counts.overruns, 1);
        assert_eq!(counts.lost, 30 * 8 - 16 - 85);
    }
}
