//! The page writer and the log reader on modelled NOR flash: what was whole when the power was lost is read back, the log's
//! end is found in few reads, and what an earlier flight left behind is not taken for this one.
#![allow(clippy::unwrap_used, reason = "a test program: a panic is its verdict")]

mod nor;

use flightlog::flash::{ERASED, Flash, PAGE, SECTOR};
use flightlog::log::{self, Entry, Reader};
use flightlog::pages::{PageWriter, WriteError};
use flightlog::record::{Kind, MAX_PAYLOAD, RECORD_OVERHEAD, Records};
use flightlog::sector::{HEADER_BYTES, SECTOR_BYTES, SectorHeader, UNIT};
use nor::{Nor, NorError, Tear};
use proptest::prelude::*;

const FLIGHT: u32 = 7;

type Written = (u8, u64, Vec<u8>);

fn buffer() -> Box<[u8; SECTOR_BYTES]> {
    Box::new([0; SECTOR_BYTES])
}

/// All records of the log, and whether anything else was come upon.
fn read(flash: &mut Nor) -> (Vec<Written>, usize) {
    let mut buffer = buffer();
    let (mut records, mut damaged) = (Vec::new(), 0);
    let Some(mut reader) = Reader::open(flash, &mut buffer).unwrap() else {
        return (records, damaged);
    };
    while let Some(entry) = reader.next().unwrap() {
        match entry {
            Entry::Record { record, .. } => {
                records.push((record.kind.code(), record.time_us, record.payload.to_vec()));
            }
            Entry::Damaged { .. } | Entry::NoHeader { .. } => damaged += 1,
        }
    }
    (records, damaged)
}

/// Writes the records, with a flush wherever the script says so.
fn write(
    writer: &mut PageWriter<'_, &mut Nor>,
    script: &[(Written, bool)],
) -> Result<(), WriteError<NorError>> {
    for ((kind, time, payload), flush) in script {
        writer.record(Kind::new(*kind).unwrap(), *time, payload)?;
        if *flush {
            writer.flush()?;
        }
    }
    writer.flush()
}

fn script() -> Vec<(Written, bool)> {
    // Lengths and flushes that meet every alignment, over a little more than two sectors.
    (0..90u32)
        .map(|n| {
            let payload = (0..n * 7 % 173).map(|byte| (byte * 31 + n) as u8).collect();
            let time = 1_000_000 + u64::from(n) * 2_000;
            ((1 + (n % 254) as u8, time, payload), n % 4 == 3)
        })
        .collect()
}

/// For each record of a log: how many bytes had been programmed when its last one was.
fn ends(clean: &Nor) -> Vec<usize> {
    let mut reached = vec![0; clean.bytes.len()];
    let mut programmed = 0;
    for (offset, data) in &clean.programs {
        for reached in &mut reached[*offset as usize..][..data.len()] {
            programmed += 1;
            *reached = programmed;
        }
    }
    let mut ends = Vec::new();
    for (index, sector) in clean.bytes.chunks(SECTOR_BYTES).enumerate() {
        let Some(header) = SectorHeader::from_bytes(sector.first_chunk().unwrap()) else {
            break;
        };
        let mut records = Records::new(sector, &header);
        while let Some(record) = records.next() {
            record.unwrap();
            ends.push(reached[index * SECTOR_BYTES + records.offset() - 1]);
        }
    }
    ends
}

fn clean_run(script: &[(Written, bool)]) -> Nor {
    let mut flash = Nor::erased(6);
    let mut buffer = buffer();
    write(
        &mut PageWriter::begin(&mut flash, &mut buffer, FLIGHT).unwrap(),
        script,
    )
    .unwrap();
    flash
}

fn records_of(script: &[(Written, bool)]) -> Vec<Written> {
    script.iter().map(|(record, _)| record.clone()).collect()
}

#[test]
fn what_was_written_is_read_back_and_each_byte_was_programmed_once_in_units_of_16() {
    let script = script();
    let mut flash = clean_run(&script);
    assert_eq!(read(&mut flash), (records_of(&script), 0));
    for (offset, data) in &flash.programs {
        assert!(offset % UNIT as u32 == 0 && data.len() % UNIT == 0);
        assert_eq!(
            offset / SECTOR,
            (offset + data.len() as u32 - 1) / SECTOR,
            "one sector a program"
        );
    }
}

#[test]
fn a_cut_at_every_byte_leaves_the_records_before_it_and_the_log_goes_on_behind_it() {
    let script = script();
    let expected = records_of(&script);
    let clean = clean_run(&script);
    let total: usize = clean.programs.iter().map(|(_, data)| data.len()).sum();
    assert!(total > 2 * SECTOR_BYTES);
    let ends = ends(&clean);
    let ended_by = |programmed| ends.partition_point(|end| *end <= programmed);
    for cut in 0..total {
        for tear in [Tear::Bytes, Tear::Backwards, Tear::Bits(cut as u64 * 77)] {
            let mut flash = Nor::erased(6);
            let mut buffer = buffer();
            flash.lose_power_after(cut, tear);
            let mut writer = PageWriter::begin(&mut flash, &mut buffer, FLIGHT).unwrap();
            assert_eq!(
                write(&mut writer, &script),
                Err(WriteError::Flash(NorError::PowerLost))
            );
            flash.restore_power();

            let (records, _) = read(&mut flash);
            let sure = match tear {
                Tear::Bytes => ended_by(cut)..=ended_by(cut),
                // Of the page that was being programmed nothing is sure.
                Tear::Backwards | Tear::Bits(_) => {
                    ended_by(page_start(&clean, cut))..=ended_by(cut + PAGE)
                }
            };
            assert!(
                sure.contains(&records.len()),
                "cut {cut} {tear:?}: {} of {sure:?}",
                records.len()
            );
            assert_eq!(records, expected[..records.len()], "cut {cut} {tear:?}");

            let mut writer = PageWriter::resume(&mut flash, &mut buffer, FLIGHT).unwrap();
            let behind = (200, 5_000, b"after the reset".to_vec());
            write(&mut writer, &[(behind.clone(), true)]).unwrap();
            let (resumed, _) = read(&mut flash);
            assert_eq!(
                resumed.split_last(),
                Some((&behind, &records[..])),
                "cut {cut} {tear:?}"
            );
        }
    }
}

/// How many bytes had been programmed when the page that the cut hit was begun.
fn page_start(clean: &Nor, cut: usize) -> usize {
    let mut before = 0;
    for (offset, data) in &clean.programs {
        let mut at = *offset as usize;
        let end = at + data.len();
        while at < end {
            let page = (PAGE - at % PAGE).min(end - at);
            if before + page > cut {
                return before;
            }
            before += page;
            at += page;
        }
    }
    before
}

#[test]
fn the_end_is_found_in_as_many_reads_as_the_number_of_sectors_has_bits() {
    const SECTORS: u32 = 2048;
    let mut flash = Nor::erased(SECTORS);
    let mut buffer = buffer();
    let payload = [0x5A; MAX_PAYLOAD];
    let mut writer = PageWriter::begin(&mut flash, &mut buffer, FLIGHT).unwrap();
    let mut used = 0;
    for until in [1, 2, 3, 600, 1023, 1024, 1025, 2047, 2048] {
        while used < until {
            writer.record(Kind::OWN, 0, &payload).unwrap();
            used += 1;
        }
        writer.flush().unwrap();
        let mut flash = Nor::clone(writer.flash());
        (flash.reads, flash.bytes_read) = (0, 0);
        let found = log::find(&mut flash).unwrap().unwrap();
        assert_eq!(
            (found.flight, found.first, found.last, found.end),
            (FLIGHT, 0, until - 1, until)
        );
        assert!(
            flash.reads <= 1 + 11,
            "{} reads for {until} sectors",
            flash.reads
        );
        assert_eq!(flash.bytes_read, flash.reads * HEADER_BYTES);
    }
    assert_eq!(writer.record(Kind::OWN, 0, &payload), Err(WriteError::Full));
    assert_eq!(writer.sectors_left(), 0);
}

#[test]
fn an_earlier_flight_is_neither_read_nor_written_over() {
    // The earlier flight used five sectors; two of them were erased.
    let mut flash = Nor::erased(8);
    let mut buffer = buffer();
    let full = [1; MAX_PAYLOAD];
    let mut writer = PageWriter::begin(&mut flash, &mut buffer, 1).unwrap();
    for _ in 0..5 {
        writer.record(Kind::OWN, 10, &full).unwrap();
    }
    writer.finish().unwrap();
    assert_eq!(
        PageWriter::begin(&mut flash, &mut buffer, 2).err(),
        Some(WriteError::NotErased { offset: 0 })
    );
    flash.erase(0, 2 * SECTOR).unwrap();
    assert_eq!(
        PageWriter::begin(&mut flash, &mut buffer, 1).err(),
        Some(WriteError::FlightTaken { offset: 2 * SECTOR })
    );
    let mut writer = PageWriter::begin(&mut flash, &mut buffer, 2).unwrap();
    assert_eq!(writer.sectors_left(), 2);
    let new = vec![2; MAX_PAYLOAD];
    writer.record(Kind::OWN, 20, &new).unwrap();
    writer.flush().unwrap();
    assert_eq!(
        read(&mut Nor::clone(writer.flash())),
        (vec![(16, 20, new.clone())], 0)
    );
    writer.record(Kind::OWN, 20, &new).unwrap();
    assert_eq!(writer.record(Kind::OWN, 20, &new), Err(WriteError::Full));
    writer.flush().unwrap();
    let both = vec![(16, 20, new.clone()), (16, 20, new)];
    assert_eq!(read(&mut flash), (both, 0));
    assert_eq!(
        PageWriter::resume(&mut flash, &mut buffer, 3).err(),
        Some(WriteError::NotErased { offset: 2 * SECTOR })
    );
}

#[test]
fn resets_in_a_row_that_each_cut_a_header_do_not_hide_what_follows() {
    let mut flash = Nor::erased(24);
    let mut buffer = buffer();
    let mut expected = Vec::new();
    for round in 0..3 {
        // Seven sessions die in their first page, one lives.
        for session in 0..8u64 {
            let record = (40, 100 * round + session, b"alive".to_vec());
            let mut writer = PageWriter::resume(&mut flash, &mut buffer, FLIGHT).unwrap();
            if session < 7 {
                let tear =
                    [Tear::Bytes, Tear::Backwards, Tear::Bits(session)][session as usize % 3];
                writer
                    .flash_mut()
                    .lose_power_after(1 + session as usize * 3, tear);
            }
            let written = write(&mut writer, &[(record.clone(), true)]);
            flash.restore_power();
            if session < 7 {
                assert!(written.is_err());
            } else {
                expected.push(record);
            }
        }
        let (records, damaged) = read(&mut flash);
        assert_eq!(records, expected);
        assert_eq!(
            damaged,
            if round == 0 { 0 } else { 7 * round as usize },
            "those before the first whole sector are passed over"
        );
    }
}

#[test]
fn a_failed_program_is_made_up_for_by_the_next_call() {
    let script = script();
    let clean = clean_run(&script);
    let total: usize = clean.programs.iter().map(|(_, data)| data.len()).sum();
    for cut in (0..total).step_by(97) {
        let mut flash = Nor::erased(6);
        let mut buffer = buffer();
        flash.lose_power_after(cut, Tear::Bytes);
        let mut writer = PageWriter::begin(&mut flash, &mut buffer, FLIGHT).unwrap();
        for ((kind, time, payload), flush) in &script {
            let kind = Kind::new(*kind).unwrap();
            if writer.record(kind, *time, payload).is_err() {
                writer.flash_mut().restore_power();
                writer.record(kind, *time, payload).unwrap();
            }
            if *flush && writer.flush().is_err() {
                writer.flash_mut().restore_power();
            }
        }
        if writer.flush().is_err() {
            writer.flash_mut().restore_power();
            writer.flush().unwrap();
        }
        assert_eq!(
            read(&mut flash),
            (records_of(&script), 0),
            "failed after {cut} bytes"
        );
    }
}

#[test]
fn a_flipped_bit_costs_the_rest_of_its_sector_and_no_more() {
    let script = script();
    let clean = clean_run(&script);
    let expected = records_of(&script);
    for at in (0..3 * SECTOR_BYTES).step_by(13) {
        let mut flash = clean.clone();
        flash.bytes[at] ^= 1 << (at % 8);
        let (records, damaged) = read(&mut flash);
        assert!(damaged <= 1 || at < HEADER_BYTES);
        let mut rest = expected.iter();
        assert!(
            records
                .iter()
                .all(|record| rest.any(|other| other == record)),
            "byte {at}: a record that was never written"
        );
        let sector = at / SECTOR_BYTES;
        let others = whole_records_outside(&clean, sector);
        assert!(
            records.len() >= others || (sector == 0 && at < HEADER_BYTES),
            "byte {at}"
        );
    }
}

/// How many records lie outside the sector `index`.
fn whole_records_outside(clean: &Nor, index: usize) -> usize {
    clean
        .bytes
        .chunks(SECTOR_BYTES)
        .enumerate()
        .filter(|(at, _)| *at != index)
        .filter_map(|(_, bytes)| {
            let header = SectorHeader::from_bytes(bytes.first_chunk()?)?;
            Some(Records::new(bytes, &header).count())
        })
        .sum()
}

#[test]
fn times_far_from_the_sector_begin_a_sector_of_their_own() {
    let mut flash = Nor::erased(8);
    let mut buffer = buffer();
    let hour = 3_600_000_000u64;
    let times = [0, 5, hour, hour - 5, 0, u64::MAX, u64::MAX - 1_000, 3];
    let mut writer = PageWriter::begin(&mut flash, &mut buffer, FLIGHT).unwrap();
    for time in times {
        writer.record(Kind::OWN, time, b"x").unwrap();
    }
    writer.finish().unwrap();
    let (records, _) = read(&mut flash);
    assert_eq!(
        records.iter().map(|record| record.1).collect::<Vec<_>>(),
        times
    );
}

#[test]
fn an_open_record_without_payload_leaves_nothing_and_one_too_long_is_refused() {
    let mut flash = Nor::erased(2);
    let mut buffer = buffer();
    let mut writer = PageWriter::begin(&mut flash, &mut buffer, FLIGHT).unwrap();
    assert!(writer.spare().is_empty());
    writer.open_record(Kind::OWN, 1, 4).unwrap();
    assert_eq!(writer.spare().len(), MAX_PAYLOAD);
    writer.end_record();
    let too_long = Err(WriteError::TooLong {
        len: MAX_PAYLOAD + 1,
    });
    assert_eq!(writer.record(Kind::OWN, 1, &[0; MAX_PAYLOAD + 1]), too_long);
    assert_eq!(writer.open_record(Kind::OWN, 1, MAX_PAYLOAD + 1), too_long);
    writer.open_record(Kind::OWN, 1, 4).unwrap();
    writer.spare()[..3].copy_from_slice(b"abc");
    writer.grow(3);
    // The next record closes it.
    writer.record(Kind::OWN, 2, &[]).unwrap();
    writer.finish().unwrap();
    assert_eq!(
        read(&mut flash),
        (vec![(16, 1, b"abc".to_vec()), (16, 2, vec![])], 0)
    );
}

#[test]
fn an_erased_partition_and_one_with_other_content_hold_no_log() {
    assert_eq!(log::find(&mut Nor::erased(3)).unwrap(), None);
    assert_eq!(log::find(&mut Nor::erased(0)).unwrap(), None);
    let mut other = Nor::erased(3);
    other.program(0, b"something else").unwrap();
    assert_eq!(log::find(&mut other).unwrap(), None);
    assert!(matches!(
        PageWriter::begin(&mut other, &mut buffer(), 1).err(),
        Some(WriteError::NotErased { offset: 0 })
    ));
    assert!(matches!(
        PageWriter::begin(Nor::erased(0), &mut buffer(), 1).err(),
        Some(WriteError::Full)
    ));
}

proptest! {
    #[test]
    fn any_records_are_read_back(
        records in prop::collection::vec(
            ((1u8..=254, any::<u64>(), prop::collection::vec(any::<u8>(), 0..600)), any::<bool>()),
            0..40,
        ),
    ) {
        let mut flash = Nor::erased(64);
        let mut buffer = buffer();
        let mut writer = PageWriter::begin(&mut flash, &mut buffer, FLIGHT).unwrap();
        write(&mut writer, &records).unwrap();
        prop_assert_eq!(read(&mut flash), (records_of(&records), 0));
    }

    #[test]
    fn any_bytes_in_a_sector_are_read_without_a_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..SECTOR_BYTES),
        lengths in prop::collection::vec((HEADER_BYTES..SECTOR_BYTES, 0u16..64), 0..20),
    ) {
        let header = SectorHeader { flight: FLIGHT, session: 0, index: 0, base_us: 5 };
        let mut sector = vec![ERASED; SECTOR_BYTES];
        sector[..bytes.len()].copy_from_slice(&bytes);
        sector[..HEADER_BYTES].copy_from_slice(&header.to_bytes());
        // Lengths that are plausible, so that more than the first check is reached.
        for (at, length) in lengths {
            if let Some(place) = sector.get_mut(at..at + 2) {
                place.copy_from_slice(&length.to_le_bytes());
            }
        }
        let mut records = Records::new(&sector, &header);
        let mut end = HEADER_BYTES;
        while let Some(Ok(record)) = records.next() {
            prop_assert!(records.offset() >= end + RECORD_OVERHEAD + record.payload.len());
            end = records.offset();
        }
        prop_assert!(records.next().is_none());
        let mut flash = Nor::erased(1);
        flash.bytes = sector;
        let mut buffer = buffer();
        let mut reader = Reader::open(&mut flash, &mut buffer).unwrap().unwrap();
        while reader.next().unwrap().is_some() {}
    }
}
