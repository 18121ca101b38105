//! Drives the bench's two tasks on the chip.

use std::fmt;

use flightlog::bench::{
    BUFFER, MAX_BLOCKS, Marked, Phase, PhaseResult, Place, Plan, PlanError, Settings, Stage, Step,
    Target, WriterTask,
};
use flightlog::flash::{BLOCK, Flash};
use flightlog::pages::WriteError;
use flightlog::report::{Home, Info, Mapping, Outcome, Planned, Source, Symbol, Writer};

use crate::Libraries;
use crate::chip::{Chip, OutOfRange};
use crate::constants::Constants;

/// The article's flight buffer: 7.8 MiB in blocks of 64 KB.
pub const FLIGHT_BUFFER: u32 = 125 * BLOCK;

/// PSRAM of the simulated module in bytes, that of an S3R8, and the share that ECC takes.
const PSRAM: u32 = 8 << 20;
const ECC_SHARE: u32 = 16;

/// A run of the bench on the model.
#[derive(Clone, Debug)]
pub struct Simulation {
    /// With which libraries.
    pub libraries: Libraries,
    /// What was run.
    pub settings: Settings,
    /// The stages of the run.
    pub plan: Plan,
    /// The result of each phase.
    pub results: Vec<PhaseResult>,
    partition_bytes: u32,
}

/// A run that cannot be simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failed {
    /// It cannot be planned.
    Plan(PlanError),
    /// The writer failed on the modelled flash.
    Write(WriteError<OutOfRange>),
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failed::Plan(error) => error.fmt(f),
            Failed::Write(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Failed {}

/// Runs `phases` on a blank flight partition of `partition_bytes`. The same arguments give the same result.
///
/// # Errors
/// The partition is too small, or there are too many phases.
pub fn simulate(
    constants: &Constants,
    libraries: Libraries,
    settings: &Settings,
    phases: &[Phase],
    partition_bytes: u32,
) -> Result<Simulation, Failed> {
    let plan = Plan::new(phases, settings.phase_bytes, partition_bytes, &Marked::NONE)
        .map_err(Failed::Plan)?;
    let chip = Chip::new(*constants, libraries, partition_bytes);
    let mut results = Vec::new();
    for stage in plan.stages() {
        let (phase, target) = match *stage {
            Stage::Prepare(blocks) => {
                let mut flash = chip.flash(Place::Internal);
                for block in (0..MAX_BLOCKS).filter(|block| blocks.has(*block)) {
                    let erased = flash.erase(block * BLOCK, BLOCK);
                    erased.map_err(|error| Failed::Write(WriteError::Flash(error)))?;
                }
                continue;
            }
            Stage::Write {
                phase,
                offset,
                bytes,
            } => (phase, Target::Write { offset, bytes }),
            Stage::Erase { phase, blocks } => (phase, Target::Erase(blocks)),
        };
        let result = measure(&chip, constants, settings, phase, target);
        results.extend(result.map_err(Failed::Write)?);
    }
    Ok(Simulation {
        libraries,
        settings: *settings,
        plan,
        results,
        partition_bytes,
    })
}

/// One phase, with the loop beside it.
fn measure(
    chip: &Chip,
    constants: &Constants,
    settings: &Settings,
    phase: Phase,
    target: Target,
) -> Result<Option<PhaseResult>, WriteError<OutOfRange>> {
    let mut buffer = [0; BUFFER];
    let mut writer = WriterTask::new(phase, target, chip.flash(phase.place), &mut buffer)?;
    chip.start_loop(settings);
    writer.start(chip.now_us());
    loop {
        match writer.next(chip.now_us()) {
            Step::Wait(until) => chip.sleep_until(until),
            Step::Write => {
                chip.work(constants.gather_ns);
                writer.write(|| chip.now_us())?;
            }
            Step::Erase => {
                let erased = writer.erase(|| chip.now_us());
                erased.map_err(WriteError::Flash)?;
            }
            Step::Done => break,
        }
    }
    Ok(chip.end_loop().map(|(gaps, fifo)| PhaseResult {
        phase,
        written: writer.written(),
        gaps,
        fifo,
    }))
}

impl Simulation {
    /// The result of one phase, if the run had it.
    pub fn result(&self, phase: Phase) -> Option<&PhaseResult> {
        self.results.iter().find(|result| result.phase == phase)
    }

    /// Writes the report that a board would print, with `"simulation"` as its source.
    ///
    /// # Errors
    /// The output fails.
    pub fn report(&self, out: &mut impl fmt::Write, command: &str) -> fmt::Result {
        let version = env!("CARGO_PKG_VERSION");
        // A fixed number in place of the board's random one: the same simulation gives the same bytes.
        let mut writer = Writer::begin(out, Source::Simulation, 0, version, command)?;
        let xip = self.libraries == Libraries::Xip;
        let on = xip.then_some(1);
        let home = if xip { Home::Psram } else { Home::Flash };
        // Where the linker of the real chip puts code and constants; behind them the first pages of PSRAM or flash.
        let mapping = |vaddr, paddr| Mapping { home, vaddr, paddr };
        writer.info(
            out,
            &Info {
                chip: "ESP32-S3",
                revision: 0,
                core: "none",
                idf: "none",
                symbols: &[
                    "CONFIG_SPIRAM_XIP_FROM_PSRAM",
                    "CONFIG_SPIRAM_FETCH_INSTRUCTIONS",
                    "CONFIG_SPIRAM_RODATA",
                    "CONFIG_SPIRAM_ECC_ENABLE",
                ]
                .map(|name| Symbol { name, value: on }),
                psram_bytes: if xip {
                    PSRAM - PSRAM / ECC_SHARE
                } else {
                    PSRAM
                },
                ecc: xip,
                flash_bytes: 16 << 20,
                partition_bytes: self.partition_bytes,
                code: mapping(0x4200_0020, 0x20),
                constants: mapping(0x3C00_0020, 0x1_0020),
            },
        )?;
        let (settings, plan) = (&self.settings, &self.plan);
        writer.plan(out, &Planned { settings, plan })?;
        for result in &self.results {
            writer.phase(out, result)?;
        }
        writer.end(out, Outcome::Complete)
    }
}
