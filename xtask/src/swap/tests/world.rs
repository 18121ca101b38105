//! A small tool folder with stock libraries, and packages for it.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Result;
use fs_err as fs;

use crate::build::BuiltLibs;
use crate::libs::manifest::{BuildRecord, PatchSetRecord};
use crate::package::{self, Effort};
use crate::swap::{
    self, Content, CoreState, Depth, Disk, InstallOptions, Installed, Place, RealDisk,
    RevertOptions, Reverted,
};

pub(in crate::swap) const CORE: &str = "3.3.12";

/// An Arduino data folder, a build cache beside it, and packages.
pub(in crate::swap) struct World {
    dir: tempfile::TempDir,
    pub(in crate::swap) place: Place,
    /// Content of the stock tree.
    pub(in crate::swap) stock: Tree,
}

/// Path -> content.
pub(in crate::swap) type Tree = BTreeMap<String, Vec<u8>>;

/// The stock tree; with `mark`, as a patch set of that name changes it.
pub(in crate::swap) fn tree(mark: Option<&str>) -> Tree {
    let on = "#define CONFIG_SPIRAM_XIP_FROM_PSRAM 1\n#define CONFIG_SPIRAM_ECC_ENABLE 1\n";
    let settings = if mark.is_some() { on } else { "" };
    let archive = format!("!<arch>\n{}", mark.unwrap_or("stock"));
    [
        ("bin/bootloader_qio_80m.elf", "\x7fELF".repeat(50)),
        ("flags/defines", "-DESP_PLATFORM".to_owned()),
        ("include/a/b/c.h", "#pragma once\n".to_owned()),
        ("include/empty.h", String::new()),
        ("lib/libhal.a", "!<arch>\nhal".repeat(40)),
        (
            "qio_opi/include/sdkconfig.h",
            format!("#define CONFIG_SPIRAM_MODE_OCT 1\n{settings}"),
        ),
        ("qio_opi/libspi_flash.a", archive),
        (
            "qio_qspi/include/sdkconfig.h",
            "#define CONFIG_SPIRAM_MODE_QUAD 1\n".to_owned(),
        ),
        ("versions.txt", "esp-idf: v5.5.5 b774170ff4\n".to_owned()),
    ]
    .into_iter()
    .map(|(path, text)| (path.to_owned(), text.into_bytes()))
    .collect()
}

pub(in crate::swap) fn write(root: &Path, tree: &Tree) {
    for (path, content) in tree {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}

pub(in crate::swap) fn read(root: &Path) -> Tree {
    crate::libs::files::walk(root)
        .unwrap()
        .files
        .into_iter()
        .map(|file| (file.name, fs::read(file.disk).unwrap()))
        .collect()
}

impl World {
    /// The core is installed and untouched; its cache holds a compiled core.
    pub(in crate::swap) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let place = Place::in_data_dir(
            &dir.path().join("Arduino15"),
            &"esp32s3".parse().unwrap(),
            &CORE.parse().unwrap(),
        );
        let world = Self {
            place,
            stock: tree(None),
            dir,
        };
        write(&world.place.active(), &world.stock);
        world.fill_caches();
        world
    }

    pub(in crate::swap) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A folder and a file, as two generations of arduino-cli left them.
    pub(in crate::swap) fn caches(&self) -> Vec<PathBuf> {
        vec![
            self.path("cache/cores/esp32_esp32_esp32s3_1"),
            self.path("tmp/core_esp32.a"),
        ]
    }

    pub(in crate::swap) fn fill_caches(&self) {
        let [folder, file] = <[PathBuf; 2]>::try_from(self.caches()).unwrap();
        fs::create_dir_all(folder.join("deep")).unwrap();
        fs::write(folder.join("deep/core.a"), "old").unwrap();
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "old").unwrap();
    }

    /// A package of the patch set `suffix`, made once.
    pub(in crate::swap) fn zip(&self, suffix: &str) -> PathBuf {
        let out = self.path("dist");
        let zip = out.join(format!("esp32s3-libs-{CORE}-{suffix}.zip"));
        if zip.exists() {
            return zip;
        }
        let root = self.path(&format!("built-{suffix}"));
        write(&root, &tree(Some(suffix)));
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
        package::pack(&built, &out, Effort::Fast, &|_| {})
            .unwrap()
            .zip
    }

    pub(in crate::swap) fn install(&self, suffix: &str) -> Result<Installed> {
        self.install_on(&RealDisk, suffix)
    }

    pub(in crate::swap) fn install_on(&self, disk: &dyn Disk, suffix: &str) -> Result<Installed> {
        self.install_zip(disk, &self.zip(suffix))
    }

    pub(in crate::swap) fn install_zip(&self, disk: &dyn Disk, zip: &Path) -> Result<Installed> {
        let options = InstallOptions {
            dry_run: false,
            caches: &|| self.caches(),
            running: &|| None,
        };
        swap::install(&self.place, zip, &options, disk, &|_| {})
    }

    pub(in crate::swap) fn revert(&self, discard: bool) -> Result<Reverted> {
        self.revert_on(&RealDisk, discard)
    }

    pub(in crate::swap) fn revert_on(&self, disk: &dyn Disk, discard: bool) -> Result<Reverted> {
        let options = RevertOptions {
            dry_run: false,
            discard,
            caches: &|| self.caches(),
            running: &|| None,
        };
        swap::revert(&self.place, &options, disk, &|_| {})
    }

    /// What `state` says of the core, every file looked at.
    pub(in crate::swap) fn state(&self) -> CoreState {
        let state = swap::state(&self.place.tools, &self.place.chip, Depth::Full).unwrap();
        assert_eq!(state.unfinished, None);
        let [core] = <[CoreState; 1]>::try_from(state.cores).unwrap();
        core
    }

    /// What was changed with the article's commands: `ren 3.3.12 3.3.12.stock`, then unpacking a zip of one's own.
    pub(in crate::swap) fn swap_by_hand(&self) {
        fs::rename(self.place.active(), self.place.stock()).unwrap();
        write(&self.place.active(), &tree(Some("hand")));
    }

    /// Names in the tool folder, hidden ones excepted.
    pub(in crate::swap) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(&self.place.tools)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| !name.starts_with('.'))
            .collect();
        names.sort();
        names
    }

    /// What is left in `.xip` of a finished run: records and the lock, nothing else.
    pub(in crate::swap) fn assert_tidy(&self, when: &str) {
        let own = self.place.at(".xip");
        if !own.exists() {
            return;
        }
        for entry in fs::read_dir(own).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let kept = name == "lock" || name.ends_with(".list") || name.ends_with(".json");
            assert!(kept && name != "journal.json", "{when}: {name} is left");
        }
    }

    /// The stock tree stands, bit for bit, in one of its two places.
    pub(in crate::swap) fn assert_stock_is_whole(&self, when: &str) {
        let places = [self.place.active(), self.place.stock()];
        let whole = places
            .iter()
            .any(|root| root.is_dir() && read(root) == self.stock);
        assert!(
            whole,
            "{when}: the stock libraries are not whole; {:?}",
            self.names()
        );
    }

    /// What `state` says of the active folder and of the kept stock is what stands there.
    pub(in crate::swap) fn assert_state_is_true(&self, when: &str) {
        let state = swap::state(&self.place.tools, &self.place.chip, Depth::Full).unwrap();
        let core = state.cores.into_iter().next().unwrap();
        for (content, root) in [
            (&core.active, self.place.active()),
            (&core.stock, self.place.stock()),
        ] {
            let mut there = root.is_dir().then(|| read(&root));
            let manifest = there
                .as_mut()
                .and_then(|tree| tree.remove("libs-manifest.json"));
            match content {
                Content::Missing => assert!(there.is_none(), "{when}"),
                Content::Stock { .. } => assert_eq!(there.unwrap(), self.stock, "{when}"),
                Content::Patched(patched) => {
                    assert!(manifest.is_some(), "{when}");
                    assert_eq!(there.unwrap(), tree(Some(&patched.suffix)), "{when}");
                }
                Content::PatchedByHand { .. } => {
                    assert_eq!(there.unwrap(), tree(Some("hand")), "{when}")
                }
                other => panic!("{when}: {other:?}"),
            }
        }
    }
}

/// A disk whose step number `fails_at` fails, and with `dies` every later one too, as in a killed process.
pub(in crate::swap) struct FailingDisk {
    pub(in crate::swap) fails_at: usize,
    pub(in crate::swap) dies: bool,
    pub(in crate::swap) steps: AtomicUsize,
}

impl FailingDisk {
    pub(in crate::swap) fn new(fails_at: usize, dies: bool) -> Self {
        Self {
            fails_at,
            dies,
            steps: AtomicUsize::new(0),
        }
    }

    /// Does a step, or half of it: a process may be killed in its middle.
    fn step<T>(&self, whole: impl FnOnce() -> T, half: impl FnOnce()) -> Result<T, io::Error> {
        let step = self.steps.fetch_add(1, Ordering::SeqCst);
        if step == self.fails_at {
            half();
        }
        if step == self.fails_at || (self.dies && step > self.fails_at) {
            return Err(io::Error::other("this step fails"));
        }
        Ok(whole())
    }
}

impl Disk for FailingDisk {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.step(|| RealDisk.create_dir(path), || {})?
    }

    fn write(&self, path: &Path, content: &[u8], executable: bool) -> io::Result<()> {
        let half = || {
            RealDisk
                .write(path, &content[..content.len() / 2], executable)
                .unwrap()
        };
        self.step(|| RealDisk.write(path, content, executable), half)?
    }

    fn replace(&self, path: &Path, content: &[u8]) -> Result<()> {
        // Half a file under another name is what whole_file leaves when it is killed, and only then.
        let half = || {
            if self.dies {
                fs::write(
                    path.with_file_name("tmp_a1b2c3"),
                    &content[..content.len() / 2],
                )
                .unwrap();
            }
        };
        // Without waiting for the disk, which is most of the time of a real one.
        self.step(|| fs::write(path, content).map_err(Into::into), half)?
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step(|| RealDisk.rename(from, to), || {})?
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.step(|| RealDisk.remove_file(path), || {})?
    }

    fn remove_tree(&self, path: &Path) -> io::Result<()> {
        let half = || {
            for file in crate::libs::files::walk(path)
                .unwrap()
                .files
                .iter()
                .step_by(2)
            {
                fs::remove_file(&file.disk).unwrap();
            }
        };
        self.step(|| RealDisk.remove_tree(path), half)?
    }

    fn sync_tree(&self, _root: &Path) -> io::Result<()> {
        self.step(|| (), || {})
    }

    fn sync_dir(&self, _path: &Path) -> io::Result<()> {
        self.step(|| (), || {})
    }
}
