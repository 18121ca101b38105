//! The folder that comes out: an Arduino library for a chip, header and archive alone for the host.
//!
//! The Arduino tools take a precompiled archive from `src/<build.mcu>/lib<name>.a` and add `-l<name>` themselves, as long as
//! `library.properties` says `precompiled=true` (Arduino library specification 1.5).

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use fs_err as fs;

use super::Target;
use super::archive::Reduced;
use crate::exit::Refusal;

/// The library's name, as the IDE shows it; it marks a folder as made here.
const NAME: &str = "FlightLog";
/// The properties file of an Arduino library.
const PROPERTIES: &str = "library.properties";
/// What stands in the host's folder, which no Arduino tool reads.
const HEADER: &str = "flightlog.h";

/// A file of the folder, with its path in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// With `/`.
    pub path: String,
    /// What it holds.
    pub content: Vec<u8>,
}

/// All files of the folder but the archive, in order.
///
/// # Errors
/// A file of the workspace is missing.
pub fn files(target: Target, workspace: &Path) -> Result<Vec<File>> {
    let firmware = workspace.join("firmware");
    let header = fs::read(firmware.join("flightlog-ffi/include").join(HEADER))?;
    let mut files = vec![File {
        path: format!("src/{HEADER}"),
        content: header,
    }];
    if target.mcu().is_some() {
        files.push(File {
            path: PROPERTIES.to_owned(),
            content: properties().into_bytes(),
        });
        let bench = sketch(&firmware, "StallBench")?;
        // Both sketches use the same partitions.
        let tables = bench.iter().filter(|file| file.path.ends_with(".csv"));
        files.extend(tables.map(|file| File {
            path: file.path.replace("StallBench", "FlightLogger"),
            content: file.content.clone(),
        }));
        files.extend(bench);
        files.extend(sketch(&firmware, "FlightLogger")?);
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// Where the archive stands in the folder.
pub fn archive_path(target: Target) -> String {
    format!("src/{}/libflightlog.a", target.mcu().unwrap_or("host"))
}

/// The library in the folder where it is laid out by default, if it holds the archive for boards with the ESP32-S3.
pub fn laid_out(workspace: &Path) -> Option<PathBuf> {
    let folder = default_out(workspace, Target::Esp32s3);
    let archive = folder.join(archive_path(Target::Esp32s3));
    archive.is_file().then_some(folder)
}

/// Where it is laid out unless the user says otherwise.
pub fn default_out(workspace: &Path, target: Target) -> PathBuf {
    let folder = target.mcu().map_or("host", |_| NAME);
    workspace.join("target").join("firmware").join(folder)
}

/// The files of a sketch, as an example of the library.
fn sketch(firmware: &Path, name: &str) -> Result<Vec<File>> {
    let folder = firmware.join(name);
    let mut files = Vec::new();
    for entry in walkdir::WalkDir::new(&folder).sort_by_file_name() {
        let entry = entry?;
        if !entry.file_type().is_file() {
            continue;
        }
        let below = entry.path().strip_prefix(&folder)?;
        let parts: Vec<_> = below.iter().map(|part| part.to_string_lossy()).collect();
        files.push(File {
            path: format!("examples/{name}/{}", parts.join("/")),
            content: fs::read(entry.path())?,
        });
    }
    if files.is_empty() {
        bail!("{} holds no sketch", folder.display());
    }
    Ok(files)
}

fn properties() -> String {
    format!(
        "name={NAME}\nversion={}\nauthor=xip-psram contributors\nmaintainer=xip-psram contributors\n\
         sentence=A flight logger for raw flash partitions, and a bench that shows how flash writes hold up a loop.\n\
         paragraph=Written in Rust, called through C functions. The StallBench example proves whether the program runs from PSRAM.\n\
         category=Data Storage\nurl=\narchitectures=esp32\nincludes={HEADER}\nprecompiled=true\n",
        env!("CARGO_PKG_VERSION")
    )
}

/// Checks that `out` may be written: it is not there, empty, or was made here.
///
/// # Errors
/// [`Refusal::Usage`] where it holds something else.
pub fn check_out(out: &Path) -> Result<()> {
    let mut entries = match fs::read_dir(out) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let made_here = fs::read_to_string(out.join(PROPERTIES))
        .is_ok_and(|text| text.lines().any(|line| line == format!("name={NAME}")))
        || out.join("src").join(HEADER).exists();
    if entries.next().is_some() && !made_here {
        bail!(Refusal::Usage(format!(
            "{} holds something else; name another folder with --out",
            out.display()
        )));
    }
    Ok(())
}

/// Writes the folder, and replaces one that was made here before: until the new one is whole, the old one stays.
///
/// # Errors
/// [`Refusal::Check`] where the archive is not for the chip whose folder it would stand in; a file cannot be written.
pub fn write(
    target: Target,
    files: &[File],
    archive: &Reduced,
    out: &Path,
) -> Result<Vec<PathBuf>> {
    if let Some(wanted) = target.architecture()
        && wanted != archive.architecture
    {
        bail!(Refusal::Check(format!(
            "the archive is for {:?}, and {} takes {wanted:?}",
            archive.architecture,
            archive_path(target)
        )));
    }
    check_out(out)?;
    let parent = out
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    fs::create_dir_all(parent)?;
    let staging = tempfile::Builder::new()
        .prefix(".flightlog-")
        .tempdir_in(parent)
        .with_context(|| format!("making a folder in {}", parent.display()))?;
    let new = staging.path().join("new");
    let mut written = Vec::new();
    let archive = File {
        path: archive_path(target),
        content: archive.bytes.clone(),
    };
    for file in files.iter().chain([&archive]) {
        let place = new.join(&file.path);
        if let Some(folder) = place.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&place, &file.content)?;
        written.push(out.join(&file.path));
    }
    let old = staging.path().join("old");
    let replaced = out.exists();
    if replaced {
        fs::rename(out, &old)?;
    }
    if let Err(error) = fs::rename(&new, out) {
        if replaced {
            fs::rename(&old, out)?;
        }
        return Err(error.into());
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;
    use object::Architecture;

    fn reduced(architecture: Architecture) -> Reduced {
        Reduced {
            bytes: b"archive".to_vec(),
            defines: Vec::new(),
            needs: Vec::new(),
            left_out: 0,
            architecture,
        }
    }

    #[test]
    fn only_a_library_with_the_board_s_archive_counts_as_laid_out() {
        let workspace = tempfile::tempdir().unwrap();
        assert_eq!(laid_out(workspace.path()), None);
        for (target, architecture) in [
            (Target::Riscv32imc, Architecture::Riscv32),
            (Target::Esp32s3, Architecture::Xtensa),
        ] {
            let out = default_out(workspace.path(), target);
            write(target, &[], &reduced(architecture), &out).unwrap();
            let found = laid_out(workspace.path());
            assert_eq!(found, (target == Target::Esp32s3).then(|| out.clone()));
            fs::remove_dir_all(out).unwrap();
        }
    }

    #[test]
    fn an_archive_of_another_chip_never_reaches_a_chip_s_folder() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("FlightLog");
        let error = write(Target::Esp32s3, &[], &reduced(Architecture::Riscv32), &out).unwrap_err();
        assert_eq!(crate::exit::code(&error), 3);
        assert!(
            error
                .to_string()
                .contains("src/esp32s3/libflightlog.a takes Xtensa"),
            "{error}"
        );
        assert!(!out.exists());
    }

    #[test]
    fn a_library_is_replaced_whole_and_nothing_else_is_touched() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("FlightLog");
        let workspace = crate::testing::workspace();
        let files = files(Target::Esp32s3, &workspace).unwrap();
        let archive = reduced(Architecture::Xtensa);
        write(Target::Esp32s3, &files, &archive, &out).unwrap();
        fs::write(out.join("src/stale.txt"), "of an older version").unwrap();
        let written = write(Target::Esp32s3, &files, &archive, &out).unwrap();
        assert!(!out.join("src/stale.txt").exists());
        for name in [
            "library.properties",
            "src/flightlog.h",
            "src/esp32s3/libflightlog.a",
            "examples/StallBench/StallBench.ino",
        ] {
            assert!(
                written.contains(&out.join(name)) && out.join(name).exists(),
                "{name}"
            );
        }
        assert_eq!(
            fs::read_dir(dir.path()).unwrap().count(),
            1,
            "no staging folder stays"
        );

        let other = dir.path().join("other");
        fs::create_dir(&other).unwrap();
        fs::write(other.join("thesis.txt"), "mine").unwrap();
        let error = write(Target::Esp32s3, &files, &archive, &other).unwrap_err();
        assert_eq!(crate::exit::code(&error), 2);
        assert_eq!(
            fs::read_to_string(other.join("thesis.txt")).unwrap(),
            "mine"
        );
    }

    #[test]
    fn the_properties_say_that_the_library_is_precompiled() {
        let text = properties();
        for line in [
            "name=FlightLog",
            "precompiled=true",
            "includes=flightlog.h",
            "architectures=esp32",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}");
        }
        assert!(text.lines().all(|line| line.contains('=')));
    }
}
