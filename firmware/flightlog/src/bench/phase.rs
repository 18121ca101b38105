//! The phases and their names.

use core::fmt;

/// What a phase does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Writes 55 kB/s: the logger with the IMU at 2 kHz.
    Write55,
    /// Writes 166 kB/s: the logger with the IMU at 8 kHz.
    Write166,
    /// Writes as fast as the flash takes it.
    WriteFlatOut,
    /// Erases all that the run wrote, by blocks of 64 KB.
    Erase64k,
}

impl Kind {
    /// All of them, in the order of a run.
    pub const ALL: [Kind; 4] = [
        Kind::Write55,
        Kind::Write166,
        Kind::WriteFlatOut,
        Kind::Erase64k,
    ];

    /// The name in commands and reports.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Write55 => "write-55",
            Kind::Write166 => "write-166",
            Kind::WriteFlatOut => "write-flat-out",
            Kind::Erase64k => "erase-64k",
        }
    }

    /// The kind of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Bytes a second that are wanted; `None` where the phase goes as fast as it can.
    pub fn target_bytes_per_second(self) -> Option<u32> {
        match self {
            Kind::Write55 => Some(55_000),
            Kind::Write166 => Some(166_000),
            Kind::WriteFlatOut | Kind::Erase64k => None,
        }
    }

    /// Whether it writes.
    pub fn writes(self) -> bool {
        self != Kind::Erase64k
    }
}

/// Where the 4 KB buffer stands that the flash driver writes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Internal RAM: the driver sends 64 bytes a command and holds the flash for the whole buffer.
    Internal,
    /// PSRAM: the driver copies 32 bytes at a time to internal RAM and begins anew for each.
    Psram,
}

impl Place {
    /// Both, in the order of a run.
    pub const ALL: [Place; 2] = [Place::Internal, Place::Psram];

    /// The name in commands and reports.
    pub fn name(self) -> &'static str {
        match self {
            Place::Internal => "internal",
            Place::Psram => "psram",
        }
    }

    /// The place of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|place| place.name() == name)
    }
}

/// One phase of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    /// What it does.
    pub kind: Kind,
    /// Where the buffer stands. An erase uses none; there it says which run of writes it follows.
    pub place: Place,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, buffer {}", self.kind.name(), self.place.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_what_they_name() {
        for kind in Kind::ALL {
            assert_eq!(Kind::named(kind.name()), Some(kind));
        }
        for place in Place::ALL {
            assert_eq!(Place::named(place.name()), Some(place));
        }
        assert_eq!(Kind::named("write"), None);
    }
}
