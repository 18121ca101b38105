//! Which commit does a pin mean? Short ids are looked for ever further, and never guessed.

use anyhow::{Context, Result, bail};
use git2::{ErrorCode, ObjectType, Oid, Repository};

use super::address::Address;
use super::fetch::{Advertised, Fetcher, Reach};
use super::mirror::Mirror;
use crate::progress::Report;
use crate::release::SourcePin;

/// Commits from a branch's head that are looked at, step by step, before all of it.
const DEPTHS: [u32; 3] = [64, 512, 4096];

/// What a pin means.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Meaning {
    /// The commit.
    pub(super) commit: Oid,
    /// Its names that are tags, not a branch.
    pub(super) tags: Vec<Tag>,
}

/// A tag that a pin names.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tag {
    /// Its name.
    pub(super) name: String,
    /// Whether the server's tag of that name points to the pinned commit.
    pub(super) agrees: bool,
}

/// Finds the commit of `pin`. Scratch repositories are made beside `mirror`, whose lock must be held.
///
/// # Errors
/// A short id that is not found, or that several commits have; the error says what was tried.
pub(super) fn resolve(
    fetcher: &dyn Fetcher,
    from: &Address,
    pin: &SourcePin,
    mirror: &Mirror,
    report: Report<'_>,
) -> Result<Meaning> {
    let shown = fetcher.advertised(from)?;
    let commit = match full(&pin.commit) {
        Some(commit) => commit,
        None => search(fetcher, from, pin, &shown, mirror, report)?,
    };
    Ok(Meaning {
        tags: tags(&pin.refs, commit, &shown),
        commit,
    })
}

/// The id, where all of its 40 digits are given.
pub(super) fn full(id: &str) -> Option<Oid> {
    if id.len() == 40 {
        Oid::from_str(id).ok()
    } else {
        None
    }
}

fn search(
    fetcher: &dyn Fetcher,
    from: &Address,
    pin: &SourcePin,
    shown: &[Advertised],
    mirror: &Mirror,
    report: Report<'_>,
) -> Result<Oid> {
    let mut tried = vec![format!(
        "the {} branches and tags that it shows",
        shown.len()
    )];
    if let Some(commit) = among(shown, pin)? {
        return Ok(commit);
    }
    let (reaches, absent) = reaches(pin, shown, fetcher.has_bare_history(from));
    tried.extend(
        absent
            .iter()
            .map(|name| format!("`{name}` (it has no such branch now)")),
    );
    for reach in reaches {
        let scratch = mirror.scratch("history")?;
        let repo = fetcher.history(from, &reach, false, scratch, report)?;
        match look_up(&repo, &pin.commit)?.as_slice() {
            [] => tried.push(reach.to_string()),
            [one] => return Ok(*one),
            several => match narrowed(&repo, several, pin, shown)?.as_slice() {
                [one] => return Ok(*one),
                _ => return Err(ambiguous(pin, several)),
            },
        }
    }
    bail!(
        "no commit {} of {} was found in {from}; tried: {}. Is it another repository or a rewritten history? \
         Name a source that has the commit with --mirror FROM=TO, or correct the pin in a file for --versions",
        pin.commit,
        pin.name,
        tried.join(", ")
    )
}

/// The commit among those that branches and tags point to, the pin's own names first.
fn among(shown: &[Advertised], pin: &SourcePin) -> Result<Option<Oid>> {
    let mut matching: Vec<Oid> = shown
        .iter()
        .filter(|one| one.commit.to_string().starts_with(&pin.commit))
        .map(|one| one.commit)
        .collect();
    matching.sort();
    matching.dedup();
    let named = |commit: &&Oid| {
        shown.iter().any(|one| {
            one.commit == **commit && pin.refs.iter().any(|name| short_name(&one.name) == name)
        })
    };
    match matching.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(*one)),
        several => match several.iter().filter(named).collect::<Vec<_>>().as_slice() {
            [one] => Ok(Some(**one)),
            _ => Err(ambiguous(pin, several)),
        },
    }
}

/// The steps of a search, and those names of the pin that are no branch there.
fn reaches(pin: &SourcePin, shown: &[Advertised], in_steps: bool) -> (Vec<Reach>, Vec<String>) {
    let (mut reaches, mut absent) = (Vec::new(), Vec::new());
    for name in &pin.refs {
        if shown
            .iter()
            .any(|one| one.name == format!("refs/heads/{name}"))
        {
            let depths = if in_steps { DEPTHS.as_slice() } else { &[] };
            let depths = depths.iter().copied().map(Some).chain([None]);
            reaches.extend(depths.map(|depth| Reach::Branch {
                name: name.clone(),
                depth,
            }));
        } else if !shown
            .iter()
            .any(|one| one.name == format!("refs/tags/{name}"))
        {
            absent.push(name.clone());
        }
    }
    reaches.push(Reach::Everything);
    (reaches, absent)
}

/// Every commit of a repository whose id begins with `prefix`.
fn look_up(repo: &Repository, prefix: &str) -> Result<Vec<Oid>> {
    match repo.find_commit_by_prefix(prefix) {
        Ok(commit) => return Ok(vec![commit.id()]),
        Err(error) if error.code() == ErrorCode::NotFound => return Ok(Vec::new()),
        // Several objects, of which one may be a commit; or one that is not.
        Err(error) if error.code() == ErrorCode::Ambiguous => {}
        Err(error) => return Err(error).context(format!("looking up {prefix}")),
    }
    let odb = repo.odb()?;
    let mut found = Vec::new();
    odb.foreach(|oid| {
        if oid.to_string().starts_with(prefix) {
            found.push(*oid);
        }
        true
    })?;
    found.retain(|oid| matches!(odb.read_header(*oid), Ok((_, ObjectType::Commit))));
    found.sort();
    found.dedup();
    Ok(found)
}

/// Of several commits, those that the pin's own branch or tag leads to.
fn narrowed(
    repo: &Repository,
    commits: &[Oid],
    pin: &SourcePin,
    shown: &[Advertised],
) -> Result<Vec<Oid>> {
    let tips: Vec<Oid> = shown
        .iter()
        .filter(|one| pin.refs.iter().any(|name| short_name(&one.name) == name))
        .map(|one| one.commit)
        .collect();
    let mut led_to = Vec::new();
    for &commit in commits {
        for &tip in &tips {
            if tip == commit || repo.graph_descendant_of(tip, commit)? {
                led_to.push(commit);
                break;
            }
        }
    }
    Ok(led_to)
}

fn ambiguous(pin: &SourcePin, commits: &[Oid]) -> anyhow::Error {
    let ids: Vec<_> = commits.iter().map(ToString::to_string).collect();
    anyhow::anyhow!(
        "`{}` of {} is short for {} commits: {}; write the full id into a file for --versions",
        pin.commit,
        pin.name,
        ids.len(),
        ids.join(", ")
    )
}

/// Which of a pin's names are tags. `versions.txt` holds one branch, or all tags at the commit (lib-builder `build.sh`:
/// `git symbolic-ref --short HEAD || git tag --points-at HEAD`); a single name that the server lost was a branch.
fn tags(refs: &[String], commit: Oid, shown: &[Advertised]) -> Vec<Tag> {
    let at = |full: String| {
        shown
            .iter()
            .find(|one| one.name == full)
            .map(|one| one.commit)
    };
    let tag = |name: &String| Tag {
        name: name.clone(),
        agrees: at(format!("refs/tags/{name}")) == Some(commit),
    };
    match refs {
        [name] => {
            let is_branch = at(format!("refs/heads/{name}")).is_some();
            let tagged = at(format!("refs/tags/{name}"));
            let is_tag = tagged.is_some() && (!is_branch || tagged == Some(commit));
            if is_tag { vec![tag(name)] } else { Vec::new() }
        }
        names => names.iter().map(tag).collect(),
    }
}

fn short_name(full: &str) -> &str {
    full.strip_prefix("refs/heads/")
        .or_else(|| full.strip_prefix("refs/tags/"))
        .unwrap_or(full)
}

impl std::fmt::Display for Reach {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Branch {
                name,
                depth: Some(depth),
            } => write!(f, "{depth} commits deep into branch {name}"),
            Self::Branch { name, depth: None } => write!(f, "all of branch {name}"),
            Self::Everything => f.write_str("all of every branch and tag"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(digits: &str) -> Oid {
        Oid::from_str(&format!("{digits:0<40}")).unwrap()
    }

    fn shown(list: &[(&str, &str)]) -> Vec<Advertised> {
        let one = |(name, commit): &(&str, &str)| Advertised {
            name: format!("refs/{name}"),
            commit: id(commit),
        };
        list.iter().map(one).collect()
    }

    fn pin(refs: &[&str], commit: &str) -> SourcePin {
        SourcePin {
            name: "esp-idf".into(),
            refs: refs.iter().map(|&name| name.into()).collect(),
            commit: commit.into(),
        }
    }

    #[test]
    fn names_of_a_pin_are_told_apart_as_branch_and_tags() {
        let shown = shown(&[
            ("heads/master", "aa"),
            ("heads/both", "bb"),
            ("tags/both", "cc"),
            ("tags/v1", "dd"),
            ("tags/v1.0", "dd"),
        ]);
        for (refs, commit, expected) in [
            (&["master"] as &[&str], "aa", &[] as &[(&str, bool)]),
            (&["master"], "dd", &[]),
            (&["gone"], "dd", &[]),
            (&[], "dd", &[]),
            (&["v1"], "dd", &[("v1", true)]),
            (&["v1"], "aa", &[("v1", false)]),
            (&["both"], "cc", &[("both", true)]),
            (&["both"], "bb", &[]),
            (&["both"], "aa", &[]),
            (
                &["v1", "v1.0", "gone"],
                "dd",
                &[("v1", true), ("v1.0", true), ("gone", false)],
            ),
        ] {
            let refs: Vec<_> = refs.iter().map(|&name| name.to_owned()).collect();
            let found = tags(&refs, id(commit), &shown);
            let found: Vec<_> = found
                .iter()
                .map(|tag| (tag.name.as_str(), tag.agrees))
                .collect();
            assert_eq!(found, expected, "{refs:?} {commit}");
        }
    }

    #[test]
    fn a_shown_commit_is_taken_when_it_is_the_only_one_or_the_pins_own() {
        let shown = shown(&[
            ("heads/master", "abcd1"),
            ("tags/v1", "abcd2"),
            ("tags/v2", "abcd2"),
        ]);
        let find = |refs: &[&str], commit| among(&shown, &pin(refs, commit));
        assert_eq!(find(&[], "abcd2").unwrap(), Some(id("abcd2")));
        assert_eq!(find(&["master"], "abcd").unwrap(), Some(id("abcd1")));
        assert_eq!(find(&["master"], "ffff").unwrap(), None);
        let error = find(&["other"], "abcd").unwrap_err().to_string();
        assert!(
            error.contains(&id("abcd1").to_string()) && error.contains("full id"),
            "{error}"
        );
    }

    #[test]
    fn a_search_goes_deeper_into_branches_that_exist_and_then_everywhere() {
        let shown = shown(&[("heads/master", "aa"), ("tags/v1", "aa")]);
        let (steps, absent) = reaches(&pin(&["master", "v1", "gone"], "bb"), &shown, true);
        let text: Vec<_> = steps.iter().map(ToString::to_string).collect();
        assert_eq!(
            text,
            [
                "64 commits deep into branch master",
                "512 commits deep into branch master",
                "4096 commits deep into branch master",
                "all of branch master",
                "all of every branch and tag",
            ]
        );
        assert_eq!(absent, ["gone"]);
        assert_eq!(reaches(&pin(&["master"], "bb"), &shown, false).0.len(), 2);
    }
}
