//! The full build on a small upstream: on the host, and in every container engine that runs here.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test's own helpers may panic too")]

#[path = "../src/testing.rs"]
mod testing;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use fs_err as fs;
use walkdir::WalkDir;
use xshell::{Shell, cmd};
use xtask::build::BuiltLibs;
use xtask::build::full::{Effective, Plan, build, run_upstream};
use xtask::engine::{Choice, Engine, Image};
use xtask::libs::Tree;
use xtask::libs::manifest::{BuildRecord, PatchSetRecord};
use xtask::names::{Chip, CoreVersion};
use xtask::progress::Event;
use xtask::release::{Origin, Pins, versions_txt};
use xtask::upstream::{SourceTree, Sources};
use xtask::workdir::WorkDir;

const BUILDS: &str = r#"{"mem_variants_files": [], "targets": [
    {"target": "esp32s3", "features": ["esp_sr"], "idf_libs": ["qio", "80m", "qio_ram"],
     "bootloaders": [["dio", "80m", "qio_ram"]], "mem_variants": [["qio", "80m", "opi_ram"]]}]}"#;

/// A build.sh in the shape of upstream's that compiles one file, and tells what it was given.
const BUILD: &str = r#"#!/bin/sh
[ "$1 $2" = "-s -t" ] || exit 64
[ "$TOOLS" = ready ] || { echo "no environment"; exit 65; }
libs=out/tools/esp32-arduino-libs
mkdir -p "$libs/$3/lib" "$libs/$3/include" "$libs/$3/flags" "$libs/$3/qio_opi/include"
echo "* Build IDF-Libs: configs/defconfig.common"
echo '[1/2] Building C object log.c.obj'
echo 'const char *when = __DATE__ __TIME__;' > log.c
cc -c log.c -o log.o || exit 1
ar rcD "$libs/$3/lib/liblog.a" log.o || exit 1
rm log.o
echo "* Build BootLoader: configs/defconfig.common"
echo "* Build Memory Variant: configs/defconfig.common"
echo '#define CONFIG_X 1' > "$libs/$3/qio_opi/include/sdkconfig.h"
touch "$libs/$3/dependencies.lock" "$libs/$3/pioarduino-build.py"
env | sort > "$libs/env"
cat "$IDF_COMPONENT_CONSTRAINT_FILES" > "$libs/constraints"
git config --global user.name somebody
short() { git -C "$1" rev-parse --short HEAD; }
{ echo "lib-builder: master $(short .)"; echo "esp-idf: $(short esp-idf)"; echo "arduino: $(short esp-idf)"; echo "tinyusb: $(short esp-idf)"
  echo "espressif__cbor: 0.6.0~1"; } > "$libs/versions.txt"
"#;

const INSTALL: &str =
    "#!/bin/sh\nmkdir -p \"$IDF_TOOLS_PATH\"\necho \"$1\" >> \"$IDF_TOOLS_PATH/installed\"\n";
const EXPORT: &str = "[ -f \"$IDF_TOOLS_PATH/installed\" ] || return 1\nexport TOOLS=ready\n";

/// A work folder with a small upstream laid out in it.
struct Upstream {
    _dir: tempfile::TempDir,
    work: WorkDir,
    sources: Sources,
    pins: Pins,
}

impl Upstream {
    fn new(build: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let work = WorkDir::open(dir.path()).unwrap();
        let root = work.trees().join("k1");
        let idf = root.join("esp-idf");
        fs::create_dir_all(root.join("configs")).unwrap();
        fs::create_dir_all(&idf).unwrap();
        fs::write(root.join("configs/builds.json"), BUILDS).unwrap();
        fs::write(root.join("build.sh"), build).unwrap();
        fs::write(root.join(".gitignore"), "esp-idf\nout\n").unwrap();
        fs::write(idf.join("install.sh"), INSTALL).unwrap();
        fs::write(idf.join("export.sh"), EXPORT).unwrap();
        let trees = vec![
            tree("lib-builder", ".", &commit(&root)),
            tree("esp-idf", "esp-idf", &commit(&idf)),
        ];
        let text = format!(
            "lib-builder: master {0}\nesp-idf: {1}\narduino: {1}\ntinyusb: {1}\nespressif__cbor: 0.6.0~1\n",
            &trees[0].commit[..7],
            &trees[1].commit[..9]
        );
        let versions = versions_txt::parse(text.as_bytes(), "pins").unwrap();
        let pins = Pins {
            core: None,
            origin: Origin::File {
                path: "pins".into(),
            },
            sources: versions.sources,
            components: versions.components,
        };
        let lock = work
            .lock("k1", || unreachable!("nobody else holds it"))
            .unwrap();
        Self {
            work,
            sources: Sources::new(root, trees, lock),
            pins,
            _dir: dir,
        }
    }

    fn out(&self) -> PathBuf {
        self.sources.root.join("out/tools/esp32-arduino-libs")
    }

    fn with<T>(
        &self,
        engine: &Engine,
        offline: bool,
        events: &Mutex<Vec<String>>,
        act: impl Fn(&Plan<'_>) -> T,
    ) -> T {
        let (core, chip): (CoreVersion, Chip) =
            ("3.3.12".parse().unwrap(), "esp32s3".parse().unwrap());
        let patch_set = PatchSetRecord {
            name: "xip-ecc".into(),
            suffix: "xip-ecc".into(),
            lines: BTreeMap::new(),
        };
        let check = |tree: &Tree, _: &_| -> anyhow::Result<Effective> {
            Ok([(tree.memory_variants()?.join(","), BTreeMap::new())].into())
        };
        let report = |event: Event<'_>| {
            if let Event::Step(text) | Event::Note(text) | Event::Warning(text) = event {
                events.lock().unwrap().push(text.to_owned());
            }
        };
        act(&Plan {
            work: &self.work,
            sources: &self.sources,
            pins: &self.pins,
            constraints: "espressif/cbor==0.6.0~1\n",
            core: &core,
            chip: &chip,
            patch_set: &patch_set,
            engine,
            image: &Image::Ready("xip-test-image".into()),
            offline,
            check: &check,
            report: &report,
        })
    }

    fn build(&self, engine: &Engine) -> anyhow::Result<BuiltLibs> {
        self.with(engine, false, &Mutex::default(), build)
    }

    fn error(&self, engine: &Engine) -> String {
        format!("{:#}", self.build(engine).unwrap_err())
    }
}

fn tree(name: &str, path: &str, commit: &str) -> SourceTree {
    SourceTree {
        name: name.into(),
        path: path.into(),
        url: format!("https://example.org/{name}"),
        refs: Vec::new(),
        commit: commit.into(),
        submodules: Vec::new(),
    }
}

/// Makes `folder` a repository with all its files in one commit of a fixed time.
fn commit(folder: &Path) -> String {
    let repository = git2::Repository::init(folder).unwrap();
    let mut index = repository.index().unwrap();
    index
        .add_all(["*"], git2::IndexAddOption::DEFAULT, None)
        .unwrap();
    index.write().unwrap();
    let tree = repository.find_tree(index.write_tree().unwrap()).unwrap();
    let author =
        git2::Signature::new("a", "a@example.org", &git2::Time::new(1_700_000_000, 0)).unwrap();
    repository
        .commit(Some("HEAD"), &author, &author, "all", &tree, &[])
        .unwrap()
        .to_string()
}

fn host() -> Engine {
    Engine::find(Choice::Host).unwrap()
}

/// The host, and every container engine that has the tests' image.
fn engines(test: &str) -> Vec<Engine> {
    let mut engines = vec![host()];
    for choice in [Choice::Docker, Choice::Podman] {
        match Engine::find(choice) {
            Ok(Engine::Container(engine))
                if engine
                    .has_image(&Image::Ready("xip-test-image".into()))
                    .unwrap() =>
            {
                engines.push(Engine::Container(engine));
            }
            Ok(engine) => testing::skipped(
                test,
                &format!(
                    "{} has no xip-test-image; make it with .ci/test-image",
                    engine.name()
                ),
            ),
            Err(error) => testing::skipped(test, &format!("{error:#}")),
        }
    }
    engines
}

/// Every file below `folder`, with its content.
fn content(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    WalkDir::new(folder)
        .into_iter()
        .map(Result::unwrap)
        .filter(|entry| entry.file_type().is_file())
        .map(|entry| {
            (
                entry.path().strip_prefix(folder).unwrap().to_owned(),
                fs::read(entry.path()).unwrap(),
            )
        })
        .collect()
}

#[test]
fn a_build_gives_the_same_tree_twice_and_keeps_its_caches() {
    for engine in engines("a_build_gives_the_same_tree_twice_and_keeps_its_caches") {
        let upstream = Upstream::new(BUILD);
        let events = Mutex::default();
        let built = upstream.with(&engine, false, &events, build).unwrap();
        let first = content(&built.tree);
        let names: Vec<_> = first
            .keys()
            .map(|path| path.display().to_string())
            .collect();
        assert_eq!(
            names,
            [
                "lib/liblog.a",
                "qio_opi/include/sdkconfig.h",
                "versions.txt"
            ],
            "{}",
            engine.name()
        );
        assert!(
            built.tree.ends_with("built/k1-esp32s3-xip-ecc/3.3.12"),
            "{}",
            built.tree.display()
        );
        assert_eq!(built.effective.keys().collect::<Vec<_>>(), ["qio_opi"]);
        let BuildRecord::Full {
            engine: name,
            image,
        } = &built.build
        else {
            panic!("not a full build")
        };
        assert_eq!(name, engine.name());
        assert_eq!(
            image
                .as_ref()
                .is_some_and(|image| image.starts_with("xip-test-image@sha256:")),
            name != "host",
            "{image:?}"
        );
        let events = events.into_inner().unwrap();
        assert!(
            events
                .iter()
                .any(|event| event == "build 3 of 3: memory variant qio_opi"),
            "{events:?}"
        );
        assert_eq!(
            events
                .iter()
                .any(|event| event.contains("without a container")),
            name == "host",
            "{events:?}"
        );

        std::thread::sleep(std::time::Duration::from_millis(1100));
        assert_eq!(
            content(&upstream.build(&engine).unwrap().tree),
            first,
            "{}: __TIME__ moved on",
            engine.name()
        );
        let tools = WalkDir::new(upstream.work.cache())
            .into_iter()
            .map(Result::unwrap)
            .find(|entry| entry.file_name() == "installed");
        assert_eq!(
            fs::read_to_string(tools.unwrap().path()).unwrap(),
            "esp32s3\nesp32s3\n",
            "both builds used one folder"
        );
        upstream
            .with(&engine, true, &Mutex::default(), |plan| {
                run_upstream(plan).map(drop)
            })
            .unwrap();
        let tools = WalkDir::new(upstream.work.cache())
            .into_iter()
            .map(Result::unwrap)
            .find(|entry| entry.file_name() == "installed");
        assert_eq!(
            fs::read_to_string(tools.unwrap().path())
                .unwrap()
                .lines()
                .count(),
            2,
            "offline, nothing is installed again"
        );
    }
}

#[test]
fn a_build_gets_its_own_environment_and_nothing_of_ours() {
    for engine in engines("a_build_gets_its_own_environment_and_nothing_of_ours") {
        let upstream = Upstream::new(BUILD);
        let before = user_git_config();
        upstream.build(&engine).unwrap();
        assert_eq!(
            user_git_config(),
            before,
            "`git config --global` of a script reached the user's own file"
        );
        let text = fs::read_to_string(upstream.out().join("env")).unwrap();
        let value = |name: &str| {
            let begin = format!("{name}=");
            text.lines()
                .find_map(|line| line.strip_prefix(&begin))
                .unwrap_or_else(|| panic!("{name} is not in {text}"))
        };
        let work = match &engine {
            Engine::Host(_) => upstream.work.root().display().to_string(),
            Engine::Container(_) => "/xip".to_owned(),
        };
        assert_eq!(value("IDF_PATH"), format!("{work}/trees/k1/esp-idf"));
        assert_eq!(value("HOME"), format!("{work}/cache/home"));
        assert_eq!(value("CCACHE_DIR"), format!("{work}/cache/ccache"));
        assert_eq!(
            value("IDF_COMPONENT_CACHE_PATH"),
            format!("{work}/cache/components")
        );
        assert_eq!(value("SOURCE_DATE_EPOCH"), "1700000000");
        assert_eq!(value("IDF_COMPONENT_OVERWRITE_MANAGED_COMPONENTS"), "1");
        assert_eq!(value("GIT_TERMINAL_PROMPT"), "0");
        assert!(
            !text.contains("TOKEN=") && !text.contains("CARGO"),
            "{text}"
        );
        assert_eq!(
            fs::read_to_string(upstream.out().join("constraints")).unwrap(),
            "espressif/cbor==0.6.0~1\n"
        );
    }
}

fn user_git_config() -> Option<Vec<u8>> {
    let home = std::env::var_os("HOME")?;
    fs::read(PathBuf::from(home).join(".gitconfig")).ok()
}

#[test]
fn git_trusts_work_trees_that_belong_to_another_user() {
    const TEST: &str = "git_trusts_work_trees_that_belong_to_another_user";
    for engine in engines(TEST) {
        let upstream = Upstream::new(BUILD);
        for entry in WalkDir::new(upstream.sources.root.join("esp-idf")) {
            if std::os::unix::fs::chown(entry.unwrap().path(), Some(4321), None).is_err() {
                return testing::skipped(TEST, "only root can give files away");
            }
        }
        let (shell, idf) = (Shell::new().unwrap(), upstream.sources.root.join("esp-idf"));
        let untrusted = cmd!(shell, "git -C {idf} rev-parse HEAD")
            .env("HOME", "/nonexistent")
            .quiet()
            .ignore_stderr()
            .read();
        assert!(
            untrusted.is_err(),
            "git trusts it anyway, so this test shows nothing"
        );
        upstream.build(&engine).unwrap();
    }
}

#[test]
fn a_work_tree_at_another_commit_is_seen_before_the_build() {
    for engine in engines("a_work_tree_at_another_commit_is_seen_before_the_build") {
        let mut upstream = Upstream::new(BUILD);
        upstream.sources.trees[1].commit = "0".repeat(40);
        let error = upstream.error(&engine);
        assert!(
            error.contains("does not see `esp-idf` at its commit 0000"),
            "{error}"
        );
        assert!(!upstream.out().exists(), "it was built all the same");
    }
}

#[test]
fn all_missing_programs_are_one_error_before_the_build() {
    let script = BUILD.replace("#!/bin/sh\n", "#!/bin/sh\ngperf --version\nbison x\n");
    for engine in engines("all_missing_programs_are_one_error_before_the_build") {
        if matches!(engine, Engine::Host(_)) {
            continue; // What a host has is not ours to say.
        }
        let upstream = Upstream::new(&script);
        let error = upstream.error(&engine);
        assert!(
            error.contains("`bison`, `gperf`") && error.contains("bison gperf"),
            "{error}"
        );
        assert!(error.contains("the image `xip-test-image`"), "{error}");
        assert!(!upstream.out().exists(), "it was built all the same");
    }
}

#[test]
fn a_failed_build_shows_its_end_the_cause_and_the_log() {
    let failing = BUILD.replace(
        "cc -c log.c",
        "echo 'x' >&2; echo 'log.c:1:1: error: unknown type' >&2; exit 2; cc -c log.c",
    );
    for engine in engines("a_failed_build_shows_its_end_the_cause_and_the_log") {
        let upstream = Upstream::new(&failing);
        let error = upstream.error(&engine);
        for part in [
            "exit status: 2",
            "in `build 1 of 3: the libraries",
            "    x\n    log.c:1:1: error: unknown type",
            "does not compile: log.c:1:1",
            "whole log: ",
        ] {
            assert!(error.contains(part), "{part} is not in: {error}");
        }
        let log = error.rsplit("whole log: ").next().unwrap();
        assert!(
            fs::read_to_string(log.trim())
                .unwrap()
                .contains("[1/2] Building C object log.c.obj\nx\n"),
            "{log}"
        );
        assert!(!upstream.work.root().join("built").exists());
        // What failed leaves caches that the next build uses.
        fs::write(upstream.sources.root.join("build.sh"), BUILD).unwrap();
        upstream.build(&engine).unwrap();
    }
}

#[test]
fn status_zero_with_nothing_built_is_a_failure() {
    let cases = [
        ("#!/bin/sh\nexit 0\n", "esp32s3 is empty"),
        (
            "#!/bin/sh\nmkdir -p out/tools/esp32-arduino-libs/esp32s3\n",
            "esp32s3 is empty",
        ),
        (
            "#!/bin/sh\nmkdir -p out/tools/esp32-arduino-libs/esp32s3/lib\n",
            "versions.txt is not there",
        ),
    ];
    for (script, words) in cases {
        let upstream = Upstream::new(script);
        // An earlier build's output must not pass for this one's.
        fs::create_dir_all(upstream.out().join("esp32s3/lib")).unwrap();
        fs::write(upstream.out().join("versions.txt"), "old").unwrap();
        let error = upstream.error(&host());
        assert!(
            error.contains("says that all went well") && error.contains(words),
            "{error}"
        );
    }
}

#[test]
fn another_component_version_than_the_pin_is_an_error() {
    let upstream =
        Upstream::new(&BUILD.replace("espressif__cbor: 0.6.0~1", "espressif__cbor: 0.6.1"));
    let error = upstream.error(&host());
    assert!(
        error.contains("espressif__cbor is 0.6.1, pinned is 0.6.0~1"),
        "{error}"
    );
    assert!(
        !upstream
            .work
            .root()
            .join("built/k1-esp32s3-xip-ecc/3.3.12")
            .exists()
    );
}
