//! Holds a log against what is wanted of it: the limits, and a check for each.

use flightlog::command::Run as Asked;
use flightlog::report::read::{Info, Phase, PsramTest, Report};

use super::session::{Bench, Session};
use super::wanted::{self, Wanted};
use crate::verify::program::Placement;
use crate::verify::{Check, Expected, Group, Outcome, findings};

/// The loop's lowest rate in Hz: what rounds to the 499 Hz that the article's table has in every phase of rebuilt libraries.
pub const LOOP_HZ: f64 = 498.5;
/// The longest gap between two passes of the loop, in microseconds; the article's longest is 5.4 ms.
pub const WORST_GAP_US: u32 = 6_000;
/// A pattern test of PSRAM writes and reads this many times what the data cache holds, or more.
const TIMES_CACHE: u32 = 16;
/// The ESP32-S3's largest data cache in bytes, where a report does not tell it (ESP-IDF, esp_system/port/soc/esp32s3/Kconfig.cache).
const LARGEST_CACHE: u32 = 64 * 1024;

/// A log, and how it came to be.
#[derive(Debug)]
pub(super) struct Evidence<'a> {
    /// What was read.
    pub(super) session: &'a Session,
    /// Why the talk with the board ended before its time.
    pub(super) broke_off: Option<&'a str>,
    /// A simulation's figures are taken.
    pub(super) accept_simulation: bool,
}

/// The names of the checks and what must hold, in the order in which they are told.
pub(super) const CHECKS: [(&str, &str); 10] = [
    ("board.report", "The report is whole"),
    ("board.measured", "Its figures are measured"),
    ("board.steady", "No crash, no reset"),
    ("board.placement", "It runs from where it should"),
    ("board.symbols", "It was compiled with these settings"),
    ("board.ecc", "PSRAM has ECC as it should"),
    ("board.psram", "PSRAM keeps what is written to it"),
    ("board.loop", "The loop runs at 499 Hz in every phase"),
    ("board.gap", "No gap of the loop is over 6 ms"),
    ("board.overruns", "No FIFO overruns"),
];

/// Every check on a log.
pub(super) fn checks(evidence: &Evidence<'_>, expected: &Expected) -> Vec<Check> {
    let session = evidence.session;
    let infos = session.infos();
    let wanted = Wanted::of(expected, infos.first().copied());
    let about = |look: &dyn Fn(&Info) -> Outcome| match infos.as_slice() {
        [] => Outcome::not_run("no line of the log says what the board is (`info` asks for it)"),
        [info] => look(info),
        several => Outcome::failed(
            format!(
                "the log holds reports of {} different programs or boards",
                several.len()
            ),
            "keep the log of one board with one program, from its start",
        ),
    };
    let bench = session.bench().filter(|report| report.whole().is_ok());
    let phases = |look: &dyn Fn(&[&Phase]) -> Outcome| match bench {
        _ if wanted.may_stall => Outcome::not_run(format!("{} may hold the loop up", wanted.by)),
        None => Outcome::not_run("there is no whole report, see above"),
        Some(_) if wanted.placement != Placement::Psram => Outcome::not_run(format!(
            "{} does not run this program from PSRAM",
            wanted.by
        )),
        Some(report) => look(&report.phases().collect::<Vec<_>>()),
    };
    let outcomes = [
        whole(evidence),
        measured(evidence),
        steady(session),
        about(&|info| placement(info, &wanted)),
        about(&|info| symbols(info, &wanted)),
        about(&|info| ecc(info, &wanted)),
        psram(session, infos.first().copied()),
        phases(&loop_rate),
        phases(&worst_gap),
        phases(&overruns),
    ];
    let simulated = session.is_simulation() && evidence.accept_simulation;
    CHECKS
        .into_iter()
        .zip(outcomes)
        .map(|((id, title), outcome)| Check {
            id,
            group: Group::Board,
            title,
            outcome,
            asked: match id {
                "board.measured" => !simulated,
                // The simulator has no memory to test.
                "board.psram" => !simulated,
                "board.loop" | "board.gap" | "board.overruns" => !wanted.may_stall,
                _ => true,
            },
        })
        .collect()
}

fn whole(evidence: &Evidence<'_>) -> Outcome {
    let session = evidence.session;
    let broke_off = evidence
        .broke_off
        .map(|why| format!("; {why}"))
        .unwrap_or_default();
    let after = |why: String| {
        let mut told = session.upsets();
        told.extend(session.damaged());
        match told.is_empty() {
            true => format!("{why}{broke_off}"),
            false => format!("{why}{broke_off}; {}", findings(&told)),
        }
    };
    match session.state() {
        Bench::Absent(0) => Outcome::failed(
            after("there is no report in it".into()),
            "is the sketch StallBench, at 115200 baud? Through the chip's own USB it needs CDCOnBoot=cdc in the FQBN; the \
             command `run` starts the bench",
        ),
        Bench::Absent(_) => Outcome::failed(
            after("the stall bench did not report; only other commands did".into()),
            "send `membench` and `run`, and keep all that the board answers",
        ),
        Bench::Half(why) => Outcome::failed(after(why.to_string()), "run it again"),
        Bench::Whole => match session.bench().map(missing) {
            Some(missing) if !missing.is_empty() => Outcome::failed(
                format!("phases that did not run: {}", missing.join(", ")),
                "send `run` without a phase or place",
            ),
            _ if !broke_off.is_empty() => {
                Outcome::failed(format!("the bench reported{broke_off}"), "run it again")
            }
            _ => {
                let damaged = match session.damaged().len() {
                    0 => String::new(),
                    count => format!("; {count} damaged lines beside it were passed over"),
                };
                let lines = session.bench().map_or(0, |report| report.entries.len());
                Outcome::passed(format!("{lines} lines, each with its CRC{damaged}"))
            }
        },
    }
}

/// The phases of a full run that the report does not have.
fn missing(report: &Report) -> Vec<String> {
    let has = |phase: &flightlog::bench::Phase| {
        report
            .phases()
            .any(|found| found.phase == phase.kind.name() && found.buffer == phase.place.name())
    };
    let all = Asked::default().phases();
    all.filter(|phase| !has(phase))
        .map(|phase| phase.to_string())
        .collect()
}

fn measured(evidence: &Evidence<'_>) -> Outcome {
    match (evidence.session.is_simulation(), evidence.accept_simulation) {
        _ if evidence.session.is_empty() => Outcome::not_run("there is no report, see above"),
        (false, _) => Outcome::passed("a board reported them"),
        (true, true) => {
            Outcome::not_run("SIMULATED: computed by the simulator; --accept-simulation takes them")
        }
        (true, false) => Outcome::failed(
            "SIMULATED: no figure of it is measured",
            "give the log of a board; --accept-simulation lets a simulation stand, to try things out",
        ),
    }
}

fn steady(session: &Session) -> Outcome {
    let upsets = session.upsets();
    match upsets.is_empty() {
        true if session.is_empty() => Outcome::not_run("there is no report, see above"),
        true => Outcome::passed("none in the log"),
        false => Outcome::failed(
            findings(&upsets),
            "is the power supply steady? With the same sketch and stock libraries: does it crash too? Where the log holds \
             older runs, keep the last one alone",
        ),
    }
}

fn placement(info: &Info, wanted: &Wanted) -> Outcome {
    let home = match wanted.placement {
        Placement::Psram => "psram",
        Placement::Flash | Placement::FlashSuspended => "flash",
    };
    let seen = format!(
        "code in {} ({:#010x}), constants in {} ({:#010x}), by the MMU",
        info.code.home, info.code.vaddr, info.constants.home, info.constants.vaddr
    );
    if info.code.home == home && info.constants.home == home {
        return Outcome::passed(seen);
    }
    let what_to_do = match wanted.placement {
        Placement::Psram if wanted::is_quad(info) => {
            "choose OPI PSRAM (PSRAM=opi in the FQBN): only programs for octal PSRAM run from it"
        }
        Placement::Psram => {
            "install the libraries (`cargo xtask install`), compile the core anew and upload; if stock libraries are what you \
             mean, say --expect stock"
        }
        Placement::Flash | Placement::FlashSuspended => {
            "take the stock libraries (`cargo xtask install --revert`, or Stock in the board's menu), and upload"
        }
    };
    Outcome::failed(
        format!("{seen}; with {} both are in {home}", wanted.by),
        what_to_do,
    )
}

fn symbols(info: &Info, wanted: &Wanted) -> Outcome {
    let told: Vec<_> = wanted
        .symbols
        .iter()
        .filter_map(|(symbol, value)| Some((symbol, value, *info.symbols.get(symbol)?)))
        .collect();
    if told.is_empty() {
        return Outcome::not_run("the board told none of the symbols that are expected");
    }
    let shown = |value: Option<i64>| value.map_or("not set".to_owned(), |value| value.to_string());
    let wrong: Vec<String> = told
        .iter()
        .filter(|(_, value, told)| !wanted::is_value(*told, value))
        .map(|(symbol, value, told)| format!("{symbol} is {}, not {value}", shown(*told)))
        .collect();
    if wrong.is_empty() {
        return Outcome::passed(format!("{} as with {}", told.len(), wanted.by));
    }
    Outcome::failed(
        findings(&wrong),
        "the sketch was compiled with other libraries, or for another memory variant: look at the board's menu, compile anew, \
         upload",
    )
}

fn ecc(info: &Info, wanted: &Wanted) -> Outcome {
    let compiled = info.symbols.get(wanted::ECC);
    let by = match wanted.ecc {
        Some(_) => wanted.by.as_str(),
        None => "what it was compiled with",
    };
    let wanted = match (wanted.ecc, compiled) {
        (Some(wanted), _) => wanted,
        (None, Some(value)) => value.unwrap_or(0) != 0,
        (None, None) => return Outcome::not_run("nothing says whether it should be on"),
    };
    let state = |on| if on { "on" } else { "off" };
    let seen = format!(
        "{}, {} KB are usable",
        state(info.ecc),
        info.psram_bytes / 1024
    );
    if info.ecc == wanted {
        return Outcome::passed(seen);
    }
    Outcome::failed(
        format!("{seen}; by {by} it is {}", state(wanted)),
        "ECC needs octal PSRAM and libraries built with it: look at the board's menu and the libraries, compile anew, upload",
    )
}

fn psram(session: &Session, info: Option<&Info>) -> Outcome {
    let tests: Vec<&PsramTest> = session.psram_tests().collect();
    if tests.is_empty() {
        return Outcome::not_run("the log has no pattern test (`membench` runs one)");
    }
    let wrong: Vec<String> = tests
        .iter()
        .filter(|test| test.errors > 0)
        .map(|test| {
            let first = test.first.as_ref().map(|first| {
                format!(
                    ", the first at {:#x}: {:#010x}, not {:#010x}",
                    first.offset, first.found, first.expected
                )
            });
            let kb = test.bytes / 1024;
            format!(
                "{} wrong words in {kb} KB{}",
                test.errors,
                first.unwrap_or_default()
            )
        })
        .collect();
    if !wrong.is_empty() {
        return Outcome::failed(
            findings(&wrong),
            "try PSRAM at 80 MHz and libraries with ECC; if words are still wrong, the part or its power supply is at fault",
        );
    }
    let cache = info
        .and_then(|info| *info.symbols.get("CONFIG_ESP32S3_DATA_CACHE_SIZE")?)
        .and_then(|bytes| u32::try_from(bytes).ok())
        .unwrap_or(LARGEST_CACHE);
    let most = tests.iter().map(|test| test.bytes).max().unwrap_or(0);
    let seen = format!(
        "no wrong word in {} KB; the data cache holds {} KB",
        most / 1024,
        cache / 1024
    );
    if most >= cache.saturating_mul(TIMES_CACHE) {
        return Outcome::passed(seen);
    }
    Outcome::failed(
        format!("{seen}: what fits the cache proves nothing of PSRAM"),
        "leave PSRAM free for the test: run StallBench as it is",
    )
}

/// `name, buffer place` of a phase.
fn name(phase: &Phase) -> String {
    format!("{}, buffer {}", phase.phase, phase.buffer)
}

/// What to do where the loop was held up.
const HELD_UP: &str = "is the program in PSRAM, code and constants (see above)? Then look with `cargo xtask verify` whether the flash \
                       driver of these libraries leaves the cache on";

fn loop_rate(phases: &[&Phase]) -> Outcome {
    let slow = phases.iter().filter(|phase| phase.loop_hz < LOOP_HZ);
    let slow: Vec<String> = slow
        .map(|phase| format!("{}: {:.1} Hz", name(phase), phase.loop_hz))
        .collect();
    let slowest = phases
        .iter()
        .map(|phase| phase.loop_hz)
        .fold(f64::INFINITY, f64::min);
    match slow.is_empty() {
        true => Outcome::passed(format!(
            "{slowest:.1} Hz in the slowest of {} phases",
            phases.len()
        )),
        false => Outcome::failed(findings(&slow), HELD_UP),
    }
}

fn worst_gap(phases: &[&Phase]) -> Outcome {
    let ms = |gap: u32| f64::from(gap) / 1e3;
    let long = phases
        .iter()
        .filter(|phase| phase.worst_gap_us > WORST_GAP_US);
    let long: Vec<String> = long
        .map(|phase| format!("{}: {:.1} ms", name(phase), ms(phase.worst_gap_us)))
        .collect();
    let worst = phases
        .iter()
        .map(|phase| phase.worst_gap_us)
        .max()
        .unwrap_or(0);
    match long.is_empty() {
        true => Outcome::passed(format!("{:.1} ms is the longest", ms(worst))),
        false => Outcome::failed(findings(&long), HELD_UP),
    }
}

fn overruns(phases: &[&Phase]) -> Outcome {
    let over = phases.iter().filter(|phase| phase.fifo_overruns > 0);
    let over: Vec<String> = over
        .map(|phase| {
            let lost = phase.samples_lost;
            format!(
                "{}: {} ({lost} samples lost)",
                name(phase),
                phase.fifo_overruns
            )
        })
        .collect();
    let read: u64 = phases.iter().map(|phase| phase.samples_read).sum();
    match over.is_empty() {
        true => Outcome::passed(format!("{read} samples read, none lost")),
        false => Outcome::failed(findings(&over), HELD_UP),
    }
}
