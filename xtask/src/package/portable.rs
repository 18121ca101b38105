//! Can every system that Arduino runs on hold these names?

use std::collections::BTreeMap;

/// Longest path of a file that Windows takes without its long-path switch: MAX_PATH (260) less the closing NUL.
pub(crate) const WINDOWS_PATH: usize = 259;

/// Length of a Windows user name in the data folder that the longest path is computed for; Windows allows 20.
const USER_NAME: usize = 20;

/// Names that Windows keeps for devices, with any extension.
const DEVICES: [&str; 6] = ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"];

/// Everything about `names` (relative paths with `/`) that some system cannot hold, one finding a line.
pub(crate) fn findings<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut found = Vec::new();
    let mut seen = BTreeMap::new();
    for name in names {
        for part in name.split('/') {
            if let Some(reason) = illegal(part) {
                found.push(format!("`{name}`: {reason}"));
            }
        }
        found.extend(collision(&mut seen, name));
    }
    found.sort();
    found.dedup();
    found
}

/// Why `part`, one component of a path, cannot be a file's name everywhere.
pub(crate) fn illegal(part: &str) -> Option<String> {
    let stem = part
        .split('.')
        .next()
        .unwrap_or_default()
        .trim_end_matches(' ');
    if part.is_empty() {
        Some("an empty name".to_owned())
    } else if !part.is_ascii() {
        Some(format!(
            "`{part}` is not ASCII, and archive programs disagree on such names"
        ))
    } else if let Some(c) = part
        .chars()
        .find(|c| c.is_ascii_control() || r#"/<>:"|?*\"#.contains(*c))
    {
        Some(format!("Windows forbids {c:?} in a name"))
    } else if part.ends_with(['.', ' ']) {
        Some(format!("Windows drops the dot or space that ends `{part}`"))
    } else if is_device(stem) {
        Some(format!("`{stem}` is a device on Windows"))
    } else if part.len() > 255 {
        Some(format!(
            "a name of {} characters; 255 is the most",
            part.len()
        ))
    } else {
        None
    }
}

fn is_device(stem: &str) -> bool {
    let stem = stem.to_ascii_uppercase();
    let numbered = stem
        .strip_prefix("COM")
        .or_else(|| stem.strip_prefix("LPT"))
        .is_some_and(|rest| rest.len() == 1 && rest.as_bytes()[0].is_ascii_digit());
    numbered || DEVICES.contains(&stem.as_str())
}

/// Two spellings of one path, or a file and a folder of one name, become one on Windows and macOS.
///
/// `seen` holds every path and every folder so far: lower case -> as written, whether a folder.
fn collision<'a>(seen: &mut BTreeMap<String, (&'a str, bool)>, name: &'a str) -> Option<String> {
    let folders = name.match_indices('/').map(|(end, _)| (&name[..end], true));
    for (path, is_folder) in folders.chain([(name, false)]) {
        match seen.get(&path.to_ascii_lowercase()) {
            None => {
                seen.insert(path.to_ascii_lowercase(), (path, is_folder));
            }
            Some(&(other, _)) if other != path => {
                return Some(format!("`{path}` and `{other}` differ only in case"));
            }
            Some(&(_, was_folder)) if !(is_folder && was_folder) => {
                return Some(format!("`{path}` stands there twice"));
            }
            Some(_) => {}
        }
    }
    None
}

/// The files whose installed path Windows would refuse, longest first, each with its whole length.
///
/// The path is that of a typical installation: `C:\Users\<20 characters>\AppData\Local\Arduino15\packages\esp32\tools\
/// <tool>\<folder>\`, where `folder` is the longest name that the tree gets there (arduino-cli's
/// `internal/cli/configuration` has the data folder).
pub(super) fn too_long<'a>(
    tool: &str,
    folder: &str,
    names: impl Iterator<Item = &'a str>,
) -> Vec<(&'a str, usize)> {
    let base = r"C:\Users\".len()
        + USER_NAME
        + r"\AppData\Local\Arduino15\packages\esp32\tools\".len()
        + tool.len()
        + folder.len()
        + 2;
    let mut long: Vec<_> = names
        .map(|name| (name, base + name.len()))
        .filter(|(_, length)| *length > WINDOWS_PATH)
        .collect();
    long.sort_by_key(|&(name, length)| (std::cmp::Reverse(length), name));
    long
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_that_windows_refuses_are_named() {
        for bad in [
            "aux",
            "AUX.h",
            "con.tar.gz",
            "nul .txt",
            "Com1",
            "lpt9.a",
            "conin$",
            "a:b",
            "a\\b",
            "a?",
            "tail.",
            "tail ",
            ".",
            "..",
            "tab\there",
            "del\u{7f}",
            "größe.h",
            "",
        ] {
            let name = format!("include/{bad}/x.h");
            let found = findings([name.as_str()].into_iter());
            assert!(
                found.len() == 1 && found[0].contains(&name),
                "{bad:?}: {found:?}"
            );
        }
        assert!(illegal(&"x".repeat(256)).is_some());
        for good in [
            "auxiliary.h",
            "com",
            "com10.h",
            "lpt.c",
            "console.h",
            ".h",
            "a b.h",
            "a..h",
            "++.h",
        ] {
            assert_eq!(illegal(good), None, "{good}");
        }
    }

    #[test]
    fn spellings_that_differ_in_case_are_both_named() {
        let found = findings(["include/Foo.h", "include/bar.h", "include/foo.h"].into_iter());
        assert_eq!(
            found,
            ["`include/foo.h` and `include/Foo.h` differ only in case"]
        );
        let found = findings(["include/BT/a.h", "include/bt/b.h"].into_iter());
        assert_eq!(found, ["`include/bt` and `include/BT` differ only in case"]);
        let found = findings(["lib", "lib/a.a"].into_iter());
        assert_eq!(found, ["`lib` stands there twice"]);
        assert!(findings(["lib/b.a", "lib/a.a", "ld/a.ld"].into_iter()).is_empty());
    }

    #[test]
    fn the_longest_path_is_that_of_a_typical_installation() {
        // 9 + 20 + 46 + 12 + 1 + 14 + 1 = 103 characters stand before the tree's own path.
        let fits = "x".repeat(259 - 103);
        let long = "y".repeat(259 - 103 + 1);
        let longer = "z".repeat(259 - 103 + 9);
        let names = [fits.as_str(), &long, &longer];
        let found = too_long("esp32s3-libs", "3.3.12.xip-ecc", names.into_iter());
        assert_eq!(found, [(longer.as_str(), 268), (long.as_str(), 260)]);
    }

    proptest! {
        #[test]
        fn a_tree_is_refused_exactly_when_two_paths_fold_together(
            names in proptest::collection::btree_set("[abAB]{1,2}(/[abAB]{1,2}){0,2}", 1..6)
        ) {
            // A file system that ignores case, as a plain model: folding must keep files and folders apart and one to one.
            let mut nodes = BTreeMap::new();
            let mut clash = false;
            for name in &names {
                let parts: Vec<_> = name.split('/').collect();
                for end in 1..=parts.len() {
                    let node = (parts[..end].join("/"), end == parts.len());
                    let old = nodes.insert(node.0.to_lowercase(), node.clone());
                    clash |= old.is_some_and(|old| old.0 != node.0 || old.1 || node.1);
                }
            }
            let found = findings(names.iter().map(String::as_str));
            prop_assert_eq!(!found.is_empty(), clash, "{:?}", found);
        }
    }
}
