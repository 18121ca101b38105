//! The flash partition as the logger sees it.

/// Bytes that one page program can write; a program must not cross a multiple of it.
pub const PAGE: usize = 256;
/// Bytes of the smallest erase.
pub const SECTOR: u32 = 4 * 1024;
/// Bytes of the erase that the bench uses; on most chips the fastest per byte.
pub const BLOCK: u32 = 64 * 1024;
/// What an erased byte reads as.
pub const ERASED: u8 = 0xFF;

/// A raw partition: NOR flash, so a program only clears bits, and an erase sets whole sectors to [`ERASED`].
///
/// Offsets count from the partition's start. An implementation splits long programs into pages itself.
pub trait Flash {
    /// What an operation fails with.
    type Error;

    /// Size in bytes, a multiple of [`SECTOR`].
    fn size(&self) -> u32;

    /// Reads `into.len()` bytes from `offset`.
    ///
    /// # Errors
    /// The range leaves the partition, or the chip failed.
    fn read(&mut self, offset: u32, into: &mut [u8]) -> Result<(), Self::Error>;

    /// Programs `data` at `offset`, which must have been erased before.
    ///
    /// # Errors
    /// The range leaves the partition, or the chip failed.
    fn program(&mut self, offset: u32, data: &[u8]) -> Result<(), Self::Error>;

    /// Erases `len` bytes from `offset`, both multiples of [`SECTOR`].
    ///
    /// # Errors
    /// The range leaves the partition or is not aligned, or the chip failed.
    fn erase(&mut self, offset: u32, len: u32) -> Result<(), Self::Error>;
}

impl<F: Flash> Flash for &mut F {
    type Error = F::Error;

    fn size(&self) -> u32 {
        (**self).size()
    }

    fn read(&mut self, offset: u32, into: &mut [u8]) -> Result<(), Self::Error> {
        (**self).read(offset, into)
    }

    fn program(&mut self, offset: u32, data: &[u8]) -> Result<(), Self::Error> {
        (**self).program(offset, data)
    }

    fn erase(&mut self, offset: u32, len: u32) -> Result<(), Self::Error> {
        (**self).erase(offset, len)
    }
}
