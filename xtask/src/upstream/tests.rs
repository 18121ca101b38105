//! Fetching over real http, and what faults in the middle leave behind.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use fs_err as fs;
use git2::Repository;
use sha2::Digest;

use self::forge::{Forge, Node, annotate, commit, twins};
use self::server::{Abilities, Http};
use super::address::Address;
use super::fetch::{Advertised, Brought, Fetcher, Fetchers, GitProgram, Libgit, Reach, Want};
use super::*;
use crate::config::Mirror;
use crate::release::{Origin, SourcePin};
use crate::testing::skipped;

#[path = "../../tests/checkout_forge/mod.rs"]
mod forge;
#[path = "../../tests/checkout_forge/server.rs"]
mod server;

const MODERN: Abilities = Abilities {
    any_id: true,
    protocol_2: true,
    filter: true,
    locked: false,
};
/// Protocol 0 alone, no commits by id, nothing left out.
const OLD: Abilities = Abilities {
    any_id: false,
    protocol_2: false,
    filter: false,
    locked: false,
};

fn pins(forge: &Forge) -> Pins {
    let pin = |(name, refs, commit): (&str, Vec<String>, String)| SourcePin {
        name: name.into(),
        refs,
        commit,
    };
    Pins {
        core: None,
        origin: Origin::File {
            path: "versions.txt".into(),
        },
        sources: forge.versions().into_iter().map(pin).collect(),
        components: Vec::new(),
    }
}

/// Runs the stage on `work` with everything mirrored at `to`; gives its result and the warnings and notes told.
fn run(work: &Path, to: &str, pins: &Pins, fetcher: &dyn Fetcher) -> (Result<Sources>, String) {
    let work = WorkDir::open(work).unwrap();
    let mirrors = Mirrors::new(vec![Mirror {
        from: "https://github.com".into(),
        to: to.into(),
    }]);
    let told = Mutex::new(String::new());
    let report = |event: Event<'_>| {
        if let Event::Warning(text) | Event::Note(text) = event {
            told.lock().unwrap().push_str(text);
        }
    };
    let checkout = Checkout {
        work: &work,
        mirrors: &mirrors,
        offline: false,
        report: &report,
    };
    let outcome = checkout.lib_builder_by(pins, fetcher).and_then(|mut sources| {
        checkout.complete_by(pins, &mut sources, fetcher)?;
        Ok(sources)
    });
    (outcome, told.into_inner().unwrap())
}

fn assert_pinned(sources: &Sources, forge: &Forge) {
    let commits = sources
        .trees
        .iter()
        .map(|tree| tree.commit.as_str())
        .collect::<Vec<_>>();
    let expected = [forge.lib_builder, forge.idf, forge.arduino, forge.tinyusb].map(|id| id.to_string());
    assert_eq!(commits, expected.each_ref().map(String::as_str));
    for (path, bytes) in [
        ("text.txt", "pinned\n"),
        ("esp-idf/idf.txt", "pinned\n"),
        ("esp-idf/components/lwip/lwip/inner/deep/deep.c", "int deep;\n"),
        ("components/arduino/Arduino.h", "// pinned\n"),
    ] {
        assert_eq!(
            fs::read_to_string(sources.root.join(path)).unwrap(),
            bytes,
            "{path}"
        );
    }
}

/// The git program, or `None` (said as SKIPPED).
fn program(test: &str) -> Option<GitProgram> {
    let found = GitProgram::find();
    if found.is_none() {
        skipped(test, "there is no git program");
    }
    found
}

/// Another fetcher, whose calls are counted, and of which one may fail once its work is done half.
struct Watched<'a> {
    inner: &'a dyn Fetcher,
    calls: AtomicUsize,
    /// The call (from 1) whose objects arrive, and which then fails.
    fails_at: usize,
}

impl<'a> Watched<'a> {
    fn new(inner: &'a dyn Fetcher, fails_at: usize) -> Self {
        Self {
            inner,
            calls: AtomicUsize::new(0),
            fails_at,
        }
    }

    fn count<T>(&self, result: Result<T>) -> Result<T> {
        if self.calls.fetch_add(1, Ordering::SeqCst) + 1 == self.fails_at {
            bail!("the line was cut");
        }
        result
    }
}

impl Fetcher for Watched<'_> {
    fn advertised(&self, from: &Address) -> Result<Vec<Advertised>> {
        self.count(self.inner.advertised(from))
    }

    fn bring(
        &self,
        from: &Address,
        want: &Want<'_>,
        into: &Repository,
        report: Report<'_>,
    ) -> Result<Brought> {
        self.count(self.inner.bring(from, want, into, report))
    }

    fn has_bare_history(&self, from: &Address) -> bool {
        self.inner.has_bare_history(from)
    }

    fn history(
        &self,
        from: &Address,
        reach: &Reach,
        content: bool,
        scratch: Repository,
        report: Report<'_>,
    ) -> Result<Repository> {
        self.count(self.inner.history(from, reach, content, scratch, report))
    }
}

#[test]
fn a_second_run_calls_no_fetcher() {
    let (forge, dir) = (Forge::new(), tempfile::tempdir().unwrap());
    let (to, pins) = (forge.path().display().to_string(), pins(&forge));
    let fetchers = Fetchers::new();
    let first = Watched::new(&fetchers, 0);
    assert_pinned(&run(dir.path(), &to, &pins, &first).0.unwrap(), &forge);
    assert!(first.calls.load(Ordering::SeqCst) > 4);
    let second = Watched::new(&fetchers, 0);
    assert_pinned(&run(dir.path(), &to, &pins, &second).0.unwrap(), &forge);
    assert_eq!(second.calls.load(Ordering::SeqCst), 0);
}

/// Every call fails once after its objects arrived; nothing half-done may count afterwards.
#[test]
fn whichever_call_is_cut_the_next_run_completes() {
    let (forge, to) = (Forge::new(), String::new());
    let (to, pins) = (to + &forge.path().display().to_string(), pins(&forge));
    for fails_at in 1.. {
        let dir = tempfile::tempdir().unwrap();
        let watched = Watched::new(&Libgit, fails_at);
        let (outcome, _) = run(dir.path(), &to, &pins, &watched);
        if outcome.is_ok() {
            assert!(fails_at > 6, "{fails_at} calls only");
            return;
        }
        let error = format!("{:#}", outcome.err().unwrap());
        assert!(error.contains("the line was cut"), "{error}");
        assert_pinned(&run(dir.path(), &to, &pins, &Libgit).0.unwrap(), &forge);
    }
}

#[test]
fn both_ways_over_http_bring_the_same_trees() {
    const TEST: &str = "both_ways_over_http_bring_the_same_trees";
    let forge = Forge::new();
    let Some(program) = program(TEST) else { return };
    for (number, abilities) in [MODERN, Abilities { any_id: true, ..OLD }, OLD]
        .into_iter()
        .enumerate()
    {
        let Some(server) = Http::serve(forge.path(), abilities) else {
            return;
        };
        for fetcher in [&program as &dyn Fetcher, &Libgit] {
            let dir = tempfile::tempdir().unwrap();
            let (outcome, told) = run(dir.path(), &server.url, &pins(&forge), fetcher);
            let sources = outcome.unwrap_or_else(|error| panic!("server {number}: {error:#}"));
            assert_pinned(&sources, &forge);
            let described = sources.root.join("esp-idf/version.txt");
            if fetcher.has_bare_history(&Address::parse(&server.url).unwrap()) {
                let text = fs::read_to_string(described).unwrap();
                assert_eq!(text, format!("v5.1.3-2-g{}\n", &forge.idf.to_string()[..10]));
            } else {
                assert!(!described.exists());
                assert!(told.contains("the history that tells its version"), "{told}");
            }
            drop(sources);
            let served = server.served();
            assert_pinned(
                &run(dir.path(), &server.url, &pins(&forge), fetcher).0.unwrap(),
                &forge,
            );
            assert_eq!(server.served(), served, "a second run asks for nothing");
        }
    }
}

/// What a modern server is asked for: the pinned commits alone, and history without content.
#[test]
fn nothing_but_pinned_content_is_fetched_from_a_modern_server() {
    const TEST: &str = "nothing_but_pinned_content_is_fetched_from_a_modern_server";
    let (forge, dir) = (Forge::new(), tempfile::tempdir().unwrap());
    let Some(program) = program(TEST) else { return };
    let Some(server) = Http::serve(forge.path(), MODERN) else {
        return;
    };
    run(dir.path(), &server.url, &pins(&forge), &program).0.unwrap();
    let kinds = |mirror: &str| {
        let repo = Repository::open(dir.path().join("mirrors").join(mirror)).unwrap();
        let (odb, mut commits, mut blobs) = (repo.odb().unwrap(), 0, 0);
        odb.foreach(|id| {
            match odb.read_header(*id).unwrap().1 {
                git2::ObjectType::Commit => commits += 1,
                git2::ObjectType::Blob => blobs += 1,
                _ => {}
            }
            true
        })
        .unwrap();
        (commits, blobs)
    };
    assert_eq!(kinds("lib-builder.git").0, 1);
    assert_eq!(kinds("esp-idf.git"), (1, 3));
    assert_eq!(kinds("esp-idf.history.git"), (4, 0));
    let config = fs::read_to_string(dir.path().join("mirrors/esp-idf.history.git/config")).unwrap();
    assert!(
        !config.contains(&server.url),
        "an address may hold a password: {config}"
    );
}

#[test]
fn short_ids_deep_in_a_branch_are_found_and_tags_come_along() {
    const TEST: &str = "short_ids_deep_in_a_branch_are_found_and_tags_come_along";
    let forge = Forge::new();
    let tinyusb = forge.repo("hathach/tinyusb");
    for number in 0..150 {
        commit(
            &tinyusb,
            "master",
            &[("n", Node::File(format!("{number}").as_bytes()))],
        );
    }
    let Some(program) = program(TEST) else { return };
    let mut pins = pins(&forge);
    pins.sources[1].refs = vec!["v5.1.3".into(), "other-name".into()];
    pins.sources[1].commit = forge.idf_tagged.to_string()[..9].into();
    for abilities in [MODERN, OLD] {
        let Some(server) = Http::serve(forge.path(), abilities) else {
            return;
        };
        for fetcher in [&program as &dyn Fetcher, &Libgit] {
            let dir = tempfile::tempdir().unwrap();
            let watched = Watched::new(fetcher, 0);
            let sources = run(dir.path(), &server.url, &pins, &watched).0.unwrap();
            assert_eq!(sources.trees[3].commit, forge.tinyusb.to_string());
            let idf = Repository::open(sources.root.join("esp-idf")).unwrap();
            let described = idf
                .describe(git2::DescribeOptions::new().pattern("v*.*"))
                .unwrap();
            assert_eq!(
                described.format(None).unwrap(),
                "v5.1.3",
                "the annotated tag itself is there"
            );
            assert!(idf.find_reference("refs/tags/other-name").is_ok());
        }
    }
}

#[test]
fn an_id_that_a_server_does_not_have_is_an_error_of_both_ways() {
    const TEST: &str = "an_id_that_a_server_does_not_have_is_an_error_of_both_ways";
    let forge = Forge::new();
    let (first, second) = twins(&forge.repo("hathach/tinyusb"));
    let Some(program) = program(TEST) else { return };
    let ways: [(Abilities, &dyn Fetcher); 3] = [(MODERN, &program), (OLD, &program), (OLD, &Libgit)];
    for (abilities, fetcher) in ways {
        let Some(server) = Http::serve(forge.path(), abilities) else {
            return;
        };
        {
            let error = |commit: String| {
                let mut pins = pins(&forge);
                pins.sources[3].commit = commit;
                let dir = tempfile::tempdir().unwrap();
                format!(
                    "{:#}",
                    run(dir.path(), &server.url, &pins, fetcher).0.unwrap_err()
                )
            };
            let missing = "0123456789abcdef0123456789abcdef01234567";
            assert!(error(missing.into()).contains(missing));
            let short = error(missing[..10].into());
            assert!(
                short.contains("all of every branch and tag") && short.contains("tried"),
                "{short}"
            );
            let both = error(first.to_string()[..4].into());
            assert!(
                both.contains(&first.to_string()) && both.contains(&second.to_string()),
                "{both}"
            );
        }
    }
}

#[test]
fn a_pack_cut_in_the_middle_leaves_nothing_that_counts() {
    const TEST: &str = "a_pack_cut_in_the_middle_leaves_nothing_that_counts";
    let forge = Forge::new();
    let idf = forge.repo("espressif/esp-idf");
    let digest = |number: u32| hex(&sha2::Sha256::digest(number.to_le_bytes()));
    let text: String = (0..1_000).map(digest).collect();
    let bulky = commit(&idf, "release/v5.1", &[("idf.txt", Node::File(text.as_bytes()))]);
    let mut pins = pins(&forge);
    pins.sources[1].commit = bulky.to_string();
    let Some(program) = program(TEST) else { return };
    let Some(server) = Http::serve(forge.path(), MODERN) else {
        return;
    };
    for fetcher in [&program as &dyn Fetcher, &Libgit] {
        let dir = tempfile::tempdir().unwrap();
        server.cut(true);
        let outcome = run(dir.path(), &server.url, &pins, fetcher).0;
        assert!(outcome.is_err());
        let mirror = dir.path().join("mirrors/esp-idf.git");
        let repo = Repository::open(&mirror).unwrap();
        assert_eq!(repo.references_glob("refs/pins/*").unwrap().count(), 0);
        server.cut(false);
        let sources = run(dir.path(), &server.url, &pins, fetcher).0.unwrap();
        assert_eq!(
            fs::read_to_string(sources.root.join("esp-idf/idf.txt")).unwrap(),
            text
        );
    }
}

#[test]
fn a_locked_server_never_prompts() {
    const TEST: &str = "a_locked_server_never_prompts";
    let (forge, dir) = (Forge::new(), tempfile::tempdir().unwrap());
    let Some(program) = program(TEST) else { return };
    let locked = Abilities {
        locked: true,
        ..MODERN
    };
    let Some(server) = Http::serve(forge.path(), locked) else {
        return;
    };
    let error = format!(
        "{:#}",
        run(dir.path(), &server.url, &pins(&forge), &program)
            .0
            .unwrap_err()
    );
    assert!(
        error.contains("credential helper") && error.contains("--mirror"),
        "{error}"
    );
    let error = run(dir.path(), &server.url, &pins(&forge), &Libgit)
        .0
        .unwrap_err();
    assert!(format!("{error:#}").contains("auth"), "{error:#}");
}

#[test]
fn progress_of_both_ways_arrives_as_events() {
    const TEST: &str = "progress_of_both_ways_arrives_as_events";
    let (forge, dir) = (Forge::new(), tempfile::tempdir().unwrap());
    let Some(program) = program(TEST) else { return };
    let Some(server) = Http::serve(forge.path(), MODERN) else {
        return;
    };
    let address = |base: &str| Address::parse(&format!("{base}espressif/esp-idf.git")).unwrap();
    let folder = format!("{}/", forge.path().display());
    for (number, (fetcher, from)) in [
        (&program as &dyn Fetcher, address(&server.url)),
        (&Libgit, address(&server.url)),
        (&Libgit, address(&folder)),
    ]
    .into_iter()
    .enumerate()
    {
        let repo = Repository::init_bare(dir.path().join(number.to_string())).unwrap();
        let last = Mutex::new((0, 0));
        let report = |event: Event<'_>| {
            if let Event::Count { done, total, unit } = event {
                assert_eq!(unit, "objects");
                *last.lock().unwrap() = (done, total);
            }
        };
        let want = Want {
            commit: forge.idf,
            tags: &[],
        };
        fetcher.bring(&from, &want, &repo, &report).unwrap();
        let (done, total) = *last.lock().unwrap();
        assert!(done == total && total > 0, "{number}: {done} of {total}");
    }
}

/// What dies in a mirror, or rots there, and is mended by the next run that may fetch.
#[test]
fn a_damaged_mirror_is_noticed_and_mended() {
    let forge = Forge::new();
    let (to, pins) = (forge.path().display().to_string(), pins(&forge));
    type Spoil = fn(&Path);
    let spoils: [(&str, Spoil); 5] = [
        ("packs removed", |mirror| {
            fs::remove_dir_all(mirror.join("objects/pack")).unwrap()
        }),
        ("an index removed", |mirror| {
            for file in files(&mirror.join("objects/pack"), "idx") {
                fs::remove_file(file).unwrap();
            }
        }),
        ("the pin removed", |mirror| {
            fs::remove_dir_all(mirror.join("refs/pins")).unwrap()
        }),
        ("stale locks", |mirror| {
            fs::remove_dir_all(mirror.join("refs/pins")).unwrap();
            for name in ["shallow.lock", "config.lock", "HEAD.lock", "packed-refs.lock"] {
                fs::write(mirror.join(name), "").unwrap();
            }
            fs::write(mirror.join("objects/pack/tmp_pack_x"), "half").unwrap();
            fs::write(mirror.join("objects/pack/pack_git2_x"), "half").unwrap();
        }),
        ("everything removed", |mirror| fs::remove_dir_all(mirror).unwrap()),
    ];
    for (what, spoil) in spoils {
        let dir = tempfile::tempdir().unwrap();
        run(dir.path(), &to, &pins, &Libgit).0.unwrap();
        let mirror = dir.path().join("mirrors/esp-idf.git");
        spoil(&mirror);
        let watched = Watched::new(&Libgit, 0);
        let sources = run(dir.path(), &to, &pins, &watched).0;
        assert_pinned(
            &sources.unwrap_or_else(|error| panic!("{what}: {error:#}")),
            &forge,
        );
        assert!(watched.calls.load(Ordering::SeqCst) > 0, "{what}: not noticed");
        let left: Vec<_> = files(&mirror, "lock");
        assert!(left.is_empty(), "{what}: {left:?}");
        assert!(!mirror.join("objects/pack/tmp_pack_x").exists());
    }
}

fn files(dir: &Path, extension: &str) -> Vec<PathBuf> {
    walkdir::WalkDir::new(dir)
        .into_iter()
        .filter_map(|entry| Some(entry.ok()?.into_path()))
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect()
}

/// A mirror that rotted without losing a name: found while its content is read, and never laid out.
#[test]
fn damaged_content_is_never_trusted() {
    let (forge, dir) = (Forge::new(), tempfile::tempdir().unwrap());
    let repo = forge::bare(dir.path(), "mirror");
    let want = Want {
        commit: forge.tinyusb,
        tags: &[],
    };
    let from = Address::parse(&forge.folder("hathach/tinyusb").display().to_string()).unwrap();
    Libgit.bring(&from, &want, &repo, &|_| {}).unwrap();
    content::verify(&repo, forge.tinyusb).unwrap();
    for pack in files(repo.path(), "pack") {
        let mut bytes = fs::read(&pack).unwrap();
        let middle = bytes.len() - 25;
        bytes[middle] ^= 0x55;
        // libgit2 makes packs read-only.
        fs::remove_file(&pack).unwrap();
        fs::write(&pack, bytes).unwrap();
    }
    let path = repo.path().to_owned();
    // libgit2 shares open packs between handles: the old bytes must be gone.
    drop(repo);
    let repo = Repository::open(path).unwrap();
    assert!(content::is_present(&repo, forge.tinyusb), "names are all there");
    let error = format!("{:#}", content::verify(&repo, forge.tinyusb).unwrap_err());
    assert!(error.contains("missing or damaged"), "{error}");
}

#[test]
fn a_description_is_that_of_git() {
    const TEST: &str = "a_description_is_that_of_git";
    let forge = Forge::new();
    let idf = forge.repo("espressif/esp-idf");
    let mut commits = vec![forge.idf_tagged, forge.idf];
    annotate(
        &idf,
        "v5.2-beta1",
        commit(&idf, "side", &[("side", Node::File(b"1"))]),
    );
    commits.push(commit(&idf, "side", &[("side", Node::File(b"2"))]));
    commits.push(commit(&idf, "untagged", &[("none", Node::File(b"1"))]));
    if program(TEST).is_none() {
        return;
    }
    for id in commits {
        let sh = xshell::Shell::new().unwrap();
        let (folder, id_text) = (idf.path(), id.to_string());
        let git = xshell::cmd!(
            sh,
            "git --git-dir {folder} describe --abbrev=9 --match=v*.* {id_text}"
        );
        let git = git.quiet().ignore_stderr().read().ok();
        assert_eq!(version::describe(&idf, id, Some(9)).unwrap(), git, "{id}");
    }
}
