//! The logger: samples and other records into the page writer, and samples back out of a log.
//!
//! Samples that follow each other share a record, as long as nothing else is recorded between them. A record's time is that
//! of its first sample, and the rate in the start record gives the rest; a gap begins a new record. In the delta code a
//! change builds on the sample before it also across records of one sector; each sector begins with a full sample, so a lost
//! sector costs no other.
//!
//! The payload of a start record ([`Kind::START`]), one for each session:
//!
//! | offset | bytes | content |
//! | --- | --- | --- |
//! | 0 | 4 | samples a second |
//! | 4 | 1 | 0: samples as stored, 1: delta code |
//! | 5 | 4 | every how many samples one is full; 1 for samples as stored |

use core::fmt;
use core::num::NonZeroU32;

use crate::delta::{self, DecodeError, Decoded};
use crate::flash::Flash;
use crate::pages::{PageWriter, WriteError};
use crate::record::{Kind, Record};
use crate::sample::{SAMPLE_BYTES, Sample};
use crate::sector::SectorHeader;

const START_BYTES: usize = 9;

/// How samples are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// Each as stored, 15 bytes.
    Raw,
    /// As changes ([`crate::delta`]).
    Delta {
        /// Every how many samples one is full.
        full_every: NonZeroU32,
    },
}

/// What a log's start record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Samples a second.
    pub rate_hz: u32,
    /// How they are written.
    pub coding: Coding,
}

impl Settings {
    /// The payload of a start record.
    pub fn to_bytes(&self) -> [u8; START_BYTES] {
        let (code, every) = match self.coding {
            Coding::Raw => (0, 1),
            Coding::Delta { full_every } => (1, full_every.get()),
        };
        let mut bytes = [0; START_BYTES];
        bytes[..4].copy_from_slice(&self.rate_hz.to_le_bytes());
        bytes[4] = code;
        bytes[5..].copy_from_slice(&every.to_le_bytes());
        bytes
    }

    /// The settings that this payload of a start record holds, if it is one.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (rate, rest) = bytes.split_first_chunk()?;
        let (code, every) = rest.split_first()?;
        let every = NonZeroU32::new(u32::from_le_bytes(every.try_into().ok()?))?;
        Some(Self {
            rate_hz: u32::from_le_bytes(*rate),
            coding: match code {
                0 => Coding::Raw,
                1 => Coding::Delta { full_every: every },
                _ => return None,
            },
        })
    }
}

/// Writes one flight.
pub struct Logger<'b, F> {
    pages: PageWriter<'b, F>,
    coding: Coding,
    encoder: delta::Encoder,
    /// The sector of the last sample in the delta code.
    sector: Option<u32>,
    /// Whether the open record is one of samples.
    samples_open: bool,
    /// A gap before the next sample, and how many are missing.
    gap: Option<u32>,
}

impl<'b, F: Flash> Logger<'b, F> {
    /// Writes the start record. `pages` comes from [`PageWriter::begin`], or [`PageWriter::resume`] after a reset.
    ///
    /// # Errors
    /// As [`PageWriter::record`].
    pub fn start(
        mut pages: PageWriter<'b, F>,
        settings: Settings,
        time_us: u64,
    ) -> Result<Self, WriteError<F::Error>> {
        pages.record(Kind::START, time_us, &settings.to_bytes())?;
        let full_every = match settings.coding {
            Coding::Raw => NonZeroU32::MIN,
            Coding::Delta { full_every } => full_every,
        };
        Ok(Self {
            pages,
            coding: settings.coding,
            encoder: delta::Encoder::new(full_every),
            sector: None,
            samples_open: false,
            gap: None,
        })
    }

    /// Appends a sample that was taken at `time_us`. Most calls only encode it into the buffer.
    ///
    /// # Errors
    /// The sample was not taken: as [`PageWriter::record`].
    pub fn sample(&mut self, time_us: u64, sample: &Sample) -> Result<(), WriteError<F::Error>> {
        match self.coding {
            Coding::Raw => self.raw(time_us, sample),
            Coding::Delta { .. } => self.delta(time_us, sample),
        }
    }

    /// Says that samples are missing before the next one: how many, or 0 where that is not known.
    pub fn gap(&mut self, missing: u32) {
        self.gap = Some(delta::add_gaps(self.gap, missing));
    }

    /// Notes that launch was detected.
    ///
    /// # Errors
    /// As [`PageWriter::record`].
    pub fn trigger(&mut self, time_us: u64) -> Result<(), WriteError<F::Error>> {
        self.record(Kind::TRIGGER, time_us, &[])
    }

    /// Appends a record of the caller's own, of [`Kind::OWN`] or above.
    ///
    /// # Errors
    /// As [`PageWriter::record`].
    pub fn record(
        &mut self,
        kind: Kind,
        time_us: u64,
        payload: &[u8],
    ) -> Result<(), WriteError<F::Error>> {
        self.samples_open = false;
        self.pages.record(kind, time_us, payload)
    }

    /// Programs all that was recorded so far.
    ///
    /// # Errors
    /// As [`PageWriter::flush`].
    pub fn flush(&mut self) -> Result<(), WriteError<F::Error>> {
        self.samples_open = false;
        self.pages.flush()
    }

    /// Programs all that was recorded and gives the flash back.
    ///
    /// # Errors
    /// As [`PageWriter::flush`].
    pub fn finish(self) -> Result<F, WriteError<F::Error>> {
        self.pages.finish()
    }

    /// The page writer, to ask how far it is.
    pub fn pages(&self) -> &PageWriter<'b, F> {
        &self.pages
    }

    fn raw(&mut self, time_us: u64, sample: &Sample) -> Result<(), WriteError<F::Error>> {
        if let Some(missing) = self.gap {
            self.record(Kind::GAP, time_us, &missing.to_le_bytes())?;
            self.gap = None;
        }
        if !self.samples_open || self.pages.spare().len() < SAMPLE_BYTES {
            self.open(Kind::RAW_SAMPLES, time_us, SAMPLE_BYTES)?;
        }
        if let Some(place) = self.pages.spare().first_chunk_mut() {
            *place = sample.to_bytes();
        }
        self.pages.grow(SAMPLE_BYTES);
        Ok(())
    }

    fn delta(&mut self, time_us: u64, sample: &Sample) -> Result<(), WriteError<F::Error>> {
        let begins_record = !self.samples_open || self.gap.is_some();
        if begins_record || self.pages.spare().len() < delta::MAX_BYTES {
            self.open(Kind::DELTA_SAMPLES, time_us, delta::MAX_BYTES)?;
        }
        let sector = self.pages.sector();
        if self.sector != Some(sector) {
            self.encoder.restart();
            self.sector = Some(sector);
        }
        if let Some(missing) = self.gap.take() {
            self.encoder.gap(missing);
        }
        // Room for the longest was seen to above, so this does not fail.
        if let Ok(bytes) = self.encoder.encode(sample, self.pages.spare()) {
            self.pages.grow(bytes);
        }
        Ok(())
    }

    fn open(&mut self, kind: Kind, time_us: u64, least: usize) -> Result<(), WriteError<F::Error>> {
        self.samples_open = false;
        self.pages.open_record(kind, time_us, least)?;
        self.samples_open = true;
        Ok(())
    }
}

/// Why a record's samples cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleError {
    /// The delta code is broken.
    Delta(DecodeError),
    /// The payload is not what its kind needs: whole samples, or a gap's four bytes.
    Length {
        /// The record's kind.
        kind: Kind,
        /// The payload's length in bytes.
        len: usize,
    },
}

impl fmt::Display for SampleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SampleError::Delta(error) => error.fmt(f),
            SampleError::Length { kind, len } => {
                write!(
                    f,
                    "a record of kind {} cannot have a payload of {len} bytes",
                    kind.code()
                )
            }
        }
    }
}

impl core::error::Error for SampleError {}

/// Reads the samples out of a log's records, which must be given in their order.
#[derive(Clone, Debug, Default)]
pub struct SampleReader {
    /// The sector that `base` belongs to.
    sector: Option<u32>,
    base: Option<Sample>,
    gap: Option<u32>,
}

impl SampleReader {
    /// At the start of a log.
    pub fn new() -> Self {
        Self::default()
    }

    /// The samples in `record`, which lies in `sector`; none if it holds none. Take all of them before the next record.
    pub fn samples<'a>(&'a mut self, sector: &SectorHeader, record: &Record<'a>) -> Samples<'a> {
        if self.sector != Some(sector.index) {
            self.sector = Some(sector.index);
            self.base = None;
        }
        let length = SampleError::Length {
            kind: record.kind,
            len: record.payload.len(),
        };
        let source = match record.kind {
            Kind::DELTA_SAMPLES => {
                Source::Delta(delta::Decoder::following(record.payload, self.base))
            }
            Kind::RAW_SAMPLES => match record.payload.as_chunks() {
                (samples, []) => Source::Raw(samples.iter()),
                _ => Source::Error(Some(length)),
            },
            Kind::GAP => match record.payload.try_into() {
                Ok(missing) => {
                    self.gap = Some(delta::add_gaps(self.gap, u32::from_le_bytes(missing)));
                    Source::Error(None)
                }
                Err(_) => Source::Error(Some(length)),
            },
            _ => Source::Error(None),
        };
        Samples {
            reader: self,
            source,
        }
    }
}

/// The samples of one record.
#[derive(Debug)]
pub struct Samples<'a> {
    reader: &'a mut SampleReader,
    source: Source<'a>,
}

#[derive(Debug)]
enum Source<'a> {
    Raw(core::slice::Iter<'a, [u8; SAMPLE_BYTES]>),
    Delta(delta::Decoder<'a>),
    /// No samples, and perhaps why.
    Error(Option<SampleError>),
}

impl Iterator for Samples<'_> {
    type Item = Result<Decoded, SampleError>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.source {
            Source::Raw(samples) => Some(Ok(Decoded {
                sample: Sample::from_bytes(samples.next()?),
                gap: self.reader.gap.take(),
            })),
            Source::Delta(decoder) => {
                let decoded = decoder.next()?.map_err(SampleError::Delta);
                self.reader.base = decoder.base().filter(|_| decoded.is_ok());
                Some(decoded)
            }
            Source::Error(error) => error.take().map(Err),
        }
    }
}
