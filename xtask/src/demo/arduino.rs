//! An Arduino data folder as it is after the core was installed: stock libraries, compilers, package index, the zip that
//! the libraries came in.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use fs_err as fs;
use serde_json::json;
use walkdir::WalkDir;
use zip::write::SimpleFileOptions;

use super::content;
use crate::digest::sha256;
use crate::libs::files;
use crate::names::{Chip, CoreVersion};

/// The compiler tools that core 3.3.12 depends on, and what they hold (package index of the core).
const COMPILERS: [(&str, &str); 2] = [
    ("esp-x32", "xtensa-esp32s3-elf"),
    ("esp-rv32", "riscv32-esp-elf"),
];
const COMPILER_VERSION: &str = "2601";

/// Files that a build leaves in the chip's folder and that a release does not hold (arduino-esp32 `.github/scripts/on-release.sh`).
const NOT_RELEASED: [&str; 2] = ["dependencies.lock", "pioarduino-build.py"];

/// What an installation is made from.
pub struct Release<'a> {
    /// The chip's folder in upstream's output.
    pub libraries: &'a Path,
    /// The `versions.txt` that upstream's build wrote above it.
    pub versions: &'a Path,
    /// The folder below which upstream's tools were installed.
    pub tools: &'a Path,
    /// The core version.
    pub core: &'a CoreVersion,
    /// The chip.
    pub chip: &'a Chip,
}

/// Where the stock libraries stand below the data folder `data`.
pub fn stock_folder(data: &Path, core: &CoreVersion, chip: &Chip) -> PathBuf {
    packages(data)
        .join("tools")
        .join(chip.tool_name())
        .join(core.to_string())
}

fn packages(data: &Path) -> PathBuf {
    data.join("packages").join("esp32")
}

/// Makes the data folder `data`.
///
/// # Errors
/// Upstream's tools lack the compilers; what the disk refuses.
pub fn install(data: &Path, release: &Release<'_>) -> Result<()> {
    let stock = stock_folder(data, release.core, release.chip);
    copy_tree(release.libraries, &stock)?;
    for name in NOT_RELEASED {
        let file = stock.join(name);
        if file.exists() {
            fs::remove_file(file)?;
        }
    }
    fs::copy(release.versions, stock.join("versions.txt"))?;
    for (tool, prefix) in COMPILERS {
        install_compiler(data, release.tools, tool, prefix)?;
    }
    let name = format!("{}-{}.zip", release.chip.tool_name(), release.core);
    let staging = data.join("staging").join("packages");
    fs::create_dir_all(&staging)?;
    let zip = official_zip(&stock, &release.chip.tool_name())?;
    fs::write(staging.join(&name), &zip)?;
    write_index(data, release, &name, &zip)
}

fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    for (path, file) in files::paths(from)? {
        let target = to.join(path);
        fs::create_dir_all(target.parent().context("a file has a folder")?)?;
        fs::copy(file, target)?;
    }
    Ok(())
}

/// Copies the stand-ins for compiler and archiver, wherever upstream's installer put them below `tools`.
fn install_compiler(data: &Path, tools: &Path, tool: &str, prefix: &str) -> Result<()> {
    let bin = packages(data)
        .join("tools")
        .join(tool)
        .join(COMPILER_VERSION)
        .join("bin");
    fs::create_dir_all(&bin)?;
    for program in ["gcc", "ar"] {
        let name = format!("{prefix}-{program}");
        let found = WalkDir::new(tools)
            .into_iter()
            .filter_map(Result::ok)
            .find(|entry| {
                entry.file_type().is_file() && entry.file_name().to_string_lossy() == name
            });
        let Some(found) = found else {
            bail!(
                "upstream's installer left no {name} below {}",
                tools.display()
            );
        };
        fs::copy(found.path(), bin.join(name))?;
    }
    Ok(())
}

/// The zip as a release publishes it: one folder `<chip>-libs/`.
fn official_zip(stock: &Path, root: &str) -> Result<Vec<u8>> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default();
    for (path, file) in files::paths(stock)? {
        zip.start_file(format!("{root}/{path}"), options)?;
        zip.write_all(&fs::read(file)?)?;
    }
    Ok(zip.finish()?.into_inner())
}

/// The package index, and the extract of it that stands with the installed core.
fn write_index(data: &Path, release: &Release<'_>, name: &str, zip: &[u8]) -> Result<()> {
    let (core, tool) = (release.core.to_string(), release.chip.tool_name());
    let hash = sha256(zip);
    let depends =
        |name: &str, version: &str| json!({"packager": "esp32", "name": name, "version": version});
    let mut dependencies = vec![depends(&tool, &core)];
    let mut tools = vec![json!({"name": tool, "version": core, "systems": [{
        "host": "all",
        "url": format!("https://github.com/espressif/esp32-arduino-lib-builder/releases/download/{core}/{name}"),
        "archiveFileName": name,
        "checksum": format!("SHA-256:{hash}"),
        "size": zip.len().to_string(),
    }]})];
    for (tool, _) in COMPILERS {
        dependencies.push(depends(tool, COMPILER_VERSION));
        tools.push(json!({"name": tool, "version": COMPILER_VERSION, "systems": []}));
    }
    let index = json!({"packages": [{
        "name": "esp32",
        "maintainer": "sample upstream",
        "platforms": [{"name": "esp32", "architecture": "esp32", "version": core, "toolsDependencies": dependencies}],
        "tools": tools,
    }]});
    let text = serde_json::to_string_pretty(&index)?;
    fs::write(data.join("package_esp32_index.json"), &text)?;
    let platform = packages(data).join("hardware").join("esp32").join(&core);
    fs::create_dir_all(&platform)?;
    fs::write(platform.join("installed.json"), &text)?;
    for (path, content) in content::files("arduino-esp32")? {
        if path == "platform.txt" || path == "boards.txt" {
            fs::write(platform.join(path), content)?;
        }
    }
    Ok(())
}
