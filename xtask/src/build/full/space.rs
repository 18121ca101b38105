//! Is there room for the build? Asked before it starts: a disk that fills up fails another file each time.

use std::io;
use std::path::Path;

use anyhow::{Result, bail};

use super::programs::is_real_idf;

const GB: u64 = 1_000_000_000;

/// Room that a first build of one chip takes below the work folder. An estimate from the parts: toolchains 4 GB (archives
/// and unpacked), python environment 0.5, managed components with their cache 2.5, one build folder at a time 2, ccache and
/// output 3.
const FIRST_BUILD: u64 = 12 * GB;
/// The same where the toolchains are in the cache already.
const NEXT_BUILD: u64 = 7 * GB;
/// A small stand-in for upstream: a few C files, a stand-in for a toolchain.
const SMALL_BUILD: u64 = GB / 5;
/// Room that our image takes in the engine's storage, its layers while they are made included. An estimate.
const IMAGE: u64 = 2 * GB;

/// Checks the work folder and, where an image is still to be made or fetched, the engine's storage.
///
/// `free` gives the bytes that are free where a folder is; a folder that it cannot tell of is not held against the build.
pub(super) fn check(
    work: &Path,
    need: u64,
    storage: Option<&Path>,
    free: impl Fn(&Path) -> io::Result<u64>,
) -> Result<()> {
    let image = storage.map(|folder| (folder, IMAGE));
    for (folder, need) in [(work, need)].into_iter().chain(image) {
        match free(folder) {
            Ok(free) if free < need => bail!(
                "not enough space in {}: {} are free, and about {} are needed; free some, or move {}",
                folder.display(),
                gigabytes(free),
                gigabytes(need),
                if folder == work {
                    "the work folder with --work-dir"
                } else {
                    "the engine's storage"
                }
            ),
            Ok(_) => {}
            Err(error) => tracing::debug!("free space of {}: {error}", folder.display()),
        }
    }
    Ok(())
}

/// Bytes that a build in the work tree `root` needs, with ESP-IDF's tools in `tools`.
pub(super) fn need(root: &Path, tools: &Path) -> u64 {
    match (is_real_idf(root), tools.join("tools").is_dir()) {
        (true, false) => FIRST_BUILD,
        (true, true) => NEXT_BUILD,
        (false, _) => SMALL_BUILD,
    }
}

fn gigabytes(bytes: u64) -> String {
    format!("{:.1} GB", bytes as f64 / GB as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(work_free: u64, storage_free: u64, storage: Option<&Path>) -> Result<()> {
        check(Path::new("/work"), FIRST_BUILD, storage, |folder| {
            Ok(if folder == Path::new("/work") {
                work_free
            } else {
                storage_free
            })
        })
    }

    #[test]
    fn too_little_space_is_told_with_folder_and_figures() {
        let error = verdict(GB, 0, None).unwrap_err().to_string();
        assert!(
            error.contains("/work: 1.0 GB are free, and about 12.0 GB"),
            "{error}"
        );
        assert!(error.contains("--work-dir"), "{error}");
        let error = verdict(FIRST_BUILD, GB, Some(Path::new("/var/engine")))
            .unwrap_err()
            .to_string();
        assert!(error.contains("/var/engine"), "{error}");
        verdict(FIRST_BUILD, IMAGE, Some(Path::new("/var/engine"))).unwrap();
    }

    #[test]
    fn unknown_space_does_not_stop_a_build() {
        check(Path::new("/work"), GB, None, |_| {
            Err(io::ErrorKind::PermissionDenied.into())
        })
        .unwrap();
    }

    #[test]
    fn a_small_upstream_needs_little() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(need(dir.path(), dir.path()), SMALL_BUILD);
        let tools = dir.path().join("esp-idf/tools");
        fs_err::create_dir_all(&tools).unwrap();
        for name in ["idf_tools.py", "tools.json"] {
            fs_err::write(tools.join(name), "").unwrap();
        }
        assert_eq!(need(dir.path(), &dir.path().join("none")), FIRST_BUILD);
        assert_eq!(need(dir.path(), &dir.path().join("esp-idf")), NEXT_BUILD);
    }
}
