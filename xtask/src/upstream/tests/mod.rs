//! Checkouts of a small forge, with the fetcher watched, cut and deceived.

mod faults;
mod http;

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use fs_err as fs;
use git2::Repository;

use self::forge::{Forge, Node, annotate, commit, twins};
use self::server::{Abilities, Http};
use super::address::Address;
use super::fetch::{Advertised, Brought, Fetcher, Fetchers, GitProgram, Libgit, Reach, Want};
use super::*;
use crate::config::Mirror;
use crate::release::{Origin, SourcePin};
use crate::testing::skipped;

#[path = "../../../tests/checkout_forge/mod.rs"]
mod forge;
#[path = "../../../tests/checkout_forge/server.rs"]
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
    let outcome = checkout
        .lib_builder_by(pins, fetcher)
        .and_then(|mut sources| {
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
    let expected =
        [forge.lib_builder, forge.idf, forge.arduino, forge.tinyusb].map(|id| id.to_string());
    assert_eq!(commits, expected.each_ref().map(String::as_str));
    for (path, bytes) in [
        ("text.txt", "pinned\n"),
        ("esp-idf/idf.txt", "pinned\n"),
        (
            "esp-idf/components/lwip/lwip/inner/deep/deep.c",
            "int deep;\n",
        ),
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

fn files(dir: &Path, extension: &str) -> Vec<PathBuf> {
    walkdir::WalkDir::new(dir)
        .into_iter()
        .filter_map(|entry| Some(entry.ok()?.into_path()))
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect()
}
