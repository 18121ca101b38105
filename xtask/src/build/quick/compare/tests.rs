use std::path::Path;

use proptest::prelude::*;
use xshell::{Shell, cmd};

use super::*;
use crate::testing::skipped;

const SOURCE: &str = r#"
    #include <stddef.h>
    static int counter; int shared = 5; extern int far_away(int, const char *);
    static const char text[] = "a string that is data";
    __attribute__((section(".iram1.0"))) int in_iram(int x) { counter += x; return far_away(counter, text); }
    int twice(int x) { return in_iram(x) + in_iram(x + (int)sizeof text); }
    int (*table[])(int) = { in_iram, twice };
"#;

/// The compilers at hand: the host's, and a real Xtensa one.
fn compilers(test: &str) -> Vec<&'static str> {
    let all = if cfg!(target_os = "linux") {
        ["cc", "xtensa-lx106-elf-gcc"].as_slice()
    } else {
        &[]
    };
    let found: Vec<_> = all
        .iter()
        .copied()
        .filter(|cc| which::which(cc).is_ok())
        .collect();
    if found.len() < 2 {
        skipped(test, &format!("compilers of ELF objects found: {found:?}"));
    }
    found
}

fn compile(cc: &str, dir: &Path, source: &str, flags: &[&str]) -> Vec<u8> {
    let sh = Shell::new().unwrap();
    let (file, object) = (dir.join("source.c"), dir.join("object.o"));
    std::fs::write(&file, source).unwrap();
    cmd!(
        sh,
        "{cc} -c -Os -ffunction-sections -fdata-sections -fno-asynchronous-unwind-tables {flags...} {file} -o {object}"
    )
    .run()
    .unwrap();
    std::fs::read(&object).unwrap()
}

fn stripped(cc: &str, dir: &Path, object: &[u8]) -> Vec<u8> {
    let sh = Shell::new().unwrap();
    let objcopy = if cc == "cc" {
        "objcopy"
    } else {
        "xtensa-lx106-elf-objcopy"
    };
    let (from, to) = (dir.join("full.o"), dir.join("stripped.o"));
    std::fs::write(&from, object).unwrap();
    cmd!(
        sh,
        "{objcopy} --strip-debug --remove-section=.comment {from} {to}"
    )
    .run()
    .unwrap();
    std::fs::read(to).unwrap()
}

#[test]
fn debug_information_is_apart() {
    let dir = tempfile::tempdir().unwrap();
    for cc in compilers("debug_information_is_apart") {
        let full = compile(cc, dir.path(), SOURCE, &["-g"]);
        assert_eq!(objects(&full, &full).unwrap(), None);
        let bare = stripped(cc, dir.path(), &full);
        assert!(bare.len() < full.len());
        assert_eq!(objects(&full, &bare).unwrap(), None, "{cc}");
        let other = compile(cc, dir.path(), &format!("\n\n\n{SOURCE}"), &["-g"]);
        assert_ne!(other, full);
        assert_eq!(
            objects(&full, &other).unwrap(),
            None,
            "{cc}: only line numbers differ"
        );
    }
}

#[test]
fn order_and_numbers_do_not_matter() {
    let dir = tempfile::tempdir().unwrap();
    let one = "int a(void) { return 1; } int b(void) { return 2; }";
    let two = "int b(void) { return 2; } int a(void) { return 1; }";
    // The host alone: Xtensa's .xt.prop is one table whose own order is content.
    for cc in compilers("order_and_numbers_do_not_matter")
        .into_iter()
        .take(1)
    {
        let (one, two) = (
            compile(cc, dir.path(), one, &[]),
            compile(cc, dir.path(), two, &[]),
        );
        assert_ne!(one, two);
        assert_eq!(objects(&one, &two).unwrap(), None, "{cc}");
    }
}

#[test]
fn every_kind_of_difference_is_named() {
    let dir = tempfile::tempdir().unwrap();
    for cc in compilers("every_kind_of_difference_is_named") {
        let stock = compile(cc, dir.path(), SOURCE, &[]);
        let against = |from: &str, to: &str, flags: &[&str]| {
            let other = compile(cc, dir.path(), &SOURCE.replace(from, to), flags);
            let found = objects(&stock, &other)
                .unwrap()
                .unwrap_or_else(|| panic!("{cc}: {from} -> {to} not seen"));
            assert!(objects(&other, &stock).unwrap().is_some());
            found
        };
        let data = against("shared = 5", "shared = 6", &[]);
        assert_eq!(
            (data.place.as_str(), data.offset),
            ("section .data.shared", Some(0)),
            "{cc}"
        );
        assert_eq!(
            (data.left.as_str(), data.right.as_str()),
            ("byte 0x05", "byte 0x06")
        );
        let place = |found: Difference| found.place;
        assert!(
            place(against(
                "return in_iram(x) +",
                "return 3 * in_iram(x) +",
                &[]
            ))
            .contains("section")
        );
        let symbol = against("far_away(", "far_off(", &[]).to_string();
        assert!(
            symbol.contains("far_away") && symbol.contains("relocations of section"),
            "{symbol}"
        );
        assert!(
            place(against("int (*table", "static int (*volatile table", &[])).contains("table")
        );
        assert!(place(against("int shared = 5", "static int shared = 5", &[])).contains("shared"));
        assert!(
            place(against(
                "int shared = 5",
                "int shared __attribute__((aligned(64))) = 5",
                &[]
            ))
            .contains("shared")
        );
        assert!(place(against(".iram1.0", ".iram1.1", &[])).contains("section"));
        // Another flag on the command line, as when a stock archive was built otherwise.
        assert!(against("", "", &["-O0"]).place.contains("section"));
    }
}

#[test]
fn what_is_no_object_is_an_error() {
    assert!(objects(b"!<arch>\n", b"!<arch>\n").is_err());
    assert!(objects(b"", b"").is_err());
}

/// Where the bytes of code, data, relocations and the symbol table stand in an object.
fn telling_ranges(object: &[u8]) -> Vec<std::ops::Range<usize>> {
    let file = object::File::parse(object).unwrap();
    let range = |(start, size): (u64, u64)| start as usize..(start + size) as usize;
    let mut ranges: Vec<_> = file
        .sections()
        .filter(|section| {
            let name = section.name().unwrap_or_default();
            !is_debug(name.trim_start_matches(".rela"))
                && !matches!(name, ".strtab" | ".shstrtab" | ".symtab" | "")
        })
        .filter_map(|section| section.file_range().map(range))
        .collect();
    // The symbol table but for its first, empty entry: an entry's name (by offset), value, size, kind, section.
    let table = file
        .section_by_name(".symtab")
        .unwrap()
        .file_range()
        .unwrap();
    ranges.push(range((table.0 + 24, table.1 - 24)));
    ranges.retain(|range| !range.is_empty());
    ranges
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn one_flipped_bit_in_code_relocations_or_symbols_is_seen(which in any::<prop::sample::Index>(), bit in 0u8..8) {
        let Some(object) = sample_object() else { return Ok(()) };
        let ranges = telling_ranges(object);
        let mut place = which.index(ranges.iter().map(ExactSizeIterator::len).sum());
        let range = ranges.iter().find(|range| { let inside = place < range.len(); if !inside { place -= range.len(); } inside });
        let mut changed = object.to_vec();
        changed[range.unwrap().start + place] ^= 1 << bit;
        let outcome = objects(object, &changed);
        let unread = is_unread(object, range.unwrap().start + place);
        prop_assert!(unread || !matches!(outcome, Ok(None)), "byte {:#x}", range.unwrap().start + place);
    }

    #[test]
    fn a_damaged_object_is_no_panic(cut in any::<prop::sample::Index>(), flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8)) {
        let Some(object) = sample_object() else { return Ok(()) };
        let mut damaged = object.to_vec();
        for (index, value) in flips {
            *index.get_mut(&mut damaged) = value;
        }
        damaged.truncate(cut.index(object.len()).max(64));
        let _ = objects(object, &damaged);
    }
}

/// Bytes of the symbol table that say nothing of code: entries of file and section symbols.
fn is_unread(object: &[u8], offset: usize) -> bool {
    let file = object::File::parse(object).unwrap();
    let start = file
        .section_by_name(".symtab")
        .unwrap()
        .file_range()
        .unwrap()
        .0 as usize;
    let entry = if file.is_64() { 24 } else { 16 };
    offset >= start
        && file
            .symbol_by_index(SymbolIndex((offset - start) / entry))
            .is_ok_and(|symbol| {
                matches!(
                    symbol.kind(),
                    object::SymbolKind::File | object::SymbolKind::Section
                )
            })
}

fn sample_object() -> Option<&'static [u8]> {
    static OBJECT: std::sync::OnceLock<Option<Vec<u8>>> = std::sync::OnceLock::new();
    OBJECT
        .get_or_init(|| {
            let dir = tempfile::tempdir().unwrap();
            let cc = compilers("flipped bits").pop()?;
            Some(compile(cc, dir.path(), SOURCE, &["-g"]))
        })
        .as_deref()
}
