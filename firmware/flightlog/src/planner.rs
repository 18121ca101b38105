//! What a flight's data needs: rates, the share of the flash's speed, how long the flight buffer lasts, what a FIFO bridges.
//!
//! Not for the hot path: it calculates in floating point. Rates are bytes, samples and seconds throughout.
//!
//! - data rate = sample rate x bytes a sample + other data
//! - highest sample rate = (flash speed - other data) / bytes a sample
//! - share = data rate / flash speed
//! - recording time = flight buffer / data rate
//! - bytes a sample that a recording time means = (flight buffer / time - other data) / sample rate
//! - a FIFO bridges = whole samples that it holds / sample rate

use core::fmt;

use crate::sample::FIFO_WORDS_PER_SAMPLE;

/// A number that cannot be planned with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Impossible {
    /// What the number is.
    pub what: Quantity,
    /// The number.
    pub value: f64,
}

/// What is planned with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Samples a second.
    SampleRate,
    /// Bytes a sample.
    SampleBytes,
    /// Bytes a second of other data.
    Other,
    /// Bytes a second that the flash takes.
    FlashSpeed,
    /// Bytes of the flight buffer.
    Buffer,
    /// Seconds of recording.
    Time,
}

impl fmt::Display for Impossible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, unit, must) = match self.what {
            Quantity::SampleRate => ("a sample rate", "Hz", "more than 0"),
            Quantity::SampleBytes => ("a sample", "bytes", "more than 0"),
            Quantity::Other => ("other data", "bytes/s", "0 or more"),
            Quantity::FlashSpeed => ("a flash speed", "bytes/s", "more than 0"),
            Quantity::Buffer => ("a flight buffer", "bytes", "more than 0"),
            Quantity::Time => ("a recording time", "s", "more than 0"),
        };
        write!(
            f,
            "{what} of {} {unit} cannot be; it takes a finite number, {must}",
            self.value
        )
    }
}

impl core::error::Error for Impossible {}

fn check(what: Quantity, value: f64) -> Result<f64, Impossible> {
    let possible = match what {
        Quantity::Other => value >= 0.0,
        _ => value > 0.0,
    };
    if possible && value.is_finite() {
        Ok(value)
    } else {
        Err(Impossible { what, value })
    }
}

/// Samples of one size, and the other data that is recorded beside them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Data {
    sample_bytes: f64,
    other: f64,
}

impl Data {
    /// Samples of `sample_bytes` each, and `other` bytes a second whatever the sample rate.
    ///
    /// # Errors
    /// Either cannot be.
    pub fn new(sample_bytes: f64, other: f64) -> Result<Self, Impossible> {
        Ok(Self {
            sample_bytes: check(Quantity::SampleBytes, sample_bytes)?,
            other: check(Quantity::Other, other)?,
        })
    }

    /// Bytes a second of samples alone.
    ///
    /// # Errors
    /// The sample rate cannot be.
    pub fn samples_rate(&self, rate_hz: f64) -> Result<f64, Impossible> {
        Ok(check(Quantity::SampleRate, rate_hz)? * self.sample_bytes)
    }

    /// Bytes a second in all.
    ///
    /// # Errors
    /// The sample rate cannot be.
    pub fn rate(&self, rate_hz: f64) -> Result<f64, Impossible> {
        Ok(self.samples_rate(rate_hz)? + self.other)
    }

    /// The highest sample rate, in Hz, that a flash of this speed takes; `None` where other data alone is too much for it.
    ///
    /// # Errors
    /// The speed cannot be.
    pub fn highest_rate_hz(&self, flash_speed: f64) -> Result<Option<f64>, Impossible> {
        let left = check(Quantity::FlashSpeed, flash_speed)? - self.other;
        Ok((left > 0.0).then_some(left / self.sample_bytes))
    }

    /// What share of the flash's speed the data takes; above 1 the flash is too slow.
    ///
    /// # Errors
    /// Either number cannot be.
    pub fn share(&self, rate_hz: f64, flash_speed: f64) -> Result<f64, Impossible> {
        Ok(self.rate(rate_hz)? / check(Quantity::FlashSpeed, flash_speed)?)
    }

    /// How many seconds a flight buffer of so many bytes lasts.
    ///
    /// # Errors
    /// Either number cannot be.
    pub fn recording_s(&self, rate_hz: f64, buffer: f64) -> Result<f64, Impossible> {
        Ok(check(Quantity::Buffer, buffer)? / self.rate(rate_hz)?)
    }
}

/// The bytes a sample at which a flight buffer lasts `recording_s` seconds; negative where other data alone is too much.
///
/// # Errors
/// A number cannot be.
pub fn sample_bytes_for(
    recording_s: f64,
    rate_hz: f64,
    other: f64,
    buffer: f64,
) -> Result<f64, Impossible> {
    let rate = check(Quantity::Buffer, buffer)? / check(Quantity::Time, recording_s)?;
    Ok((rate - check(Quantity::Other, other)?) / check(Quantity::SampleRate, rate_hz)?)
}

/// Whole samples that a FIFO of so many words holds.
pub fn fifo_samples(depth_words: u32) -> u32 {
    depth_words / FIFO_WORDS_PER_SAMPLE as u32
}

/// For how many seconds nobody needs to read a FIFO of so many words.
///
/// # Errors
/// The sample rate cannot be.
pub fn fifo_bridges_s(depth_words: u32, rate_hz: f64) -> Result<f64, Impossible> {
    Ok(f64::from(fifo_samples(depth_words)) / check(Quantity::SampleRate, rate_hz)?)
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_formulas_agree_with_figures_worked_out_by_hand() {
        let raw = Data::new(15.0, 20_000.0).unwrap();
        assert_eq!(raw.rate(8000.0), Ok(140_000.0));
        assert_eq!(raw.highest_rate_hz(335_000.0), Ok(Some(21_000.0)));
        assert_eq!(raw.highest_rate_hz(20_000.0), Ok(None));
        assert_eq!(raw.share(8000.0, 280_000.0), Ok(0.5));
        assert_eq!(raw.recording_s(8000.0, 14e6), Ok(100.0));
        assert_eq!(sample_bytes_for(100.0, 8000.0, 20_000.0, 14e6), Ok(15.0));
        assert_eq!(fifo_samples(512), 170);
        assert_eq!(fifo_bridges_s(512, 8000.0), Ok(0.02125));
    }

    #[test]
    fn numbers_that_cannot_be_are_named() {
        assert!(Data::new(0.0, 0.0).is_err());
        assert!(Data::new(15.0, -1.0).is_err());
        let data = Data::new(15.0, 0.0).unwrap();
        for wrong in [0.0, -5.0, f64::NAN, f64::INFINITY] {
            assert!(data.rate(wrong).is_err());
            assert!(data.highest_rate_hz(wrong).is_err());
            assert!(data.recording_s(1.0, wrong).is_err());
            assert!(sample_bytes_for(wrong, 1.0, 0.0, 1.0).is_err());
            assert!(fifo_bridges_s(3, wrong).is_err());
        }
        assert_eq!(
            data.rate(-5.0).unwrap_err().to_string(),
            "a sample rate of -5 Hz cannot be; it takes a finite number, more than 0"
        );
    }

    proptest! {
        #[test]
        fn the_highest_rate_takes_the_whole_flash_and_a_time_leads_back_to_its_bytes(
            sample_bytes in 1.0..100.0f64,
            other in 0.0..50_000.0f64,
            speed in 60_000.0..1e6f64,
            rate in 10.0..50_000.0f64,
            buffer in 1e3..1e9f64,
        ) {
            let data = Data::new(sample_bytes, other).unwrap();
            let highest = data.highest_rate_hz(speed).unwrap().unwrap();
            prop_assert!((data.share(highest, speed).unwrap() - 1.0).abs() < 1e-9);
            let time = data.recording_s(rate, buffer).unwrap();
            let back = sample_bytes_for(time, rate, other, buffer).unwrap();
            prop_assert!((back - sample_bytes).abs() < 1e-6 * (sample_bytes + other / rate));
        }
    }
}
