//! The package index: which zip holds a chip's libraries, and what its checksum is.

use std::collections::BTreeSet;
use std::fmt::Display;

use anyhow::{Context, Result, anyhow, bail};
use serde::Deserialize;

use crate::http;
use crate::names::{Chip, CoreVersion};

/// The package of Espressif's core.
const PACKAGE: &str = "esp32";
/// How many versions an error about an unknown one lists.
const LISTED: usize = 6;

/// A package index, as far as it matters here. Arduino's own holds many packages.
#[derive(Debug, Deserialize)]
pub(super) struct Index {
    packages: Vec<Package>,
}

#[derive(Debug, Deserialize)]
struct Package {
    name: String,
    #[serde(default)]
    tools: Vec<Tool>,
}

#[derive(Debug, Deserialize)]
struct Tool {
    name: String,
    version: String,
    #[serde(default)]
    systems: Vec<System>,
}

/// The archive for one host system; the libraries' are all the same.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct System {
    #[serde(default)]
    url: String,
    #[serde(default)]
    archive_file_name: String,
    #[serde(default)]
    checksum: String,
    #[serde(default)]
    size: Size,
}

/// Text in Espressif's index; the specification of package indexes has been read both ways.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Size {
    Text(String),
    Number(u64),
}

impl Default for Size {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

/// The official zip of a chip's libraries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Archive {
    /// Where it is fetched from.
    pub(super) url: String,
    /// Its name in download folders; a plain file name.
    pub(super) file_name: String,
    /// SHA-256, lower-case hex.
    pub(super) sha256: String,
    /// Size in bytes.
    pub(super) size: u64,
}

impl Index {
    /// Reads the index called `name` (a path or an address, for messages).
    ///
    /// # Errors
    /// It is not JSON, or not an index: names line and column.
    pub(super) fn parse(content: &[u8], name: impl Display) -> Result<Self> {
        let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
        serde_json::from_slice(content).with_context(|| format!("{name} is not a package index"))
    }

    /// The zip of this chip's libraries for this core version; `None` where the index does not name it.
    ///
    /// # Errors
    /// The entry lacks something, or holds what cannot be right.
    pub(super) fn archive(&self, chip: &Chip, core: &CoreVersion) -> Result<Option<Archive>> {
        let (tool_name, version) = (chip.tool_name(), core.to_string());
        let tool = self
            .tools()
            .find(|tool| tool.name == tool_name && tool.version == version);
        tool.map(|tool| {
            tool.archive()
                .with_context(|| format!("the entry of {tool_name} {version} in the package index"))
        })
        .transpose()
    }

    /// The newest core versions whose libraries for this chip the index names, newest first.
    pub(super) fn newest(&self, chip: &Chip) -> Vec<String> {
        let tool_name = chip.tool_name();
        let versions: BTreeSet<semver::Version> = self
            .tools()
            .filter(|tool| tool.name == tool_name)
            .filter_map(|tool| tool.version.parse().ok())
            .collect();
        versions
            .iter()
            .rev()
            .take(LISTED)
            .map(ToString::to_string)
            .collect()
    }

    fn tools(&self) -> impl Iterator<Item = &Tool> {
        self.packages
            .iter()
            .filter(|package| package.name == PACKAGE)
            .flat_map(|package| &package.tools)
    }
}

impl Tool {
    fn archive(&self) -> Result<Archive> {
        let system = self.systems.first().context("it names no archive")?;
        if !http::is_url(&system.url) {
            bail!("the url `{}` is not an http or https address", system.url);
        }
        let name = &system.archive_file_name;
        if !is_plain_file_name(name) {
            bail!("the archiveFileName `{name}` is not a plain file name");
        }
        Ok(Archive {
            url: system.url.clone(),
            file_name: name.clone(),
            sha256: sha256(&system.checksum)?,
            size: system.size.bytes()?,
        })
    }
}

impl Size {
    fn bytes(&self) -> Result<u64> {
        match self {
            Self::Number(bytes) => Ok(*bytes),
            Self::Text(text) => {
                let bytes = text.parse();
                bytes.with_context(|| format!("the size `{text}` is not a number of bytes"))
            }
        }
    }
}

fn sha256(checksum: &str) -> Result<String> {
    let hex = checksum
        .split_once(':')
        .filter(|(kind, hex)| {
            kind.eq_ignore_ascii_case("SHA-256")
                && hex.len() == 64
                && hex.bytes().all(|byte| byte.is_ascii_hexdigit())
        })
        .map(|(_, hex)| hex.to_ascii_lowercase());
    hex.ok_or_else(|| anyhow!("the checksum `{checksum}` is not SHA-256:<64 hex digits>"))
}

/// A name that stays inside the folder it is joined to, on every system.
fn is_plain_file_name(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', ':', '\0'])
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str = "08f4e7292fee97dc011dc64e3c670a9a4e83a6b52a604c4b9b18ab2885cdd092";

    fn index(checksum: &str, file_name: &str, size: &str) -> Index {
        let entry = |version: &str| {
            format!(
                r#"{{"name":"esp32s3-libs","version":"{version}","systems":[{{"host":"x86_64-pc-linux-gnu",
                "url":"https://example.org/{version}.zip","archiveFileName":"{file_name}","checksum":"{checksum}","size":{size}}}]}}"#
            )
        };
        let text = format!(
            r#"{{"packages":[{{"name":"m5stack","tools":[{}]}},
            {{"name":"esp32","platforms":[],"tools":[{{"name":"esp-x32","version":"2601","systems":[]}},{},{},{}]}}]}}"#,
            entry("3.3.99"),
            entry("3.3.9"),
            entry("3.3.12"),
            entry("3.3.10"),
        );
        Index::parse(text.as_bytes(), "index.json").unwrap()
    }

    fn good() -> Index {
        index(
            &format!("SHA-256:{}", HASH.to_uppercase()),
            "esp32s3-libs.zip",
            "\"70074478\"",
        )
    }

    fn find(index: &Index, core: &str) -> Result<Option<Archive>> {
        index.archive(&"esp32s3".parse().unwrap(), &core.parse().unwrap())
    }

    #[test]
    fn the_entry_of_espressifs_package_is_found() {
        let archive = find(&good(), "3.3.12").unwrap().unwrap();
        assert_eq!(archive.url, "https://example.org/3.3.12.zip");
        assert_eq!((archive.sha256.as_str(), archive.size), (HASH, 70_074_478));
        assert_eq!(
            find(&good(), "3.3.99").unwrap(),
            None,
            "another package's numbering"
        );
        assert_eq!(
            good().newest(&"esp32s3".parse().unwrap()),
            ["3.3.12", "3.3.10", "3.3.9"]
        );
        assert!(good().newest(&"esp32c3".parse().unwrap()).is_empty());
    }

    #[test]
    fn an_entry_that_cannot_be_right_is_refused_by_its_value() {
        let sum = format!("SHA-256:{HASH}");
        for (index, bad) in [
            (index("MD5:abc", "a.zip", "1"), "MD5:abc"),
            (index(&sum, "../a.zip", "1"), "`../a.zip`"),
            (index(&sum, "C:a.zip", "1"), "`C:a.zip`"),
            (index(&sum, "..", "1"), "`..`"),
            (index(&sum, "a.zip", "\"70 MB\""), "`70 MB`"),
        ] {
            let error = format!("{:#}", find(&index, "3.3.12").unwrap_err());
            assert!(
                error.contains(bad) && error.contains("esp32s3-libs 3.3.12"),
                "{error}"
            );
        }
        assert!(find(&index(&sum, "a.zip", "7"), "3.3.12").is_ok());
    }

    #[test]
    fn wrong_json_is_named_by_line() {
        let error =
            Index::parse(b"{\"packages\": [\n  {\"name\": 3}\n]}", "my/index.json").unwrap_err();
        let error = format!("{error:#}");
        assert!(
            error.contains("my/index.json") && error.contains("line 2"),
            "{error}"
        );
    }
}
