//! Reads `versions.txt`, the list of commits and component versions that the lib-builder writes beside its output.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt::Display;

use anyhow::{Result, anyhow, bail};

use super::{ComponentPin, SourcePin};

/// What a `versions.txt` holds, in its order, each name once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Versions {
    /// Git sources.
    pub sources: Vec<SourcePin>,
    /// Managed components.
    pub components: Vec<ComponentPin>,
}

/// The sources that every release is made of (lib-builder `build.sh`, end); a file without one of them was cut short.
const REQUIRED: [&str; 4] = ["lib-builder", "esp-idf", "arduino", "tinyusb"];

/// Reads the content of the file called `name` (a path or an address, for messages).
///
/// A line is `name: [branch or tags] commit`, or `namespace__name: [version]`. A line may stand there twice. A name
/// with two commits or two versions is an error: upstream's list over all chips (`tools/combine-artifacts.sh`) repeats
/// those that differ between chips, and nothing in it tells which is whose.
///
/// # Errors
/// Names the file, the line's number and its text.
pub fn parse(content: &[u8], name: impl Display) -> Result<Versions> {
    if content.starts_with(b"\xff\xfe") || content.starts_with(b"\xfe\xff") {
        bail!("{name} is UTF-16 text; save it as UTF-8");
    }
    let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
    let mut versions = Versions {
        sources: Vec::new(),
        components: Vec::new(),
    };
    let mut seen = HashMap::new();
    for (line, number) in content.split(|byte| *byte == b'\n').zip(1_usize..) {
        let text = line.trim_ascii();
        if text.is_empty() {
            continue;
        }
        parse_line(text)
            .and_then(|item| versions.add(item, number, &mut seen))
            .map_err(|why| anyhow!("{name}, line {number}: `{}`: {why:#}", shown(text)))?;
    }
    for required in REQUIRED {
        if !versions
            .sources
            .iter()
            .any(|source| source.name == required)
        {
            bail!(
                "{name} has no line `{required}: ...`: it was cut short, or is no versions.txt of the lib-builder"
            );
        }
    }
    Ok(versions)
}

/// One line, read.
enum Item {
    Source(SourcePin),
    Component(ComponentPin),
}

fn parse_line(line: &[u8]) -> Result<Item> {
    let text = std::str::from_utf8(line).map_err(|_utf8| anyhow!("not UTF-8 text"))?;
    let Some((name, value)) = text.split_once(':') else {
        bail!("expected `name: branch commit` or `namespace__name: version`");
    };
    let name = name.trim_end();
    if name.is_empty()
        || !name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
    {
        bail!("`{name}` is not a name");
    }
    let words: Vec<&str> = value.split_whitespace().collect();
    match name.split_once("__") {
        Some((namespace, rest)) if !namespace.is_empty() && !rest.is_empty() => {
            component(name, &words)
        }
        _ => source(name, &words),
    }
}

fn source(name: &str, words: &[&str]) -> Result<Item> {
    let Some((commit, refs)) = words.split_last() else {
        bail!("no commit is given");
    };
    if !is_commit(commit) {
        bail!("`{commit}` is not a commit of 7 to 40 hex digits");
    }
    Ok(Item::Source(SourcePin {
        name: name.to_owned(),
        refs: refs.iter().map(|name| (*name).to_owned()).collect(),
        commit: commit.to_ascii_lowercase(),
    }))
}

fn component(name: &str, words: &[&str]) -> Result<Item> {
    let version = match words {
        [] => None,
        [version] => {
            let version = version.trim_matches(['"', '\'']);
            if !is_version(version) {
                bail!("`{version}` is not a version such as 1.4.12 or 0.6.0~1");
            }
            Some(version.to_owned())
        }
        // A component that was a git work tree (`build.sh` then writes branch and commit): no version can hold it.
        [.., commit] if is_commit(commit) => None,
        _ => bail!("expected one version"),
    };
    Ok(Item::Component(ComponentPin {
        name: name.to_owned(),
        version,
    }))
}

fn is_commit(text: &str) -> bool {
    (7..=40).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_version(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_digit())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b".~+-".contains(&byte))
}

impl Versions {
    /// Takes one line in; `seen` maps a name to the line that gave it first and to its place.
    fn add(
        &mut self,
        item: Item,
        line: usize,
        seen: &mut HashMap<String, (usize, usize)>,
    ) -> Result<()> {
        let (name, place) = match &item {
            Item::Source(source) => (source.name.clone(), self.sources.len()),
            Item::Component(component) => (component.name.clone(), self.components.len()),
        };
        let (first, place) = match seen.entry(name) {
            Entry::Vacant(entry) => {
                entry.insert((line, place));
                match item {
                    Item::Source(source) => self.sources.push(source),
                    Item::Component(component) => self.components.push(component),
                }
                return Ok(());
            }
            Entry::Occupied(entry) => *entry.get(),
        };
        let same = match item {
            Item::Source(source) => self
                .sources
                .get_mut(place)
                .is_some_and(|known| known.join(&source)),
            Item::Component(component) => self.components.get(place) == Some(&component),
        };
        if !same {
            bail!(
                "line {first} gives another value; a list over all chips repeats what differs between them, \
                 so take the one from the chip's own folder, or remove the line that is not this chip's"
            );
        }
        Ok(())
    }
}

impl SourcePin {
    /// Takes over the refs of a line that names the same commit; false where it names another.
    fn join(&mut self, other: &Self) -> bool {
        if self.commit != other.commit {
            return false;
        }
        for name in &other.refs {
            if !self.refs.contains(name) {
                self.refs.push(name.clone());
            }
        }
        true
    }
}

/// A line as a message can show it.
fn shown(line: &[u8]) -> String {
    const MOST: usize = 80;
    let text: String = String::from_utf8_lossy(line).escape_debug().collect();
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests;
