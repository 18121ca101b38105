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
        let period_us = u64::from(settings.loop_period_us);
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
    /// A pass that is less than a period late keeps the beat; after a longer stall the beat begins anew, because a control
    /// loop that runs its missed passes in a row would compute with stale times.
    pub fn pass(&mut self, now_us: u64) -> Pass {
        self.gaps.pass(now_us);
        let next = self.due_us.saturating_add(self.period_us);
        self.due_us = if now_us >= next {
            now_us.saturating_add(self.period_us)
        } else {
            next
        };
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
    fn a_pass_a_little_late_keeps_the_beat_and_a_stall_begins_it_anew() {
        let mut task = LoopTask::new(&Settings::default(), 10_000);
        assert_eq!(task.due_us(), 12_000);
        task.pass(13_500);
        assert_eq!(task.due_us(), 14_000);
        task.pass(16_000);
        assert_eq!(task.due_us(), 18_000);
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
                work_us: 1_000
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
