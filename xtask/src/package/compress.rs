//! One file's bytes as they stand in the archive.

use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result};
use fs_err::File;
use libdeflater::{CompressionLvl, Compressor};
use zip::CompressionMethod;

use super::Effort;
use crate::digest::sha256;

/// A file, hashed and compressed.
#[derive(Debug)]
pub(super) struct Packed {
    /// CRC-32 of the file.
    pub(super) crc32: u32,
    /// SHA-256 of the file, lower-case hex.
    pub(super) sha256: String,
    /// Size of the file in bytes.
    pub(super) size: u32,
    /// Deflated, or stored where deflating does not make it smaller.
    pub(super) method: CompressionMethod,
    /// The bytes that the archive holds.
    pub(super) data: Box<[u8]>,
}

/// Compresses files one after another; keeps its buffers between them.
pub(super) struct Packer {
    deflate: Compressor,
    input: Vec<u8>,
    output: Vec<u8>,
}

impl Packer {
    pub(super) fn new(effort: Effort) -> Result<Self> {
        let level = CompressionLvl::new(effort.deflate_level())
            .map_err(|error| anyhow::anyhow!("libdeflate's level: {error:?}"))?;
        Ok(Self {
            deflate: Compressor::new(level),
            input: Vec::new(),
            output: Vec::new(),
        })
    }

    /// Reads the file once, and hashes and compresses what was read.
    pub(super) fn file(&mut self, path: &Path) -> Result<Packed> {
        let mut input = std::mem::take(&mut self.input);
        input.clear();
        File::open(path)?.read_to_end(&mut input)?;
        let packed = self
            .bytes(&input)
            .with_context(|| format!("compressing {}", path.display()));
        self.input = input;
        packed
    }

    /// Hashes and compresses `bytes`.
    pub(super) fn bytes(&mut self, bytes: &[u8]) -> Result<Packed> {
        let size = u32::try_from(bytes.len()).context("larger than 4 GiB")?;
        let bound = self.deflate.deflate_compress_bound(bytes.len());
        if self.output.len() < bound {
            self.output.resize(bound, 0);
        }
        let length = self
            .deflate
            .deflate_compress(bytes, &mut self.output)
            .map_err(|error| anyhow::anyhow!("libdeflate: {error}"))?;
        let (method, data) = if length < bytes.len() {
            (CompressionMethod::Deflated, &self.output[..length])
        } else {
            (CompressionMethod::Stored, bytes)
        };
        Ok(Packed {
            crc32: libdeflater::crc32(bytes),
            sha256: sha256(bytes),
            size,
            method,
            data: data.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_packed_inflates_to_the_same_bytes(
            pattern in proptest::collection::vec(any::<u8>(), 0..300), times in 1usize..40
        ) {
            let bytes = pattern.repeat(times);
            for effort in [Effort::Fast, Effort::Best] {
                let packed = Packer::new(effort).unwrap().bytes(&bytes).unwrap();
                let back = match packed.method {
                    CompressionMethod::Stored => packed.data.to_vec(),
                    _ => {
                        prop_assert!(packed.data.len() < bytes.len());
                        let mut out = vec![0; bytes.len()];
                        let length = libdeflater::Decompressor::new().deflate_decompress(&packed.data, &mut out);
                        prop_assert_eq!(length.unwrap(), bytes.len());
                        out
                    }
                };
                prop_assert_eq!(back, &bytes[..]);
                prop_assert_eq!(packed.size as usize, bytes.len());
            }
        }
    }

    #[test]
    fn a_packer_does_not_carry_one_file_into_the_next() {
        let dir = tempfile::tempdir().unwrap();
        let (long, short) = (dir.path().join("long"), dir.path().join("short"));
        fs_err::write(&long, "long ".repeat(9000)).unwrap();
        fs_err::write(&short, "abc").unwrap();
        let mut packer = Packer::new(Effort::Fast).unwrap();
        packer.file(&long).unwrap();
        let packed = packer.file(&short).unwrap();
        assert_eq!(
            (packed.method, &*packed.data),
            (CompressionMethod::Stored, &b"abc"[..])
        );
        // The test values of FIPS 180 and of CRC-32 (ISO-HDLC) for "abc".
        assert_eq!(
            packed.sha256,
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!(packed.crc32, 0x3524_41c2);
    }
}
