//! The commands that the sketch takes over serial, one a line.

use core::fmt;

use crate::bench::{Kind, Phase, Place};

/// Bytes of the longest line; a longer one is refused as a whole.
pub const LONGEST: usize = 64;

/// What to answer to `help`, and to a line that is no command.
pub const HELP: &str = "\
run [PHASE] [internal|psram] [2khz|8khz]  the stall bench: all phases, or one of
    write-55, write-166, write-flat-out, erase-64k; the buffer in internal RAM
    and in PSRAM, or in one of them; the IMU at 8 kHz, or as given.
    Writes and erases the flight partition, and says how much before it does.
info      the board, and where its code and constants live
membench  memory speeds and the PSRAM pattern test
erase     erases the whole flight partition
stop      ends what is running
help      this text";

/// A command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Run the bench.
    Run(Run),
    /// Report what the board is.
    Info,
    /// Measure the memories and test PSRAM.
    Membench,
    /// Erase the whole flight partition.
    Erase,
    /// End what is running.
    Stop,
    /// Print [`HELP`].
    Help,
}

/// Which part of the bench to run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// One phase; `None` is all of them.
    pub kind: Option<Kind>,
    /// The place of the buffer; `None` is one after the other.
    pub place: Option<Place>,
    /// Samples a second of the modelled IMU, where it was given.
    pub imu_hz: Option<u32>,
}

impl Run {
    /// The phases, in their order: first all with the buffer in internal RAM, then all with it in PSRAM.
    pub fn phases(self) -> impl Iterator<Item = Phase> {
        let places = Place::ALL.into_iter();
        places
            .filter(move |place| self.place.is_none_or(|wanted| wanted == *place))
            .flat_map(move |place| {
                let kinds = Kind::ALL.into_iter();
                kinds
                    .filter(move |kind| self.kind.is_none_or(|wanted| wanted == *kind))
                    .map(move |kind| Phase { kind, place })
            })
    }
}

/// A line that is no command; shows what to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused<'a> {
    /// There is nothing in the line.
    Empty,
    /// No such command.
    Unknown(&'a str),
    /// A word too many.
    Surplus {
        /// The command.
        command: &'a str,
        /// The word that it does not take.
        word: &'a str,
    },
    /// `run` got something that is neither phase nor place nor rate, or one of them twice.
    RunWord(&'a str),
    /// It is longer than [`LONGEST`], or it is not text.
    NoText,
}

impl fmt::Display for Refused<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Empty => f.write_str("no command"),
            Refused::Unknown(word) => write!(
                f,
                "unknown command \"{}\"; known: run, info, membench, erase, stop, help",
                word.escape_debug()
            ),
            Refused::Surplus { command, word } => {
                write!(
                    f,
                    "{command} takes nothing more, not \"{}\"",
                    word.escape_debug()
                )
            }
            Refused::RunWord(word) => write!(
                f,
                "run does not take \"{}\" here: at most one phase (write-55, write-166, write-flat-out, erase-64k), \
                 one place (internal, psram) and one rate (2khz, 8khz)",
                word.escape_debug()
            ),
            Refused::NoText => write!(f, "a command is plain text of at most {LONGEST} bytes"),
        }
    }
}

impl core::error::Error for Refused<'_> {}

/// Reads one line, without regard to case and blanks.
///
/// # Errors
/// [`Refused`] is what to answer.
pub fn parse(line: &str) -> Result<Command, Refused<'_>> {
    let mut words = line.split_ascii_whitespace();
    let name = words.next().ok_or(Refused::Empty)?;
    let is = |known: &str| name.eq_ignore_ascii_case(known);
    if is("run") {
        return run(words);
    }
    let (command, known) = [
        (Command::Info, "info"),
        (Command::Membench, "membench"),
        (Command::Erase, "erase"),
        (Command::Stop, "stop"),
        (Command::Help, "help"),
        (Command::Help, "?"),
    ]
    .into_iter()
    .find(|(_, known)| is(known))
    .ok_or(Refused::Unknown(name))?;
    match words.next() {
        None => Ok(command),
        Some(word) => Err(Refused::Surplus {
            command: known,
            word,
        }),
    }
}

fn run<'a>(words: impl Iterator<Item = &'a str>) -> Result<Command, Refused<'a>> {
    let mut run = Run::default();
    for word in words {
        let is = |name: &str| name.eq_ignore_ascii_case(word);
        let kind = Kind::ALL.into_iter().find(|kind| is(kind.name()));
        let place = Place::ALL.into_iter().find(|place| is(place.name()));
        let rate = [("2khz", 2_000), ("8khz", 8_000)]
            .into_iter()
            .find(|(name, _)| is(name))
            .map(|(_, rate)| rate);
        let twice = (kind.is_some() && run.kind.is_some())
            || (place.is_some() && run.place.is_some())
            || (rate.is_some() && run.imu_hz.is_some());
        if twice || (kind.is_none() && place.is_none() && rate.is_none()) {
            return Err(Refused::RunWord(word));
        }
        run = Run {
            kind: kind.or(run.kind),
            place: place.or(run.place),
            imu_hz: rate.or(run.imu_hz),
        };
    }
    Ok(Command::Run(run))
}

/// Gathers the bytes of a serial port into lines.
#[derive(Clone, Debug)]
pub struct LineBuffer {
    bytes: [u8; LONGEST],
    /// Bytes of the line so far; more than [`LONGEST`] where it did not fit.
    len: usize,
}

impl LineBuffer {
    /// No bytes yet.
    pub const fn new() -> Self {
        Self {
            bytes: [0; LONGEST],
            len: 0,
        }
    }

    /// Takes a byte. `Some` at the end of a line (LF, CR or both), with the line; empty lines are passed over, and
    /// backspace takes a byte back, but not from a line that is too long already.
    pub fn push(&mut self, byte: u8) -> Option<Result<&str, Refused<'static>>> {
        match byte {
            b'\n' | b'\r' => {
                let len = core::mem::take(&mut self.len);
                let line = self.bytes.get(..len).map(core::str::from_utf8);
                match line {
                    Some(Ok(line)) if line.trim_ascii().is_empty() => None,
                    Some(Ok(line)) => Some(Ok(line)),
                    _ => Some(Err(Refused::NoText)),
                }
            }
            // Backspace and delete.
            8 | 127 => {
                if self.len <= LONGEST {
                    self.len = self.len.saturating_sub(1);
                }
                None
            }
            _ => {
                if let Some(place) = self.bytes.get_mut(self.len) {
                    *place = byte;
                }
                self.len = (self.len + 1).min(LONGEST + 1);
                None
            }
        }
    }
}

impl Default for LineBuffer {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::string::{String, ToString};
    use std::vec::Vec;

    #[test]
    fn every_command_is_known_in_any_case() {
        for (line, command) in [
            ("run", Command::Run(Run::default())),
            ("  INFO ", Command::Info),
            ("membench", Command::Membench),
            ("erase", Command::Erase),
            ("Stop", Command::Stop),
            ("help", Command::Help),
            ("?", Command::Help),
        ] {
            assert_eq!(parse(line), Ok(command), "{line}");
        }
        for kind in Kind::ALL {
            for place in Place::ALL {
                let run = Run {
                    kind: Some(kind),
                    place: Some(place),
                    imu_hz: Some(2_000),
                };
                let words = [kind.name(), place.name(), "2kHz"];
                for (a, b, c) in [(0, 1, 2), (2, 1, 0), (1, 2, 0)] {
                    let line = std::format!("run {} {} {}", words[a], words[b], words[c]);
                    assert_eq!(parse(&line), Ok(Command::Run(run)));
                }
            }
        }
    }

    #[test]
    fn a_run_has_the_phases_that_were_asked_for() {
        assert_eq!(Run::default().phases().count(), 8);
        let run = Run {
            kind: Some(Kind::Write166),
            place: Some(Place::Psram),
            imu_hz: None,
        };
        let only: Vec<_> = run.phases().map(|phase| phase.to_string()).collect();
        assert_eq!(only, ["write-166, buffer psram"]);
    }

    #[test]
    fn what_is_no_command_is_answered_with_what_would_be_one() {
        for (line, answer) in [
            (
                "format",
                "unknown command \"format\"; known: run, info, membench, erase, stop, help",
            ),
            ("erase now", "erase takes nothing more, not \"now\""),
            (
                "r\u{7}n",
                "unknown command \"r\\u{7}n\"; known: run, info, membench, erase, stop, help",
            ),
        ] {
            assert_eq!(parse(line).unwrap_err().to_string(), answer);
        }
        for line in [
            "run write",
            "run psram internal",
            "run write-55 write-55",
            "run 8khz 8khz",
        ] {
            assert!(matches!(parse(line), Err(Refused::RunWord(_))), "{line}");
        }
        assert_eq!(parse(" \t"), Err(Refused::Empty));
    }

    #[test]
    fn the_help_names_every_phase_and_place() {
        let names = Kind::ALL
            .map(Kind::name)
            .into_iter()
            .chain(Place::ALL.map(Place::name));
        for name in names {
            assert!(HELP.contains(name), "{name}");
        }
    }

    fn lines(bytes: &[u8]) -> Vec<Result<String, Refused<'static>>> {
        let mut buffer = LineBuffer::new();
        let mut found = Vec::new();
        for byte in bytes {
            if let Some(line) = buffer.push(*byte) {
                found.push(line.map(str::to_string));
            }
        }
        found
    }

    #[test]
    fn lines_end_with_lf_cr_or_both() {
        let read: Vec<_> = lines(b"info\nrun\r\nstoq\x08p\r\n\n")
            .into_iter()
            .flatten()
            .collect();
        assert_eq!(read, ["info", "run", "stop"]);
    }

    #[test]
    fn a_line_too_long_is_refused_whole_and_the_next_one_read() {
        let mut bytes = Vec::from([b'x'; 500]);
        bytes.extend(b"\nrun\n\xFF\n");
        let read = lines(&bytes);
        assert_eq!(read[0], Err(Refused::NoText));
        assert_eq!(read[1].as_deref(), Ok("run"));
        assert_eq!(read[2], Err(Refused::NoText));
        bytes.truncate(500);
        bytes.extend([8; 450]);
        bytes.push(b'\n');
        assert_eq!(lines(&bytes), [Err(Refused::NoText)]);
        let mut fits = Vec::from([b'x'; LONGEST]);
        fits.push(b'\n');
        assert!(lines(&fits)[0].is_ok());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            for line in lines(&bytes).into_iter().flatten() {
                let _ = parse(&line).map_err(|refused| refused.to_string());
            }
        }
    }
}
