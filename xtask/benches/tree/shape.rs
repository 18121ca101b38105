//! Paths and sizes of the tree.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use fs_err as fs;

use super::content::Random;

/// A path below the tree and the size of the file there.
pub(crate) type File = (String, usize);

/// The shape of a real tree, from the knowledge folder beside the workspace, or one made up to its measures.
pub(crate) fn files() -> Result<Vec<File>> {
    match listing() {
        Some(path) => parse(&path),
        None => {
            println!(
                "SKIPPED upstream's own listing: shared/ is not beside this checkout; sizes are made up"
            );
            Ok(made_up())
        }
    }
}

fn listing() -> Option<PathBuf> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent()?;
    let path = workspace.parent()?.join("shared/upstream/esp32s3-tree.tsv");
    path.is_file().then_some(path)
}

/// Lines of mode, size and path; a size that was not known (`BAD`) leaves the file out.
fn parse(path: &Path) -> Result<Vec<File>> {
    let text = fs::read_to_string(path)?;
    let line = |(number, line): (usize, &str)| {
        let mut fields = line.split('\t').skip(1);
        let (Some(size), Some(name)) = (fields.next(), fields.next()) else {
            anyhow::bail!("{}:{}: not mode, size and path", path.display(), number + 1);
        };
        Ok(size.parse().ok().map(|size| (name.to_owned(), size)))
    };
    let files = text
        .lines()
        .enumerate()
        .filter_map(|l| line(l).transpose())
        .collect::<Result<Vec<_>>>();
    files.with_context(|| format!("reading {}", path.display()))
}

/// As many files of each kind, and as many bytes, as in the real tree; sizes spread evenly on a logarithmic scale.
fn made_up() -> Vec<File> {
    let mut random = Random::of("made-up");
    let mut files = Vec::new();
    let mut add = |count: usize, total: usize, spread: f64, name: &dyn Fn(usize) -> String| {
        let weights: Vec<f64> = (0..count).map(|_| spread.powf(random.unit())).collect();
        let sum: f64 = weights.iter().sum();
        for (index, weight) in weights.iter().enumerate() {
            files.push((name(index), (total as f64 * weight / sum) as usize));
        }
    };
    add(2402, 29_460_000, 300.0, &|n| {
        format!("include/component_{}/include/part_{n}.h", n % 97)
    });
    add(105, 57_000_000, 200.0, &|n| {
        format!("lib/libcomponent_{n}.a")
    });
    add(16, 13_800_000, 30.0, &|n| format!("ld/libspeech_{n}.a"));
    for variant in [
        "dio_opi", "dio_qspi", "opi_opi", "opi_qspi", "qio_opi", "qio_qspi",
    ] {
        add(6, 3_700_000, 25.0, &|n| {
            format!("{variant}/libsystem_{n}.a")
        });
        add(1, 70_000, 1.0, &|_| {
            format!("{variant}/include/sdkconfig.h")
        });
    }
    add(15, 430_000, 20.0, &|n| format!("ld/sections_{n}.ld"));
    add(4, 1_930_000, 1.0, &|n| format!("bin/bootloader_{n}.elf"));
    add(1, 2_470_000, 1.0, &|_| "esp_sr/srmodels.bin".to_owned());
    files
}
