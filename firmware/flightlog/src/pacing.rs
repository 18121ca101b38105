//! What to write when, for a given rate: whole numbers, and always reckoned from the start, so that nothing drifts.

/// Microseconds in a second.
const SECOND: u128 = 1_000_000;

/// A rate in bytes per second that begins at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pacing {
    bytes_per_second: u32,
    start_us: u64,
}

impl Pacing {
    /// A rate that begins at `start_us` (microseconds of any clock that only moves forward); `None` where it is zero.
    pub fn new(bytes_per_second: u32, start_us: u64) -> Option<Self> {
        (bytes_per_second > 0).then_some(Self {
            bytes_per_second,
            start_us,
        })
    }

    /// The first moment, in microseconds of the same clock, at which `bytes` in all are due.
    pub fn due_at(&self, bytes: u64) -> u64 {
        let after = (u128::from(bytes) * SECOND).div_ceil(u128::from(self.bytes_per_second));
        self.start_us
            .saturating_add(u64::try_from(after).unwrap_or(u64::MAX))
    }

    /// How many bytes in all are due at `now_us`.
    pub fn due_by(&self, now_us: u64) -> u64 {
        let elapsed = u128::from(now_us.saturating_sub(self.start_us));
        u64::try_from(elapsed * u128::from(self.bytes_per_second) / SECOND).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_zero_rate_is_no_rate() {
        assert_eq!(Pacing::new(0, 5), None);
    }

    #[test]
    fn ten_days_of_buffers_end_on_the_microsecond() {
        let pacing = Pacing::new(55_000, 17).unwrap();
        let ten_days = 10 * 24 * 3600;
        assert_eq!(pacing.due_at(55_000 * ten_days), 17 + ten_days * 1_000_000);
    }

    proptest! {
        #[test]
        fn bytes_are_due_at_their_moment_and_not_before(
            rate in 1u32..=20_000_000, start in 0u64..1 << 40, bytes in 0u64..1 << 40,
        ) {
            let pacing = Pacing::new(rate, start).unwrap();
            let due = pacing.due_at(bytes);
            prop_assert!(pacing.due_by(due) >= bytes);
            if due > start {
                prop_assert!(pacing.due_by(due - 1) < bytes);
            }
        }

        #[test]
        fn no_times_or_sizes_overflow(rate in 1u32.., start: u64, bytes: u64, now: u64) {
            let pacing = Pacing::new(rate, start).unwrap();
            pacing.due_at(bytes);
            pacing.due_by(now);
        }
    }
}
