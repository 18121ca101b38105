//! Are two objects the same code and data?
//!
//! Compared are the header, every section (kind, flags, alignment, bytes, relocations), section groups and symbols.
//! Sections and symbols are told by name, so their order and numbers do not matter. Debug information is apart: `.debug_*`
//! and its like, `.comment`, file symbols and section symbols, which is what `strip -g` and the compiler's own version
//! line account for. Xtensa's `.xt.prop` and `.xtensa.info` are no debug information: the linker's relaxation reads them.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::{Context, Result, bail};
use object::elf;
use object::read::elf::{ElfFile, FileHeader, SectionHeader, Sym};
use object::{
    Object, ObjectComdat, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget,
    SymbolIndex,
};

/// The first difference between two objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The section, or what else of the object it is in (`symbols`, `header`, `section groups`).
    pub place: String,
    /// Offset into the section, in bytes.
    pub offset: Option<u64>,
    /// What the first object has there.
    pub left: String,
    /// What the second object has there.
    pub right: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.place)?;
        if let Some(offset) = self.offset {
            write!(f, " at offset {offset:#x}")?;
        }
        write!(f, ": {} against {}", self.left, self.right)
    }
}

/// The first difference in code and data between two ELF objects; `None` where they agree.
///
/// # Errors
/// One of them is no ELF object, or is damaged.
pub fn objects(left: &[u8], right: &[u8]) -> Result<Option<Difference>> {
    let (left, right) = (Image::read(left)?, Image::read(right)?);
    Ok(left.first_difference(&right))
}

/// The compiler that made an object, in its own words (`.comment`), for example
/// `GCC: (crosstool-NG esp-14.2.0_20260121) 14.2.0`; `None` where it does not say.
pub fn compiler(object: &[u8]) -> Result<Option<String>> {
    let file = object::File::parse(object)?;
    let Some(section) = file.section_by_name(".comment") else {
        return Ok(None);
    };
    let texts = section
        .data()?
        .split(|byte| *byte == 0)
        .filter(|text| !text.is_empty());
    let texts: Vec<_> = texts.map(String::from_utf8_lossy).collect();
    Ok((!texts.is_empty()).then(|| texts.join("; ")))
}

/// Whether a section is debug information, or the compiler's version line.
fn is_debug(name: &str) -> bool {
    [
        ".debug",
        ".zdebug",
        ".gnu.debug",
        ".stab",
        ".comment",
        ".line",
    ]
    .iter()
    .any(|prefix| name.starts_with(prefix))
}

/// An object in a form that does not depend on numbering.
struct Image {
    header: String,
    sections: BTreeMap<Name, Section>,
    groups: Vec<String>,
    symbols: Vec<Symbol>,
}

/// A section's name; sections of one name are told apart by their order among themselves.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Name(String, usize);

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.1 {
            0 => f.write_str(&self.0),
            more => write!(f, "{} (number {})", self.0, more + 1),
        }
    }
}

struct Section {
    kind: u32,
    flags: u64,
    align: u64,
    entry_size: u64,
    size: u64,
    /// Empty where the section takes no room in the file.
    bytes: Vec<u8>,
    relocations: Vec<(u64, String)>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Symbol {
    name: String,
    described: String,
}

impl Image {
    fn read(bytes: &[u8]) -> Result<Self> {
        match object::FileKind::parse(bytes)? {
            object::FileKind::Elf32 => Self::of(
                &ElfFile::<elf::FileHeader32<object::Endianness>>::parse(bytes)?,
            ),
            object::FileKind::Elf64 => Self::of(
                &ElfFile::<elf::FileHeader64<object::Endianness>>::parse(bytes)?,
            ),
            other => bail!("not an ELF object but {other:?}"),
        }
    }

    fn of<Elf: FileHeader>(file: &ElfFile<'_, Elf>) -> Result<Self> {
        let endian = file.endian();
        let head = file.elf_header();
        let header = format!(
            "machine {}, type {}, flags {:#x}, {}-bit, {}",
            head.e_machine(endian).0,
            head.e_type(endian).0,
            head.e_flags(endian).0,
            if file.is_64() { 64 } else { 32 },
            if file.is_little_endian() {
                "little endian"
            } else {
                "big endian"
            },
        );
        let names = section_names(file)?;
        let mut image = Self {
            header,
            sections: BTreeMap::new(),
            groups: Vec::new(),
            symbols: Vec::new(),
        };
        for section in file.sections() {
            let Some(name) = names.get(&section.index().0) else {
                continue;
            };
            if !is_debug(&name.0) {
                let context = || format!("section {name}");
                image.sections.insert(
                    name.clone(),
                    read_section(file, &section, &names).with_context(context)?,
                );
            }
        }
        for comdat in file.comdats() {
            let members = comdat
                .sections()
                .filter_map(|index| names.get(&index.0))
                .map(Name::to_string);
            image.groups.push(format!(
                "{} {:?} [{}]",
                comdat.name()?,
                comdat.kind(),
                members.collect::<Vec<_>>().join(" ")
            ));
        }
        image.groups.sort();
        for symbol in file.symbols() {
            let raw = symbol.elf_symbol();
            let debug = symbol
                .section_index()
                .and_then(|index| names.get(&index.0))
                .is_some_and(|name| is_debug(&name.0));
            if !debug && raw.st_type() != elf::STT_SECTION && raw.st_type() != elf::STT_FILE {
                let name = symbol.name()?.to_owned();
                image.symbols.push(Symbol {
                    name,
                    described: describe(file, symbol.index(), &names)?,
                });
            }
        }
        image.symbols.sort();
        Ok(image)
    }

    fn first_difference(&self, other: &Self) -> Option<Difference> {
        let text = |place: &str, left: &str, right: &str| {
            (left != right).then(|| Difference {
                place: place.to_owned(),
                offset: None,
                left: left.to_owned(),
                right: right.to_owned(),
            })
        };
        text("header", &self.header, &other.header)
            .or_else(|| self.differing_section(other))
            .or_else(|| {
                text(
                    "section groups",
                    &self.groups.join(", "),
                    &other.groups.join(", "),
                )
            })
            .or_else(|| differing_symbol(&self.symbols, &other.symbols))
    }

    fn differing_section(&self, other: &Self) -> Option<Difference> {
        let alone = |name: &Name, left: &str, right: &str| Difference {
            place: format!("section {name}"),
            offset: None,
            left: left.to_owned(),
            right: right.to_owned(),
        };
        // Code first: where that differs, unwind tables and the like follow, and tell less.
        let (code, rest): (Vec<_>, Vec<_>) = self
            .sections
            .iter()
            .partition(|(_, section)| section.is_code());
        for (name, left) in code.into_iter().chain(rest) {
            let Some(right) = other.sections.get(name) else {
                return Some(alone(name, "there", "absent"));
            };
            if let Some(difference) = left.first_difference(name, right) {
                return Some(difference);
            }
        }
        other
            .sections
            .keys()
            .find(|name| !self.sections.contains_key(name))
            .map(|name| alone(name, "absent", "there"))
    }
}

impl Section {
    fn is_code(&self) -> bool {
        self.flags & elf::SHF_EXECINSTR.0 != 0
    }

    fn first_difference(&self, name: &Name, other: &Self) -> Option<Difference> {
        let at = |place: String, offset: Option<u64>, left: String, right: String| {
            Some(Difference {
                place,
                offset,
                left,
                right,
            })
        };
        if let Some(offset) = self
            .bytes
            .iter()
            .zip(&other.bytes)
            .position(|(left, right)| left != right)
        {
            let byte = |bytes: &[u8]| format!("byte {:#04x}", bytes[offset]);
            return at(
                format!("section {name}"),
                Some(offset as u64),
                byte(&self.bytes),
                byte(&other.bytes),
            );
        }
        if self.shape() != other.shape() {
            return at(format!("section {name}"), None, self.shape(), other.shape());
        }
        let nothing = || "no relocation".to_owned();
        let longest = self.relocations.len().max(other.relocations.len());
        let number = (0..longest)
            .find(|number| self.relocations.get(*number) != other.relocations.get(*number))?;
        let (left, right) = (self.relocations.get(number), other.relocations.get(number));
        let offset = left
            .iter()
            .chain(right.iter())
            .map(|relocation| relocation.0)
            .min();
        let show = |relocation: Option<&(u64, String)>| {
            relocation.map_or_else(nothing, |r| format!("{:#x}: {}", r.0, r.1))
        };
        at(
            format!("relocations of section {name}"),
            offset,
            show(left),
            show(right),
        )
    }

    fn shape(&self) -> String {
        format!(
            "type {}, flags {:#x}, alignment {}, entry size {}, {} bytes",
            self.kind, self.flags, self.align, self.entry_size, self.size
        )
    }
}

fn differing_symbol(left: &[Symbol], right: &[Symbol]) -> Option<Difference> {
    let number = left
        .iter()
        .zip(right)
        .take_while(|(left, right)| left == right)
        .count();
    let (left, right) = (left.get(number), right.get(number));
    let first = left.into_iter().chain(right).min()?;
    // Lists are sorted: a symbol that only one side has shows up as two different names.
    let show = |symbol: Option<&Symbol>| match symbol {
        Some(symbol) if symbol.name == first.name => symbol.described.clone(),
        _ => "absent".to_owned(),
    };
    Some(Difference {
        place: format!("symbol `{}`", first.name),
        offset: None,
        left: show(left),
        right: show(right),
    })
}

/// Names of the sections that hold content: not the tables that numbers refer to, which are read through their users.
fn section_names<Elf: FileHeader>(file: &ElfFile<'_, Elf>) -> Result<BTreeMap<usize, Name>> {
    let tables = [
        elf::SHT_NULL,
        elf::SHT_SYMTAB,
        elf::SHT_STRTAB,
        elf::SHT_RELA,
        elf::SHT_REL,
        elf::SHT_GROUP,
        elf::SHT_SYMTAB_SHNDX,
    ];
    let mut seen = BTreeMap::new();
    let mut names = BTreeMap::new();
    for section in file.sections() {
        if tables.contains(&section.elf_section_header().sh_type(file.endian())) {
            continue;
        }
        let name = section.name()?.to_owned();
        let number: &mut usize = seen.entry(name.clone()).or_default();
        names.insert(section.index().0, Name(name, *number));
        *number += 1;
    }
    Ok(names)
}

fn read_section<Elf: FileHeader>(
    file: &ElfFile<'_, Elf>,
    section: &object::read::elf::ElfSection<'_, '_, Elf>,
    names: &BTreeMap<usize, Name>,
) -> Result<Section> {
    let endian = file.endian();
    let header = section.elf_section_header();
    let mut relocations = Vec::new();
    for (offset, relocation) in section.relocations() {
        let target = match relocation.target() {
            RelocationTarget::Symbol(index) => describe(file, index, names)?,
            other => format!("{other:?}"),
        };
        let RelocationFlags::Elf { r_type, .. } = relocation.flags() else {
            bail!("a relocation at {offset:#x} is of no ELF type");
        };
        relocations.push((
            offset,
            format!("type {} to {target} + {}", r_type.0, relocation.addend()),
        ));
    }
    Ok(Section {
        kind: header.sh_type(endian).0,
        flags: header.sh_flags(endian).0,
        align: section.align(),
        entry_size: header.sh_entsize(endian).into(),
        size: section.size(),
        bytes: section.data()?.to_vec(),
        relocations,
    })
}

/// A symbol without its number: name, where it is, value, size, binding, type, visibility. A section symbol is its section.
fn describe<Elf: FileHeader>(
    file: &ElfFile<'_, Elf>,
    index: SymbolIndex,
    names: &BTreeMap<usize, Name>,
) -> Result<String> {
    let symbol = file.symbol_by_index(index)?;
    let raw = symbol.elf_symbol();
    let endian = file.endian();
    let home = match symbol
        .section_index()
        .and_then(|section| names.get(&section.0))
    {
        Some(name) => name.to_string(),
        None => format!("{:?}", symbol.section()),
    };
    if raw.st_type() == elf::STT_SECTION {
        return Ok(format!("section {home}"));
    }
    let (value, size): (u64, u64) = (raw.st_value(endian).into(), raw.st_size(endian).into());
    Ok(format!(
        "`{}` in {home}, value {value:#x}, size {size}, info {:#x}, other {:#x}",
        symbol.name()?,
        raw.st_info().0,
        raw.st_other().0
    ))
}

#[cfg(test)]
mod tests;
