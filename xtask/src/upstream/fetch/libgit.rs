//! Folders of this machine, and http servers where there is no git program.

use std::path::Path;

use anyhow::{Context, Result, bail};
use git2::{
    AutotagOption, Direction, FetchOptions, Oid, ProxyOptions, RemoteCallbacks, Repository,
};

use super::super::{address::Address, content};
use super::{Advertised, Brought, Fetcher, Reach, Want, tag_ref};
use crate::progress::{Event, Report};

/// libgit2.
#[derive(Debug)]
pub(in crate::upstream) struct Libgit;

impl Fetcher for Libgit {
    fn advertised(&self, from: &Address) -> Result<Vec<Advertised>> {
        match from {
            Address::Folder(folder) => shown_by(&open(folder)?),
            Address::Server { url, .. } => {
                let mut remote = git2::Remote::create_detached(url.as_str())?;
                let connection = remote
                    .connect_auth(Direction::Fetch, None, Some(proxy()))
                    .with_context(|| format!("asking {from} for its branches and tags"))?;
                let heads = connection.list()?;
                Ok(peel(
                    heads
                        .iter()
                        .map(|head| (head.name().to_owned(), head.oid())),
                ))
            }
        }
    }

    fn bring(
        &self,
        from: &Address,
        want: &Want<'_>,
        into: &Repository,
        report: Report<'_>,
    ) -> Result<Brought> {
        match from {
            Address::Folder(folder) => {
                copy(&open(folder)?, want, into, report).map(|()| Brought::Commit)
            }
            Address::Server { url, .. } => {
                let mut specs = vec![want.commit.to_string()];
                specs.extend(
                    want.tags
                        .iter()
                        .map(|tag| format!("+refs/tags/{tag}:{}", tag_ref(want.commit, tag))),
                );
                match download(url, into, &specs, Some(1), report) {
                    Ok(()) => Ok(Brought::Commit),
                    Err(error) if refuses_ids(&error) => {
                        Ok(Brought::Refused(error.message().to_owned()))
                    }
                    Err(error) => {
                        Err(error).with_context(|| format!("fetching {} from {from}", want.commit))
                    }
                }
            }
        }
    }

    fn has_bare_history(&self, from: &Address) -> bool {
        // A folder's own repository is looked into: nothing is fetched at all.
        matches!(from, Address::Folder(_))
    }

    fn history(
        &self,
        from: &Address,
        reach: &Reach,
        _content: bool,
        scratch: Repository,
        report: Report<'_>,
    ) -> Result<Repository> {
        let url = match from {
            Address::Folder(folder) => return open(folder),
            Address::Server { url, .. } => url,
        };
        let specs = match reach {
            Reach::Branch { name, .. } => vec![format!("+refs/heads/{name}:refs/heads/{name}")],
            Reach::Everything => vec![
                "+refs/heads/*:refs/heads/*".to_owned(),
                "+refs/tags/*:refs/tags/*".to_owned(),
            ],
        };
        download(url, &scratch, &specs, None, report)
            .with_context(|| format!("fetching the history of {from}"))?;
        Ok(scratch)
    }
}

/// Opens the repository in a folder, `.git` at its end or not.
pub(in crate::upstream) fn open(folder: &Path) -> Result<Repository> {
    let Some(found) = Address::existing(folder) else {
        bail!(
            "there is no git repository at {} (nor with `.git` added or taken away)",
            folder.display()
        );
    };
    Repository::open(&found).with_context(|| {
        format!(
            "opening the git repository {} (if it belongs to another user: git config --global --add safe.directory {0})",
            found.display()
        )
    })
}

fn shown_by(repo: &Repository) -> Result<Vec<Advertised>> {
    let mut shown = Vec::new();
    for reference in repo.references()? {
        let reference = reference?;
        let Ok(name) = reference.name() else { continue };
        if !(name.starts_with("refs/heads/") || name.starts_with("refs/tags/")) {
            continue;
        }
        if let Ok(commit) = reference.peel_to_commit() {
            shown.push(Advertised {
                name: name.to_owned(),
                commit: commit.id(),
            });
        }
    }
    Ok(shown)
}

/// Branches and tags out of a server's list, in which the commit of an annotated tag follows as `name^{}`.
pub(super) fn peel(list: impl Iterator<Item = (String, Oid)>) -> Vec<Advertised> {
    let mut shown: Vec<Advertised> = Vec::new();
    for (name, oid) in list {
        if let Some(tag) = name.strip_suffix("^{}") {
            if let Some(last) = shown.last_mut().filter(|last| last.name == tag) {
                last.commit = oid;
            }
        } else if name.starts_with("refs/heads/") || name.starts_with("refs/tags/") {
            shown.push(Advertised { name, commit: oid });
        }
    }
    shown
}

fn copy(from: &Repository, want: &Want<'_>, into: &Repository, report: Report<'_>) -> Result<()> {
    let place = from.path().display().to_string();
    let mut tags = Vec::new();
    for tag in want.tags {
        let target = from
            .find_reference(&format!("refs/tags/{tag}"))
            .ok()
            .and_then(|reference| reference.target());
        if let Some(target) = target {
            tags.push((tag, target));
        }
    }
    // A light tag points to the commit itself, which is copied anyway.
    let annotated: Vec<Oid> = tags
        .iter()
        .map(|(_, target)| *target)
        .filter(|target| *target != want.commit)
        .collect();
    let progress = |done: usize, total: usize| {
        report(Event::Count {
            done: done as u64,
            total: total as u64,
            unit: "objects",
        });
    };
    content::copy(from, into, want.commit, &annotated, &progress)
        .with_context(|| format!("copying commit {} from {place}", want.commit))?;
    for (tag, target) in tags {
        into.reference(
            &tag_ref(want.commit, tag),
            target,
            true,
            "tag of a pinned commit",
        )?;
    }
    Ok(())
}

fn download(
    url: &str,
    into: &Repository,
    specs: &[String],
    depth: Option<i32>,
    report: Report<'_>,
) -> Result<(), git2::Error> {
    let mut callbacks = RemoteCallbacks::new();
    callbacks.transfer_progress(|state| {
        report(Event::Count {
            done: state.received_objects() as u64,
            total: state.total_objects() as u64,
            unit: "objects",
        });
        report(Event::Detail(&format!(
            "{:.1} MB",
            state.received_bytes() as f64 / 1e6
        )));
        true
    });
    let mut options = FetchOptions::new();
    options
        .remote_callbacks(callbacks)
        .proxy_options(proxy())
        .download_tags(AutotagOption::None)
        .update_fetchhead(false);
    if let Some(depth) = depth {
        options.depth(depth);
    }
    into.remote_anonymous(url)?
        .fetch(specs, Some(&mut options), None)
}

fn proxy() -> ProxyOptions<'static> {
    let mut options = ProxyOptions::new();
    options.auto();
    options
}

/// Whether the server said that it gives no commits by id, rather than that the connection failed.
fn refuses_ids(error: &git2::Error) -> bool {
    super::program::refuses_ids(error.message())
        || error.message().contains("cannot fetch a specific object")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotated_tags_count_as_the_commit_that_they_were_made_for() {
        let id = |digit: char| Oid::from_str(&digit.to_string().repeat(40)).unwrap();
        let shown = peel(
            [
                ("HEAD", '1'),
                ("refs/heads/master", '1'),
                ("refs/pull/7/head", '2'),
                ("refs/tags/light", '3'),
                ("refs/tags/v1", '4'),
                ("refs/tags/v1^{}", '5'),
            ]
            .map(|(name, digit)| (name.to_owned(), id(digit)))
            .into_iter(),
        );
        let text: Vec<_> = shown
            .iter()
            .map(|one| (one.name.as_str(), one.commit))
            .collect();
        assert_eq!(
            text,
            [
                ("refs/heads/master", id('1')),
                ("refs/tags/light", id('3')),
                ("refs/tags/v1", id('5'))
            ]
        );
    }
}
