//! NOR flash in memory, which loses its power where a test says so and counts what it is asked.
#![allow(dead_code, reason = "each test program uses its part")]

use flightlog::flash::{ERASED, Flash, PAGE, SECTOR};

/// How the page whose program was cut is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tear {
    /// Its first bytes are programmed, the others erased.
    Bytes,
    /// As many of its last bytes are programmed: nothing says in which order a chip clears the bits of a page.
    Backwards,
    /// Any of its bits that had to be cleared are cleared; the number picks which.
    Bits(u64),
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NorError {
    PowerLost,
    OutOfRange,
    /// The program would have to set a bit.
    NotErased,
    /// The bytes had been programmed before, with others.
    ProgrammedTwice,
}

#[derive(Clone, Debug)]
pub(crate) struct Nor {
    pub(crate) bytes: Vec<u8>,
    programmed: Vec<bool>,
    /// Bytes that can still be programmed before the power is lost, and how that leaves the page.
    power: Option<(usize, Tear)>,
    pub(crate) reads: usize,
    pub(crate) bytes_read: usize,
    /// Offset and content of each program.
    pub(crate) programs: Vec<(u32, Vec<u8>)>,
}

impl Nor {
    pub(crate) fn erased(sectors: u32) -> Self {
        let size = (sectors * SECTOR) as usize;
        Self {
            bytes: vec![ERASED; size],
            programmed: vec![false; size],
            power: None,
            reads: 0,
            bytes_read: 0,
            programs: Vec::new(),
        }
    }

    pub(crate) fn lose_power_after(&mut self, bytes: usize, tear: Tear) {
        self.power = Some((bytes, tear));
    }

    pub(crate) fn restore_power(&mut self) {
        self.power = None;
    }

    fn range(&self, offset: u32, len: usize) -> Result<std::ops::Range<usize>, NorError> {
        let start = offset as usize;
        let end = start
            .checked_add(len)
            .filter(|end| *end <= self.bytes.len());
        Ok(start..end.ok_or(NorError::OutOfRange)?)
    }

    /// Programs one page, or the part of it that the power lasts for.
    fn page(&mut self, start: usize, data: &[u8]) -> Result<(), NorError> {
        let Some((left, tear)) = &mut self.power else {
            self.clear_bits(start, data);
            return Ok(());
        };
        if let Some(rest) = left.checked_sub(data.len()) {
            *left = rest;
            self.clear_bits(start, data);
            return Ok(());
        }
        let (done, tear) = (std::mem::take(left), *tear);
        match tear {
            Tear::Bytes => self.clear_bits(start, &data[..done]),
            Tear::Backwards => {
                let from = data.len() - done;
                self.clear_bits(start + from, &data[from..]);
            }
            Tear::Bits(seed) => {
                let mut state = seed.wrapping_add(done as u64) | 1;
                let torn: Vec<u8> = data
                    .iter()
                    .map(|byte| {
                        state = state
                            .wrapping_mul(6_364_136_223_846_793_005)
                            .wrapping_add(1_442_695_040_888_963_407);
                        byte | (state >> 33) as u8
                    })
                    .collect();
                self.clear_bits(start, &torn);
            }
        }
        Err(NorError::PowerLost)
    }

    fn clear_bits(&mut self, start: usize, data: &[u8]) {
        for (at, byte) in (start..).zip(data) {
            self.bytes[at] &= byte;
            self.programmed[at] = true;
        }
    }
}

impl Flash for Nor {
    type Error = NorError;

    fn size(&self) -> u32 {
        self.bytes.len() as u32
    }

    fn read(&mut self, offset: u32, into: &mut [u8]) -> Result<(), NorError> {
        let range = self.range(offset, into.len())?;
        self.reads += 1;
        self.bytes_read += into.len();
        into.copy_from_slice(&self.bytes[range]);
        Ok(())
    }

    fn program(&mut self, offset: u32, data: &[u8]) -> Result<(), NorError> {
        let range = self.range(offset, data.len())?;
        if self.power.is_some_and(|(left, _)| left == 0) {
            return Err(NorError::PowerLost);
        }
        // Zeros are taken anywhere, and so is what is there already.
        for (at, &byte) in range.clone().zip(data) {
            if self.bytes[at] & byte != byte {
                return Err(NorError::NotErased);
            }
            if self.programmed[at] && byte != 0 && byte != self.bytes[at] {
                return Err(NorError::ProgrammedTwice);
            }
        }
        self.programs.push((offset, data.to_vec()));
        let mut at = range.start;
        let mut rest = data;
        while !rest.is_empty() {
            let (page, behind) = rest.split_at(rest.len().min(PAGE - at % PAGE));
            self.page(at, page)?;
            at += page.len();
            rest = behind;
        }
        Ok(())
    }

    fn erase(&mut self, offset: u32, len: u32) -> Result<(), NorError> {
        let range = self.range(offset, len as usize)?;
        if !offset.is_multiple_of(SECTOR) || !len.is_multiple_of(SECTOR) {
            return Err(NorError::OutOfRange);
        }
        self.bytes[range.clone()].fill(ERASED);
        self.programmed[range].fill(false);
        Ok(())
    }
}
