//! Install and revert as processes: killed at any time, two at once, on a full and on a read-only disk, from broken zips.
#![allow(clippy::unwrap_used, reason = "a test program: a panic is its verdict")]

#[path = "../src/testing.rs"]
mod testing;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fs_err as fs;
use xshell::{Shell, cmd};
use xtask::build::BuiltLibs;
use xtask::libs::manifest::{BuildRecord, PatchSetRecord};
use xtask::package::{Effort, pack};
use xtask::swap::{self, Content, CoreState, Depth, Place};

const CORE: &str = "3.3.12";

/// Path -> content.
type Tree = BTreeMap<String, Vec<u8>>;

/// An Arduino data folder with stock libraries, a home folder of its own, and packages.
struct World {
    dir: tempfile::TempDir,
    data: PathBuf,
    place: Place,
    stock: Tree,
}

/// Libraries of `files` headers; with `mark`, patched by the set of that name.
fn tree(files: usize, mark: Option<&str>) -> Tree {
    let on = match mark {
        Some(_) => "#define CONFIG_SPIRAM_XIP_FROM_PSRAM 1\n",
        None => "",
    };
    let mut tree = Tree::new();
    let mut add = |path: &str, text: String| tree.insert(path.to_owned(), text.into_bytes());
    add("flags/defines", "-DESP_PLATFORM".to_owned());
    add("lib/libhal.a", "!<arch>\nhal".repeat(400));
    add(
        "qio_opi/include/sdkconfig.h",
        format!("#define CONFIG_SPIRAM_MODE_OCT 1\n{on}"),
    );
    add(
        "qio_opi/libspi_flash.a",
        format!("!<arch>\n{}", mark.unwrap_or("stock")),
    );
    add("versions.txt", "esp-idf: v5.5.5 b774170ff4\n".to_owned());
    for n in 0..files {
        add(
            &format!("include/part_{}/h{n}.h", n % 7),
            format!("#define A{n} {n}\n").repeat(20 + n),
        );
    }
    tree
}

fn write(root: &Path, tree: &Tree) {
    for (path, content) in tree {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}

fn read(root: &Path) -> Tree {
    let files = xtask::libs::files::walk(root).unwrap().files;
    files
        .into_iter()
        .map(|file| (file.name, fs::read(file.disk).unwrap()))
        .collect()
}

impl World {
    /// With the data folder at `data` below `dir`.
    fn new(dir: tempfile::TempDir, data: &str, files: usize) -> Self {
        let data = dir.path().join(data);
        let place = Place::in_data_dir(&data, &"esp32s3".parse().unwrap(), &CORE.parse().unwrap());
        let stock = tree(files, None);
        write(&place.active(), &stock);
        let platform = data.join("packages/esp32/hardware/esp32").join(CORE);
        fs::create_dir_all(&platform).unwrap();
        let index = serde_json::json!({"packages": [{"name": "esp32", "platforms": [{
            "name": "esp32", "architecture": "esp32", "version": CORE,
            "toolsDependencies": [{"packager": "esp32", "name": "esp32s3-libs", "version": CORE}],
        }]}]});
        fs::write(platform.join("installed.json"), index.to_string()).unwrap();
        Self {
            dir,
            data,
            place,
            stock,
        }
    }

    fn plain(files: usize) -> Self {
        Self::new(tempfile::tempdir().unwrap(), "Arduino15", files)
    }

    /// The package of the set `suffix`.
    fn zip(&self, files: usize, suffix: &str) -> PathBuf {
        let root = self.dir.path().join(format!("built-{suffix}"));
        write(&root, &tree(files, Some(suffix)));
        let built = BuiltLibs {
            tree: root,
            core: CORE.parse().unwrap(),
            chip: "esp32s3".parse().unwrap(),
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
        };
        let out = self.dir.path().join("dist");
        pack(&built, &out, Effort::Fast, &|_| {}).unwrap().zip
    }

    /// `cargo xtask install` on this folder. The user's own home and caches are none of its business.
    fn command(&self, arguments: &[&str]) -> Command {
        let (sh, program) = (Shell::new().unwrap(), env!("CARGO_BIN_EXE_xtask"));
        let data = &self.data;
        let mut command: Command =
            cmd!(sh, "{program} install --data-dir {data} {arguments...}").into();
        let home = self.dir.path().join("home");
        for name in ["HOME", "XDG_CACHE_HOME", "LOCALAPPDATA", "TMPDIR", "TEMP"] {
            command.env(name, &home);
        }
        for name in [
            "ARDUINO_CONFIG_FILE",
            "ARDUINO_BUILD_CACHE_PATH",
            "ARDUINO_DIRECTORIES_DATA",
        ] {
            command.env_remove(name);
        }
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Exit code and all that was said.
    fn run(&self, arguments: &[&str]) -> (Option<i32>, String) {
        said(self.command(arguments).spawn().unwrap())
    }

    fn run_well(&self, arguments: &[&str]) -> String {
        let (code, text) = self.run(arguments);
        assert_eq!(code, Some(0), "{arguments:?}: {text}");
        text
    }

    fn core(&self) -> CoreState {
        let state = swap::state(&self.place.tools, &self.place.chip, Depth::Full).unwrap();
        state.cores.into_iter().next().unwrap()
    }

    fn assert_stock_is_whole(&self, when: &str) {
        let places = [self.place.active(), self.place.stock()];
        let whole = places
            .iter()
            .any(|root| root.is_dir() && read(root) == self.stock);
        assert!(whole, "{when}: the stock libraries are not whole");
    }

    /// Every folder is missing or whole; what `state` says of it is so.
    fn assert_whole_trees(&self, when: &str) {
        let core = self.core();
        for content in [&core.active, &core.stock] {
            let whole = matches!(
                content,
                Content::Missing | Content::Stock { .. } | Content::Patched(_)
            );
            assert!(whole, "{when}: {content:?}");
        }
        let stock = |content: &Content| matches!(content, Content::Stock { .. });
        assert!(
            stock(&core.active) || stock(&core.stock),
            "{when}: {core:?}"
        );
    }
}

fn said(child: Child) -> (Option<i32>, String) {
    let output = child.wait_with_output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(text).unwrap())
}

/// A small generator (splitmix64), the same every time.
fn random(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

#[test]
fn killed_at_any_time_nothing_is_lost() {
    const KILLS: usize = 200;
    const FILES: usize = 60;
    let world = World::plain(FILES);
    let zips = [world.zip(FILES, "xip-ecc"), world.zip(FILES, "other")];
    let [first, second] = zips.each_ref().map(|zip| zip.to_str().unwrap());
    let commands: [&[&str]; 5] = [
        &["--zip", first],
        &["--revert"],
        &["--zip", second],
        &["--zip", first],
        &["--revert", "--discard"],
    ];
    let begun = Instant::now();
    world.run_well(commands[0]);
    let mut whole = begun.elapsed();
    let (mut state, mut killed, mut unfinished) = (42, 0, 0);
    let journal = world.place.tools.join(".xip/journal.json");
    for n in 0..10 * KILLS {
        if killed == KILLS {
            break;
        }
        let command = commands[n % commands.len()];
        let when = format!("kill {n}, {command:?}");
        let mut child = world.command(command).spawn().unwrap();
        if n % 3 == 0 {
            std::thread::sleep(whole.mul_f64(random(&mut state)));
        } else {
            // The swap itself is a hundredth of the run: wait for its journal, and a little more.
            while !journal.exists() && child.try_wait().unwrap().is_none() {
                std::hint::spin_loop();
            }
            std::thread::sleep(Duration::from_millis(2).mul_f64(random(&mut state).powi(2)));
        }
        child.kill().unwrap();
        if child.wait().unwrap().success() {
            // The first run was on a busier machine than this one: aim earlier.
            whole = whole.mul_f64(0.95);
        } else {
            killed += 1;
        }
        unfinished += usize::from(journal.exists());
        world.assert_stock_is_whole(&when);
        world.assert_whole_trees(&when);
    }
    assert_eq!(killed, KILLS, "too many runs were over before their kill");
    assert!(
        unfinished >= 10,
        "only {unfinished} of {killed} kills came within a swap"
    );
    println!("{killed} runs were killed, {unfinished} of them within a swap");
    world.run_well(commands[0]);
    assert!(matches!(world.core().active, Content::Patched(_)));
    world.run_well(commands[4]);
    assert_eq!(read(&world.place.active()), world.stock);
    let core = world.core();
    assert!(
        core.stock == Content::Missing && core.asides.is_empty(),
        "{core:?}"
    );
}

#[test]
fn two_at_once_take_turns() {
    const FILES: usize = 40;
    let world = World::plain(FILES);
    let zips = [world.zip(FILES, "xip-ecc"), world.zip(FILES, "other")];
    let [first, second] = zips.each_ref().map(|zip| zip.to_str().unwrap());
    let pairs: [[&[&str]; 2]; 4] = [
        [&["--zip", first], &["--zip", first]],
        [&["--zip", first], &["--zip", second]],
        [&["--zip", second], &["--revert"]],
        [&["--revert"], &["--revert", "--discard"]],
    ];
    for (round, pair) in pairs.iter().cycle().take(12).enumerate() {
        let children = pair.map(|arguments| world.command(arguments).spawn().unwrap());
        for (child, arguments) in children.into_iter().zip(pair) {
            let (code, text) = said(child);
            assert_eq!(code, Some(0), "round {round}, {arguments:?}: {text}");
        }
        world.assert_stock_is_whole("two at once");
        world.assert_whole_trees("two at once");
        assert_ne!(world.core().active, Content::Missing);
        if round % pairs.len() == 0 {
            assert!(matches!(world.core().active, Content::Patched(_)));
        }
    }
}

#[test]
fn a_broken_zip_changes_nothing() {
    let world = World::plain(10);
    let zip = world.zip(10, "xip-ecc");
    let sum = zip.with_extension("zip.sha256");
    let bytes = fs::read(&zip).unwrap();
    let before = read(&world.data);
    let refused = |word: &str| {
        let (code, text) = world.run(&["--zip", zip.to_str().unwrap()]);
        assert_eq!(code, Some(3), "{text}");
        assert!(text.contains(word), "`{word}` is not in: {text}");
        assert_eq!(
            text.lines()
                .filter(|line| line.starts_with("error: "))
                .count(),
            1,
            "{text}"
        );
        let mut after = read(&world.data);
        after.retain(|path, _| !path.contains("/.xip/"));
        assert_eq!(after, before);
    };
    let mut altered = bytes.clone();
    altered[200] ^= 1;
    fs::write(&zip, &altered).unwrap();
    refused(".sha256 file beside it");
    fs::remove_file(&sum).unwrap();
    refused("altered");
    fs::write(&zip, &bytes[..bytes.len() / 2]).unwrap();
    refused("not a whole zip");
    fs::write(&zip, "").unwrap();
    refused("not a whole zip");
    fs::write(&zip, &bytes).unwrap();
    world.run_well(&["--zip", zip.to_str().unwrap()]);
}

/// A file system of its own, gone when dropped.
#[cfg(target_os = "linux")]
struct SmallDisk(PathBuf);

#[cfg(target_os = "linux")]
impl SmallDisk {
    fn mount(at: PathBuf, options: &str) -> Option<Self> {
        fs::create_dir(&at).unwrap();
        let sh = Shell::new().unwrap();
        let mounted = cmd!(sh, "mount -t tmpfs -o {options} tmpfs {at}")
            .quiet()
            .ignore_stderr()
            .run();
        mounted.ok().map(|()| Self(at))
    }

    fn remount(&self, options: &str) {
        let (sh, at) = (Shell::new().unwrap(), &self.0);
        cmd!(sh, "mount -o remount,{options} {at}")
            .quiet()
            .run()
            .unwrap();
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
fn on_a_full_disk_nothing_is_lost_and_a_revert_works() {
    let dir = tempfile::tempdir().unwrap();
    // The disk has bytes enough, so that nothing is refused beforehand, and too few inodes for a second tree.
    let Some(disk) = SmallDisk::mount(dir.path().join("small"), "size=8m,nr_inodes=160") else {
        return testing::skipped(
            "on_a_full_disk_nothing_is_lost_and_a_revert_works",
            "mounting a tmpfs needs root",
        );
    };
    let world = World::new(dir, "small/Arduino15", 100);
    let zip = world.zip(100, "xip-ecc");
    let zip = zip.to_str().unwrap();
    let (code, text) = world.run(&["--zip", zip]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("no space left in"), "{text}");
    assert_eq!(read(&world.place.active()), world.stock);
    assert!(
        !world.place.tools.join(".xip/new").exists(),
        "what was unpacked is removed"
    );
    world.assert_whole_trees("after a full disk");

    disk.remount("nr_inodes=1000");
    world.run_well(&["--zip", zip]);
    // Now not a byte is free.
    let mut filler = fs::File::create(disk.0.join("filler")).unwrap();
    let zeroes = [0; 4096];
    while std::io::Write::write_all(&mut filler, &zeroes).is_ok() {}
    world.run_well(&["--revert"]);
    assert_eq!(read(&world.place.active()), world.stock);
    let (code, text) = world.run(&["--zip", zip]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("not enough space in"), "{text}");
    drop(filler);
    drop(disk);
    drop(world);
}

#[cfg(target_os = "linux")]
#[test]
fn on_a_read_only_disk_the_folder_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::mount(dir.path().join("small"), "size=8m") else {
        return testing::skipped(
            "on_a_read_only_disk_the_folder_is_named",
            "mounting a tmpfs needs root",
        );
    };
    let world = World::new(dir, "small/Arduino15", 5);
    let zip = world.zip(5, "xip-ecc");
    let install = ["--zip", zip.to_str().unwrap()];
    for arguments in [&install[..], &["--revert"]] {
        disk.remount("rw");
        if arguments == ["--revert"] {
            world.run_well(&install);
        }
        let before = read(&world.data);
        disk.remount("ro");
        let (code, text) = world.run(arguments);
        assert_eq!(code, Some(1), "{text}");
        assert!(
            text.contains("cannot be written to") && text.contains("esp32s3-libs"),
            "{text}"
        );
        assert_eq!(read(&world.data), before);
    }
    drop(disk);
    drop(world);
}

/// The journal of a `revert --discard` that came to its end, but for its own removal.
const STALE: &str = r#"{"schema":1,"run":"revert","core":"3.3.12","begun":"2026-11-30T22:15:04Z","by":"xtask 0.1.0",
"moves":[{"from":"3.3.12","to":".xip/old.0"},{"from":"3.3.12.stock","to":"3.3.12"}],
"remove":[".xip/old.0"],"caches":[],"record":null}"#;

#[test]
fn a_stale_journal_does_not_take_a_folder_for_stock_by_its_name() {
    let world = World::plain(20);
    let zip = world.zip(20, "xip-ecc");
    let tools = &world.place.tools;
    let make: [&dyn Fn(); 3] = [
        &|| fs::create_dir(world.place.stock()).unwrap(),
        &|| fs::write(world.place.stock(), "").unwrap(),
        &|| {
            // The begin of a copy.
            fs::create_dir_all(world.place.stock().join("lib")).unwrap();
            fs::write(world.place.stock().join("lib/a.a"), "x").unwrap();
        },
    ];
    for make in make {
        for command in [vec!["--revert"], vec!["--zip", zip.to_str().unwrap()]] {
            world.run_well(&["--zip", zip.to_str().unwrap()]);
            world.run_well(&["--revert", "--discard"]);
            fs::write(tools.join(".xip/journal.json"), STALE).unwrap();
            make();
            let (_, said) = world.run(&command);
            world.assert_stock_is_whole(&format!("{command:?}: {said}"));
            // Whoever made it takes it away again.
            for path in [world.place.stock(), world.place.active()] {
                if path.is_file() {
                    fs::remove_file(path).unwrap();
                } else if path.is_dir() && read(&path).len() < 3 {
                    fs::remove_dir_all(path).unwrap();
                }
            }
            world.run(&["--revert", "--discard"]);
            world.assert_stock_is_whole(&format!("after {command:?}"));
        }
    }
}

#[cfg(unix)]
#[test]
fn a_link_in_the_place_of_our_own_folder_is_not_followed() {
    let world = World::plain(20);
    let zip = world.zip(20, "xip-ecc");
    let elsewhere = tempfile::tempdir().unwrap();
    for name in ["new", "old.0", "tmp_abc123"] {
        fs::create_dir(elsewhere.path().join(name)).unwrap();
        fs::write(elsewhere.path().join(name).join("precious"), "").unwrap();
    }
    std::os::unix::fs::symlink(elsewhere.path(), world.place.tools.join(".xip")).unwrap();
    let (code, said) = world.run(&["--zip", zip.to_str().unwrap()]);
    assert!(code == Some(1) && said.contains(".xip is a link"), "{said}");
    for name in ["new", "old.0", "tmp_abc123"] {
        assert!(
            elsewhere.path().join(name).join("precious").exists(),
            "{name}"
        );
    }
    world.assert_stock_is_whole("a link");
}
