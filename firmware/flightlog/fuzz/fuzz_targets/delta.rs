//! Any bytes as a delta stream: no panic, errors inside the bytes, and what was decoded survives encoding and decoding.
#![no_main]

use std::num::NonZeroU32;

use flightlog::delta::{Decoder, Encoder, MAX_BYTES};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u16, Vec<u8>)| {
    let (interval, bytes) = input;
    let interval = NonZeroU32::new(u32::from(interval)).unwrap_or(NonZeroU32::MIN);
    let mut encoder = Encoder::new(interval);
    let mut again = Vec::new();
    let mut samples = Vec::new();
    for decoded in Decoder::new(&bytes) {
        match decoded {
            Ok(decoded) => {
                if let Some(missing) = decoded.gap {
                    encoder.gap(missing);
                }
                let mut out = [0; MAX_BYTES];
                let len = encoder
                    .encode(&decoded.sample, &mut out)
                    .expect("there is room for the longest");
                again.extend_from_slice(&out[..len]);
                samples.push(decoded);
            }
            Err(error) => assert!(error.offset <= bytes.len()),
        }
    }
    let decoded: Result<Vec<_>, _> = Decoder::new(&again).collect();
    assert_eq!(decoded.as_ref(), Ok(&samples));
});
