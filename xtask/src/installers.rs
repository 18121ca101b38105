//! The scripts for people without Rust, put beside a package and filled in for it.
//!
//! Their sources stand in `installers/` and travel in the binary. Each of the two that do the work has a block, between
//! lines that say `>>> package` and `<<< package`, in which this module sets values; nothing else of them is changed.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::digest;
use crate::package::Package;
use crate::whole_file;

/// A script by the name that it gets, and its source.
struct Script {
    name: &'static str,
    source: &'static str,
    is_program: bool,
}

macro_rules! script {
    ($system:literal, $name:literal, $is_program:literal) => {
        Script {
            name: $name,
            source: include_str!(concat!("../../installers/", $system, "/", $name)),
            is_program: $is_program,
        }
    };
}

const SCRIPTS: [Script; 6] = [
    script!("windows", "install.cmd", false),
    script!("windows", "revert.cmd", false),
    script!("unix", "install.sh", true),
    script!("unix", "revert.sh", true),
    script!("unix", "install.command", true),
    script!("unix", "revert.command", true),
];

/// Lines with these words begin and end the block of values.
const BEGIN: &str = ">>> package";
const END: &str = "<<< package";

/// Writes the scripts beside the package's zip, filled in for this very package; those of another package are replaced.
///
/// # Errors
/// The folder cannot be written to.
pub fn place(package: &Package) -> Result<Vec<PathBuf>> {
    let folder = package.zip.parent().context("the zip is in no folder")?;
    let values = values(package)?;
    let mut paths = Vec::new();
    for script in &SCRIPTS {
        let path = folder.join(script.name);
        let text =
            fill(script.source, &values).with_context(|| format!("filling in {}", script.name))?;
        whole_file::replace(&path, text.as_bytes())?;
        if script.is_program {
            let_run(&path)?;
        }
        paths.push(path);
    }
    Ok(paths)
}

/// Whoever may read the file may run it.
#[cfg(unix)]
fn let_run(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mut permissions = fs_err::metadata(path)?.permissions();
    permissions.set_mode(permissions.mode() | (permissions.mode() & 0o444) >> 2);
    fs_err::set_permissions(path, permissions)?;
    Ok(())
}

/// Windows goes by the name.
#[cfg(not(unix))]
fn let_run(_: &Path) -> Result<()> {
    Ok(())
}

type Values = [(&'static str, String); 7];

/// What the scripts have to know of a package.
fn values(package: &Package) -> Result<Values> {
    let manifest = &package.manifest;
    // Octal PSRAM is what the IDE's menu calls OPI; with any other choice these libraries are built as stock ones are.
    let runs_from_octal_psram = manifest.effective.iter().any(|(variant, symbols)| {
        variant.ends_with("_opi")
            && symbols
                .get("CONFIG_SPIRAM_XIP_FROM_PSRAM")
                .is_some_and(|value| value == "y")
    });
    let psram = if runs_from_octal_psram {
        "OPI PSRAM"
    } else {
        ""
    };
    Ok([
        ("CHIP", manifest.chip.to_string()),
        ("CORE", manifest.core.to_string()),
        ("SUFFIX", manifest.patch_set.suffix.clone()),
        ("ZIP_SHA256", package.sha256.clone()),
        (
            "MANIFEST_SHA256",
            digest::sha256(manifest.to_json()?.as_bytes()),
        ),
        ("FILES", (manifest.files.len() + 1).to_string()),
        ("PSRAM", psram.to_owned()),
    ])
}

/// Sets the values of the block in a script; one without a block is taken as it is.
fn fill(source: &str, values: &Values) -> Result<String> {
    let mut text = String::new();
    let mut in_block = false;
    for line in source.split_inclusive('\n') {
        in_block = (in_block || line.contains(BEGIN)) && !line.contains(END);
        let end = &line[line.trim_end().len()..];
        match in_block.then(|| assignment(line.trim_end())).flatten() {
            Some((before, name, quote)) => {
                let value = values.iter().find(|(known, _)| *known == name);
                let (_, value) = value.with_context(|| format!("no value is called {name}"))?;
                // What a shell would take for more than text has no place in any of the values.
                ensure!(
                    value
                        .chars()
                        .all(|c| c.is_ascii_alphanumeric() || " .-+_".contains(c)),
                    "`{value}` cannot be the {name} of a package"
                );
                text += &format!("{before}{value}{quote}{end}");
            }
            None => text += line,
        }
    }
    Ok(text)
}

/// Splits `NAME='old'` and `set "NAME=old"` into what stands before the value, the name, and the last quote.
fn assignment(line: &str) -> Option<(&str, &str, char)> {
    let (quote, name) = match line.strip_prefix("set \"") {
        Some(rest) => ('"', rest.split_once('=')?.0),
        None => ('\'', line.split_once("='")?.0),
    };
    let before = line.find('=')? + if quote == '"' { 1 } else { 2 };
    Some((&line[..before], name, quote))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::libs::manifest::{BuildRecord, Manifest, PatchSetRecord, SCHEMA};
    use crate::testing;
    use fs_err as fs;

    fn package(zip: PathBuf, suffix: &str) -> Package {
        let on = [("CONFIG_SPIRAM_XIP_FROM_PSRAM".to_owned(), "y".to_owned())];
        Package {
            zip,
            sha256: "ab12".into(),
            size: 1,
            manifest: Manifest {
                schema: SCHEMA,
                core: "3.3.6-RC1".parse().unwrap(),
                chip: "esp32s3".parse().unwrap(),
                patch_set: PatchSetRecord {
                    name: suffix.into(),
                    suffix: suffix.into(),
                    lines: [].into(),
                },
                sources: Vec::new(),
                components: [].into(),
                build: BuildRecord::Full {
                    engine: "host".into(),
                    image: None,
                },
                effective: [("qio_opi".to_owned(), on.into())].into(),
                files: Vec::new(),
            },
        }
    }

    #[test]
    fn every_script_of_the_folder_is_placed_and_only_its_values_differ() {
        let dir = tempfile::tempdir().unwrap();
        let placed = place(&package(dir.path().join("a.zip"), "my-set")).unwrap();
        let sources = testing::workspace().join("installers");
        let mut of_folder: Vec<PathBuf> = ["windows", "unix"]
            .iter()
            .flat_map(|system| fs::read_dir(sources.join(system)).unwrap())
            .map(|entry| entry.unwrap().path())
            .collect();
        of_folder.sort_by_key(|path| path.file_name().unwrap().to_owned());
        let mut sorted = placed.clone();
        sorted.sort();
        let name = |path: &PathBuf| path.file_name().unwrap().to_owned();
        assert_eq!(
            sorted.iter().map(name).collect::<Vec<_>>(),
            of_folder.iter().map(name).collect::<Vec<_>>()
        );
        for (source, placed) in of_folder.iter().zip(&sorted) {
            let (before, after) = (
                fs::read_to_string(source).unwrap(),
                fs::read_to_string(placed).unwrap(),
            );
            assert_eq!(before.lines().count(), after.lines().count());
            for (before, after) in before.split('\n').zip(after.split('\n')) {
                if before != after {
                    let (kept, ..) = assignment(before.trim_end()).unwrap();
                    assert!(after.starts_with(kept), "{before} {after}");
                    assert_eq!(before.ends_with('\r'), after.ends_with('\r'));
                }
            }
        }
    }

    #[test]
    fn the_values_are_the_packages() {
        let dir = tempfile::tempdir().unwrap();
        place(&package(dir.path().join("a.zip"), "my-set")).unwrap();
        for (file, lines) in [
            (
                "install.sh",
                [
                    "CORE='3.3.6-RC1'\n",
                    "SUFFIX='my-set'\n",
                    "ZIP_SHA256='ab12'\n",
                    "PSRAM='OPI PSRAM'\n",
                ],
            ),
            (
                "install.cmd",
                [
                    "set \"CORE=3.3.6-RC1\"\r\n",
                    "set \"SUFFIX=my-set\"\r\n",
                    "set \"ZIP_SHA256=ab12\"\r\n",
                    "set \"FILES=1\"\r\n",
                ],
            ),
        ] {
            let text = fs::read_to_string(dir.path().join(file)).unwrap();
            for line in lines {
                assert!(text.contains(line), "{file} lacks {line:?}");
            }
            #[cfg(unix)]
            if file == "install.sh" {
                use std::os::unix::fs::PermissionsExt;
                let mode = fs::metadata(dir.path().join(file))
                    .unwrap()
                    .permissions()
                    .mode();
                assert_eq!(mode & 0o111, (mode & 0o444) >> 2);
            }
        }
        let mut stock_psram = package(dir.path().join("a.zip"), "other");
        stock_psram.manifest.effective.clear();
        place(&stock_psram).unwrap();
        let text = fs::read_to_string(dir.path().join("install.sh")).unwrap();
        assert!(text.contains("SUFFIX='other'\n") && text.contains("PSRAM=''\n"));
    }

    #[test]
    fn what_a_shell_would_run_is_no_value() {
        let dir = tempfile::tempdir().unwrap();
        for suffix in ["a'b", "a\"b", "%PATH%", "a&b", "$(b)", "a\nb"] {
            let error = format!(
                "{:#}",
                place(&package(dir.path().join("a.zip"), suffix)).unwrap_err()
            );
            assert!(error.contains("SUFFIX"), "{error}");
        }
    }

    /// cmd.exe reads its own code page, and jumps astray in files with LF alone.
    #[test]
    fn windows_scripts_are_ascii_with_crlf() {
        for script in SCRIPTS
            .iter()
            .filter(|script| script.name.ends_with(".cmd"))
        {
            assert!(script.source.is_ascii(), "{}", script.name);
            for line in script.source.split_inclusive('\n') {
                assert!(line.ends_with("\r\n"), "{}: {line:?}", script.name);
            }
        }
        for script in SCRIPTS
            .iter()
            .filter(|script| !script.name.ends_with(".cmd"))
        {
            assert!(
                script.is_program && !script.source.contains('\r'),
                "{}",
                script.name
            );
        }
    }
}
