//! Samples, gaps and the caller's own records through the logger, the flash and back, in both codings and over cuts.
#![allow(clippy::unwrap_used, reason = "a test program: a panic is its verdict")]

mod nor;

use std::num::NonZeroU32;

use flightlog::delta::Decoded;
use flightlog::flash::{Flash, SECTOR};
use flightlog::log::{Entry, Reader};
use flightlog::logger::{Coding, Logger, SampleError, SampleReader, Settings};
use flightlog::pages::PageWriter;
use flightlog::record::{Kind, RECORD_OVERHEAD, Record};
use flightlog::sample::{ACCEL_MAX, ACCEL_MIN, Sample};
use flightlog::sector::{SECTOR_BYTES, SectorHeader};
use nor::{Nor, Tear};
use proptest::prelude::*;

/// What a test tells the logger.
#[derive(Clone, Debug)]
enum Step {
    Sample(Sample),
    Gap(u32),
    Own(u8, Vec<u8>),
    Trigger,
    Flush,
}

const RATE_HZ: u32 = 8000;
const PERIOD_US: u64 = 125;

fn settings(full_every: Option<u32>) -> Settings {
    let coding = full_every.map_or(Coding::Raw, |every| Coding::Delta {
        full_every: NonZeroU32::new(every).unwrap(),
    });
    Settings {
        rate_hz: RATE_HZ,
        coding,
    }
}

/// Logs until the power is lost or the steps are done; each step takes one period.
fn log(flash: &mut Nor, settings: Settings, steps: &[Step]) {
    let mut buffer = Box::new([0; SECTOR_BYTES]);
    let Ok(pages) = PageWriter::resume(flash, &mut buffer, 1) else {
        return;
    };
    let Ok(mut logger) = Logger::start(pages, settings, 0) else {
        return;
    };
    for (time, step) in (0..).step_by(PERIOD_US as usize).zip(steps) {
        let done = match step {
            Step::Sample(sample) => logger.sample(time, sample),
            Step::Gap(missing) => {
                logger.gap(*missing);
                Ok(())
            }
            Step::Own(kind, payload) => logger.record(Kind::new(*kind).unwrap(), time, payload),
            Step::Trigger => logger.trigger(time),
            Step::Flush => logger.flush(),
        };
        if done.is_err() {
            return;
        }
    }
    let _ = logger.finish();
}

#[derive(Debug, Default, PartialEq)]
struct Seen {
    settings: Vec<Settings>,
    samples: Vec<(u64, Decoded)>,
    records: Vec<(u8, u64, Vec<u8>)>,
    triggers: Vec<u64>,
}

fn read(flash: &mut Nor) -> Seen {
    let mut seen = Seen::default();
    let mut buffer = Box::new([0; SECTOR_BYTES]);
    let Some(mut reader) = Reader::open(flash, &mut buffer).unwrap() else {
        return seen;
    };
    let mut samples = SampleReader::new();
    while let Some(entry) = reader.next().unwrap() {
        let Entry::Record { sector, record } = entry else {
            continue;
        };
        for (n, decoded) in samples.samples(&sector, &record).enumerate() {
            seen.samples
                .push((record.time_us + n as u64 * PERIOD_US, decoded.unwrap()));
        }
        match record.kind {
            Kind::START => seen
                .settings
                .push(Settings::from_bytes(record.payload).unwrap()),
            Kind::TRIGGER => seen.triggers.push(record.time_us),
            kind if kind >= Kind::OWN => {
                seen.records
                    .push((kind.code(), record.time_us, record.payload.to_vec()))
            }
            _ => {}
        }
    }
    seen
}

/// What must be read back of these steps.
fn expected(settings: Settings, steps: &[Step]) -> Seen {
    let mut seen = Seen {
        settings: vec![settings],
        ..Seen::default()
    };
    let mut gap: Option<u32> = None;
    for (time, step) in (0..).step_by(PERIOD_US as usize).zip(steps) {
        match step {
            Step::Sample(sample) => {
                seen.samples.push((
                    time,
                    Decoded {
                        sample: *sample,
                        gap: gap.take(),
                    },
                ));
            }
            Step::Gap(missing) => {
                gap = Some(match gap {
                    Some(before) if before == 0 || *missing == 0 => 0,
                    Some(before) => before.saturating_add(*missing),
                    None => *missing,
                });
            }
            Step::Own(kind, payload) => seen.records.push((*kind, time, payload.clone())),
            Step::Trigger => seen.triggers.push(time),
            Step::Flush => {}
        }
    }
    seen
}

fn step() -> impl Strategy<Value = Step> {
    let sample = |gyro: std::ops::Range<i16>, accel: std::ops::Range<i32>| {
        (prop::array::uniform3(gyro), prop::array::uniform3(accel))
            .prop_map(|(gyro, accel)| Step::Sample(Sample::new(gyro, accel).unwrap()))
    };
    prop_oneof![
        20 => sample(-100..100, -3000..3000),
        2 => sample(i16::MIN..i16::MAX, ACCEL_MIN..ACCEL_MAX),
        // A gap or a flush takes a period too, so that times tell a record's samples apart from the next one's.
        1 => prop_oneof![Just(0u32), any::<u32>()].prop_map(Step::Gap),
        1 => (16u8..=254, prop::collection::vec(any::<u8>(), 0..80)).prop_map(|(kind, payload)| Step::Own(kind, payload)),
        1 => Just(Step::Flush),
        1 => Just(Step::Trigger),
    ]
}

proptest! {
    #[test]
    fn what_was_logged_is_read_back(
        steps in prop::collection::vec(step(), 0..900),
        full_every in prop::option::of(1u32..2000),
    ) {
        let mut flash = Nor::erased(16);
        log(&mut flash, settings(full_every), &steps);
        prop_assert_eq!(read(&mut flash), expected(settings(full_every), &steps));
    }

    #[test]
    fn a_cut_leaves_a_beginning_and_the_next_session_is_read_behind_it(
        steps in prop::collection::vec(step(), 300..900),
        full_every in prop::option::of(1u32..2000),
        cut in 0usize..9000,
    ) {
        let mut flash = Nor::erased(16);
        flash.lose_power_after(cut, Tear::Bytes);
        log(&mut flash, settings(full_every), &steps);
        flash.restore_power();
        let whole = expected(settings(full_every), &steps);
        let seen = read(&mut flash);
        prop_assert_eq!(&seen.samples[..], &whole.samples[..seen.samples.len()]);
        prop_assert_eq!(&seen.records[..], &whole.records[..seen.records.len()]);

        let further = [Step::Sample(Sample::new([1; 3], [2; 3]).unwrap())];
        log(&mut flash, settings(None), &further);
        let resumed = read(&mut flash);
        prop_assert_eq!(resumed.samples.len(), seen.samples.len() + 1);
        prop_assert_eq!(resumed.settings.last(), Some(&settings(None)));
    }

    #[test]
    fn any_payload_of_any_kind_is_looked_through_without_a_panic(
        payloads in prop::collection::vec((1u8..8, prop::collection::vec(any::<u8>(), 0..100)), 0..20),
    ) {
        let sector = SectorHeader { flight: 1, session: 0, index: 0, base_us: 0 };
        let mut samples = SampleReader::new();
        for (kind, payload) in &payloads {
            let record = Record { kind: Kind::new(*kind).unwrap(), time_us: 0, payload };
            let _ = samples.samples(&sector, &record).count();
            let _ = Settings::from_bytes(payload);
        }
    }
}

#[test]
fn samples_share_a_record_and_cost_little_beside_themselves() {
    let still = Step::Sample(Sample::new([1; 3], [2048; 3]).unwrap());
    let steps = vec![still; 100_000];
    for (full_every, bytes) in [(None, 15.0), (Some(1000), 6.0)] {
        let mut flash = Nor::erased(512);
        log(&mut flash, settings(full_every), &steps);
        let programmed: usize = flash.programs.iter().map(|(_, data)| data.len()).sum();
        let each = programmed as f64 / steps.len() as f64;
        assert!(
            (bytes..bytes * 1.025).contains(&each),
            "{each} bytes a sample"
        );
        assert!(flash.programs.len() <= programmed.div_ceil(SECTOR_BYTES - 2 * RECORD_OVERHEAD));
    }
}

#[test]
fn a_sample_record_of_the_wrong_length_says_so() {
    let sector = SectorHeader {
        flight: 1,
        session: 0,
        index: 0,
        base_us: 0,
    };
    let record = Record {
        kind: Kind::RAW_SAMPLES,
        time_us: 0,
        payload: &[0; 16],
    };
    let mut reader = SampleReader::new();
    let error = reader
        .samples(&sector, &record)
        .next()
        .unwrap()
        .unwrap_err();
    assert_eq!(
        error,
        SampleError::Length {
            kind: Kind::RAW_SAMPLES,
            len: 16
        }
    );
    assert_eq!(
        error.to_string(),
        "a record of kind 2 cannot have a payload of 16 bytes"
    );
}

#[test]
fn a_lost_sector_costs_no_other_its_samples() {
    let steps: Vec<_> = (0..4000i16)
        .map(|n| Step::Sample(Sample::new([n; 3], [i32::from(n) * 7; 3]).unwrap()))
        .collect();
    let mut flash = Nor::erased(16);
    log(&mut flash, settings(Some(100_000)), &steps);
    let whole = read(&mut flash).samples;
    flash.erase(2 * SECTOR, SECTOR).unwrap();
    flash.program(2 * SECTOR, &[0; 32]).unwrap();
    let left = read(&mut flash).samples;
    assert!(left.len() > whole.len() * 3 / 4 && left.len() < whole.len());
    assert!(left.iter().all(|sample| whole.contains(sample)));
}
