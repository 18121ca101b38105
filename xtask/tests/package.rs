//! Packages as others see them: real unpackers, a real full disk, real kills, upstream's real names.
#![allow(
    clippy::unwrap_used,
    reason = "what a test's helpers cannot do fails the test"
)]

#[path = "../src/testing.rs"]
mod testing;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Instant;

use fs_err as fs;
use sha2::{Digest, Sha256};
use xshell::{Shell, cmd};
use xtask::build::BuiltLibs;
use xtask::libs::manifest::{self, BuildRecord, Manifest, PatchSetRecord};
use xtask::package::{Effort, Package, pack};
use xtask::progress::Event;

const STEM: &str = "esp32s3-libs-3.3.12-xip-ecc";

fn built(tree: &Path) -> BuiltLibs {
    BuiltLibs {
        tree: tree.to_owned(),
        core: "3.3.12".parse().unwrap(),
        chip: "esp32s3".parse().unwrap(),
        patch_set: PatchSetRecord {
            name: "xip-ecc".into(),
            suffix: "xip-ecc".into(),
            lines: BTreeMap::new(),
        },
        sources: Vec::new(),
        components: BTreeMap::new(),
        build: BuildRecord::Full {
            engine: "host".into(),
            image: None,
        },
        effective: BTreeMap::new(),
    }
}

fn pack_quietly(tree: &Path, out: &Path) -> Package {
    pack(&built(tree), out, Effort::Fast, &|_| {}).unwrap()
}

fn write(path: PathBuf, bytes: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

/// Bytes that deflate only in part.
fn mixed(length: usize, seed: u32) -> Vec<u8> {
    let mut state = seed.wrapping_mul(747_796_405) | 1;
    (0..length)
        .map(|n| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            if n % 64 < 40 {
                b'a' + (n % 7) as u8
            } else {
                state as u8
            }
        })
        .collect()
}

/// A tree with every sort of entry that the zip tells apart.
fn sample(root: &Path) -> PathBuf {
    let tree = root.join("esp32s3");
    write(tree.join("bin/bootloader_qio_80m.elf"), &mixed(90_000, 1));
    write(tree.join("bin/tool.txt"), b"not an elf");
    write(tree.join("lib/libhal.a"), &mixed(700_000, 2));
    write(
        tree.join("lib/libnoise.a"),
        &(0..5000_u32)
            .map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8)
            .collect::<Vec<_>>(),
    );
    write(
        tree.join("include/a b/x++.h"),
        &b"#pragma once\n".repeat(40),
    );
    write(tree.join("include/a-b/x.h"), b"");
    write(tree.join("versions.txt"), b"esp-idf: v5.5.5 b774170ff4\n");
    tree
}

/// Every file below `dir`: path with `/` -> content.
fn contents(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    walkdir::WalkDir::new(dir)
        .into_iter()
        .map(Result::unwrap)
        .filter(|entry| entry.file_type().is_file())
        .map(|entry| {
            let name = entry
                .path()
                .strip_prefix(dir)
                .unwrap()
                .to_str()
                .unwrap()
                .replace('\\', "/");
            (name, fs::read(entry.path()).unwrap())
        })
        .collect()
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn published() -> [String; 3] {
    [
        format!("{STEM}.json"),
        format!("{STEM}.zip"),
        format!("{STEM}.zip.sha256"),
    ]
}

#[test]
fn every_unpacker_gives_the_same_tree() {
    let dir = tempfile::tempdir().unwrap();
    let tree = sample(dir.path());
    let package = pack_quietly(&tree, &dir.path().join("dist"));
    let zip = &package.zip;
    let json = fs::read(dir.path().join(format!("dist/{STEM}.json"))).unwrap();
    let mut expected = contents(&tree);
    expected.insert(manifest::FILE_NAME.to_owned(), json);

    let into = |name: &str| {
        let into = dir.path().join(name);
        fs::create_dir(&into).unwrap();
        into
    };
    let check = |into: &Path, name: &str| {
        // arduino-cli takes an archive only if it has exactly one folder at its root.
        assert_eq!(names(into), ["3.3.12"], "{name}");
        assert_eq!(contents(&into.join("3.3.12")), expected, "{name}");
    };
    let crate_dir = into("crate");
    zip::ZipArchive::new(fs::File::open(zip).unwrap())
        .unwrap()
        .extract(&crate_dir)
        .unwrap();
    check(&crate_dir, "the zip crate");
    let python = "import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); assert z.testzip() is None; z.extractall(sys.argv[2])";
    let sh = Shell::new().unwrap();
    for program in ["unzip", "bsdtar", "7z", "python3"] {
        if which::which(program).is_err() {
            testing::skipped(
                "every_unpacker_gives_the_same_tree",
                &format!("{program} is not installed"),
            );
            continue;
        }
        let into = into(program);
        let command = match program {
            "unzip" => cmd!(sh, "unzip -q {zip} -d {into}"),
            "bsdtar" => cmd!(sh, "bsdtar -xf {zip} -C {into}"),
            "7z" => cmd!(sh, "7z x -bd -y -o{into} {zip}"),
            _ => cmd!(sh, "python3 -c {python} {zip} {into}"),
        };
        command.quiet().ignore_stdout().run().unwrap();
        check(&into, program);
        if matches!(program, "unzip" | "bsdtar") {
            assert_modes(&into.join("3.3.12"), program);
        }
    }
}

#[cfg(unix)]
fn assert_modes(tree: &Path, program: &str) {
    use std::os::unix::fs::PermissionsExt;
    for (name, executable) in [
        ("bin/bootloader_qio_80m.elf", true),
        ("bin/tool.txt", false),
        ("lib/libhal.a", false),
    ] {
        let mode = fs::metadata(tree.join(name)).unwrap().permissions().mode();
        assert_eq!(
            mode & 0o100 != 0,
            executable,
            "{program}: {name} has {mode:o}"
        );
    }
}

#[cfg(not(unix))]
fn assert_modes(_: &Path, _: &str) {}

#[test]
fn testers_and_sha256sum_are_content() {
    let dir = tempfile::tempdir().unwrap();
    let package = pack(
        &built(&sample(dir.path())),
        &dir.path().join("dist"),
        Effort::Best,
        &|_| {},
    )
    .unwrap();
    let zip = &package.zip;
    let sh = Shell::new().unwrap();
    sh.change_dir(dir.path().join("dist"));
    for program in ["7z", "unzip", "zipinfo", "sha256sum"] {
        if which::which(program).is_err() {
            testing::skipped(
                "testers_and_sha256sum_are_content",
                &format!("{program} is not installed"),
            );
            continue;
        }
        match program {
            "7z" => assert!(
                cmd!(sh, "7z t -bd {zip}")
                    .quiet()
                    .read()
                    .unwrap()
                    .contains("Everything is Ok")
            ),
            "unzip" => assert!(
                cmd!(sh, "unzip -tq {zip}")
                    .quiet()
                    .read()
                    .unwrap()
                    .contains("No errors detected")
            ),
            "zipinfo" => {
                let text = cmd!(sh, "zipinfo -T {zip}").quiet().read().unwrap();
                let entries: Vec<_> = text
                    .lines()
                    .filter(|line| line.contains(" 3.3.12/"))
                    .collect();
                assert_eq!(entries.len(), package.manifest.files.len() + 1, "{text}");
                for line in entries {
                    let elf = line.ends_with(".elf");
                    assert!(
                        line.starts_with(if elf { "-rwxr-xr-x" } else { "-rw-r--r--" }),
                        "{line}"
                    );
                    assert!(
                        line.contains(" unx ") && line.contains(" 19800101.000000 "),
                        "{line}"
                    );
                }
            }
            _ => cmd!(sh, "sha256sum --check --strict {STEM}.zip.sha256")
                .quiet()
                .ignore_stdout()
                .run()
                .unwrap(),
        }
    }
}

#[test]
fn upstreams_own_names_pass_without_a_warning() {
    let Some(listing) = testing::shared(
        "upstreams_own_names_pass_without_a_warning",
        "upstream/esp32s3-tree.tsv",
    ) else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let tree = dir.path().join("esp32s3");
    let text = fs::read_to_string(listing).unwrap();
    let upstream: Vec<&str> = text
        .lines()
        .filter_map(|line| line.split('\t').nth(2))
        .collect();
    assert!(upstream.len() > 2500);
    for name in &upstream {
        write(tree.join(name), name.as_bytes());
    }
    let warnings = Mutex::new(Vec::new());
    let package = pack(
        &built(&tree),
        &dir.path().join("dist"),
        Effort::Fast,
        &|event| {
            if let Event::Warning(text) = event {
                warnings.lock().unwrap().push(text.to_owned());
            }
        },
    )
    .unwrap();
    assert!(warnings.lock().unwrap().is_empty(), "{warnings:?}");
    assert_eq!(package.manifest.files.len(), upstream.len());
}

/// A file system of one megabyte, gone when dropped.
#[cfg(target_os = "linux")]
struct SmallDisk(PathBuf);

#[cfg(target_os = "linux")]
impl SmallDisk {
    fn mount(at: PathBuf) -> Option<Self> {
        fs::create_dir(&at).unwrap();
        let sh = Shell::new().unwrap();
        let mounted = cmd!(sh, "mount -t tmpfs -o size=1m tmpfs {at}")
            .quiet()
            .ignore_stderr()
            .run();
        mounted.ok().map(|()| Self(at))
    }
}

#[cfg(target_os = "linux")]
impl Drop for SmallDisk {
    fn drop(&mut self) {
        let (sh, at) = (Shell::new().unwrap(), &self.0);
        cmd!(sh, "umount {at}").quiet().run().ok();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_one_clear_error_and_leaves_what_was_there() {
    let dir = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::mount(dir.path().join("small")) else {
        testing::skipped(
            "a_full_disk_is_one_clear_error_and_leaves_what_was_there",
            "mounting a tmpfs needs root",
        );
        return;
    };
    let tree = sample(dir.path());
    let small = pack_quietly(&tree, &disk.0);
    write(tree.join("lib/libmore.a"), &mixed(3_000_000, 5));
    let (sh, program) = (Shell::new().unwrap(), std::env::current_exe().unwrap());
    let output = cmd!(
        sh,
        "{program} --exact packs_in_a_child --ignored --nocapture"
    )
    .env(CHILD_TREE, &tree)
    .env(CHILD_OUT, &disk.0)
    .quiet()
    .ignore_status()
    .output()
    .unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    let start = format!(
        "error: no space left in {}; free some there, or choose another folder with --out: ",
        disk.0.display()
    );
    assert!(
        text.starts_with(&start) && text.lines().count() == 1,
        "{text}"
    );
    assert_eq!(names(&disk.0), published());
    assert_eq!(
        sha256(&small.zip),
        small.sha256,
        "the package before is untouched"
    );
}

fn sha256(path: &Path) -> String {
    Sha256::digest(fs::read(path).unwrap())
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// What [`packs_in_a_child`] packs, and where to.
const CHILD_TREE: &str = "XTASK_TEST_PACK_TREE";
const CHILD_OUT: &str = "XTASK_TEST_PACK_OUT";

#[test]
#[ignore = "the process that other tests here start and kill"]
fn packs_in_a_child() {
    let (Some(tree), Some(out)) = (std::env::var_os(CHILD_TREE), std::env::var_os(CHILD_OUT))
    else {
        testing::unasked("packs_in_a_child", "only other tests call it");
        return;
    };
    if let Err(error) = pack(&built(tree.as_ref()), out.as_ref(), Effort::Fast, &|_| {}) {
        eprintln!("error: {error:#}");
    }
}

#[test]
fn a_killed_run_leaves_no_half_package() {
    let dir = tempfile::tempdir().unwrap();
    let (tree, out) = (dir.path().join("esp32s3"), dir.path().join("dist"));
    for n in 0..200 {
        write(tree.join(format!("include/part_{n}.h")), &mixed(20_000, n));
    }
    let child = || {
        let (sh, program) = (Shell::new().unwrap(), std::env::current_exe().unwrap());
        let command = cmd!(sh, "{program} --exact packs_in_a_child --ignored --quiet")
            .env(CHILD_TREE, &tree)
            .env(CHILD_OUT, &out);
        let mut command: std::process::Command = command.into();
        command.stdout(std::process::Stdio::null()).spawn().unwrap()
    };
    let begun = Instant::now();
    assert!(child().wait().unwrap().success());
    let whole = begun.elapsed();
    assert_eq!(names(&out), published());

    const KILLS: u32 = 10;
    let mut killed = 0;
    for n in 1..=KILLS {
        // Each run has another tree, so that its files do not fit to those of the run before.
        write(tree.join("versions.txt"), n.to_string().as_bytes());
        let mut process = child();
        std::thread::sleep(whole * n / KILLS);
        process.kill().unwrap();
        killed += u32::from(!process.wait().unwrap().success());
        assert_consistent(&out);
    }
    assert!(killed > 0, "every run was over before its kill");
    let package = pack_quietly(&tree, &out);
    assert_eq!(names(&out), published(), "the next run clears up");
    assert_eq!(sha256(&package.zip), package.sha256);
}

/// The zip is whole, and what stands beside it belongs to it.
fn assert_consistent(out: &Path) {
    let [json, zip, sum] = published().map(|name| out.join(name));
    let mut archive = zip::ZipArchive::new(fs::File::open(&zip).unwrap()).unwrap();
    for index in 0..archive.len() {
        std::io::copy(&mut archive.by_index(index).unwrap(), &mut std::io::sink()).unwrap();
    }
    let inside = archive.by_name("3.3.12/libs-manifest.json").unwrap();
    let inside: Manifest = serde_json::from_reader(inside).unwrap();
    if json.exists() {
        let beside: Manifest = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
        assert_eq!(beside, inside);
    }
    if sum.exists() {
        assert!(fs::read_to_string(sum).unwrap().starts_with(&sha256(&zip)));
    }
}
