//! The archive: a whole flight in one compressed file, written and read one sector of the log at a time.
//!
//! Samples are taken out of their records, and what they change by is laid out in bit planes: first the highest bit of all
//! changes of the last axis, and so on. Upper planes are then long runs of zeros, which LZ4 makes nothing of, and the noise
//! in the lower ones costs its own bits and no more. LZ4 alone finds nothing to save in the delta code.
//!
//! # Format
//! A header, a block for each sector of the log that holds something, an end. All numbers are little-endian.
//!
//! | header | bytes | content |
//! | --- | --- | --- |
//! | 0 | 4 | `FLAR` |
//! | 4 | 4 | version of the format, 1 |
//! | 8 | 4 | flight |
//! | 12 | 4 | CRC-32 of the 12 bytes before |
//!
//! | block | bytes | content |
//! | --- | --- | --- |
//! | 0 | 1 | `B` |
//! | 1 | 1 | 0: content as it is, 1: content as an LZ4 block |
//! | 2 | 2 | session of the sector |
//! | 4 | 4 | its index |
//! | 8 | 8 | its base time in microseconds |
//! | 16 | 2 | bytes of content |
//! | 18 | 2 | bytes of content as they follow |
//! | 20 | 2 | samples in it |
//! | 22 | 2 | 1 where the sector was damaged and only its first records are here, else 0 |
//! | 24 | 4 | CRC-32 of the header, the 24 bytes before, and the bytes that follow |
//! | 28 | | the content |
//!
//! | end | bytes | content |
//! | --- | --- | --- |
//! | 0 | 4 | `E` and three zeros |
//! | 4 | 4 | how many blocks there are |
//! | 8 | 4 | CRC-32 of the header and the 8 bytes before |
//!
//! A block's content is its records, then the bit planes of its samples:
//!
//! - a record as it was: 0, its kind, time (4 bytes), length (2) and payload;
//! - a record of samples: 1, its kind, time (4), how many samples (2), how many gaps (2), and for each gap the sample that it
//!   precedes (2) and how many are missing (4);
//! - 120 planes of one bit a sample, filled up to whole bytes, the first sample in the lowest bit. Plane 0 is the highest bit
//!   of acceleration z's change, plane 119 the lowest of gyro x's. A change is as in [`crate::delta`], of fixed width: 24 bits
//!   of acceleration, 16 of gyro; the first sample's is that from zero.

mod plain;
mod planes;
mod read;
mod write;

pub use read::{ArchiveReader, Block, Item, Items, ReadError, Run};
pub use write::{Summary, WriteError, write};

use crate::sector::SECTOR_BYTES;

/// Bytes of each of the two buffers that writing and reading work in. Samples of 6 bytes, the shortest, become 15.
pub const WORK_BYTES: usize = 3 * SECTOR_BYTES;

const MAGIC: [u8; 4] = *b"FLAR";
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 16;
const BLOCK: u8 = b'B';
const BLOCK_BYTES: usize = 28;
const END: u8 = b'E';
const END_BYTES: usize = 12;
/// Where a block's or the end's own CRC begins.
const BLOCK_CRC: usize = BLOCK_BYTES - 4;
const END_CRC: usize = END_BYTES - 4;
const STORED: u8 = 0;
const LZ4: u8 = 1;
/// What a record in a block's content begins with.
const AS_IT_WAS: u8 = 0;
const SAMPLES: u8 = 1;
