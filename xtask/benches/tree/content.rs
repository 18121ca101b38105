//! Content that compresses as upstream's does.
//!
//! Measured on a real tree with libdeflate's level 6: archives 29.9 %, headers 19.8 %, models 68.7 %.
//! - archives and ELF files are cut out of real object code: of the C libraries that this very program links
//!   (29.5 % as a whole), or, as a second opinion, of the Rust toolchain's own libraries (26.7 %). Every program packs
//!   each file by itself, so it does not matter that two files may share a stretch of the donor;
//! - headers, linker scripts and the rest of the text come from a small grammar, seeded by the path;
//! - speech models are bytes of a bell curve, as quantised weights are.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use fs_err as fs;
use xshell::{Shell, cmd};

/// Where the archives' bytes come from.
#[derive(Debug, Clone, Copy, Default, clap::ValueEnum)]
pub(crate) enum Donor {
    /// The C libraries that cargo built for this program.
    #[default]
    C,
    /// The libraries of the Rust toolchain.
    Rust,
}

/// Writes `files` below `tree`.
pub(crate) fn make(files: &[(String, usize)], donor: Donor, tree: &Path) -> Result<()> {
    let objects = donor.bytes()?;
    for (name, size) in files {
        let mut random = Random::of(name);
        let bytes = match name.rsplit('.').next() {
            Some("a" | "elf") => cut(&objects, *size, &mut random),
            Some("bin") => bell(*size, &mut random),
            _ => text(name, *size, &mut random),
        };
        let path = tree.join(name);
        fs::create_dir_all(path.parent().context("a relative path")?)?;
        fs::write(path, bytes)?;
    }
    Ok(())
}

/// Copies the tree `from` to `to`.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
    for entry in walkdir::WalkDir::new(from) {
        let entry = entry?;
        let target = to.join(entry.path().strip_prefix(from)?);
        if entry.file_type().is_dir() {
            fs::create_dir_all(target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// Reads every file once, so that all programs find a warm cache; gives their number and bytes.
pub(crate) fn read_all(tree: &Path) -> Result<(usize, u64)> {
    let (mut count, mut total) = (0, 0);
    for entry in walkdir::WalkDir::new(tree) {
        let entry = entry?;
        if entry.file_type().is_file() {
            count += 1;
            total += fs::read(entry.path())?.len() as u64;
        }
    }
    Ok((count, total))
}

impl Donor {
    /// All its archives, one after the other.
    fn bytes(self) -> Result<Vec<u8>> {
        let (root, extension) = match self {
            // <target>/<profile>/deps/<bench>-<hash> -> <target>/<profile>/build
            Self::C => {
                let program = std::env::current_exe()?;
                let profile = program.ancestors().nth(2).context("the target folder")?;
                (profile.join("build"), "a")
            }
            Self::Rust => {
                let sh = Shell::new()?;
                let root = cmd!(sh, "rustc --print sysroot").quiet().read()?;
                (PathBuf::from(root).join("lib/rustlib"), "rlib")
            }
        };
        let mut archives: Vec<PathBuf> = walkdir::WalkDir::new(&root)
            .into_iter()
            .filter_map(|entry| Some(entry.ok()?.into_path()))
            .filter(|path| path.extension().is_some_and(|found| found == extension))
            .collect();
        archives.sort();
        let mut bytes = Vec::new();
        for archive in &archives {
            fs::File::open(archive)?.read_to_end(&mut bytes)?;
        }
        ensure!(
            bytes.len() > 5_000_000,
            "{} holds only {} bytes of .{extension} files; the bench needs 5 MB",
            root.display(),
            bytes.len()
        );
        Ok(bytes)
    }
}

/// `size` bytes of the donor from some offset on, wrapped round.
fn cut(donor: &[u8], size: usize, random: &mut Random) -> Vec<u8> {
    let start = random.below(donor.len());
    donor
        .iter()
        .cycle()
        .skip(start)
        .take(size)
        .copied()
        .collect()
}

/// Bytes of a bell curve about zero with a deviation of some 11.
fn bell(size: usize, random: &mut Random) -> Vec<u8> {
    let byte = |_| (0..4).map(|_| random.below(19) as i32 - 9).sum::<i32>() as u8;
    (0..size).map(byte).collect()
}

const WORDS: [&str; 96] = [
    "the",
    "of",
    "to",
    "a",
    "is",
    "in",
    "and",
    "this",
    "for",
    "be",
    "if",
    "set",
    "value",
    "function",
    "config",
    "handle",
    "pointer",
    "buffer",
    "size",
    "data",
    "number",
    "event",
    "callback",
    "task",
    "queue",
    "timer",
    "interrupt",
    "driver",
    "channel",
    "register",
    "mode",
    "clock",
    "frequency",
    "address",
    "length",
    "flag",
    "error",
    "state",
    "default",
    "must",
    "when",
    "not",
    "by",
    "with",
    "or",
    "from",
    "will",
    "should",
    "returns",
    "used",
    "read",
    "write",
    "enable",
    "disable",
    "start",
    "stop",
    "init",
    "deinit",
    "get",
    "type",
    "level",
    "bit",
    "mask",
    "offset",
    "memory",
    "cache",
    "flash",
    "spi",
    "i2c",
    "uart",
    "gpio",
    "adc",
    "dma",
    "rtc",
    "wifi",
    "bluetooth",
    "packet",
    "frame",
    "header",
    "context",
    "session",
    "key",
    "certificate",
    "socket",
    "server",
    "client",
    "request",
    "response",
    "status",
    "count",
    "index",
    "list",
    "table",
    "entry",
    "option",
    "param",
];

const TYPES: [&str; 8] = [
    "uint32_t",
    "int",
    "void *",
    "const char *",
    "size_t",
    "bool",
    "uint8_t",
    "esp_err_t",
];

const LICENCE: &str = "\
/*
 * SPDX-FileCopyrightText: 2015-2026 The authors
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdint.h>
#include <stdbool.h>
#include \"esp_err.h\"

#ifdef __cplusplus
extern \"C\" {
#endif

";

/// A C header of exactly `size` bytes.
fn text(name: &str, size: usize, random: &mut Random) -> Vec<u8> {
    let unit = name
        .rsplit('/')
        .next()
        .unwrap_or(name)
        .split('.')
        .next()
        .unwrap_or(name);
    let mut out = LICENCE.to_owned();
    // A header is of one kind for the most part, as real ones are.
    let kind = random.below(4);
    while out.len() < size {
        match if random.below(8) == 0 {
            random.below(4)
        } else {
            kind
        } {
            0 => registers(&mut out, unit, random),
            1 => structure(&mut out, unit, random),
            _ => function(&mut out, unit, random),
        }
    }
    out.truncate(size);
    out.into_bytes()
}

fn function(out: &mut String, unit: &str, random: &mut Random) {
    let sentence = sentence(random, 12);
    let call = format!("{unit}_{}_{}", random.word(), random.word());
    *out += &format!("/**\n * @brief {sentence}\n *\n");
    let mut parameters = Vec::new();
    for _ in 0..1 + random.below(3) {
        let parameter = random.word();
        *out += &format!(" * @param[in] {parameter} {}\n", self::sentence(random, 7));
        parameters.push(format!("{} {parameter}", random.pick(&TYPES)));
    }
    *out += " *\n * @return\n *     - ESP_OK: Success\n *     - ESP_ERR_INVALID_ARG: Parameter error\n */\n";
    *out += &format!("esp_err_t {call}({});\n\n", parameters.join(", "));
}

fn structure(out: &mut String, unit: &str, random: &mut Random) {
    *out += "typedef struct {\n";
    for _ in 0..3 + random.below(6) {
        let field = format!(
            "{} {}_{};",
            random.pick(&TYPES),
            random.word(),
            random.word()
        );
        *out += &format!("    {field:<36} /*!< {} */\n", sentence(random, 6));
    }
    *out += &format!("}} {unit}_{}_t;\n\n", random.word());
}

fn registers(out: &mut String, unit: &str, random: &mut Random) {
    let unit = unit.to_uppercase();
    let register = format!("{unit}_{}_REG", random.word().to_uppercase());
    *out += &format!(
        "#define {register}          (DR_REG_BASE + 0x{:x})\n",
        4 * random.below(256)
    );
    let mut bit = 0;
    while bit < 32 {
        let width = 1 + random.below(8);
        let field = format!("{unit}_{}_{}", random.word(), random.word()).to_uppercase();
        *out += &format!(
            "/* {field} : R/W ;bitpos:[{bit}] ;default: {}'h0 ; */\n",
            width
        );
        *out += &format!("/*description: {}.*/\n", sentence(random, 8));
        let mask = (1_u64 << width) - 1;
        *out += &format!(
            "#define {field}    0x{mask:08x}\n#define {field}_M  (({field}_V)<<({field}_S))\n"
        );
        *out += &format!("#define {field}_V  0x{mask:x}\n#define {field}_S  {bit}\n");
        bit += width;
    }
}

fn sentence(random: &mut Random, words: usize) -> String {
    let words = 2 + random.below(words);
    (0..words)
        .map(|_| random.word())
        .collect::<Vec<_>>()
        .join(" ")
}

/// A small generator (splitmix64), the same on every machine.
pub(crate) struct Random(u64);

impl Random {
    /// Seeded by a text.
    pub(crate) fn of(text: &str) -> Self {
        Self(text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        }))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// 0 to 1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn below(&mut self, end: usize) -> usize {
        (self.unit() * end as f64) as usize
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    /// A word; those first in the list come most often, as in real text.
    fn word(&mut self) -> &'static str {
        let at = (WORDS.len() as f64).powf(self.unit()) - 1.0;
        WORDS[at as usize]
    }
}
