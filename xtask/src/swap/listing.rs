//! What files a tree holds, kept beside it, and what has become of them.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};
use fs_err as fs;
use rayon::prelude::*;

use crate::digest;
use crate::libs::files::{TreeFile, Walked};
use crate::libs::manifest::FileRecord;

/// How closely files are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Names and sizes.
    Quick,
    /// Every file's SHA-256 too.
    Full,
}

/// How the files of a folder differ from those that a list says. Paths are relative, with `/`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Differences {
    /// In the list, not in the folder.
    pub(super) missing: Vec<String>,
    /// Of another size or, where it was looked at, content; as found.
    pub(super) changed: Vec<FileRecord>,
    /// In the folder, not in the list; as found.
    pub(super) extra: Vec<FileRecord>,
    /// No plain files, each with why.
    pub(super) odd: Vec<String>,
}

impl Differences {
    /// A list made while a desktop's file stood there names it too.
    fn miss(&mut self, file: &FileRecord) {
        if !is_litter(&file.path) {
            self.missing.push(file.path.clone());
        }
    }

    pub(super) fn none(&self) -> bool {
        *self == Self::default()
    }

    /// The files that are too many where nothing else differs: whoever put them there, the libraries are whole.
    pub(super) fn only_extra(&self) -> Option<Vec<String>> {
        let whole = self.missing.is_empty() && self.changed.is_empty() && self.odd.is_empty();
        whole.then(|| self.extra.iter().map(|file| file.path.clone()).collect())
    }

    /// A line for each.
    pub(super) fn lines(&self) -> Vec<String> {
        let missing = self.missing.iter().map(|path| format!("{path}: missing"));
        let changed = self
            .changed
            .iter()
            .map(|file| format!("{}: changed", file.path));
        let extra = self
            .extra
            .iter()
            .map(|file| format!("{}: does not belong there", file.path));
        missing
            .chain(changed)
            .chain(extra)
            .chain(self.odd.iter().cloned())
            .collect()
    }

    /// Whether each of them is just as the other list has it: then files of two builds stand in one folder.
    pub(super) fn all_from(&self, other: &[FileRecord], depth: Depth) -> bool {
        let other: BTreeMap<&str, &FileRecord> = other
            .iter()
            .map(|file| (file.path.as_str(), file))
            .collect();
        let same = |file: &FileRecord| {
            other.get(file.path.as_str()).is_some_and(|there| {
                there.size == file.size && (depth == Depth::Quick || there.sha256 == file.sha256)
            })
        };
        self.odd.is_empty()
            && self
                .missing
                .iter()
                .all(|path| !other.contains_key(path.as_str()))
            && self.changed.iter().all(same)
            && self.extra.iter().all(same)
    }
}

/// Whether a file of that name is one that desktops and editors leave in any folder: no compile reads it, and it may come
/// and go.
pub(super) fn is_litter(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is = |known: &str| name.eq_ignore_ascii_case(known);
    // Finder, Explorer (twice), macOS on foreign disks, Dolphin, vi's swap file, Emacs' lock, backups of most editors.
    [".DS_Store", "Thumbs.db", "desktop.ini", ".directory"]
        .into_iter()
        .any(is)
        || ["._", ".#"].iter().any(|start| name.starts_with(start))
        || name.ends_with('~')
        || name.starts_with('.') && [".swp", ".swo"].iter().any(|end| name.ends_with(end))
}

/// Holds what was found in a folder against a list sorted by path, desktops' files aside. Without hashing, `sha256` of what is given back is empty.
pub(super) fn compare(found: &Walked, list: &[FileRecord], depth: Depth) -> Result<Differences> {
    let hash = |file: &TreeFile| Ok(digest::sha256_file(&file.disk)?.1);
    let hashes: Vec<String> = match depth {
        Depth::Quick => vec![String::new(); found.files.len()],
        Depth::Full => found.files.par_iter().map(hash).collect::<Result<_>>()?,
    };
    let mut differences = Differences {
        odd: found.odd.clone(),
        ..Differences::default()
    };
    // Both are sorted, so one walk along the two finds all.
    let mut list = list.iter().peekable();
    for (file, sha256) in found.files.iter().zip(hashes) {
        while let Some(missing) = list.next_if(|want| want.path < file.name) {
            differences.miss(missing);
        }
        let want = list.next_if(|want| want.path == file.name);
        let same = want.is_some_and(|want| {
            want.size == file.size && (depth == Depth::Quick || want.sha256 == sha256)
        });
        if !same && !is_litter(&file.name) {
            let group = match want {
                Some(_) => &mut differences.changed,
                None => &mut differences.extra,
            };
            group.push(FileRecord {
                path: file.name.clone(),
                size: file.size,
                sha256,
            });
        }
    }
    list.for_each(|missing| differences.miss(missing));
    Ok(differences)
}

/// Hashes every file, on all cores; `progress` is told each file's size.
pub(super) fn record(files: &[TreeFile], progress: impl Fn(u64) + Sync) -> Result<Vec<FileRecord>> {
    let one = |file: &TreeFile| {
        let (size, sha256) = digest::sha256_file(&file.disk)?;
        progress(size);
        Ok(FileRecord {
            path: file.name.clone(),
            size,
            sha256,
        })
    };
    files.par_iter().map(one).collect()
}

/// First line of a list's text.
const HEAD: &str = "# SHA-256, size and path of";

/// The list as text: a head, then a line `<sha256> <size> <path>` a file.
pub(super) fn to_text(what: &str, list: &[FileRecord]) -> String {
    let mut text = format!("{HEAD} {} files: {what}\n", list.len());
    for file in list {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{} {} {}", file.sha256, file.size, file.path);
    }
    text
}

/// Reads what [`to_text`] wrote; `None` where the file does not exist.
///
/// # Errors
/// Names the file and the line that is of another form; a file that was cut short.
pub(super) fn read(path: &Path) -> Result<Option<Vec<FileRecord>>> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let list = from_text(&text).with_context(|| {
        format!(
            "{} is not as this tool wrote it; remove it, it is made anew by the next install",
            path.display()
        )
    })?;
    Ok(Some(list))
}

fn from_text(text: &str) -> Result<Vec<FileRecord>> {
    let mut lines = text.lines();
    let count: usize = lines
        .next()
        .and_then(|line| {
            line.strip_prefix(HEAD)?
                .split_whitespace()
                .next()?
                .parse()
                .ok()
        })
        .context("line 1 is no head")?;
    let mut list = Vec::with_capacity(count.min(100_000));
    for (line, number) in lines.zip(2..) {
        let mut parts = line.splitn(3, ' ');
        let (Some(sha256), Some(size), Some(path)) = (parts.next(), parts.next(), parts.next())
        else {
            bail!("line {number}: `{line}`");
        };
        let hex = sha256.len() == 64 && sha256.bytes().all(|byte| byte.is_ascii_hexdigit());
        let (true, Ok(size)) = (hex && !path.is_empty(), size.parse()) else {
            bail!("line {number}: `{line}`");
        };
        list.push(FileRecord {
            path: path.to_owned(),
            size,
            sha256: sha256.to_owned(),
        });
    }
    if !list.is_sorted_by(|a, b| a.path < b.path) {
        bail!("its lines are not sorted by path");
    }
    if list.len() != count {
        bail!("it ends after {} of {count} files", list.len());
    }
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::libs::files;
    use proptest::prelude::*;

    fn tree(content: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in content {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        dir
    }

    fn recorded(dir: &tempfile::TempDir) -> Vec<FileRecord> {
        record(&files::walk(dir.path()).unwrap().files, |_| {}).unwrap()
    }

    #[test]
    fn what_has_become_of_a_tree_is_told() {
        let dir = tree(&[
            ("lib/a.a", "abc"),
            ("lib/b.a", "abc"),
            ("x", "1"),
            ("y", "2"),
        ]);
        let list = recorded(&dir);
        let found = || files::walk(dir.path()).unwrap();
        for depth in [Depth::Quick, Depth::Full] {
            assert!(compare(&found(), &list, depth).unwrap().none());
        }
        fs::write(dir.path().join("lib/a.a"), "abd").unwrap();
        assert!(compare(&found(), &list, Depth::Quick).unwrap().none());
        fs::write(dir.path().join("lib/b.a"), "longer").unwrap();
        fs::remove_file(dir.path().join("x")).unwrap();
        fs::write(dir.path().join("z"), "").unwrap();
        let lines = compare(&found(), &list, Depth::Full).unwrap().lines();
        assert_eq!(
            lines,
            [
                "x: missing",
                "lib/a.a: changed",
                "lib/b.a: changed",
                "z: does not belong there"
            ]
        );
    }

    #[test]
    fn desktops_files_come_and_go() {
        let litter = [
            ".DS_Store",
            "lib/.DS_Store",
            "lib/Thumbs.db",
            "Desktop.ini",
            "lib/._libhal.a",
            "include/c.h~",
            "include/.c.h.swp",
        ];
        let mut files = vec![("lib/a.a", "abc")];
        let without = recorded(&tree(&files));
        files.extend(litter.map(|path| (path, "")));
        let littered = tree(&files);
        let found = files::walk(littered.path()).unwrap();
        let with = recorded(&littered);
        let clean = tree(&files[..1]);
        let clean = files::walk(clean.path()).unwrap();
        for depth in [Depth::Quick, Depth::Full] {
            assert!(compare(&found, &without, depth).unwrap().none());
            assert!(compare(&clean, &with, depth).unwrap().none());
        }
        for header in ["lib/DS_Store", "include/c.h.orig", "a.ini", ".hidden"] {
            assert!(!is_litter(header), "{header}");
        }
    }

    #[test]
    fn files_of_another_build_are_known() {
        let stock = tree(&[("a", "stock"), ("b", "stock"), ("only-stock", "")]);
        let mixed = tree(&[("a", "stock"), ("b", "patched!"), ("only-stock", "")]);
        let (stock, patched) = (
            recorded(&stock),
            recorded(&tree(&[
                ("a", "patched!"),
                ("b", "patched!"),
                ("only-patched", ""),
            ])),
        );
        for depth in [Depth::Quick, Depth::Full] {
            let found = files::walk(mixed.path()).unwrap();
            let differences = compare(&found, &patched, depth).unwrap();
            assert!(!differences.none() && differences.all_from(&stock, depth));
            let differences = compare(&found, &stock, depth).unwrap();
            assert!(differences.all_from(&patched, depth));
            assert!(!differences.all_from(&[], depth));
        }
    }

    #[test]
    fn a_list_that_was_cut_or_altered_is_refused_with_its_line() {
        let list = recorded(&tree(&[("a", "1"), ("b c", "2")]));
        let text = to_text("stock", &list);
        assert_eq!(from_text(&text).unwrap(), list);
        let cut = &text[..text.len() - 80];
        assert!(from_text(cut).is_err());
        let fewer: String = text
            .lines()
            .take(2)
            .map(|line| format!("{line}\n"))
            .collect();
        assert!(
            from_text(&fewer)
                .unwrap_err()
                .to_string()
                .contains("1 of 2")
        );
        let altered = text.replace(" 1 a", " one a");
        assert!(
            from_text(&altered)
                .unwrap_err()
                .to_string()
                .contains("line 2")
        );
        assert!(from_text("").is_err());
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(paths in prop::collection::btree_set("[ -~]{1,20}", 0..9), size in any::<u64>()) {
            let list: Vec<_> = paths.into_iter().map(|path| FileRecord {
                sha256: digest::sha256(path.as_bytes()), path, size,
            }).collect();
            prop_assert_eq!(from_text(&to_text("x", &list)).unwrap(), list);
        }

        #[test]
        fn any_text_is_read_or_refused(text in any::<String>()) {
            drop(from_text(&text));
        }
    }
}
