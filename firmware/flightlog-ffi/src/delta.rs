//! The delta code.

use core::ffi::c_void;
use core::num::NonZeroU32;

use flightlog::{delta, sample};

use crate::bytes;
use crate::handle::{Handle, impl_handle, place, value};
use crate::sample::Sample;
use crate::status::{Status, number};

/// The most bytes that one sample takes in the delta code.
pub const FLIGHTLOG_DELTA_MAX_BYTES: usize = 23;
const _: () = assert!(FLIGHTLOG_DELTA_MAX_BYTES == delta::MAX_BYTES);

/// Turns samples into the delta code.
pub struct Encoder {
    tag: u32,
    encoder: delta::Encoder,
}

impl_handle!(Encoder, Encoder);

/// Turns the delta code into samples.
pub struct Decoder {
    tag: u32,
    base: Option<sample::Sample>,
}

impl_handle!(Decoder, Decoder);

/// Makes an encoder that writes every `interval`-th sample in full; with 1 all of them.
///
/// # Safety
/// `memory` is null or valid for writes of `len` bytes, `encoder` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flightlog_encoder_init(
    memory: *mut c_void,
    len: usize,
    interval: u32,
    encoder: *mut *mut Encoder,
) -> i32 {
    number((|| {
        let interval = NonZeroU32::new(interval).ok_or(Status::OutOfRange)?;
        let made = Encoder {
            tag: Encoder::TAG,
            encoder: delta::Encoder::new(interval),
        };
        // SAFETY: as for this function.
        unsafe { place(memory, len, encoder, made)? };
        Ok(())
    })())
}

/// Says that samples are missing before the next one: `missing` of them, or 0 where that is not known.
///
/// # Safety
/// `encoder` is null or an encoder that nobody else uses now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flightlog_encoder_gap(encoder: *mut Encoder, missing: u32) -> i32 {
    number((|| {
        // SAFETY: as for this function.
        unsafe { value(encoder)? }.encoder.gap(missing);
        Ok(())
    })())
}

/// Writes a sample at `out`, and into `used` the bytes that it took, or needs where it does not fit; nothing has changed
/// then. `FLIGHTLOG_DELTA_MAX_BYTES` always suffice.
///
/// # Safety
/// `encoder` is null or an encoder that nobody else uses now; `sample` is null or valid for a read, `out` for writes of `len`
/// bytes, `used` for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flightlog_encoder_encode(
    encoder: *mut Encoder,
    sample: *const Sample,
    out: *mut u8,
    len: usize,
    used: *mut usize,
) -> i32 {
    number((|| {
        crate::handle::usable(used)?;
        // SAFETY: as for this function.
        let encoder = unsafe { value(encoder)? };
        // SAFETY: as for this function.
        let sample = unsafe { bytes::read(sample)? }.checked()?;
        // SAFETY: as for this function.
        let out = unsafe { bytes::slice_mut(out, len)? };
        let outcome = encoder.encoder.encode(&sample, out);
        // SAFETY: as for this function; checked above.
        unsafe { bytes::write(used, outcome.unwrap_or_else(|short| short.needs))? };
        outcome.map_err(|_| Status::TooShort)?;
        Ok(())
    })())
}

/// Makes a decoder for a stream from its start.
///
/// # Safety
/// `memory` is null or valid for writes of `len` bytes, `decoder` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flightlog_decoder_init(
    memory: *mut c_void,
    len: usize,
    decoder: *mut *mut Decoder,
) -> i32 {
    let made = Decoder {
        tag: Decoder::TAG,
        base: None,
    };
    number((|| {
        // SAFETY: as for this function.
        unsafe { place(memory, len, decoder, made)? };
        Ok(())
    })())
}

/// What the decoder gives.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decoded {
    /// The sample.
    pub sample: Sample,
    /// Whether samples are missing right before it.
    pub gap: bool,
    /// How many; 0 where nobody knows.
    pub missing: u32,
    /// Bytes that it took.
    pub used: usize,
}

/// Reads one sample from the start of `stream`; the next call goes on `used` bytes further. Of no bytes there is
/// `FLIGHTLOG_STATUS_NOTHING`, of a broken stream `FLIGHTLOG_STATUS_BROKEN_STREAM`.
///
/// # Safety
/// `decoder` is null or a decoder that nobody else uses now; `stream` is null or valid for reads of `len` bytes, `decoded` for
/// a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flightlog_decoder_next(
    decoder: *mut Decoder,
    stream: *const u8,
    len: usize,
    decoded: *mut Decoded,
) -> i32 {
    number((|| {
        // SAFETY: as for this function.
        let decoder = unsafe { value(decoder)? };
        // SAFETY: as for this function.
        let stream = unsafe { bytes::slice(stream, len)? };
        let mut reader = delta::Decoder::following(stream, decoder.base);
        let next = reader.next().ok_or(Status::Nothing)?;
        let next = next.map_err(|_| Status::BrokenStream)?;
        let given = Decoded {
            sample: next.sample.into(),
            gap: next.gap.is_some(),
            missing: next.gap.unwrap_or(0),
            used: reader.offset(),
        };
        // SAFETY: as for this function.
        unsafe { bytes::write(decoded, given)? };
        decoder.base = reader.base();
        Ok(())
    })())
}
