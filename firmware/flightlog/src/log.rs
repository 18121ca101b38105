//! Reading a log: finding its end without reading it all, and walking its records.
//!
//! Used sectors come before erased ones, so the end is found by binary search over the sectors' headers: for 8 MB about a
//! dozen reads of 32 bytes. A sector counts as used if it has a header of this flight, or if it has none that is whole but
//! such a sector lies up to [`HEADER_RUN`] before it: resets can cut headers. What an earlier flight left behind has another
//! flight's number and is not used.

use crate::crc::Crc32;
use crate::flash::{Flash, SECTOR};
use crate::record::{self, Damage, Record};
use crate::sector::{HEADER_BYTES, SECTOR_BYTES, SectorHeader, Seen};

/// How many sectors in a row may have lost their headers to resets; one reset costs one at most.
pub const HEADER_RUN: u32 = 8;

/// A log on flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// The number of this log.
    pub flight: u32,
    /// The session of its last sector: how many times it was taken up again.
    pub session: u16,
    /// The first sector with a whole header.
    pub first: u32,
    /// The last sector with a whole header.
    pub last: u32,
    /// The sector behind the last used one.
    pub end: u32,
}

/// Finds the log that begins at the start of the partition, and its end.
///
/// # Errors
/// The chip failed.
pub fn find<F: Flash>(flash: &mut F) -> Result<Option<Found>, F::Error> {
    let sectors = flash.size() / SECTOR;
    let mut found = None;
    for index in 0..sectors.min(HEADER_RUN + 1) {
        match seen(flash, index)? {
            Seen::Header(header) if header.index == index => {
                found = Some(header);
                break;
            }
            Seen::Blank => break,
            Seen::Header(_) | Seen::Other => {}
        }
    }
    let Some(first) = found else { return Ok(None) };
    let mut last = first;
    let (mut used, mut unused) = (first.index, sectors);
    while unused - used > 1 {
        let middle = used + (unused - used) / 2;
        match whole_at_or_before(flash, middle, first.flight)? {
            Some(header) => {
                used = middle;
                last = header;
            }
            None => unused = middle,
        }
    }
    Ok(Some(Found {
        flight: first.flight,
        session: last.session,
        first: first.index,
        last: last.index,
        end: unused,
    }))
}

/// The header that makes the sector `index` a used one of this flight: its own, or the nearest before it if its own is cut.
fn whole_at_or_before<F: Flash>(
    flash: &mut F,
    index: u32,
    flight: u32,
) -> Result<Option<SectorHeader>, F::Error> {
    for at in (index.saturating_sub(HEADER_RUN)..=index).rev() {
        match seen(flash, at)? {
            Seen::Header(header) => {
                return Ok((header.flight == flight && header.index == at).then_some(header));
            }
            Seen::Blank => return Ok(None),
            Seen::Other => {}
        }
    }
    Ok(None)
}

/// What the sector `index` begins with.
pub(crate) fn seen<F: Flash>(flash: &mut F, index: u32) -> Result<Seen, F::Error> {
    let mut header = [0; HEADER_BYTES];
    flash.read(index * SECTOR, &mut header)?;
    Ok(Seen::of(&header))
}

/// One thing that the reader comes upon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry<'a> {
    /// A record.
    Record {
        /// The header of its sector.
        sector: SectorHeader,
        /// The record.
        record: Record<'a>,
    },
    /// The rest of a sector cannot be read as records; reading goes on with the next sector.
    Damaged {
        /// The sector's index.
        sector: u32,
        /// Where and how.
        damage: Damage,
    },
    /// A sector without a whole header of this flight: a reset came while it was begun.
    NoHeader {
        /// The sector's index.
        sector: u32,
    },
}

/// One sector of the log.
#[derive(Clone, Copy, Debug)]
pub struct Sector<'a> {
    /// Its index.
    pub index: u32,
    /// Its header, where it has a whole one of this flight.
    pub header: Option<SectorHeader>,
    /// All of it.
    pub bytes: &'a [u8],
}

/// Walks a log record by record, with one sector at a time in the caller's buffer.
pub struct Reader<'b, F> {
    flash: F,
    buffer: &'b mut [u8; SECTOR_BYTES],
    found: Found,
    /// The sector to read next.
    next: u32,
    current: Option<Place>,
}

/// The sector in the buffer, and where in it to go on.
struct Place {
    header: SectorHeader,
    seed: Crc32,
    offset: usize,
}

impl<'b, F: Flash> Reader<'b, F> {
    /// Finds the log and stands at its start; `None` where there is no log.
    ///
    /// # Errors
    /// The chip failed.
    pub fn open(
        mut flash: F,
        buffer: &'b mut [u8; SECTOR_BYTES],
    ) -> Result<Option<Self>, F::Error> {
        let found = find(&mut flash)?;
        Ok(found.map(|found| Self {
            flash,
            buffer,
            found,
            next: found.first,
            current: None,
        }))
    }

    /// The log that is read.
    pub fn found(&self) -> Found {
        self.found
    }

    /// The next thing in the log, or `None` at its end.
    ///
    /// # Errors
    /// The chip failed; the call may be repeated.
    // Not an iterator: the record lies in the reader's own buffer.
    #[expect(
        clippy::should_implement_trait,
        reason = "what it gives borrows from the reader"
    )]
    pub fn next(&mut self) -> Result<Option<Entry<'_>>, F::Error> {
        loop {
            if let Some(Place {
                header,
                seed,
                offset,
            }) = &mut self.current
            {
                let sector = header.index;
                match record::next(&self.buffer[..], *offset, seed, header.base_us) {
                    Ok(Some(span)) => {
                        *offset = span.end();
                        return Ok(Some(Entry::Record {
                            sector: *header,
                            record: span.of(&self.buffer[..]),
                        }));
                    }
                    Ok(None) => self.current = None,
                    Err(damage) => {
                        self.current = None;
                        return Ok(Some(Entry::Damaged { sector, damage }));
                    }
                }
            }
            match self.load()? {
                None => return Ok(None),
                Some((sector, None)) => return Ok(Some(Entry::NoHeader { sector })),
                Some((_, Some(header))) => {
                    self.current = Some(Place {
                        header,
                        seed: record::seed(&header),
                        offset: HEADER_BYTES,
                    });
                }
            }
        }
    }

    /// The next sector as a whole, or `None` at the log's end; what [`Reader::next`] has not yet given of the one before is
    /// passed over.
    ///
    /// # Errors
    /// The chip failed; the call may be repeated.
    pub fn next_sector(&mut self) -> Result<Option<Sector<'_>>, F::Error> {
        self.current = None;
        let loaded = self.load()?;
        Ok(loaded.map(|(index, header)| Sector {
            index,
            header,
            bytes: &self.buffer[..],
        }))
    }

    /// Reads the next sector into the buffer.
    fn load(&mut self) -> Result<Option<(u32, Option<SectorHeader>)>, F::Error> {
        if self.next >= self.found.end {
            return Ok(None);
        }
        let index = self.next;
        self.flash.read(index * SECTOR, &mut self.buffer[..])?;
        self.next += 1;
        let header = self.buffer.first_chunk().and_then(SectorHeader::from_bytes);
        let own =
            |header: &SectorHeader| header.flight == self.found.flight && header.index == index;
        Ok(Some((index, header.filter(own))))
    }
}
