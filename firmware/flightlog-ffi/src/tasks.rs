//! The two tasks of the stall bench.

use core::ffi::c_void;

use flightlog::bench::{self, LoopTask, Phase, Step, Target, WriterTask};
use flightlog::fifo::Counts;
use flightlog::stats::GapStats;

use crate::bench::Plan;
use crate::bytes;
use crate::flash::{Callbacks, Flash, write_number};
use crate::handle::{Handle, impl_handle, place, room, value};
use crate::status::{Status, number};

/// The loop, one phase long.
pub struct Loop {
    tag: u32,
    pub(crate) state: LoopState,
}

pub(crate) enum LoopState {
    Running(LoopTask),
    Finished(GapStats, Counts),
}

impl_handle!(Loop, Loop);

impl Loop {
    fn running(&mut self) -> Result<&mut LoopTask, Status> {
        match &mut self.state {
            LoopState::Running(task) => Ok(task),
            LoopState::Finished(..) => Err(Status::OutOfRange),
        }
    }

    pub(crate) fn finished(&self) -> Result<(GapStats, Counts), Status> {
        match &self.state {
            LoopState::Finished(gaps, counts) => Ok((*gaps, *counts)),
            LoopState::Running(_) => Err(Status::NotFinished),
        }
    }
}

/// Makes a loop whose first pass is due one period after `now_us`, in microseconds of a clock that only moves forward.
///
/// # Safety
/// `memory` is null or valid for writes of `len` bytes; `plan` is null or a plan that nobody else uses now; `loop_task` is null or
/// valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flightlog_loop_init(
    memory: *mut c_void,
    len: usize,
    plan: *mut Plan,
    now_us: u64,
    loop_task: *mut *mut Loop,
) -> i32 {
    number((|| {
        // SAFETY: as for this function.
        let settings = unsafe { value(plan)? }.settings;
        let made = Loop {
            tag: Loop::TAG,
            state: LoopState::Running(LoopTask::new(&settings, now_us)),
        };
        // SAFETY: as for this function.
        unsafe { place(memory, len, loop_task, made)? };
        Ok(())
    })())
}

/// When the next pass is due, in microseconds. The past: at once.
///
/// # Safety
/// `loop_task` is null or a loop that nobody else uses now; `due_us` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flightlog_loop_due(loop_task: *mut Loop, due_us: *mut u64) -> i32 {
    number((|| {
        // SAFETY: as for this function.
        let due = unsafe { value(loop_task)? }.running()?.due_us();
        // SAFETY: as for this function.
        unsafe { bytes::write(due_us, due)? };
        Ok(())
    })())
}

/// What one pass has to do.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pass {
    /// Samples that the burst brought.
    pub samples: u32,
    /// Microseconds of the burst over the IMU's bus, with this core's scheduler held off.
    pub burst_us: u32,
    /// Microseconds of work after it.
    pub work_us: u32,
}

/// Begins a pass: drains the FIFO and counts the gap since the pass before.
///
/// # Safety
/// `loop_task` is null or a loop that nobody else uses now; `pass` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flightlog_loop_pass(
    loop_task: *mut Loop,
    now_us: u64,
    pass: *mut Pass,
) -> i32 {
    number((|| {
        crate::handle::usable(pass)?;
        // SAFETY: as for this function.
        let task = unsafe { value(loop_task)? }.running()?;
        let bench::Pass {
            samples,
            burst_us,
            work_us,
        } = task.pass(now_us);
        let given = Pass {
            samples,
            burst_us,
            work_us,
        };
        // SAFETY: as for this function.
        unsafe { bytes::write(pass, given)? };
        Ok(())
    })())
}

/// Ends the phase for the loop.
///
/// # Safety
/// `loop_task` is null or a loop that nobody else uses now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flightlog_loop_finish(loop_task: *mut Loop, now_us: u64) -> i32 {
    number((|| {
        // SAFETY: as for this function.
        let handle = unsafe { value(loop_task)? };
        let (gaps, counts) = handle.running()?.finish(now_us);
        handle.state = LoopState::Finished(gaps, counts);
        Ok(())
    })())
}

/// How the loop fared.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoopResult {
    /// Passes begun.
    pub passes: u32,
    /// Passes a second, in thousandths.
    pub rate_millihertz: u32,
    /// The longest time from one pass to the next in microseconds.
    pub worst_gap_us: u32,
    /// Times that a drain found samples lost.
    pub fifo_overruns: u32,
    /// Samples read out of the FIFO.
    pub samples_read: u64,
    /// Samples that found it full.
    pub samples_lost: u64,
}

/// How the loop fared, after `flightlog_loop_finish`.
///
/// # Safety
/// `loop_task` is null or a loop that nobody else uses now; `result` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flightlog_loop_result(
    loop_task: *mut Loop,
    result: *mut LoopResult,
) -> i32 {
    number((|| {
        // SAFETY: as for this function.
        let (gaps, counts) = unsafe { value(loop_task)? }.finished()?;
        let found = LoopResult {
            passes: gaps.passes(),
            rate_millihertz: gaps.rate_millihertz(),
            worst_gap_us: gaps.worst_us(),
            fifo_overruns: counts.overruns,
            samples_read: counts.read,
            samples_lost: counts.lost,
        };
        // SAFETY: as for this function.
        unsafe { bytes::write(result, found)? };
        Ok(())
    })())
}

/// The task that writes or erases, one stage long.
pub struct Writer {
    tag: u32,
    /// `None` for a stage that is no phase.
    pub(crate) phase: Option<Phase>,
    pub(crate) task: WriterTask<'static, Callbacks>,
}

impl_handle!(Writer, Writer);

/// Makes a writer for stage `index` of the plan. For a stage that writes, this reads the flash to see that it is blank.
///
/// # Safety
/// `memory` is null or valid for writes of `len` bytes; `plan` is null or a plan that nobody else uses now; `flash` is null or
/// valid for a read, with callbacks that can be called as long as the writer is in use; `buffer` is null or valid for
/// `buffer_len` bytes, which belong to the writer as long as it is in use; `writer` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flightlog_writer_init(
    memory: *mut c_void,
    len: usize,
    plan: *mut Plan,
    index: u32,
    flash: *const Flash,
    buffer: *mut u8,
    buffer_len: usize,
    writer: *mut *mut Writer,
) -> i32 {
    number((|| {
        // SAFETY: as for this function.
        unsafe { room(memory, len, writer)? };
        // SAFETY: as for this function.
        let stage = unsafe { value(plan)? }.plan.stage(index as usize);
        let (phase, target) = match *stage.ok_or(Status::Nothing)? {
            bench::Stage::Prepare(blocks) => (None, Target::Erase(blocks)),
            bench::Stage::Erase { phase, blocks } => (Some(phase), Target::Erase(blocks)),
            bench::Stage::Write {
                phase,
                offset,
                bytes,
            } => (Some(phase), Target::Write { offset, bytes }),
        };
        // SAFETY: as for this function.
        let flash = unsafe { Callbacks::new(flash)? };
        // SAFETY: as for this function; `'static` is "as long as the writer is in use".
        let buffer = unsafe { bytes::array_mut::<{ bench::BUFFER }>(buffer, buffer_len)? };
        let any = Phase {
            kind: bench::Kind::Erase64k,
            place: bench::Place::Internal,
        };
        let task = WriterTask::new(phase.unwrap_or(any), target, flash, buffer);
        let made = Writer {
            tag: Writer::TAG,
            phase,
            task: task.map_err(write_number)?,
        };
        // SAFETY: as for this function.
        unsafe { place(memory, len, writer, made)? };
        Ok(())
    })())
}

/// The phase's time begins, in microseconds of a clock that only moves forward.
///
/// # Safety
/// `writer` is null or a writer that nobody else uses now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flightlog_writer_start(writer: *mut Writer, now_us: u64) -> i32 {
    number((|| {
        // SAFETY: as for this function.
        unsafe { value(writer)? }.task.start(now_us);
        Ok(())
    })())
}

/// What the writer's task has to do.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKind {
    /// All is done, or it was stopped.
    Done = 0,
    /// Sleep until `until_us`.
    Wait = 1,
    /// Call `flightlog_writer_write`.
    Write = 2,
    /// Call `flightlog_writer_erase`.
    Erase = 3,
}

/// What the writer's task has to do next.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriterStep {
    /// What: `flightlog_step_kind`.
    pub kind: u32,
    /// Until when, where it is to wait.
    pub until_us: u64,
}

/// What to do at `now_us`.
///
/// # Safety
/// `writer` is null or a writer that nobody else uses now; `step` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flightlog_writer_next(
    writer: *mut Writer,
    now_us: u64,
    step: *mut WriterStep,
) -> i32 {
    number((|| {
        crate::handle::usable(step)?;
        // SAFETY: as for this function.
        let next = unsafe { value(writer)? }.task.next(now_us);
        let (kind, until_us) = match next {
            Step::Done => (StepKind::Done, 0),
            Step::Wait(until) => (StepKind::Wait, until),
            Step::Write => (StepKind::Write, 0),
            Step::Erase => (StepKind::Erase, 0),
        };
        let given = WriterStep {
            kind: kind as u32,
            until_us,
        };
        // SAFETY: as for this function.
        unsafe { bytes::write(step, given)? };
        Ok(())
    })())
}

/// A clock in microseconds that only moves forward; on ESP-IDF `esp_timer_get_time`.
pub type Clock = Option<unsafe extern "C" fn() -> i64>;

/// The clock as a closure.
///
/// # Safety
/// The function can be called now.
unsafe fn clock(clock: Clock) -> Result<impl Fn() -> u64, Status> {
    let clock = clock.ok_or(Status::NullPointer)?;
    // SAFETY: the caller gave the function for this.
    Ok(move || u64::try_from(unsafe { clock() }).unwrap_or(0))
}

/// Gathers a buffer and writes it. A positive number is what the flash callback gave; the phase is over then.
///
/// # Safety
/// `writer` is null or a writer that nobody else uses now; `now` is null or can be called.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flightlog_writer_write(writer: *mut Writer, now: Clock) -> i32 {
    number((|| {
        // SAFETY: as for this function.
        let now = unsafe { clock(now)? };
        // SAFETY: as for this function.
        let writer = unsafe { value(writer)? };
        writer.task.write(now).map_err(write_number)
    })())
}

/// Erases the next block of 64 KB. As `flightlog_writer_write`.
///
/// # Safety
/// As for `flightlog_writer_write`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flightlog_writer_erase(writer: *mut Writer, now: Clock) -> i32 {
    number((|| {
        // SAFETY: as for this function.
        let now = unsafe { clock(now)? };
        // SAFETY: as for this function.
        unsafe { value(writer)? }.task.erase(now)
    })())
}

/// Ends the stage before its time. For the task that uses the writer.
///
/// # Safety
/// `writer` is null or a writer that nobody else uses now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flightlog_writer_stop(writer: *mut Writer) -> i32 {
    number((|| {
        // SAFETY: as for this function.
        unsafe { value(writer)? }.task.stop();
        Ok(())
    })())
}

/// What the writer did.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Bytes written.
    pub bytes: u32,
    /// Sectors of 4 KB erased.
    pub erased_sectors: u32,
    /// Flash calls made.
    pub calls: u32,
    /// The longest of them in microseconds.
    pub longest_call_us: u32,
    /// From the start to the end of the last call, in microseconds.
    pub elapsed_us: u64,
    /// Whether it was stopped before its end.
    pub stopped: bool,
}

/// What the writer did so far.
///
/// # Safety
/// `writer` is null or a writer that nobody else uses now; `written` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flightlog_writer_written(
    writer: *mut Writer,
    written: *mut Written,
) -> i32 {
    number((|| {
        // SAFETY: as for this function.
        let done = unsafe { value(writer)? }.task.written();
        let given = Written {
            bytes: done.bytes,
            erased_sectors: done.erased_sectors,
            calls: done.calls,
            longest_call_us: done.longest_call_us,
            elapsed_us: done.elapsed_us,
            stopped: done.stopped,
        };
        // SAFETY: as for this function.
        unsafe { bytes::write(written, given)? };
        Ok(())
    })())
}
