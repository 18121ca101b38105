//! Packs a tree of upstream's shape side by side with bsdtar, zip and 7z: `cargo bench -p xtask --bench package`.
//!
//! `-- --content rust` takes another donor for the archives, `-- --tree DIR` a real tree. All programs run one after
//! the other on a warm cache; `taskset -c 0,1 cargo bench ...` holds all of them to two cores.

#[path = "../tree/mod.rs"]
mod tree;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Parser;
use fs_err as fs;
use tree::{content, shape};
use xshell::{Shell, cmd};
use xtask::build::BuiltLibs;
use xtask::libs::manifest::{BuildRecord, PatchSetRecord};
use xtask::package::{Effort, pack};

const CORE: &str = "3.3.12";

#[derive(Parser)]
struct Arguments {
    /// Where the archives' bytes come from.
    #[arg(long, value_enum, default_value_t)]
    content: content::Donor,
    /// Packs this tree instead.
    #[arg(long)]
    tree: Option<PathBuf>,
    /// Repeats what takes less than 20 s so many times, and shows the fastest.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Runs only these rows of the table, such as `xtask` or `zip -9` (repeatable).
    #[arg(long)]
    only: Vec<String>,
    /// Given by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

/// One line of the table.
struct Row {
    name: &'static str,
    seconds: f64,
    /// Of all threads, where the system tells; what other programs do on the machine changes it little.
    cpu_seconds: Option<f64>,
    bytes: u64,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    if !arguments.bench {
        eprintln!(
            "SKIPPED package bench: it takes minutes; run it by `cargo bench -p xtask --bench package`"
        );
        return Ok(());
    }
    let work = Path::new(env!("CARGO_TARGET_TMPDIR")).join("package-bench");
    fs::create_dir_all(&work)?;
    // The rivals pack a folder of this name, as our zip holds one.
    let tree = work.join(CORE);
    if tree.exists() {
        fs::remove_dir_all(&tree)?;
    }
    match &arguments.tree {
        Some(from) => content::copy(from, &tree)?,
        None => content::make(&shape::files()?, arguments.content, &tree)?,
    }
    let (count, total) = content::read_all(&tree)?;
    println!(
        "{count} files, {:.1} MB{}; {}\n",
        mb(total),
        if arguments.tree.is_some() {
            String::new()
        } else {
            format!(", archives cut from {:?} donors", arguments.content)
        },
        machine()
    );
    let rows = measure(&work, &tree, &arguments)?;
    print_table(&rows, total);
    print_targets(&rows);
    fs::remove_dir_all(&work)?;
    Ok(())
}

fn measure(work: &Path, tree: &Path, arguments: &Arguments) -> Result<Vec<Row>> {
    let rounds = arguments.rounds;
    let wanted =
        |name: &str| arguments.only.is_empty() || arguments.only.iter().any(|only| only == name);
    let mut rows = Vec::new();
    for (name, effort) in [("xtask", Effort::Fast), ("xtask --best", Effort::Best)] {
        if !wanted(name) {
            continue;
        }
        let run = || Ok(pack(&built(tree)?, &work.join("dist"), effort, &|_| {})?.size);
        rows.push(fastest(name, rounds, run)?);
    }
    let sh = Shell::new()?;
    sh.change_dir(work);
    let zip = work.join("rival.zip");
    let rivals: [(&'static str, &[&str]); 5] = [
        ("bsdtar -a", &["bsdtar", "-a", "-cf"]),
        ("zip -6", &["zip", "-q", "-6", "-r"]),
        ("zip -9", &["zip", "-q", "-9", "-r"]),
        ("7z -mx5", &["7z", "a", "-tzip", "-mx5"]),
        ("7z -mx9", &["7z", "a", "-tzip", "-mx9"]),
    ];
    for (name, command) in rivals {
        if !wanted(name) {
            continue;
        }
        let (program, options) = (command[0], &command[1..]);
        if which::which(program).is_err() {
            println!("SKIPPED {name}: {program} is not installed");
            continue;
        }
        let run = || {
            if zip.exists() {
                fs::remove_file(&zip)?;
            }
            cmd!(sh, "{program} {options...} {zip} {CORE}")
                .quiet()
                .ignore_stdout()
                .run()?;
            Ok(fs::metadata(&zip)?.len())
        };
        rows.push(fastest(name, rounds, run)?);
    }
    Ok(rows)
}

fn fastest(name: &'static str, rounds: usize, run: impl Fn() -> Result<u64>) -> Result<Row> {
    let mut best: Option<Row> = None;
    for _ in 0..rounds.max(1) {
        let (begun, cpu) = (Instant::now(), tree::cpu_seconds());
        let bytes = run().with_context(|| format!("running {name}"))?;
        let seconds = begun.elapsed().as_secs_f64();
        if best.as_ref().is_none_or(|best| seconds < best.seconds) {
            best = Some(Row {
                name,
                seconds,
                cpu_seconds: tree::cpu_seconds().zip(cpu).map(|(now, then)| now - then),
                bytes,
            });
        }
        if seconds > 20.0 {
            break;
        }
    }
    best.context("no rounds")
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

fn print_table(rows: &[Row], total: u64) {
    let mut table = xtask::ui::table(&["packing", "seconds", "CPU seconds", "MB", "of the tree"]);
    for row in rows {
        table.add_row([
            row.name.to_owned(),
            format!("{:.2}", row.seconds),
            row.cpu_seconds
                .map_or("-".to_owned(), |cpu| format!("{cpu:.2}")),
            format!("{:.3}", mb(row.bytes)),
            format!("{:.2} %", 100.0 * row.bytes as f64 / total as f64),
        ]);
    }
    println!("{table}\n");
}

/// What the packing is held to.
fn print_targets(rows: &[Row]) {
    let row = |name| rows.iter().find(|row| row.name == name);
    if let (Some(ours), Some(bsdtar)) = (row("xtask"), row("bsdtar -a")) {
        let times = bsdtar.seconds / ours.seconds;
        println!(
            "{} {times:.2} times as fast as bsdtar (target: 3)",
            verdict(times >= 3.0)
        );
    }
    if let (Some(ours), Some(zip)) = (row("xtask"), row("zip -9")) {
        let less = zip.bytes as i64 - ours.bytes as i64;
        println!("{} {less} bytes smaller than zip -9", verdict(less > 0));
    }
    if let (Some(ours), Some(seven)) = (row("xtask --best"), row("7z -mx9")) {
        let less = seven.bytes as i64 - ours.bytes as i64;
        println!(
            "{} --best: {less} bytes smaller than 7z -mx9",
            verdict(less >= 0)
        );
        let share = ours.seconds / seven.seconds;
        println!(
            "{} --best: {share:.2} of the time of 7z -mx9 (target: 0.33)",
            verdict(share <= 1.0 / 3.0)
        );
    }
}

fn verdict(met: bool) -> &'static str {
    if met { "met:   " } else { "missed:" }
}

fn mb(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let model = fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(": ")?.1.to_owned())
    });
    let profile = if cfg!(debug_assertions) {
        "dev"
    } else {
        "release"
    };
    format!(
        "{cores} cores, {}, {profile} profile",
        model.as_deref().unwrap_or(std::env::consts::ARCH)
    )
}
