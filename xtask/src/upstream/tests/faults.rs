//! What faults in the middle leave behind.

use super::*;

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
fn a_pack_cut_in_the_middle_leaves_nothing_that_counts() {
    const TEST: &str = "a_pack_cut_in_the_middle_leaves_nothing_that_counts";
    let forge = Forge::new();
    let idf = forge.repo("espressif/esp-idf");
    let digest = |number: u32| crate::digest::sha256(&number.to_le_bytes());
    let text: String = (0..1_000).map(digest).collect();
    let bulky = commit(
        &idf,
        "release/v5.1",
        &[("idf.txt", Node::File(text.as_bytes()))],
    );
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
            for name in [
                "shallow.lock",
                "config.lock",
                "HEAD.lock",
                "packed-refs.lock",
            ] {
                fs::write(mirror.join(name), "").unwrap();
            }
            fs::write(mirror.join("objects/pack/tmp_pack_x"), "half").unwrap();
            fs::write(mirror.join("objects/pack/pack_git2_x"), "half").unwrap();
        }),
        ("everything removed", |mirror| {
            fs::remove_dir_all(mirror).unwrap()
        }),
    ];
    let server = Http::serve(forge.path(), MODERN);
    let program = GitProgram::find();
    let mut ways: Vec<(&dyn Fetcher, &str)> = vec![(&Libgit, &to)];
    match (&program, &server) {
        (Some(program), Some(server)) => ways.push((program, &server.url)),
        _ => skipped(
            "a_damaged_mirror_is_noticed_and_mended",
            "there is no git program to fetch with",
        ),
    }
    for (what, spoil) in spoils {
        for &(fetcher, to) in &ways {
            let dir = tempfile::tempdir().unwrap();
            run(dir.path(), to, &pins, fetcher).0.unwrap();
            let mirror = dir.path().join("mirrors/esp-idf.git");
            spoil(&mirror);
            let watched = Watched::new(fetcher, 0);
            let sources = run(dir.path(), to, &pins, &watched).0;
            assert_pinned(
                &sources.unwrap_or_else(|error| panic!("{what}: {error:#}")),
                &forge,
            );
            assert!(
                watched.calls.load(Ordering::SeqCst) > 0,
                "{what}: not noticed"
            );
            let left: Vec<_> = files(&mirror, "lock");
            assert!(left.is_empty(), "{what}: {left:?}");
            assert!(!mirror.join("objects/pack/tmp_pack_x").exists());
        }
    }
}

/// The second commit's pack leaves out what the first one brought: without that, offering the second as had would end in nothing.
#[test]
fn a_commit_that_lost_what_it_shares_with_another_is_fetched_anew() {
    const TEST: &str = "a_commit_that_lost_what_it_shares_with_another_is_fetched_anew";
    let (forge, dir) = (Forge::new(), tempfile::tempdir().unwrap());
    let Some(program) = program(TEST) else { return };
    let Some(server) = Http::serve(forge.path(), MODERN) else {
        return;
    };
    let (second, mut first) = (pins(&forge), pins(&forge));
    first.sources[1].commit = forge.idf_tagged.to_string();
    run(dir.path(), &server.url, &first, &program).0.unwrap();
    let packs = files(&dir.path().join("mirrors/esp-idf.git/objects/pack"), "pack");
    run(dir.path(), &server.url, &second, &program).0.unwrap();
    for pack in packs {
        fs::remove_file(pack.with_extension("idx")).unwrap();
        fs::remove_file(pack).unwrap();
    }
    assert_pinned(
        &run(dir.path(), &server.url, &second, &program).0.unwrap(),
        &forge,
    );
}

/// A server that says that all is sent when only the commit itself is.
struct Hollow;

impl Fetcher for Hollow {
    fn advertised(&self, from: &Address) -> Result<Vec<Advertised>> {
        Libgit.advertised(from)
    }

    fn bring(
        &self,
        from: &Address,
        want: &Want<'_>,
        into: &Repository,
        _: Report<'_>,
    ) -> Result<Brought> {
        let Address::Folder(folder) = from else {
            bail!("only folders")
        };
        let repo = Repository::open(folder)?;
        let object = repo.odb()?.read(want.commit)?.data().to_vec();
        into.odb()?.write(git2::ObjectType::Commit, &object)?;
        Ok(Brought::Commit)
    }

    fn has_bare_history(&self, from: &Address) -> bool {
        Libgit.has_bare_history(from)
    }

    fn history(
        &self,
        from: &Address,
        reach: &Reach,
        content: bool,
        scratch: Repository,
        report: Report<'_>,
    ) -> Result<Repository> {
        Libgit.history(from, reach, content, scratch, report)
    }
}

#[test]
fn a_commit_without_its_content_is_refused_and_not_trusted_later() {
    let (forge, dir) = (Forge::new(), tempfile::tempdir().unwrap());
    let (to, pins) = (forge.path().display().to_string(), pins(&forge));
    for _ in 0..2 {
        let error = format!("{:#}", run(dir.path(), &to, &pins, &Hollow).0.unwrap_err());
        assert!(
            error.contains("not whole") && error.contains("lib-builder.git"),
            "{error}"
        );
    }
    assert_pinned(&run(dir.path(), &to, &pins, &Libgit).0.unwrap(), &forge);
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
    assert!(
        content::is_present(&repo, forge.tinyusb),
        "names are all there"
    );
    let error = format!("{:#}", content::verify(&repo, forge.tinyusb).unwrap_err());
    assert!(error.contains("missing or damaged"), "{error}");
}
