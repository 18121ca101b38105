//! The page writer: gathers records in a buffer of one sector and programs it into flash, never erasing.
//!
//! Every byte of flash is programmed once. A full buffer goes out as one program of up to [`SECTOR_BYTES`], which the chip
//! takes page by page. [`PageWriter::flush`] programs what the buffer holds so far; later records of the same sector are
//! programmed behind it, beginning at the next multiple of 16, so a flush costs 15 bytes at most. Where a program fails,
//! nothing advances: the next call programs the same bytes in the same place again, which flash allows.

use core::fmt;

use crate::crc::Crc32;
use crate::flash::{ERASED, Flash, SECTOR};
use crate::log::{self, HEADER_RUN};
use crate::record::{HEAD_BYTES, Kind, MAX_PAYLOAD, RECORD_OVERHEAD, complete, seed, time_from};
use crate::sector::{HEADER_BYTES, SECTOR_BYTES, SectorHeader, Seen, VOID, is_blank, unit_up};

/// Why the writer did not do as it was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteError<E> {
    /// The chip failed; nothing has advanced, the call may be repeated.
    Flash(E),
    /// The first sector that would be written is not erased.
    NotErased {
        /// Where in the partition it begins.
        offset: u32,
    },
    /// Sectors of an earlier log with the same flight number follow where this one would end.
    FlightTaken {
        /// Where in the partition they begin.
        offset: u32,
    },
    /// No erased sector is left.
    Full,
    /// The payload is longer than a sector can hold.
    TooLong {
        /// Its length in bytes.
        len: usize,
    },
}

impl<E: fmt::Display> fmt::Display for WriteError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WriteError::Flash(error) => write!(f, "flash: {error}"),
            WriteError::NotErased { offset } => {
                write!(
                    f,
                    "the flight partition is not erased at {offset:#x}: erase it before the flight"
                )
            }
            WriteError::FlightTaken { offset } => write!(
                f,
                "an earlier log with the same flight number lies at {offset:#x}: erase it, or take another number"
            ),
            WriteError::Full => f.write_str("the flight partition is full"),
            WriteError::TooLong { len } => {
                write!(
                    f,
                    "a record's payload of {len} bytes is longer than the {MAX_PAYLOAD} that fit into a sector"
                )
            }
        }
    }
}

impl<E: fmt::Debug + fmt::Display> core::error::Error for WriteError<E> {}

/// The writer of one log.
pub struct PageWriter<'b, F> {
    flash: F,
    buffer: &'b mut [u8; SECTOR_BYTES],
    /// That of the sector in the buffer, or the last one's where none is begun.
    header: SectorHeader,
    seed: Crc32,
    /// The sector after the last erased one that may be written.
    end: u32,
    /// Bytes of the sector gathered so far; 0 where it is not begun.
    fill: usize,
    /// Bytes of the sector that are in flash.
    programmed: usize,
    open: Option<Open>,
}

/// A record whose payload is still growing.
struct Open {
    kind: Kind,
    time: i32,
    start: usize,
    payload: usize,
}

impl<'b, F: Flash> PageWriter<'b, F> {
    /// Begins a log at the start of the partition. `flight` tells its sectors from those of other flights: take another
    /// number each time.
    ///
    /// Reads sector after sector, through `buffer`, to the first that is not erased: [`PageWriter::sectors_left`] says how
    /// many may be written.
    ///
    /// # Errors
    /// The chip failed, not even the first sector is erased, or what follows the erased ones is a log of the same number.
    pub fn begin(
        mut flash: F,
        buffer: &'b mut [u8; SECTOR_BYTES],
        flight: u32,
    ) -> Result<Self, WriteError<F::Error>> {
        let sectors = flash.size() / SECTOR;
        let mut end = 0;
        while end < sectors && sector_is_blank(&mut flash, buffer, end)? {
            end += 1;
        }
        if sectors == 0 {
            return Err(WriteError::Full);
        }
        if end == 0 {
            return Err(WriteError::NotErased { offset: 0 });
        }
        if end < sectors
            && let Some(Seen::Header(left)) = buffer.first_chunk().map(Seen::of)
            && left.flight == flight
        {
            return Err(WriteError::FlightTaken {
                offset: end * SECTOR,
            });
        }
        Ok(Self::at(flash, buffer, flight, 0, 0, end))
    }

    /// Takes a log up again after a reset, in the sector behind the last one that was touched; where there is none, it
    /// begins one as `flight`.
    ///
    /// A sector that the reset cut so badly that its header is not whole is made void first. Of the sectors ahead only the
    /// headers are read, so that little time is lost.
    ///
    /// # Errors
    /// The chip failed, no sector is left, or the sector to go on in is neither erased nor one that a reset has cut.
    pub fn resume(
        mut flash: F,
        buffer: &'b mut [u8; SECTOR_BYTES],
        flight: u32,
    ) -> Result<Self, WriteError<F::Error>> {
        let sectors = flash.size() / SECTOR;
        let found = log::find(&mut flash).map_err(WriteError::Flash)?;
        let (flight, session, behind_last, mut start) = match found {
            Some(found) => (
                found.flight,
                found.session.saturating_add(1),
                found.last + 1,
                found.end,
            ),
            None => (flight, 0, 0, 0),
        };
        loop {
            if start >= sectors {
                return Err(WriteError::Full);
            }
            if sector_is_blank(&mut flash, buffer, start)? {
                break;
            }
            let whole = buffer.first_chunk().map(Seen::of);
            // One reset cuts one sector. More in a row than `find` looks across, or a whole header, were left behind instead.
            if matches!(whole, Some(Seen::Header(_))) || start - behind_last >= HEADER_RUN {
                return Err(WriteError::NotErased {
                    offset: start * SECTOR,
                });
            }
            flash
                .program(start * SECTOR, &VOID)
                .map_err(WriteError::Flash)?;
            start += 1;
        }
        let mut end = start + 1;
        while end < sectors && log::seen(&mut flash, end).map_err(WriteError::Flash)? == Seen::Blank
        {
            end += 1;
        }
        Ok(Self::at(flash, buffer, flight, session, start, end))
    }

    fn at(
        flash: F,
        buffer: &'b mut [u8; SECTOR_BYTES],
        flight: u32,
        session: u16,
        index: u32,
        end: u32,
    ) -> Self {
        let header = SectorHeader {
            flight,
            session,
            index,
            base_us: 0,
        };
        Self {
            flash,
            buffer,
            header,
            seed: seed(&header),
            end,
            fill: 0,
            programmed: 0,
            open: None,
        }
    }

    /// Erased sectors that are left, the one in the buffer included.
    pub fn sectors_left(&self) -> u32 {
        self.end - self.header.index
    }

    /// The flash below.
    pub fn flash(&self) -> &F {
        &self.flash
    }

    /// The flash below, for what concerns the caller's implementation; what the log needs, the writer does itself.
    pub fn flash_mut(&mut self) -> &mut F {
        &mut self.flash
    }

    /// The number of this log.
    pub fn flight(&self) -> u32 {
        self.header.flight
    }

    /// 0, and one more for each time that the log was taken up again.
    pub fn session(&self) -> u16 {
        self.header.session
    }

    /// The index of the sector in the buffer.
    pub fn sector(&self) -> u32 {
        self.header.index
    }

    /// Appends one record. Where the buffer has no room for it, the buffer is programmed first.
    ///
    /// # Errors
    /// The record was not taken: the chip failed, the partition is full, or the payload is too long.
    pub fn record(
        &mut self,
        kind: Kind,
        time_us: u64,
        payload: &[u8],
    ) -> Result<(), WriteError<F::Error>> {
        if payload.len() > MAX_PAYLOAD {
            return Err(WriteError::TooLong { len: payload.len() });
        }
        self.open(kind, time_us, payload.len())?;
        self.spare()[..payload.len()].copy_from_slice(payload);
        self.grow(payload.len());
        self.close(true);
        Ok(())
    }

    /// Opens a record whose payload is written into [`PageWriter::spare`] and counted by [`PageWriter::grow`]; there is room
    /// for `least` bytes of it at least. The next record, flush or [`PageWriter::end_record`] closes it; closed without
    /// payload, it leaves nothing behind.
    ///
    /// # Errors
    /// As [`PageWriter::record`]; no record is open then.
    pub fn open_record(
        &mut self,
        kind: Kind,
        time_us: u64,
        least: usize,
    ) -> Result<(), WriteError<F::Error>> {
        if least > MAX_PAYLOAD {
            return Err(WriteError::TooLong { len: least });
        }
        self.open(kind, time_us, least)
    }

    /// The bytes that an open record can still take; none where no record is open.
    pub fn spare(&mut self) -> &mut [u8] {
        match &self.open {
            Some(open) => {
                let from = open.start + HEAD_BYTES + open.payload;
                &mut self.buffer[from..SECTOR_BYTES - (RECORD_OVERHEAD - HEAD_BYTES)]
            }
            None => &mut [],
        }
    }

    /// Counts `bytes` written at the start of [`PageWriter::spare`] to the open record.
    ///
    /// # Panics
    /// More than were spare.
    pub fn grow(&mut self, bytes: usize) {
        assert!(bytes <= self.spare().len(), "more bytes than were spare");
        if let Some(open) = &mut self.open {
            open.payload += bytes;
        }
    }

    /// Closes the open record, if there is one.
    pub fn end_record(&mut self) {
        self.close(false);
    }

    /// Programs all that was recorded. What follows begins at the next multiple of 16.
    ///
    /// # Errors
    /// The chip failed; the call may be repeated.
    pub fn flush(&mut self) -> Result<(), WriteError<F::Error>> {
        self.end_record();
        let until = unit_up(self.fill);
        // Also where the program fails: some of these bytes may be in flash then, and are not to be others the next time.
        self.fill = until;
        if self.programmed < until {
            let offset = self.header.index * SECTOR + self.programmed as u32;
            self.flash
                .program(offset, &self.buffer[self.programmed..until])
                .map_err(WriteError::Flash)?;
            self.programmed = until;
        }
        Ok(())
    }

    /// Programs all that was recorded and gives the flash back.
    ///
    /// # Errors
    /// As [`PageWriter::flush`].
    pub fn finish(mut self) -> Result<F, WriteError<F::Error>> {
        self.flush()?;
        Ok(self.flash)
    }

    fn open(&mut self, kind: Kind, time_us: u64, least: usize) -> Result<(), WriteError<F::Error>> {
        self.end_record();
        let fits = self.fill + RECORD_OVERHEAD + least <= SECTOR_BYTES;
        let time = match time_from(self.header.base_us, time_us) {
            Some(time) if self.fill > 0 && fits => time,
            _ => {
                self.next_sector(time_us)?;
                0
            }
        };
        self.open = Some(Open {
            kind,
            time,
            start: self.fill,
            payload: 0,
        });
        Ok(())
    }

    fn close(&mut self, even_if_empty: bool) {
        let Some(open) = self.open.take() else { return };
        if open.payload == 0 && !even_if_empty {
            return;
        }
        self.fill = open.start + RECORD_OVERHEAD + open.payload;
        complete(
            &mut self.buffer[open.start..self.fill],
            open.kind,
            open.time,
            &self.seed,
        );
    }

    /// Programs the sector in the buffer, where one is begun, and begins the next.
    fn next_sector(&mut self, time_us: u64) -> Result<(), WriteError<F::Error>> {
        if self.fill > 0 {
            self.flush()?;
            self.fill = 0;
            self.programmed = 0;
            self.header.index += 1;
        }
        if self.header.index >= self.end {
            return Err(WriteError::Full);
        }
        self.header.base_us = time_us;
        self.seed = seed(&self.header);
        self.buffer.fill(ERASED);
        self.buffer[..HEADER_BYTES].copy_from_slice(&self.header.to_bytes());
        self.fill = HEADER_BYTES;
        Ok(())
    }
}

fn sector_is_blank<F: Flash>(
    flash: &mut F,
    buffer: &mut [u8; SECTOR_BYTES],
    index: u32,
) -> Result<bool, WriteError<F::Error>> {
    flash
        .read(index * SECTOR, buffer)
        .map_err(WriteError::Flash)?;
    Ok(is_blank(buffer))
}
