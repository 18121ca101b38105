//! Samples as bit planes of their changes.

use crate::sample::{SAMPLE_BYTES, Sample};

/// Bits of one sample's changes.
const BITS: usize = 8 * SAMPLE_BYTES;

/// Bytes of the planes of `samples` samples.
pub(super) const fn bytes(samples: usize) -> usize {
    BITS * samples.div_ceil(8)
}

/// Fills planes, sample by sample.
pub(super) struct Planes<'a> {
    /// All zero but for the samples before.
    planes: &'a mut [u8],
    stride: usize,
    index: usize,
    last: Sample,
}

impl<'a> Planes<'a> {
    /// For `samples` samples; `planes` has [`bytes`] of them.
    pub(super) fn new(planes: &'a mut [u8], samples: usize) -> Self {
        planes.fill(0);
        Self {
            planes,
            stride: samples.div_ceil(8),
            index: 0,
            last: Sample::default(),
        }
    }

    pub(super) fn push(&mut self, sample: &Sample) {
        let change = changes(&self.last, sample);
        let (byte, bit) = (self.index / 8, self.index % 8);
        // Highest bits first: byte 14 of the change holds those of acceleration z.
        let bits = change
            .iter()
            .rev()
            .flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1));
        for (plane, value) in self.planes.chunks_exact_mut(self.stride.max(1)).zip(bits) {
            if let Some(place) = plane.get_mut(byte) {
                *place |= value << bit;
            }
        }
        self.index += 1;
        self.last = *sample;
    }
}

/// The samples that `planes` hold, stored into `into`, which has room for as many as it should be.
pub(super) fn samples(planes: &[u8], into: &mut [[u8; SAMPLE_BYTES]]) {
    let stride = into.len().div_ceil(8).max(1);
    let mut last = Sample::default();
    for (index, stored) in into.iter_mut().enumerate() {
        let mut change = [0; SAMPLE_BYTES];
        for (number, plane) in planes.chunks_exact(stride).take(BITS).enumerate() {
            let value = plane[index / 8] >> (index % 8) & 1;
            let from_lowest = BITS - 1 - number;
            change[from_lowest / 8] |= value << (from_lowest % 8);
        }
        last = changed(&last, &change);
        *stored = last.to_bytes();
    }
}

/// The zigzag changes, laid out as a sample is stored.
fn changes(from: &Sample, to: &Sample) -> [u8; SAMPLE_BYTES] {
    let mut gyro = [0; 3];
    for (change, (from, to)) in gyro.iter_mut().zip(from.gyro().into_iter().zip(to.gyro())) {
        let difference = to.wrapping_sub(from);
        *change = difference << 1 ^ difference >> 15;
    }
    let mut accel = [0; 3];
    for (change, (from, to)) in accel
        .iter_mut()
        .zip(from.accel().into_iter().zip(to.accel()))
    {
        let difference = (to - from) << 8 >> 8;
        *change = difference << 1 ^ difference >> 31;
    }
    Sample::wrapped(gyro, accel).to_bytes()
}

fn changed(from: &Sample, change: &[u8; SAMPLE_BYTES]) -> Sample {
    let change = Sample::from_bytes(change);
    let mut gyro = from.gyro();
    for (value, zigzag) in gyro.iter_mut().zip(change.gyro()) {
        let zigzag = zigzag.cast_unsigned();
        *value = value.wrapping_add((zigzag >> 1).cast_signed() ^ -(zigzag & 1).cast_signed());
    }
    let mut accel = from.accel();
    for (value, zigzag) in accel.iter_mut().zip(change.accel()) {
        let zigzag = zigzag & 0xFF_FFFF;
        *value += zigzag >> 1 ^ -(zigzag & 1);
    }
    Sample::wrapped(gyro, accel)
}

#[cfg(test)]
mod tests {
    use std::vec;
    use std::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn samples_come_back_from_their_planes(stored in prop::collection::vec(any::<[u8; SAMPLE_BYTES]>(), 0..70)) {
            let mut bits = vec![0xA5; bytes(stored.len())];
            let mut planes = Planes::new(&mut bits, stored.len());
            stored.iter().for_each(|bytes| planes.push(&Sample::from_bytes(bytes)));
            let mut back = vec![[0; SAMPLE_BYTES]; stored.len()];
            samples(&bits, &mut back);
            prop_assert_eq!(back, stored);
        }
    }

    #[test]
    fn the_first_plane_is_the_highest_bit_of_acceleration_z_and_the_last_the_lowest_of_gyro_x() {
        let mut bits = vec![0; bytes(1)];
        Planes::new(&mut bits, 1).push(&Sample::new([-1, 0, 0], [0, 0, 1 << 22]).unwrap());
        let set: Vec<_> = (0..bits.len()).filter(|plane| bits[*plane] != 0).collect();
        assert_eq!((bits.len(), set), (120, vec![0, 119]));
    }
}
