//! What is found and not asked for: the stock libraries and the compiler that the Arduino core installed.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use fs_err as fs;
use serde::Deserialize;
use xshell::{Shell, cmd};

use super::stock_zip;
use crate::exit::Refusal;
use crate::libs::{Tree, manifest};
use crate::names::{Chip, CoreVersion};
use crate::progress::{Event, Report};
use crate::workdir::WorkDir;

/// The packager and architecture folder of Espressif's core.
const PACKAGER: &str = "esp32";

/// The stock libraries of a core version.
#[derive(Debug, Clone)]
pub struct Stock {
    /// The tree.
    pub tree: Tree,
    /// Its `versions.txt`.
    pub versions: PathBuf,
}

/// A C compiler for the chip.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiler {
    /// The program.
    pub program: PathBuf,
    /// The folder above the program's `bin/`.
    pub root: PathBuf,
    /// The first line of `--version`.
    pub version: String,
}

/// Finds the stock libraries: `given` (`--stock`, a folder or an official zip), or those of the Arduino data folder `data`,
/// where a tree set aside as `<core>.stock` goes before the one in place.
///
/// # Errors
/// There are none (exit code 2); they are patched; they have no versions.txt.
pub fn stock(
    given: Option<&Path>,
    data: &Path,
    core: &CoreVersion,
    chip: &Chip,
    work: &WorkDir,
    report: Report<'_>,
) -> Result<Stock> {
    let root = match given {
        Some(path) if path.is_dir() => dunce::canonicalize(path)?,
        Some(path) if path.is_file() => stock_zip::unpack(path, work, report)?,
        Some(path) => bail!(Refusal::Usage(format!(
            "--stock {}: there is no such folder or zip",
            path.display()
        ))),
        None => installed(data, core, chip)?,
    };
    let tree = Tree::open(&root)?;
    let made_by_us = root.join(manifest::FILE_NAME);
    if made_by_us.exists() {
        bail!(
            "{} is no stock tree: it holds a {}, so it was built from a patch set already; name the stock libraries by \
             --stock (a folder, or the official {chip}-libs-{core}.zip)",
            root.display(),
            manifest::FILE_NAME
        );
    }
    let versions = root.join("versions.txt");
    if !versions.is_file() {
        bail!(
            "{} has no versions.txt, so the commit of its ESP-IDF is unknown",
            root.display()
        );
    }
    Ok(Stock { tree, versions })
}

fn installed(data: &Path, core: &CoreVersion, chip: &Chip) -> Result<PathBuf> {
    let tool = data
        .join("packages")
        .join(PACKAGER)
        .join("tools")
        .join(chip.tool_name());
    let set_aside = tool.join(format!("{core}.stock"));
    let in_place = tool.join(core.to_string());
    for folder in [&set_aside, &in_place] {
        if folder.is_dir() {
            return Ok(dunce::canonicalize(folder)?);
        }
    }
    bail!(Refusal::Usage(format!(
        "the stock libraries of core {core} are not installed ({} is not there); install the core, or name them by --stock \
         (a folder, or the official {chip}-libs-{core}.zip)",
        in_place.display()
    )))
}

/// Finds the compiler: in `given` (`--compiler-dir`, the tool's folder or its `bin/`), or the tool that the installed core
/// depends on, or else the newest one, which is told.
///
/// # Errors
/// `given` holds none (exit code 2); none is there; the one that the core depends on is not; it does not run.
pub fn compiler(
    given: Option<&Path>,
    data: &Path,
    core: &CoreVersion,
    chip: &Chip,
    report: Report<'_>,
) -> Result<Compiler> {
    let (tool, program) = toolchain(chip);
    let file = format!("{program}{}", std::env::consts::EXE_SUFFIX);
    let root = match given {
        Some(folder) => [folder, folder.parent().unwrap_or(folder)]
            .into_iter()
            .find(|root| root.join("bin").join(&file).is_file())
            .map(Path::to_owned)
            .ok_or_else(|| {
                Refusal::Usage(format!(
                    "--compiler-dir {}: it has no bin/{file}",
                    folder.display()
                ))
            })?,
        None => installed_tool(
            &data.join("packages").join(PACKAGER),
            data,
            core,
            tool,
            report,
        )?,
    };
    let root = dunce::canonicalize(&root)?;
    let program = root.join("bin").join(&file);
    if !program.is_file() {
        bail!(
            "{} is not there; reinstall the core, or name the compiler by --compiler-dir",
            program.display()
        );
    }
    let sh = Shell::new()?;
    let said = cmd!(sh, "{program} --version")
        .quiet()
        .env("LC_ALL", "C")
        .read();
    let said = said.with_context(|| format!("the compiler {} does not run", program.display()))?;
    let version = said.lines().next().unwrap_or_default().trim().to_owned();
    if version.is_empty() {
        bail!("{} --version says nothing", program.display());
    }
    Ok(Compiler {
        program,
        root,
        version,
    })
}

/// The Arduino tool that holds a chip's compiler, and the compiler's name (core platform.txt).
fn toolchain(chip: &Chip) -> (&'static str, String) {
    match chip.as_str() {
        "esp32" | "esp32s2" | "esp32s3" => ("esp-x32", format!("xtensa-{chip}-elf-gcc")),
        _ => ("esp-rv32", "riscv32-esp-elf-gcc".to_owned()),
    }
}

fn installed_tool(
    packages: &Path,
    data: &Path,
    core: &CoreVersion,
    tool: &str,
    report: Report<'_>,
) -> Result<PathBuf> {
    let folder = packages.join("tools").join(tool);
    if let Some(version) = dependency(packages, data, core, tool)? {
        let root = folder.join(&version);
        if !root.is_dir() {
            bail!(
                "core {core} depends on {tool} {version}, but {} is not there; reinstall the core, or name the compiler by \
                 --compiler-dir",
                root.display()
            );
        }
        return Ok(root);
    }
    let mut versions: Vec<String> = Vec::new();
    if folder.is_dir() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                versions.extend(entry.file_name().into_string().ok());
            }
        }
    }
    versions.sort_by_key(|version| (version.parse::<u64>().unwrap_or_default(), version.clone()));
    let Some(newest) = versions.pop() else {
        bail!(
            "no compiler: {} is not there; install core {core}, or name the compiler by --compiler-dir",
            folder.display()
        );
    };
    report(Event::Note(&format!(
        "which {tool} core {core} depends on is not recorded in {}; the newest that is installed is used: {newest}",
        data.display()
    )));
    Ok(folder.join(newest))
}

/// An index of Arduino packages, as far as dependencies go (arduino-cli docs/package_index_json-specification.md).
#[derive(Deserialize)]
struct Index {
    #[serde(default)]
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    #[serde(default)]
    platforms: Vec<Platform>,
}

#[derive(Deserialize)]
struct Platform {
    version: String,
    #[serde(default, rename = "toolsDependencies")]
    tools: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    version: String,
}

/// The version of `tool` that the core depends on: from the installed platform's own record, or else the package index.
fn dependency(
    packages: &Path,
    data: &Path,
    core: &CoreVersion,
    tool: &str,
) -> Result<Option<String>> {
    let record = packages
        .join("hardware")
        .join(PACKAGER)
        .join(core.to_string())
        .join("installed.json");
    for path in [record, data.join("package_esp32_index.json")] {
        if !path.is_file() {
            continue;
        }
        let index: Index = serde_json::from_str(&fs::read_to_string(&path)?)
            .with_context(|| format!("reading {}", path.display()))?;
        let version = index
            .packages
            .into_iter()
            .filter(|package| package.name == PACKAGER)
            .flat_map(|package| package.platforms)
            .filter(|platform| platform.version == core.to_string())
            .flat_map(|platform| platform.tools)
            .find(|dependency| dependency.name == tool)
            .map(|dependency| dependency.version);
        if version.is_some() {
            return Ok(version);
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests;
