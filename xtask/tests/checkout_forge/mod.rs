//! A small forge: real git repositories in `<folder>/<owner>/<name>.git`, in the shape of those that a release is made of.
#![allow(dead_code, reason = "each test program uses its part")]

use std::path::{Path, PathBuf};

use git2::{Oid, Repository, Signature, Time};
use tempfile::TempDir;

/// What a commit's tree holds at a path.
#[derive(Clone, Copy)]
pub(crate) enum Node<'a> {
    File(&'a [u8]),
    Program(&'a [u8]),
    Link(&'a str),
    Submodule(Oid),
}

/// The forge's folder, and the ids that tests pin.
pub(crate) struct Forge {
    dir: TempDir,
    pub(crate) lib_builder: Oid,
    pub(crate) idf: Oid,
    pub(crate) idf_tagged: Oid,
    pub(crate) arduino: Oid,
    pub(crate) tinyusb: Oid,
    pub(crate) lwip: Oid,
    pub(crate) deep: Oid,
}

/// Bytes that a checkout must not touch on any system.
pub(crate) const CRLF: &[u8] = b"one\r\ntwo\r\n";
/// A defconfig file as upstream has them, without a last newline.
pub(crate) const DEFCONFIG: &[u8] = b"CONFIG_A=y\nCONFIG_B=n";
/// A file below a folder whose name has a space and a letter beyond ASCII.
pub(crate) const ODD_NAME: &str = "configs/odd n\u{e4}me/file";

impl Forge {
    /// Everything that a release needs; every pinned branch has moved on since.
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let repo = |name: &str| bare(dir.path(), name);

        let deep = repo("pellepl/deep");
        let deep_pin = commit(&deep, "master", &[("deep.c", Node::File(b"int deep;\n"))]);
        commit(&deep, "master", &[("deep.c", Node::File(b"int later;\n"))]);

        let lwip = repo("espressif/esp-lwip");
        let modules =
            b"[submodule \"inner/deep\"]\n\tpath = inner/deep\n\turl = ../../pellepl/deep.git\n";
        let lwip_pin = commit(
            &lwip,
            "2.1.3-esp",
            &[
                (".gitmodules", Node::File(modules)),
                ("inner/deep", Node::Submodule(deep_pin)),
                ("lwip.c", Node::File(b"int lwip;\n")),
            ],
        );
        commit(
            &lwip,
            "2.1.3-esp",
            &[("lwip.c", Node::File(b"int later;\n"))],
        );

        let idf = repo("espressif/esp-idf");
        let modules = b"[submodule \"components/lwip/lwip\"]\n\tpath = components/lwip/lwip\n\turl = ../../espressif/esp-lwip.git\n";
        let idf_tree = |text: &'static [u8]| {
            [
                (".gitmodules", Node::File(modules)),
                ("components/lwip/lwip", Node::Submodule(lwip_pin)),
                ("install.sh", Node::Program(b"#!/bin/sh\n")),
                ("idf.txt", Node::File(text)),
            ]
        };
        let tagged = commit(&idf, "release/v5.1", &idf_tree(b"tagged\n"));
        annotate(&idf, "v5.1.3", tagged);
        annotate(&idf, "other-name", tagged);
        commit(&idf, "release/v5.1", &idf_tree(b"one\n"));
        let idf_pin = commit(&idf, "release/v5.1", &idf_tree(b"pinned\n"));
        commit(&idf, "release/v5.1", &idf_tree(b"later\n"));

        let lib_builder = repo("espressif/esp32-arduino-lib-builder");
        let tree = |text: &'static [u8]| {
            [
                (
                    ".gitattributes",
                    Node::File(b"* text=auto\n*.bat eol=crlf\n*.id ident\n".as_slice()),
                ),
                (
                    ".gitignore",
                    Node::File(b"components/arduino/\ncomponents/arduino_tinyusb/tinyusb/\nesp-idf/\nout/\n"),
                ),
                ("build.sh", Node::Program(b"#!/bin/bash\n")),
                ("configs/defconfig.esp32s3", Node::File(DEFCONFIG)),
                ("crlf.txt", Node::File(CRLF)),
                ("lf.bat", Node::File(b"one\ntwo\n")),
                ("keyword.id", Node::File(b"$Id$\n")),
                ("link", Node::Link("configs/defconfig.esp32s3")),
                (ODD_NAME, Node::File(b"odd\n")),
                ("text.txt", Node::File(text)),
            ]
        };
        commit(&lib_builder, "master", &tree(b"before\n"));
        let lib_builder_pin = commit(&lib_builder, "master", &tree(b"pinned\n"));
        for text in [b"later 1\n", b"later 2\n"] {
            commit(&lib_builder, "master", &tree(text));
        }

        let arduino = repo("espressif/arduino-esp32");
        let arduino_pin = commit(
            &arduino,
            "idf-release/v5.1",
            &[("Arduino.h", Node::File(b"// pinned\n"))],
        );
        commit(
            &arduino,
            "idf-release/v5.1",
            &[("Arduino.h", Node::File(b"// later\n"))],
        );
        let tinyusb = repo("hathach/tinyusb");
        let tinyusb_pin = commit(
            &tinyusb,
            "master",
            &[("src/tusb.c", Node::File(b"// pinned\n"))],
        );
        commit(
            &tinyusb,
            "master",
            &[("src/tusb.c", Node::File(b"// later\n"))],
        );

        Self {
            dir,
            lib_builder: lib_builder_pin,
            idf: idf_pin,
            idf_tagged: tagged,
            arduino: arduino_pin,
            tinyusb: tinyusb_pin,
            lwip: lwip_pin,
            deep: deep_pin,
        }
    }

    /// The folder that holds the owners' folders.
    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// The folder of one repository.
    pub(crate) fn folder(&self, name: &str) -> PathBuf {
        self.path().join(format!("{name}.git"))
    }

    /// One repository, opened.
    pub(crate) fn repo(&self, name: &str) -> Repository {
        Repository::open(self.folder(name)).expect("a repository of the forge")
    }

    /// A `versions.txt` that pins what [`Forge::new`] made: name, names in git, short id.
    pub(crate) fn versions(&self) -> Vec<(&'static str, Vec<String>, String)> {
        let line = |name, branch: &str, commit: Oid, digits: usize| {
            (
                name,
                vec![branch.to_owned()],
                commit.to_string()[..digits].to_owned(),
            )
        };
        vec![
            line("lib-builder", "master", self.lib_builder, 7),
            line("esp-idf", "release/v5.1", self.idf, 10),
            line("arduino", "idf-release/v5.1", self.arduino, 8),
            line("tinyusb", "master", self.tinyusb, 9),
        ]
    }

    /// Moves the forge away, so that nothing can be fetched from it; back again when called with `true`.
    pub(crate) fn reachable(&self, yes: bool) {
        for owner in ["espressif", "hathach", "pellepl"] {
            let (here, away) = (
                self.path().join(owner),
                self.path().join(format!("{owner}.away")),
            );
            let (from, to) = if yes { (away, here) } else { (here, away) };
            std::fs::rename(from, to).expect("renaming a folder of the forge");
        }
    }
}

/// A new bare repository.
pub(crate) fn bare(forge: &Path, name: &str) -> Repository {
    let mut options = git2::RepositoryInitOptions::new();
    options
        .bare(true)
        .mkpath(true)
        .external_template(false)
        .initial_head("master");
    Repository::init_opts(forge.join(format!("{name}.git")), &options).expect("a bare repository")
}

/// Times grow with the length of the history, as git expects of commits.
fn signature(seconds: i64) -> Signature<'static> {
    Signature::new(
        "Tester",
        "tester@example.org",
        &Time::new(1_700_000_000 + seconds, 0),
    )
    .expect("a signature")
}

/// A commit with exactly these files on top of `branch`.
pub(crate) fn commit(repo: &Repository, branch: &str, files: &[(&str, Node<'_>)]) -> Oid {
    let tree = repo.find_tree(tree(repo, files)).expect("the tree");
    let name = format!("refs/heads/{branch}");
    let parent = repo
        .find_reference(&name)
        .ok()
        .and_then(|head| head.peel_to_commit().ok());
    let time = parent
        .as_ref()
        .map_or(0, |parent| parent.time().seconds() - 1_700_000_000 + 60);
    let parents: Vec<_> = parent.iter().collect();
    let who = signature(time);
    repo.commit(
        Some(&name),
        &who,
        &who,
        &format!("Change at {time}"),
        &tree,
        &parents,
    )
    .expect("a commit")
}

/// Writes a tree.
pub(crate) fn tree(repo: &Repository, files: &[(&str, Node<'_>)]) -> Oid {
    let mut index = git2::Index::new().expect("an index");
    for (path, node) in files {
        let blob = |bytes: &[u8]| repo.blob(bytes).expect("a blob");
        let (mode, id) = match node {
            Node::File(bytes) => (0o100_644, blob(bytes)),
            Node::Program(bytes) => (0o100_755, blob(bytes)),
            Node::Link(target) => (0o120_000, blob(target.as_bytes())),
            Node::Submodule(commit) => (0o160_000, *commit),
        };
        let zero = git2::IndexTime::new(0, 0);
        index
            .add(&git2::IndexEntry {
                ctime: zero,
                mtime: zero,
                dev: 0,
                ino: 0,
                mode,
                uid: 0,
                gid: 0,
                file_size: 0,
                id,
                flags: 0,
                flags_extended: 0,
                path: path.as_bytes().to_vec(),
            })
            .expect("an index entry");
    }
    index.write_tree_to(repo).expect("a tree")
}

/// An annotated tag.
pub(crate) fn annotate(repo: &Repository, name: &str, commit: Oid) -> Oid {
    let object = repo.find_object(commit, None).expect("the commit");
    repo.tag(name, &object, &signature(30), "A release", true)
        .expect("a tag")
}

/// A light tag.
pub(crate) fn tag(repo: &Repository, name: &str, commit: Oid) {
    let object = repo.find_object(commit, None).expect("the commit");
    repo.tag_lightweight(name, &object, true).expect("a tag");
}

/// Commits without parents, on branches `twin-0` and `twin-1`, whose ids begin with the same four digits.
pub(crate) fn twins(repo: &Repository) -> (Oid, Oid) {
    let tree = repo
        .find_tree(tree(repo, &[("twin", Node::File(b"twin\n"))]))
        .expect("the tree");
    let who = signature(0);
    let mut seen = std::collections::HashMap::new();
    for number in 0.. {
        let text = repo
            .commit_create_buffer(&who, &who, &format!("Twin {number}"), &tree, &[])
            .expect("a commit");
        let id = Oid::hash_object(git2::ObjectType::Commit, &text).expect("an id");
        if let Some(other) = seen.insert(id.to_string()[..4].to_owned(), text.to_vec()) {
            let odb = repo.odb().expect("the objects");
            let first = odb
                .write(git2::ObjectType::Commit, &other)
                .expect("a commit");
            let second = odb
                .write(git2::ObjectType::Commit, &text)
                .expect("a commit");
            for (number, id) in [first, second].into_iter().enumerate() {
                repo.reference(&format!("refs/heads/twin-{number}"), id, true, "twin")
                    .expect("a branch");
            }
            return (first, second);
        }
    }
    unreachable!("ids repeat their first four digits long before numbers end")
}
