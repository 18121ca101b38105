//! Settings and plan of the stall bench.

use core::ffi::c_void;

use flightlog::bench::{self, Kind, MAX_BLOCKS, Marked, Phase, Place, PlanError};
use flightlog::command::Run;
use flightlog::flash::Flash as _;

use crate::bytes;
use crate::command::{Command, CommandKind};
use crate::flash::{Callbacks, Flash};
use crate::handle::{Handle, impl_handle, place, room, value};
use crate::status::{Status, number};

/// What a phase does, as a bit or a number.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhaseKind {
    /// No phase, or all of them.
    Any = 0,
    /// Writes 55 kB/s.
    Write55 = 1,
    /// Writes 166 kB/s.
    Write166 = 2,
    /// Writes as fast as the flash takes it.
    WriteFlatOut = 3,
    /// Erases all that the run wrote, by blocks of 64 KB.
    Erase64k = 4,
}

impl From<Kind> for PhaseKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Write55 => PhaseKind::Write55,
            Kind::Write166 => PhaseKind::Write166,
            Kind::WriteFlatOut => PhaseKind::WriteFlatOut,
            Kind::Erase64k => PhaseKind::Erase64k,
        }
    }
}

/// Where the buffer stands that the flash driver writes from.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferPlace {
    /// Both, one after the other.
    Any = 0,
    /// Internal RAM.
    Internal = 1,
    /// PSRAM.
    Psram = 2,
}

impl From<Place> for BufferPlace {
    fn from(place: Place) -> Self {
        match place {
            Place::Internal => BufferPlace::Internal,
            Place::Psram => BufferPlace::Psram,
        }
    }
}

/// What a run does, other than its phases, and what keeps the loop's core busy.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BenchSettings {
    /// Time from one pass of the loop to the next in microseconds, where nothing holds it up.
    pub loop_period_us: u32,
    /// Samples a second that the modelled IMU puts into its FIFO.
    pub imu_hz: u32,
    /// Words of 7 bytes that the FIFO holds; a sample takes three.
    pub fifo_words: u32,
    /// Bytes that a phase writes, rounded down to whole blocks of 64 KB.
    pub phase_bytes: u32,
    /// Nanoseconds in which a sample comes over the IMU's bus, with the scheduler of the loop's core held off.
    pub sample_ns: u32,
    /// Microseconds of all other work in a pass.
    pub pass_us: u32,
    /// Microseconds of a job that another task does on the loop's core, before the loop ...
    pub job_us: u32,
    /// ... and microseconds from one such job to the next; 0: there is none.
    pub job_period_us: u32,
}

impl From<bench::Settings> for BenchSettings {
    fn from(settings: bench::Settings) -> Self {
        Self {
            loop_period_us: settings.loop_period_us,
            imu_hz: settings.imu_hz,
            fifo_words: settings.fifo_words,
            phase_bytes: settings.phase_bytes,
            sample_ns: settings.load.sample_ns,
            pass_us: settings.load.pass_us,
            job_us: settings.load.job_us,
            job_period_us: settings.load.job_period_us,
        }
    }
}

impl From<BenchSettings> for bench::Settings {
    fn from(settings: BenchSettings) -> Self {
        Self {
            loop_period_us: settings.loop_period_us,
            imu_hz: settings.imu_hz,
            fifo_words: settings.fifo_words,
            phase_bytes: settings.phase_bytes,
            load: bench::Load {
                sample_ns: settings.sample_ns,
                pass_us: settings.pass_us,
                job_us: settings.job_us,
                job_period_us: settings.job_period_us,
            },
        }
    }
}

/// Gives the settings of the logger that the bench imitates: 500 Hz, an IMU at 8 kHz with a FIFO of 256 words.
///
/// # Safety
/// `settings` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flightlog_bench_defaults(settings: *mut BenchSettings) -> i32 {
    number((|| {
        // SAFETY: as for this function.
        unsafe { bytes::write(settings, bench::Settings::default().into())? };
        Ok(())
    })())
}

/// What a run is going to do.
pub struct Plan {
    tag: u32,
    pub(crate) settings: bench::Settings,
    pub(crate) plan: bench::Plan,
}

impl_handle!(Plan, Plan);

/// Plans a `run` or `erase` command. It reads the whole partition through `buffer`, to see what must be erased first; blocks
/// of the partition beyond 32 MiB are left alone.
///
/// # Safety
/// `memory` is null or valid for writes of `len` bytes; `flash` is null or valid for a read, with callbacks that can be called
/// now; `buffer` is null or valid for `buffer_len` bytes; `command` and `settings` are null or valid for a read; `plan` is null
/// or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flightlog_plan_init(
    memory: *mut c_void,
    len: usize,
    flash: *const Flash,
    buffer: *mut u8,
    buffer_len: usize,
    command: *const Command,
    settings: *const BenchSettings,
    plan: *mut *mut Plan,
) -> i32 {
    number((|| {
        // Before the long survey.
        // SAFETY: as for this function.
        unsafe { room(memory, len, plan)? };
        // SAFETY: as for this function.
        let mut flash = unsafe { Callbacks::new(flash)? };
        // SAFETY: as for this function.
        let command = unsafe { bytes::read(command)? };
        // SAFETY: as for this function.
        let mut settings: bench::Settings = unsafe { bytes::read(settings)? }.into();
        if settings.loop_period_us == 0 || settings.imu_hz == 0 {
            return Err(Status::OutOfRange.into());
        }
        // SAFETY: as for this function.
        let buffer = unsafe { bytes::array_mut::<{ bench::BUFFER }>(buffer, buffer_len)? };
        let run = command.run()?;
        let dirty = bench::survey(&mut flash, buffer)?;
        let planned = match run {
            Some(run) => {
                settings.imu_hz = run.imu_hz.unwrap_or(settings.imu_hz);
                planned(run, &settings, flash.size(), &dirty)?
            }
            None => bench::Plan::erase(dirty),
        };
        let made = Plan {
            tag: Plan::TAG,
            settings,
            plan: planned,
        };
        // SAFETY: as for this function.
        unsafe { place(memory, len, plan, made)? };
        Ok(())
    })())
}

/// Every phase with every place of the buffer.
const MAX_PHASES: usize = Kind::ALL.len() * Place::ALL.len();

fn planned(
    run: Run,
    settings: &bench::Settings,
    partition_bytes: u32,
    dirty: &Marked,
) -> Result<bench::Plan, Status> {
    let mut phases = [Phase {
        kind: Kind::Write55,
        place: Place::Internal,
    }; MAX_PHASES];
    let mut count = 0;
    for (place, phase) in phases.iter_mut().zip(run.phases()) {
        *place = phase;
        count += 1;
    }
    let planned = bench::Plan::new(
        &phases[..count],
        settings.phase_bytes,
        partition_bytes,
        dirty,
    );
    planned.map_err(|error| match error {
        PlanError::TooSmall => Status::PlanTooSmall,
        PlanError::TooLong => Status::PlanTooLong,
    })
}

impl Command {
    /// What to run; `None` for the erase of everything.
    fn run(&self) -> Result<Option<Run>, Status> {
        let wanted = |kind: CommandKind| self.kind == kind as u32;
        if wanted(CommandKind::Erase) {
            return Ok(None);
        }
        if !wanted(CommandKind::Run) {
            return Err(Status::OutOfRange);
        }
        let kind = match self.phase {
            0 => None,
            number => Some(
                Kind::ALL
                    .into_iter()
                    .find(|kind| PhaseKind::from(*kind) as u32 == number)
                    .ok_or(Status::OutOfRange)?,
            ),
        };
        let place = match self.place {
            0 => None,
            number => Some(
                Place::ALL
                    .into_iter()
                    .find(|place| BufferPlace::from(*place) as u32 == number)
                    .ok_or(Status::OutOfRange)?,
            ),
        };
        Ok(Some(Run {
            kind,
            place,
            imu_hz: (self.imu_hz > 0).then_some(self.imu_hz),
        }))
    }
}

/// A plan in numbers.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlanTotals {
    /// Stages: what is done one after the other.
    pub stages: u32,
    /// Phases among them: each is measured.
    pub phases: u32,
    /// Sectors of 4 KB that the run erases.
    pub erase_sectors: u32,
    /// Bytes that it writes.
    pub write_bytes: u64,
}

/// What the plan comes to.
///
/// # Safety
/// `plan` is null or a plan that nobody else uses now; `totals` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flightlog_plan_totals(plan: *mut Plan, totals: *mut PlanTotals) -> i32 {
    number((|| {
        // SAFETY: as for this function.
        let plan = &unsafe { value(plan)? }.plan;
        let sums = PlanTotals {
            stages: u32::try_from(plan.stages().count()).unwrap_or(u32::MAX),
            phases: plan.phases(),
            erase_sectors: plan.erased_sectors(),
            write_bytes: plan.written_bytes(),
        };
        // SAFETY: as for this function.
        unsafe { bytes::write(totals, sums)? };
        Ok(())
    })())
}

/// What a stage does.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageKind {
    /// Erases what lies where the next phase will write; not measured.
    Prepare = 0,
    /// A phase that writes.
    Write = 1,
    /// A phase that erases.
    Erase = 2,
}

/// One stage of a plan.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stage {
    /// What it does: `flightlog_stage_kind`.
    pub kind: u32,
    /// Which phase it is: `flightlog_phase`; 0 where it is none.
    pub phase: u32,
    /// Where its buffer stands: `flightlog_place`; 0 where it has none.
    pub place: u32,
    /// Sectors of 4 KB that it erases.
    pub erase_sectors: u32,
    /// Bytes that it writes.
    pub write_bytes: u32,
}

impl From<&bench::Stage> for Stage {
    fn from(stage: &bench::Stage) -> Self {
        let (kind, phase) = match stage {
            bench::Stage::Prepare(_) => (StageKind::Prepare, None),
            bench::Stage::Write { phase, .. } => (StageKind::Write, Some(phase)),
            bench::Stage::Erase { phase, .. } => (StageKind::Erase, Some(phase)),
        };
        Self {
            kind: kind as u32,
            phase: phase.map_or(0, |phase| PhaseKind::from(phase.kind) as u32),
            place: phase.map_or(0, |phase| BufferPlace::from(phase.place) as u32),
            erase_sectors: stage.erased_sectors(),
            write_bytes: stage.written_bytes(),
        }
    }
}

/// Stage `index` of the plan, from 0; after the last there is `FLIGHTLOG_STATUS_NOTHING`.
///
/// # Safety
/// `plan` is null or a plan that nobody else uses now; `stage` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flightlog_plan_stage(
    plan: *mut Plan,
    index: u32,
    stage: *mut Stage,
) -> i32 {
    number((|| {
        // SAFETY: as for this function.
        let found = unsafe { value(plan)? }.plan.stage(index as usize);
        let found = found.ok_or(Status::Nothing)?;
        // SAFETY: as for this function.
        unsafe { bytes::write(stage, found.into())? };
        Ok(())
    })())
}

const _: () = assert!(
    MAX_BLOCKS == 512,
    "flightlog_plan_init says how far it looks"
);
