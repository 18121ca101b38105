use std::io::Write;

use proptest::prelude::*;
use zip::ZipWriter;
use zip::write::{ExtendedFileOptions, FileOptions, SimpleFileOptions};

use super::*;
use crate::exit;
use crate::libs::manifest::{BuildRecord, PatchSetRecord};

fn place() -> Place {
    Place::in_data_dir(
        Path::new("d"),
        &"esp32s3".parse().unwrap(),
        &"3.3.12".parse().unwrap(),
    )
}

/// The files of a small libraries tree.
const TREE: [(&str, &str); 5] = [
    ("flags/defines", "-DESP_PLATFORM"),
    ("include/a.h", "#pragma once\n#pragma once\n#pragma once\n"),
    ("lib/libhal.a", "!<arch>\nhalhalhalhalhalhalhalhalhalhalhal"),
    ("qio_opi/include/sdkconfig.h", "#define CONFIG_A 1\n"),
    ("versions.txt", "esp-idf: v5.5.5 b774170ff4\n"),
];

/// The manifest of [`TREE`], with another core, chip or suffix.
fn manifest(core: &str, chip: &str, suffix: &str) -> Manifest {
    let record = |(path, text): (&str, &str)| FileRecord {
        path: path.to_owned(),
        size: text.len() as u64,
        sha256: digest::sha256(text.as_bytes()),
    };
    Manifest {
        schema: manifest::SCHEMA,
        core: core.parse().unwrap(),
        chip: chip.parse().unwrap(),
        patch_set: PatchSetRecord {
            name: suffix.to_owned(),
            suffix: suffix.to_owned(),
            lines: BTreeMap::new(),
        },
        sources: Vec::new(),
        components: BTreeMap::new(),
        build: BuildRecord::Full {
            engine: "host".to_owned(),
            image: None,
        },
        effective: BTreeMap::new(),
        files: TREE.into_iter().map(record).collect(),
    }
}

type Writer = ZipWriter<Cursor<Vec<u8>>>;

/// A zip of [`TREE`] with a manifest, and what `more` adds.
fn zip_with(manifest: Option<&Manifest>, more: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (path, text) in TREE {
        zip.start_file(format!("3.3.12/{path}"), SimpleFileOptions::default())
            .unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    if let Some(manifest) = manifest {
        let name = format!("3.3.12/{}", manifest::FILE_NAME);
        zip.start_file(name, SimpleFileOptions::default()).unwrap();
        zip.write_all(manifest.to_json().unwrap().as_bytes())
            .unwrap();
    }
    more(&mut zip);
    zip.finish().unwrap().into_inner()
}

fn whole() -> Vec<u8> {
    zip_with(Some(&manifest("3.3.12", "esp32s3", "xip-ecc")), |_| {})
}

fn open(bytes: &[u8]) -> Result<Archive> {
    open_named("package.zip", bytes)
}

fn open_named(name: &str, bytes: &[u8]) -> Result<Archive> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    fs::write(&path, bytes).unwrap();
    Archive::open(&path, &place())
}

/// Opens, and inflates every entry.
fn read_all(bytes: &[u8]) -> Result<()> {
    let archive = open(bytes)?;
    for entry in &archive.entries {
        archive.inflate(entry, &mut Vec::new())?;
    }
    Ok(())
}

fn refuse(bytes: &[u8], code: u8, word: &str) {
    let error = open(bytes).unwrap_err();
    assert_eq!(exit::code(&error), code, "{error:#}");
    assert!(
        format!("{error:#}").contains(word),
        "`{word}` is not in: {error:#}"
    );
}

/// A zip without a manifest, so that nothing but the entry itself is wrong.
fn with_entry(name: &str, options: SimpleFileOptions) -> Vec<u8> {
    zip_with(None, |zip| {
        zip.start_file(name, options).unwrap();
        zip.write_all(b"content").unwrap();
    })
}

#[test]
fn a_package_is_read() {
    let archive = open(&whole()).unwrap();
    let paths: Vec<_> = archive
        .entries
        .iter()
        .map(|entry| entry.path.as_str())
        .collect();
    assert_eq!(paths.len(), TREE.len() + 1);
    assert!(paths.is_sorted());
    assert_eq!(
        (archive.suffix.as_str(), archive.sum_agreed),
        ("xip-ecc", false)
    );
    read_all(&whole()).unwrap();
    // Folder entries, as zip programs make them.
    let folders = zip_with(None, |zip| {
        zip.add_directory("3.3.12", SimpleFileOptions::default())
            .unwrap();
        zip.add_directory("3.3.12/lib/", SimpleFileOptions::default())
            .unwrap();
    });
    assert_eq!(open(&folders).unwrap().entries.len(), TREE.len());
}

#[test]
fn no_trick_with_names_gets_through() {
    let plain = SimpleFileOptions::default();
    for (name, word) in [
        ("3.3.12/../../evil", "drops the dot"),
        ("../evil", "drops the dot"),
        ("/etc/evil", "an empty name"),
        ("3.3.12//evil", "an empty name"),
        ("C:/evil", "forbids ':'"),
        ("3.3.12/lib/libhal.a:stream", "forbids ':'"),
        ("3.3.12\\evil", "forbids '\\\\'"),
        ("3.3.12/nul.txt", "device on Windows"),
        ("3.3.12/COM1", "device on Windows"),
        ("3.3.12/tail.", "drops the dot"),
        ("3.3.12/gr\u{f6}\u{df}e.h", "not ASCII"),
        ("3.3.12/LIB/libhal.b", "differ only in case"),
        ("3.3.12/lib/LIBHAL.a", "differ only in case"),
        ("3.3.12/lib", "stands there twice"),
    ] {
        refuse(&with_entry(name, plain), 3, word);
    }
    let folder = zip_with(None, |zip| {
        zip.add_directory("3.3.12/../up/", plain).unwrap()
    });
    refuse(&folder, 3, "no folder's name");
    refuse(
        &with_entry("3.3.11/a", plain),
        2,
        "must stand in one folder 3.3.12/",
    );
    refuse(
        &with_entry("README", plain),
        2,
        "must stand in one folder 3.3.12/",
    );
}

#[test]
fn only_plain_files_get_through() {
    let link = zip_with(None, |zip| {
        let plain = SimpleFileOptions::default();
        zip.add_symlink("3.3.12/lib/link.a", "/etc/passwd", plain)
            .unwrap();
    });
    refuse(&link, 3, "is a link");
    for (mode, word) in [
        (0o020_666_u32, "neither a file"),
        (0o060_666, "neither a file"),
        (0o010_666, "neither a file"),
        (0o140_666, "neither a file"),
        (0o120_777, "is a link"),
    ] {
        let options = SimpleFileOptions::default().external_attributes(mode << 16);
        refuse(&with_entry("3.3.12/x", options), 3, word);
    }
    let reparse = SimpleFileOptions::default().external_attributes(0o100_644 << 16 | REPARSE_POINT);
    refuse(&with_entry("3.3.12/x", reparse), 3, "is a link");
    for (id, plain) in LINK_FIELDS {
        for (length, is_link) in [(plain, false), (plain + 6, true)] {
            let bytes = zip_with(None, |zip| {
                let mut options: FileOptions<'_, '_, ExtendedFileOptions> = FileOptions::default();
                options
                    .add_extra_field(FREE_FIELD, vec![b'x'; length], false)
                    .unwrap();
                zip.start_file("3.3.12/hard", options).unwrap();
            });
            // The zip crate writes no fields of the standard's.
            let field = |id: u16| {
                [
                    &id.to_le_bytes()[..],
                    &(length as u16).to_le_bytes(),
                    &vec![b'x'; length],
                ]
                .concat()
            };
            let bytes = replaced(&bytes, field(FREE_FIELD), field(id));
            match is_link {
                true => refuse(&bytes, 3, "is a link"),
                false => drop(open(&bytes).unwrap()),
            }
        }
    }
}

/// An extra field that the standard leaves free.
const FREE_FIELD: u16 = 0x7fff;

/// Replaces some bytes by others as many wherever it stands, names in local headers and directory alike.
fn replaced(bytes: &[u8], from: impl AsRef<[u8]>, to: impl AsRef<[u8]>) -> Vec<u8> {
    let (from, to) = (from.as_ref(), to.as_ref());
    assert_eq!(from.len(), to.len());
    let mut bytes = bytes.to_vec();
    let at: Vec<usize> = bytes
        .windows(from.len())
        .enumerate()
        .filter(|(_, window)| *window == from)
        .map(|(index, _)| index)
        .collect();
    assert!(!at.is_empty());
    for index in at {
        bytes[index..index + to.len()].copy_from_slice(to);
    }
    bytes
}

#[test]
fn a_name_twice_is_refused() {
    let bytes = with_entry("3.3.12/lib/libhax.a", SimpleFileOptions::default());
    refuse(&replaced(&bytes, "libhax.a", "libhal.a"), 3, "twice");
}

#[test]
fn a_zip_that_was_cut_or_altered_is_refused() {
    let bytes = whole();
    for length in [0, 1, 100, bytes.len() / 2, bytes.len() - 1] {
        refuse(&bytes[..length], 3, "get it again");
    }
    // Content changes and the checksum does not.
    let altered = replaced(&zip_with(None, |_| {}), "versions.txt", "versions.tyt");
    assert!(
        open(&altered).is_ok(),
        "without a manifest any name will do"
    );
    let stored = zip_with(None, |zip| {
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
        zip.start_file("3.3.12/x", options).unwrap();
        zip.write_all(b"sentinel").unwrap();
    });
    let error = read_all(&replaced(&stored, "sentinel", "sentinal")).unwrap_err();
    assert!(
        error.to_string().contains("x: its checksum is wrong"),
        "{error}"
    );
}

#[test]
fn the_manifest_must_list_exactly_what_is_there() {
    let mut fewer = manifest("3.3.12", "esp32s3", "xip-ecc");
    fewer.files.remove(1);
    refuse(
        &zip_with(Some(&fewer), |_| {}),
        3,
        "include/a.h: not in the manifest",
    );
    let mut more = manifest("3.3.12", "esp32s3", "xip-ecc");
    more.files[0].path = "flags/gone".to_owned();
    refuse(&zip_with(Some(&more), |_| {}), 3, "flags/gone: missing");
    let mut other = manifest("3.3.12", "esp32s3", "xip-ecc");
    other.files[2].size += 1;
    refuse(
        &zip_with(Some(&other), |_| {}),
        3,
        "lib/libhal.a: 41 bytes instead of 42",
    );
    let broken = zip_with(None, |zip| {
        let name = format!("3.3.12/{}", manifest::FILE_NAME);
        zip.start_file(name, SimpleFileOptions::default()).unwrap();
        zip.write_all(b"{\"schema\": 1").unwrap();
    });
    refuse(&broken, 3, "EOF");
}

#[test]
fn another_core_chip_or_an_odd_suffix_is_refused() {
    let of = |core, chip, suffix| zip_with(Some(&manifest(core, chip, suffix)), |_| {});
    refuse(
        &of("3.3.11", "esp32s3", "xip-ecc"),
        2,
        "is for core 3.3.11 and esp32s3, not for core 3.3.12",
    );
    refuse(&of("3.3.12", "esp32c3", "xip-ecc"), 2, "esp32c3");
    for suffix in ["stock", "Stock", "stock.2", "", "a/b", "x:y", "dot."] {
        refuse(&of("3.3.12", "esp32s3", suffix), 3, "suffix");
    }
}

#[test]
fn what_is_no_libraries_tree_is_refused() {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    zip.start_file("3.3.12/notes.txt", SimpleFileOptions::default())
        .unwrap();
    let bytes = zip.finish().unwrap().into_inner();
    refuse(
        &bytes,
        3,
        "no flags/, no include/, no lib/, no <memory variant>",
    );
    refuse(
        b"PK\x03\x04 is what a zip begins with",
        3,
        "not a whole zip",
    );
    let error = Archive::open(Path::new("none.zip"), &place()).unwrap_err();
    assert_eq!(exit::code(&error), 2);
    assert!(error.to_string().contains("build-libs"), "{error}");
}

#[test]
fn the_sum_beside_the_zip_is_believed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("p.zip");
    let bytes = whole();
    fs::write(&path, &bytes).unwrap();
    let sum = dir.path().join("p.zip.sha256");
    fs::write(
        &sum,
        format!("{}  p.zip\n", digest::sha256(&bytes).to_uppercase()),
    )
    .unwrap();
    assert!(Archive::open(&path, &place()).unwrap().sum_agreed);
    for other in [digest::sha256(b"other"), String::new()] {
        fs::write(&sum, other).unwrap();
        let error = Archive::open(&path, &place()).unwrap_err();
        assert_eq!(exit::code(&error), 3);
        assert!(
            error.to_string().contains(".sha256 file beside it"),
            "{error}"
        );
    }
}

#[test]
fn a_zip_without_a_manifest_is_called_by_its_name() {
    let bytes = zip_with(None, |_| {});
    for (name, suffix) in [
        ("esp32s3-libs-3.3.12-xip-ecc.zip", "xip-ecc"),
        ("esp32s3-libs-3.3.12-xip-ecc (2).zip", "xip-ecc"),
        ("esp32s3-libs-3.3.12-stock.zip", "by-hand"),
        ("esp32s3-libs-3.3.12.zip", "by-hand"),
        ("download.zip", "by-hand"),
    ] {
        assert_eq!(open_named(name, &bytes).unwrap().suffix, suffix, "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    /// A byte that changed anywhere is seen, or changes nothing that matters: what is read is what was packed.
    #[test]
    fn a_changed_byte_never_changes_what_is_installed(at in any::<prop::sample::Index>(), xor in 1_u8..) {
        let mut bytes = whole();
        let index = at.index(bytes.len());
        bytes[index] ^= xor;
        let Ok(archive) = open(&bytes) else { return Ok(()) };
        if archive.manifest.is_none() {
            // The manifest's own name changed: such a package is told to be unverified.
            return Ok(());
        }
        let expected = archive.expected();
        for entry in archive.entries.iter().filter(|entry| entry.path != manifest::FILE_NAME) {
            let mut buffer = Vec::new();
            let Ok(content) = archive.inflate(entry, &mut buffer) else { return Ok(()) };
            if digest::sha256(content) != expected[entry.path.as_str()].sha256 {
                // `unpack` refuses it.
                return Ok(());
            }
            let packed = TREE.iter().find(|(path, _)| *path == entry.path).map(|(_, text)| text.as_bytes());
            prop_assert_eq!(Some(content), packed);
        }
    }

    #[test]
    fn any_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(open(&bytes).is_err());
    }
}
