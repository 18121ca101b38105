//! The bundled sample of upstream, built both ways: the quick build must give what the full one gives.

#![allow(clippy::unwrap_used, reason = "a test program: a panic is its verdict")]

#[path = "../src/testing.rs"]
mod testing;

use xtask::build::quick::{self, QuickPlan, inputs, trees};
use xtask::config::Mirror;
use xtask::demo::{self, Options};
use xtask::engine::{Choice, DEFAULT_BASE, Image};
use xtask::libs::manifest::BuildRecord;
use xtask::patchset;
use xtask::progress::Event;
use xtask::release::{self, Request};
use xtask::upstream::Mirrors;
use xtask::workdir::WorkDir;

#[test]
fn both_ways_give_the_same_libraries() {
    const TEST: &str = "both_ways_give_the_same_libraries";
    if !cfg!(target_os = "linux")
        || ["sh", "cc", "ar"]
            .iter()
            .any(|program| which::which(program).is_err())
    {
        return testing::skipped(TEST, "no Linux with sh, cc and ar");
    }
    let dir = tempfile::Builder::new()
        .prefix("both ways é ")
        .tempdir()
        .unwrap();
    let (core, chip) = ("3.3.12".parse().unwrap(), "esp32s3".parse().unwrap());
    let full = demo::play(
        &Options {
            dir: dir.path().join("demo"),
            core: "3.3.12".parse().unwrap(),
            chip: "esp32s3".parse().unwrap(),
            engine: Choice::Host,
            image: Image::Ours {
                base: DEFAULT_BASE.into(),
            },
        },
        &|_| {},
    )
    .unwrap();

    let report = |event: Event<'_>| {
        if let Event::Step(text) | Event::Note(text) | Event::Warning(text) = event {
            eprintln!("{text}");
        }
    };
    let work = WorkDir::open(&dir.path().join("work")).unwrap();
    let stock = inputs::stock(None, &full.data_dir, &core, &chip, &work, &report).unwrap();
    assert_eq!(stock.tree.root(), dunce::canonicalize(&full.stock).unwrap());
    let compiler = inputs::compiler(None, &full.data_dir, &core, &chip, &report).unwrap();
    let request = Request {
        core: &core,
        chip: &chip,
        versions: Some(&stock.versions),
        data_dir: None,
        index: None,
        offline: true,
        downloads: dir.path(),
    };
    let built = quick::build(&QuickPlan {
        work: &work,
        lock: &quick::lock(&work, &report).unwrap(),
        core: &core,
        chip: &chip,
        set: &patchset::find("xip-ecc").unwrap(),
        stock: &stock,
        compiler: &compiler,
        pins: &release::resolve(&request, &report).unwrap(),
        mirrors: &Mirrors::new(vec![Mirror {
            from: demo::SERVER.into(),
            to: format!("{}/", full.git.display()),
        }]),
        offline: false,
        accept_unproven: false,
        report: &report,
    })
    .unwrap();

    let BuildRecord::Quick {
        proven, members, ..
    } = &built.build
    else {
        panic!("{:?}", built.build)
    };
    assert!(*proven && !members.is_empty());
    let comparison = trees::compare(full.outcome.tree.as_deref().unwrap(), &built.tree).unwrap();
    let differ: Vec<_> = comparison
        .folders
        .values()
        .flat_map(|folder| &folder.members)
        .collect();
    eprintln!("{:?} {:?}", comparison.only_left, comparison.only_right);
    assert!(differ.is_empty(), "{differ:#?}");
    let octal = &comparison.folders["qio_opi"];
    assert!(
        octal.differ.is_empty() && octal.same_code.len() + octal.same_bytes > 3,
        "{octal:?}"
    );
    let package = full.outcome.package.unwrap();
    assert_eq!(package.manifest.effective, built.effective);
}
