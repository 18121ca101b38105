//! The one CRC of records, archive and report lines: CRC-32/ISO-HDLC, which is that of zip, PNG and Python's `zlib.crc32`.

use ::crc::{CRC_32_ISO_HDLC, Crc, Table};

/// One table of 1 KB: a byte a step. The faster layouts take 16 KB, which on the chip would push other data out of the cache.
static CRC32: Crc<u32, Table<1>> = Crc::<u32, Table<1>>::new(&CRC_32_ISO_HDLC);

/// The CRC-32 of `bytes`.
pub fn crc32(bytes: &[u8]) -> u32 {
    CRC32.checksum(bytes)
}

/// The CRC-32 of bytes that come in pieces.
#[derive(Clone)]
pub struct Crc32(::crc::Digest<'static, u32, Table<1>>);

impl Crc32 {
    /// Of no bytes yet.
    pub fn new() -> Self {
        Self(CRC32.digest())
    }

    /// Takes the next piece in.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The CRC of all that was taken in.
    pub fn finish(self) -> u32 {
        self.0.finalize()
    }
}

impl Default for Crc32 {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_value_of_the_catalogue_comes_out_whole_and_in_pieces() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
        for cut in 0..=9 {
            let mut pieces = Crc32::new();
            pieces.update(&b"123456789"[..cut]);
            pieces.update(&b"123456789"[cut..]);
            assert_eq!(pieces.finish(), 0xCBF4_3926);
        }
        assert_eq!(crc32(b""), 0);
    }
}
