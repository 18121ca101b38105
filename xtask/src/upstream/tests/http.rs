//! Both ways of fetching, against real http servers.

use super::*;

#[test]
fn both_ways_over_http_bring_the_same_trees() {
    const TEST: &str = "both_ways_over_http_bring_the_same_trees";
    let forge = Forge::new();
    let Some(program) = program(TEST) else { return };
    for (number, abilities) in [
        MODERN,
        Abilities {
            any_id: true,
            ..OLD
        },
        OLD,
    ]
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
                assert_eq!(
                    text,
                    format!("v5.1.3-2-g{}\n", &forge.idf.to_string()[..10])
                );
            } else {
                assert!(!described.exists());
                assert!(
                    told.contains("the history that tells its version"),
                    "{told}"
                );
            }
            drop(sources);
            let served = server.served();
            assert_pinned(
                &run(dir.path(), &server.url, &pins(&forge), fetcher)
                    .0
                    .unwrap(),
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
    run(dir.path(), &server.url, &pins(&forge), &program)
        .0
        .unwrap();
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
    let ways: [(Abilities, &dyn Fetcher); 3] =
        [(MODERN, &program), (OLD, &program), (OLD, &Libgit)];
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

#[test]
fn a_mirror_filled_by_one_way_serves_the_other() {
    const TEST: &str = "a_mirror_filled_by_one_way_serves_the_other";
    let forge = Forge::new();
    let Some(program) = program(TEST) else { return };
    let Some(server) = Http::serve(forge.path(), MODERN) else {
        return;
    };
    let folder = forge.path().display().to_string();
    let (later, mut earlier) = (pins(&forge), pins(&forge));
    earlier.sources[1].commit = forge.idf_tagged.to_string();
    let ways: [(&dyn Fetcher, &str); 3] = [
        (&Libgit, &folder),
        (&program, &server.url),
        (&Libgit, &server.url),
    ];
    for (first, from) in ways {
        for (second, then_from) in ways {
            let dir = tempfile::tempdir().unwrap();
            run(dir.path(), from, &later, first).0.unwrap();
            run(dir.path(), then_from, &earlier, second).0.unwrap();
            let (sh, mirror) = (
                xshell::Shell::new().unwrap(),
                dir.path().join("mirrors/esp-idf.git"),
            );
            let checked = xshell::cmd!(
                sh,
                "git --git-dir {mirror} fsck --no-dangling --no-progress"
            );
            assert_eq!(checked.quiet().read().unwrap(), "");
        }
    }
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
