//! Handles: values of this library in memory of the caller.

use core::ffi::c_void;
use core::mem::{align_of, size_of};

use crate::status::Status;
use crate::{delta, logger, report, ring, tasks};

/// Which handle, for [`flightlog_handle_size`] and [`flightlog_handle_align`].
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandleKind {
    /// `flightlog_encoder`
    Encoder = 1,
    /// `flightlog_decoder`
    Decoder = 2,
    /// `flightlog_ring`
    Ring = 3,
    /// `flightlog_logger`
    Logger = 4,
    /// `flightlog_plan`
    Plan = 5,
    /// `flightlog_loop`
    Loop = 6,
    /// `flightlog_writer`
    Writer = 7,
    /// `flightlog_report`
    Report = 8,
    /// `flightlog_line_buffer`
    LineBuffer = 9,
}

/// Tells the memory of one kind of handle from another's, and from memory never initialised.
pub(crate) trait Handle: Sized {
    const KIND: HandleKind;

    /// What its field `tag` holds from the start.
    const TAG: u32 = 0x464C_4700 | Self::KIND as u32;

    /// Where the field `tag` is, of memory that may not be initialised.
    ///
    /// # Safety
    /// `this` is aligned and points to memory of its size.
    unsafe fn tag(this: *const Self) -> *const u32;
}

macro_rules! impl_handle {
    ($type:ty, $kind:ident) => {
        impl $crate::handle::Handle for $type {
            const KIND: $crate::handle::HandleKind = $crate::handle::HandleKind::$kind;

            unsafe fn tag(this: *const Self) -> *const u32 {
                // SAFETY: as for this function; nothing is read.
                unsafe { core::ptr::addr_of!((*this).tag) }
            }
        }
    };
}
pub(crate) use impl_handle;

/// Whether `pointer` may be read as a `T`, as far as that can be seen.
pub(crate) fn usable<T>(pointer: *const T) -> Result<(), Status> {
    if pointer.is_null() {
        return Err(Status::NullPointer);
    }
    if !pointer.is_aligned() {
        return Err(Status::Misaligned);
    }
    Ok(())
}

/// Moves `value` into the caller's memory and stores where it stands.
///
/// # Safety
/// `memory` is null or valid for writes of `len` bytes; `handle` is null or valid for a write.
pub(crate) unsafe fn place<T: Handle>(
    memory: *mut c_void,
    len: usize,
    handle: *mut *mut T,
    value: T,
) -> Result<(), Status> {
    // SAFETY: as for this function.
    let place = unsafe { room(memory, len, handle)? };
    // SAFETY: `room` has checked null, alignment and length of both; the caller vouches for the rest.
    unsafe {
        place.write(value);
        handle.write(place);
    }
    Ok(())
}

/// The caller's memory as a place for a `T`, where a `T` fits there.
///
/// # Safety
/// As for [`place`].
pub(crate) unsafe fn room<T: Handle>(
    memory: *mut c_void,
    len: usize,
    handle: *mut *mut T,
) -> Result<*mut T, Status> {
    let place = memory.cast::<T>();
    usable(place)?;
    usable(handle)?;
    if len < size_of::<T>() {
        return Err(Status::TooShort);
    }
    Ok(place)
}

/// Whether `handle` is what [`place`] made of a `T`.
///
/// # Safety
/// `handle` is null, or points to memory of a `T`'s size that is initialised in any way.
pub(crate) unsafe fn check<T: Handle>(handle: *const T) -> Result<(), Status> {
    usable(handle)?;
    // SAFETY: not null and aligned; the caller vouches that it is memory of this size, with four bytes initialised there.
    let tag = unsafe { T::tag(handle).read() };
    if tag == T::TAG {
        Ok(())
    } else {
        Err(Status::NotAHandle)
    }
}

/// The value of a handle.
///
/// # Safety
/// As for [`check`], and nobody else uses the handle during `'a`.
pub(crate) unsafe fn value<'a, T: Handle>(handle: *mut T) -> Result<&'a mut T, Status> {
    // SAFETY: as for this function.
    unsafe { check(handle)? };
    // SAFETY: the tag shows that `place` initialised it; the caller vouches that it is used once at a time.
    Ok(unsafe { &mut *handle })
}

/// Size and alignment of a handle.
fn layout(kind: u32) -> Option<(usize, usize)> {
    fn of<T: Handle>(kind: u32) -> Option<(usize, usize)> {
        (kind == T::KIND as u32).then_some((size_of::<T>(), align_of::<T>()))
    }
    of::<delta::Encoder>(kind)
        .or_else(|| of::<delta::Decoder>(kind))
        .or_else(|| of::<ring::Ring>(kind))
        .or_else(|| of::<logger::Logger>(kind))
        .or_else(|| of::<crate::bench::Plan>(kind))
        .or_else(|| of::<tasks::Loop>(kind))
        .or_else(|| of::<tasks::Writer>(kind))
        .or_else(|| of::<report::Report>(kind))
        .or_else(|| of::<crate::command::LineBuffer>(kind))
}

/// Bytes of memory that a handle of this kind (`flightlog_handle`) needs; 0 where there is no such kind.
#[unsafe(no_mangle)]
pub extern "C" fn flightlog_handle_size(kind: u32) -> usize {
    layout(kind).map_or(0, |(size, _)| size)
}

/// Alignment that the memory of a handle of this kind needs; 0 where there is no such kind. What `malloc` gives will do.
#[unsafe(no_mangle)]
pub extern "C" fn flightlog_handle_align(kind: u32) -> usize {
    layout(kind).map_or(0, |(_, align)| align)
}
