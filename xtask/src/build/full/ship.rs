//! Turns upstream's output into the tree that is shipped: the files of the official zip, in a place that no build touches.

use std::path::Path;

use anyhow::{Context, Result};
use fs_err as fs;

/// Files of upstream's output that the official zip leaves out (ARDUINO release esp32s3-libs 3.3.x).
const LEFT_OUT: [&str; 2] = ["dependencies.lock", "pioarduino-build.py"];

/// Moves the chip's folder of upstream's output to `staging`, puts `versions.txt` in (build.sh leaves it above the chip's
/// folder), takes out what is not shipped, and gives every file one of two modes.
pub(super) fn stage(output: &Path, versions: &Path, staging: &Path) -> Result<()> {
    remove(staging)?;
    fs::create_dir_all(
        staging
            .parent()
            .context("a staging folder needs a parent")?,
    )?;
    fs::rename(output, staging)?;
    fs::copy(versions, staging.join("versions.txt"))?;
    for name in LEFT_OUT {
        let path = staging.join(name);
        if path.exists() {
            fs::remove_file(path)?;
        }
    }
    modes(staging)
}

/// Puts `staging` in the place of `built`; what stood there goes once the new tree is in place.
pub(super) fn publish(staging: &Path, built: &Path) -> Result<()> {
    let mut old = built.as_os_str().to_owned();
    old.push(".old");
    let old = Path::new(&old);
    remove(old)?;
    if built.exists() {
        fs::rename(built, old)?;
    }
    fs::rename(staging, built)?;
    remove(old)
}

fn remove(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    Ok(())
}

/// As git knows them: 0755 for folders and what its owner may execute, 0644 for the rest, whatever umask built it.
#[cfg(unix)]
fn modes(tree: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    for entry in walkdir::WalkDir::new(tree) {
        let entry = entry.context("reading the output")?;
        let meta = entry.metadata().context("reading the output")?;
        if meta.is_symlink() {
            continue;
        }
        let mode = if meta.is_dir() || meta.permissions().mode() & 0o100 != 0 {
            0o755
        } else {
            0o644
        };
        if meta.permissions().mode() & 0o7777 != mode {
            fs::set_permissions(entry.path(), std::fs::Permissions::from_mode(mode))?;
        }
    }
    Ok(())
}

#[cfg(not(unix))]
fn modes(_tree: &Path) -> Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use walkdir::WalkDir;

    #[test]
    fn the_shipped_tree_has_versions_and_leaves_out_what_the_official_zip_does() {
        let dir = tempfile::tempdir().unwrap();
        let (output, staging, built) = (
            dir.path().join("out/esp32s3"),
            dir.path().join("b/3.part"),
            dir.path().join("b/3"),
        );
        let make = |content: &str| {
            fs::create_dir_all(output.join("bin")).unwrap();
            fs::write(output.join("bin/a.elf"), content).unwrap();
            fs::write(output.join("dependencies.lock"), "").unwrap();
            fs::write(output.join("pioarduino-build.py"), "").unwrap();
            fs::write(dir.path().join("out/versions.txt"), "v").unwrap();
            stage(&output, &dir.path().join("out/versions.txt"), &staging).unwrap();
            publish(&staging, &built).unwrap();
        };
        make("first");
        make("second");
        let names: Vec<String> = WalkDir::new(dir.path().join("b"))
            .sort_by_file_name()
            .into_iter()
            .map(|entry| {
                entry
                    .unwrap()
                    .path()
                    .strip_prefix(dir.path())
                    .unwrap()
                    .display()
                    .to_string()
            })
            .collect();
        assert_eq!(
            names,
            ["b", "b/3", "b/3/bin", "b/3/bin/a.elf", "b/3/versions.txt"]
        );
        assert_eq!(
            fs::read_to_string(built.join("bin/a.elf")).unwrap(),
            "second"
        );
    }

    #[cfg(unix)]
    #[test]
    fn modes_do_not_depend_on_the_umask() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        for (name, mode) in [("a", 0o600), ("b", 0o700), ("c", 0o664)] {
            fs::write(dir.path().join(name), "").unwrap();
            fs::set_permissions(dir.path().join(name), std::fs::Permissions::from_mode(mode))
                .unwrap();
        }
        modes(dir.path()).unwrap();
        let mode = |name: &str| {
            fs::metadata(dir.path().join(name))
                .unwrap()
                .permissions()
                .mode()
                & 0o7777
        };
        assert_eq!([mode("a"), mode("b"), mode("c")], [0o644, 0o755, 0o644]);
    }
}
