//! The zip itself: entries compressed elsewhere, written by the zip crate.
//!
//! The zip crate deflates with flate2 alone. It copies an entry of another archive as it stands, though, and reads
//! that entry from a stream, so each file is handed to it as a local header and its deflated bytes. Names, sizes,
//! the central directory and zip64 stay the crate's work.

use std::cell::Cell;
use std::io::{self, BufReader, BufWriter, Cursor, Read, Seek, SeekFrom, Write};
use std::rc::Rc;

use anyhow::{Context, Result, ensure};
use sha2::{Digest, Sha256};
use zip::result::{ZipError, ZipResult};
use zip::{CompressionMethod, DateTime, ZipArchive, ZipWriter};

use super::compress::Packed;
use crate::digest::hex;

/// The earliest time that a zip can hold, 1980-01-01 00:00:00, as its date field: (year - 1980, month, day).
const EPOCH_DATE: u16 = (1 << 5) | 1;

/// "Version needed" 2.0 (deflate), with the Unix mark that the zip crate reads from the upper byte; without it the
/// entry would carry the mark of the system that packs.
const VERSION_NEEDED: u16 = (3 << 8) | 20;

/// Mode of an entry, from its name alone so that every system gives the same: bootloaders are executable, as upstream
/// ships them.
pub(super) fn mode(name: &str) -> u32 {
    if name.starts_with("bin/") && name.ends_with(".elf") {
        0o755
    } else {
        0o644
    }
}

/// Writes entries in the order given.
pub(super) struct Archive<W: Write + Seek> {
    // Dropped before the writer, see [`Void`].
    void: Void,
    zip: ZipWriter<Hashing<BufWriter<W>>>,
    entries: Vec<Entry>,
}

/// Once set, nothing more reaches the disk. A `ZipWriter` that is dropped unfinished writes a central directory all
/// the same, and prints to standard error where it cannot: that must go nowhere.
#[derive(Default)]
struct Void(Rc<Cell<bool>>);

impl Drop for Void {
    fn drop(&mut self) {
        self.0.set(true);
    }
}

/// What an entry must be when the archive is read back.
#[derive(Debug, PartialEq, Eq)]
struct Entry {
    name: String,
    mode: u32,
    method: CompressionMethod,
    crc32: u32,
    size: u64,
    packed_size: u64,
}

/// A finished archive.
#[derive(Debug)]
pub(super) struct Written {
    /// SHA-256 of all bytes handed to the disk, lower-case hex.
    pub(super) sha256: String,
    /// Their number.
    pub(super) size: u64,
    entries: Vec<Entry>,
}

impl<W: Write + Seek> Archive<W> {
    pub(super) fn new(out: W) -> Self {
        let void = Void::default();
        let out = BufWriter::with_capacity(1 << 18, out);
        Self {
            zip: ZipWriter::new(Hashing::new(out, Rc::clone(&void.0))),
            void,
            entries: Vec::new(),
        }
    }

    /// Adds a file under its name in the archive.
    pub(super) fn add(&mut self, name: String, mode: u32, packed: &Packed) -> Result<()> {
        self.copy(&name, mode, packed)
            .with_context(|| format!("adding {name} to the zip"))?;
        self.entries.push(Entry {
            name,
            mode,
            method: packed.method,
            crc32: packed.crc32,
            size: packed.size.into(),
            packed_size: packed.data.len() as u64,
        });
        Ok(())
    }

    fn copy(&mut self, name: &str, mode: u32, packed: &Packed) -> Result<()> {
        let header = local_header(name, packed)?;
        let mut stream = Cursor::new(header).chain(&*packed.data);
        let entry = zip::read::read_zipfile_from_stream(&mut stream)?.context("no local header")?;
        self.zip
            .raw_copy_file_touch(entry, DateTime::DEFAULT, Some(mode))
            .map_err(plain)?;
        Ok(())
    }

    /// Writes the central directory; gives the file back, flushed to the system but not synced.
    pub(super) fn finish(self) -> Result<(W, Written)> {
        let (buffer, sha256, size) = self.zip.finish().map_err(plain)?.into_parts();
        ensure!(!self.void.0.get(), "the zip is not whole after an error");
        let out = buffer
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?;
        let written = Written {
            sha256,
            size,
            entries: self.entries,
        };
        Ok((out, written))
    }
}

/// The error of the system itself, where the zip crate only wraps it: it says no more, and would say it twice.
fn plain(error: ZipError) -> anyhow::Error {
    match error {
        ZipError::Io(error) => error.into(),
        other => other.into(),
    }
}

/// A local file header (APPNOTE 4.3.7) without extra fields.
fn local_header(name: &str, packed: &Packed) -> Result<Vec<u8>> {
    let method: u16 = match packed.method {
        CompressionMethod::Stored => 0,
        _ => 8,
    };
    let packed_size = u32::try_from(packed.data.len()).context("larger than 4 GiB")?;
    let name_length = u16::try_from(name.len()).context("the name is too long")?;
    let mut header = Vec::with_capacity(30 + name.len());
    header.extend(b"PK\x03\x04");
    for field in [VERSION_NEEDED, 0, method, 0, EPOCH_DATE] {
        header.extend(field.to_le_bytes());
    }
    for field in [packed.crc32, packed_size, packed.size] {
        header.extend(field.to_le_bytes());
    }
    header.extend(name_length.to_le_bytes());
    header.extend(0_u16.to_le_bytes());
    header.extend(name.as_bytes());
    Ok(header)
}

impl Written {
    /// Reads the archive back from the disk: the bytes are those that were written, and the directory lists every
    /// entry as it was meant.
    pub(super) fn verify(&self, mut file: impl Read + Seek) -> Result<()> {
        file.rewind()?;
        let mut hasher = Hashing::new(io::sink(), Rc::default());
        io::copy(
            &mut BufReader::with_capacity(1 << 18, &mut file),
            &mut hasher,
        )?;
        let (_, sha256, size) = hasher.into_parts();
        ensure!(
            (&sha256, size) == (&self.sha256, self.size),
            "the disk gave other bytes back than were written ({size} of {}, SHA-256 {sha256} instead of {}); \
             check the disk",
            self.size,
            self.sha256
        );
        let mut zip = ZipArchive::new(BufReader::new(file)).context("reading the zip back")?;
        ensure!(
            zip.len() == self.entries.len(),
            "the zip lists {} entries instead of {}",
            zip.len(),
            self.entries.len()
        );
        for (index, meant) in self.entries.iter().enumerate() {
            let found = listed(&mut zip, index)?;
            ensure!(
                found == *meant,
                "the zip lists {found:?} instead of {meant:?}"
            );
        }
        Ok(())
    }
}

fn listed(zip: &mut ZipArchive<impl Read + Seek>, index: usize) -> ZipResult<Entry> {
    let entry = zip.by_index_raw(index)?;
    Ok(Entry {
        name: entry.name()?.into_owned(),
        mode: entry.unix_mode().unwrap_or(0) & 0o7777,
        method: entry.compression(),
        crc32: entry.crc32(),
        size: entry.size(),
        packed_size: entry.compressed_size(),
    })
}

/// Hashes what passes through on its way to `inner`, and refuses to go back and write over it.
///
/// After an error, or once `void` is set, it takes everything and does nothing with it.
struct Hashing<W> {
    inner: W,
    void: Rc<Cell<bool>>,
    sha256: Sha256,
    hashed: u64,
    position: u64,
}

impl<W> Hashing<W> {
    fn new(inner: W, void: Rc<Cell<bool>>) -> Self {
        Self {
            inner,
            void,
            sha256: Sha256::new(),
            hashed: 0,
            position: 0,
        }
    }

    fn into_parts(self) -> (W, String, u64) {
        (self.inner, hex(&self.sha256.finalize()), self.hashed)
    }
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.void.get() {
            return Ok(bytes.len());
        }
        if self.position != self.hashed {
            return Err(io::Error::other(
                "bytes that were already hashed would change",
            ));
        }
        let count = self
            .inner
            .write(bytes)
            .inspect_err(|_| self.void.set(true))?;
        self.sha256.update(&bytes[..count]);
        self.hashed += count as u64;
        self.position = self.hashed;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.void.get() {
            Ok(())
        } else {
            self.inner.flush().inspect_err(|_| self.void.set(true))
        }
    }
}

impl<W: Seek> Seek for Hashing<W> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        // The zip crate asks for its position at each entry; a real seek would flush the buffer each time.
        if to != SeekFrom::Current(0) && !self.void.get() {
            self.position = self.inner.seek(to).inspect_err(|_| self.void.set(true))?;
        }
        Ok(self.position)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Effort;
    use super::super::compress::Packer;
    use super::*;

    fn sample() -> (Vec<u8>, Written) {
        let mut archive = Archive::new(Cursor::new(Vec::new()));
        let mut packer = Packer::new(Effort::Fast).unwrap();
        for (name, bytes) in [
            ("r/bin/b.elf", "elf ".repeat(50)),
            ("r/empty", String::new()),
        ] {
            let packed = packer.bytes(bytes.as_bytes()).unwrap();
            archive
                .add(name.to_owned(), mode(&name[2..]), &packed)
                .unwrap();
        }
        let (out, written) = archive.finish().unwrap();
        (out.into_inner(), written)
    }

    #[test]
    fn entries_carry_fixed_times_and_modes() {
        let (bytes, written) = sample();
        written.verify(Cursor::new(&bytes)).unwrap();
        let mut zip = ZipArchive::new(Cursor::new(&bytes)).unwrap();
        let elf = zip.by_index(0).unwrap();
        assert_eq!(
            elf.last_modified().unwrap().to_string(),
            "1980-01-01 00:00:00"
        );
        assert_eq!(elf.unix_mode(), Some(0o100_755));
        drop(elf);
        let text = io::read_to_string(zip.by_index(0).unwrap()).unwrap();
        assert_eq!(text, "elf ".repeat(50));
        assert_eq!(zip.by_index(1).unwrap().unix_mode(), Some(0o100_644));
        // Made by Unix, wherever it was packed: the upper byte of "version made by" in the central directory.
        let central = bytes.windows(4).position(|w| w == b"PK\x01\x02").unwrap();
        assert_eq!(bytes[central + 5], 3);
    }

    #[test]
    fn any_changed_byte_is_noticed_when_read_back() {
        let (bytes, written) = sample();
        for position in 0..bytes.len() {
            let mut bad = bytes.clone();
            bad[position] ^= 0x10;
            let error = written.verify(Cursor::new(bad)).unwrap_err().to_string();
            assert!(error.contains("check the disk"), "{position}: {error}");
        }
        assert!(
            written
                .verify(Cursor::new(&bytes[..bytes.len() - 1]))
                .is_err()
        );
    }

    #[test]
    fn a_directory_that_lists_something_else_is_noticed() {
        let (bytes, mut written) = sample();
        written.entries[0].crc32 ^= 1;
        let error = written.verify(Cursor::new(&bytes)).unwrap_err().to_string();
        assert!(error.contains("r/bin/b.elf"), "{error}");
        written.entries.pop();
        assert!(written.verify(Cursor::new(&bytes)).is_err());
    }

    /// A disk with room for some bytes; counts those that it took and the writes that it refused.
    struct Small<'a> {
        room: usize,
        taken: &'a Cell<usize>,
        refused: &'a Cell<usize>,
    }

    impl Write for Small<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.taken.get() + bytes.len() > self.room {
                self.refused.set(self.refused.get() + 1);
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.taken.set(self.taken.get() + bytes.len());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Seek for Small<'_> {
        fn seek(&mut self, _: SeekFrom) -> io::Result<u64> {
            Ok(0)
        }
    }

    #[test]
    fn nothing_is_written_after_an_error_nor_by_a_dropped_archive() {
        let mut state = 1_u32;
        let noise = std::iter::repeat_with(|| {
            state = state.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
            (state >> 24) as u8
        });
        let noise: Vec<u8> = noise.take(600_000).collect();
        let packed = Packer::new(Effort::Fast).unwrap().bytes(&noise).unwrap();
        let archive = |room, taken, refused| {
            let mut archive = Archive::new(Small {
                room,
                taken,
                refused,
            });
            let added = archive.add("r/a".to_owned(), 0o644, &packed);
            (archive, added)
        };
        let (taken, refused) = (Cell::new(0), Cell::new(0));
        let (full, added) = archive(300_000, &taken, &refused);
        assert!(added.is_err() && full.finish().is_err());
        // Once by the entry; once more by the buffer, which gives its rest to the disk when it goes.
        assert!(refused.get() <= 2, "{refused:?}");

        // What fits the buffer reaches the disk, and is refused, only as the archive is finished.
        let (taken, refused) = (Cell::new(0), Cell::new(0));
        let mut small = Archive::new(Small {
            room: 10,
            taken: &taken,
            refused: &refused,
        });
        let packed_small = Packer::new(Effort::Fast).unwrap().bytes(b"small").unwrap();
        small.add("r/a".to_owned(), 0o644, &packed_small).unwrap();
        let error = format!("{:#}", small.finish().err().unwrap());
        assert!(refused.get() <= 2, "{refused:?}");
        assert_eq!(
            error,
            io::Error::from(io::ErrorKind::StorageFull).to_string()
        );

        let (taken, refused) = (Cell::new(0), Cell::new(0));
        let (unfinished, added) = archive(usize::MAX, &taken, &refused);
        added.unwrap();
        drop(unfinished);
        // The entry alone, without a central directory.
        assert_eq!(taken.get(), 30 + "r/a".len() + packed.data.len());
    }

    #[test]
    fn hashed_bytes_cannot_be_written_over() {
        let mut out = Hashing::new(Cursor::new(Vec::new()), Rc::default());
        out.write_all(b"abc").unwrap();
        out.seek(SeekFrom::Start(0)).unwrap();
        assert!(out.write_all(b"x").is_err());
        out.seek(SeekFrom::End(0)).unwrap();
        out.write_all(b"d").unwrap();
        assert_eq!(out.into_parts().2, 4);
    }
}
