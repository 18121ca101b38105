use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{Cursor, Read};
use std::sync::Mutex;

use fs_err::File;
use zip::ZipArchive;

use super::*;
use crate::libs::manifest::{BuildRecord, PatchSetRecord, SourceRecord};

const ZIP: &str = "esp32s3-libs-3.3.12-xip-ecc.zip";

fn built(tree: &Path) -> BuiltLibs {
    BuiltLibs {
        tree: tree.to_owned(),
        core: "3.3.12".parse().unwrap(),
        chip: "esp32s3".parse().unwrap(),
        patch_set: PatchSetRecord {
            name: "xip-ecc".into(),
            suffix: "xip-ecc".into(),
            lines: BTreeMap::from([(
                "defconfig.opi_ram".into(),
                vec!["CONFIG_SPIRAM_XIP_FROM_PSRAM=y".into()],
            )]),
        },
        sources: vec![SourceRecord {
            name: "esp-idf".into(),
            url: "https://github.com/espressif/esp-idf.git".into(),
            refs: vec!["v5.5.5".into()],
            commit: "b774170ff4".repeat(4),
        }],
        components: BTreeMap::from([("espressif/cbor".into(), Some("0.6.0~1".into()))]),
        build: BuildRecord::Full {
            engine: "host".into(),
            image: None,
        },
        effective: BTreeMap::from([(
            "qio_opi".into(),
            BTreeMap::from([("SPIRAM_ECC_ENABLE".into(), "y".into())]),
        )]),
    }
}

/// A small tree in the shape of upstream's; `seed` changes the content of one archive.
fn sample(root: &Path, seed: u8) -> PathBuf {
    let tree = root.join("esp32s3");
    let noise: Vec<u8> = (0..70_000_u32)
        .map(|n| ((n.wrapping_mul(2_654_435_761) >> 13) as u8) ^ seed)
        .collect();
    for (name, bytes) in [
        ("bin/bootloader_qio_80m.elf", &b"\x7fELF".repeat(300)[..]),
        ("flags/defines", b"-DESP_PLATFORM"),
        (
            "include/freertos/FreeRTOS.h",
            &b"#define configUSE 1\n".repeat(90),
        ),
        ("include/freertos-plus/a.h", b"#pragma once\n"),
        ("lib/libhal.a", &noise),
        (
            "qio_opi/include/sdkconfig.h",
            b"#define CONFIG_SPIRAM_ECC_ENABLE 1\n",
        ),
        ("sdkconfig", b""),
        ("versions.txt", b"esp-idf: v5.5.5 b774170ff4\n"),
    ] {
        let path = tree.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    tree
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn published() -> Vec<String> {
    vec![
        "esp32s3-libs-3.3.12-xip-ecc.json".to_owned(),
        ZIP.to_owned(),
        format!("{ZIP}.sha256"),
    ]
}

fn sha256(bytes: &[u8]) -> String {
    crate::digest::sha256(bytes)
}

fn pool(threads: usize) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .unwrap()
}

#[test]
fn the_zip_holds_the_tree_sorted_below_one_folder_with_its_manifest() {
    let dir = tempfile::tempdir().unwrap();
    let tree = sample(dir.path(), 0);
    let out = dir.path().join("dist/deep");
    let package = pack(&built(&tree), &out, Effort::Fast, &|_| {}).unwrap();
    assert_eq!(names(&out), published());
    let bytes = fs::read(out.join(ZIP)).unwrap();
    assert_eq!(
        (package.size, &package.sha256),
        (bytes.len() as u64, &sha256(&bytes))
    );
    let sum = fs::read_to_string(out.join(format!("{ZIP}.sha256"))).unwrap();
    assert_eq!(sum, format!("{}  {ZIP}\n", package.sha256));

    let mut zip = ZipArchive::new(Cursor::new(bytes)).unwrap();
    let listed: Vec<_> = zip
        .file_names()
        .map(|name| name.unwrap().into_owned())
        .collect();
    let mut sorted = listed.clone();
    sorted.sort();
    assert_eq!(listed, sorted);
    assert!(
        listed
            .iter()
            .all(|name| name.starts_with("3.3.12/") && !name.ends_with('/'))
    );

    let json = fs::read_to_string(out.join("esp32s3-libs-3.3.12-xip-ecc.json")).unwrap();
    let manifest: Manifest = serde_json::from_str(&json).unwrap();
    assert_eq!(manifest, package.manifest);
    let mut inside = String::new();
    zip.by_name("3.3.12/libs-manifest.json")
        .unwrap()
        .read_to_string(&mut inside)
        .unwrap();
    assert_eq!(inside, json);
    assert_eq!(manifest.files.len() + 1, listed.len());
    for record in &manifest.files {
        let mut content = Vec::new();
        zip.by_name(&format!("3.3.12/{}", record.path))
            .unwrap()
            .read_to_end(&mut content)
            .unwrap();
        assert_eq!(content, fs::read(tree.join(&record.path)).unwrap());
        assert_eq!(
            (record.size, &record.sha256),
            (content.len() as u64, &sha256(&content))
        );
    }
}

#[test]
fn the_same_tree_gives_the_same_bytes_whatever_is_around_it() {
    let dir = tempfile::tempdir().unwrap();
    let first = sample(&dir.path().join("one"), 0);
    let second = sample(&dir.path().join("another place/deeper"), 0);
    // Other times, modes, an empty folder, and the manifest of an earlier run.
    let elf = File::options()
        .write(true)
        .open(second.join("bin/bootloader_qio_80m.elf"))
        .unwrap();
    elf.set_modified(
        std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_007),
    )
    .unwrap();
    let mut mode = elf.metadata().unwrap().permissions();
    mode.set_readonly(true);
    fs::set_permissions(second.join("lib/libhal.a"), mode).unwrap();
    fs::create_dir(second.join("include/empty")).unwrap();
    fs::write(second.join(manifest::FILE_NAME), "{}").unwrap();
    for effort in [Effort::Fast, Effort::Best] {
        let pack = |tree: &Path, out: &str, threads| {
            let out = dir.path().join(out);
            pack_with(
                &RealDisk,
                &pool(threads),
                &built(tree),
                &out,
                effort,
                &|_| {},
            )
            .unwrap();
            published().map_bytes(&out)
        };
        let reference = pack(&first, "a", 1);
        assert_eq!(reference, pack(&first, "a", 1));
        assert_eq!(reference, pack(&second, "b", 1));
        assert_eq!(reference, pack(&second, "c", 5));
    }
}

trait MapBytes {
    fn map_bytes(&self, dir: &Path) -> Vec<Vec<u8>>;
}

impl MapBytes for Vec<String> {
    fn map_bytes(&self, dir: &Path) -> Vec<Vec<u8>> {
        self.iter()
            .map(|name| fs::read(dir.join(name)).unwrap())
            .collect()
    }
}

#[test]
fn best_is_smaller_and_the_default_is_fast() {
    let dir = tempfile::tempdir().unwrap();
    let tree = sample(dir.path(), 0);
    let text: String = (0..9000)
        .map(|n: u32| format!("#define R{} 0x{:x}\n", n % 313, n.wrapping_mul(77_777)))
        .collect();
    fs::write(tree.join("include/registers.h"), text).unwrap();
    let size = |effort| {
        pack(&built(&tree), &dir.path().join("o"), effort, &|_| {})
            .unwrap()
            .size
    };
    assert!(size(Effort::Best) < size(Effort::default()));
}

#[test]
fn names_and_places_that_cannot_work_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let tree = sample(dir.path(), 0);
    let out = dir.path().join("dist");
    let refuse = |built: &BuiltLibs, out: &Path, code: u8, text: &str| {
        let error = pack(built, out, Effort::Fast, &|_| {}).unwrap_err();
        assert_eq!(crate::exit::code(&error), code, "{error:#}");
        assert!(format!("{error:#}").contains(text), "{error:#}");
    };
    let mut odd = built(&tree);
    for suffix in ["", "a/b", "a:b", "..", "a\\b", "dot."] {
        odd.patch_set.suffix = suffix.into();
        if suffix == ".." || suffix == "dot." {
            refuse(&odd, &out, 2, "drops the dot");
        } else {
            refuse(&odd, &out, 2, &format!("suffix `{suffix}`"));
        }
    }
    refuse(
        &built(&tree),
        &tree.join("dist"),
        2,
        "choose another with --out",
    );
    fs::remove_dir(tree.join("dist")).unwrap();
    refuse(&built(&dir.path().join("none")), &out, 1, "none");
    fs::create_dir(tree.join("Libs-Manifest.json")).unwrap();
    fs::write(tree.join("Libs-Manifest.json/a"), "").unwrap();
    refuse(&built(&tree), &out, 3, "differ only in case");
    assert!(names(&out).is_empty());
}

#[test]
fn paths_too_long_for_windows_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let tree = sample(dir.path(), 0);
    let long = format!("include/{}/{}.h", "d".repeat(80), "f".repeat(80));
    fs::create_dir_all(tree.join(&long).parent().unwrap()).unwrap();
    fs::write(tree.join(&long), "").unwrap();
    let warnings = Mutex::new(Vec::new());
    pack(
        &built(&tree),
        &dir.path().join("o"),
        Effort::Fast,
        &|event| {
            if let Event::Warning(text) = event {
                warnings.lock().unwrap().push(text.to_owned());
            }
        },
    )
    .unwrap();
    let warnings = warnings.into_inner().unwrap();
    assert!(
        warnings.len() == 1 && warnings[0].contains(&long),
        "{warnings:?}"
    );
    assert!(
        warnings[0].contains(&(103 + long.len()).to_string()),
        "{warnings:?}"
    );
}

/// A disk whose operation number `fails_at` fails, and with `dies` every later one too, as in a killed process.
struct FailingDisk {
    fails_at: usize,
    dies: bool,
    kind: io::ErrorKind,
    steps: Cell<usize>,
}

impl FailingDisk {
    fn step(&self) -> io::Result<()> {
        let step = self.steps.replace(self.steps.get() + 1);
        if step == self.fails_at || (self.dies && step > self.fails_at) {
            return Err(self.kind.into());
        }
        Ok(())
    }
}

impl Disk for FailingDisk {
    fn create(&self, path: &Path) -> io::Result<File> {
        self.step().and_then(|()| RealDisk.create(path))
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        self.step().and_then(|()| RealDisk.sync(file))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step().and_then(|()| RealDisk.rename(from, to))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.step().and_then(|()| RealDisk.remove(path))
    }
}

/// Fails the package of tree 1 at every step in turn, over that of tree 0 if `replacing`; `check` sees each folder.
fn at_every_step(
    replacing: bool,
    dies: bool,
    check: impl Fn(&Path, usize, &anyhow::Error),
) -> usize {
    let dir = tempfile::tempdir().unwrap();
    let (old, new) = (
        sample(&dir.path().join("0"), 0),
        sample(&dir.path().join("1"), 1),
    );
    for fails_at in 0.. {
        let out = dir.path().join(format!("out{fails_at}"));
        if replacing {
            pack(&built(&old), &out, Effort::Fast, &|_| {}).unwrap();
        }
        let disk = FailingDisk {
            fails_at,
            dies,
            kind: io::ErrorKind::StorageFull,
            steps: Cell::new(0),
        };
        match pack_with(&disk, &pool(2), &built(&new), &out, Effort::Fast, &|_| {}) {
            // A step that only clears up may fail without harm.
            Ok(_) if disk.steps.get() > fails_at => {}
            Ok(_) => return fails_at,
            Err(error) => check(&out, fails_at, &error),
        }
        let package = pack(&built(&new), &out, Effort::Fast, &|_| {}).unwrap();
        assert_eq!(
            names(&out),
            published(),
            "the next run puts all right after step {fails_at}"
        );
        assert_eq!(sha256(&fs::read(&package.zip).unwrap()), package.sha256);
    }
    unreachable!()
}

/// What must hold at any moment: a zip that is whole, and beside it nothing that belongs to another.
fn assert_consistent(out: &Path, when: &str) {
    let here = names(out);
    let has = |name: &String| here.contains(name);
    let [json, zip, sum] = <[String; 3]>::try_from(published()).unwrap();
    if !has(&zip) {
        assert!(!has(&json) && !has(&sum), "{when}: {here:?}");
        return;
    }
    let bytes = fs::read(out.join(&zip)).unwrap();
    let mut archive = ZipArchive::new(Cursor::new(&bytes)).unwrap();
    let mut inside = String::new();
    archive
        .by_name("3.3.12/libs-manifest.json")
        .unwrap()
        .read_to_string(&mut inside)
        .unwrap();
    for index in 0..archive.len() {
        io::copy(&mut archive.by_index(index).unwrap(), &mut io::sink()).unwrap();
    }
    if has(&json) {
        assert_eq!(
            fs::read_to_string(out.join(&json)).unwrap(),
            inside,
            "{when}"
        );
    }
    if has(&sum) {
        let text = fs::read_to_string(out.join(&sum)).unwrap();
        assert!(
            has(&json) && text.starts_with(&sha256(&bytes)),
            "{when}: {here:?}"
        );
    }
}

#[test]
fn a_run_that_dies_at_any_step_leaves_no_half_package() {
    for replacing in [false, true] {
        let steps = at_every_step(replacing, true, |out, step, _| {
            assert_consistent(out, &format!("dead at step {step}"));
            if replacing {
                assert!(
                    out.join(ZIP).exists(),
                    "the zip is there at any moment; gone at step {step}"
                );
            }
        });
        assert!(steps >= 10, "{steps}");
    }
}

#[test]
fn a_step_that_fails_leaves_the_old_package_or_nothing_and_says_why() {
    for replacing in [false, true] {
        at_every_step(replacing, false, |out, step, error| {
            assert_consistent(out, &format!("failed at step {step}"));
            let text = format!("{error:#}");
            assert!(
                text.starts_with("no space left in ") && text.contains("--out"),
                "{text}"
            );
            let here = names(out);
            assert!(
                here.iter().all(|name| !name.starts_with('.')),
                "step {step}: {here:?}"
            );
            if !text.contains("is complete, but") {
                assert_eq!(
                    here,
                    if replacing { published() } else { vec![] },
                    "step {step}"
                );
            }
        });
    }
}

#[test]
fn leftovers_go_but_not_those_of_a_running_process_nor_of_another_package() {
    let dir = tempfile::tempdir().unwrap();
    let tree = sample(dir.path(), 0);
    let out = dir.path().join("dist");
    fs::create_dir(&out).unwrap();
    let dead = format!(".{ZIP}.4242-0.part");
    let live = format!(".{ZIP}.4243-0.part");
    let other = ".esp32s3-libs-3.3.12-xip-ecc-chip.zip.4242-0.part".to_owned();
    for name in [&dead, &live, &other] {
        fs::write(out.join(name), "half").unwrap();
    }
    let held = File::open(out.join(&live)).unwrap();
    held.lock().unwrap();
    pack(&built(&tree), &out, Effort::Fast, &|_| {}).unwrap();
    let mut expected = vec![other, live];
    expected.extend(published());
    expected.sort();
    assert_eq!(names(&out), expected);
}

#[test]
fn runs_at_once_do_not_mix_their_files() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("dist");
    let trees: Vec<_> = (0..4)
        .map(|n| sample(&dir.path().join(n.to_string()), n))
        .collect();
    std::thread::scope(|scope| {
        for tree in &trees {
            scope.spawn(|| {
                for _ in 0..5 {
                    pack_with(
                        &RealDisk,
                        &pool(2),
                        &built(tree),
                        &out,
                        Effort::Fast,
                        &|_| {},
                    )
                    .unwrap();
                }
            });
        }
    });
    assert_eq!(names(&out), published());
    assert_consistent(&out, "after four runs at once");
}

#[test]
fn progress_ends_at_the_whole() {
    let dir = tempfile::tempdir().unwrap();
    let tree = sample(dir.path(), 0);
    let last = Mutex::new((0, 1));
    pack(
        &built(&tree),
        &dir.path().join("o"),
        Effort::Fast,
        &|event| {
            if let Event::Bytes { done, total } = event {
                *last.lock().unwrap() = (done, total);
            }
        },
    )
    .unwrap();
    let (done, total) = last.into_inner().unwrap();
    assert!(done == total && total > 70_000, "{done} of {total}");
}
