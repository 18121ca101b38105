//! The ring between the task that reads the sensor and the one that writes flash.

use core::ffi::c_void;
use core::ptr::{addr_of, addr_of_mut};
use core::sync::atomic::AtomicU32;

use flightlog::ring::{self, Consumer, Producer};

use crate::bytes;
use crate::handle::{Handle, check, impl_handle, room, usable};
use crate::status::{Status, number};

/// A ring of fixed blocks in memory of the caller. One task pushes and one task takes, both at once if they like.
pub struct Ring {
    tag: u32,
    capacity: u32,
    block_bytes: usize,
    // The ends borrow from the ring beside them: no reference to the whole struct is made once they exist.
    ring: ring::Ring<'static>,
    producer: Producer<'static, 'static>,
    consumer: Consumer<'static, 'static>,
}

impl_handle!(Ring, Ring);

/// Words of memory that a ring of `blocks` blocks of `block_bytes` needs.
#[unsafe(no_mangle)]
pub extern "C" fn flightlog_ring_words(blocks: usize, block_bytes: usize) -> usize {
    blocks.saturating_mul(block_bytes.div_ceil(size_of::<u32>()).saturating_add(1))
}

/// Makes a ring of blocks of `block_bytes`, as many as fit into `words`; PSRAM will do. It keeps the newest blocks until
/// `flightlog_ring_trigger`.
///
/// # Safety
/// `memory` is null or valid for writes of `len` bytes and is not moved while the ring is in use; `words` is null or valid for
/// `word_count` words, which belong to the ring from now on; `ring` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flightlog_ring_init(
    memory: *mut c_void,
    len: usize,
    words: *mut u32,
    word_count: usize,
    block_bytes: usize,
    ring: *mut *mut Ring,
) -> i32 {
    number((|| {
        // SAFETY: as for this function.
        let place = unsafe { room(memory, len, ring)? };
        usable(words)?;
        // SAFETY: an atomic has the layout of its integer; the caller gives the words to the ring for good.
        let words = unsafe { bytes::slice::<AtomicU32>(words.cast(), word_count)? };
        let made = ring::Ring::new(words, block_bytes).map_err(|_| Status::TooShort)?;
        // SAFETY: `place` has room for a `Ring`. The ring is written before it is borrowed, the borrow lasts as long as the
        // memory does, and from here on only the two ends and atomics are used, each by one task.
        unsafe {
            addr_of_mut!((*place).capacity).write(made.capacity());
            addr_of_mut!((*place).block_bytes).write(block_bytes);
            addr_of_mut!((*place).ring).write(made);
            let (producer, consumer) = (*addr_of_mut!((*place).ring)).split();
            addr_of_mut!((*place).producer).write(producer);
            addr_of_mut!((*place).consumer).write(consumer);
            addr_of_mut!((*place).tag).write(Ring::TAG);
            ring.write(place);
        }
        Ok(())
    })())
}

/// The end that pushes.
///
/// # Safety
/// `ring` is null or a ring of which nobody else uses this end during `'a`.
unsafe fn producer<'a>(ring: *mut Ring) -> Result<&'a mut Producer<'static, 'static>, Status> {
    // SAFETY: as for this function.
    unsafe { check(ring)? };
    // SAFETY: initialised, as the tag shows; a reference to this field alone, so the other end may be in use.
    Ok(unsafe { &mut *addr_of_mut!((*ring).producer) })
}

/// The end that takes.
///
/// # Safety
/// As for [`producer`], of the other end.
unsafe fn consumer<'a>(ring: *mut Ring) -> Result<&'a mut Consumer<'static, 'static>, Status> {
    // SAFETY: as for this function.
    unsafe { check(ring)? };
    // SAFETY: as in `producer`.
    Ok(unsafe { &mut *addr_of_mut!((*ring).consumer) })
}

/// Appends one block, which must be as long as the ring's. For the task that pushes.
///
/// # Safety
/// `ring` is null or a ring whose pushing end nobody else uses now; `block` is null or valid for reads of `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flightlog_ring_push(ring: *mut Ring, block: *const u8, len: usize) -> i32 {
    number((|| {
        // SAFETY: as for this function.
        let producer = unsafe { producer(ring)? };
        // SAFETY: as for this function.
        let block = unsafe { bytes::slice(block, len)? };
        producer.push(block).map_err(|refused| match refused {
            ring::Refused::Full => Status::RingFull,
            ring::Refused::Length => Status::OutOfRange,
        })?;
        Ok(())
    })())
}

/// Launch was detected: what the ring holds is kept, and the other end may take. For the task that pushes.
///
/// # Safety
/// As for `flightlog_ring_push`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flightlog_ring_trigger(ring: *mut Ring) -> i32 {
    number((|| {
        // SAFETY: as for this function.
        unsafe { producer(ring)? }.trigger();
        Ok(())
    })())
}

/// Copies the oldest block to `into` and gives its place back; `missed` says how many were refused right before it. Where
/// none waits: `FLIGHTLOG_STATUS_NOTHING`. For the task that takes.
///
/// # Safety
/// `ring` is null or a ring whose taking end nobody else uses now; `into` is null or valid for writes of `len` bytes, `missed`
/// for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flightlog_ring_take(
    ring: *mut Ring,
    into: *mut u8,
    len: usize,
    missed: *mut u32,
) -> i32 {
    number((|| {
        usable(missed)?;
        // SAFETY: as for this function.
        let consumer = unsafe { consumer(ring)? };
        // SAFETY: initialised, and never written again.
        let block_bytes = unsafe { addr_of!((*ring).block_bytes).read() };
        if len < block_bytes {
            return Err(Status::TooShort.into());
        }
        // SAFETY: as for this function.
        let into = unsafe { bytes::slice_mut(into, len)? };
        let gone = consumer.take(into).ok_or(Status::Nothing)?;
        // SAFETY: as for this function.
        unsafe { bytes::write(missed, gone)? };
        Ok(())
    })())
}

/// How a ring is filled.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RingState {
    /// Blocks that it can hold.
    pub capacity: u32,
    /// Blocks that wait to be taken; 0 before the trigger.
    pub ready: u32,
    /// Blocks refused since the trigger because it was full.
    pub lost: u32,
}

/// How the ring is filled. For the task that takes.
///
/// # Safety
/// As for `flightlog_ring_take`; `state` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flightlog_ring_state(ring: *mut Ring, state: *mut RingState) -> i32 {
    number((|| {
        // SAFETY: as for this function.
        let consumer = unsafe { consumer(ring)? };
        // SAFETY: initialised, and never written again.
        let capacity = unsafe { addr_of!((*ring).capacity).read() };
        let found = RingState {
            capacity,
            ready: consumer.ready(),
            lost: consumer.lost(),
        };
        // SAFETY: as for this function.
        unsafe { bytes::write(state, found)? };
        Ok(())
    })())
}
