//! The whole quick build on a tree of the real size: `cargo bench -p xtask --bench quick`.
//!
//! The bundled upstream is built once, its stock tree is filled up with files of the real tree's names and sizes, and then
//! `build-libs --quick` runs on it as users run it, sources in the cache. The seven sources are the sample's, which are small:
//! the two compile steps say what starting 42 compilers costs, not what the real sources cost. No other tool does this job,
//! so nothing stands beside it but the sample's full build.

#[path = "../tree/mod.rs"]
#[allow(dead_code, reason = "the bench of packing uses the rest")]
mod tree;

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use fs_err as fs;
use tree::{content, shape};
use xshell::{Shell, cmd};

fn main() -> Result<()> {
    if !std::env::args().any(|argument| argument == "--bench") {
        eprintln!("SKIPPED quick bench: run it by `cargo bench -p xtask --bench quick`");
        return Ok(());
    }
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("quick-bench");
    if place.exists() {
        fs::remove_dir_all(&place)?;
    }
    fs::create_dir_all(&place)?;
    let sh = Shell::new()?;
    let tool = env!("CARGO_BIN_EXE_xtask");
    let (demo, filler) = (place.join("demo"), place.join("filler"));

    let begun = Instant::now();
    cmd!(sh, "{tool} demo --dir {demo}")
        .quiet()
        .ignore_stdout()
        .ignore_stderr()
        .run()?;
    println!(
        "the demo, both ways on the sample   {:>6.1} s",
        begun.elapsed().as_secs_f64()
    );

    content::make(&shape::files()?, content::Donor::default(), &filler)?;
    let stock = demo.join("Arduino15/packages/esp32/tools/esp32s3-libs/3.3.12");
    fill_up(&stock, &filler)?;
    let (count, bytes) = content::read_all(&stock)?;
    println!(
        "stock tree: {count} files, {:.1} MB; {} cores",
        bytes as f64 / 1e6,
        cores()
    );

    let (data, work, out) = (demo.join("Arduino15"), demo.join("work"), place.join("out"));
    let mirror = format!("https://github.com/={}/", demo.join("git").display());
    for round in 1..=3 {
        let begun = Instant::now();
        let build = cmd!(
            sh,
            "{tool} build-libs --quick --offline --data-dir {data} --work-dir {work} --out {out} --mirror {mirror}"
        );
        let steps = build.quiet().ignore_stdout().read_stderr()?;
        println!(
            "\nround {round}: {:.1} s in all\n{steps}",
            begun.elapsed().as_secs_f64()
        );
    }
    fs::remove_dir_all(&place)?;
    Ok(())
}

/// Adds the filler below `include/`, where no compiler looks.
fn fill_up(stock: &Path, filler: &Path) -> Result<()> {
    for entry in walkdir::WalkDir::new(filler) {
        let entry = entry?;
        let below = entry.path().strip_prefix(filler)?;
        // Another ending, so that no check asks for real archives.
        let to = stock
            .join("include")
            .join("filler")
            .join(format!("{}.filler", below.display()));
        if entry.file_type().is_file() {
            fs::create_dir_all(to.parent().context("a file has a folder")?)?;
            fs::copy(entry.path(), &to)?;
        }
    }
    Ok(())
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
