//! One sector of the log: what it begins with, and how its end is told.
//!
//! The log is a row of flash sectors of [`SECTOR_BYTES`], each written once, from its start, and complete in itself:
//!
//! | offset | bytes | content |
//! | --- | --- | --- |
//! | 0 | 4 | `FLOG` |
//! | 4 | 1 | version of the format, 1 |
//! | 5 | 1 | 0 |
//! | 6 | 2 | session: 0, and one more each time the log was taken up again after a reset |
//! | 8 | 4 | flight: a number that the caller chose for this log |
//! | 12 | 4 | index of the sector in the partition |
//! | 16 | 8 | base time in microseconds; the times of the records count from it |
//! | 24 | 4 | 0 |
//! | 28 | 4 | CRC-32 of the 28 bytes before |
//! | 32 | | records ([`crate::record`]), then erased bytes |
//!
//! All numbers are little-endian. Flight and index are what tells this log's sectors from those that an earlier flight left
//! behind. A sector whose header was cut by a reset is made void by zeros (which flash can always take) before the log goes
//! on behind it, so that used sectors never look erased.

use crate::crc::crc32;
use crate::flash::{ERASED, SECTOR};

/// Bytes of a sector of the log: the smallest that flash erases.
pub const SECTOR_BYTES: usize = SECTOR as usize;
/// Bytes of a sector's header.
pub const HEADER_BYTES: usize = 32;
/// Programs begin and end at multiples of this: encrypted partitions demand it, and chips with ECC of their own take each
/// such unit once.
pub const UNIT: usize = 16;

const MAGIC: [u8; 4] = *b"FLOG";
const VERSION: u8 = 1;
/// The header of a sector that a reset cut.
pub(crate) const VOID: [u8; HEADER_BYTES] = [0; HEADER_BYTES];

/// What a sector says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SectorHeader {
    /// The number that the caller gave this log.
    pub flight: u32,
    /// How many times the log had been taken up again.
    pub session: u16,
    /// The sector's index in the partition.
    pub index: u32,
    /// What the record's times count from, in microseconds.
    pub base_us: u64,
}

/// What the first bytes of a sector can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// Erased.
    Blank,
    /// A whole header.
    Header(SectorHeader),
    /// Cut by a reset, void, or not from a log.
    Other,
}

impl SectorHeader {
    /// The header as it is stored.
    pub fn to_bytes(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4] = VERSION;
        bytes[6..8].copy_from_slice(&self.session.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.flight.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.index.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.base_us.to_le_bytes());
        let crc = crc32(&bytes[..28]);
        bytes[28..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// The header that these bytes store, where they store a whole one of this version.
    pub fn from_bytes(bytes: &[u8; HEADER_BYTES]) -> Option<Self> {
        let header = Self {
            flight: u32::from_le_bytes(*bytes[8..].first_chunk()?),
            session: u16::from_le_bytes(*bytes[6..].first_chunk()?),
            index: u32::from_le_bytes(*bytes[12..].first_chunk()?),
            base_us: u64::from_le_bytes(*bytes[16..].first_chunk()?),
        };
        // Whatever the fields do not say (magic, version, zeros, CRC) is what this version would have written.
        (header.to_bytes() == *bytes).then_some(header)
    }
}

impl Seen {
    pub(crate) fn of(bytes: &[u8; HEADER_BYTES]) -> Self {
        if is_blank(bytes) {
            return Seen::Blank;
        }
        SectorHeader::from_bytes(bytes).map_or(Seen::Other, Seen::Header)
    }
}

/// Whether these bytes are erased.
pub(crate) fn is_blank(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == ERASED)
}

/// `offset` rounded up to a multiple of [`UNIT`].
pub(crate) const fn unit_up(offset: usize) -> usize {
    offset.next_multiple_of(UNIT)
}
