//! A flight through the log into an archive and back: the same samples and records, in constant memory, and no damage goes by.
#![allow(clippy::unwrap_used, reason = "a test program: a panic is its verdict")]

mod nor;

use std::convert::Infallible;
use std::num::NonZeroU32;

use flightlog::archive::{self, ArchiveReader, Item, ReadError, Summary, WORK_BYTES, WriteError};
use flightlog::delta::Decoded;
use flightlog::flash::SECTOR;
use flightlog::log::{Entry, Reader};
use flightlog::logger::{Coding, Logger, SampleReader, Settings};
use flightlog::pages::PageWriter;
use flightlog::record::Kind;
use flightlog::sample::Sample;
use flightlog::sector::SECTOR_BYTES;
use nor::{Nor, Tear};
use proptest::prelude::*;

fn work() -> Box<[u8; WORK_BYTES]> {
    Box::new([0xA5; WORK_BYTES])
}

/// Samples with their record's time, and the other records.
type Flight = (Vec<(u64, Decoded)>, Vec<(u8, u64, Vec<u8>)>);

fn archive(flash: &mut Nor) -> (Vec<u8>, Summary) {
    let mut buffer = Box::new([0; SECTOR_BYTES]);
    let log = Reader::open(flash, &mut buffer).unwrap().unwrap();
    let mut bytes = Vec::new();
    let sink = |piece: &[u8]| {
        assert!(piece.len() <= WORK_BYTES, "never the flight at once");
        bytes.extend_from_slice(piece);
        Ok::<_, Infallible>(())
    };
    let summary = archive::write(log, &mut work(), &mut work(), sink).unwrap();
    assert_eq!(summary.bytes, bytes.len() as u64);
    (bytes, summary)
}

/// Reads an archive in pieces of `step` bytes; what was read before an error is kept.
fn unpack(bytes: &[u8], step: usize) -> (Flight, Result<(), ReadError<Infallible>>) {
    let mut flight = Flight::default();
    let read = read_into(&mut flight, bytes, step);
    (flight, read)
}

fn read_into(
    flight: &mut Flight,
    mut bytes: &[u8],
    step: usize,
) -> Result<(), ReadError<Infallible>> {
    let source = |into: &mut [u8]| {
        let count = into.len().min(bytes.len()).min(step);
        let (piece, rest) = bytes.split_at(count);
        into[..count].copy_from_slice(piece);
        bytes = rest;
        Ok(count)
    };
    let (mut content, mut work) = (work(), work());
    let mut reader = ArchiveReader::open(source, &mut content, &mut work)?;
    while let Some(block) = reader.next_block()? {
        for item in block.items() {
            match item {
                Item::Run(run) => {
                    assert_eq!(
                        (run.len(), run.is_empty()),
                        (run.samples().count(), run.samples().count() == 0)
                    );
                    flight
                        .0
                        .extend(run.samples().map(|sample| (run.time_us, sample)));
                }
                Item::Record(record) => {
                    flight
                        .1
                        .push((record.kind.code(), record.time_us, record.payload.to_vec()));
                }
            }
        }
    }
    Ok(())
}

/// The same from the log itself. Gaps of raw samples are records in both.
fn direct(flash: &mut Nor) -> Flight {
    let mut flight = Flight::default();
    let mut buffer = Box::new([0; SECTOR_BYTES]);
    let mut reader = Reader::open(flash, &mut buffer).unwrap().unwrap();
    let mut samples = SampleReader::new();
    while let Some(entry) = reader.next().unwrap() {
        let Entry::Record { sector, record } = entry else {
            continue;
        };
        if record.kind == Kind::RAW_SAMPLES || record.kind == Kind::DELTA_SAMPLES {
            let decoded = samples
                .samples(&sector, &record)
                .map(|sample| (record.time_us, sample.unwrap()));
            flight.0.extend(decoded);
        } else {
            flight
                .1
                .push((record.kind.code(), record.time_us, record.payload.to_vec()));
        }
    }
    flight
}

/// A flight of pad, boost and coast, with state records beside it and a gap now and then.
fn fly(coding: Coding, samples: u32, sectors: u32) -> Nor {
    let mut flash = Nor::erased(sectors);
    let mut buffer = Box::new([0; SECTOR_BYTES]);
    let pages = PageWriter::begin(&mut flash, &mut buffer, 3).unwrap();
    let mut logger = Logger::start(
        pages,
        Settings {
            rate_hz: 8000,
            coding,
        },
        0,
    )
    .unwrap();
    let mut state = 9u32;
    let mut noise = |span: i32| {
        // Twelve uniform numbers make a bell.
        let sum: i32 = (0..12)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 16) as i32 % 1000 - 500
            })
            .sum();
        sum * span / 1000
    };
    for n in 0..samples {
        let time = u64::from(n) * 125;
        let (span, rest) = match 3 * n / samples {
            0 => (4, 2048),
            1 => (500, 12 * 2048),
            _ => (9, -300),
        };
        let gyro = [(); 3].map(|()| noise(span) as i16);
        let accel = [rest, 0, 0].map(|rest| rest + noise(span));
        logger
            .sample(time, &Sample::new(gyro, accel).unwrap())
            .unwrap();
        if n % 16 == 15 {
            let mut payload = [0; 40];
            payload[..4].copy_from_slice(&n.to_le_bytes());
            logger.record(Kind::OWN, time, &payload).unwrap();
        }
        if n % 5000 == 4999 {
            logger.gap(n % 7);
        }
    }
    logger.finish().unwrap();
    flash
}

const DELTA: Coding = Coding::Delta {
    full_every: NonZeroU32::new(1000).unwrap(),
};

#[test]
fn a_flight_comes_back_whole_and_takes_less_room_than_its_log() {
    // Shares of the bytes in flash; this flight was seen at 0.39 and 0.61.
    for (coding, share) in [(Coding::Raw, 0.40), (DELTA, 0.62)] {
        let mut flash = fly(coding, 30_000, 192);
        let logged: usize = flash.programs.iter().map(|(_, data)| data.len()).sum();
        let (bytes, summary) = archive(&mut flash);
        assert_eq!((summary.samples, summary.damaged), (30_000, 0));
        let direct = direct(&mut flash);
        for step in [1, 7, usize::MAX] {
            assert_eq!(unpack(&bytes, step), (direct.clone(), Ok(())));
        }
        let found = bytes.len() as f64 / logged as f64;
        assert!(found < share, "{coding:?}: {found}");
    }
}

#[test]
fn an_archive_that_was_cut_or_changed_gives_what_was_before_and_says_so() {
    let mut flash = fly(DELTA, 700, 16);
    let (bytes, summary) = archive(&mut flash);
    assert!(summary.sectors > 2);
    let (whole, read) = unpack(&bytes, usize::MAX);
    assert_eq!(read, Ok(()));
    let is_beginning = |(samples, records): &Flight| {
        samples[..] == whole.0[..samples.len()] && records[..] == whole.1[..records.len()]
    };
    for cut in 0..bytes.len() {
        let (flight, read) = unpack(&bytes[..cut], usize::MAX);
        assert!(is_beginning(&flight));
        match read.unwrap_err() {
            ReadError::NotAnArchive => assert!(cut < 16),
            ReadError::Cut { offset } => assert!(offset <= cut as u64),
            other => panic!("cut at {cut}: {other}"),
        }
    }
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (at % 8);
        let (flight, read) = unpack(&changed, usize::MAX);
        assert!(is_beginning(&flight), "byte {at}");
        assert!(read.is_err(), "byte {at}");
    }
    let longer = [&bytes[..], b"x"].concat();
    assert!(matches!(
        unpack(&longer, usize::MAX).1,
        Err(ReadError::Damaged { .. })
    ));
}

#[test]
fn a_damaged_log_is_archived_as_far_as_it_can_be_read() {
    let mut flash = fly(Coding::Raw, 3000, 32);
    let at = (3 * SECTOR + 2000) as usize;
    flash.bytes[at] ^= 1;
    flash.bytes[(5 * SECTOR) as usize] ^= 1;
    let (bytes, summary) = archive(&mut flash);
    assert_eq!(summary.damaged, 2);
    assert_eq!(unpack(&bytes, usize::MAX), (direct(&mut flash), Ok(())));
}

#[test]
fn a_sink_that_fails_ends_the_writing() {
    let mut flash = fly(DELTA, 3000, 16);
    let mut buffer = Box::new([0; SECTOR_BYTES]);
    let log = Reader::open(&mut flash, &mut buffer).unwrap().unwrap();
    let mut pieces = 0;
    let full = |_: &[u8]| {
        pieces += 1;
        if pieces == 4 {
            Err("card full")
        } else {
            Ok(())
        }
    };
    let written = archive::write(log, &mut work(), &mut work(), full);
    assert_eq!(written.unwrap_err(), WriteError::Sink("card full"));
}

proptest! {
    /// Also what no logger writes: samples that cannot be decoded, gaps in the middle, records of every length.
    #[test]
    fn any_log_is_archived_with_what_its_records_say(
        records in prop::collection::vec((1u8..=254, any::<u32>(), prop::collection::vec(any::<u8>(), 0..300)), 0..60),
        samples in prop::collection::vec((any::<[u8; 15]>(), prop::option::of(any::<u32>())), 0..300),
        cut in prop::option::of(0usize..9000),
    ) {
        let mut flash = Nor::erased(32);
        if let Some(cut) = cut {
            flash.lose_power_after(cut, Tear::Bits(cut as u64));
        }
        let mut buffer = Box::new([0; SECTOR_BYTES]);
        let mut pages = PageWriter::begin(&mut flash, &mut buffer, 3).unwrap();
        let _ = pages.record(Kind::OWN, 0, b"first").and_then(|()| pages.flush());
        let mut encoder = flightlog::delta::Encoder::new(NonZeroU32::MAX);
        let mut stream = Vec::new();
        for (stored, gap) in &samples {
            if let Some(missing) = gap {
                encoder.gap(*missing);
            }
            let mut out = [0; flightlog::delta::MAX_BYTES];
            let len = encoder.encode(&Sample::from_bytes(stored), &mut out).unwrap();
            stream.extend_from_slice(&out[..len]);
        }
        let _ = pages.record(Kind::DELTA_SAMPLES, 0, &stream);
        for (kind, time, payload) in &records {
            let _ = pages.record(Kind::new(*kind).unwrap(), u64::from(*time), payload);
        }
        let _ = pages.flush();
        flash.restore_power();
        let mut buffer = Box::new([0; SECTOR_BYTES]);
        prop_assume!(Reader::open(&mut flash, &mut buffer).unwrap().is_some());

        let (bytes, _) = archive(&mut flash);
        let (unpacked, read) = unpack(&bytes, 1000);
        prop_assert_eq!(read, Ok(()));
        // What can be decoded as samples is compared as samples, all else byte by byte.
        let mut expected = Flight::default();
        let mut reader = Reader::open(&mut flash, &mut buffer).unwrap().unwrap();
        let mut decoding = SampleReader::new();
        while let Some(entry) = reader.next().unwrap() {
            let Entry::Record { sector, record } = entry else { continue };
            let is_samples = record.kind == Kind::RAW_SAMPLES || record.kind == Kind::DELTA_SAMPLES;
            let decoded: Result<Vec<_>, _> = decoding.samples(&sector, &record).collect();
            match decoded {
                Ok(samples) if is_samples => expected.0.extend(samples.into_iter().map(|sample| (record.time_us, sample))),
                _ => expected.1.push((record.kind.code(), record.time_us, record.payload.to_vec())),
            }
        }
        // Gaps of raw samples are records in an archive.
        expected.0.iter_mut().zip(&unpacked.0).for_each(|(sample, other)| {
            if other.1.gap.is_none() && records.iter().any(|(kind, ..)| *kind == Kind::GAP.code()) {
                sample.1.gap = None;
            }
        });
        prop_assert_eq!(unpacked, expected);
    }

    #[test]
    fn any_bytes_are_refused_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(unpack(&bytes, 100).1.is_err());
        let mut headed = archive(&mut fly(DELTA, 10, 4)).0[..16].to_vec();
        headed.extend(bytes);
        let _ = unpack(&headed, 100);
    }
}
