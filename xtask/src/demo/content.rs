//! The files of `xtask/sample-upstream`, compiled in, so that a binary has the demonstration wherever it is put.

use std::collections::BTreeMap;

use crate::digest::hex;
use anyhow::{Context, Result};
use include_dir::{Dir, include_dir};
use sha2::{Digest, Sha256};

static SAMPLE: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/sample-upstream");

/// Files of one folder: path relative to it with `/` -> content.
pub type Files = BTreeMap<String, Vec<u8>>;

/// The files of `folder`, for example `lib-builder`, which becomes one git repository.
///
/// # Errors
/// There is no such folder.
pub fn files(folder: &str) -> Result<Files> {
    let dir = SAMPLE
        .get_dir(folder)
        .with_context(|| format!("the sample upstream has no folder {folder}"))?;
    let mut files = Files::new();
    collect(dir, &format!("{folder}/"), &mut files);
    Ok(files)
}

fn collect(dir: &Dir<'_>, prefix: &str, into: &mut Files) {
    for file in dir.files() {
        let path = file.path().to_string_lossy().replace('\\', "/");
        let path = path.strip_prefix(prefix).unwrap_or(&path);
        into.insert(path.to_owned(), file.contents().to_vec());
    }
    for below in dir.dirs() {
        collect(below, prefix, into);
    }
}

/// A hash over all files: what was made of another sample is not used again.
pub fn key() -> String {
    let mut all = Files::new();
    collect(&SAMPLE, "", &mut all);
    let mut hash = Sha256::new();
    for (path, content) in &all {
        hash.update(format!("{path} {}\n", content.len()));
        hash.update(content);
    }
    hex(&hash.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_compiled_in_is_what_the_folder_holds() {
        let folder = crate::testing::workspace().join("xtask/sample-upstream");
        let mut all = Files::new();
        collect(&SAMPLE, "", &mut all);
        let on_disk: Files = crate::libs::files::paths(&folder)
            .unwrap()
            .into_iter()
            .map(|(path, file)| (path, fs_err::read(file).unwrap()))
            .collect();
        assert!(
            all == on_disk,
            "rebuild: {:?} files in, {:?} on disk",
            all.len(),
            on_disk.len()
        );
        assert!(on_disk.len() > 80);
    }

    #[test]
    fn the_sample_keeps_what_real_defconfig_files_have() {
        let files = files("lib-builder").unwrap();
        let ends =
            |name: &str, end: &[u8]| files[&format!("configs/defconfig.{name}")].ends_with(end);
        for name in ["opi_ram", "qio_ram", "opi", "qio", "dio", "80m", "120m"] {
            assert!(!ends(name, b"\n"), "{name} has a last newline");
        }
        assert!(ends("esp32c3", b"\r\n") && ends("esp32s3", b"\n"));
        assert!(super::files("no-such-folder").is_err());
    }
}
