//! One sample of the inertial sensor: three rates and three accelerations.
//!
//! As stored it is [`SAMPLE_BYTES`] long, little-endian: gyro x, y, z as i16, then acceleration x, y, z as i24 in steps of
//! 1/[`STEPS_PER_G`] g. That step makes the conversion to g exact, and 24 bits reach about ±4096 g.

use core::fmt;

/// Bytes of one stored sample.
pub const SAMPLE_BYTES: usize = 15;
/// Acceleration steps in one g.
pub const STEPS_PER_G: i32 = 2048;
/// Smallest acceleration that 24 bits hold, in steps.
pub const ACCEL_MIN: i32 = -(1 << 23);
/// Largest acceleration that 24 bits hold, in steps.
pub const ACCEL_MAX: i32 = (1 << 23) - 1;
/// Bytes of one word in the sensor's FIFO: a tag and three 16-bit values.
pub const FIFO_WORD_BYTES: usize = 7;
/// FIFO words that one sample takes: gyro, and the two acceleration ranges that are fused into one.
pub const FIFO_WORDS_PER_SAMPLE: usize = 3;

/// An axis of the sensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// The first.
    X,
    /// The second.
    Y,
    /// The third.
    Z,
}

impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Axis::X => "x",
            Axis::Y => "y",
            Axis::Z => "z",
        })
    }
}

/// An acceleration that 24 bits cannot hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfRange {
    /// On which axis.
    pub axis: Axis,
    /// The value that was given, in steps.
    pub value: i32,
}

impl fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "acceleration {} is {}, outside {ACCEL_MIN} to {ACCEL_MAX} (24 bits of 1/{STEPS_PER_G} g)",
            self.axis, self.value
        )
    }
}

impl core::error::Error for OutOfRange {}

/// One sample. Whoever holds one knows that it can be stored: the constructor refuses what 24 bits cannot hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    gyro: [i16; 3],
    accel: [i32; 3],
}

impl Sample {
    /// A sample of these readings; acceleration in steps of 1/[`STEPS_PER_G`] g.
    ///
    /// # Errors
    /// The first acceleration outside [`ACCEL_MIN`] to [`ACCEL_MAX`].
    pub fn new(gyro: [i16; 3], accel: [i32; 3]) -> Result<Self, OutOfRange> {
        for (axis, value) in [Axis::X, Axis::Y, Axis::Z].into_iter().zip(accel) {
            if !(ACCEL_MIN..=ACCEL_MAX).contains(&value) {
                return Err(OutOfRange { axis, value });
            }
        }
        Ok(Self { gyro, accel })
    }

    /// As [`Sample::new`], of any 32-bit values: what lies above 24 bits is cut off, so that a difference may wrap.
    pub(crate) fn wrapped(gyro: [i16; 3], accel: [i32; 3]) -> Self {
        Self {
            gyro,
            accel: accel.map(|value| value << 8 >> 8),
        }
    }

    /// The rates, in the sensor's steps.
    pub fn gyro(&self) -> [i16; 3] {
        self.gyro
    }

    /// The accelerations, in steps of 1/[`STEPS_PER_G`] g.
    pub fn accel(&self) -> [i32; 3] {
        self.accel
    }

    /// The sample as it is stored.
    #[inline]
    pub fn to_bytes(&self) -> [u8; SAMPLE_BYTES] {
        // Two numbers instead of fifteen bytes: half the instructions.
        let [gx, gy, gz] = self.gyro.map(|rate| u64::from(rate.cast_unsigned()));
        let [ax, ay, az] = self
            .accel
            .map(|accel| u64::from(accel.cast_unsigned() & 0xFF_FFFF));
        let low = (gx | gy << 16 | gz << 32 | ax << 48).to_le_bytes();
        let high = (ax >> 16 | ay << 8 | az << 32).to_le_bytes();
        let mut bytes = [0; SAMPLE_BYTES];
        bytes[..8].copy_from_slice(&low);
        bytes[8..].copy_from_slice(&high[..7]);
        bytes
    }

    /// The sample that these bytes store; every pattern is one.
    #[inline]
    pub fn from_bytes(b: &[u8; SAMPLE_BYTES]) -> Self {
        let i16 = |low, high| i16::from_le_bytes([low, high]);
        let i24 = |low, middle, high| i32::from_le_bytes([0, low, middle, high]) >> 8;
        Self {
            gyro: [i16(b[0], b[1]), i16(b[2], b[3]), i16(b[4], b[5])],
            accel: [
                i24(b[6], b[7], b[8]),
                i24(b[9], b[10], b[11]),
                i24(b[12], b[13], b[14]),
            ],
        }
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_sample_is_stored_in_fifteen_bytes_lowest_first() {
        let sample = Sample::new([1, -2, 0x1234], [2048, -1, 0x12_3456]).unwrap();
        let stored = [
            1, 0, 0xFE, 0xFF, 0x34, 0x12, 0, 8, 0, 0xFF, 0xFF, 0xFF, 0x56, 0x34, 0x12,
        ];
        assert_eq!(sample.to_bytes(), stored);
        assert_eq!(Sample::from_bytes(&stored), sample);
    }

    #[test]
    fn what_24_bits_cannot_hold_is_named_with_its_axis() {
        let error = Sample::new([0; 3], [0, ACCEL_MIN - 1, ACCEL_MAX + 1]).unwrap_err();
        assert_eq!((error.axis, error.value), (Axis::Y, -8_388_609));
        assert!(
            error
                .to_string()
                .starts_with("acceleration y is -8388609, outside -8388608 to 8388607")
        );
        assert!(Sample::new([i16::MIN, i16::MAX, 0], [ACCEL_MIN, ACCEL_MAX, 0]).is_ok());
    }

    proptest! {
        #[test]
        fn every_pattern_of_bytes_is_a_sample_and_comes_back(bytes: [u8; SAMPLE_BYTES]) {
            let sample = Sample::from_bytes(&bytes);
            prop_assert_eq!(sample.to_bytes(), bytes);
            prop_assert_eq!(Sample::new(sample.gyro(), sample.accel()), Ok(sample));
        }

        #[test]
        fn a_sample_is_taken_exactly_where_every_axis_fits(gyro: [i16; 3], accel: [i32; 3]) {
            let fits = accel.iter().all(|value| (ACCEL_MIN..=ACCEL_MAX).contains(value));
            prop_assert_eq!(Sample::new(gyro, accel).is_ok(), fits);
        }
    }
}
