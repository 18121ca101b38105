//! What the static library defines, and that it is nothing but its own.
//!
//! rustc adds its own runtime to a static library: `compiler_builtins` defines `sqrt`, `fmin`, `__udivdi3` and, in some
//! builds, `memcpy`. A linker may take those in place of the C library's, which on the chip stand in internal RAM or in
//! ROM, and the next flash write with the cache off crashes. After link-time optimisation nothing of ours needs that
//! runtime but through names that every C compiler's own runtime has, so its members are left out.

use std::collections::BTreeSet;
use std::io::Cursor;

use anyhow::{Context, Result, bail};
use ar_archive_writer::{ArchiveKind as WrittenKind, DEFAULT_OBJECT_READER, NewArchiveMember};
use object::read::archive::{ArchiveFile, ArchiveKind};
use object::{Architecture, BinaryFormat, Object, ObjectSymbol};

use crate::exit::Refusal;

/// What each C function's name begins with.
pub const PREFIX: &str = "flightlog_";

/// The personality function of Rust's standard library, which comes with it on a host.
const PERSONALITY: &str = "rust_eh_personality";

/// What the C library gives, as far as compiled Rust code calls it.
const C_LIBRARY: [&str; 7] = [
    "abort", "bcmp", "memcmp", "memcpy", "memmove", "memset", "strlen",
];

/// A static library, reduced to what C calls.
#[derive(Debug)]
pub struct Reduced {
    /// The archive.
    pub bytes: Vec<u8>,
    /// The C functions that it defines, sorted.
    pub defines: Vec<String>,
    /// What it leaves to the C library and the compiler's runtime, sorted.
    pub needs: Vec<String>,
    /// Members that were left out.
    pub left_out: usize,
    /// What its code is for.
    pub architecture: Architecture,
}

/// Keeps the members that define C functions of ours, under the name `flightlog`, and checks the outcome.
///
/// `freestanding`: it is for a chip, where only a small part of the C library and the compiler's 32-bit runtime are there.
///
/// # Errors
/// Not an archive; [`Refusal::Check`] where it defines a foreign name or needs what nobody gives.
pub fn reduce(bytes: &[u8], freestanding: bool) -> Result<Reduced> {
    let file = ArchiveFile::parse(bytes).context("not a static library")?;
    let mut kept: Vec<&[u8]> = Vec::new();
    let mut found = Symbols::default();
    let mut left_out = 0;
    let mut architecture = None;
    for member in file.members() {
        let data = member?.data(bytes)?;
        let symbols = Symbols::of(data)?;
        if symbols.defined.iter().any(|name| name.starts_with(PREFIX)) {
            architecture = Some(object::File::parse(data)?.architecture());
            found.defined.extend(symbols.defined);
            found.needed.extend(symbols.needed);
            kept.push(data);
        } else {
            left_out += 1;
        }
    }
    let Some(architecture) = architecture else {
        bail!("the static library defines no function that begins with {PREFIX}");
    };
    found.check(freestanding)?;
    let defined = &found.defined;
    let needs = found.needed.iter().filter(|name| !defined.contains(*name));
    Ok(Reduced {
        bytes: write(&kept, file.kind())?,
        defines: defined
            .iter()
            .filter(|name| name.starts_with(PREFIX))
            .cloned()
            .collect(),
        needs: needs.cloned().collect(),
        left_out,
        architecture,
    })
}

/// Checks a static library as it stands: that it defines our names alone.
///
/// # Errors
/// As [`reduce`].
pub fn check(bytes: &[u8], freestanding: bool) -> Result<()> {
    let file = ArchiveFile::parse(bytes).context("not a static library")?;
    let mut found = Symbols::default();
    for member in file.members() {
        let symbols = Symbols::of(member?.data(bytes)?)?;
        found.defined.extend(symbols.defined);
        found.needed.extend(symbols.needed);
    }
    found.check(freestanding)
}

/// Names of symbols that other objects see, without the underscore that Mach-O puts before them.
#[derive(Debug, Default)]
struct Symbols {
    defined: BTreeSet<String>,
    needed: BTreeSet<String>,
}

impl Symbols {
    fn of(data: &[u8]) -> Result<Self> {
        let object = object::File::parse(data).context("a member is no object file")?;
        let underscore = object.format() == BinaryFormat::MachO;
        let mut symbols = Self::default();
        for symbol in object.symbols() {
            let name = symbol.name().context("a symbol's name cannot be read")?;
            let name = if underscore {
                name.strip_prefix('_').unwrap_or(name)
            } else {
                name
            };
            if name.is_empty() {
                continue;
            }
            if symbol.is_undefined() {
                symbols.needed.insert(name.to_owned());
            } else if symbol.is_global() {
                symbols.defined.insert(name.to_owned());
            }
        }
        Ok(symbols)
    }

    fn check(&self, freestanding: bool) -> Result<()> {
        let foreign: Vec<_> = self
            .defined
            .iter()
            .filter(|name| !is_own(name, freestanding))
            .map(String::as_str)
            .collect();
        if !foreign.is_empty() {
            bail!(Refusal::Check(format!(
                "the static library defines {}: a linker may take that in place of the C library's, and code that must be in \
                 internal RAM would no longer be",
                foreign.join(", ")
            )));
        }
        let missing: Vec<_> = self
            .needed
            .iter()
            .filter(|name| freestanding && !self.defined.contains(*name) && !is_given(name))
            .map(String::as_str)
            .collect();
        if !missing.is_empty() {
            bail!(Refusal::Check(format!(
                "the static library needs {}, which neither the C library nor the compiler's runtime of a 32-bit chip has",
                missing.join(", ")
            )));
        }
        Ok(())
    }
}

/// Whether our archive may define this name: a C function of ours, or a mangled name of Rust.
fn is_own(name: &str, freestanding: bool) -> bool {
    let mangled = name.starts_with("_R") || name.starts_with("_ZN");
    // A host's standard library is in the archive too.
    let host = !freestanding && (name.ends_with(PERSONALITY) || name.contains("._R"));
    name.starts_with(PREFIX) || mangled || host
}

/// Whether the C library gives this name, or the compiler's runtime: `__udivdi3`, `__ashldi3`, `__addsf3` and their kind, on
/// numbers of 64 bits at most.
fn is_given(name: &str) -> bool {
    let helper = name.strip_prefix("__").is_some_and(|rest| {
        let stem = rest.trim_end_matches(|c: char| c.is_ascii_digit());
        let plain = rest
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
        // `__floatuntidf` takes 128 bits and gives 64; nothing on 32 bits has it.
        let wide = rest.contains("ti");
        plain
            && !wide
            && ["si", "di", "sf", "df"]
                .iter()
                .any(|mode| stem.ends_with(mode))
    });
    helper || C_LIBRARY.contains(&name)
}

/// An archive of these members with a symbol index, as `ar rcs` makes one, without times and users.
fn write(members: &[&[u8]], kind: ArchiveKind) -> Result<Vec<u8>> {
    let kind = match kind {
        ArchiveKind::Gnu | ArchiveKind::Unknown => WrittenKind::Gnu,
        ArchiveKind::Gnu64 => WrittenKind::Gnu64,
        ArchiveKind::Bsd | ArchiveKind::Bsd64 => WrittenKind::Darwin,
        ArchiveKind::Coff => WrittenKind::Coff,
        other => bail!("static libraries of the kind {other:?} are not known here"),
    };
    let members: Vec<_> = members
        .iter()
        .enumerate()
        .map(|(index, data)| {
            NewArchiveMember::new(*data, &DEFAULT_OBJECT_READER, format!("flightlog{index}.o"))
        })
        .collect();
    let mut out = Cursor::new(Vec::new());
    ar_archive_writer::write_archive_to_stream(&mut out, &members, kind, false, None)
        .context("writing the static library")?;
    Ok(out.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use assert_cmd::Command;
    use std::path::Path;

    /// A static library of what `sources` say, a member each; `None` where this machine has no C compiler.
    fn compiled(test: &str, sources: &[&str]) -> Option<Vec<u8>> {
        let (Ok(cc), Ok(ar)) = (which::which("cc"), which::which("ar")) else {
            testing::skipped(test, "cc or ar is missing");
            return None;
        };
        let dir = tempfile::tempdir().unwrap();
        let run = |program: &Path, words: &[String]| {
            Command::new(program)
                .args(words)
                .current_dir(dir.path())
                .assert()
                .success();
        };
        let mut words = vec!["rcs".to_owned(), "all.a".to_owned()];
        for (index, source) in sources.iter().enumerate() {
            std::fs::write(dir.path().join(format!("{index}.c")), source).unwrap();
            run(
                &cc,
                &["-c".into(), "-fno-builtin".into(), format!("{index}.c")],
            );
            words.push(format!("{index}.o"));
        }
        run(&ar, &words);
        Some(std::fs::read(dir.path().join("all.a")).unwrap())
    }

    const OURS: &str = "int helper(int); int flightlog_add(int a) { return a + 1; }";

    #[test]
    fn foreign_members_are_left_out_and_our_own_kept() {
        let test = "foreign_members_are_left_out_and_our_own_kept";
        let sources = [
            OURS,
            "double sqrt(double a) { return a; }",
            "void *memcpy(void *a) { return a; }",
        ];
        let Some(bytes) = compiled(test, &sources) else {
            return;
        };
        assert!(check(&bytes, true).is_err());
        let reduced = reduce(&bytes, true).unwrap();
        assert_eq!(reduced.defines, ["flightlog_add"]);
        assert_eq!(reduced.left_out, 2);
        check(&reduced.bytes, true).unwrap();
        let again = reduce(&reduced.bytes, true).unwrap();
        assert_eq!((again.left_out, again.bytes), (0, reduced.bytes));
    }

    #[test]
    fn libc_names_beside_our_own_are_refused() {
        let test = "libc_names_beside_our_own_are_refused";
        for (name, more) in [
            ("memcpy", "void *memcpy(void *a) { return a; }"),
            (
                "memset",
                "__attribute__((weak)) void *memset(void *a) { return a; }",
            ),
            ("strlen", "unsigned strlen; "),
            ("helper", "int helper(int a) { return a; }"),
        ] {
            let Some(bytes) = compiled(test, &[&format!("{OURS}\n{more}")]) else {
                return;
            };
            let error = reduce(&bytes, true).unwrap_err();
            assert_eq!(crate::exit::code(&error), 3);
            assert!(
                error.to_string().contains(&format!("defines {name}:")),
                "{error}"
            );
        }
        let hidden = format!(
            "{OURS}\nstatic int memcpy_of_ours(void) {{ return 1; }}\nint (*flightlog_p)(void) = memcpy_of_ours;"
        );
        if let Some(bytes) = compiled(test, &[&hidden]) {
            reduce(&bytes, true).unwrap();
        }
    }

    #[test]
    fn what_a_chip_does_not_have_is_named() {
        let test = "what_a_chip_does_not_have_is_named";
        let needy = "unsigned __udivti3(unsigned); unsigned flightlog_divide(unsigned a) { return __udivti3(a); }";
        let Some(bytes) = compiled(test, &[needy]) else {
            return;
        };
        let error = reduce(&bytes, true).unwrap_err().to_string();
        assert!(error.contains("needs __udivti3"), "{error}");
        assert_eq!(reduce(&bytes, false).unwrap().needs, ["__udivti3"]);
    }

    #[test]
    fn names_of_c_and_of_its_runtime_are_given() {
        for name in [
            "memcpy",
            "abort",
            "__udivdi3",
            "__ashldi3",
            "__addsf3",
            "__fixunsdfsi",
            "__muldf3",
        ] {
            assert!(is_given(name), "{name}");
        }
        for name in [
            "__udivti3",
            "malloc",
            "__rust_alloc",
            "_Unwind_Resume",
            "sqrt",
            "__floatuntidf",
        ] {
            assert!(!is_given(name), "{name}");
        }
    }

    #[test]
    fn what_is_no_static_library_is_refused() {
        assert!(reduce(b"!<thin>", true).is_err());
        assert!(reduce(b"!<arch>\n", true).is_err());
        assert!(reduce(b"", true).is_err());
    }
}
