//! The flash partition, as callbacks of the caller.

use core::ffi::c_void;

use flightlog::flash;
use flightlog::pages::WriteError;

use crate::handle::usable;
use crate::status::Status;

/// Reads `len` bytes from `offset` of the partition. Gives 0, or a positive number of its own.
pub type FlashRead = Option<
    unsafe extern "C" fn(context: *mut c_void, offset: u32, into: *mut u8, len: usize) -> i32,
>;
/// Programs `len` bytes at `offset` of the partition. Gives 0, or a positive number of its own.
pub type FlashProgram = Option<
    unsafe extern "C" fn(context: *mut c_void, offset: u32, data: *const u8, len: usize) -> i32,
>;
/// Erases `len` bytes from `offset` of the partition. Gives 0, or a positive number of its own.
pub type FlashErase =
    Option<unsafe extern "C" fn(context: *mut c_void, offset: u32, len: u32) -> i32>;

/// A raw partition. The library keeps a copy; what `context` points to must live as long as whatever uses it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Flash {
    /// Given to each callback.
    pub context: *mut c_void,
    /// Bytes of the partition, a multiple of 4096.
    pub size: u32,
    /// Reads.
    pub read: FlashRead,
    /// Programs erased bytes, however many, from any offset.
    pub program: FlashProgram,
    /// Erases; both numbers are multiples of 4096.
    pub erase: FlashErase,
}

/// The same, checked: no callback is missing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Callbacks(Flash);

impl Callbacks {
    /// Takes the caller's callbacks.
    ///
    /// # Safety
    /// `flash` is null, or valid for a read, and its callbacks can be called with its context as long as the value lives.
    pub(crate) unsafe fn new(flash: *const Flash) -> Result<Self, Status> {
        usable(flash)?;
        // SAFETY: not null and aligned; the caller vouches for the rest.
        let flash = unsafe { *flash };
        if flash.read.is_none() || flash.program.is_none() || flash.erase.is_none() {
            return Err(Status::NullPointer);
        }
        if flash.size == 0 || flash.size % flash::SECTOR != 0 {
            return Err(Status::OutOfRange);
        }
        Ok(Self(flash))
    }

    /// Whether the partition has these bytes.
    fn within(&self, offset: u32, len: usize) -> Result<(), i32> {
        let end = u64::from(offset) + len as u64;
        if end > u64::from(self.0.size) {
            return Err(Status::OutOfRange.into());
        }
        Ok(())
    }
}

/// A callback's outcome.
fn outcome(number: i32) -> Result<(), i32> {
    match number {
        0 => Ok(()),
        1.. => Err(number),
        _ => Err(Status::BadCallback.into()),
    }
}

impl flash::Flash for Callbacks {
    /// The number to give to the caller.
    type Error = i32;

    fn size(&self) -> u32 {
        self.0.size
    }

    fn read(&mut self, offset: u32, into: &mut [u8]) -> Result<(), i32> {
        self.within(offset, into.len())?;
        let read = self.0.read.ok_or(Status::NullPointer)?;
        // SAFETY: the caller gave the callback for this; the bytes are valid for writes during the call.
        outcome(unsafe { read(self.0.context, offset, into.as_mut_ptr(), into.len()) })
    }

    fn program(&mut self, offset: u32, data: &[u8]) -> Result<(), i32> {
        self.within(offset, data.len())?;
        let program = self.0.program.ok_or(Status::NullPointer)?;
        // SAFETY: the caller gave the callback for this; the bytes are valid for reads during the call.
        outcome(unsafe { program(self.0.context, offset, data.as_ptr(), data.len()) })
    }

    fn erase(&mut self, offset: u32, len: u32) -> Result<(), i32> {
        self.within(offset, len as usize)?;
        let erase = self.0.erase.ok_or(Status::NullPointer)?;
        // SAFETY: the caller gave the callback for this.
        outcome(unsafe { erase(self.0.context, offset, len) })
    }
}

/// The number for what the page writer says.
pub(crate) fn write_number(error: WriteError<i32>) -> i32 {
    match error {
        WriteError::Flash(number) => number,
        WriteError::NotErased { .. } => Status::NotErased.into(),
        WriteError::FlightTaken { .. } => Status::FlightTaken.into(),
        WriteError::Full => Status::FlashFull.into(),
        WriteError::TooLong { .. } => Status::RecordTooLong.into(),
    }
}
