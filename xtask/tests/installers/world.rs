//! A package as build-libs leaves it, an Arduino installation, and caches, all in one folder.
#![allow(dead_code, reason = "each test program uses its part")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fs_err as fs;
use sha2::{Digest, Sha256};
use xtask::build::BuiltLibs;
use xtask::installers;
use xtask::libs::manifest::{BuildRecord, PatchSetRecord};
use xtask::package::{Effort, Package, pack};

/// The zip's name.
pub(crate) const ZIP: &str = "esp32s3-libs-3.3.12-xip-ecc.zip";
/// As long as the longest path in the official libraries (118 characters).
const LONG: &str = "include/espressif__esp_secure_cert_mgr/include/with/folders/as/deep/as/components/have/esp_secure_cert_crypto.h";

/// What the user wrote into boards.local.txt.
pub(crate) const BOARDS_LOCAL: &str = "esp32s3.name=My S3\r\n# no newline at the end";

/// Everything below one folder.
pub(crate) struct World {
    pub(crate) root: PathBuf,
    _dir: tempfile::TempDir,
}

/// Every file below a folder, with the hash of its content; links as they are.
pub(crate) type Files = BTreeMap<String, String>;

impl World {
    /// A core with stock libraries, a package with its scripts in `shop`, caches of this core and of others.
    ///
    /// `odd` is a part of every path.
    pub(crate) fn new(odd: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let world = Self {
            root: dir.path().join(odd),
            _dir: dir,
        };
        fs::create_dir_all(world.home().join("tmp")).unwrap();
        fs::create_dir_all(world.downloads()).unwrap();
        libraries(&world.active(), None);
        libraries(&world.tools().join("3.3.11"), None);
        world.platform();
        let built = world.root.join("built");
        libraries(&built, Some("one build"));
        world.package(&built, "xip-ecc");
        world
    }

    /// The core itself, as far as the tool reads it.
    fn platform(&self) {
        let platform = self.data().join("packages/esp32/hardware/esp32/3.3.12");
        fs::create_dir_all(&platform).unwrap();
        let index = serde_json::json!({"packages": [{"name": "esp32", "platforms": [{
            "name": "esp32", "architecture": "esp32", "version": "3.3.12",
            "toolsDependencies": [{"packager": "esp32", "name": "esp32s3-libs", "version": "3.3.12"}],
        }]}]});
        for (name, text) in [
            ("installed.json", index.to_string().as_str()),
            (
                "platform.txt",
                "name=ESP32\nversion=3.3.12\nbuild.chip_variant={build.mcu}\n\
                 tools.esp32-arduino-libs.path={runtime.tools.{build.chip_variant}-libs.path}\n\
                 compiler.sdk.path={tools.esp32-arduino-libs.path}\n",
            ),
            (
                "boards.txt",
                "menu.PSRAM=PSRAM\nesp32c6.name=C6\nesp32c6.build.mcu=esp32c6\nesp32s3.name=S3\nesp32s3.build.mcu=esp32s3\n",
            ),
            ("boards.local.txt", BOARDS_LOCAL),
        ] {
            fs::write(platform.join(name), text).unwrap();
        }
    }

    /// The file in which the user may change boards.
    pub(crate) fn boards_local(&self) -> PathBuf {
        self.data()
            .join("packages/esp32/hardware/esp32/3.3.12/boards.local.txt")
    }

    /// Packs a tree and puts zip and scripts into `shop`.
    pub(crate) fn package(&self, tree: &Path, set: &str) -> Package {
        let on = [("CONFIG_SPIRAM_XIP_FROM_PSRAM".to_owned(), "y".to_owned())];
        let built = BuiltLibs {
            tree: tree.to_owned(),
            core: "3.3.12".parse().unwrap(),
            chip: "esp32s3".parse().unwrap(),
            patch_set: PatchSetRecord {
                name: set.into(),
                suffix: set.into(),
                lines: BTreeMap::new(),
            },
            sources: Vec::new(),
            components: BTreeMap::new(),
            build: BuildRecord::Full {
                engine: "host".into(),
                image: None,
            },
            effective: [("qio_opi".to_owned(), on.into())].into(),
        };
        let package = pack(&built, &self.shop(), Effort::Fast, &|_| {}).unwrap();
        installers::place(&package).unwrap();
        package
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    pub(crate) fn downloads(&self) -> PathBuf {
        self.home().join("Downloads")
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.root.join("Arduino15")
    }

    pub(crate) fn tools(&self) -> PathBuf {
        self.data().join("packages/esp32/tools/esp32s3-libs")
    }

    pub(crate) fn active(&self) -> PathBuf {
        self.tools().join("3.3.12")
    }

    pub(crate) fn stock(&self) -> PathBuf {
        self.tools().join("3.3.12.stock")
    }

    /// Where build-libs left the package.
    pub(crate) fn shop(&self) -> PathBuf {
        self.root.join("shop")
    }

    pub(crate) fn zip(&self) -> PathBuf {
        self.shop().join(ZIP)
    }

    /// The names in the tool folder, but for `.xip`.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.tools())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name != ".xip")
            .collect();
        names.sort();
        names
    }

    /// Fills a cache of the Arduino programs; gives the entries that a swap must remove and those that it must leave.
    pub(crate) fn cache(&self, cache: &Path) -> (Vec<PathBuf>, Vec<PathBuf>) {
        let (hash, other) = (
            "0123456789abcdef0123456789ABCDEF",
            "fedcba9876543210fedcba9876543210",
        );
        let file = |path: PathBuf, text: &str| {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            path.parent().unwrap().to_owned()
        };
        let (cores, sketches) = (cache.join("cores"), cache.join("sketches"));
        let gone = vec![
            file(
                cores.join("esp32_esp32_esp32s3_PSRAM_opi_0a1b/core.a"),
                "!<arch>",
            ),
            file(cores.join(hash).join("core.a"), &archive("esp32-hal-x.c.o")),
            file(
                sketches.join(hash).join("build.options.json"),
                "{\n  \"fqbn\": \"esp32:esp32:esp32s3\"\n}",
            ),
        ];
        let kept = vec![
            file(cores.join("arduino_avr_uno_0a1b/core.a"), "!<arch>"),
            file(
                cores.join("m5stack_esp32_cores3_0a1b/core.a"),
                &archive("esp32-hal-x.c.o"),
            ),
            file(cores.join(other).join("core.a"), &archive("wiring.c.o")),
            file(
                sketches.join(other).join("build.options.json"),
                "{\n  \"fqbn\": \"arduino:avr:uno\"\n}",
            ),
        ];
        (gone, kept)
    }
}

/// A compiled core with one member of that name.
fn archive(member: &str) -> String {
    let member = format!("{member}/");
    format!(
        "!<arch>\n{member:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\ntext",
        0, 0, 0, 644, 4
    )
}

/// A libraries tree of upstream's shape; `build` makes a patched one that differs from those of other builds.
pub(crate) fn libraries(root: &Path, build: Option<&str>) {
    let write = |path: &str, text: &str| {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let what = build.unwrap_or("stock");
    write("flags/defines", "-DESP_PLATFORM");
    write("include/newlib/platform_include/assert.h", "#pragma once\n");
    write(LONG, "#pragma once\n");
    write("lib/libhal.a", "!<arch>\n");
    write("lib/libapp.a", &format!("!<arch>\n{what}\n"));
    write("versions.txt", "esp-idf: v5.5.5 b774170ff4\n");
    for (variant, octal) in [("qio_qspi", false), ("qio_opi", true), ("dio_opi", true)] {
        let mut text = String::from(
            "#define CONFIG_IDF_TARGET \"esp32s3\"\n#define CONFIG_A_TEXT \"a & b (c) 100%\"\n",
        );
        if build.is_some() && octal {
            text += "#define CONFIG_SPIRAM_XIP_FROM_PSRAM 1\n#define CONFIG_SPIRAM_ECC_ENABLE 1\n";
        }
        write(&format!("{variant}/include/sdkconfig.h"), &text);
        write(
            &format!("{variant}/libesp_psram.a"),
            &format!("!<arch>\n{what} {variant}\n"),
        );
    }
}

/// What a folder holds, the lock and what it stands in left out.
pub(crate) fn files(root: &Path) -> Files {
    let mut files = Files::new();
    for entry in walkdir::WalkDir::new(root).min_depth(1) {
        let entry = entry.unwrap();
        let name = entry.path().strip_prefix(root).unwrap().to_str().unwrap();
        let what = match entry.file_type() {
            kind if kind.is_dir() => "a folder".to_owned(),
            kind if kind.is_symlink() => format!(
                "a link to {}",
                fs::read_link(entry.path()).unwrap().display()
            ),
            _ => xtask::digest::hex(&Sha256::digest(fs::read(entry.path()).unwrap())),
        };
        if name != ".xip" && name != ".xip/lock" {
            files.insert(name.to_owned(), what);
        }
    }
    files
}

/// What a patched tree of that build holds once it is installed, the manifest left out.
pub(crate) fn without_manifest(root: &Path) -> Files {
    let mut files = files(root);
    assert!(
        files.remove("libs-manifest.json").is_some(),
        "{}",
        root.display()
    );
    files
}

/// What must hold after any run, however it ended.
#[track_caller]
pub(crate) fn nothing_is_lost(world: &World, stock: &Files) {
    let places = [world.active(), world.stock()];
    let whole = places
        .iter()
        .filter(|place| place.is_dir() && files(place) == *stock)
        .count();
    assert_eq!(
        whole,
        1,
        "the stock libraries are in one of their two places: {:?}",
        world.names()
    );
}

/// A call of a program.
pub(crate) fn call(program: impl AsRef<Path>) -> std::process::Command {
    let shell = xshell::Shell::new().unwrap();
    xshell::cmd!(shell, "{program}").into()
}

/// A program's end: its exit code and what it said, on both outputs.
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) text: String,
}

impl Said {
    pub(crate) fn of(output: &std::process::Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self {
            code: output.status.code(),
            text: text(&output.stdout) + &text(&output.stderr),
        }
    }

    /// Fails the test unless it ended with `code` and said all `words`.
    #[track_caller]
    pub(crate) fn expect(&self, code: i32, words: &[&str]) -> &Self {
        assert_eq!(self.code, Some(code), "{}", self.text);
        for word in words {
            assert!(
                self.text.contains(word),
                "`{word}` is not in\n{}",
                self.text
            );
        }
        self
    }
}
