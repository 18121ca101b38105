//! The ESP32 cores that a data folder holds, and where each keeps its libraries.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use fs_err as fs;
use serde::{Deserialize, Serialize};

use crate::exit::Refusal;
use crate::names::{CHIPS, Chip, CoreVersion};

/// The package of Espressif's core, and the architecture within it.
const PACKAGE: &str = "esp32";
/// The tool that holds the libraries of all chips in cores 3.0 to 3.3.5 (ARDUINO-FACTS C1).
pub const SHARED_TOOL: &str = "esp32-arduino-libs";

/// An installed version of the core.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Core {
    /// Its version.
    pub version: CoreVersion,
    /// Its folder, with boards.txt and platform.txt.
    pub platform: PathBuf,
    /// Where its libraries are.
    pub layout: Layout,
}

/// Where a core keeps its libraries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Layout {
    /// From 3.3.6: a tool for each chip, `tools/esp32s3-libs/<version>`.
    PerChip {
        /// Chip -> version of its tool, which is the core's own.
        tools: BTreeMap<String, String>,
    },
    /// 3.0 to 3.3.5: one tool for all chips, `tools/esp32-arduino-libs/<version>/esp32s3`.
    Shared {
        /// Version of the tool, where it is known.
        version: Option<String>,
    },
    /// 1.0 and 2.0: in the core itself, `tools/sdk/esp32s3`.
    InCore,
    /// None that is known.
    Unknown {
        /// What was looked for and not found.
        why: String,
    },
}

/// The folder of a data folder that holds Espressif's package.
pub fn package_dir(data: &Path) -> PathBuf {
    data.join("packages").join(PACKAGE)
}

/// The folder that holds the package's tools.
pub fn tools_dir(data: &Path) -> PathBuf {
    package_dir(data).join("tools")
}

/// The versions installed in `data`, newest first; folders whose name is no version are none.
///
/// # Errors
/// A folder that cannot be read.
pub fn installed(data: &Path) -> Result<Vec<Core>> {
    let versions = package_dir(data).join("hardware").join(PACKAGE);
    if !versions.is_dir() {
        return Ok(Vec::new());
    }
    let mut cores = Vec::new();
    for entry in fs::read_dir(&versions)? {
        let entry = entry?;
        let Some(version) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        if entry.path().is_dir() {
            cores.push(look(data, version, entry.path())?);
        }
    }
    cores.sort_by(|a, b| b.version.semver().cmp(a.version.semver()));
    Ok(cores)
}

/// The core `version` in `data`.
///
/// # Errors
/// [`Refusal::Usage`] where it is not installed: names what is, and what to do.
pub fn find(data: &Path, version: &CoreVersion) -> Result<Core> {
    let cores = installed(data)?;
    let known: Vec<String> = cores.iter().map(|core| core.version.to_string()).collect();
    match cores.into_iter().find(|core| core.version == *version) {
        Some(core) => Ok(core),
        None => bail!(Refusal::Usage(format!(
            "the ESP32 core {version} is not installed in {} ({}); install it in the Boards Manager of the Arduino IDE, or with: \
             arduino-cli core install esp32:esp32@{version}",
            data.display(),
            match known.as_slice() {
                [] => "no version is".to_owned(),
                known => format!("{} is; --core chooses another", known.join(", ")),
            }
        ))),
    }
}

impl Core {
    /// Chips whose libraries this core keeps in tools of their own, in the order of their names.
    pub fn chips(&self) -> Vec<Chip> {
        match &self.layout {
            Layout::PerChip { tools } => {
                tools.keys().filter_map(|chip| chip.parse().ok()).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Whether the libraries of `chip` stand in a folder of their own that can be swapped: `tools/<chip>-libs/<core>`.
    ///
    /// # Errors
    /// [`Refusal::Usage`] with the layout that it has instead, and what to do.
    pub fn check_swappable(&self, chip: &Chip) -> Result<()> {
        let update = "update the core to 3.3.6 or later, or put the libraries in place by hand";
        let version = &self.version;
        let why = match &self.layout {
            Layout::PerChip { tools } => match tools.get(chip.as_str()) {
                Some(tool) if *tool == version.to_string() => return Ok(()),
                Some(tool) => format!(
                    "core {version} takes the libraries of {chip} in version {tool}, not {version}: its folder is not the one that a \
                     package for {version} replaces"
                ),
                None => format!("core {version} has no libraries for {chip}"),
            },
            Layout::Shared { version: tool } => format!(
                "core {version} keeps the libraries of all chips in one tool ({SHARED_TOOL}/{}/{chip}), which this tool does not \
                 change; {update}",
                tool.as_deref().unwrap_or("<version>")
            ),
            Layout::InCore => format!(
                "core {version} keeps its libraries in itself ({}), which this tool does not change; {update}",
                self.platform
                    .join("tools")
                    .join("sdk")
                    .join(chip.as_str())
                    .display()
            ),
            Layout::Unknown { why } => format!(
                "{} is no core whose layout is known ({why}); nothing is changed",
                self.platform.display()
            ),
        };
        bail!(Refusal::Usage(why))
    }

    /// The folder of `chip`'s libraries as the core looks for it; `None` where the layout does not tell.
    pub fn libraries(&self, data: &Path, chip: &Chip) -> Option<PathBuf> {
        let tools = tools_dir(data);
        match &self.layout {
            Layout::PerChip { tools: versions } => {
                let version = versions.get(chip.as_str())?;
                Some(tools.join(chip.tool_name()).join(version))
            }
            Layout::Shared { version } => Some(
                tools
                    .join(SHARED_TOOL)
                    .join(version.as_ref()?)
                    .join(chip.as_str()),
            ),
            Layout::InCore => Some(self.platform.join("tools").join("sdk").join(chip.as_str())),
            Layout::Unknown { .. } => None,
        }
    }
}

/// A core that was cloned into the sketchbook, which the programs take before those of the Boards Manager's list.
pub fn cloned(user: &Path) -> Option<PathBuf> {
    let folder = user.join("hardware").join("espressif").join("esp32");
    folder.join("platform.txt").is_file().then_some(folder)
}

fn look(data: &Path, version: CoreVersion, platform: PathBuf) -> Result<Core> {
    let layout = match dependencies(data, &platform, &version) {
        Ok(Some(tools)) => by_dependencies(&tools, &platform),
        Ok(None) => by_platform(data, &platform, &version)?,
        Err(error) => Layout::Unknown {
            why: format!("{error:#}"),
        },
    };
    Ok(Core {
        version,
        platform,
        layout,
    })
}

/// What the core's entry in the package index says.
fn by_dependencies(tools: &[Dependency], platform: &Path) -> Layout {
    let mut per_chip = BTreeMap::new();
    for tool in tools {
        let chip = tool.name.strip_suffix("-libs");
        if let Some(chip) = chip.filter(|chip| CHIPS.contains(chip)) {
            per_chip.insert(chip.to_owned(), tool.version.clone());
        }
    }
    if !per_chip.is_empty() {
        return Layout::PerChip { tools: per_chip };
    }
    if let Some(tool) = tools.iter().find(|tool| tool.name == SHARED_TOOL) {
        return Layout::Shared {
            version: Some(tool.version.clone()),
        };
    }
    if platform.join("tools").join("sdk").is_dir() {
        return Layout::InCore;
    }
    let why = "its index entry names no libraries, and it has no tools/sdk".to_owned();
    Layout::Unknown { why }
}

/// What its platform.txt says, where no index tells of it.
fn by_platform(data: &Path, platform: &Path, version: &CoreVersion) -> Result<Layout> {
    let file = platform.join("platform.txt");
    if !file.is_file() {
        let why = "it has no platform.txt".to_owned();
        return Ok(Layout::Unknown { why });
    }
    let text = String::from_utf8_lossy(&fs::read(&file)?).into_owned();
    Ok(if names_chip_tools(&text) {
        let tools = CHIPS.iter().filter(|chip| {
            let tool = tools_dir(data).join(format!("{chip}-libs"));
            tool.join(version.to_string()).is_dir()
                || tool.join(format!("{version}.stock")).is_dir()
        });
        Layout::PerChip {
            tools: tools
                .map(|chip| ((*chip).to_owned(), version.to_string()))
                .collect(),
        }
    } else if text.contains(&format!("{{runtime.tools.{SHARED_TOOL}.path}}")) {
        Layout::Shared { version: None }
    } else if platform.join("tools").join("sdk").is_dir() {
        Layout::InCore
    } else {
        let why =
            "its platform.txt names no tool with libraries, and it has no tools/sdk".to_owned();
        Layout::Unknown { why }
    })
}

/// Whether a released platform.txt finds its libraries in `{runtime.tools.<chip>-libs.path}` (ARDUINO-FACTS A2).
pub fn names_chip_tools(platform_txt: &str) -> bool {
    platform_txt.contains("{runtime.tools.{build.chip_variant}-libs.path}")
}

#[derive(Debug, Deserialize)]
struct Index {
    packages: Vec<Package>,
}

#[derive(Debug, Deserialize)]
struct Package {
    name: String,
    #[serde(default)]
    platforms: Vec<Platform>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Platform {
    #[serde(default)]
    architecture: String,
    version: String,
    #[serde(default)]
    tools_dependencies: Vec<Dependency>,
}

#[derive(Debug, Deserialize)]
struct Dependency {
    name: String,
    version: String,
}

/// The tools that the core asks for: by the extract of the index that its installation left, else by the indexes at hand.
///
/// # Errors
/// The extract cannot be read. An index that cannot be read is passed over: it need not be this package's.
fn dependencies(
    data: &Path,
    platform: &Path,
    version: &CoreVersion,
) -> Result<Option<Vec<Dependency>>> {
    let extract = platform.join("installed.json");
    if extract.is_file()
        && let Some(tools) = named_in(&extract, version)?
    {
        return Ok(Some(tools));
    }
    let entries = fs::read_dir(data)?.flatten().map(|entry| entry.path());
    let mut indexes: Vec<PathBuf> = entries
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("package_") && name.ends_with("index.json")
        })
        .collect();
    indexes.sort();
    let mut found = indexes
        .iter()
        .filter_map(|index| named_in(index, version).ok().flatten());
    Ok(found.next())
}

fn named_in(file: &Path, version: &CoreVersion) -> Result<Option<Vec<Dependency>>> {
    let content = fs::read(file)?;
    let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&content);
    let index: Index = serde_json::from_slice(content)
        .with_context(|| format!("{} is not a package index", file.display()))?;
    let found = index
        .packages
        .into_iter()
        .filter(|package| package.name == PACKAGE)
        .flat_map(|package| package.platforms)
        .find(|found| found.version == version.to_string() && found.architecture == PACKAGE);
    Ok(found.map(|found| found.tools_dependencies))
}

#[cfg(test)]
mod tests;
