//! The submodules that a commit records.

use std::collections::HashMap;
use std::path::Component;

use anyhow::{Context, Result, bail};
use git2::{ObjectType, Oid, Repository, TreeWalkMode, TreeWalkResult};

/// A submodule as its parent's commit records it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Recorded {
    /// Its name in `.gitmodules`.
    pub(super) name: String,
    /// Where it stands, relative to the parent's root, with `/`.
    pub(super) path: String,
    /// Its address as `.gitmodules` has it, perhaps relative.
    pub(super) url: String,
    /// The commit.
    pub(super) commit: Oid,
}

/// Submodules of `commit`, in the tree's order.
///
/// # Errors
/// A recorded commit that `.gitmodules` has no address for (git refuses that too), and a `.gitmodules` that is not one.
pub(super) fn of(repo: &Repository, commit: Oid) -> Result<Vec<Recorded>> {
    let tree = repo.find_commit(commit)?.tree()?;
    let mut commits = Vec::new();
    tree.walk(TreeWalkMode::PreOrder, |folder, entry| {
        if entry.kind() == Some(ObjectType::Commit) {
            let name = String::from_utf8_lossy(entry.name_bytes());
            commits.push((format!("{folder}{name}"), entry.id()));
        }
        TreeWalkResult::Ok
    })?;
    if commits.is_empty() {
        return Ok(Vec::new());
    }
    let text = match tree.get_name(".gitmodules") {
        Some(entry) => repo.find_blob(entry.id())?.content().to_vec(),
        None => Vec::new(),
    };
    let mut entries = parse(&text).context("reading .gitmodules")?;
    commits
        .into_iter()
        .map(|(path, commit)| {
            let Some((name, url)) = entries.remove(&path) else {
                bail!(
                    "the commit records a submodule at `{path}`, but its .gitmodules has no address for it"
                );
            };
            Ok(Recorded {
                name,
                path,
                url,
                commit,
            })
        })
        .collect()
}

/// Path -> name and address, of the entries that have both.
fn parse(text: &[u8]) -> Result<HashMap<String, (String, String)>> {
    // git's configuration format; libgit2 reads it from files only.
    let dir = tempfile::tempdir()?;
    let file = dir.path().join("gitmodules");
    fs_err::write(&file, text)?;
    let config = git2::Config::open(&file)?;
    let mut fields: HashMap<String, (Option<String>, Option<String>)> = HashMap::new();
    let mut entries = config.entries(None)?;
    while let Some(entry) = entries.next() {
        let entry = entry?;
        // A key without `=` has no value, and asking libgit2's binding for it would panic.
        if !entry.has_value() {
            continue;
        }
        let (Ok(key), Ok(value)) = (entry.name(), entry.value()) else {
            continue;
        };
        let Some(rest) = key.strip_prefix("submodule.") else {
            continue;
        };
        let Some((name, field)) = rest.rsplit_once('.') else {
            continue;
        };
        let slot = fields.entry(name.to_owned()).or_default();
        match field {
            "path" => slot.0 = Some(value.trim_end_matches('/').to_owned()),
            "url" => slot.1 = Some(value.to_owned()),
            _ => {}
        }
    }
    let mut found = HashMap::new();
    for (name, fields) in fields {
        if let (Some(path), Some(url)) = fields {
            if !is_inside(&path) {
                bail!(
                    "submodule `{name}` has the path `{path}`, which leads out of its repository"
                );
            }
            found.insert(path, (name, url));
        }
    }
    Ok(found)
}

/// Whether a path stays below the root and does not touch a `.git` folder.
fn is_inside(path: &str) -> bool {
    let plain = |component| matches!(component, Component::Normal(name) if !name.eq_ignore_ascii_case(".git"));
    !path.is_empty() && std::path::Path::new(path).components().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_read_as_git_reads_them() {
        let text = b"# comment\n[submodule \"components/a b/\xc3\xa9\"]\n\tpath = components/a b/\xc3\xa9\n\turl = ../../x/y.git\n\
            \tsbom-url = https://elsewhere\n[submodule \"no.path\"]\n\turl = z\n[submodule \"dotted.name\"]\n  path = \"d\" # end\n  url = https://h/d\n";
        let mut entries: Vec<_> = parse(text).unwrap().into_iter().collect();
        entries.sort();
        assert_eq!(
            entries,
            [
                (
                    "components/a b/é".into(),
                    ("components/a b/é".into(), "../../x/y.git".into())
                ),
                ("d".into(), ("dotted.name".into(), "https://h/d".into())),
            ]
        );
    }

    #[test]
    fn paths_that_lead_out_are_refused() {
        for path in ["../x", "/x", "a/../../x", ".git/modules/x", "a/.GIT"] {
            let text = format!("[submodule \"s\"]\n\tpath = {path}\n\turl = https://h/s\n");
            let error = format!("{:#}", parse(text.as_bytes()).unwrap_err());
            assert!(error.contains(path), "{error}");
        }
        assert!(parse(b"[submodule").is_err());
    }

    #[test]
    fn a_key_without_a_value_is_left_out() {
        assert_eq!(
            parse(b"[submodule \"s\"]\n\tpath = s\n\turl\n\tshallow\n").unwrap(),
            HashMap::new()
        );
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(\\[submodule \"[a-z./]{0,6}\"\\]\n)?(\t(path|url) = .{0,12}\n){0,3}.{0,20}") {
            let _ = parse(text.as_bytes());
        }
    }
}
