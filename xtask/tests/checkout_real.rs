//! The checkout on upstream's own repositories, where a folder with copies of them is at hand.
//!
//! `XTASK_REAL_REPOS=FOLDER cargo test -p xtask --test checkout_real -- --nocapture`, with
//! `FOLDER/espressif/{esp32-arduino-lib-builder,esp-idf}.git` and `FOLDER/hathach/tinyusb.git`. Copies may lack other
//! repositories and large files: what is missing gets a stand-in, and the real pins are then expected to fail by name.

#![allow(clippy::unwrap_used, reason = "a test program: a panic is its verdict")]

#[path = "checkout_forge/mod.rs"]
mod checkout_forge;
#[path = "../src/testing.rs"]
mod testing;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use checkout_forge::{Node, bare, commit};
use fs_err as fs;
use git2::build::TreeUpdateBuilder;
use git2::{FileMode, ObjectType, Oid, Repository, Signature, TreeWalkMode, TreeWalkResult};
use xshell::{Shell, cmd};
use xtask::config::Mirror;
use xtask::progress::Event;
use xtask::release::{Origin, Pins, SourcePin};
use xtask::upstream::{Checkout, Mirrors, Sources};
use xtask::workdir::WorkDir;

const LIB_BUILDER: &str = "aaf47ab";
const IDF: &str = "d23b7a036125728d0c99842670a0522694623dbd";
const TINYUSB: &str = "3ec22e24ed3e8169b7aa8bd51f86f95dda0e6002";

fn repos(test: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("XTASK_REAL_REPOS").map(PathBuf::from);
    if folder.is_none() {
        testing::unasked(
            test,
            "XTASK_REAL_REPOS does not name a folder with upstream's repositories",
        );
    }
    folder
}

/// The pins of core 3.0's libraries (ESP-IDF 5.1), as its `versions.txt` has them, arduino's from a stand-in.
fn pins(idf: &str, arduino: Oid) -> Pins {
    let pin = |name: &str, branch: &str, commit: &str| SourcePin {
        name: name.into(),
        refs: vec![branch.into()],
        commit: commit.into(),
    };
    Pins {
        core: None,
        origin: Origin::File {
            path: "versions-idf-5.1.txt".into(),
        },
        sources: vec![
            pin("lib-builder", "master", LIB_BUILDER),
            pin("esp-idf", "release/v5.1", idf),
            pin("arduino", "idf-release/v5.1", &arduino.to_string()[..8]),
            pin("tinyusb", "master", "3ec22e24e"),
        ],
        components: Vec::new(),
    }
}

fn mirror(from: &str, to: &Path) -> Mirror {
    Mirror {
        from: from.into(),
        to: to.display().to_string(),
    }
}

fn timed<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let begun = Instant::now();
    let result = work();
    eprintln!("{what}: {:.2} s", begun.elapsed().as_secs_f64());
    result
}

fn check_out(work: &Path, mirrors: &Mirrors, pins: &Pins) -> anyhow::Result<Sources> {
    let work = WorkDir::open(work).unwrap();
    let step = std::sync::Mutex::new((String::new(), Instant::now()));
    let report = |event: Event<'_>| match event {
        Event::Step(name) => {
            let mut step = step.lock().unwrap();
            eprintln!("  {:<32}{:>8.2} s", step.0, step.1.elapsed().as_secs_f64());
            *step = (name.to_owned(), Instant::now());
        }
        Event::Warning(text) | Event::Note(text) => eprintln!("  {text}"),
        _ => {}
    };
    let checkout = Checkout {
        work: &work,
        mirrors,
        offline: false,
        report: &report,
    };
    let mut sources = checkout.lib_builder(pins)?;
    let outcome = checkout.complete(pins, &mut sources);
    report(Event::Step(""));
    outcome.map(|()| sources)
}

#[test]
fn real_pins_resolve_and_what_a_copy_lacks_is_named() {
    let Some(repos) = repos("real_pins_resolve_and_what_a_copy_lacks_is_named") else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let arduino = stand_in(dir.path(), "espressif/arduino-esp32", "idf-release/v5.1");
    let mirrors = Mirrors::new(vec![
        mirror("https://github.com/", &repos),
        mirror(
            "https://github.com/espressif/arduino-esp32",
            &dir.path().join("espressif/arduino-esp32.git"),
        ),
    ]);
    let work = dir.path().join("work");
    let outcome = timed("real pins", || {
        check_out(&work, &mirrors, &pins(&IDF[..10], arduino))
    });
    let trusted = |mirror: &str, commit: &str| {
        let repo = Repository::open(work.join("mirrors").join(mirror)).unwrap();
        repo.references_glob(&format!("refs/pins/{commit}*"))
            .unwrap()
            .count()
            == 1
    };
    assert!(trusted("lib-builder.git", LIB_BUILDER));
    assert!(trusted("tinyusb.git", TINYUSB));
    let idf = Repository::open(repos.join("espressif/esp-idf.git")).unwrap();
    let (lost, submodules) = lacking(&idf, Oid::from_str(IDF).unwrap());
    match outcome {
        Ok(sources) => assert_eq!(sources.trees[1].commit, IDF),
        Err(error) => {
            let error = format!("{error:#}");
            eprintln!("{error}");
            assert!(error.contains(IDF), "the short id was resolved");
            let named = lost.iter().any(|path| error.contains(path));
            assert!(named || submodules.iter().any(|(path, _)| error.contains(path)));
            assert_eq!(trusted("esp-idf.git", IDF), lost.is_empty());
        }
    }
}

/// The real ESP-IDF tree, less the files that the copy lacks, with small repositories in place of its submodules.
#[test]
fn the_whole_of_esp_idf_is_laid_out_and_kept() {
    const TEST: &str = "the_whole_of_esp_idf_is_laid_out_and_kept";
    let Some(repos) = repos(TEST) else { return };
    let dir = tempfile::tempdir().unwrap();
    let forge = dir.path().join("forge");
    let arduino = stand_in(&forge, "espressif/arduino-esp32", "idf-release/v5.1");
    let idf = timed("making a complete ESP-IDF", || complete_idf(&repos, &forge));
    let mirrors = Mirrors::new(vec![
        mirror("https://github.com/", &forge),
        mirror("https://github.com/hathach", &repos.join("hathach")),
        mirror(
            "https://github.com/espressif/esp32-arduino-lib-builder",
            &repos.join("espressif/esp32-arduino-lib-builder.git"),
        ),
    ]);
    let (work, pins) = (
        dir.path().join("work"),
        pins(&idf.to_string()[..10], arduino),
    );
    let sources = timed("first run", || check_out(&work, &mirrors, &pins)).unwrap();
    assert_eq!(sources.trees[1].commit, idf.to_string());
    assert_eq!(sources.trees[3].commit, TINYUSB);
    eprintln!("{} submodules", sources.trees[1].submodules.len());
    let root = sources.root.clone();
    drop(sources);

    let patched = root.join("configs/defconfig.esp32s3");
    let before = fs::read(&patched).unwrap();
    fs::write(&patched, "patched").unwrap();
    fs::rename(&forge, dir.path().join("away")).unwrap();
    let again = timed("second run", || check_out(&work, &mirrors, &pins)).unwrap();
    assert_eq!(fs::read(&patched).unwrap(), before);
    drop(again);

    if which::which("git").is_err() {
        testing::skipped(TEST, "there is no git program to compare with");
        return;
    }
    let sh = Shell::new().unwrap();
    sh.change_dir(root.join("esp-idf"));
    let status = timed("git submodule status", || {
        cmd!(sh, "git submodule status").quiet().output()
    })
    .unwrap();
    for line in String::from_utf8(status.stdout).unwrap().lines() {
        assert!(line.starts_with(' '), "{line}");
    }
    assert_eq!(
        cmd!(sh, "git status --porcelain").quiet().read().unwrap(),
        ""
    );
    let away = dir.path().join("away/espressif/esp-idf.git");
    let id = idf.to_string();
    let described = cmd!(
        sh,
        "git --git-dir {away} describe --abbrev=10 --match=v*.* {id}"
    )
    .quiet()
    .read()
    .unwrap();
    assert_eq!(sh.read_file("version.txt").unwrap().trim(), described);
    eprintln!("version.txt: {described}");
}

fn stand_in(forge: &Path, name: &str, branch: &str) -> Oid {
    let repo = bare(forge, name);
    commit(&repo, branch, &[("README", Node::File(name.as_bytes()))])
}

/// Paths of files that the copy lacks, and submodules as (path, address) of `.gitmodules`.
fn lacking(repo: &Repository, id: Oid) -> (Vec<String>, HashMap<String, String>) {
    let tree = repo.find_commit(id).unwrap().tree().unwrap();
    let (odb, mut lost) = (repo.odb().unwrap(), Vec::new());
    tree.walk(TreeWalkMode::PreOrder, |folder, entry| {
        if entry.kind() == Some(ObjectType::Blob) && !odb.exists(entry.id()) {
            lost.push(format!("{folder}{}", entry.name().unwrap()));
        }
        TreeWalkResult::Ok
    })
    .unwrap();
    let modules = repo
        .find_blob(tree.get_name(".gitmodules").unwrap().id())
        .unwrap();
    let text = String::from_utf8(modules.content().to_vec()).unwrap();
    let values = |key: &str| {
        let start = format!("\t{key} = ");
        text.lines()
            .filter_map(move |line| line.strip_prefix(&start).map(str::to_owned))
            .collect::<Vec<_>>()
    };
    (
        lost,
        values("path").into_iter().zip(values("url")).collect(),
    )
}

/// A repository with the history of the copy's ESP-IDF and one commit more beside the pinned one, which is complete.
fn complete_idf(repos: &Path, forge: &Path) -> Oid {
    let copy = Repository::open(repos.join("espressif/esp-idf.git")).unwrap();
    let id = Oid::from_str(IDF).unwrap();
    let (lost, submodules) = lacking(&copy, id);
    eprintln!("left out, for the copy lacks them: {lost:?}");
    let repo = bare(forge, "espressif/esp-idf");
    let objects = dunce::canonicalize(copy.path().join("objects")).unwrap();
    fs::write(
        repo.path().join("objects/info/alternates"),
        format!("{}\n", objects.display()),
    )
    .unwrap();
    fs::copy(
        copy.path().join("packed-refs"),
        repo.path().join("packed-refs"),
    )
    .unwrap();
    let repo = Repository::open(repo.path()).unwrap();
    let pinned = repo.find_commit(id).unwrap();
    let mut update = TreeUpdateBuilder::new();
    for path in &lost {
        update.remove(path.as_str());
    }
    for (path, url) in &submodules {
        let name = url.trim_start_matches("../").trim_end_matches(".git");
        let commit = stand_in(forge, name, "master");
        update.upsert(path.as_str(), commit, FileMode::Commit);
    }
    let tree = update
        .create_updated(&repo, &pinned.tree().unwrap())
        .unwrap();
    let tree = repo.find_tree(tree).unwrap();
    let parents: Vec<_> = pinned.parents().collect();
    let parents: Vec<_> = parents.iter().collect();
    let who = Signature::new("Tester", "tester@example.org", &pinned.time()).unwrap();
    let id = repo
        .commit(None, &who, &who, "Stand-in", &tree, &parents)
        .unwrap();
    repo.reference("refs/heads/release/v5.1", id, true, "stand-in")
        .unwrap();
    id
}
