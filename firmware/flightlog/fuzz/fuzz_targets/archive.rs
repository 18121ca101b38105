//! Any blocks as an archive: their CRCs are made right here, since the fuzzer cannot guess them, so that what lies behind the
//! CRC is reached. No panic, no endless reading, and what a block gives is inside it.
#![no_main]

use flightlog::archive::{ArchiveReader, Item, WORK_BYTES};
use flightlog::crc::Crc32;
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Block {
    packed: bool,
    plain: u16,
    samples: u16,
    content: Vec<u8>,
}

fuzz_target!(|input: (Vec<Block>, Vec<u8>)| {
    let (blocks, tail) = input;
    let mut bytes = b"FLAR\x01\0\0\0\x07\0\0\0".to_vec();
    let crc = flightlog::crc::crc32(&bytes);
    let mut seed = Crc32::new();
    seed.update(&bytes);
    bytes.extend(crc.to_le_bytes());
    for block in &blocks {
        let mut head = [0u8; 28];
        head[0] = b'B';
        head[1] = u8::from(block.packed);
        head[16..18].copy_from_slice(&(block.plain % (WORK_BYTES as u16 + 2)).to_le_bytes());
        head[18..20].copy_from_slice(&(block.content.len() as u16).to_le_bytes());
        head[20..22].copy_from_slice(&(block.samples % 900).to_le_bytes());
        let mut crc = seed.clone();
        crc.update(&head[..24]);
        crc.update(&block.content);
        head[24..].copy_from_slice(&crc.finish().to_le_bytes());
        bytes.extend(head);
        bytes.extend(&block.content);
    }
    bytes.extend(tail);

    let mut rest = &bytes[..];
    let source = |into: &mut [u8]| {
        let count = into.len().min(rest.len());
        let (piece, behind) = rest.split_at(count);
        into[..count].copy_from_slice(piece);
        rest = behind;
        Ok::<_, ()>(count)
    };
    let (mut content, mut work) = (Box::new([0; WORK_BYTES]), Box::new([0; WORK_BYTES]));
    let Ok(mut reader) = ArchiveReader::open(source, &mut content, &mut work) else {
        panic!("the header is right");
    };
    let mut seen = 0;
    while let Ok(Some(block)) = reader.next_block() {
        seen += 1;
        for item in block.items() {
            match item {
                Item::Run(run) => assert_eq!(run.samples().count(), run.len()),
                Item::Record(record) => assert!(record.payload.len() <= WORK_BYTES),
            }
        }
    }
    assert!(seen <= bytes.len() / 28);
});
