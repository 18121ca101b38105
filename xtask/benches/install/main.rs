//! Installs a package of upstream's size side by side with `bsdtar -xf` of the same zip, and reverts:
//! `cargo bench -p xtask --bench install`.
//!
//! Both unpack onto the same file system, in turns, and only ours verifies, records the stock libraries, and waits until all
//! is on the disk. `-- --dir DIR` chooses the file system.

#[path = "../tree/mod.rs"]
#[allow(dead_code, reason = "the bench of packing uses the rest")]
mod tree;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use clap::Parser;
use fs_err as fs;
use xshell::{Shell, cmd};
use xtask::build::BuiltLibs;
use xtask::libs::manifest::{BuildRecord, PatchSetRecord};
use xtask::package::{Effort, pack};
use xtask::swap::{
    self, Content, Depth, Disk, InstallOptions, Outcome, Place, RealDisk, RevertOptions,
};

const CORE: &str = "3.3.12";

/// What upstream's build leaves in the tree and the release does not hold.
const NOT_RELEASED: [&str; 2] = ["dependencies.lock", "pioarduino-build.py"];

#[derive(Parser)]
struct Arguments {
    /// Where to unpack [default: the target folder].
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Repeats everything so many times, in turns.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Given by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

/// Times of one thing done again and again, and the CPU seconds of the one that took fewest.
#[derive(Default)]
struct Times(Vec<Duration>, Option<f64>);

impl Times {
    /// Measures on a quiet disk: what was written or removed before is done with.
    fn measure<T>(&mut self, place: &Path, work: impl FnOnce() -> Result<T>) -> Result<T> {
        RealDisk.sync_tree(place)?;
        let (begun, cpu) = (Instant::now(), tree::cpu_seconds());
        let outcome = work()?;
        self.0.push(begun.elapsed());
        let used = tree::cpu_seconds().zip(cpu).map(|(now, then)| now - then);
        self.1 = match (self.1, used) {
            (Some(least), Some(used)) => Some(least.min(used)),
            (least, used) => least.or(used),
        };
        Ok(outcome)
    }

    fn fastest(&self) -> Duration {
        self.0.iter().min().copied().unwrap_or_default()
    }

    fn shown(&self) -> String {
        let mut sorted = self.0.clone();
        sorted.sort();
        let middle = sorted.get(sorted.len() / 2).copied().unwrap_or_default();
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        format!(
            "{:.1}|{:.1}|{:.1}|{}",
            ms(self.fastest()),
            ms(middle),
            ms(sorted.last().copied().unwrap_or_default()),
            self.1.map_or("-".to_owned(), |cpu| format!("{cpu:.2}"))
        )
    }
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    if !arguments.bench {
        eprintln!(
            "SKIPPED install bench: it takes minutes; run it by `cargo bench -p xtask --bench install`"
        );
        return Ok(());
    }
    let parent = arguments
        .dir
        .unwrap_or_else(|| Path::new(env!("CARGO_TARGET_TMPDIR")).to_owned());
    let work = parent.join("install-bench");
    if work.exists() {
        fs::remove_dir_all(&work)?;
    }
    fs::create_dir_all(&work)?;
    let made = work.join("made");
    tree::content::make(&tree::shape::files()?, Default::default(), &made)?;
    let (count, bytes) = tree::content::read_all(&made)?;
    let zip = pack(&built(&made)?, &work.join("dist"), Effort::Fast, &|_| {})?.zip;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let profile = if cfg!(debug_assertions) {
        "dev"
    } else {
        "release"
    };
    println!(
        "{count} files, {:.1} MB, zip of {:.1} MB; {cores} cores, {profile} profile; {}\n",
        bytes as f64 / 1e6,
        fs::metadata(&zip)?.len() as f64 / 1e6,
        work.display()
    );
    measure(&work, &made, &zip, arguments.rounds)?;
    fs::remove_dir_all(&work)?;
    Ok(())
}

fn measure(work: &Path, made: &Path, zip: &Path, rounds: usize) -> Result<()> {
    let place = Place::in_data_dir(
        &work.join("Arduino15"),
        &"esp32s3".parse().map_err(anyhow::Error::msg)?,
        &CORE.parse().map_err(anyhow::Error::msg)?,
    );
    let mut rows: [(&str, Times); 8] = [
        ("bsdtar -xf", Times::default()),
        ("bsdtar -xf, then sync", Times::default()),
        ("first install", Times::default()),
        ("revert", Times::default()),
        ("install again", Times::default()),
        ("revert --discard", Times::default()),
        ("state, names and sizes", Times::default()),
        ("state, every hash", Times::default()),
    ];
    let [bsdtar, synced, first, revert, again, discard, quick, full] = &mut rows;
    let sh = Shell::new()?;
    let has_bsdtar = which::which("bsdtar").is_ok();
    if !has_bsdtar {
        println!("SKIPPED bsdtar: it is not installed");
    }
    for _ in 0..rounds.max(1) {
        let out = work.join("out");
        for (row, sync) in [(&mut *bsdtar, false), (&mut *synced, true)] {
            if !has_bsdtar {
                continue;
            }
            fs::create_dir(&out)?;
            row.1.measure(work, || {
                cmd!(sh, "bsdtar -xf {zip} -C {out}").quiet().run()?;
                if sync {
                    RealDisk.sync_tree(&out)?;
                }
                Ok(())
            })?;
            fs::remove_dir_all(&out)?;
        }
        // As the Boards Manager leaves it: no record of ours stands there yet.
        if place.tools.exists() {
            fs::remove_dir_all(&place.tools)?;
        }
        tree::content::copy(made, &place.active())?;
        for name in NOT_RELEASED {
            let file = place.active().join(name);
            if file.exists() {
                fs::remove_file(file)?;
            }
        }
        let installed = |place: &Place| {
            let options = InstallOptions {
                dry_run: false,
                caches: &Vec::new,
                running: &|| None,
            };
            let done = swap::install(place, zip, &options, &RealDisk, &|_| {})?;
            ensure!(done.outcome == Outcome::Done, "nothing was installed");
            Ok(())
        };
        let reverted = |place: &Place, discard| {
            let options = RevertOptions {
                dry_run: false,
                discard,
                caches: &Vec::new,
                running: &|| None,
            };
            let done = swap::revert(place, &options, &RealDisk, &|_| {})?;
            ensure!(done.outcome == Outcome::Done, "nothing was reverted");
            Ok(())
        };
        first.1.measure(work, || installed(&place))?;
        let state = |depth| swap::state(&place.tools, &place.chip, depth);
        let seen = quick.1.measure(work, || state(Depth::Quick))?;
        ensure!(
            full.1.measure(work, || state(Depth::Full))? == seen,
            "the two looks differ"
        );
        ensure!(
            matches!(seen.cores[0].active, Content::Patched(_)),
            "{seen:?}"
        );
        revert.1.measure(work, || reverted(&place, false))?;
        again.1.measure(work, || installed(&place))?;
        discard.1.measure(work, || reverted(&place, true))?;
    }
    let mut table =
        xtask::ui::table(&["", "ms, fastest", "middle", "slowest", "CPU seconds, least"]);
    for (name, times) in &rows {
        if !times.0.is_empty() {
            let shown = times.shown();
            table.add_row(
                std::iter::once(*name)
                    .chain(shown.split('|'))
                    .collect::<Vec<_>>(),
            );
        }
    }
    println!("{table}\n");
    let [bsdtar, _, first, revert, ..] = &rows;
    if has_bsdtar {
        let share = first.1.fastest().as_secs_f64() / bsdtar.1.fastest().as_secs_f64();
        println!(
            "{} install: {share:.2} of the time of bsdtar (target: 1)",
            verdict(share <= 1.0)
        );
    }
    let limit = Duration::from_millis(50);
    println!("{} revert under 50 ms", verdict(revert.1.fastest() < limit));
    Ok(())
}

fn verdict(met: bool) -> &'static str {
    if met { "met:   " } else { "missed:" }
}

fn built(tree: &Path) -> Result<BuiltLibs> {
    Ok(BuiltLibs {
        tree: tree.to_owned(),
        core: CORE.parse().map_err(anyhow::Error::msg)?,
        chip: "esp32s3".parse().map_err(anyhow::Error::msg)?,
        patch_set: PatchSetRecord {
            name: "xip-ecc".into(),
            suffix: "xip-ecc".into(),
            lines: BTreeMap::new(),
        },
        sources: Vec::new(),
        components: BTreeMap::new(),
        build: BuildRecord::Full {
            engine: "host".into(),
            image: None,
        },
        effective: BTreeMap::new(),
    })
}
