//! A block's content before compression: the records of one sector, with the samples taken out of them.

use super::planes::{self, Planes};
use super::{AS_IT_WAS, SAMPLES};
use crate::delta::Decoder;
use crate::record::{Kind, Record, Records, time_from};
use crate::sample::{SAMPLE_BYTES, Sample};
use crate::sector::SectorHeader;

/// What was laid out.
pub(super) struct Laid {
    /// Bytes of content.
    pub(super) bytes: usize,
    /// Samples in it.
    pub(super) samples: usize,
    /// Records that could not be read ended the sector.
    pub(super) damaged: bool,
}

/// Lays out the records of a sector in `content`; `None` where that has no room for them.
pub(super) fn lay_out(sector: &[u8], header: &SectorHeader, content: &mut [u8]) -> Option<Laid> {
    // Samples apart may take more room than the records as they are, but only in records that no logger wrote.
    lay_out_samples(sector, header, content, true)
        .or_else(|| lay_out_samples(sector, header, content, false))
}

fn lay_out_samples(
    sector: &[u8],
    header: &SectorHeader,
    content: &mut [u8],
    apart: bool,
) -> Option<Laid> {
    let mut pen = Pen {
        content,
        at: 0,
        base_us: header.base_us,
    };
    let (mut base, mut samples, mut damaged) = (None, 0, false);
    for record in Records::new(sector, header) {
        let Ok(record) = record else {
            damaged = true;
            break;
        };
        match Source::of(&record, &mut base).filter(|_| apart) {
            Some(source) => samples += pen.samples(&record, &source)?,
            None => pen.as_it_was(&record)?,
        }
    }
    let records = pen.at;
    let bytes = records + planes::bytes(samples);
    let mut planes = Planes::new(content.get_mut(records..bytes)?, samples);
    let mut base = None;
    for record in Records::new(sector, header)
        .map_while(Result::ok)
        .filter(|_| apart)
    {
        if let Some(source) = Source::of(&record, &mut base) {
            source.each(|sample, _| planes.push(&sample));
        }
    }
    Some(Laid {
        bytes,
        samples,
        damaged,
    })
}

/// The samples of a record that can be read to its end.
enum Source<'a> {
    Raw(&'a [[u8; SAMPLE_BYTES]]),
    Delta(Decoder<'a>),
}

impl<'a> Source<'a> {
    /// `base` is the sample that the next change builds on; records of one sector share it.
    fn of(record: &Record<'a>, base: &mut Option<Sample>) -> Option<Self> {
        match record.kind {
            Kind::RAW_SAMPLES => match record.payload.as_chunks() {
                (samples, []) => Some(Source::Raw(samples)),
                _ => None,
            },
            Kind::DELTA_SAMPLES => {
                let decoder = Decoder::following(record.payload, *base);
                let mut ahead = decoder.clone();
                let whole = ahead.by_ref().all(|sample| sample.is_ok());
                *base = ahead.base().filter(|_| whole);
                whole.then_some(Source::Delta(decoder))
            }
            _ => None,
        }
    }

    /// Gives each sample, with what is missing before it.
    fn each(&self, mut give: impl FnMut(Sample, Option<u32>)) {
        match self {
            Source::Raw(samples) => samples
                .iter()
                .for_each(|stored| give(Sample::from_bytes(stored), None)),
            Source::Delta(decoder) => decoder
                .clone()
                .flatten()
                .for_each(|decoded| give(decoded.sample, decoded.gap)),
        }
    }
}

/// Writes records into the content.
struct Pen<'a> {
    content: &'a mut [u8],
    at: usize,
    base_us: u64,
}

impl Pen<'_> {
    fn bytes(&mut self, bytes: &[u8]) -> Option<()> {
        let place = self.content.get_mut(self.at..self.at + bytes.len())?;
        place.copy_from_slice(bytes);
        self.at += bytes.len();
        Some(())
    }

    /// What both forms of a record begin with.
    fn head(&mut self, form: u8, record: &Record<'_>) -> Option<()> {
        let time = time_from(self.base_us, record.time_us)?;
        self.bytes(&[form, record.kind.code()])?;
        self.bytes(&time.to_le_bytes())
    }

    fn as_it_was(&mut self, record: &Record<'_>) -> Option<()> {
        self.head(AS_IT_WAS, record)?;
        self.bytes(&(record.payload.len() as u16).to_le_bytes())?;
        self.bytes(record.payload)
    }

    /// Says how many samples the record has.
    fn samples(&mut self, record: &Record<'_>, source: &Source<'_>) -> Option<usize> {
        self.head(SAMPLES, record)?;
        let (mut samples, mut gaps) = (0u16, 0u16);
        source.each(|_, gap| {
            samples += 1;
            gaps += u16::from(gap.is_some());
        });
        self.bytes(&samples.to_le_bytes())?;
        self.bytes(&gaps.to_le_bytes())?;
        let (mut index, mut room) = (0u16, Some(()));
        source.each(|_, gap| {
            if let Some(missing) = gap {
                room = room
                    .and_then(|()| self.bytes(&index.to_le_bytes()))
                    .and_then(|()| self.bytes(&missing.to_le_bytes()));
            }
            index += 1;
        });
        room.map(|()| usize::from(samples))
    }
}
