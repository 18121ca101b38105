//! Compiled cores and sketches that the Arduino programs keep, and would go on linking after the libraries were swapped.
//!
//! arduino-cli takes a kept core as long as no file of the platform is newer; the libraries' folder is no part of that
//! (`internal/arduino/builder/core.go`).

mod archive;
mod places;

pub use places::{Form, Place, places};

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::Result;
use fs_err as fs;
use serde::{Deserialize, Serialize};

/// How the FQBN of every board of Espressif's core begins, and how it stands in the name of a kept core.
const FQBN: &str = "esp32:esp32:";
const FQBN_IN_NAMES: &str = "esp32_esp32_";

/// Something kept that was compiled with the ESP32 core.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// The folder, or the file of older programs.
    pub path: PathBuf,
    /// What it is.
    pub kind: Kind,
    /// Bytes of the files in it.
    pub bytes: u64,
    /// When it was compiled, as far as the file's time tells.
    #[serde(skip)]
    pub modified: Option<SystemTime>,
}

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A compiled core.
    Core,
    /// The build folder of a sketch.
    Sketch,
}

/// What was found in the caches.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Entries of this core, sorted by path.
    pub entries: Vec<Entry>,
    /// What was passed over, and why: links, and what cannot be read.
    pub passed_over: Vec<String>,
}

impl Entry {
    /// Whether it was compiled before `change`, so possibly against other libraries than those that stand there since.
    ///
    /// Times are all that can be known: nothing in a compiled core names the libraries whose settings it was compiled with.
    pub fn is_older_than(&self, change: SystemTime) -> bool {
        self.modified.is_none_or(|modified| modified < change)
    }
}

/// When a folder was last put in or taken out of `tool`, the folder of a chip's library versions: a rename in it sets its time.
pub fn last_change(tool: &Path) -> Option<SystemTime> {
    fs::metadata(tool).ok()?.modified().ok()
}

/// All entries of Espressif's core in `places`. Links are not followed, and other cores' entries are left out.
pub fn entries(places: &[Place]) -> Found {
    let mut found = Found::default();
    for place in places {
        match place.form {
            Form::Cache => {
                found.look_in(&place.folder.join("cores"), kept_core);
                found.look_in(&place.folder.join("sketches"), sketch);
            }
            Form::Archives => found.look_in(&place.folder, lone_archive),
            Form::Sketch => found.look_at(&place.folder, sketch),
        }
    }
    found.entries.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// What a path that is no link is; `None` where it belongs to something else.
type Judge = fn(&Path) -> Result<Option<(Kind, Option<SystemTime>)>>;

impl Found {
    /// Looks at everything in `folder`, which need not be there.
    fn look_in(&mut self, folder: &Path, judge: Judge) {
        let Some(meta) = self.no_link(folder) else {
            return;
        };
        if !meta.is_dir() {
            return;
        }
        match fs::read_dir(folder) {
            Ok(children) => {
                for child in children {
                    match child {
                        Ok(child) => self.look_at(&child.path(), judge),
                        Err(error) => self.passed_over.push(error.to_string()),
                    }
                }
            }
            Err(error) => self.passed_over.push(error.to_string()),
        }
    }

    fn look_at(&mut self, path: &Path, judge: Judge) {
        if self.no_link(path).is_none() {
            return;
        }
        match judge(path) {
            Ok(Some((kind, modified))) => self.entries.push(Entry {
                path: path.to_owned(),
                kind,
                bytes: size(path),
                modified,
            }),
            Ok(None) => {}
            Err(error) => self.passed_over.push(format!("{error:#}")),
        }
    }

    /// The metadata of what is there and no link. A link would lead the removal out of the cache.
    fn no_link(&mut self, path: &Path) -> Option<std::fs::Metadata> {
        let meta = fs::symlink_metadata(path).ok()?;
        if meta.is_symlink() {
            self.passed_over.push(format!(
                "{} is a link, which is not followed",
                path.display()
            ));
            return None;
        }
        Some(meta)
    }
}

fn file_name(path: &Path) -> &str {
    path.file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default()
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::symlink_metadata(path).ok()?.modified().ok()
}

/// `cores/<name>/core.a`: the name begins with the FQBN; where that made it too long, the name is a hash and the archive tells.
fn kept_core(folder: &Path) -> Result<Option<(Kind, Option<SystemTime>)>> {
    let (name, archive) = (file_name(folder), folder.join("core.a"));
    let ours = name.starts_with(FQBN_IN_NAMES) || (is_md5(name) && is_ours(&archive)?);
    Ok(ours.then(|| (Kind::Core, modified(&archive))))
}

/// `core_<FQBN>_<hash>.a` of the IDE 1 and of arduino-cli before 0.33; a long name ends as a hash there, too.
fn lone_archive(archive: &Path) -> Result<Option<(Kind, Option<SystemTime>)>> {
    let Some(name) = file_name(archive)
        .strip_prefix("core_")
        .and_then(|name| name.strip_suffix(".a"))
    else {
        return Ok(None);
    };
    let ours = name.starts_with(FQBN_IN_NAMES) || (is_md5(name) && is_ours(archive)?);
    Ok(ours.then(|| (Kind::Core, modified(archive))))
}

/// A sketch's build folder says its FQBN in build.options.json.
fn sketch(folder: &Path) -> Result<Option<(Kind, Option<SystemTime>)>> {
    #[derive(Deserialize)]
    struct Options {
        #[serde(default)]
        fqbn: String,
    }
    let file = folder.join("build.options.json");
    if !is_plain_file(&file) {
        return Ok(None);
    }
    // The programs themselves take a file that does not parse for no options at all, and build anew.
    let options: Option<Options> = serde_json::from_slice(&fs::read(&file)?).ok();
    let ours = options.is_some_and(|options| options.fqbn.starts_with(FQBN));
    // The core may have been compiled there; else the options were written when the build began.
    let core = folder.join("core").join("core.a");
    let built = modified(&core).or_else(|| modified(&file));
    Ok(ours.then_some((Kind::Sketch, built)))
}

fn is_ours(archive: &Path) -> Result<bool> {
    Ok(is_plain_file(archive) && archive::is_espressifs(&fs::read(archive)?))
}

fn is_plain_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file())
}

fn is_md5(name: &str) -> bool {
    name.len() == 32 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Bytes of all files in `path`; what cannot be read counts nothing.
fn size(path: &Path) -> u64 {
    walkdir::WalkDir::new(path)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.metadata().ok())
        .filter(std::fs::Metadata::is_file)
        .map(|meta| meta.len())
        .sum()
}

#[cfg(test)]
mod tests;
