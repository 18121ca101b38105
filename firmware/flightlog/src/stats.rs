//! How regularly the loop ran: passes, rate, worst gap, a histogram of gaps, and the worst gap of each slice of time.
//!
//! A gap is the time from the start of one pass to the start of the next, in microseconds.

/// Buckets of the histogram. The last one takes everything from about 50 s up.
pub const BUCKETS: usize = 88;
/// Slices of the time line.
pub const SLICES: usize = 64;
/// Length of a slice at the start, in microseconds; it doubles each time that the slices are used up.
pub const FIRST_SLICE_US: u64 = 50_000;

/// Buckets in each doubling.
const PER_OCTAVE: u32 = 4;
/// Gaps below this, in microseconds, share the first bucket.
const FIRST_OCTAVE: u32 = 4; // 2^4 us

/// The bucket that takes a gap of `gap_us`.
pub fn bucket(gap_us: u64) -> usize {
    let gap = gap_us.max(1);
    let octave = gap.ilog2();
    if octave < FIRST_OCTAVE {
        return 0;
    }
    // The two bits below the leading one choose the quarter.
    let quarter = (gap >> (octave - 2)) & 3;
    let index = u64::from((octave - FIRST_OCTAVE) * PER_OCTAVE) + quarter + 1;
    usize::try_from(index)
        .unwrap_or(usize::MAX)
        .min(BUCKETS - 1)
}

/// The smallest gap in microseconds that falls into bucket `index`; the bucket ends where the next one begins.
///
/// Bucket 0 begins at 0; from 16 us on each doubling has four buckets of equal width.
pub fn bucket_floor_us(index: usize) -> u64 {
    let Some(above) = index.checked_sub(1) else {
        return 0;
    };
    let above = u32::try_from(above.min(BUCKETS - 1)).unwrap_or(0);
    let octave = FIRST_OCTAVE + above / PER_OCTAVE;
    u64::from(4 + above % PER_OCTAVE) << (octave - 2)
}

/// The worst gap of each slice of time, in bounded memory however long it goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeLine {
    slice_us: u64,
    used: usize,
    worst_us: [u32; SLICES],
}

impl TimeLine {
    fn new() -> Self {
        Self {
            slice_us: FIRST_SLICE_US,
            used: 0,
            worst_us: [0; SLICES],
        }
    }

    /// Length of one slice in microseconds.
    pub fn slice_us(&self) -> u64 {
        self.slice_us
    }

    /// The worst gap that ended in each slice, in microseconds; 0 where none ended.
    pub fn worst_us(&self) -> &[u32] {
        &self.worst_us[..self.used]
    }

    fn add(&mut self, since_start_us: u64, gap_us: u32) {
        let mut slice = since_start_us / self.slice_us;
        while slice >= SLICES as u64 {
            self.halve();
            slice = since_start_us / self.slice_us;
        }
        let slice = usize::try_from(slice).unwrap_or(SLICES - 1);
        self.used = self.used.max(slice + 1);
        self.worst_us[slice] = self.worst_us[slice].max(gap_us);
    }

    /// Joins the slices in pairs.
    fn halve(&mut self) {
        for slice in 0..SLICES {
            let pair = self.worst_us.get(2 * slice..2 * slice + 2);
            self.worst_us[slice] = pair.map_or(0, |pair| pair[0].max(pair[1]));
        }
        self.used = self.used.div_ceil(2);
        self.slice_us = self.slice_us.saturating_mul(2);
    }
}

/// Gap statistics of one phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GapStats {
    start_us: u64,
    last_us: Option<u64>,
    end_us: u64,
    passes: u32,
    worst_us: u32,
    histogram: [u32; BUCKETS],
    time_line: TimeLine,
}

impl GapStats {
    /// Begins at `start_us`, in microseconds of a clock that only moves forward. The first gap counts from here.
    pub fn new(start_us: u64) -> Self {
        Self {
            start_us,
            last_us: None,
            end_us: start_us,
            passes: 0,
            worst_us: 0,
            histogram: [0; BUCKETS],
            time_line: TimeLine::new(),
        }
    }

    /// A pass begins.
    pub fn pass(&mut self, now_us: u64) {
        if let Some(last) = self.last_us {
            let gap = now_us.saturating_sub(last);
            self.histogram[bucket(gap)] = self.histogram[bucket(gap)].saturating_add(1);
        }
        self.gap_until(now_us);
        self.passes = self.passes.saturating_add(1);
        self.last_us = Some(now_us.max(self.start_us));
    }

    /// The phase ends. The time since the last pass is a gap cut short: it counts for the worst one, not in the histogram.
    pub fn finish(&mut self, now_us: u64) {
        self.gap_until(now_us);
    }

    fn gap_until(&mut self, now_us: u64) {
        let gap = now_us.saturating_sub(self.last_us.unwrap_or(self.start_us));
        let gap = u32::try_from(gap).unwrap_or(u32::MAX);
        self.worst_us = self.worst_us.max(gap);
        self.end_us = self.end_us.max(now_us);
        self.time_line
            .add(now_us.saturating_sub(self.start_us), gap);
    }

    /// Passes begun.
    pub fn passes(&self) -> u32 {
        self.passes
    }

    /// Microseconds from the start to the last pass or to the end.
    pub fn elapsed_us(&self) -> u64 {
        self.end_us - self.start_us
    }

    /// Passes a second, in thousandths; 0 where no time has gone by.
    pub fn rate_millihertz(&self) -> u32 {
        rate_per_second(u64::from(self.passes) * 1_000, self.elapsed_us())
    }

    /// The longest gap in microseconds.
    pub fn worst_us(&self) -> u32 {
        self.worst_us
    }

    /// Gaps in each [bucket].
    pub fn histogram(&self) -> &[u32; BUCKETS] {
        &self.histogram
    }

    /// The worst gap of each slice of time.
    pub fn time_line(&self) -> &TimeLine {
        &self.time_line
    }
}

/// `count` in `elapsed_us` microseconds as a rate per second, rounded; 0 where no time has gone by.
pub fn rate_per_second(count: u64, elapsed_us: u64) -> u32 {
    if elapsed_us == 0 {
        return 0;
    }
    let elapsed = u128::from(elapsed_us);
    let rate = (u128::from(count) * 1_000_000 + elapsed / 2) / elapsed;
    u32::try_from(rate).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_even_loop_is_499_or_500_hz() {
        let mut stats = GapStats::new(0);
        for pass in 0..=5_000u64 {
            stats.pass(pass * 2_000);
        }
        assert_eq!(stats.worst_us(), 2_000);
        assert_eq!(stats.rate_millihertz(), 500_100);
        assert_eq!(stats.histogram()[bucket(2_000)], 5_000);
    }

    #[test]
    fn a_loop_that_never_runs_again_is_seen_at_the_end() {
        let mut stats = GapStats::new(1_000);
        stats.pass(1_000);
        stats.pass(3_000);
        stats.finish(250_000);
        assert_eq!(stats.worst_us(), 247_000);
        assert_eq!(stats.passes(), 2);
        assert_eq!(stats.histogram().iter().sum::<u32>(), 1);
        assert_eq!(stats.time_line().worst_us().last(), Some(&247_000));
    }

    #[test]
    fn a_loop_that_never_starts_is_one_gap() {
        let mut stats = GapStats::new(0);
        stats.finish(9_000);
        assert_eq!((stats.passes(), stats.worst_us()), (0, 9_000));
        assert_eq!(stats.rate_millihertz(), 0);
    }

    #[test]
    fn the_time_line_keeps_the_worst_when_its_slices_double() {
        let mut stats = GapStats::new(0);
        for pass in 0..=60_000u64 {
            let late = if pass == 700 { 1_500 } else { 0 };
            stats.pass(pass * 2_000 + late);
        }
        let line = stats.time_line();
        assert!(line.worst_us().len() <= SLICES);
        // 120 s in at most 64 slices that grew from 50 ms by doubling: 3.2 s each.
        assert_eq!(line.slice_us(), 3_200_000);
        assert_eq!(line.worst_us()[0], 3_500);
        assert!(line.worst_us()[1..].iter().all(|gap| *gap == 2_000));
    }

    proptest! {
        #[test]
        fn a_bucket_holds_what_lies_between_its_floor_and_the_next(gap in 0u64..1 << 40) {
            let index = bucket(gap);
            prop_assert!(bucket_floor_us(index) <= gap);
            if index + 1 < BUCKETS {
                prop_assert!(gap < bucket_floor_us(index + 1));
            }
        }

        #[test]
        fn floors_rise(index in 0usize..BUCKETS - 1) {
            prop_assert!(bucket_floor_us(index) < bucket_floor_us(index + 1));
            prop_assert_eq!(bucket(bucket_floor_us(index)), index);
        }

        #[test]
        fn the_histogram_and_the_time_line_agree_with_the_gaps(
            gaps in prop::collection::vec(0u64..400_000, 1..300), start in 0u64..1 << 50,
        ) {
            let mut stats = GapStats::new(start);
            let mut now = start;
            stats.pass(now);
            for gap in &gaps {
                now += gap;
                stats.pass(now);
            }
            let worst = gaps.iter().max().copied().unwrap_or(0);
            prop_assert_eq!(u64::from(stats.worst_us()), worst);
            prop_assert_eq!(stats.time_line().worst_us().iter().max().map(|gap| u64::from(*gap)), Some(worst));
            prop_assert_eq!(stats.histogram().iter().map(|count| *count as usize).sum::<usize>(), gaps.len());
            prop_assert_eq!(stats.elapsed_us(), gaps.iter().sum::<u64>());
        }

        #[test]
        fn no_times_panic(times in prop::collection::vec(any::<u64>(), 0..20), start: u64) {
            let mut stats = GapStats::new(start);
            for now in times {
                stats.pass(now);
            }
            stats.rate_millihertz();
        }
    }
}
