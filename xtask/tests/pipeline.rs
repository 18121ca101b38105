//! The whole way from pins to a package, on the sample upstream, built by this machine's own compiler.
//!
//! One demonstration is played for all tests; each then calls `build-libs` on its repositories and its installed core.

#![allow(clippy::unwrap_used, reason = "a test's own helpers may panic too")]

#[path = "../src/testing.rs"]
mod testing;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use assert_cmd::Command;
use fs_err as fs;
use serde_json::Value;
use xtask::engine::{Choice, Engine, Image};

const ZIP: &str = "esp32s3-libs-3.3.12-xip-ecc.zip";

/// A demonstration that was played.
struct Demo {
    dir: tempfile::TempDir,
    played: Value,
}

/// The demonstration, or `None` (said as SKIPPED) where this machine has no compiler.
fn demo(test: &str) -> Option<&'static Demo> {
    static DEMO: OnceLock<Option<Demo>> = OnceLock::new();
    let demo = DEMO.get_or_init(|| {
        if ["sh", "cc", "ar"]
            .iter()
            .any(|program| which::which(program).is_err())
        {
            return None;
        }
        let dir = tempfile::tempdir().unwrap();
        let played = play(dir.path());
        Some(Demo { dir, played })
    });
    if demo.is_none() {
        testing::skipped(test, "no sh, cc or ar on the PATH");
    }
    demo.as_ref()
}

fn xtask() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    // A user's own settings are none of a test's business.
    command
        .env_remove("XTASK_CONFIG")
        .env("XDG_CONFIG_HOME", "/nonexistent");
    command
}

fn play(dir: &Path) -> Value {
    let output = xtask()
        .args(["demo", "--json", "--dir"])
        .arg(dir)
        .assert()
        .success()
        .get_output()
        .clone();
    serde_json::from_slice(&output.stdout).unwrap()
}

impl Demo {
    fn path(&self, below: &str) -> PathBuf {
        self.dir.path().join(below)
    }

    /// `build-libs` on the host, with repositories from `git`, all of its own below `dir`.
    fn build(&self, git: &Path, dir: &Path) -> Command {
        let mut command = xtask();
        command
            .args(["build-libs", "--engine", "host", "--data-dir"])
            .arg(self.path("Arduino15"))
            .args([
                "--mirror",
                &format!("https://github.com/={}/", git.display()),
                "--work-dir",
            ])
            .arg(dir.join("work"))
            .arg("--out")
            .arg(dir.join("dist"));
        command
    }

    /// A copy of the repositories, to be changed or moved away.
    fn repositories(&self, to: &Path) -> PathBuf {
        let from = self.path("git");
        for entry in walkdir::WalkDir::new(&from) {
            let entry = entry.unwrap();
            let place = to.join(entry.path().strip_prefix(&from).unwrap());
            match entry.file_type().is_dir() {
                true => fs::create_dir_all(place).unwrap(),
                false => drop(fs::copy(entry.path(), place).unwrap()),
            }
        }
        to.to_owned()
    }

    /// The release's versions.txt with the line of `source` replaced.
    fn versions(&self, source: &str, line: &str, to: &Path) -> PathBuf {
        let stock = self.path("Arduino15/packages/esp32/tools/esp32s3-libs/3.3.12/versions.txt");
        let text: String = fs::read_to_string(stock)
            .unwrap()
            .lines()
            .map(|found| match found.starts_with(&format!("{source}:")) {
                true => format!("{source}: {line}\n"),
                false => format!("{found}\n"),
            })
            .collect();
        assert!(text.contains(line), "{source} is in versions.txt");
        fs::write(to, text).unwrap();
        to.to_owned()
    }
}

/// What upstream went on to after the release.
fn tip(git: &Path, repository: &str, branch: &str) -> git2::Oid {
    let repo = git2::Repository::open(git.join(repository)).unwrap();
    repo.revparse_single(branch)
        .unwrap()
        .peel_to_commit()
        .unwrap()
        .id()
}

fn nothing_in(out: &Path) {
    let left: Vec<_> = match out.is_dir() {
        true => fs::read_dir(out)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect(),
        false => Vec::new(),
    };
    assert!(left.is_empty(), "{left:?}");
}

fn stderr(command: &mut Command, code: i32) -> String {
    let output = command.assert().code(code).get_output().clone();
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn the_demo_shows_exactly_what_the_patch_set_changes() {
    let Some(demo) = demo("the_demo_shows_exactly_what_the_patch_set_changes") else {
        return;
    };
    let difference = &demo.played["difference"];
    let paths: Vec<&str> = difference["changed"]
        .as_array()
        .unwrap()
        .iter()
        .map(|changed| changed["path"].as_str().unwrap())
        .collect();
    let of_variant = [
        "include/sdkconfig.h",
        "libesp_psram.a",
        "libesp_system.a",
        "libspi_flash.a",
    ];
    let expected: Vec<String> = ["dio_opi", "opi_opi", "qio_opi"]
        .iter()
        .flat_map(|variant| of_variant.map(|file| format!("{variant}/{file}")))
        .collect();
    assert_eq!(paths, expected);
    assert_eq!(
        (&difference["added"], &difference["removed"]),
        (&Value::Array(vec![]), &Value::Array(vec![]))
    );
    // Pins, not branches: upstream's branches have moved on to what does not even compile.
    for source in demo.played["outcome"]["sources"].as_array().unwrap() {
        let name = source["url"]
            .as_str()
            .unwrap()
            .trim_start_matches("https://github.com/");
        let repo = git2::Repository::open(demo.path("git").join(name)).unwrap();
        let head = repo
            .head()
            .unwrap()
            .peel_to_commit()
            .unwrap()
            .id()
            .to_string();
        assert_ne!(source["commit"].as_str().unwrap(), head, "{name}");
    }
    let manifest: Value = serde_json::from_slice(
        &fs::read(demo.path("dist").join(ZIP.replace(".zip", ".json"))).unwrap(),
    )
    .unwrap();
    assert_eq!(
        manifest["components"]["espressif__cbor"], "0.6.0~1",
        "the registry has a newer one"
    );
    assert_eq!(
        manifest["effective"]["opi_opi"]["CONFIG_SPIRAM_XIP_FROM_PSRAM"],
        "y"
    );
    assert_eq!(
        manifest["effective"]["qio_qspi"]["CONFIG_SPIRAM_XIP_FROM_PSRAM"],
        "n"
    );

    // Again: repositories and stock libraries are used as they are, and the package is the same, byte for byte.
    let zip = fs::read(demo.path("dist").join(ZIP)).unwrap();
    let again = play(demo.dir.path());
    assert_eq!(
        (&demo.played["reused"], &again["reused"]),
        (&Value::Bool(false), &Value::Bool(true))
    );
    assert_eq!(again["difference"], demo.played["difference"]);
    assert!(fs::read(demo.path("dist").join(ZIP)).unwrap() == zip);
}

/// The image is made by `.ci/test-image`.
fn in_a_container(test: &str, choice: Choice, name: &str) {
    let image = Image::Ready("xip-test-image".into());
    match Engine::find(choice) {
        Ok(Engine::Container(engine)) if engine.has_image(&image).unwrap() => {}
        Ok(_) => {
            return testing::skipped(
                test,
                &format!("{name} has no xip-test-image; make it with .ci/test-image"),
            );
        }
        Err(error) => return testing::skipped(test, &format!("{error:#}")),
    }
    let Some(demo) = demo(test) else { return };
    let dir = tempfile::tempdir().unwrap();
    let output = xtask()
        .args([
            "demo",
            "--json",
            "--engine",
            name,
            "--image",
            "xip-test-image",
            "--dir",
        ])
        .arg(dir.path())
        .assert()
        .success()
        .get_output()
        .clone();
    let played: Value = serde_json::from_slice(&output.stdout).unwrap();
    // Another compiler may give other sizes; what changes is the same.
    let what = |played: &Value| -> Vec<(Value, Value)> {
        let changed = played["difference"]["changed"].as_array().unwrap();
        changed
            .iter()
            .map(|file| (file["path"].clone(), file["what"].clone()))
            .collect()
    };
    assert_eq!(what(&played), what(&demo.played));
    let build = &played["outcome"]["package"]["manifest"]["build"];
    assert_eq!(build["engine"], name);
    assert!(
        build["image"]
            .as_str()
            .unwrap()
            .starts_with("xip-test-image@sha256:"),
        "{build}"
    );
}

#[test]
fn docker_shows_the_same() {
    in_a_container("docker_shows_the_same", Choice::Docker, "docker");
}

#[test]
fn podman_shows_the_same() {
    in_a_container("podman_shows_the_same", Choice::Podman, "podman");
}

#[test]
fn another_folder_and_then_no_network_give_the_same_bytes() {
    let Some(demo) = demo("another_folder_and_then_no_network_give_the_same_bytes") else {
        return;
    };
    let dir = tempfile::Builder::new().prefix("a b ü").tempdir().unwrap();
    let git = demo.repositories(&dir.path().join("git"));
    demo.build(&git, dir.path()).assert().success();
    let (ours, theirs) = (dir.path().join("dist"), demo.path("dist"));
    for file in [
        ZIP.to_owned(),
        format!("{ZIP}.sha256"),
        ZIP.replace(".zip", ".json"),
    ] {
        let same = fs::read(ours.join(&file)).unwrap() == fs::read(theirs.join(&file)).unwrap();
        assert!(
            same,
            "{file} differs between {} and {}",
            ours.display(),
            theirs.display()
        );
    }
    // The server is gone, and nothing asks for it.
    fs::rename(&git, dir.path().join("gone")).unwrap();
    let zip = fs::read(ours.join(ZIP)).unwrap();
    fs::remove_dir_all(&ours).unwrap();
    demo.build(&git, dir.path())
        .arg("--offline")
        .assert()
        .success();
    assert!(fs::read(ours.join(ZIP)).unwrap() == zip);
}

#[test]
fn a_build_that_fails_says_why_and_where_and_leaves_no_package() {
    let Some(demo) = demo("a_build_that_fails_says_why_and_where_and_leaves_no_package") else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let git = demo.path("git");
    let later = tip(&git, "espressif/esp-idf.git", "release/v5.5");
    let versions = demo.versions(
        "esp-idf",
        &format!("release/v5.5 {later}"),
        &dir.path().join("versions.txt"),
    );
    let mut command = demo.build(&git, dir.path());
    let error = stderr(
        command
            .args(["--core", "3.3.12", "--versions"])
            .arg(&versions),
        1,
    );
    for word in [
        "a source does not compile",
        "heap_caps.c",
        "later than the release",
        "work/logs",
    ] {
        assert!(error.contains(word), "no `{word}` in\n{error}");
    }
    nothing_in(&dir.path().join("dist"));
}

#[test]
fn an_output_that_lacks_a_variant_is_refused() {
    let Some(demo) = demo("an_output_that_lacks_a_variant_is_refused") else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let git = demo.repositories(&dir.path().join("git"));
    let commit = without_a_variant(&git.join("espressif/esp32-arduino-lib-builder.git"));
    let versions = demo.versions(
        "lib-builder",
        &format!("broken {commit}"),
        &dir.path().join("versions.txt"),
    );
    let mut command = demo.build(&git, dir.path());
    let error = stderr(
        command
            .args(["--core", "3.3.12", "--versions"])
            .arg(&versions),
        3,
    );
    assert!(
        error.contains("memory variant opi_opi is missing"),
        "{error}"
    );
    nothing_in(&dir.path().join("dist"));
}

#[test]
fn an_output_folder_that_cannot_take_the_package_is_told_before_anything_is_fetched() {
    let Some(demo) =
        demo("an_output_folder_that_cannot_take_the_package_is_told_before_anything_is_fetched")
    else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("dist");
    fs::write(&out, "a file").unwrap();
    let error = stderr(&mut demo.build(&demo.path("git"), dir.path()), 1);
    assert!(error.contains("dist") && error.contains("--out"), "{error}");
    assert!(!dir.path().join("work/mirrors").exists(), "{error}");
    assert_eq!(fs::read_to_string(&out).unwrap(), "a file");
}

/// Symbols that change in a build, by the audit.
fn audited(audit: &Value, build: &str) -> Vec<String> {
    let builds = audit["builds"].as_array().unwrap();
    let build = builds.iter().find(|one| one["build"] == build).unwrap();
    let changes = build["changes"].as_array().unwrap();
    changes
        .iter()
        .map(|change| change["symbol"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn the_audit_tells_beforehand_what_the_build_did() {
    const TEST: &str = "the_audit_tells_beforehand_what_the_build_did";
    let Some(demo) = demo(TEST) else { return };
    let dir = tempfile::tempdir().unwrap();
    let audit = |work: &str, path: Option<&Path>| -> Value {
        let mut command = xtask();
        command
            .args(["audit", "--json", "--data-dir"])
            .arg(demo.path("Arduino15"))
            .arg("--mirror")
            .arg(format!(
                "https://github.com/={}/",
                demo.path("git").display()
            ))
            .arg("--work-dir")
            .arg(dir.path().join(work));
        if let Some(path) = path {
            command.env("PATH", path);
        }
        let output = command.assert().success().get_output().clone();
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let mut built: Vec<String> = demo.played["difference"]["changed"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|changed| changed["path"] == "qio_opi/include/sdkconfig.h")
        .flat_map(|changed| changed["what"]["lines"]["added"].as_array().unwrap())
        .map(|line| line.as_str().unwrap().split(' ').nth(1).unwrap().to_owned())
        .collect();
    built.sort();
    let by_lines = audit("lines", Some(dir.path()));
    assert_eq!(by_lines["basis"]["by"], "lines");
    assert_eq!(audited(&by_lines, "memory variant qio_opi"), built);

    let audit = audit("kconfig", None);
    if let Some(why) = audit["basis"]["why"].as_str() {
        return testing::skipped(TEST, &format!("Kconfig cannot be asked: {why}"));
    }
    assert_eq!(audited(&audit, "memory variant qio_opi"), built);
    assert!(audited(&audit, "memory variant dio_qspi").is_empty());
    assert!(audit["hazards"].as_array().unwrap().is_empty());
}

#[test]
fn a_hazard_stops_the_build_before_gigabytes_are_fetched_unless_it_is_accepted() {
    let Some(demo) =
        demo("a_hazard_stops_the_build_before_gigabytes_are_fetched_unless_it_is_accepted")
    else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let build = || {
        let mut command = demo.build(&demo.path("git"), dir.path());
        command.args(["--patch", "xip-ecc-chip"]);
        command
    };
    let error = stderr(&mut build(), 3);
    assert!(
        error.contains("--accept-hazard xip-without-boot-init")
            && error.contains("memory variants dio_qspi, qio_qspi"),
        "{error}"
    );
    let idf = walkdir::WalkDir::new(dir.path().join("work/mirrors"))
        .into_iter()
        .any(|entry| entry.unwrap().path().to_string_lossy().contains("esp-idf"));
    assert!(!idf, "only the lib-builder was fetched");
    // To look at the patched files is no build.
    build().args(["--stop-after", "patch"]).assert().success();
    let error = stderr(
        build().args(["--accept-hazard", "xip-without-boot-init"]),
        0,
    );
    assert!(
        error.contains("warning: xip-without-boot-init: memory variants dio_qspi, qio_qspi"),
        "{error}"
    );
}

/// A commit of the lib-builder whose build ends well and leaves the last memory variant out.
fn without_a_variant(repository: &Path) -> git2::Oid {
    let repo = git2::Repository::open(repository).unwrap();
    let parent = repo
        .revparse_single("master~1")
        .unwrap()
        .peel_to_commit()
        .unwrap();
    let path = "tools/copy-mem-variant.sh";
    let tree = parent.tree().unwrap();
    let script = repo
        .find_blob(tree.get_path(Path::new(path)).unwrap().id())
        .unwrap();
    let script = String::from_utf8(script.content().to_vec()).unwrap();
    let broken = script.replace(
        "#!/bin/sh\n",
        "#!/bin/sh\nif [ \"$3\" = opi ]; then exit 0; fi\n",
    );
    assert_ne!(script, broken);
    let blob = repo.blob(broken.as_bytes()).unwrap();
    let mut update = git2::build::TreeUpdateBuilder::new();
    update.upsert(path, blob, git2::FileMode::BlobExecutable);
    let tree = update.create_updated(&repo, &tree).unwrap();
    let who = git2::Signature::new("Test", "test@example.org", &git2::Time::new(0, 0)).unwrap();
    let tree = repo.find_tree(tree).unwrap();
    repo.commit(
        Some("refs/heads/broken"),
        &who,
        &who,
        "Leave a variant out",
        &tree,
        &[&parent],
    )
    .unwrap()
}
