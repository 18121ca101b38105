//! Reading an archive.

use core::fmt;

use lz4_flex::block::decompress_into;

use super::planes;
use super::write::header;
use super::{
    AS_IT_WAS, BLOCK, BLOCK_BYTES, BLOCK_CRC, END, END_BYTES, END_CRC, HEADER_BYTES, LZ4, SAMPLES,
    STORED, WORK_BYTES,
};
use crate::crc::Crc32;
use crate::delta::Decoded;
use crate::record::{Kind, Record};
use crate::sample::{SAMPLE_BYTES, Sample};
use crate::sector::SectorHeader;

/// Why an archive cannot be read, or not any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadError<S> {
    /// Its bytes could not be had.
    Source(S),
    /// It does not begin as an archive of this version.
    NotAnArchive,
    /// It ends before its end is told: its writing was not finished.
    Cut {
        /// Bytes of whole blocks before.
        offset: u64,
    },
    /// The block or the end at this place is damaged.
    Damaged {
        /// Bytes of whole blocks before.
        offset: u64,
    },
}

impl<S: fmt::Display> fmt::Display for ReadError<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::Source(error) => write!(f, "reading the archive: {error}"),
            ReadError::NotAnArchive => {
                f.write_str("this is not a flight archive, or one of another version")
            }
            ReadError::Cut { offset } => {
                write!(
                    f,
                    "the archive was not finished: it ends within what begins at byte {offset}"
                )
            }
            ReadError::Damaged { offset } => {
                write!(f, "the archive is damaged in what begins at byte {offset}")
            }
        }
    }
}

impl<S: fmt::Debug + fmt::Display> core::error::Error for ReadError<S> {}

/// Reads an archive block by block.
pub struct ArchiveReader<'b, R> {
    source: R,
    content: &'b mut [u8; WORK_BYTES],
    work: &'b mut [u8; WORK_BYTES],
    flight: u32,
    seed: Crc32,
    offset: u64,
    blocks: u32,
    done: bool,
}

/// What one sector of the log held.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    /// The sector's header.
    pub sector: SectorHeader,
    /// Whether the sector was damaged behind what is here.
    pub damaged: bool,
    records: &'a [u8],
    samples: &'a [[u8; SAMPLE_BYTES]],
}

impl<'b, S, R: FnMut(&mut [u8]) -> Result<usize, S>> ArchiveReader<'b, R> {
    /// Begins to read from `source`, which fills a slice from its start, says how many bytes those were, and gives 0 at the
    /// end alone.
    ///
    /// # Errors
    /// This is no archive, or the source failed.
    pub fn open(
        source: R,
        content: &'b mut [u8; WORK_BYTES],
        work: &'b mut [u8; WORK_BYTES],
    ) -> Result<Self, ReadError<S>> {
        let mut reader = Self {
            source,
            content,
            work,
            flight: 0,
            seed: Crc32::new(),
            offset: 0,
            blocks: 0,
            done: false,
        };
        let mut bytes = [0; HEADER_BYTES];
        let whole = fill(&mut reader.source, &mut bytes)?;
        let [.., f0, f1, f2, f3, _, _, _, _] = bytes;
        reader.flight = u32::from_le_bytes([f0, f1, f2, f3]);
        if !whole || header(reader.flight) != bytes {
            return Err(ReadError::NotAnArchive);
        }
        reader.seed.update(&bytes);
        reader.offset = HEADER_BYTES as u64;
        Ok(reader)
    }

    /// The number of the flight.
    pub fn flight(&self) -> u32 {
        self.flight
    }

    /// The next block, or `None` where the archive was read to its end and is whole.
    ///
    /// # Errors
    /// What follows is damaged or missing, or the source failed; there is nothing more to read then.
    pub fn next_block(&mut self) -> Result<Option<Block<'_>>, ReadError<S>> {
        if self.done {
            return Ok(None);
        }
        self.done = true;
        let (cut, damaged) = (
            ReadError::Cut {
                offset: self.offset,
            },
            ReadError::Damaged {
                offset: self.offset,
            },
        );
        let mut head = [0; BLOCK_BYTES];
        let (first, rest) = head.split_at_mut(END_BYTES);
        if !fill(&mut self.source, first)? {
            return Err(cut);
        }
        let mut crc = self.seed.clone();
        if first[0] == END {
            crc.update(&first[..END_CRC]);
            let whole = first[1..4] == [0; 3]
                && first[4..END_CRC] == self.blocks.to_le_bytes()
                && first[END_CRC..] == crc.finish().to_le_bytes()
                && (self.source)(&mut [0]).map_err(ReadError::Source)? == 0;
            return if whole { Ok(None) } else { Err(damaged) };
        }
        if !fill(&mut self.source, rest)? {
            return Err(cut);
        }
        let [
            b,
            method,
            s0,
            s1,
            i0,
            i1,
            i2,
            i3,
            base @ ..,
            p0,
            p1,
            f0,
            f1,
            n0,
            n1,
            d0,
            d1,
            _,
            _,
            _,
            _,
        ] = head;
        let (plain, following, samples) = (
            usize::from(u16::from_le_bytes([p0, p1])),
            usize::from(u16::from_le_bytes([f0, f1])),
            usize::from(u16::from_le_bytes([n0, n1])),
        );
        if b != BLOCK || plain > WORK_BYTES || following > WORK_BYTES {
            return Err(damaged);
        }
        let packed = &mut self.work[..following];
        if !fill(&mut self.source, packed)? {
            return Err(cut);
        }
        crc.update(&head[..BLOCK_CRC]);
        crc.update(packed);
        if head[BLOCK_CRC..] != crc.finish().to_le_bytes() {
            return Err(damaged);
        }
        let content = &mut self.content[..plain];
        match method {
            STORED if following == plain => content.copy_from_slice(packed),
            LZ4 if decompress_into(packed, content).is_ok_and(|bytes| bytes == plain) => {}
            _ => return Err(damaged),
        }
        // The packed bytes are done with; the samples take their place.
        let (work, _) = self.work.as_chunks_mut();
        let (Some(records), Some(stored)) = (
            plain.checked_sub(planes::bytes(samples)),
            work.get_mut(..samples),
        ) else {
            return Err(damaged);
        };
        planes::samples(&self.content[records..plain], stored);
        let block = Block {
            sector: SectorHeader {
                flight: self.flight,
                session: u16::from_le_bytes([s0, s1]),
                index: u32::from_le_bytes([i0, i1, i2, i3]),
                base_us: u64::from_le_bytes(base),
            },
            damaged: [d0, d1] == [1, 0],
            records: &self.content[..records],
            samples: stored,
        };
        if !block.is_whole() {
            return Err(damaged);
        }
        self.offset += (BLOCK_BYTES + following) as u64;
        self.blocks += 1;
        self.done = false;
        Ok(Some(block))
    }
}

/// Fills all of `into`; false where the source ends before.
fn fill<S>(
    source: &mut impl FnMut(&mut [u8]) -> Result<usize, S>,
    into: &mut [u8],
) -> Result<bool, ReadError<S>> {
    let mut at = 0;
    while at < into.len() {
        match source(&mut into[at..]).map_err(ReadError::Source)? {
            0 => return Ok(false),
            // A source that claims more than it was asked for has filled what there was.
            bytes => at += bytes.min(into.len() - at),
        }
    }
    Ok(true)
}

impl<'a> Block<'a> {
    /// The records, with samples as runs.
    pub fn items(&self) -> Items<'a> {
        Items {
            base_us: self.sector.base_us,
            records: self.records,
            samples: self.samples,
        }
    }

    /// Whether its items use up all that it holds. A CRC says that the bytes are the writer's, not that the writer was right.
    fn is_whole(&self) -> bool {
        let mut items = self.items();
        while items.next().is_some() {}
        items.records.is_empty() && items.samples.is_empty()
    }
}

/// A record in an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item<'a> {
    /// A record as it was. Those of samples are not among them, unless they could not be decoded.
    Record(Record<'a>),
    /// The samples of one record.
    Run(Run<'a>),
}

/// The samples of one record, in whatever code they were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run<'a> {
    /// The record's kind, which tells the code.
    pub kind: Kind,
    /// The time of the first, in microseconds.
    pub time_us: u64,
    samples: &'a [[u8; SAMPLE_BYTES]],
    /// The index of the sample that each precedes, and how many are missing; in their order.
    gaps: &'a [[u8; 6]],
}

impl Run<'_> {
    /// How many samples it has.
    pub fn len(&self) -> usize {
        self.samples.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    /// Its samples.
    pub fn samples(&self) -> impl Iterator<Item = Decoded> {
        let mut gaps = self.gaps.iter().map(|[i0, i1, missing @ ..]| {
            (u16::from_le_bytes([*i0, *i1]), u32::from_le_bytes(*missing))
        });
        let mut next = gaps.next();
        (0u16..)
            .zip(self.samples)
            .map(move |(index, stored)| Decoded {
                sample: Sample::from_bytes(stored),
                gap: next.filter(|(at, _)| *at == index).map(|(_, missing)| {
                    next = gaps.next();
                    missing
                }),
            })
    }
}

/// The records of a block.
#[derive(Clone, Debug)]
pub struct Items<'a> {
    base_us: u64,
    records: &'a [u8],
    samples: &'a [[u8; SAMPLE_BYTES]],
}

impl<'a> Items<'a> {
    fn item(&self) -> Option<(Item<'a>, Self)> {
        let ([form, kind, t0, t1, t2, t3, n0, n1], rest) = self.records.split_first_chunk::<8>()?;
        let kind = Kind::new(*kind)?;
        let time = i32::from_le_bytes([*t0, *t1, *t2, *t3]);
        let time_us = self.base_us.wrapping_add_signed(i64::from(time));
        let count = usize::from(u16::from_le_bytes([*n0, *n1]));
        match *form {
            AS_IT_WAS => {
                let (payload, records) = rest.split_at_checked(count)?;
                let record = Record {
                    kind,
                    time_us,
                    payload,
                };
                Some((Item::Record(record), Self { records, ..*self }))
            }
            SAMPLES => {
                let (gaps, rest) = rest.split_first_chunk()?;
                let gaps = 6 * usize::from(u16::from_le_bytes(*gaps));
                let (gaps, records) = rest.split_at_checked(gaps)?;
                let (run, samples) = self.samples.split_at_checked(count)?;
                let run = Run {
                    kind,
                    time_us,
                    samples: run,
                    gaps: gaps.as_chunks().0,
                };
                Some((
                    Item::Run(run),
                    Self {
                        records,
                        samples,
                        ..*self
                    },
                ))
            }
            _ => None,
        }
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = Item<'a>;

    fn next(&mut self) -> Option<Item<'a>> {
        let (item, rest) = self.item()?;
        *self = rest;
        Some(item)
    }
}
