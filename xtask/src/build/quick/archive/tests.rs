use std::path::{Path, PathBuf};

use proptest::prelude::*;
use xshell::{Shell, cmd};

use super::*;
use crate::testing::skipped;

/// A compiler and its `ar`: the host's, and a cross toolchain whose objects are 32-bit Xtensa.
fn toolchains(test: &str) -> Vec<(&'static str, &'static str)> {
    [
        ("cc", "ar"),
        ("xtensa-lx106-elf-gcc", "xtensa-lx106-elf-ar"),
    ]
    .into_iter()
    .filter(|(cc, ar)| {
        let there =
            which::which(cc).is_ok() && which::which(ar).is_ok() && cfg!(target_os = "linux");
        if !there {
            skipped(test, &format!("no {cc} with GNU {ar}"));
        }
        there
    })
    .collect()
}

fn compile(sh: &Shell, cc: &str, dir: &Path, name: &str, text: &str) -> PathBuf {
    let (source, object) = (dir.join("source.c"), dir.join(name));
    std::fs::write(&source, text).unwrap();
    cmd!(sh, "{cc} -c -O1 -ffunction-sections {source} -o {object}")
        .run()
        .unwrap();
    object
}

/// `ar rcD`, except that equal names are appended, as `ar` itself does with `q`.
fn ar(sh: &Shell, ar: &str, archive: &Path, members: &[PathBuf]) -> Vec<u8> {
    _ = std::fs::remove_file(archive);
    cmd!(sh, "{ar} qcD {archive} {members...}").run().unwrap();
    std::fs::read(archive).unwrap()
}

#[test]
fn the_result_is_what_ar_makes_of_the_same_members() {
    for (cc, ar_program) in toolchains("the_result_is_what_ar_makes_of_the_same_members") {
        let sh = Shell::new().unwrap();
        sh.set_var("LC_ALL", "C");
        let dir = tempfile::tempdir().unwrap();
        let (one, two) = (dir.path().join("one"), dir.path().join("two é"));
        std::fs::create_dir(&one).unwrap();
        std::fs::create_dir(&two).unwrap();
        let long = "a_name_longer_than_fifteen.c.obj";
        let members = [
            compile(
                &sh,
                cc,
                &one,
                "a.o",
                "int a(void) { return 1; }\nint tentative;\nint b = 7;",
            ),
            compile(
                &sh,
                cc,
                &one,
                "exactly_15.c.obj",
                "static int hidden; int *c(void) { return &hidden; }",
            ),
            compile(
                &sh,
                cc,
                &one,
                "debug_stubs.c.obj",
                "int first(void) { return 1; }",
            ),
            compile(
                &sh,
                cc,
                &two,
                "debug_stubs.c.obj",
                "int second(void) { return 1; }",
            ),
            compile(
                &sh,
                cc,
                &one,
                long,
                "int d(void); int e(void) { return d(); }",
            ),
            compile(
                &sh,
                cc,
                &one,
                "last.o",
                "__attribute__((weak)) void w(void) {}",
            ),
        ];
        let before = ar(&sh, ar_program, &dir.path().join("before.a"), &members);
        let archive = Archive::parse(&before).unwrap();
        assert_eq!(
            archive.replace(&BTreeMap::new()).unwrap(),
            before,
            "nothing replaced: the same bytes"
        );

        let other = dir.path().join("other");
        std::fs::create_dir(&other).unwrap();
        let mut after = members.to_vec();
        after[4] = compile(
            &sh,
            cc,
            &other,
            long,
            "int e; int f(void) { return e; } int g(int x) { return x * 3; }",
        );
        after[0] = compile(&sh, cc, &other, "a.o", "static int none;");
        let new = BTreeMap::from([
            (long.to_owned(), std::fs::read(&after[4]).unwrap()),
            ("a.o".to_owned(), std::fs::read(&after[0]).unwrap()),
        ]);
        let made = archive.replace(&new).unwrap();
        assert_eq!(
            made,
            ar(&sh, ar_program, &dir.path().join("after.a"), &after),
            "{cc}"
        );

        let error = archive
            .replace(&BTreeMap::from([(
                "debug_stubs.c.obj".to_owned(),
                new[long].clone(),
            )]))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("2 members called `debug_stubs.c.obj`"),
            "{error}"
        );
    }
}

#[test]
fn an_empty_symbol_index_and_odd_sizes_stay_as_ar_writes_them() {
    for (cc, ar_program) in toolchains("an_empty_symbol_index_and_odd_sizes_stay_as_ar_writes_them")
    {
        let sh = Shell::new().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let object = compile(&sh, cc, dir.path(), "a.o", "static int nothing;");
        let odd = dir.path().join("odd.o");
        let mut bytes = std::fs::read(&object).unwrap();
        bytes.resize(bytes.len() | 1, 0);
        std::fs::write(&odd, &bytes).unwrap();
        let before = ar(
            &sh,
            ar_program,
            &dir.path().join("before.a"),
            std::slice::from_ref(&object),
        );
        std::fs::write(&object, &bytes).unwrap();
        let after = ar(
            &sh,
            ar_program,
            &dir.path().join("after.a"),
            std::slice::from_ref(&object),
        );
        let made = Archive::parse(&before)
            .unwrap()
            .replace(&BTreeMap::from([("a.o".to_owned(), bytes)]));
        assert_eq!(made.unwrap(), after);
    }
}

#[test]
fn what_is_no_such_archive_is_refused() {
    let text = |bytes: &[u8]| format!("{:#}", Archive::parse(bytes).unwrap_err());
    assert!(text(b"PK\x03\x04").contains("not an `ar` archive"));
    let no_index = b"!<arch>\na.o/            0           0     0     644     2         `\nab";
    assert!(
        text(no_index).contains("symbol index"),
        "{}",
        text(no_index)
    );
}

proptest! {
    #[test]
    fn bytes_of_any_kind_are_no_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..300), head in 0..3) {
        let header = b"!<arch>\n/               0           0     0     0       4         `\n\0\0\0\0";
        if head > 0 {
            bytes.splice(0..0, header[..if head == 1 { 8 } else { header.len() }].iter().copied());
        }
        if let Ok(archive) = Archive::parse(&bytes) {
            let names: Vec<_> = archive.members().iter().map(|m| String::from_utf8_lossy(m.name).into_owned()).collect();
            for name in names {
                let _ = archive.replace(&BTreeMap::from([(name, vec![0x7f, b'E', b'L', b'F'])]));
            }
        }
    }

    /// Any change of sizes moves every later member, and the index follows.
    #[test]
    fn the_index_points_at_the_members(sizes in prop::collection::vec(0usize..50, 1..6)) {
        let archive = synthetic(&sizes);
        let read = Archive::parse(&archive).unwrap();
        prop_assert_eq!(read.members().len(), sizes.len());
        for (number, member) in read.members().iter().enumerate() {
            let expected = format!("symbol_{number}");
            prop_assert_eq!(&member.symbols, &[expected.as_bytes()]);
        }
        prop_assert_eq!(read.assemble(read.members()).unwrap(), archive);
    }
}

/// An archive of members of these sizes, one symbol each, made by the rules of the format and not by the code under test.
fn synthetic(sizes: &[usize]) -> Vec<u8> {
    let header = |name: &str, size: usize| {
        format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, 0, 644)
    };
    let strings: Vec<u8> = (0..sizes.len())
        .flat_map(|n| format!("symbol_{n}\0").into_bytes())
        .collect();
    let index_size = (4 + 4 * sizes.len() + strings.len()).next_multiple_of(2);
    let mut out = b"!<arch>\n".to_vec();
    out.extend(header("/", index_size).bytes());
    out.extend(u32::try_from(sizes.len()).unwrap().to_be_bytes());
    let mut offset = 8 + 60 + index_size;
    for size in sizes {
        out.extend(u32::try_from(offset).unwrap().to_be_bytes());
        offset += 60 + size.next_multiple_of(2);
    }
    out.extend(&strings);
    out.resize(8 + 60 + index_size, 0);
    for (number, size) in sizes.iter().enumerate() {
        out.extend(header(&format!("m{number}.o/"), *size).bytes());
        out.extend(std::iter::repeat_n(b'x', *size));
        out.resize(out.len().next_multiple_of(2), b'\n');
    }
    out
}
