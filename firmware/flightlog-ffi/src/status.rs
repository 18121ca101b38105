//! What functions give back.

use core::ffi::{CStr, c_char};

/// What a function gives back where it fails. Positive numbers are not among them: those come from the flash callbacks.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Done.
    Ok = 0,
    /// A pointer is null.
    NullPointer = -1,
    /// A pointer is not aligned as its type demands.
    Misaligned = -2,
    /// The memory given is too short. Functions that write text or bytes say how much they need.
    TooShort = -3,
    /// A handle's memory was not made by the function that makes such handles.
    NotAHandle = -4,
    /// A value is outside its range.
    OutOfRange = -5,
    /// An acceleration does not fit into 24 bits.
    SampleOutOfRange = -6,
    /// The delta stream is broken here.
    BrokenStream = -7,
    /// The ring is full; the block was counted as lost.
    RingFull = -8,
    /// There is nothing to take, or no such thing.
    Nothing = -9,
    /// The flash is not erased where it is to be written.
    NotErased = -10,
    /// An earlier log with the same flight number follows.
    FlightTaken = -11,
    /// The partition is full.
    FlashFull = -12,
    /// A record is longer than a sector can hold.
    RecordTooLong = -13,
    /// The partition, or the bytes wanted of a phase, hold no block of 64 KB.
    PlanTooSmall = -14,
    /// A run has more phases than a plan can hold.
    PlanTooLong = -15,
    /// The line is no command.
    NoCommand = -16,
    /// A flash callback gave a negative number; they must give 0 or a positive one.
    BadCallback = -17,
    /// The text is not UTF-8.
    NotText = -18,
    /// The phase has not been finished.
    NotFinished = -19,
    /// The report has ended.
    ReportEnded = -20,
}

impl Status {
    /// All of them.
    pub const ALL: [Status; 21] = [
        Status::Ok,
        Status::NullPointer,
        Status::Misaligned,
        Status::TooShort,
        Status::NotAHandle,
        Status::OutOfRange,
        Status::SampleOutOfRange,
        Status::BrokenStream,
        Status::RingFull,
        Status::Nothing,
        Status::NotErased,
        Status::FlightTaken,
        Status::FlashFull,
        Status::RecordTooLong,
        Status::PlanTooSmall,
        Status::PlanTooLong,
        Status::NoCommand,
        Status::BadCallback,
        Status::NotText,
        Status::NotFinished,
        Status::ReportEnded,
    ];

    /// The text for it.
    pub const fn text(self) -> &'static CStr {
        match self {
            Status::Ok => c"done",
            Status::NullPointer => c"a pointer is null",
            Status::Misaligned => c"a pointer is not aligned as its type demands",
            Status::TooShort => c"the memory given is too short",
            Status::NotAHandle => c"the memory of a handle was not initialised as such a handle",
            Status::OutOfRange => c"a value is outside its range",
            Status::SampleOutOfRange => c"an acceleration does not fit into 24 bits",
            Status::BrokenStream => c"the delta stream is broken",
            Status::RingFull => c"the ring is full",
            Status::Nothing => c"there is no such thing",
            Status::NotErased => c"the flash is not erased where it is to be written",
            Status::FlightTaken => c"an earlier log with the same flight number follows",
            Status::FlashFull => c"the partition is full",
            Status::RecordTooLong => c"the record is longer than a sector can hold",
            Status::PlanTooSmall => {
                c"the partition and the bytes of a phase must each be 65536 bytes or more"
            }
            Status::PlanTooLong => c"a run has at most 8 phases",
            Status::NoCommand => c"the line is no command",
            Status::BadCallback => c"a flash callback gave a negative number",
            Status::NotText => c"the text is not UTF-8",
            Status::NotFinished => c"the phase has not been finished",
            Status::ReportEnded => c"the report has ended",
        }
    }
}

/// The outcome of what stands behind a C function: its error is the number to give back.
pub(crate) type Outcome = Result<(), i32>;

impl From<Status> for i32 {
    fn from(status: Status) -> i32 {
        status as i32
    }
}

/// The number for an outcome.
pub(crate) fn number(outcome: Outcome) -> i32 {
    match outcome {
        Ok(()) => Status::Ok as i32,
        Err(number) => number,
    }
}

/// The text for a number that a function gave, as a C string that lives as long as the program.
#[unsafe(no_mangle)]
pub extern "C" fn flightlog_status_text(status: i32) -> *const c_char {
    let known = Status::ALL
        .into_iter()
        .find(|known| *known as i32 == status);
    match known {
        Some(known) => known.text().as_ptr(),
        None if status > 0 => c"the flash callback failed with this number".as_ptr(),
        None => c"no status of this library".as_ptr(),
    }
}
