//! Bytes, text and values of the caller.

use core::ffi::c_char;
use core::{slice, str};

use crate::handle::usable;
use crate::status::Status;

/// A text with its length; no 0 at its end is needed. Of length 0 the pointer may be null.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Text {
    /// Where it begins: UTF-8.
    pub bytes: *const c_char,
    /// Bytes.
    pub len: usize,
}

/// The caller's values.
///
/// # Safety
/// `pointer` is null, or valid for reads of `len` values for as long as `'a`.
pub(crate) unsafe fn slice<'a, T>(pointer: *const T, len: usize) -> Result<&'a [T], Status> {
    if len == 0 {
        return Ok(&[]);
    }
    usable(pointer)?;
    // SAFETY: not null and aligned; the caller vouches for the length.
    Ok(unsafe { slice::from_raw_parts(pointer, len) })
}

/// The caller's bytes, to be written.
///
/// # Safety
/// `pointer` is null, or valid for reads and writes of `len` bytes for as long as `'a`, and nobody else uses them meanwhile.
pub(crate) unsafe fn slice_mut<'a>(pointer: *mut u8, len: usize) -> Result<&'a mut [u8], Status> {
    if len == 0 {
        return Ok(&mut []);
    }
    usable(pointer)?;
    // SAFETY: not null; bytes need no alignment; the caller vouches for the length.
    Ok(unsafe { slice::from_raw_parts_mut(pointer, len) })
}

/// The first `N` of the caller's bytes, to be written.
///
/// # Safety
/// As for [`slice_mut`].
pub(crate) unsafe fn array_mut<'a, const N: usize>(
    pointer: *mut u8,
    len: usize,
) -> Result<&'a mut [u8; N], Status> {
    usable(pointer)?;
    // SAFETY: as for this function.
    let bytes = unsafe { slice_mut(pointer, len)? };
    bytes.first_chunk_mut().ok_or(Status::TooShort)
}

/// A text of the caller.
///
/// # Safety
/// Its pointer is null, or valid for reads of its length for as long as `'a`.
pub(crate) unsafe fn text<'a>(text: Text) -> Result<&'a str, Status> {
    // SAFETY: as for this function; `c_char` and `u8` have one layout.
    let bytes = unsafe { slice(text.bytes.cast::<u8>(), text.len)? };
    str::from_utf8(bytes).map_err(|_| Status::NotText)
}

/// One value of the caller.
///
/// # Safety
/// `pointer` is null or valid for a read.
pub(crate) unsafe fn read<T: Copy>(pointer: *const T) -> Result<T, Status> {
    usable(pointer)?;
    // SAFETY: not null and aligned; the caller vouches for the rest.
    Ok(unsafe { pointer.read() })
}

/// Stores one value for the caller.
///
/// # Safety
/// `pointer` is null or valid for a write.
pub(crate) unsafe fn write<T>(pointer: *mut T, value: T) -> Result<(), Status> {
    usable(pointer)?;
    // SAFETY: not null and aligned; the caller vouches for the rest.
    unsafe { pointer.write(value) };
    Ok(())
}
