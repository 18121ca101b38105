//! A part of the flight partition, as a partition of its own.

use crate::flash::Flash;

/// `bytes` from `offset` on, within the flash below; the caller has seen to it that they lie there.
#[derive(Debug)]
pub(super) struct Region<F> {
    pub(super) flash: F,
    pub(super) offset: u32,
    pub(super) bytes: u32,
}

impl<F: Flash> Flash for Region<F> {
    type Error = F::Error;

    fn size(&self) -> u32 {
        self.bytes
    }

    fn read(&mut self, offset: u32, into: &mut [u8]) -> Result<(), F::Error> {
        self.flash.read(self.offset + offset, into)
    }

    fn program(&mut self, offset: u32, data: &[u8]) -> Result<(), F::Error> {
        self.flash.program(self.offset + offset, data)
    }

    fn erase(&mut self, offset: u32, len: u32) -> Result<(), F::Error> {
        self.flash.erase(self.offset + offset, len)
    }
}
