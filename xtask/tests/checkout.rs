//! Checkouts through the tool's public interface, from real repositories in folders.

#![allow(clippy::unwrap_used, reason = "a test program: a panic is its verdict")]

#[path = "checkout_forge/mod.rs"]
mod checkout_forge;
#[path = "checkout_forge/run.rs"]
mod run;
#[path = "../src/testing.rs"]
mod testing;

use std::path::Path;

use checkout_forge::{Forge, Node, bare, commit, tag, twins};
use fs_err as fs;
use git2::Repository;
use run::{Run, assert_pinned, pins};
use xshell::{Shell, cmd};
use xtask::upstream::Checkout;

/// What the git program says in a work tree; `None` (said as SKIPPED) without one.
fn git(test: &str, tree: &Path, arguments: &[&str]) -> Option<String> {
    if which::which("git").is_err() {
        testing::skipped(test, "there is no git program");
        return None;
    }
    let sh = Shell::new().unwrap();
    sh.change_dir(tree);
    Some(
        cmd!(sh, "git -c safe.directory=* {arguments...}")
            .quiet()
            .read()
            .unwrap(),
    )
}

#[test]
fn every_tree_lands_at_its_commit_as_git_would_have_it() {
    let (forge, dir) = (Forge::new(), tempfile::tempdir().unwrap());
    let run = Run::new(dir.path(), &forge);
    let sources = run.check_out(&pins(&forge.versions())).unwrap();
    assert_pinned(&sources, &forge);
    let idf = &sources.trees[1];
    assert_eq!(
        (idf.name.as_str(), idf.path.as_str()),
        ("esp-idf", "esp-idf")
    );
    assert_eq!(idf.url, "https://github.com/espressif/esp-idf.git");
    assert_eq!(idf.commit, forge.idf.to_string());
    assert_eq!(
        idf.submodules,
        ["components/lwip/lwip", "components/lwip/lwip/inner/deep"]
    );
    assert_eq!(sources.trees[0].path, ".");
    assert_eq!(run.told(), "", "nothing to warn of");

    let described = format!("v5.1.3-2-g{}\n", &forge.idf.to_string()[..10]);
    assert_eq!(
        fs::read_to_string(sources.root.join("esp-idf/version.txt")).unwrap(),
        described
    );
}

/// What upstream's build asks git for, and what it would go to the network over.
#[test]
fn git_inside_the_trees_says_what_upstreams_build_wants_to_hear() {
    const TEST: &str = "git_inside_the_trees_says_what_upstreams_build_wants_to_hear";
    let (forge, dir) = (Forge::new(), tempfile::tempdir().unwrap());
    let work = dir.path().join("work");
    let sources = Run::new(&work, &forge)
        .check_out(&pins(&forge.versions()))
        .unwrap();
    // The whole work folder stands elsewhere in a container.
    let moved = dir.path().join("elsewhere");
    let root = moved.join(
        sources
            .root
            .strip_prefix(dunce::canonicalize(&work).unwrap())
            .unwrap(),
    );
    let trees = sources.trees.clone();
    drop(sources);
    fs::rename(&work, &moved).unwrap();
    for ((name, refs, short), tree) in forge.versions().iter().zip(&trees) {
        let at = root.join(&tree.path);
        let Some(head) = git(TEST, &at, &["symbolic-ref", "--short", "HEAD"]) else {
            return;
        };
        assert_eq!(head, refs[0], "{name}");
        let ask = |arguments: &[&str]| git(TEST, &at, arguments).unwrap();
        assert_eq!(&ask(&["rev-parse", "--short", "HEAD"]), short, "{name}");
        assert_eq!(
            ask(&["status", "--porcelain", "--ignore-submodules=none"]),
            "",
            "{name}"
        );
        assert_eq!(ask(&["log", "--format=%H"]), tree.commit, "{name}");
        assert_eq!(ask(&["fsck", "--connectivity-only"]), "", "{name}");
        for line in ask(&["submodule", "status", "--recursive"]).lines() {
            // xshell trims the first line's space; a sign in its place would be `-` or `+`.
            assert!(
                line.trim_start()
                    .starts_with(|c: char| c.is_ascii_hexdigit()),
                "{line}"
            );
        }
    }
    let count = git(
        TEST,
        &root.join("esp-idf"),
        &["submodule", "status", "--recursive"],
    )
    .unwrap();
    assert_eq!(count.lines().count(), 2, "{count}");
    // No address to fetch from exists: had git anything left to do, it would fail.
    git(
        TEST,
        &root.join("esp-idf"),
        &["submodule", "update", "--init", "--recursive"],
    )
    .unwrap();
}

#[test]
fn a_second_run_needs_no_source_and_puts_tracked_files_back() {
    let (forge, dir) = (Forge::new(), tempfile::tempdir().unwrap());
    let run = Run::new(dir.path(), &forge);
    let pins = pins(&forge.versions());
    let root = run.check_out(&pins).unwrap().root.clone();
    fs::write(root.join("configs/defconfig.esp32s3"), "patched\n").unwrap();
    fs::remove_file(root.join("text.txt")).unwrap();
    fs::write(
        root.join("esp-idf/components/lwip/lwip/lwip.c"),
        "changed\n",
    )
    .unwrap();
    fs::remove_file(root.join("esp-idf/version.txt")).unwrap();
    fs::create_dir_all(root.join("out/libs")).unwrap();
    fs::write(root.join("out/libs/built.a"), "built").unwrap();
    fs::write(root.join("esp-idf/untracked"), "mine").unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(
            root.join("build.sh"),
            std::fs::Permissions::from_mode(0o644),
        )
        .unwrap();
        fs::remove_file(root.join("link")).unwrap();
        fs::create_dir(root.join("link")).unwrap();
    }
    let idf = Repository::open(root.join("esp-idf")).unwrap();
    idf.set_head_detached(forge.idf).unwrap();
    let mut index = idf.index().unwrap();
    index.add_path(Path::new("untracked")).unwrap();
    index.write().unwrap();

    forge.reachable(false);
    for offline in [false, true] {
        let again = Run {
            offline,
            ..Run::new(dir.path(), &forge)
        };
        let sources = again.check_out(&pins).unwrap();
        assert_pinned(&sources, &forge);
        assert_eq!(sources.root, root);
        assert_eq!(fs::read(root.join("out/libs/built.a")).unwrap(), b"built");
        assert!(root.join("esp-idf/version.txt").exists());
        assert_eq!(idf.head().unwrap().shorthand().unwrap(), "release/v5.1");
    }
}

#[test]
fn a_tree_that_was_removed_or_broken_comes_back_from_the_mirrors() {
    let (forge, dir) = (Forge::new(), tempfile::tempdir().unwrap());
    let pins = pins(&forge.versions());
    let root = Run::new(dir.path(), &forge)
        .check_out(&pins)
        .unwrap()
        .root
        .clone();
    forge.reachable(false);
    type Break = fn(&Path);
    let breaks: [Break; 6] = [
        |root| fs::remove_dir_all(root).unwrap(),
        |root| fs::write(root.join("esp-idf/.git/HEAD"), "nonsense").unwrap(),
        |root| fs::write(root.join("esp-idf/.git/index"), "nonsense").unwrap(),
        |root| fs::remove_dir_all(root.join("esp-idf/components/lwip/lwip/.git")).unwrap(),
        |root| fs::write(root.join("esp-idf/.git/index.lock"), "").unwrap(),
        // As if the run had died while it set the repository up.
        |root| {
            fs::remove_file(root.join(".git/xip-complete")).unwrap();
            fs::write(root.join(".git/config"), "[core]\n\tfilemode = false\n").unwrap();
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt;
                fs::set_permissions(
                    root.join("build.sh"),
                    std::fs::Permissions::from_mode(0o644),
                )
                .unwrap();
            }
        },
    ];
    for (number, spoil) in breaks.into_iter().enumerate() {
        spoil(&root);
        let sources = Run::new(dir.path(), &forge).check_out(&pins);
        assert_pinned(
            &sources.unwrap_or_else(|error| panic!("break {number}: {error:#}")),
            &forge,
        );
    }
}

#[test]
fn offline_names_everything_that_is_missing() {
    let (forge, dir) = (Forge::new(), tempfile::tempdir().unwrap());
    let run = Run {
        offline: true,
        ..Run::new(dir.path(), &forge)
    };
    let error = run.error(&pins(&forge.versions()));
    assert!(
        error.contains("lib-builder") && error.contains("--offline"),
        "{error}"
    );
    let pins = pins(&forge.versions());
    let online = Run::new(dir.path(), &forge);
    let checkout = Checkout {
        work: &online.work,
        mirrors: &online.mirrors,
        offline: false,
        report: &|_| {},
    };
    drop(checkout.lib_builder(&pins).unwrap());
    let error = run.error(&pins);
    for name in [
        "esp-idf at release/v5.1",
        "arduino at",
        "tinyusb at",
        "3 repositories",
    ] {
        assert!(error.contains(name), "{name}: {error}");
    }
}

#[test]
fn a_short_id_that_cannot_be_had_says_what_was_tried_and_never_takes_the_branch() {
    let (forge, dir) = (Forge::new(), tempfile::tempdir().unwrap());
    let mut lines = forge.versions();
    lines[0].2 = "0123456789".into();
    let error = Run::new(dir.path(), &forge).error(&pins(&lines));
    for part in [
        "0123456789",
        "lib-builder",
        "64 commits deep into branch master",
        "all of branch master",
        "every branch and tag",
        "--mirror",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
    lines[0].1 = vec!["gone".into()];
    let error = Run::new(dir.path(), &forge).error(&pins(&lines));
    assert!(
        error.contains("`gone` (it has no such branch now)"),
        "{error}"
    );
    lines[0].2 = "0".repeat(39) + "1";
    let error = Run::new(dir.path(), &forge).error(&pins(&lines));
    assert!(error.contains(&lines[0].2), "{error}");
    assert!(
        !dir.path()
            .join("trees")
            .read_dir()
            .is_ok_and(|mut dir| dir.next().is_some())
    );
}

#[test]
fn a_short_id_of_several_commits_is_refused_unless_the_pins_branch_decides() {
    let (forge, dir) = (Forge::new(), tempfile::tempdir().unwrap());
    let tinyusb = forge.repo("hathach/tinyusb");
    let (first, second) = twins(&tinyusb);
    // No branch points to them any more: they must be looked for.
    for branch in ["twin-0", "twin-1"] {
        commit(&tinyusb, branch, &[("later", Node::File(b"later"))]);
    }
    let mut lines = forge.versions();
    lines[3].2 = first.to_string()[..4].to_owned();
    let error = Run::new(dir.path(), &forge).error(&pins(&lines));
    for part in [
        first.to_string(),
        second.to_string(),
        "tinyusb".into(),
        "full id".into(),
    ] {
        assert!(error.contains(&part), "{part}: {error}");
    }
    lines[3].1 = vec!["twin-1".into()];
    let sources = Run::new(dir.path(), &forge)
        .check_out(&pins(&lines))
        .unwrap();
    assert_eq!(sources.trees[3].commit, second.to_string());
}

#[test]
fn stale_branches_tags_and_full_ids_become_the_head_that_versions_txt_tells() {
    let (forge, dir) = (Forge::new(), tempfile::tempdir().unwrap());
    tag(
        &forge.repo("espressif/arduino-esp32"),
        "3.1.0",
        forge.arduino,
    );
    tag(&forge.repo("hathach/tinyusb"), "moved", forge.tinyusb);
    let later = commit(
        &forge.repo("hathach/tinyusb"),
        "master",
        &[("x", Node::File(b"x"))],
    );
    tag(&forge.repo("hathach/tinyusb"), "moved", later);
    let mut lines = forge.versions();
    lines[0].1 = vec!["no-more-there".into()];
    lines[1].1 = vec!["other-name".into(), "v5.1.3".into()];
    lines[1].2 = forge.idf_tagged.to_string()[..10].into();
    lines[2].1 = vec!["3.1.0".into()];
    lines[2].2 = forge.arduino.to_string();
    lines[3].1 = vec!["moved".into()];
    for _ in 0..2 {
        let run = Run::new(dir.path(), &forge);
        let sources = run.check_out(&pins(&lines)).unwrap();
        let open = |path: &str| Repository::open(sources.root.join(path)).unwrap();
        assert_eq!(
            open(".").head().unwrap().shorthand().unwrap(),
            "no-more-there"
        );
        let tags = |path: &str| {
            let repo = open(path);
            assert!(repo.head_detached().unwrap(), "{path}");
            let names = repo.tag_names(None).unwrap();
            names
                .iter()
                .filter_map(|name| Some(name.ok()??.to_owned()))
                .collect::<Vec<_>>()
        };
        assert_eq!(tags("esp-idf"), ["other-name", "v5.1.3"]);
        assert_eq!(tags("components/arduino"), ["3.1.0"]);
        assert_eq!(tags("components/arduino_tinyusb/tinyusb"), ["moved"]);
        assert!(
            !sources.root.join("esp-idf/version.txt").exists(),
            "its tag tells the version"
        );
        let idf = open("esp-idf");
        let described = idf
            .describe(git2::DescribeOptions::new().pattern("v*.*"))
            .unwrap();
        assert_eq!(described.format(None).unwrap(), "v5.1.3");
        forge.path().join("espressif").exists().then(|| {
            assert!(run.told().contains("moved"), "{}", run.told());
            forge.reachable(false);
        });
    }
}

#[test]
fn a_submodule_that_cannot_be_had_is_named_with_its_parent_and_address() {
    let (forge, dir) = (Forge::new(), tempfile::tempdir().unwrap());
    fs::remove_dir_all(forge.folder("pellepl/deep")).unwrap();
    let error = Run::new(dir.path(), &forge).error(&pins(&forge.versions()));
    for part in [
        "inner/deep",
        "espressif/esp-lwip",
        "https://github.com/pellepl/deep.git",
        "pellepl",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
    // The rest stays: once the repository is back, the run goes on from there.
    let deep = bare(forge.path(), "pellepl/deep");
    commit(&deep, "master", &[("deep.c", Node::File(b"int deep;\n"))]);
    let sources = Run::new(dir.path(), &forge)
        .check_out(&pins(&forge.versions()))
        .unwrap();
    assert_pinned(&sources, &forge);
}

#[test]
fn a_mirror_that_leads_nowhere_is_named() {
    let (forge, dir) = (Forge::new(), tempfile::tempdir().unwrap());
    forge.reachable(false);
    let error = Run::new(dir.path(), &forge).error(&pins(&forge.versions()));
    for part in [
        "esp32-arduino-lib-builder",
        "https://github.com/",
        "no git repository at",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
}

#[test]
fn a_source_that_lacks_a_file_is_refused_with_the_files_path() {
    let (forge, dir) = (Forge::new(), tempfile::tempdir().unwrap());
    let idf = forge.repo("espressif/esp-idf");
    let lost = idf.blob(b"pinned\n").unwrap().to_string();
    let file = idf.path().join("objects").join(&lost[..2]).join(&lost[2..]);
    fs::remove_file(file).unwrap();
    let error = Run::new(dir.path(), &forge).error(&pins(&forge.versions()));
    assert!(
        error.contains("idf.txt") && error.contains(&lost),
        "{error}"
    );
}

#[test]
fn two_runs_at_once_both_end_with_whole_trees() {
    let (forge, dir) = (Forge::new(), tempfile::tempdir().unwrap());
    let same = pins(&forge.versions());
    let mut lines = forge.versions();
    lines[1].2 = forge.idf_tagged.to_string();
    let other = pins(&lines);
    std::thread::scope(|scope| {
        for number in 0..6 {
            let (forge, dir, pins) = (
                &forge,
                dir.path(),
                if number % 3 == 2 { &other } else { &same },
            );
            scope.spawn(move || {
                let sources = Run::new(dir, forge).check_out(pins).unwrap();
                if number % 3 == 2 {
                    let text = fs::read(sources.root.join("esp-idf/idf.txt")).unwrap();
                    assert_eq!(text, b"tagged\n");
                } else {
                    assert_pinned(&sources, forge);
                    // What a build would do while it holds the trees.
                    fs::write(sources.root.join("configs/defconfig.esp32s3"), "patched").unwrap();
                }
            });
        }
    });
}
