//! The delta codec: each reading's change since the sample before.
//!
//! # Format
//! A stream is a row of samples, each in one of three forms:
//!
//! | form | bytes | content |
//! | --- | --- | --- |
//! | change | 6 to 17 | six LEB128 numbers: gyro x, y, z, acceleration x, y, z |
//! | full | 17 | `80 00`, then the sample as stored ([`crate::sample`]) |
//! | full after a gap | 19 to 23 | `80 80 00`, how many samples are missing as LEB128, then the sample as stored |
//!
//! A change is the difference to the sample before, wrapped to the reading's width (16 bits, 24 bits), then zigzag
//! (0, -1, 1, -2 become 0, 1, 2, 3), then LEB128 (seven bits a byte, lowest first, the top bit says that more follow). So
//! a change of up to ±63 takes one byte, up to ±8191 two: about ±4 g in steps of 1/2048 g.
//!
//! The marks cost a change nothing. A number is always written in as few bytes as it needs, and `80 00` and `80 80 00` are
//! zero in more bytes than it needs, which no change begins with. Any other number with superfluous bytes is an error.
//!
//! The first sample of a stream is full, and so is every one after a gap, at the chosen interval, and wherever the change
//! would be longer than a full sample. A gap of 0 missing samples is one whose length nobody knows.

use core::fmt;
use core::num::NonZeroU32;

use crate::sample::{ACCEL_MAX, Axis, SAMPLE_BYTES, Sample};

/// What a full sample begins with.
const FULL: [u8; 2] = [0x80, 0x00];
/// What a full sample after a gap begins with.
const GAP: [u8; 3] = [0x80, 0x80, 0x00];
/// Bytes of a full sample.
const FULL_BYTES: usize = FULL.len() + SAMPLE_BYTES;
/// Bytes of the longest LEB128 of 32 bits.
const LEB_MAX: usize = 5;

/// The most bytes that one sample can take in this code.
pub const MAX_BYTES: usize = GAP.len() + LEB_MAX + SAMPLE_BYTES;
/// The fewest.
pub const MIN_BYTES: usize = 6;

/// Greatest zigzag value of a 16-bit change.
const GYRO_MAX: u32 = u16::MAX as u32;
/// Greatest zigzag value of a 24-bit change.
const ACCEL_ZIGZAG_MAX: u32 = 2 * ACCEL_MAX as u32 + 1;

/// The sample does not fit into the bytes that are left; nothing was written and the encoder is as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfRoom {
    /// Bytes that the sample needs.
    pub needs: usize,
    /// Bytes that were left.
    pub room: usize,
}

impl fmt::Display for OutOfRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the sample needs {} bytes and {} are left",
            self.needs, self.room
        )
    }
}

impl core::error::Error for OutOfRoom {}

/// Turns samples into bytes, one at a time, into the caller's memory.
#[derive(Clone, Debug)]
pub struct Encoder {
    interval: NonZeroU32,
    /// Samples since the last full one, itself counted.
    since_full: u32,
    /// The sample before, where there is one to build on.
    last: Option<Sample>,
    gap: Option<u32>,
}

impl Encoder {
    /// An encoder that writes every `interval`-th sample in full; with 1 all of them.
    pub fn new(interval: NonZeroU32) -> Self {
        Self {
            interval,
            since_full: 0,
            last: None,
            gap: None,
        }
    }

    /// Says that samples are missing before the next one: `missing` of them, or 0 where that is not known.
    ///
    /// Gaps that follow each other without a sample between add up.
    pub fn gap(&mut self, missing: u32) {
        self.gap = Some(add_gaps(self.gap, missing));
    }

    /// Begins anew: the next sample is full, whatever came before. A gap that was told stays told.
    pub fn restart(&mut self) {
        self.last = None;
    }

    /// Writes `sample` at the start of `out` and says how many bytes it took, [`MAX_BYTES`] at most.
    ///
    /// # Errors
    /// It does not fit. Nothing has changed then.
    pub fn encode(&mut self, sample: &Sample, out: &mut [u8]) -> Result<usize, OutOfRoom> {
        let mut pen = Pen::default();
        let change = self
            .last
            .filter(|_| self.gap.is_none() && self.since_full < self.interval.get());
        let full = match change {
            Some(last) => {
                pen.change(&last, sample);
                pen.len > FULL_BYTES
            }
            None => true,
        };
        if full {
            pen.full(sample, self.gap);
        }
        let out_of_room = OutOfRoom {
            needs: pen.len,
            room: out.len(),
        };
        out.get_mut(..pen.len)
            .ok_or(out_of_room)?
            .copy_from_slice(&pen.bytes[..pen.len]);
        self.since_full = if full { 1 } else { self.since_full + 1 };
        self.last = Some(*sample);
        self.gap = None;
        Ok(pen.len)
    }
}

/// A gap of `missing` samples right behind another: their sum, or 0 where either's length is not known.
pub(crate) fn add_gaps(before: Option<u32>, missing: u32) -> u32 {
    match before {
        Some(0) => 0,
        Some(_) if missing == 0 => 0,
        Some(before) => before.saturating_add(missing),
        None => missing,
    }
}

/// Gathers one sample's bytes. A change is at most 3 x 3 + 3 x 4 = 21 bytes, so it always fits too.
#[derive(Default)]
struct Pen {
    bytes: [u8; MAX_BYTES],
    len: usize,
}

impl Pen {
    fn byte(&mut self, byte: u8) {
        self.bytes[self.len] = byte;
        self.len += 1;
    }

    fn number(&mut self, mut value: u32) {
        while value >= 0x80 {
            self.byte(value as u8 | 0x80);
            value >>= 7;
        }
        self.byte(value as u8);
    }

    fn change(&mut self, from: &Sample, to: &Sample) {
        for (from, to) in from.gyro().into_iter().zip(to.gyro()) {
            let change = to.wrapping_sub(from);
            self.number(u32::from((change << 1 ^ change >> 15) as u16));
        }
        for (from, to) in from.accel().into_iter().zip(to.accel()) {
            // Both are 24 bits wide: wrap the difference to 24 as well.
            let change = (to - from) << 8 >> 8;
            self.number((change << 1 ^ change >> 31) as u32);
        }
    }

    fn full(&mut self, sample: &Sample, gap: Option<u32>) {
        self.len = 0;
        match gap {
            Some(missing) => {
                GAP.into_iter().for_each(|byte| self.byte(byte));
                self.number(missing);
            }
            None => FULL.into_iter().for_each(|byte| self.byte(byte)),
        }
        self.bytes[self.len..self.len + SAMPLE_BYTES].copy_from_slice(&sample.to_bytes());
        self.len += SAMPLE_BYTES;
    }
}

/// One sample as the decoder gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// The sample.
    pub sample: Sample,
    /// Where samples are missing right before it: how many, 0 where nobody knows.
    pub gap: Option<u32>,
}

/// What is wrong with a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// The bytes end in the middle of a sample.
    Cut,
    /// A change comes before any full sample.
    NothingToBuildOn,
    /// A number takes more bytes than it needs.
    Superfluous,
    /// A number is greater than its reading can change.
    TooLarge,
}

/// Where and how a stream is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeError {
    /// The byte at which it was noticed, counted from the start of the bytes given.
    pub offset: usize,
    /// What is wrong there.
    pub broken: Broken,
    /// In which number of a change, where it is in one.
    pub reading: Option<Reading>,
}

/// One of a sample's six readings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// A rate.
    Gyro(Axis),
    /// An acceleration.
    Accel(Axis),
}

impl fmt::Display for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reading::Gyro(axis) => write!(f, "gyro {axis}"),
            Reading::Accel(axis) => write!(f, "acceleration {axis}"),
        }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.broken {
            Broken::Cut => "the bytes end in the middle of a sample",
            Broken::NothingToBuildOn => "a change comes before any full sample",
            Broken::Superfluous => "a number takes more bytes than it needs",
            Broken::TooLarge => "a number is greater than the reading can change",
        };
        write!(f, "delta stream, byte {}: {what}", self.offset)?;
        match self.reading {
            Some(reading) => write!(f, " ({reading})"),
            None => Ok(()),
        }
    }
}

impl core::error::Error for DecodeError {}

const READINGS: [(Reading, u32); 6] = [
    (Reading::Gyro(Axis::X), GYRO_MAX),
    (Reading::Gyro(Axis::Y), GYRO_MAX),
    (Reading::Gyro(Axis::Z), GYRO_MAX),
    (Reading::Accel(Axis::X), ACCEL_ZIGZAG_MAX),
    (Reading::Accel(Axis::Y), ACCEL_ZIGZAG_MAX),
    (Reading::Accel(Axis::Z), ACCEL_ZIGZAG_MAX),
];

/// Gives the samples of a stream, one at a time; after the first error it ends.
#[derive(Clone, Debug)]
pub struct Decoder<'a> {
    bytes: &'a [u8],
    offset: usize,
    last: Option<Sample>,
    failed: bool,
}

impl<'a> Decoder<'a> {
    /// Of a stream from its start.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self::following(bytes, None)
    }

    /// Of a further piece of a stream; `last` is what [`Decoder::base`] gave at the end of the piece before.
    pub fn following(bytes: &'a [u8], last: Option<Sample>) -> Self {
        Self {
            bytes,
            offset: 0,
            last,
            failed: false,
        }
    }

    /// The sample that the next change builds on.
    pub fn base(&self) -> Option<Sample> {
        self.last
    }

    /// Bytes of whole samples read so far.
    pub fn offset(&self) -> usize {
        self.offset
    }

    fn sample(&mut self) -> Result<Decoded, DecodeError> {
        let mut reader = NumberReader {
            bytes: self.bytes,
            offset: self.offset,
            reading: None,
        };
        let rest = &self.bytes[self.offset..];
        let decoded = if rest.starts_with(&FULL) {
            reader.offset += FULL.len();
            Decoded {
                sample: reader.stored()?,
                gap: None,
            }
        } else if rest.starts_with(&GAP) {
            reader.offset += GAP.len();
            let missing = reader.number(u32::MAX)?;
            Decoded {
                sample: reader.stored()?,
                gap: Some(missing),
            }
        } else {
            Decoded {
                sample: reader.change(self.last)?,
                gap: None,
            }
        };
        self.offset = reader.offset;
        self.last = Some(decoded.sample);
        Ok(decoded)
    }
}

impl Iterator for Decoder<'_> {
    type Item = Result<Decoded, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed || self.offset >= self.bytes.len() {
            return None;
        }
        let sample = self.sample();
        self.failed = sample.is_err();
        Some(sample)
    }
}

impl core::iter::FusedIterator for Decoder<'_> {}

/// Reads the parts of one sample.
struct NumberReader<'a> {
    bytes: &'a [u8],
    offset: usize,
    reading: Option<Reading>,
}

impl NumberReader<'_> {
    fn error(&self, offset: usize, broken: Broken) -> DecodeError {
        DecodeError {
            offset,
            broken,
            reading: self.reading,
        }
    }

    fn stored(&mut self) -> Result<Sample, DecodeError> {
        let rest = &self.bytes[self.offset..];
        let Some(stored) = rest.first_chunk::<SAMPLE_BYTES>() else {
            return Err(self.error(self.bytes.len(), Broken::Cut));
        };
        self.offset += SAMPLE_BYTES;
        Ok(Sample::from_bytes(stored))
    }

    fn number(&mut self, max: u32) -> Result<u32, DecodeError> {
        let mut value = 0u64;
        for shift in (0..).step_by(7) {
            let offset = self.offset;
            let Some(&byte) = self.bytes.get(offset) else {
                return Err(self.error(offset, Broken::Cut));
            };
            if byte == 0 && shift > 0 {
                return Err(self.error(offset, Broken::Superfluous));
            }
            value |= u64::from(byte & 0x7F) << shift;
            // Checked at every byte, so that the shift stays far below 64.
            if value > u64::from(max) || (byte & 0x80 != 0 && shift >= 28) {
                return Err(self.error(offset, Broken::TooLarge));
            }
            self.offset += 1;
            if byte & 0x80 == 0 {
                break;
            }
        }
        Ok(value as u32)
    }

    fn change(&mut self, last: Option<Sample>) -> Result<Sample, DecodeError> {
        let Some(last) = last else {
            return Err(self.error(self.offset, Broken::NothingToBuildOn));
        };
        let mut changes = [0; READINGS.len()];
        for (change, (reading, max)) in changes.iter_mut().zip(READINGS) {
            self.reading = Some(reading);
            let zigzag = self.number(max)?;
            *change = (zigzag >> 1) as i32 ^ -((zigzag & 1) as i32);
        }
        self.reading = None;
        let [gx, gy, gz, ax, ay, az] = changes;
        let (gyro, accel) = (last.gyro(), last.accel());
        Ok(Sample::wrapped(
            [
                gyro[0].wrapping_add(gx as i16),
                gyro[1].wrapping_add(gy as i16),
                gyro[2].wrapping_add(gz as i16),
            ],
            [accel[0] + ax, accel[1] + ay, accel[2] + az],
        ))
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;
    use std::vec::Vec;

    use proptest::prelude::*;

    use super::*;
    use crate::sample::ACCEL_MIN;

    const RARELY: NonZeroU32 = NonZeroU32::MAX;

    fn sample(gyro: [i16; 3], accel: [i32; 3]) -> Sample {
        Sample::new(gyro, accel).unwrap()
    }

    fn encode(encoder: &mut Encoder, sample: &Sample) -> Vec<u8> {
        let mut out = [0; MAX_BYTES];
        let len = encoder.encode(sample, &mut out).unwrap();
        out[..len].to_vec()
    }

    /// The bytes that the change from one sample to another takes.
    fn change(from: Sample, to: Sample) -> Vec<u8> {
        let mut encoder = Encoder::new(RARELY);
        encode(&mut encoder, &from);
        encode(&mut encoder, &to)
    }

    #[test]
    fn a_sample_that_does_not_change_takes_six_bytes_and_8191_steps_two_each() {
        let still = sample([5, -6, 7], [2048, 0, -2048]);
        assert_eq!(change(still, still), [0; 6]);
        let up = sample([8191; 3], [8191; 3]);
        let zero = Sample::default();
        assert_eq!(change(zero, up), [0xFE, 0x7F].repeat(6));
        assert_eq!(change(up, zero), [0xFD, 0x7F].repeat(6));
        assert_eq!(change(zero, sample([8192, 0, 0], [0; 3])).len(), 3 + 5);
        assert_eq!(
            change(zero, sample([63, -64, 64], [0; 3])).len(),
            1 + 1 + 2 + 3
        );
    }

    #[test]
    fn a_change_from_end_to_end_of_the_range_is_a_step_of_one() {
        let low = sample([i16::MIN; 3], [ACCEL_MIN; 3]);
        let high = sample([i16::MAX; 3], [ACCEL_MAX; 3]);
        assert_eq!(change(low, high), [1; 6]);
        assert_eq!(change(high, low), [2; 6]);
    }

    #[test]
    fn a_change_longer_than_the_sample_itself_is_written_in_full() {
        let far = sample([i16::MIN; 3], [ACCEL_MIN; 3]);
        let bytes = change(Sample::default(), far);
        assert_eq!(bytes[..2], FULL);
        assert_eq!(bytes.len(), FULL_BYTES);
    }

    #[test]
    fn samples_are_full_first_at_the_interval_after_a_gap_and_after_a_restart() {
        let mut encoder = Encoder::new(NonZeroU32::new(3).unwrap());
        let zero = Sample::default();
        let mut lengths = Vec::new();
        for _ in 0..7 {
            lengths.push(encode(&mut encoder, &zero).len());
        }
        assert_eq!(lengths, [17, 6, 6, 17, 6, 6, 17]);
        encoder.gap(1);
        encoder.gap(299);
        let after_gap = encode(&mut encoder, &zero);
        assert_eq!(after_gap[..5], [0x80, 0x80, 0x00, 0xAC, 0x02]);
        assert_eq!(encode(&mut encoder, &zero).len(), 6);
        encoder.restart();
        assert_eq!(encode(&mut encoder, &zero).len(), 17);
        encoder.gap(5);
        encoder.gap(0);
        encoder.gap(7);
        assert_eq!(
            encode(&mut encoder, &zero)[3],
            0,
            "of a length that nobody knows"
        );
    }

    #[test]
    fn a_sample_that_does_not_fit_changes_nothing() {
        let mut encoder = Encoder::new(RARELY);
        encoder.gap(4);
        let one = sample([1; 3], [1; 3]);
        let error = encoder.encode(&one, &mut [0; 18]).unwrap_err();
        assert_eq!(
            error,
            OutOfRoom {
                needs: 19,
                room: 18
            }
        );
        let bytes = encode(&mut encoder, &one);
        let decoded: Vec<_> = Decoder::new(&bytes).collect();
        assert_eq!(
            decoded,
            [Ok(Decoded {
                sample: one,
                gap: Some(4)
            })]
        );
        assert!(encoder.encode(&one, &mut [0; 5]).is_err());
        assert_eq!(encode(&mut encoder, &one), [0; 6]);
    }

    #[test]
    fn what_is_broken_is_told_with_its_place() {
        let full = [&FULL[..], &[0; SAMPLE_BYTES]].concat();
        let after_full = |tail: &[u8]| {
            let bytes = [&full[..], tail].concat();
            Decoder::new(&bytes).last().unwrap().unwrap_err()
        };
        assert_eq!(
            Decoder::new(&[0; 6])
                .next()
                .unwrap()
                .unwrap_err()
                .to_string(),
            "delta stream, byte 0: a change comes before any full sample"
        );
        assert_eq!(
            after_full(&[0, 0, 0, 0xFF]).to_string(),
            "delta stream, byte 21: the bytes end in the middle of a sample (acceleration x)"
        );
        assert_eq!(
            after_full(&[0, 0x81, 0x00]).to_string(),
            "delta stream, byte 19: a number takes more bytes than it needs (gyro y)"
        );
        assert_eq!(
            after_full(&[0xFF, 0xFF, 0x04]).to_string(),
            "delta stream, byte 19: a number is greater than the reading can change (gyro x)"
        );
        assert_eq!(
            after_full(&[0x80, 0x80, 0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0x10]).broken,
            Broken::TooLarge
        );
        assert_eq!(after_full(&FULL).offset, 19);
    }

    fn readings() -> impl Strategy<Value = Sample> {
        // Mostly small steps around a value, now and then anything: both forms and all lengths come up.
        let near = (
            prop::array::uniform3(-200i16..200),
            prop::array::uniform3(-10_000i32..10_000),
        );
        let any = (
            any::<[i16; 3]>(),
            prop::array::uniform3(ACCEL_MIN..=ACCEL_MAX),
        );
        prop_oneof![4 => near, 1 => any].prop_map(|(gyro, accel)| sample(gyro, accel))
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded_also_in_pieces(
            samples in prop::collection::vec((readings(), prop::option::weighted(0.1, any::<u32>())), 0..60),
            interval in 1u32..20,
            cut in 0usize..60,
        ) {
            let mut encoder = Encoder::new(NonZeroU32::new(interval).unwrap());
            let mut pieces = [Vec::new(), Vec::new()];
            let mut expected = Vec::new();
            for (n, (sample, gap)) in samples.iter().enumerate() {
                if let Some(missing) = gap {
                    encoder.gap(*missing);
                }
                let bytes = encode(&mut encoder, sample);
                prop_assert!((MIN_BYTES..=MAX_BYTES).contains(&bytes.len()));
                pieces[usize::from(n >= cut)].extend(bytes);
                expected.push(Ok(Decoded { sample: *sample, gap: *gap }));
            }
            let mut first = Decoder::new(&pieces[0]);
            let mut decoded: Vec<_> = first.by_ref().collect();
            decoded.extend(Decoder::following(&pieces[1], first.base()));
            prop_assert_eq!(decoded, expected);
        }

        #[test]
        fn any_bytes_decode_without_a_panic_and_re_encode_to_the_same_samples(
            mut bytes in prop::collection::vec(any::<u8>(), 0..300),
            begins_full: bool,
        ) {
            if begins_full && bytes.len() > 2 {
                bytes[..2].copy_from_slice(&FULL);
            }
            let mut decoder = Decoder::new(&bytes);
            let mut encoder = Encoder::new(RARELY);
            let mut again = Vec::new();
            let mut samples = Vec::new();
            for decoded in decoder.by_ref() {
                match decoded {
                    Ok(decoded) => {
                        if let Some(missing) = decoded.gap {
                            encoder.gap(missing);
                        }
                        again.extend(encode(&mut encoder, &decoded.sample));
                        samples.push(Ok(decoded));
                    }
                    Err(error) => prop_assert!(error.offset <= bytes.len()),
                }
            }
            prop_assert!(decoder.next().is_none(), "it ends after an error");
            prop_assert_eq!(Decoder::new(&again).collect::<Vec<_>>(), samples);
        }
    }
}
