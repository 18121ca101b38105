//! Writing an archive.

use core::fmt;

use lz4_flex::block::compress_into;

use super::plain::lay_out;
use super::{
    BLOCK, BLOCK_BYTES, BLOCK_CRC, END, END_BYTES, END_CRC, HEADER_BYTES, LZ4, MAGIC, STORED,
    VERSION, WORK_BYTES,
};
use crate::crc::{Crc32, crc32};
use crate::flash::Flash;
use crate::log::{Reader, Sector};
use crate::sector::SectorHeader;

/// What ended the writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteError<F, S> {
    /// The flash failed.
    Flash(F),
    /// The archive's bytes were not taken.
    Sink(S),
}

impl<F: fmt::Display, S: fmt::Display> fmt::Display for WriteError<F, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WriteError::Flash(error) => write!(f, "reading the log: {error}"),
            WriteError::Sink(error) => write!(f, "writing the archive: {error}"),
        }
    }
}

impl<F, S> core::error::Error for WriteError<F, S>
where
    F: fmt::Debug + fmt::Display,
    S: fmt::Debug + fmt::Display,
{
}

/// What was archived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Sectors of the log that something was read of.
    pub sectors: u32,
    /// Samples in them.
    pub samples: u32,
    /// Sectors that nothing, or not everything, could be read of.
    pub damaged: u32,
    /// Bytes of the archive.
    pub bytes: u64,
}

/// Archives what is ahead of the reader, piece by piece into `sink`.
///
/// Beside the two buffers it needs some 10 KB of stack, of which 8 KB are LZ4's table.
///
/// # Errors
/// The flash or the sink failed; the archive is not whole then, which its reader notices.
pub fn write<F: Flash, S>(
    mut log: Reader<'_, F>,
    content: &mut [u8; WORK_BYTES],
    packed: &mut [u8; WORK_BYTES],
    mut sink: impl FnMut(&[u8]) -> Result<(), S>,
) -> Result<Summary, WriteError<F::Error, S>> {
    let mut summary = Summary::default();
    let mut give = |bytes: &[u8], summary: &mut Summary| {
        summary.bytes += bytes.len() as u64;
        sink(bytes).map_err(WriteError::Sink)
    };
    let header = header(log.found().flight);
    give(&header, &mut summary)?;
    let mut seed = Crc32::new();
    seed.update(&header);

    while let Some(Sector { header, bytes, .. }) = log.next_sector().map_err(WriteError::Flash)? {
        let laid = header.and_then(|header| Some((header, lay_out(bytes, &header, content)?)));
        let Some((header, laid)) = laid else {
            summary.damaged += 1;
            continue;
        };
        summary.damaged += u32::from(laid.damaged);
        if laid.bytes == 0 {
            continue;
        }
        let plain = &content[..laid.bytes];
        let (method, following) = match compress_into(plain, packed) {
            Ok(bytes) if bytes < plain.len() => (LZ4, &packed[..bytes]),
            _ => (STORED, plain),
        };
        let mut block = [0; BLOCK_BYTES];
        block[..2].copy_from_slice(&[BLOCK, method]);
        let SectorHeader {
            session,
            index,
            base_us,
            ..
        } = header;
        block[2..4].copy_from_slice(&session.to_le_bytes());
        block[4..8].copy_from_slice(&index.to_le_bytes());
        block[8..16].copy_from_slice(&base_us.to_le_bytes());
        // All three are at most WORK_BYTES.
        block[16..18].copy_from_slice(&(plain.len() as u16).to_le_bytes());
        block[18..20].copy_from_slice(&(following.len() as u16).to_le_bytes());
        block[20..22].copy_from_slice(&(laid.samples as u16).to_le_bytes());
        block[22] = u8::from(laid.damaged);
        let mut crc = seed.clone();
        crc.update(&block[..BLOCK_CRC]);
        crc.update(following);
        block[BLOCK_CRC..].copy_from_slice(&crc.finish().to_le_bytes());
        give(&block, &mut summary)?;
        give(following, &mut summary)?;
        summary.sectors += 1;
        summary.samples += laid.samples as u32;
    }

    let mut end = [0; END_BYTES];
    end[0] = END;
    end[4..END_CRC].copy_from_slice(&summary.sectors.to_le_bytes());
    seed.update(&end[..END_CRC]);
    end[END_CRC..].copy_from_slice(&seed.finish().to_le_bytes());
    give(&end, &mut summary)?;
    Ok(summary)
}

/// An archive's header.
pub(super) fn header(flight: u32) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[..4].copy_from_slice(&MAGIC);
    header[4..8].copy_from_slice(&VERSION.to_le_bytes());
    header[8..12].copy_from_slice(&flight.to_le_bytes());
    let crc = crc32(&header[..12]);
    header[12..].copy_from_slice(&crc.to_le_bytes());
    header
}
