//! The few files that a quick build needs of a repository: from a server, from a folder, from a mirror, from an earlier run.

#![allow(clippy::unwrap_used, reason = "a test program: a panic is its verdict")]

#[path = "../src/testing.rs"]
mod testing;

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use fs_err as fs;
use xshell::{Shell, cmd};
use xtask::config::Mirror;
use xtask::progress::Event;
use xtask::release::{Origin, Pins, SourcePin};
use xtask::upstream::{Checkout, Files, Mirrors};
use xtask::workdir::WorkDir;

const SOURCE: &str = "components/esp_system/port/cpu_start.c";
const FOLDER: &str = "components/esp_system/port/include";

/// A repository with two commits in the shape of ESP-IDF; the older one is tagged.
struct Upstream {
    dir: tempfile::TempDir,
    commits: [String; 2],
}

impl Upstream {
    fn new() -> Self {
        let dir = tempfile::Builder::new()
            .prefix("upstream ü ")
            .tempdir()
            .unwrap();
        let repository = git2::Repository::init_bare(dir.path().join("esp-idf.git")).unwrap();
        let mut config = repository.config().unwrap();
        config.set_bool("uploadpack.allowFilter", true).unwrap();
        config
            .set_bool("uploadpack.allowAnySHA1InWant", true)
            .unwrap();
        let who = git2::Signature::now("Test", "test@example.org").unwrap();
        let mut parent: Option<git2::Oid> = None;
        let commits = ["one\r\n", "two\n"].map(|text| {
            let mut index = git2::Index::new().unwrap();
            let mut update = git2::build::TreeUpdateBuilder::new();
            let header = format!("{FOLDER}/deep/private.h");
            let big = "not wanted\n".repeat(10_000);
            for (path, content) in [
                (SOURCE, text),
                (&header, "#pragma once\n"),
                ("big/other.c", &big),
            ] {
                update.upsert(
                    path,
                    repository.blob(content.as_bytes()).unwrap(),
                    git2::FileMode::Blob,
                );
            }
            let empty = repository
                .find_tree(index.write_tree_to(&repository).unwrap())
                .unwrap();
            let tree = repository
                .find_tree(update.create_updated(&repository, &empty).unwrap())
                .unwrap();
            let parents: Vec<_> = parent
                .iter()
                .map(|id| repository.find_commit(*id).unwrap())
                .collect();
            let parents: Vec<_> = parents.iter().collect();
            let id = repository
                .commit(Some("refs/heads/master"), &who, &who, text, &tree, &parents)
                .unwrap();
            parent = Some(id);
            id.to_string()
        });
        repository
            .reference(
                "refs/tags/v5.5.5",
                commits[0].parse().unwrap(),
                false,
                "tag",
            )
            .unwrap();
        Self { dir, commits }
    }

    fn folder(&self) -> String {
        self.dir.path().to_str().unwrap().to_owned()
    }
}

/// `git daemon` over the repository; ended when dropped.
struct Server(Child, String);

impl Server {
    fn new(test: &str, base: &Path) -> Option<Self> {
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port()
            .to_string();
        let sh = Shell::new().unwrap();
        let base = format!("--base-path={}", base.display());
        let there = |folder: &String| Path::new(folder).join("git-daemon").is_file();
        let Some(folder) = cmd!(sh, "git --exec-path").read().ok().filter(there) else {
            testing::skipped(test, "no git daemon");
            return None;
        };
        // The daemon itself and not `git daemon`, whose child would stay when that one is ended.
        let program = Path::new(&folder).join("git-daemon");
        let mut daemon: Command = cmd!(
            sh,
            "{program} --reuseaddr --export-all --listen=127.0.0.1 --port={port} {base}"
        )
        .into();
        daemon
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = match daemon.spawn() {
            Ok(child) => child,
            Err(error) => {
                testing::skipped(test, &format!("no git daemon: {error}"));
                return None;
            }
        };
        let server = Self(child, port);
        for _ in 0..100 {
            if std::net::TcpStream::connect(format!("127.0.0.1:{}", server.1)).is_ok() {
                return Some(server);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        testing::skipped(test, "git daemon does not answer");
        None
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The daemon hands each connection to a child of its own, which ends with it.
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

struct Run {
    work: WorkDir,
    mirrors: Mirrors,
    offline: bool,
    told: Mutex<Vec<String>>,
}

impl Run {
    fn new(work: &Path, to: &str) -> Self {
        Self {
            work: WorkDir::open(work).unwrap(),
            mirrors: Mirrors::new(vec![Mirror {
                from: "https://github.com/espressif/".into(),
                to: format!("{to}/"),
            }]),
            offline: false,
            told: Mutex::default(),
        }
    }

    fn files(&self, commit: &str, paths: &[&str]) -> anyhow::Result<Files> {
        let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
        self.run(commit, |checkout, pins| {
            checkout.files(pins, "esp-idf", &paths)
        })
    }

    fn run<T>(&self, commit: &str, stage: impl FnOnce(&Checkout<'_>, &Pins) -> T) -> T {
        let report = |event: Event<'_>| {
            if let Event::Step(text) | Event::Note(text) = event {
                self.told.lock().unwrap().push(text.to_owned());
            }
        };
        let pin = |name: &str| SourcePin {
            name: name.into(),
            refs: vec!["v5.5.5".into()],
            commit: commit.into(),
        };
        let pins = Pins {
            core: None,
            origin: Origin::File {
                path: "versions.txt".into(),
            },
            sources: ["lib-builder", "esp-idf", "arduino", "tinyusb"]
                .map(pin)
                .to_vec(),
            components: Vec::new(),
        };
        let checkout = Checkout {
            work: &self.work,
            mirrors: &self.mirrors,
            offline: self.offline,
            report: &report,
        };
        stage(&checkout, &pins)
    }

    fn told(&self) -> Vec<String> {
        std::mem::take(&mut self.told.lock().unwrap())
    }
}

fn below(root: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = walkdir::WalkDir::new(root)
        .into_iter()
        .map(Result::unwrap)
        .filter(|entry| entry.file_type().is_file())
        .map(|entry| entry.path().strip_prefix(root).unwrap().to_owned())
        .collect();
    files.sort();
    files
}

fn check_wanted(files: &Files, commit: &str) {
    assert_eq!(files.commit, commit);
    assert_eq!(
        below(&files.root),
        [
            PathBuf::from(SOURCE),
            format!("{FOLDER}/deep/private.h").into()
        ]
    );
    assert_eq!(
        fs::read(files.root.join(SOURCE)).unwrap(),
        b"one\r\n",
        "no line end is changed"
    );
}

#[test]
fn a_server_gives_these_files_alone() {
    let upstream = Upstream::new();
    let Some(server) = Server::new("a_server_gives_these_files_alone", upstream.dir.path()) else {
        return;
    };
    let dir = tempfile::Builder::new()
        .prefix("work é ")
        .tempdir()
        .unwrap();
    let run = Run::new(dir.path(), &format!("git://127.0.0.1:{}", server.1));
    let [old, _] = &upstream.commits;
    let files = run.files(&old[..9], &[SOURCE, FOLDER]).unwrap();
    check_wanted(&files, old);
    let told = run.told();
    assert!(
        told.iter()
            .any(|line| line.contains("nothing else of the repository")),
        "{told:?}"
    );
    // Nothing else came: the other file's content is nowhere in the work folder.
    let big: u64 = below(dir.path())
        .iter()
        .map(|file| fs::metadata(dir.path().join(file)).unwrap().len())
        .sum();
    assert!(big < 60_000, "{big} bytes");

    drop(server);
    let again = run.files(&old[..9], &[SOURCE, FOLDER]).unwrap();
    assert_eq!(again, files);
    assert!(run.told().is_empty(), "a second run does no network work");
}

#[test]
fn a_folder_of_this_machine_is_read_as_it_stands() {
    let upstream = Upstream::new();
    let dir = tempfile::tempdir().unwrap();
    let run = Run::new(dir.path(), &upstream.folder());
    let [old, new] = &upstream.commits;
    check_wanted(&run.files(&old[..9], &[SOURCE, FOLDER]).unwrap(), old);
    let newer = run.files(new, &[SOURCE]).unwrap();
    assert_eq!(fs::read(newer.root.join(SOURCE)).unwrap(), b"two\n");
    assert_eq!(below(&newer.root).len(), 1);
}

#[test]
fn what_a_full_checkout_left_in_the_mirror_is_enough() {
    let upstream = Upstream::new();
    let (here, there) = ("esp-idf.git", "esp32-arduino-lib-builder.git");
    fs::rename(
        upstream.dir.path().join(here),
        upstream.dir.path().join(there),
    )
    .unwrap();
    let dir = tempfile::tempdir().unwrap();
    let mut run = Run::new(dir.path(), &upstream.folder());
    let [old, _] = &upstream.commits;
    run.run(&old[..9], |checkout, pins| checkout.lib_builder(pins))
        .unwrap();
    drop(upstream.dir);
    run.offline = true;
    let paths = [SOURCE.to_owned(), FOLDER.to_owned()];
    let files = run.run(&old[..9], |checkout, pins| {
        checkout.files(pins, "lib-builder", &paths)
    });
    check_wanted(&files.unwrap(), old);
}

#[test]
fn a_changed_file_another_recipe_and_a_cut_run_are_fetched_anew() {
    let upstream = Upstream::new();
    let dir = tempfile::tempdir().unwrap();
    let mut run = Run::new(dir.path(), &upstream.folder());
    let [old, _] = &upstream.commits;
    run.files(old, &[SOURCE]).unwrap();
    assert_eq!(run.told().len(), 1);
    let files = run.files(old, &[SOURCE, FOLDER]).unwrap();
    assert_eq!(run.told().len(), 1, "another list of files");

    fs::write(files.root.join(SOURCE), "one\n").unwrap();
    check_wanted(&run.files(old, &[SOURCE, FOLDER]).unwrap(), old);
    fs::remove_file(files.root.parent().unwrap().join("complete.json")).unwrap();
    fs::remove_file(files.root.join(SOURCE)).unwrap();
    check_wanted(&run.files(old, &[SOURCE, FOLDER]).unwrap(), old);

    fs::write(files.root.join(SOURCE), "one\n").unwrap();
    run.offline = true;
    let error = format!("{:#}", run.files(old, &[SOURCE, FOLDER]).unwrap_err());
    assert!(error.contains("without --offline"), "{error}");
}

#[test]
fn what_is_not_there_is_named() {
    let upstream = Upstream::new();
    let dir = tempfile::tempdir().unwrap();
    let run = Run::new(dir.path(), &upstream.folder());
    let [old, _] = &upstream.commits;
    let text = |outcome: anyhow::Result<Files>| format!("{:#}", outcome.unwrap_err());
    let error = text(run.files(old, &[SOURCE, "components/heap/heap.c"]));
    assert!(
        error.contains(old) && error.contains("has no components/heap/heap.c"),
        "{error}"
    );
    let error = text(run.files("0123456789", &[SOURCE]));
    assert!(
        error.contains("0123456789") && error.contains("tried"),
        "{error}"
    );
    let error = text(Run::new(dir.path(), "/nowhere").files(old, &[SOURCE]));
    assert!(error.contains("/nowhere"), "{error}");
    let mut offline = Run::new(&dir.path().join("other"), &upstream.folder());
    offline.offline = true;
    assert!(text(offline.files(old, &[SOURCE])).contains("without --offline"));
}
