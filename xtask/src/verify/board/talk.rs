//! The talk with a board: commands go out, reports come in, within time limits.

use std::io::{ErrorKind, Read, Write};
use std::time::{Duration, Instant};

use flightlog::report::read::{Body, Event as Found, Reader, Report, What};

use super::Heard;
use crate::progress::{Event, Report as Tell};

/// After this time without a begun report a command is given again: the board may have been starting, or busy.
const AGAIN: Duration = Duration::from_secs(4);
/// What a crash prints comes within this time.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// What the board says of itself while it starts ends with a pause of this length.
const PAUSE: Duration = Duration::from_millis(700);
/// The longest that it may take to start.
const TO_START: Duration = Duration::from_secs(5);

/// How long a board is waited for.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Without a word of it.
    pub idle: Duration,
    /// In all.
    pub total: Duration,
}

/// A talk on its way.
struct Talk<'a, P> {
    port: &'a mut P,
    keep: &'a mut dyn Write,
    limits: Limits,
    begun: Instant,
    reader: Reader,
    bytes: Vec<u8>,
    tell: Tell<'a>,
}

/// Asks the board behind `port` what it is, tests its memory and runs the bench.
///
/// Reading from `port` gives up after a short time with [`ErrorKind::TimedOut`]. Every byte goes to `keep`. What goes wrong
/// with the board is part of what was heard.
///
/// # Errors
/// `keep` fails.
pub fn talk<P: Read + Write>(
    port: &mut P,
    from: &str,
    limits: Limits,
    keep: &mut dyn Write,
    tell: Tell<'_>,
) -> std::io::Result<Heard> {
    let mut talk = Talk {
        port,
        keep,
        limits,
        begun: Instant::now(),
        reader: Reader::default(),
        bytes: Vec::new(),
        tell,
    };
    let ended = talk.all();
    let broke_off = match ended {
        Ok(()) => None,
        Err(Stop::Board(why)) => Some(why),
        Err(Stop::Keep(error)) => return Err(error),
    };
    Ok(Heard {
        from: from.to_owned(),
        bytes: talk.bytes,
        broke_off,
    })
}

/// Why a talk ends.
enum Stop {
    Board(String),
    Keep(std::io::Error),
}

impl<P: Read + Write> Talk<'_, P> {
    fn all(&mut self) -> Result<(), Stop> {
        (self.tell)(Event::Step("ask the board what it is"));
        self.settle()?;
        self.ask("info")?;
        (self.tell)(Event::Step("test its PSRAM"));
        self.ask("membench")?;
        (self.tell)(Event::Step("run the stall bench"));
        (self.tell)(Event::Warning(
            "the bench writes and erases the board's partition `flight` now; nothing else in its flash is touched",
        ));
        self.ask("run")
    }

    /// Lets the board start: what it says meanwhile is kept, but it is not yet the talk. Opening a port resets many boards,
    /// perhaps in the middle of a line.
    fn settle(&mut self) -> Result<(), Stop> {
        let (mut heard, begun) = (Instant::now(), Instant::now());
        while heard.elapsed() < PAUSE && begun.elapsed() < TO_START {
            if !self.hear()?.is_empty() {
                heard = Instant::now();
            }
        }
        Ok(())
    }

    /// Gives a command and waits for the end of its report.
    fn ask(&mut self, command: &str) -> Result<(), Stop> {
        let before = self.reader.reports().len();
        self.say(command)?;
        let (mut heard, mut said) = (Instant::now(), Instant::now());
        loop {
            let bytes = self.hear()?;
            if !bytes.is_empty() {
                heard = Instant::now();
                self.bytes.extend(&bytes);
                for found in self.reader.push(&bytes) {
                    self.follow(&found);
                    if let Found::Trouble(trouble) = &found
                        && matches!(trouble.what, What::Panic(_) | What::Reset(_))
                    {
                        self.last_words()?;
                        return Err(Stop::Board(format!("{trouble}")));
                    }
                }
            }
            let answers = self.reader.reports().get(before..).unwrap_or_default();
            let mut mine = answers.iter().filter(|report| answers_to(report, command));
            if mine.clone().any(|report| report.end().is_some()) {
                return Ok(());
            }
            let begun = mine.next().is_some();
            if !begun && said.elapsed() > AGAIN {
                self.say(command)?;
                said = Instant::now();
            }
            if heard.elapsed() > self.limits.idle {
                return Err(Stop::Board(format!(
                    "the board said nothing for {} s after `{command}`",
                    self.limits.idle.as_secs()
                )));
            }
            if self.begun.elapsed() > self.limits.total {
                return Err(Stop::Board(format!(
                    "`{command}` was not done when the time limit of {} s was over",
                    self.limits.total.as_secs()
                )));
            }
        }
    }

    /// Shows what is worth to be seen at once.
    fn follow(&self, found: &Found) {
        let Found::Entry(entry) = found else { return };
        match &entry.body {
            Body::Plan(plan) => {
                let kb = plan.write_bytes / 1024;
                let sectors = plan.erase_sectors;
                (self.tell)(Event::Note(&format!(
                    "it writes {kb} KB and erases {sectors} sectors of 4 KB in {} phases",
                    plan.phases
                )));
                self.count();
            }
            Body::Phase(phase) => {
                (self.tell)(Event::Detail(&format!(
                    "{}, buffer {}: loop {:.1} Hz",
                    phase.phase, phase.buffer, phase.loop_hz
                )));
                self.count();
            }
            _ => {}
        }
    }

    fn count(&self) {
        let Some(report) = self.reader.reports().last() else {
            return;
        };
        (self.tell)(Event::Count {
            done: report.phases().count() as u64,
            total: report.plan().map_or(0, |plan| plan.phases).into(),
            unit: "phases",
        });
    }

    /// What else comes of a crash.
    fn last_words(&mut self) -> Result<(), Stop> {
        let begun = Instant::now();
        while begun.elapsed() < LAST_WORDS {
            let bytes = self.hear()?;
            self.bytes.extend(&bytes);
        }
        Ok(())
    }

    /// The bytes that are there, none after a short time.
    fn hear(&mut self) -> Result<Vec<u8>, Stop> {
        let mut buffer = [0; 4096];
        match self.port.read(&mut buffer) {
            Ok(0) => Err(Stop::Board("the port was closed".into())),
            Ok(count) => {
                let bytes = &buffer[..count];
                self.keep.write_all(bytes).map_err(Stop::Keep)?;
                Ok(bytes.to_vec())
            }
            Err(error) => match error.kind() {
                ErrorKind::TimedOut | ErrorKind::WouldBlock | ErrorKind::Interrupted => {
                    Ok(Vec::new())
                }
                _ => Err(Stop::Board(format!("the port is lost: {error}"))),
            },
        }
    }

    /// Gives a command; the line end before it ends whatever stands in the sketch's line already.
    fn say(&mut self, command: &str) -> Result<(), Stop> {
        let line = format!("\n{command}\n");
        let said = self.port.write_all(line.as_bytes());
        said.and_then(|()| self.port.flush())
            .map_err(|error| Stop::Board(format!("`{command}` cannot be sent: {error}")))
    }
}

fn answers_to(report: &Report, command: &str) -> bool {
    report.begin().is_some_and(|begin| begin.command == command)
}
