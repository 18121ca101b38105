use super::*;
use std::io::Write;

use std::io::Cursor;
use std::sync::{Arc, Mutex};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::digest::sha256;
use crate::exit;
use crate::http::test_server::{Answer, Site, cutting};
use crate::progress::Event;
use crate::testing::shared;

const VERSIONS: &str = "lib-builder: master ee57070\nesp-idf: v5.5.5 b774170ff4\narduino: master 86c2c0046\n\
                        tinyusb: master 53f8c53c2\nespressif__cbor: 0.6.1~4\nespressif__esp32-camera:\n";
const ENTRY: &str = "esp32s3-libs/versions.txt";

/// A machine of its own: folders, and a request that uses nothing else.
struct Machine {
    _dir: tempfile::TempDir,
    data: PathBuf,
    downloads: PathBuf,
    core: CoreVersion,
    chip: Chip,
    notes: Mutex<Vec<String>>,
}

impl Machine {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self {
            data: dir.path().join("Arduino15"),
            downloads: dir.path().join("downloads"),
            core: "3.3.12".parse().unwrap(),
            chip: "esp32s3".parse().unwrap(),
            notes: Mutex::default(),
            _dir: dir,
        }
    }

    fn core(mut self, core: &str) -> Self {
        self.core = core.parse().unwrap();
        self
    }

    fn file(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.data.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    fn request<'a>(&'a self, index: Option<&'a str>, offline: bool) -> Request<'a> {
        Request {
            core: &self.core,
            chip: &self.chip,
            versions: None,
            data_dir: Some(&self.data),
            index,
            offline,
            downloads: &self.downloads,
        }
    }

    fn ask(&self, request: &Request<'_>) -> Result<Pins> {
        let pins = resolve(request, &|event| {
            if let Event::Note(text) | Event::Warning(text) = event {
                self.notes.lock().unwrap().push(text.to_owned());
            }
        })?;
        assert_eq!(pins.sources.len(), 4);
        assert_eq!(unpinned(&pins), ["espressif__esp32-camera"]);
        Ok(pins)
    }

    fn online(&self, index: &str) -> Result<Pins> {
        self.ask(&self.request(Some(index), false))
    }

    fn offline(&self, index: Option<&str>) -> Result<Pins> {
        self.ask(&self.request(index, true))
    }

    fn notes(&self) -> String {
        self.notes.lock().unwrap().join("\n")
    }

    fn downloads(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(&self.downloads)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| !name.starts_with('.'))
            .collect();
        names.sort();
        names
    }
}

fn refused(outcome: Result<Pins>) -> (u8, String) {
    let error = outcome.unwrap_err();
    (exit::code(&error), format!("{error:#}"))
}

/// Origin of pins that the official zip gave: bytes fetched, and the file read.
fn from_zip(pins: &Pins) -> (u64, Option<&Path>) {
    match &pins.origin {
        Origin::OfficialZip { fetched, local, .. } => (*fetched, local.as_deref()),
        other => panic!("{other:?}"),
    }
}

fn zip_of(entries: &[(&str, &[u8])], comment: &str) -> Arc<Vec<u8>> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in entries {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        zip.write_all(content).unwrap();
    }
    zip.set_comment(comment).unwrap();
    Arc::new(zip.finish().unwrap().into_inner())
}

fn small_zip() -> Arc<Vec<u8>> {
    let filler = noise(200_000, 3);
    zip_of(
        &[
            ("esp32s3-libs/lib/a.a", &filler),
            (ENTRY, VERSIONS.as_bytes()),
        ],
        "",
    )
}

/// Bytes that no compression makes smaller.
fn noise(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let words = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    });
    words.flat_map(u64::to_le_bytes).take(length).collect()
}

fn index_of(url: &str, zip: &[u8], size: usize) -> Vec<u8> {
    let sum = sha256(zip);
    let tool = |version: &str| {
        serde_json::json!({"name": "esp32s3-libs", "version": version, "systems": [{
            "host": "x86_64-pc-linux-gnu", "url": url, "archiveFileName": "esp32s3-libs-3.3.12.zip",
            "checksum": format!("SHA-256:{sum}"), "size": size.to_string(),
        }]})
    };
    let tools = ["3.3.9", "3.3.12", "3.3.10"].map(tool);
    serde_json::to_vec_pretty(&serde_json::json!({"packages": [{"name": "esp32", "tools": tools}]}))
        .unwrap()
}

/// A site with an index at `/index.json` and the zip at `/zip`.
fn release(zip: &Arc<Vec<u8>>, answer: impl FnOnce(Arc<Vec<u8>>) -> Answer) -> Site {
    Site::new(|address| {
        let index = index_of(&format!("{address}/zip"), zip, zip.len());
        vec![
            ("/index.json", Answer::File(Arc::new(index))),
            ("/zip", answer(zip.clone())),
        ]
    })
}

/// Names as long as the real ones.
fn realistic_names(test: &str) -> Vec<String> {
    let real =
        shared(test, "upstream/esp32s3-tree.tsv").map(|list| fs::read_to_string(list).unwrap());
    match real {
        Some(list) => list
            .lines()
            .filter_map(|line| line.split('\t').nth(2))
            .map(str::to_owned)
            .collect(),
        None => (0..2_600)
            .map(|n| {
                format!(
                    "include/component-{}/include/a_rather_long/folder/name_{n}.h",
                    n % 97
                )
            })
            .collect(),
    }
}

#[test]
fn of_a_zip_of_70_mb_some_hundred_kilobytes_are_fetched() {
    let names = realistic_names("of_a_zip_of_70_mb_some_hundred_kilobytes_are_fetched");
    let each = 70_000_000 / names.len();
    let mut zip = ZipWriter::new(Cursor::new(Vec::with_capacity(72_000_000)));
    let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    for (name, seed) in names.iter().zip(1..) {
        if seed == names.len() as u64 / 2 {
            zip.start_file(ENTRY, SimpleFileOptions::default()).unwrap();
            zip.write_all(VERSIONS.as_bytes()).unwrap();
        }
        zip.start_file(format!("esp32s3-libs/{name}"), stored)
            .unwrap();
        zip.write_all(&noise(each, seed)).unwrap();
    }
    let zip = Arc::new(zip.finish().unwrap().into_inner());
    assert!(zip.len() > 70_000_000);
    let site = release(&zip, Answer::File);
    let index = index_of(&site.url("/zip"), &zip, zip.len());

    let machine = Machine::new();
    machine.file("package_esp32_index.json", index);
    let pins = machine.ask(&machine.request(None, false)).unwrap();
    let (fetched, local) = from_zip(&pins);
    assert_eq!((fetched, local), (site.sent(), None));
    assert!(
        fetched < 400_000,
        "{fetched} bytes in {} requests",
        site.asked()
    );
    assert!(site.asked() < 12, "{} requests", site.asked());

    let requests = site.asked();
    let again = machine.offline(None).unwrap();
    assert_eq!(
        (&again.sources, &again.components),
        (&pins.sources, &pins.components)
    );
    let (fetched, local) = from_zip(&again);
    assert!(fetched == 0 && local.is_some_and(|path| path.starts_with(&machine.downloads)));
    machine.ask(&machine.request(None, false)).unwrap();
    assert_eq!(site.asked(), requests, "later runs need no network");
}

#[test]
fn zips_with_a_comment_or_with_64_bit_counts_are_read_by_ranges() {
    let comment = zip_of(
        &[(ENTRY, VERSIONS.as_bytes())],
        &"PK\u{5}\u{6} not the end ".repeat(3_000),
    );
    let many: Vec<String> = (0..66_000).map(|n| format!("r/{n}")).collect();
    let mut entries: Vec<(&str, &[u8])> =
        many.iter().map(|name| (name.as_str(), &b""[..])).collect();
    entries.push(("r/versions.txt", VERSIONS.as_bytes()));
    for zip in [comment, zip_of(&entries, "")] {
        let site = release(&zip, Answer::File);
        let machine = Machine::new();
        let pins = machine.online(&site.url("/index.json")).unwrap();
        assert_eq!(from_zip(&pins).1, None, "{}", machine.notes());
    }
}

#[test]
fn a_server_without_ranges_gives_the_whole_zip_which_is_kept() {
    let zip = small_zip();
    let site = release(&zip, Answer::Whole);
    let machine = Machine::new();
    let pins = machine.online(&site.url("/index.json")).unwrap();
    let kept = machine.downloads.join("esp32s3-libs-3.3.12.zip");
    assert_eq!(from_zip(&pins), (zip.len() as u64, Some(kept.as_path())));
    assert_eq!(fs::read(&kept).unwrap(), *zip);
    let index = site.url("/index.json");
    drop(site);
    let pins = machine.offline(Some(&index)).unwrap();
    assert_eq!(from_zip(&pins), (0, Some(kept.as_path())));
}

#[test]
fn a_redirect_leads_to_the_zip() {
    let zip = small_zip();
    let elsewhere = Site::new(|_| vec![("/there", Answer::File(zip.clone()))]);
    let site = release(&zip, |_| Answer::Redirect(elsewhere.url("/there")));
    let pins = Machine::new().online(&site.url("/index.json")).unwrap();
    assert_eq!(from_zip(&pins).0, elsewhere.sent());
}

#[test]
fn ranges_that_cannot_be_relied_on_end_in_a_whole_download() {
    // Its last part is longer than what a connection brings before the cut; a download still gets on piece by piece.
    let zip = zip_of(
        &[
            ("r/a", &noise(48_500, 5)),
            ("r/versions.txt", VERSIONS.as_bytes()),
        ],
        "",
    );
    let wrong_parts = release(&zip, Answer::WrongParts);
    let wrong_size = Site::new(|address| {
        let index = index_of(&format!("{address}/zip"), &zip, zip.len() - 1);
        vec![
            ("/index.json", Answer::File(Arc::new(index))),
            ("/zip", Answer::File(zip.clone())),
        ]
    });
    let cut = cutting(zip.clone(), 10_000, true);
    let cut = Site::new(|_| {
        vec![(
            "/index.json",
            Answer::File(Arc::new(index_of(&cut, &zip, zip.len()))),
        )]
    });
    for (site, told) in [
        (wrong_parts, "failed"),
        (wrong_size, "in the package index"),
        (cut, "broke off"),
    ] {
        let machine = Machine::new();
        let pins = machine.online(&site.url("/index.json")).unwrap();
        assert_eq!(
            from_zip(&pins),
            (
                zip.len() as u64,
                Some(machine.downloads.join("esp32s3-libs-3.3.12.zip").as_path())
            )
        );
        assert!(machine.notes().contains(told), "{}", machine.notes());
    }
}

#[test]
fn another_zip_than_the_indexs_is_refused_and_not_kept() {
    let (zip, other) = (
        small_zip(),
        zip_of(&[(ENTRY, VERSIONS.as_bytes())], "another"),
    );
    let site = release(&zip, |_| Answer::Whole(other));
    let machine = Machine::new();
    let (code, error) = refused(machine.online(&site.url("/index.json")));
    assert_eq!(code, 1);
    assert!(
        error.contains("SHA-256") && error.contains(&site.url("/zip")),
        "{error}"
    );
    assert_eq!(
        machine.downloads().len(),
        1,
        "the index alone: {:?}",
        machine.downloads()
    );
}

#[test]
fn a_zip_without_its_versions_txt_is_refused() {
    for entries in [
        &[
            ("esp32s3-libs/flags/defines", &b""[..]),
            ("esp32s3-libs/a/versions.txt", b""),
        ][..],
        &[
            (ENTRY, VERSIONS.as_bytes()),
            ("other/versions.txt", VERSIONS.as_bytes()),
        ],
    ] {
        let site = release(&zip_of(entries, ""), Answer::File);
        let (code, error) = refused(Machine::new().online(&site.url("/index.json")));
        assert_eq!(code, 1);
        assert!(
            error.contains("esp32s3-libs-3.3.12.zip") && error.contains("versions.txt"),
            "{error}"
        );
    }
    let bad = zip_of(&[(ENTRY, b"lib-builder: master\n")], "");
    let site = release(&bad, Answer::File);
    let machine = Machine::new();
    let (_, error) = refused(machine.online(&site.url("/index.json")));
    assert!(
        error.contains(&site.url("/zip")) && error.contains("line 1"),
        "{error}"
    );
    assert_eq!(
        machine.downloads().len(),
        1,
        "a bad text is not kept: {:?}",
        machine.downloads()
    );
}

#[test]
fn missing_files_and_wrong_indexes_are_named() {
    let zip = small_zip();
    let site = Site::new(|address| {
        let index = index_of(&format!("{address}/gone.zip"), &zip, zip.len());
        vec![
            ("/index.json", Answer::File(Arc::new(index))),
            (
                "/wrong.json",
                Answer::File(Arc::new(
                    b"{\"packages\":\n [{\"name\": \"esp32\"\n}".to_vec(),
                )),
            ),
        ]
    });
    let machine = Machine::new();
    for (path, expected) in [
        ("/index.json", vec!["/gone.zip", "404"]),
        ("/nothing.json", vec!["/nothing.json", "404", "--versions"]),
        (
            "/wrong.json",
            vec!["/wrong.json is not a package index", "line 3"],
        ),
    ] {
        let (code, error) = refused(machine.online(&site.url(path)));
        assert_eq!(code, 1);
        assert!(expected.iter().all(|text| error.contains(text)), "{error}");
    }
    let file = machine.file("my_index.json", "{\n\"packages\": 7}");
    let (code, error) = refused(machine.online(file.to_str().unwrap()));
    assert_eq!(code, 1);
    assert!(
        error.contains("my_index.json") && error.contains("line 2"),
        "{error}"
    );
    let (code, error) = refused(machine.online("no/such.json"));
    assert!(code == 1 && error.contains("such.json"), "{error}");
}

#[test]
fn an_unknown_core_is_wrong_usage_and_lists_the_newest() {
    let site = release(&small_zip(), Answer::File);
    let (code, error) = refused(
        Machine::new()
            .core("3.3.99")
            .online(&site.url("/index.json")),
    );
    assert_eq!(code, 2);
    assert!(
        error.contains("esp32s3-libs 3.3.99") && error.contains("3.3.12, 3.3.10, 3.3.9"),
        "{error}"
    );
    let mut other_chip = Machine::new();
    other_chip.chip = "esp32c3".parse().unwrap();
    let (code, error) = refused(other_chip.online(&site.url("/index.json")));
    assert!(
        code == 2 && error.contains("no esp32c3-libs at all"),
        "{error}"
    );
}

#[test]
fn a_core_of_the_older_layout_is_refused_but_its_own_file_is_read() {
    let machine = Machine::new().core("3.3.5");
    let (code, error) = refused(machine.offline(None));
    assert_eq!(code, 2);
    assert!(
        error.contains("3.3.5") && error.contains("esp32-arduino-libs") && error.contains("3.3.6"),
        "{error}"
    );
    let path = machine.file("mine.txt", VERSIONS);
    let request = Request {
        versions: Some(&path),
        ..machine.request(None, true)
    };
    let pins = machine.ask(&request).unwrap();
    assert_eq!((pins.core, pins.origin), (None, Origin::File { path }));
    assert!(supported(&"3.3.6-RC1".parse().unwrap()).is_ok());
}

#[test]
fn the_installed_stock_libraries_come_before_every_index() {
    let machine = Machine::new();
    let path = machine.file(
        "packages/esp32/tools/esp32s3-libs/3.3.12/versions.txt",
        VERSIONS,
    );
    let pins = machine.online("no/such.json").unwrap();
    assert_eq!(
        (pins.core.as_ref(), &pins.origin),
        (
            Some(&machine.core),
            &Origin::Installed { path: path.clone() }
        )
    );
    fs::write(&path, "lib-builder: ?\n").unwrap();
    let (code, error) = refused(machine.offline(None));
    assert_eq!(code, 1);
    assert!(
        error.contains(path.to_str().unwrap())
            && error.contains("line 1")
            && error.contains("--versions"),
        "{error}"
    );
}

#[test]
fn patched_libraries_are_passed_over_for_the_zip() {
    let machine = Machine::new();
    machine.file(
        "packages/esp32/tools/esp32s3-libs/3.3.12/versions.txt",
        VERSIONS.replace("ee57070", "0000000"),
    );
    machine.file(
        "packages/esp32/tools/esp32s3-libs/3.3.12/libs-manifest.json",
        "{}",
    );
    let site = release(&small_zip(), Answer::File);
    let pins = machine.online(&site.url("/index.json")).unwrap();
    assert_eq!(pins.source("lib-builder").unwrap().commit, "ee57070");
}

#[test]
fn what_arduino_keeps_is_used_without_network() {
    let zip = small_zip();
    let index = index_of("http://127.0.0.1:9/zip", &zip, zip.len());
    let machine = Machine::new();
    machine.file("package_esp32_index.json", "{ broken");
    machine.file("package_index.json", &index);
    let staged = machine.file("staging/packages/esp32s3-libs-3.3.12.zip", &*zip);
    let pins = machine.offline(None).unwrap();
    assert_eq!(from_zip(&pins), (0, Some(staged.as_path())));
    assert!(
        machine
            .notes()
            .contains("package_esp32_index.json is not a package index"),
        "{}",
        machine.notes()
    );
    fs::write(&staged, &zip[1..]).unwrap();
    let (_, error) = refused(machine.offline(None));
    assert!(
        error.contains("checksum is not the package index's"),
        "{error}"
    );
}

#[test]
fn without_network_the_error_lists_what_was_tried_in_order() {
    let zip = small_zip();
    let machine = Machine::new();
    machine.file(
        "package_esp32_index.json",
        index_of("http://127.0.0.1:9/zip", &zip, zip.len()),
    );
    let (code, error) = refused(machine.offline(None));
    assert_eq!(code, 1);
    let places = [
        "--versions: not given",
        "3.3.12: not installed",
        "downloads",
        "staging",
        ".versions.txt: not there",
        "http://127.0.0.1:9/zip: needs the network",
        "run once without --offline",
    ];
    let at: Vec<_> = places.iter().map(|place| error.find(place)).collect();
    assert!(
        at.iter().all(Option::is_some) && at.is_sorted(),
        "{at:?} in {error}"
    );

    let machine = machine.core("3.3.99");
    let (code, error) = refused(machine.offline(None));
    assert_eq!(code, 1, "another index may know it");
    assert!(
        error.contains("newest it knows are 3.3.12") && error.contains(OFFICIAL_INDEX),
        "{error}"
    );
    let (_, error) = refused(machine.offline(Some("https://example.org/i.json")));
    assert!(
        error.contains("https://example.org/i.json: needs the network"),
        "{error}"
    );
}
