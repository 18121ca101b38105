//! The records of a sector, one behind the other.
//!
//! | offset | bytes | content |
//! | --- | --- | --- |
//! | 0 | 1 | kind, 1 to 254 |
//! | 1 | 2 | bytes of payload |
//! | 3 | 4 | time: signed microseconds from the sector's base time |
//! | 7 | n | payload |
//! | 7 + n | 4 | CRC-32 of the sector's header and all of this record before |
//!
//! Because the sector's header goes into the CRC, a record is valid in its own sector of its own flight alone.
//!
//! Where a kind would stand and a byte is erased, records go on at the next multiple of 16 (the log was flushed there), and
//! if that is erased too, the sector's records are at their end.

use core::fmt;
use core::ops::Range;

use crate::crc::Crc32;
use crate::flash::ERASED;
use crate::sector::{HEADER_BYTES, SECTOR_BYTES, SectorHeader, is_blank, unit_up};

/// Bytes of a record before its payload.
pub(crate) const HEAD_BYTES: usize = 7;
const CRC_BYTES: usize = 4;
/// Bytes that a record takes beside its payload.
pub const RECORD_OVERHEAD: usize = HEAD_BYTES + CRC_BYTES;
/// The longest payload: a record lies in one sector.
pub const MAX_PAYLOAD: usize = SECTOR_BYTES - HEADER_BYTES - RECORD_OVERHEAD;

/// What a record holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind(u8);

impl Kind {
    /// The log's settings, at the start of each session ([`crate::logger`]).
    pub const START: Kind = Kind(1);
    /// Samples as stored, one behind the other; the time is that of the first.
    pub const RAW_SAMPLES: Kind = Kind(2);
    /// Samples in the delta code; the time is that of the first.
    pub const DELTA_SAMPLES: Kind = Kind(3);
    /// Raw samples are missing: how many as u32, 0 where nobody knows.
    pub const GAP: Kind = Kind(4);
    /// Launch was detected.
    pub const TRIGGER: Kind = Kind(5);
    /// The first kind that is the caller's own; this crate only carries its payload.
    pub const OWN: Kind = Kind(16);

    /// The kind with this code; 0 and 255 are none, they are what cut and erased flash reads as.
    pub const fn new(code: u8) -> Option<Self> {
        match code {
            0 | ERASED => None,
            code => Some(Self(code)),
        }
    }

    /// Its code.
    pub const fn code(self) -> u8 {
        self.0
    }
}

/// A whole record, where it lies in its sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// What it holds.
    pub kind: Kind,
    /// Its time in microseconds; after a reset the clock may have begun anew.
    pub time_us: u64,
    /// Its content.
    pub payload: &'a [u8],
}

/// Bytes of a sector that are neither whole records nor erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Where in the sector they begin.
    pub offset: usize,
    /// What is wrong there.
    pub what: Fault,
}

/// How a record is not whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Something follows where the records end.
    NotErased,
    /// There is no kind 0.
    Kind,
    /// The record would leave the sector.
    Length,
    /// The CRC differs.
    Crc,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.what {
            Fault::NotErased => "bytes behind the last record are not erased",
            Fault::Kind => "there is no record of kind 0",
            Fault::Length => "the record would leave its sector",
            Fault::Crc => "the record's CRC differs",
        };
        write!(f, "byte {} of the sector: {what}", self.offset)
    }
}

impl core::error::Error for Damage {}

/// The CRC of a sector's header, from which those of its records go on.
pub(crate) fn seed(header: &SectorHeader) -> Crc32 {
    let mut seed = Crc32::new();
    seed.update(&header.to_bytes());
    seed
}

/// A record's time as stored, or `None` where it is too far (35 minutes) from the base.
pub(crate) fn time_from(base_us: u64, time_us: u64) -> Option<i32> {
    i32::try_from(time_us.wrapping_sub(base_us).cast_signed()).ok()
}

/// Completes the record whose payload already lies in `record`: writes what stands before and behind it.
///
/// # Panics
/// `record` is not [`RECORD_OVERHEAD`] to [`RECORD_OVERHEAD`] + [`MAX_PAYLOAD`] bytes long.
pub(crate) fn complete(record: &mut [u8], kind: Kind, time: i32, seed: &Crc32) {
    let (body, crc) = record.split_at_mut(record.len() - CRC_BYTES);
    body[0] = kind.code();
    let payload = (body.len() - HEAD_BYTES) as u16;
    body[1..3].copy_from_slice(&payload.to_le_bytes());
    body[3..HEAD_BYTES].copy_from_slice(&time.to_le_bytes());
    let mut sum = seed.clone();
    sum.update(body);
    crc.copy_from_slice(&sum.finish().to_le_bytes());
}

/// A whole record's place in its sector.
pub(crate) struct Span {
    kind: Kind,
    time_us: u64,
    payload: Range<usize>,
}

impl Span {
    /// The record in its sector.
    pub(crate) fn of<'a>(&self, sector: &'a [u8]) -> Record<'a> {
        Record {
            kind: self.kind,
            time_us: self.time_us,
            payload: &sector[self.payload.clone()],
        }
    }

    /// Where the record ends.
    pub(crate) fn end(&self) -> usize {
        self.payload.end + CRC_BYTES
    }
}

/// The record at or right behind `offset`; `None` where only erased bytes follow. `seed` and `base_us` are the header's.
pub(crate) fn next(
    sector: &[u8],
    offset: usize,
    seed: &Crc32,
    base_us: u64,
) -> Result<Option<Span>, Damage> {
    let Some(rest) = sector.get(offset..) else {
        return Ok(None);
    };
    let damage = |offset, what| Damage { offset, what };
    let start = [offset, unit_up(offset)]
        .into_iter()
        .find(|&at| sector.get(at).is_some_and(|&first| first != ERASED));
    match start {
        Some(at) if is_blank(&sector[offset..at]) => {
            let span = span(sector, at, seed, base_us).map_err(|what| damage(at, what))?;
            Ok(Some(span))
        }
        None if is_blank(rest) => Ok(None),
        _ => Err(damage(offset, Fault::NotErased)),
    }
}

fn span(sector: &[u8], at: usize, seed: &Crc32, base_us: u64) -> Result<Span, Fault> {
    let rest = &sector[at..];
    let [code, low, high, time @ ..] = *rest.first_chunk::<HEAD_BYTES>().ok_or(Fault::Length)?;
    let kind = Kind::new(code).ok_or(Fault::Kind)?;
    let payload = usize::from(u16::from_le_bytes([low, high]));
    let (body, behind) = rest
        .split_at_checked(HEAD_BYTES + payload)
        .ok_or(Fault::Length)?;
    let crc = behind.first_chunk::<CRC_BYTES>().ok_or(Fault::Length)?;
    let mut sum = seed.clone();
    sum.update(body);
    if sum.finish() != u32::from_le_bytes(*crc) {
        return Err(Fault::Crc);
    }
    Ok(Span {
        kind,
        time_us: base_us.wrapping_add_signed(i64::from(i32::from_le_bytes(time))),
        payload: at + HEAD_BYTES..at + HEAD_BYTES + payload,
    })
}

/// Walks the records of one sector; after damage it ends.
#[derive(Clone)]
pub struct Records<'a> {
    sector: &'a [u8],
    offset: usize,
    base_us: u64,
    seed: Crc32,
    failed: bool,
}

impl<'a> Records<'a> {
    /// The records of `sector`, whose header is `header`.
    pub fn new(sector: &'a [u8], header: &SectorHeader) -> Self {
        Self {
            sector,
            offset: HEADER_BYTES,
            base_us: header.base_us,
            seed: seed(header),
            failed: false,
        }
    }

    /// Where in the sector the last whole record ends.
    pub fn offset(&self) -> usize {
        self.offset
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, Damage>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        match next(self.sector, self.offset, &self.seed, self.base_us).transpose()? {
            Ok(span) => {
                self.offset = span.end();
                Some(Ok(span.of(self.sector)))
            }
            Err(damage) => {
                self.failed = true;
                Some(Err(damage))
            }
        }
    }
}

impl core::iter::FusedIterator for Records<'_> {}
