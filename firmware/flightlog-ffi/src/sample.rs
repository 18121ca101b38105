//! Samples.

use flightlog::sample;

use crate::bytes;
use crate::status::{Status, number};

/// Bytes of one stored sample.
pub const FLIGHTLOG_SAMPLE_BYTES: usize = 15;
const _: () = assert!(FLIGHTLOG_SAMPLE_BYTES == sample::SAMPLE_BYTES);

/// One reading of the inertial sensor.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Rates, x, y, z.
    pub gyro: [i16; 3],
    /// Accelerations, x, y, z, in steps of 1/2048 g; 24 bits.
    pub accel: [i32; 3],
}

impl Sample {
    pub(crate) fn checked(self) -> Result<sample::Sample, Status> {
        sample::Sample::new(self.gyro, self.accel).map_err(|_| Status::SampleOutOfRange)
    }
}

impl From<sample::Sample> for Sample {
    fn from(sample: sample::Sample) -> Self {
        Self {
            gyro: sample.gyro(),
            accel: sample.accel(),
        }
    }
}

/// Stores a sample in `FLIGHTLOG_SAMPLE_BYTES` bytes at `out`.
///
/// # Safety
/// `sample` is null or valid for a read, `out` is null or valid for writes of `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flightlog_sample_store(
    sample: *const Sample,
    out: *mut u8,
    len: usize,
) -> i32 {
    number((|| {
        // SAFETY: as for this function.
        let sample = unsafe { bytes::read(sample)? }.checked()?;
        // SAFETY: as for this function.
        let out = unsafe { bytes::array_mut::<FLIGHTLOG_SAMPLE_BYTES>(out, len)? };
        *out = sample.to_bytes();
        Ok(())
    })())
}

/// Reads a sample from its stored bytes.
///
/// # Safety
/// `stored` is null or valid for reads of `len` bytes, `sample` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flightlog_sample_load(
    stored: *const u8,
    len: usize,
    sample: *mut Sample,
) -> i32 {
    number((|| {
        crate::handle::usable(stored)?;
        // SAFETY: as for this function.
        let stored = unsafe { bytes::slice(stored, len)? };
        let stored = stored.first_chunk().ok_or(Status::TooShort)?;
        // SAFETY: as for this function.
        unsafe { bytes::write(sample, sample::Sample::from_bytes(stored).into())? };
        Ok(())
    })())
}
