//! Checkouts through the tool's public interface, from real repositories in folders.

#![allow(clippy::unwrap_used, reason = "a test program: a panic is its verdict")]

#[path = "checkout_forge/mod.rs"]
mod checkout_forge;
#[path = "checkout_forge/server.rs"]
mod server;
#[path = "../src/testing.rs"]
mod testing;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

use checkout_forge::{CRLF, DEFCONFIG, Forge, Node, ODD_NAME, annotate, bare, commit, tag, twins};
use fs_err as fs;
use git2::Repository;
use server::{Abilities, Http};
use xshell::{Shell, cmd};
use xtask::config::Mirror;
use xtask::progress::Event;
use xtask::release::{Origin, Pins, SourcePin};
use xtask::upstream::{Checkout, Mirrors, Sources};
use xtask::workdir::WorkDir;

const MODERN: Abilities = Abilities {
    any_id: true,
    protocol_2: true,
    filter: true,
    locked: false,
};

type Line = (&'static str, Vec<String>, String);

fn pins(lines: &[Line]) -> Pins {
    Pins {
        core: None,
        origin: Origin::File {
            path: "versions.txt".into(),
        },
        sources: lines
            .iter()
            .map(|(name, refs, commit)| SourcePin {
                name: (*name).into(),
                refs: refs.clone(),
                commit: commit.clone(),
            })
            .collect(),
        components: Vec::new(),
    }
}

/// A run of the stage on `work`; what it told is in `told`.
struct Run {
    work: WorkDir,
    mirrors: Mirrors,
    offline: bool,
    told: Mutex<Vec<String>>,
}

impl Run {
    fn new(work: &Path, forge: &Forge) -> Self {
        Self {
            work: WorkDir::open(work).unwrap(),
            mirrors: Mirrors::new(vec![Mirror {
                from: "https://github.com/".into(),
                to: forge.path().display().to_string(),
            }]),
            offline: false,
            told: Mutex::default(),
        }
    }

    fn check_out(&self, pins: &Pins) -> anyhow::Result<Sources> {
        let report = |event: Event<'_>| {
            if let Event::Warning(text) = event {
                self.told.lock().unwrap().push(text.to_owned());
            }
        };
        let checkout = Checkout {
            work: &self.work,
            mirrors: &self.mirrors,
            offline: self.offline,
            report: &report,
        };
        let mut sources = checkout.lib_builder(pins)?;
        checkout.complete(pins, &mut sources)?;
        Ok(sources)
    }

    fn error(&self, pins: &Pins) -> String {
        format!("{:#}", self.check_out(pins).unwrap_err())
    }

    fn told(&self) -> String {
        self.told.lock().unwrap().join("\n")
    }
}

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

fn assert_pinned(sources: &Sources, forge: &Forge) {
    let root = &sources.root;
    let read = |path: &str| fs::read(root.join(path)).unwrap();
    assert_eq!(read("text.txt"), b"pinned\n");
    assert_eq!(read("crlf.txt"), CRLF);
    assert_eq!(read("lf.bat"), b"one\ntwo\n");
    assert_eq!(read("keyword.id"), b"$Id$\n");
    assert_eq!(read("configs/defconfig.esp32s3"), DEFCONFIG);
    assert_eq!(read(ODD_NAME), b"odd\n");
    assert_eq!(read("esp-idf/idf.txt"), b"pinned\n");
    assert_eq!(read("esp-idf/components/lwip/lwip/lwip.c"), b"int lwip;\n");
    assert_eq!(
        read("esp-idf/components/lwip/lwip/inner/deep/deep.c"),
        b"int deep;\n"
    );
    assert_eq!(read("components/arduino/Arduino.h"), b"// pinned\n");
    assert_eq!(
        read("components/arduino_tinyusb/tinyusb/src/tusb.c"),
        b"// pinned\n"
    );
    for (path, commit) in [
        (".", forge.lib_builder),
        ("esp-idf", forge.idf),
        ("esp-idf/components/lwip/lwip", forge.lwip),
        ("esp-idf/components/lwip/lwip/inner/deep", forge.deep),
        ("components/arduino", forge.arduino),
        ("components/arduino_tinyusb/tinyusb", forge.tinyusb),
    ] {
        let repo = Repository::open(root.join(path)).unwrap();
        assert_eq!(repo.head().unwrap().target(), Some(commit), "{path}");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &str| fs::metadata(root.join(path)).unwrap().permissions().mode() & 0o111;
        assert_ne!(mode("build.sh"), 0);
        assert_ne!(mode("esp-idf/install.sh"), 0);
        assert_eq!(mode("text.txt"), 0);
        assert_eq!(
            fs::read_link(root.join("link")).unwrap(),
            Path::new("configs/defconfig.esp32s3")
        );
    }
}

#[test]
fn every_tree_lands_at_its_commit_as_git_would_have_it() {
    let (forge, dir) = (Forge::new(), tempfile::tempdir().unwrap());
    let run = Run::new(dir.path(), &forge);
    let sources = run.check_out(&pins(&forge.versions())).unwrap();
    assert_pinned(&sources, &forge);
    let idf = &sources.trees[1];
    assert_eq!((idf.name.as_str(), idf.path.as_str()), ("esp-idf", "esp-idf"));
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
                line.trim_start().starts_with(|c: char| c.is_ascii_hexdigit()),
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
    fs::write(root.join("esp-idf/components/lwip/lwip/lwip.c"), "changed\n").unwrap();
    fs::remove_file(root.join("esp-idf/version.txt")).unwrap();
    fs::create_dir_all(root.join("out/libs")).unwrap();
    fs::write(root.join("out/libs/built.a"), "built").unwrap();
    fs::write(root.join("esp-idf/untracked"), "mine").unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(root.join("build.sh"), std::fs::Permissions::from_mode(0o644)).unwrap();
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
    let breaks: [Break; 5] = [
        |root| fs::remove_dir_all(root).unwrap(),
        |root| fs::write(root.join("esp-idf/.git/HEAD"), "nonsense").unwrap(),
        |root| fs::write(root.join("esp-idf/.git/index"), "nonsense").unwrap(),
        |root| fs::remove_dir_all(root.join("esp-idf/components/lwip/lwip/.git")).unwrap(),
        |root| fs::write(root.join("esp-idf/.git/index.lock"), "").unwrap(),
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
    assert!(error.contains("`gone` (it has no such branch now)"), "{error}");
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
    let (first, second) = twins(&forge.repo("hathach/tinyusb"));
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
    let sources = Run::new(dir.path(), &forge).check_out(&pins(&lines)).unwrap();
    assert_eq!(sources.trees[3].commit, second.to_string());
}

#[test]
fn stale_branches_tags_and_full_ids_become_the_head_that_versions_txt_tells() {
    let (forge, dir) = (Forge::new(), tempfile::tempdir().unwrap());
    tag(&forge.repo("espressif/arduino-esp32"), "3.1.0", forge.arduino);
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
        assert_eq!(open(".").head().unwrap().shorthand().unwrap(), "no-more-there");
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
    assert!(error.contains("idf.txt") && error.contains(&lost), "{error}");
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
            let (forge, dir, pins) = (&forge, dir.path(), if number % 3 == 2 { &other } else { &same });
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
    annotate(&forge.repo("espressif/esp-idf"), "v5.1.4", forge.idf);
}

/// This very test program, to be run as another process with `role` (see [`as_another_process`]).
fn another_process(test: &str, work: &Path, forge: &Forge) -> Command {
    let sh = Shell::new().unwrap();
    let program = std::env::current_exe().unwrap();
    let mut command: Command = cmd!(sh, "{program} --exact as_another_process --nocapture").into();
    command
        .env("CHECKOUT_ROLE", test)
        .env("CHECKOUT_WORK", work)
        .env("CHECKOUT_FORGE", forge.path())
        .env("CHECKOUT_PINS", spelled(&forge.versions()))
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    command
}

/// Lines as text: name, names in git, id.
fn spelled(lines: &[Line]) -> String {
    let line = |(name, refs, commit): &Line| format!("{name} {} {commit}\n", refs.join(" "));
    lines.iter().map(line).collect()
}

/// Not a test of its own: the other process of the tests below. Does nothing unless one of them started it.
#[test]
fn as_another_process() {
    let Ok(lines) = std::env::var("CHECKOUT_PINS") else {
        return;
    };
    let names = ["lib-builder", "esp-idf", "arduino", "tinyusb"];
    let lines: Vec<Line> = lines
        .lines()
        .zip(names)
        .map(|(line, name)| {
            let words: Vec<_> = line.split(' ').map(str::to_owned).collect();
            (
                name,
                words[1..words.len() - 1].to_vec(),
                words[words.len() - 1].clone(),
            )
        })
        .collect();
    let work = std::env::var_os("CHECKOUT_WORK").unwrap();
    let run = Run {
        work: WorkDir::open(Path::new(&work)).unwrap(),
        mirrors: Mirrors::new(vec![Mirror {
            from: "https://github.com/".into(),
            to: std::env::var("CHECKOUT_FORGE").unwrap(),
        }]),
        offline: false,
        told: Mutex::default(),
    };
    match run.check_out(&pins(&lines)) {
        Ok(_) => println!("\nCHECKED OUT"),
        Err(error) => println!("\nFAILED {error:#}"),
    }
}

fn output(mut command: Command) -> String {
    let output = command.output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn local_sources_need_no_git_program() {
    let (forge, dir) = (Forge::new(), tempfile::tempdir().unwrap());
    let mut command = another_process("no git", dir.path(), &forge);
    command.env("PATH", "");
    let said = output(command);
    assert!(said.contains("CHECKED OUT"), "{said}");
    // Not a word of a git program: the trees alone are looked at.
    forge.reachable(false);
    let sources = Run::new(dir.path(), &forge)
        .check_out(&pins(&forge.versions()))
        .unwrap();
    assert_pinned(&sources, &forge);
}

#[test]
fn without_a_git_program_https_says_what_to_do() {
    if git2::Version::get().https() {
        testing::skipped(
            "without_a_git_program_https_says_what_to_do",
            "libgit2 has https here",
        );
        return;
    }
    let (forge, dir) = (Forge::new(), tempfile::tempdir().unwrap());
    let mut command = another_process("no git", dir.path(), &forge);
    command
        .env("PATH", "")
        .env("CHECKOUT_FORGE", "https://127.0.0.1:1/");
    let said = output(command);
    assert!(
        said.contains("FAILED") && said.contains("install git") && said.contains("--mirror"),
        "{said}"
    );
}

/// A home folder whose git settings would spoil everything, were they to count.
fn hostile_home(home: &Path) -> String {
    fs::create_dir_all(home.join("template/hooks")).unwrap();
    fs::create_dir_all(home.join("hooks")).unwrap();
    fs::write(home.join("attributes"), "* text eol=crlf\n").unwrap();
    for hook in ["template/hooks/post-checkout", "hooks/reference-transaction"] {
        let path = home.join(hook);
        fs::write(&path, "#!/bin/sh\nexit 1\n").unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
    }
    let settings = format!(
        "[core]\n\tautocrlf = true\n\teol = crlf\n\tsafecrlf = true\n\tattributesFile = {0}/attributes\n\thooksPath = {0}/hooks\n\
         [init]\n\ttemplateDir = {0}/template\n\tdefaultBranch = other\n[fetch]\n\tprune = true\n\
         [transfer]\n\tfsckObjects = true\n",
        home.display()
    );
    fs::write(home.join(".gitconfig"), &settings).unwrap();
    settings
}

#[test]
fn the_users_git_settings_change_no_byte_and_are_not_changed() {
    const TEST: &str = "the_users_git_settings_change_no_byte_and_are_not_changed";
    let (forge, dir) = (Forge::new(), tempfile::tempdir().unwrap());
    let home = dir.path().join("home");
    let settings = hostile_home(&home);
    // As in a git hook of a repository of the user's.
    let mine = bare(dir.path(), "mine");
    let before = listing(mine.path());
    let server = Http::serve(forge.path(), MODERN);
    if server.is_none() {
        testing::skipped(TEST, "there is no git program to fetch with");
    }
    let folder = forge.path().display().to_string();
    for (number, from) in [Some(folder), server.as_ref().map(|server| server.url.clone())]
        .into_iter()
        .flatten()
        .enumerate()
    {
        let work = dir.path().join(number.to_string());
        let mut command = another_process("settings", &work, &forge);
        command
            .env("CHECKOUT_FORGE", from)
            .env("HOME", &home)
            .env("XDG_CONFIG_HOME", &home)
            .env("USERPROFILE", &home)
            .env("GIT_DIR", mine.path())
            .env("GIT_INDEX_FILE", mine.path().join("index"))
            .env("GIT_OBJECT_DIRECTORY", mine.path().join("objects"));
        let said = output(command);
        assert!(said.contains("CHECKED OUT"), "{said}");
        assert_eq!(fs::read_to_string(home.join(".gitconfig")).unwrap(), settings);
        assert_eq!(listing(mine.path()), before);
        let trees: Vec<_> = fs::read_dir(work.join("trees"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        let [root] = trees.as_slice() else {
            panic!("{trees:?}")
        };
        for (path, bytes) in [
            ("crlf.txt", CRLF),
            ("lf.bat", b"one\ntwo\n".as_slice()),
            ("esp-idf/idf.txt", b"pinned\n"),
            ("configs/defconfig.esp32s3", DEFCONFIG),
        ] {
            assert_eq!(fs::read(root.join(path)).unwrap(), bytes, "{path}");
        }
        assert!(!root.join(".git/hooks/post-checkout").exists());
    }
}

/// Every file below a folder, with its content.
fn listing(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let files = walkdir::WalkDir::new(folder)
        .sort_by_file_name()
        .into_iter()
        .map(Result::unwrap);
    files
        .filter(|entry| entry.file_type().is_file())
        .map(|entry| (entry.path().to_owned(), fs::read(entry.path()).unwrap()))
        .collect()
}

#[cfg(unix)]
#[test]
fn ssh_is_told_never_to_ask() {
    use std::os::unix::fs::PermissionsExt;
    if which::which("git").is_err() {
        testing::skipped("ssh_is_told_never_to_ask", "there is no git program");
        return;
    }
    let (forge, dir) = (Forge::new(), tempfile::tempdir().unwrap());
    let (ssh, log) = (dir.path().join("ssh"), dir.path().join("log"));
    fs::write(
        &ssh,
        format!("#!/bin/sh\necho \"$@\" >> {}\nexit 255\n", log.display()),
    )
    .unwrap();
    fs::set_permissions(&ssh, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", dir.path().display(), std::env::var("PATH").unwrap());
    let mut command = another_process("ssh", &dir.path().join("work"), &forge);
    command
        .env("PATH", path)
        .env("HOME", dir.path())
        .env_remove("GIT_SSH_COMMAND")
        .env("CHECKOUT_FORGE", "ssh://git@forge.invalid/");
    let said = output(command);
    assert!(
        said.contains("FAILED") && said.contains("forge.invalid"),
        "{said}"
    );
    let log = fs::read_to_string(log).unwrap();
    assert!(
        log.contains("-oBatchMode=yes") && log.contains("git@forge.invalid"),
        "{log}"
    );
}

/// A file system of its own that is too small, seen by the other process alone.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_said_with_the_folder() {
    const TEST: &str = "a_full_disk_is_said_with_the_folder";
    let forge = Forge::new();
    let idf = forge.repo("espressif/esp-idf");
    let bulk = noise(7, 3_000_000);
    let bulky = commit(&idf, "release/v5.1", &[("bulk", Node::File(&bulk))]);
    let mut lines = forge.versions();
    lines[1].2 = bulky.to_string();
    let dir = tempfile::tempdir().unwrap();
    let inner = another_process(TEST, dir.path(), &forge);
    let sh = Shell::new().unwrap();
    let script = format!(
        "mount -t tmpfs -o size=2m tmpfs {0} && echo MOUNTED && exec \"$0\" \"$@\"",
        dir.path().display()
    );
    let (program, arguments) = (inner.get_program(), inner.get_args());
    let mut command: Command = cmd!(
        sh,
        "unshare --user --map-root-user --mount sh -c {script} {program} {arguments...}"
    )
    .into();
    for (name, value) in inner.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    command.env("CHECKOUT_PINS", spelled(&lines));
    let said = output(command);
    if !said.contains("MOUNTED") {
        testing::skipped(
            TEST,
            &format!("no file system can be mounted here: {}", said.trim()),
        );
        return;
    }
    let folder = dunce::canonicalize(dir.path()).unwrap().display().to_string();
    for part in ["FAILED the disk that holds", &folder, "MB free", "--work-dir"] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

/// Kills the run at ever later instants; whatever it leaves, the next run ends with whole trees.
fn kill_at_growing_delays(forge: &Forge, from: &str, step: u32) {
    // Enough that fetching and laying out take a while.
    let idf = forge.repo("espressif/esp-idf");
    let bulk: Vec<(String, Vec<u8>)> = (0..300u32)
        .map(|number| (format!("bulk/{}/{number}.c", number % 7), noise(number, 20_000)))
        .collect();
    let mut files: Vec<(&str, Node<'_>)> = bulk
        .iter()
        .map(|(path, bytes)| (path.as_str(), Node::File(bytes)))
        .collect();
    files.push(("idf.txt", Node::File(b"bulk\n")));
    let mut lines = forge.versions();
    lines[1].2 = commit(&idf, "release/v5.1", &files).to_string();
    let dir = tempfile::tempdir().unwrap();
    let (mut killed, mut delay) = (0, Duration::from_millis(20));
    for _ in 0..14 {
        let mut command = another_process("kill", dir.path(), forge);
        command
            .env("CHECKOUT_PINS", spelled(&lines))
            .env("CHECKOUT_FORGE", from);
        let mut child = command.spawn().unwrap();
        std::thread::sleep(delay);
        child.kill().unwrap();
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(!said.contains("FAILED"), "after {delay:?}: {said}");
        if said.contains("CHECKED OUT") {
            break;
        }
        killed += 1;
        delay = delay * step / 100;
    }
    assert!(killed > 3, "killed {killed} times only");
    let run = Run {
        mirrors: Mirrors::new(vec![Mirror {
            from: "https://github.com/".into(),
            to: from.into(),
        }]),
        ..Run::new(dir.path(), forge)
    };
    let sources = run.check_out(&pins(&lines)).unwrap();
    for (path, bytes) in &bulk {
        assert!(
            &fs::read(sources.root.join("esp-idf").join(path)).unwrap() == bytes,
            "{path}"
        );
    }
    let packs = sources.root.join("../../mirrors/esp-idf.git/objects/pack");
    for entry in fs::read_dir(packs).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(name.starts_with("pack-"), "{name} was left behind");
    }
}

#[test]
fn a_run_killed_at_any_instant_leaves_nothing_that_the_next_trusts() {
    let forge = Forge::new();
    kill_at_growing_delays(&forge, &forge.path().display().to_string(), 135);
}

#[test]
fn neither_does_one_that_is_killed_while_the_git_program_fetches() {
    let forge = Forge::new();
    let Some(server) = Http::serve(forge.path(), MODERN) else {
        testing::skipped(
            "neither_does_one_that_is_killed_while_the_git_program_fetches",
            "there is no git program",
        );
        return;
    };
    kill_at_growing_delays(&forge, &server.url, 150);
}

/// Bytes that do not compress well, the same for the same seed.
fn noise(seed: u32, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
    let next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state.to_le_bytes()[0]
    };
    std::iter::repeat_with(next).take(length).collect()
}
