//! A linked program for the ESP32-S3: its sections, and where it says that it runs from.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use object::LittleEndian;
use object::elf;
use object::read::elf::{FileHeader, SectionHeader, Sym};
use serde::Serialize;

use super::object_file::{self, Kind, Machine, base_name};
use crate::names::Chip;

/// Where the ESP32-S3 sees code in flash or PSRAM, in bytes from and to (ESP-IDF components/esp_system/ld/esp32s3/memory.ld.in,
/// iram0_2_seg; components/soc/esp32s3/include/soc/ext_mem_defs.h).
const CODE: std::ops::Range<u64> = 0x4200_0000..0x4400_0000;
/// Where it sees constants there, and PSRAM's own variables.
const CONSTANTS: std::ops::Range<u64> = 0x3C00_0000..0x3E00_0000;
/// A page of its memory mapping, in bytes (CONFIG_MMU_PAGE_SIZE).
pub(super) const PAGE: u64 = 64 * 1024;

/// The sections that every program of the chip has.
const MUST_HAVE: [&str; 4] = [".flash.text", ".flash.rodata", ".iram0.text", ".dram0.data"];

/// A linked program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Its sections that take room in the chip's memory.
    pub sections: Vec<Section>,
    signs: Signs,
}

/// One section.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Section {
    /// Its name, for example `.flash.text`.
    pub name: String,
    /// Where it stands.
    pub address: u64,
    /// Its size in bytes.
    pub size: u64,
    /// Whether the file holds its content.
    #[serde(skip)]
    loaded: bool,
}

/// Symbols that show where a program runs from. A program without symbols has none of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Signs {
    /// Code is copied to PSRAM.
    code: bool,
    /// Constants are copied.
    constants: bool,
    /// The flash driver takes its lock: the cache stays on.
    lock: bool,
    /// The flash driver disables the cache.
    disables: bool,
}

/// Where a program runs from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// Code and constants are copied to PSRAM, and flash is written with the cache on.
    Psram,
    /// From flash; while that is written the cache is off.
    Flash,
    /// From flash; the flash chip suspends a write (`CONFIG_SPI_FLASH_AUTO_SUSPEND`), so the cache stays on.
    FlashSuspended,
}

impl Placement {
    /// As a person reads it, behind "it runs".
    pub fn shown(self) -> &'static str {
        match self {
            Self::Psram => "from PSRAM, code and constants; flash is written with the cache on",
            Self::Flash => "from flash; while that is written it stands still",
            Self::FlashSuspended => "from flash, whose chip suspends a write",
        }
    }
}

impl Program {
    /// Reads `bytes` as a program for `chip`.
    ///
    /// # Errors
    /// No ELF file, not for that chip's CPU, not linked, damaged.
    pub fn read(bytes: &[u8], chip: &Chip) -> Result<Self> {
        let file = object_file::read(bytes, Kind::Program, Machine::of(chip))?;
        let (header, endian) = (file.elf_header(), LittleEndian);
        let table = header
            .sections(endian, bytes)
            .context("a damaged ELF file")?;
        let mut sections = Vec::new();
        for section in table.iter() {
            let takes_room = section.sh_flags(endian).contains(elf::SHF_ALLOC);
            if !takes_room || section.sh_size(endian) == 0 {
                continue;
            }
            sections.push(Section {
                name: String::from_utf8_lossy(table.section_name(endian, section)?).into_owned(),
                address: section.sh_addr(endian).into(),
                size: section.sh_size(endian).into(),
                loaded: section.sh_type(endian) != elf::SHT_NOBITS,
            });
        }
        let (mut names, mut of_driver) = (BTreeSet::new(), BTreeSet::new());
        // A file's own symbols stand behind its name.
        let mut in_driver = false;
        let symbols = table
            .symbols(endian, bytes, elf::SHT_SYMTAB)
            .context("a damaged ELF file")?;
        for symbol in symbols.iter() {
            let name = symbol.name(endian, symbols.strings())?;
            let name = base_name(std::str::from_utf8(name)?);
            if symbol.st_type() == elf::STT_FILE {
                in_driver = name == "spi_flash_os_func_app.c";
            } else if symbol.st_bind() == elf::STB_LOCAL {
                if in_driver {
                    of_driver.insert(name);
                }
            } else if !symbol.is_undefined(endian) {
                names.insert(name);
            }
        }
        let signs = Signs {
            code: names.contains("mmu_config_psram_text_segment"),
            constants: names.contains("mmu_config_psram_rodata_segment"),
            lock: of_driver.contains("s_spi1_flash_mutex"),
            disables: of_driver.contains("cache_disable"),
        };
        Ok(Self { sections, signs })
    }

    /// Where it runs from.
    ///
    /// # Errors
    /// Its symbols contradict each other, or there are none: which.
    pub fn placement(&self) -> Result<Placement, String> {
        let signs = self.signs;
        match (signs.code, signs.constants, signs.lock, signs.disables) {
            (true, true, true, false) => Ok(Placement::Psram),
            (false, false, false, true) => Ok(Placement::Flash),
            (false, false, true, false) => Ok(Placement::FlashSuspended),
            (false, false, false, false) => Err(
                "it has no symbols of the flash driver: it was stripped, or is no Arduino program of this chip".into(),
            ),
            _ => {
                let tell = |on: bool, name: &'static str| {
                    format!("{} {name}", if on { "has" } else { "lacks" })
                };
                Err(format!(
                    "its parts are of different settings: it {}, {}, {}, {}",
                    tell(signs.code, "mmu_config_psram_text_segment"),
                    tell(signs.constants, "mmu_config_psram_rodata_segment"),
                    tell(signs.lock, "s_spi1_flash_mutex (cache on)"),
                    tell(signs.disables, "cache_disable (cache off)")
                ))
            }
        }
    }

    /// Sections that every program of the chip has, and this one lacks.
    pub(super) fn lacks(&self) -> Vec<&'static str> {
        MUST_HAVE
            .into_iter()
            .filter(|name| self.size(name) == 0)
            .collect()
    }

    /// The size of the section called `name` in bytes; 0 where there is none.
    pub fn size(&self, name: &str) -> u64 {
        self.sections
            .iter()
            .filter(|section| section.name == name)
            .map(|section| section.size)
            .sum()
    }

    /// Bytes of PSRAM that its code takes when it is copied there: whole pages.
    pub(super) fn code_pages(&self) -> u64 {
        self.pages(CODE)
    }

    /// Bytes of PSRAM that its constants take when they are copied there: whole pages.
    pub(super) fn constant_pages(&self) -> u64 {
        self.pages(CONSTANTS)
    }

    /// Bytes of PSRAM that its variables there take (`.ext_ram.bss`, `.ext_ram_noinit`).
    pub(super) fn variables(&self) -> u64 {
        self.sections
            .iter()
            .filter(|section| section.name.starts_with(".ext_ram"))
            .filter(|section| !section.name.ends_with("dummy"))
            .map(|section| section.size)
            .sum()
    }

    /// The bootloader maps whole pages from the first byte to the last one, and the copy takes all that is mapped (ESP-IDF
    /// components/esp_psram/xip_impl/mmu_psram_flash.c). What the file holds nothing of is not mapped: the gap as large as
    /// the code before the constants, PSRAM's variables behind them.
    fn pages(&self, place: std::ops::Range<u64>) -> u64 {
        let inside = || {
            self.sections
                .iter()
                .filter(|section| section.loaded && place.contains(&section.address))
        };
        let first = inside().map(|section| section.address).min();
        let last = inside().map(|section| section.address + section.size).max();
        match (first, last) {
            (Some(first), Some(last)) => last.next_multiple_of(PAGE) - first / PAGE * PAGE,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::made_up;
    use proptest::prelude::*;

    const SECTIONS: [(&str, u32, u32, bool); 8] = [
        (".iram0.text", 0x4037_4000, 0x100, true),
        (".dram0.data", 0x3FC8_8000, 0x80, true),
        (".flash.text", 0x4200_0020, 0x1_0000, true),
        (".flash_rodata_dummy", 0x3C00_0020, 0x1_0000, false),
        (".flash.appdesc", 0x3C02_0020, 0x100, true),
        (".flash.rodata", 0x3C02_0120, 0x80, true),
        (".ext_ram.dummy", 0x3C00_0020, 0x2_0000, false),
        (".ext_ram.bss", 0x3C03_0000, 0x400, false),
    ];
    const DRIVER: &str = "spi_flash_os_func_app.c";
    const COPIES: [&str; 2] = [
        "mmu_config_psram_text_segment",
        "mmu_config_psram_rodata_segment",
    ];

    fn chip() -> Chip {
        "esp32s3".parse().unwrap()
    }

    fn program(locals: &[(&str, &[&str])], globals: &[&str]) -> Program {
        Program::read(&made_up::program(&SECTIONS, locals, globals), &chip()).unwrap()
    }

    #[test]
    fn pages_are_whole_and_only_of_what_the_file_holds() {
        let program = program(&[], &["main"]);
        // Over the end of the first page by 0x20 bytes.
        assert_eq!(program.code_pages(), 2 * PAGE);
        assert_eq!(program.constant_pages(), PAGE);
        assert_eq!(program.variables(), 0x400);
        assert!(program.lacks().is_empty());
        assert_eq!(program.size(".flash.text"), 0x1_0000);
        let bare = made_up::program(&SECTIONS[..2], &[], &["main"]);
        let bare = Program::read(&bare, &chip()).unwrap();
        assert_eq!(bare.lacks(), [".flash.text", ".flash.rodata"]);
        assert_eq!((bare.code_pages(), bare.constant_pages()), (0, 0));
    }

    #[test]
    fn symbols_tell_where_it_runs_from() {
        let patched = program(
            &[("main.c", &["x"]), (DRIVER, &["s_spi1_flash_mutex"])],
            &COPIES,
        );
        assert_eq!(patched.placement(), Ok(Placement::Psram));
        let stock = program(&[(DRIVER, &["cache_disable$constprop$0"])], &["main"]);
        assert_eq!(stock.placement(), Ok(Placement::Flash));
        let suspended = program(&[(DRIVER, &["s_spi1_flash_mutex"])], &["main"]);
        assert_eq!(suspended.placement(), Ok(Placement::FlashSuspended));
        // A name in another file is that file's.
        let other = program(
            &[(DRIVER, &["x"]), ("main.c", &["cache_disable"])],
            &["main"],
        );
        assert!(other.placement().unwrap_err().contains("no symbols"));
        for (locals, globals) in [
            ("cache_disable", &COPIES[..]),
            ("s_spi1_flash_mutex", &COPIES[..1]),
            ("x", &COPIES[..]),
        ] {
            let mixed = program(&[(DRIVER, &[locals])], globals);
            let why = mixed.placement().unwrap_err();
            assert!(why.contains("different settings"), "{why}");
        }
    }

    #[test]
    fn only_a_linked_program_for_the_chip_is_read() {
        for bytes in [
            made_up::object(&["main"], &[]),
            made_up::object_for(object::Architecture::X86_64, &["main"], &[]),
            b"#!/bin/sh\n".to_vec(),
        ] {
            assert!(Program::read(&bytes, &chip()).is_err());
        }
    }

    proptest! {
        #[test]
        fn no_damage_makes_it_panic(at in any::<prop::sample::Index>(), with in any::<u8>(), cut in any::<bool>()) {
            let mut bytes = made_up::program(&SECTIONS, &[(DRIVER, &["cache_disable"])], &COPIES);
            let at = at.index(bytes.len());
            if cut {
                bytes.truncate(at);
            } else {
                bytes[at] = with;
            }
            if let Ok(program) = Program::read(&bytes, &chip()) {
                drop(program.placement());
                prop_assert_eq!(program.code_pages() % PAGE, 0);
                prop_assert_eq!(program.constant_pages() % PAGE, 0);
            }
        }
    }
}
