//! The IMU's FIFO as a model: filled by time, drained by the loop, and full where the loop is held up too long.

/// Bytes of one FIFO word on the bus: a tag and six bytes of data.
pub const WORD_BYTES: u32 = 7;
/// Words of one sample: gyro, and acceleration from two ranges.
pub const WORDS_PER_SAMPLE: u32 = 3;

/// A FIFO that takes a sample at every tick of its own rate, whether anyone reads it or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fifo {
    depth_samples: u32,
    rate_hz: u32,
    start_us: u64,
    /// Samples that the IMU has produced up to the last look.
    produced: u64,
    level: u32,
    counts: Counts,
}

/// What became of the samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Samples read out.
    pub read: u64,
    /// Samples that found the FIFO full.
    pub lost: u64,
    /// Times that a drain found samples lost since the drain before: what a driver sees as the overrun flag.
    pub overruns: u32,
}

/// One drain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drained {
    /// Samples read out, all that were there.
    pub samples: u32,
    /// Samples lost since the drain before.
    pub lost: u64,
}

impl Fifo {
    /// An empty FIFO of `depth_words` [words](WORD_BYTES) that takes `rate_hz` samples a second from `start_us` on.
    ///
    /// A sample needs room for all its words: a rest of one or two words stays unused.
    pub fn new(depth_words: u32, rate_hz: u32, start_us: u64) -> Self {
        Self {
            depth_samples: depth_words / WORDS_PER_SAMPLE,
            rate_hz,
            start_us,
            produced: 0,
            level: 0,
            counts: Counts::default(),
        }
    }

    /// Reads out all that is there at `now_us`, in microseconds of a clock that only moves forward.
    pub fn drain(&mut self, now_us: u64) -> Drained {
        let elapsed = u128::from(now_us.saturating_sub(self.start_us));
        let produced = u64::try_from(elapsed * u128::from(self.rate_hz) / 1_000_000)
            .unwrap_or(u64::MAX)
            .max(self.produced);
        let arrived = produced - self.produced;
        self.produced = produced;
        let room = u64::from(self.depth_samples - self.level);
        let lost = arrived.saturating_sub(room);
        // `arrived - lost` is at most `room`, which came from a u32.
        let samples = self.level + u32::try_from(arrived - lost).unwrap_or(u32::MAX - self.level);
        self.level = 0;
        self.counts.read += u64::from(samples);
        self.counts.lost += lost;
        self.counts.overruns = self.counts.overruns.saturating_add(u32::from(lost > 0));
        Drained { samples, lost }
    }

    /// What became of all samples up to the last drain.
    pub fn counts(&self) -> Counts {
        self.counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sixteen_samples_a_pass_at_8_khz_and_500_hz() {
        let mut fifo = Fifo::new(256, 8_000, 0);
        for pass in 1..=1000 {
            let drained = fifo.drain(pass * 2_000);
            assert_eq!((drained.samples, drained.lost), (16, 0));
        }
        assert_eq!(fifo.counts().overruns, 0);
    }

    #[test]
    fn what_does_not_fit_is_lost_and_counted_once_a_drain() {
        // 256 words hold 85 samples: 10.6 ms at 8 kHz.
        let mut fifo = Fifo::new(256, 8_000, 0);
        assert_eq!(
            fifo.drain(10_625),
            Drained {
                samples: 85,
                lost: 0
            }
        );
        assert_eq!(
            fifo.drain(10_625 + 12_500),
            Drained {
                samples: 85,
                lost: 15
            }
        );
        assert_eq!(
            fifo.counts(),
            Counts {
                read: 170,
                lost: 15,
                overruns: 1
            }
        );
    }

    #[test]
    fn a_fifo_without_room_for_a_sample_loses_all() {
        let mut fifo = Fifo::new(2, 1_000, 0);
        assert_eq!(
            fifo.drain(5_000),
            Drained {
                samples: 0,
                lost: 5
            }
        );
    }

    proptest! {
        #[test]
        fn every_sample_is_read_or_lost(
            depth in 0u32..2_000, rate in 0u32..100_000, mut times in prop::collection::vec(0u64..10_000_000, 1..60),
        ) {
            times.sort_unstable();
            let mut fifo = Fifo::new(depth, rate, 0);
            for now in &times {
                prop_assert!(fifo.drain(*now).samples <= depth / WORDS_PER_SAMPLE);
            }
            let last = times.last().copied().unwrap_or(0);
            let counts = fifo.counts();
            prop_assert_eq!(counts.read + counts.lost, last * u64::from(rate) / 1_000_000);
        }
    }
}
