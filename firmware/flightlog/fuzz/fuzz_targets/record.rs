//! Any bytes as a flight partition: reading and resuming neither panic nor loop, and no record comes from outside its sector.
//!
//! The fuzzer cannot guess a CRC, so it says what to write instead: records, flushes, and bytes changed behind the writer's back.
#![no_main]

use flightlog::flash::{ERASED, Flash, SECTOR};
use flightlog::log::{Entry, Reader};
use flightlog::logger::{SampleReader, Settings};
use flightlog::pages::PageWriter;
use flightlog::record::Kind;
use flightlog::sector::SECTOR_BYTES;
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;

const SECTORS: u32 = 4;

#[derive(Arbitrary, Debug)]
enum Step {
    Record {
        kind: u8,
        time_us: u64,
        payload: Vec<u8>,
    },
    Samples {
        delta: bool,
        payload: Vec<u8>,
    },
    Flush,
    Resume,
    Overwrite {
        offset: u16,
        bytes: Vec<u8>,
    },
}

struct Memory(Vec<u8>);

impl Flash for Memory {
    type Error = ();

    fn size(&self) -> u32 {
        self.0.len() as u32
    }

    fn read(&mut self, offset: u32, into: &mut [u8]) -> Result<(), ()> {
        let from = self
            .0
            .get(offset as usize..)
            .and_then(|rest| rest.get(..into.len()))
            .ok_or(())?;
        into.copy_from_slice(from);
        Ok(())
    }

    fn program(&mut self, offset: u32, data: &[u8]) -> Result<(), ()> {
        let place = self
            .0
            .get_mut(offset as usize..)
            .and_then(|rest| rest.get_mut(..data.len()))
            .ok_or(())?;
        for (byte, new) in place.iter_mut().zip(data) {
            *byte &= new;
        }
        Ok(())
    }

    fn erase(&mut self, _: u32, _: u32) -> Result<(), ()> {
        panic!("the log erases nothing");
    }
}

fuzz_target!(|steps: Vec<Step>| {
    let mut flash = Memory(vec![ERASED; (SECTORS * SECTOR) as usize]);
    let mut steps = steps.into_iter().peekable();
    while steps.peek().is_some() {
        let mut buffer = [0; SECTOR_BYTES];
        let Ok(mut writer) = PageWriter::resume(&mut flash, &mut buffer, 1) else {
            break;
        };
        for step in steps.by_ref() {
            // Whatever is refused (full, too long) is not what is looked for.
            let _ = match step {
                Step::Record {
                    kind,
                    time_us,
                    payload,
                } => match Kind::new(kind) {
                    Some(kind) => writer.record(kind, time_us, &payload),
                    None => Ok(()),
                },
                Step::Samples { delta, payload } => {
                    let kind = if delta {
                        Kind::DELTA_SAMPLES
                    } else {
                        Kind::RAW_SAMPLES
                    };
                    writer.record(kind, 0, &payload)
                }
                Step::Flush => writer.flush(),
                Step::Resume => break,
                Step::Overwrite { offset, bytes } => {
                    let at = usize::from(offset) % (SECTORS * SECTOR) as usize;
                    for (byte, new) in writer.flash_mut().0[at..].iter_mut().zip(bytes) {
                        *byte = new;
                    }
                    Ok(())
                }
            };
        }
    }
    let mut buffer = [0; SECTOR_BYTES];
    let Ok(Some(mut reader)) = Reader::open(&mut flash, &mut buffer) else {
        return;
    };
    let mut samples = SampleReader::new();
    let mut entries = 0u32;
    while let Some(entry) = reader.next().expect("reading memory does not fail") {
        entries += 1;
        assert!(entries <= SECTORS * SECTOR, "it does not come to an end");
        if let Entry::Record { sector, record } = entry {
            assert!(sector.index < SECTORS);
            let _ = samples.samples(&sector, &record).count();
            let _ = Settings::from_bytes(record.payload);
        }
    }
});
