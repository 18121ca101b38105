//! Made-up Xtensa objects, archives, programs and libraries trees; integration tests include this file by path.
#![allow(dead_code, reason = "each test program uses its part")]

use std::path::Path;

use fs_err as fs;
use object::write::{Object, StandardSection, Symbol, SymbolSection};
use object::{Architecture, BinaryFormat, Endianness, SymbolFlags, SymbolKind, SymbolScope};
use serde_json::json;
use sha2::{Digest, Sha256};

/// The variants of the ESP32-S3.
pub(crate) const VARIANTS: [&str; 5] = ["dio_opi", "dio_qspi", "opi_opi", "qio_opi", "qio_qspi"];

/// An object for `architecture` that defines and refers to these names.
pub(crate) fn object_for(architecture: Architecture, defines: &[&str], refers: &[&str]) -> Vec<u8> {
    let mut object = Object::new(BinaryFormat::Elf, architecture, Endianness::Little);
    let text = object.section_id(StandardSection::Text);
    object.append_section_data(text, &[0; 16], 4);
    let symbol = |name: &str, section| Symbol {
        name: name.as_bytes().to_vec(),
        value: 0,
        size: 4,
        kind: SymbolKind::Text,
        // GCC's copies of functions are local.
        scope: if name.contains('$') {
            SymbolScope::Compilation
        } else {
            SymbolScope::Linkage
        },
        weak: false,
        section,
        flags: SymbolFlags::None,
    };
    for name in defines {
        object.add_symbol(symbol(name, SymbolSection::Section(text)));
    }
    for name in refers {
        object.add_symbol(symbol(name, SymbolSection::Undefined));
    }
    object.write().unwrap()
}

/// The same for Xtensa.
pub(crate) fn object(defines: &[&str], refers: &[&str]) -> Vec<u8> {
    object_for(Architecture::Xtensa, defines, refers)
}

/// A GNU archive with a symbol index; each member: its name, its content, the names that the index gives for it.
pub(crate) fn archive(members: &[(&str, Vec<u8>, &[&str])]) -> Vec<u8> {
    let header = |name: &str, size: usize| {
        format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, 0, 644).into_bytes()
    };
    let mut names = Vec::new();
    let mut strings = Vec::new();
    let mut places = Vec::new();
    for (name, _, symbols) in members {
        places.push(names.len());
        names.extend(format!("{name}/\n").into_bytes());
        for symbol in *symbols {
            strings.extend(symbol.bytes().chain([0]));
        }
    }
    let even = |bytes: &mut Vec<u8>| bytes.resize(bytes.len().next_multiple_of(2), b'\n');
    let count: usize = members.iter().map(|(_, _, symbols)| symbols.len()).sum();
    let mut index_size = 4 + 4 * count + strings.len();
    strings.resize(strings.len() + index_size % 2, 0);
    index_size += index_size % 2;
    even(&mut names);
    let mut offset = 8 + 60 + index_size + 60 + names.len();
    let mut out = b"!<arch>\n".to_vec();
    out.extend(header("/", index_size));
    out.extend(u32::try_from(count).unwrap().to_be_bytes());
    for (_, data, symbols) in members {
        for _ in *symbols {
            out.extend(u32::try_from(offset).unwrap().to_be_bytes());
        }
        offset += 60 + data.len().next_multiple_of(2);
    }
    out.extend(strings);
    out.extend(header("//", names.len()));
    out.extend(names);
    for ((_, data, _), place) in members.iter().zip(places) {
        out.extend(header(&format!("/{place}"), data.len()));
        out.extend(data);
        even(&mut out);
    }
    out
}

/// The settings of a memory variant.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Made {
    pub(crate) code: bool,
    pub(crate) constants: bool,
    pub(crate) ecc: bool,
    pub(crate) started: bool,
}

/// What the patch set xip-ecc makes of `variant`, or stock.
pub(crate) fn settings(variant: &str, patched: bool) -> Made {
    let octal = variant.ends_with("_opi");
    Made {
        code: patched && octal,
        constants: patched && octal,
        ecc: patched && octal,
        started: octal,
    }
}

/// The text of sdkconfig.h.
pub(crate) fn sdkconfig(made: Made) -> String {
    let mut text = "#pragma once\n#define CONFIG_IDF_TARGET \"esp32s3\"\n".to_owned();
    for (on, symbol) in [
        (made.started, "BOOT_INIT"),
        (made.code && made.constants, "XIP_FROM_PSRAM"),
        (made.code, "FETCH_INSTRUCTIONS"),
        (made.constants, "RODATA"),
        (made.ecc, "ECC_ENABLE"),
    ] {
        if on {
            text.push_str(&format!("#define CONFIG_SPIRAM_{symbol} 1\n"));
        }
    }
    text
}

/// Writes a file below `root`.
pub(crate) fn write(root: &Path, path: &str, content: impl AsRef<[u8]>) {
    let file = root.join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, content).unwrap();
}

/// Writes what a memory variant of these settings holds.
pub(crate) fn write_variant(root: &Path, variant: &str, header: Made, archives: Made) {
    write(
        root,
        &format!("{variant}/include/sdkconfig.h"),
        sdkconfig(header),
    );
    write(root, &format!("{variant}/sections.ld"), "SECTIONS {}\n");
    let one = |archive: &str, member: &str, defines: &[&str], refers: &[&str]| {
        // Beside the member that shows it stands one that does not, as in the real archives.
        let other = object(&["other"], &[]);
        let data = object(defines, refers);
        let content = self::archive(&[("other.c.obj", other, &["other"]), (member, data, defines)]);
        write(root, &format!("{variant}/{archive}"), content);
    };
    let cache = "spi_flash_disable_interrupts_caches_and_other_cpu";
    let refers: &[&str] = if archives.code && archives.constants {
        &[]
    } else {
        &[cache]
    };
    one(
        "libspi_flash.a",
        "spi_flash_os_func_app.c.obj",
        &["esp_flash_init_os_functions"],
        refers,
    );
    let mut defines = Vec::new();
    if archives.code {
        defines.push("mmu_config_psram_text_segment");
    }
    if archives.constants {
        defines.push("mmu_config_psram_rodata_segment");
    }
    one("libesp_psram.a", "mmu_psram_flash.c.obj", &defines, &[]);
    let refers: &[&str] = if archives.started {
        &["esp_psram_init"]
    } else {
        &[]
    };
    one(
        "libesp_system.a",
        "cpu_start.c.obj",
        &["call_start_cpu0"],
        refers,
    );
}

/// Writes a whole tree for the ESP32-S3, without a manifest.
pub(crate) fn write_tree(root: &Path, patched: bool) {
    for variant in VARIANTS {
        let made = settings(variant, patched);
        write_variant(root, variant, made, made);
    }
    for (file, text) in [
        ("S_flags", "-mlongcalls"),
        ("c_flags", "-mlongcalls -Os"),
        ("cpp_flags", "-mlongcalls -fno-rtti"),
        ("defines", "-DESP_PLATFORM"),
        ("includes", "-iwithprefixbefore heap/include"),
        ("ld_flags", "-mlongcalls -Wl,--gc-sections"),
        (
            "ld_libs",
            "-lspi_flash -lesp_psram -lesp_system -lheap -lc -lgcc -lspi_flash",
        ),
        ("ld_scripts", "-T memory.ld -T sections.ld"),
    ] {
        write(root, &format!("flags/{file}"), text);
    }
    let heap = archive(&[("heap.c.obj", object(&["heap_init"], &[]), &["heap_init"])]);
    write(root, "lib/libheap.a", heap);
    write(root, "ld/memory.ld", "MEMORY {}\n");
    write(root, "include/heap/include/heap.h", "#pragma once\n");
    write(root, "sdkconfig", "CONFIG_SPIRAM=y\n");
    write(root, "versions.txt", "esp-idf: v5.5.5 b774170\n");
    let program = program(&[("text", 0x4037_0000, 16, true)], &[], &["main"]);
    for name in ["qio_80m", "qio_120m", "dio_80m", "opi_80m"] {
        write(root, &format!("bin/bootloader_{name}.elf"), &program);
    }
}

/// The manifest of the tree as it stands, of a quick build with the patch set xip-ecc.
pub(crate) fn manifest(root: &Path) -> serde_json::Value {
    let mut files: Vec<(String, std::path::PathBuf)> = walkdir::WalkDir::new(root)
        .into_iter()
        .map(Result::unwrap)
        .filter(|entry| entry.file_type().is_file())
        .map(|entry| {
            let below = entry.path().strip_prefix(root).unwrap();
            let parts: Vec<&str> = below.iter().map(|part| part.to_str().unwrap()).collect();
            (parts.join("/"), entry.path().to_owned())
        })
        .filter(|(path, _)| path != "libs-manifest.json")
        .collect();
    files.sort();
    let files: Vec<_> = files
        .into_iter()
        .map(|(path, file)| {
            let bytes = fs::read(file).unwrap();
            let hash: String = Sha256::digest(&bytes)
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect();
            json!({"path": path, "size": bytes.len(), "sha256": hash})
        })
        .collect();
    let effective: serde_json::Map<_, _> = VARIANTS
        .iter()
        .map(|variant| {
            let on = if settings(variant, true).code {
                "y"
            } else {
                "n"
            };
            let symbols =
                json!({"CONFIG_SPIRAM_XIP_FROM_PSRAM": on, "CONFIG_SPIRAM_ECC_ENABLE": on});
            ((*variant).to_owned(), symbols)
        })
        .collect();
    json!({
        "schema": 1, "core": "3.3.12", "chip": "esp32s3",
        "patch_set": {"name": "xip-ecc", "suffix": "xip-ecc", "lines": {}},
        "sources": [], "components": {},
        "build": {"way": "quick", "compiler": "gcc", "proven": true, "members": []},
        "effective": effective, "files": files,
    })
}

/// Writes a tree and its manifest.
pub(crate) fn write_package(root: &Path) {
    write_tree(root, true);
    write(root, "libs-manifest.json", manifest(root).to_string());
}

/// A linked program: sections (name, address, size, whether the file holds their content), local symbols behind the name
/// of their source file, global symbols.
pub(crate) fn program(
    sections: &[(&str, u32, u32, bool)],
    locals: &[(&str, &[&str])],
    globals: &[&str],
) -> Vec<u8> {
    let mut object = Object::new(BinaryFormat::Elf, Architecture::Xtensa, Endianness::Little);
    let mut ids = Vec::new();
    for (name, _, size, content) in sections {
        let kind = if *content {
            object::SectionKind::Text
        } else {
            object::SectionKind::UninitializedData
        };
        let id = object.add_section(Vec::new(), name.as_bytes().to_vec(), kind);
        if *content {
            object.append_section_data(id, &vec![0; *size as usize], 4);
        } else {
            object.append_section_bss(id, (*size).into(), 4);
        }
        ids.push(id);
    }
    let symbol = |name: &str, kind, scope, section| Symbol {
        name: name.as_bytes().to_vec(),
        value: 0,
        size: 0,
        kind,
        scope,
        weak: false,
        section,
        flags: SymbolFlags::None,
    };
    let home = SymbolSection::Section(ids[0]);
    for (file, names) in locals {
        object.add_symbol(symbol(
            file,
            SymbolKind::File,
            SymbolScope::Compilation,
            SymbolSection::None,
        ));
        for name in *names {
            object.add_symbol(symbol(
                name,
                SymbolKind::Data,
                SymbolScope::Compilation,
                home,
            ));
        }
    }
    for name in globals {
        object.add_symbol(symbol(name, SymbolKind::Text, SymbolScope::Linkage, home));
    }
    let mut bytes = object.write().unwrap();
    link(&mut bytes, sections);
    bytes
}

/// Makes a program of an object: its type, and the address of each section. `object` writes objects only.
fn link(bytes: &mut [u8], sections: &[(&str, u32, u32, bool)]) {
    let word = |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let half = |bytes: &[u8], at: usize| u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap());
    // ELF32: e_type at 16, e_shoff at 32, e_shentsize at 46, e_shnum at 48, e_shstrndx at 50; in a section header sh_name
    // at 0, sh_addr at 12, sh_offset at 16.
    bytes[16..18].copy_from_slice(&2u16.to_le_bytes());
    let (table, size) = (word(bytes, 32) as usize, usize::from(half(bytes, 46)));
    let names = word(bytes, table + size * usize::from(half(bytes, 50)) + 16) as usize;
    for index in 0..usize::from(half(bytes, 48)) {
        let header = table + size * index;
        let start = names + word(bytes, header) as usize;
        let end = start + bytes[start..].iter().position(|byte| *byte == 0).unwrap();
        let address = sections
            .iter()
            .find(|(name, ..)| name.as_bytes() == &bytes[start..end])
            .map(|(_, address, ..)| *address);
        if let Some(address) = address {
            bytes[header + 12..header + 16].copy_from_slice(&address.to_le_bytes());
        }
    }
}
