//! The machine that code is for, and the symbols of an object.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail};
use object::elf;
use object::read::elf::{ElfFile32, FileHeader};
use object::{LittleEndian, Object, ObjectSymbol};

use crate::names::Chip;

/// Chips with an Xtensa CPU; all others are RISC-V.
const XTENSA: [&str; 3] = ["esp32", "esp32s2", "esp32s3"];

/// The CPU of a chip, by its number in ELF (`e_machine`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Machine(elf::Machine);

impl Machine {
    /// The CPU of `chip`.
    pub(super) fn of(chip: &Chip) -> Self {
        if XTENSA.contains(&chip.as_str()) {
            Self(elf::EM_XTENSA)
        } else {
            Self(elf::EM_RISCV)
        }
    }

    /// Whether it is Xtensa.
    pub(super) fn is_xtensa(self) -> bool {
        self.0 == elf::EM_XTENSA
    }

    /// Its name.
    pub(super) fn name(self) -> String {
        match self.0 {
            elf::EM_XTENSA => "Xtensa".to_owned(),
            elf::EM_RISCV => "RISC-V".to_owned(),
            elf::EM_X86_64 => "x86-64".to_owned(),
            elf::EM_AARCH64 => "AArch64".to_owned(),
            elf::EM_ARM => "Arm".to_owned(),
            other => format!("machine {other}"),
        }
    }
}

/// What an ELF file is there for (`e_type`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// An object, to be linked.
    Object,
    /// A linked program.
    Program,
}

/// Reads `bytes` as a 32-bit little-endian ELF file of `kind` for `machine`.
///
/// # Errors
/// What it is instead.
pub(super) fn read(
    bytes: &[u8],
    kind: Kind,
    machine: Machine,
) -> Result<ElfFile32<'_, LittleEndian>> {
    match object::FileKind::parse(bytes) {
        Ok(object::FileKind::Elf32) => {}
        Ok(object::FileKind::Elf64) => {
            let found = elf::FileHeader64::<LittleEndian>::parse(bytes)
                .map(|header| Machine(header.e_machine(LittleEndian)).name())
                .unwrap_or_else(|_| "64-bit".to_owned());
            bail!("for {found}, not for {}", machine.name());
        }
        _ => bail!("no ELF file"),
    }
    let file = ElfFile32::<LittleEndian>::parse(bytes).context("a damaged ELF file")?;
    let header = file.elf_header();
    let found = Machine(header.e_machine(LittleEndian));
    if found != machine {
        bail!("for {}, not for {}", found.name(), machine.name());
    }
    match (kind, header.e_type(LittleEndian)) {
        (Kind::Object, elf::ET_REL) | (Kind::Program, elf::ET_EXEC) => Ok(file),
        (Kind::Object, _) => bail!("no object file"),
        (Kind::Program, _) => bail!("no linked program"),
    }
}

/// The names that an object defines and those that it refers to, each without what GCC puts behind a copy of a function
/// (`cache_disable$constprop$0`, as Xtensa's assembler writes `.constprop.0`).
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Symbols {
    /// Functions and variables, local ones too.
    pub(super) defined: BTreeSet<String>,
    /// What other objects must define.
    pub(super) undefined: BTreeSet<String>,
}

impl Symbols {
    /// Reads them.
    ///
    /// # Errors
    /// A name that is not UTF-8 or lies outside the file.
    pub(super) fn of(file: &ElfFile32<'_, LittleEndian>) -> Result<Self> {
        let mut symbols = Self::default();
        for symbol in file.symbols() {
            let name = base_name(symbol.name()?).to_owned();
            if symbol.is_undefined() {
                symbols.undefined.insert(name);
            } else {
                symbols.defined.insert(name);
            }
        }
        Ok(symbols)
    }
}

/// The function's own name.
pub(super) fn base_name(name: &str) -> &str {
    let end = ["constprop", "isra", "part", "cold"]
        .iter()
        .flat_map(|suffix| ['$', '.'].map(|separator| format!("{separator}{suffix}")))
        .filter_map(|suffix| name.find(&suffix))
        .min();
    &name[..end.unwrap_or(name.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_of_a_function_have_its_name() {
        for (name, base) in [
            ("cache_disable$constprop$0", "cache_disable"),
            ("cache_disable.isra.0.constprop.1", "cache_disable"),
            ("s_spi1_flash_mutex", "s_spi1_flash_mutex"),
            ("count$0", "count$0"),
            ("", ""),
        ] {
            assert_eq!(base_name(name), base);
        }
    }

    #[test]
    fn what_is_not_for_the_chip_is_named() {
        let machine = Machine::of(&"esp32s3".parse().unwrap());
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        for bytes in [&b""[..], b"\x7fELF", b"!<arch>\n", &own[..]] {
            let error = read(bytes, Kind::Object, machine).unwrap_err();
            let text = format!("{error:#}");
            assert!(
                text.starts_with("no ELF") || text.starts_with("for "),
                "{text}"
            );
        }
        assert!(!Machine::of(&"esp32c3".parse().unwrap()).is_xtensa());
    }
}
