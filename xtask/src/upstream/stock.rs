//! Brings the content of repositories into mirrors, where an earlier run has not.

use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result, bail};
use git2::{Oid, Repository};
use rayon::prelude::*;

use super::address::{self, Address};
use super::fetch::{Brought, Fetcher, Reach, Want};
use super::mirror::Mirror;
use super::mirrors::Mirrors;
use super::repositories::{self, Repository as Known};
use super::submodules::{self, Recorded};
use super::worktree::{Head, Holding, Submodule};
use super::{content, resolve, version};
use crate::progress::{Event, Report};
use crate::release::SourcePin;
use crate::workdir::WorkDir;

/// A repository and its pin.
pub(super) type Pair<'a> = (&'static Known, &'a SourcePin);

/// Submodules fetched at a time: small repositories wait for the server, not for the line; servers refuse more.
const AT_A_TIME: usize = 4;

/// Deepest nesting of submodules; a loop of repositories that contain each other ends here.
const DEEPEST: usize = 8;

/// What the mirrors hold, and the way to more.
pub(super) struct Stock<'a> {
    pub(super) work: &'a WorkDir,
    pub(super) mirrors: &'a Mirrors,
    pub(super) offline: bool,
    pub(super) fetcher: &'a dyn Fetcher,
}

impl Stock<'_> {
    /// The pinned commit's content, submodules included.
    pub(super) fn pinned(&self, (known, pin): &Pair<'_>, report: Report<'_>) -> Result<Holding> {
        let mirror = Mirror::open(self.work, &repositories::mirror_name(known.url), report)?;
        let commit = match self.known(&mirror, pin) {
            Some(commit) => commit,
            None => {
                self.refuse_offline(&format!("{} at {}", known.name, shown(pin)), known.url)?;
                report(Event::Step(&format!("fetch {}", known.name)));
                self.fetch_pinned(known, pin, &mirror, report)?
            }
        };
        let head = head(&mirror, commit, &pin.refs);
        Ok(Holding {
            url: known.url.to_owned(),
            mirror: mirror.folder(),
            commit,
            version: self.version(known, pin, &mirror, commit, &head, report)?,
            head,
            abbrev: Some(pin.commit.len()).filter(|digits| *digits < 40),
            submodules: self.submodules(known.name, known.url, &mirror, commit, 1, report)?,
        })
    }

    /// The pin's commit, where it was resolved before and its content is here.
    pub(super) fn known(&self, mirror: &Mirror, pin: &SourcePin) -> Option<Oid> {
        mirror.resolved(pin).filter(|commit| mirror.has(*commit))
    }

    pub(super) fn fetch_pinned(
        &self,
        known: &Known,
        pin: &SourcePin,
        mirror: &Mirror,
        report: Report<'_>,
    ) -> Result<Oid> {
        let from = self.address(known.url)?;
        let context = || {
            format!(
                "fetching {} {} from {}",
                known.name,
                shown(pin),
                described(known.url, &from)
            )
        };
        let _lock = mirror.lock(report)?;
        // Another run may have brought it while this one waited.
        if let Some(commit) = self.known(mirror, pin) {
            return Ok(commit);
        }
        let meaning =
            resolve::resolve(self.fetcher, &from, pin, mirror, report).with_context(context)?;
        let commit = meaning.commit;
        let (agreeing, others): (Vec<_>, Vec<_>) =
            meaning.tags.into_iter().partition(|tag| tag.agrees);
        let tags: Vec<String> = agreeing.into_iter().map(|tag| tag.name).collect();
        self.bring(
            &from,
            &Want {
                commit,
                tags: &tags,
            },
            mirror,
            report,
        )
        .with_context(context)?;
        for name in tags
            .into_iter()
            .chain(others.into_iter().map(|tag| tag.name))
        {
            if mirror.tag(commit, &name).is_none() {
                report(Event::Warning(&format!(
                    "{}: the tag {name} is not at {commit} in {from}; the commit is used, with a tag of that name at it",
                    known.name
                )));
                mirror.keep_light_tag(commit, &name)?;
            }
        }
        mirror.keep_resolved(pin, commit)?;
        Ok(commit)
    }

    /// Brings a commit into the mirror and proves it whole. The mirror's lock is held.
    fn bring(
        &self,
        from: &Address,
        want: &Want<'_>,
        mirror: &Mirror,
        report: Report<'_>,
    ) -> Result<()> {
        if mirror.has(want.commit)
            && want
                .tags
                .iter()
                .all(|tag| mirror.tag(want.commit, tag).is_some())
        {
            return Ok(());
        }
        if let Brought::Refused(words) = self.fetcher.bring(from, want, &mirror.repo, report)? {
            let whole = self.whole_history(from, want.commit, mirror, &words, report)?;
            let progress = |done: usize, total: usize| {
                report(Event::Count {
                    done: done as u64,
                    total: total as u64,
                    unit: "objects",
                });
            };
            content::copy(&whole, &mirror.repo, want.commit, &[], &progress)?;
            copy_tags(&whole, &mirror.repo, want)?;
        }
        mirror.trust(want.commit)
    }

    /// All of the repository, for a server that gives no commits by their ids.
    fn whole_history(
        &self,
        from: &Address,
        commit: Oid,
        mirror: &Mirror,
        words: &str,
        report: Report<'_>,
    ) -> Result<Repository> {
        let looked_at = self.fetcher.history(
            from,
            &Reach::Everything,
            false,
            mirror.scratch("history")?,
            report,
        )?;
        if looked_at.find_commit(commit).is_err() {
            bail!(
                "no branch or tag leads to commit {commit}, and the server does not give it by its id ({words})"
            );
        }
        if content::is_present(&looked_at, commit) {
            return Ok(looked_at);
        }
        report(Event::Note(&format!(
            "{from} gives no commits by their ids: all of it is fetched, which takes longer"
        )));
        self.fetcher.history(
            from,
            &Reach::Everything,
            true,
            mirror.scratch("whole")?,
            report,
        )
    }

    /// The text for a `version.txt`, where the work tree alone cannot tell its version.
    fn version(
        &self,
        known: &Known,
        pin: &SourcePin,
        mirror: &Mirror,
        commit: Oid,
        head: &Head,
        report: Report<'_>,
    ) -> Result<Option<String>> {
        if !known.described {
            return Ok(None);
        }
        let told_by =
            |(name, object): &(String, Oid)| version::answers(&mirror.repo, name, *object);
        if matches!(head, Head::Detached(tags) if tags.iter().any(told_by)) {
            return Ok(None);
        }
        let text = match mirror.description(commit) {
            Some(text) => text,
            None => self
                .describe(known, pin, mirror, commit, report)?
                .unwrap_or_default(),
        };
        if text.is_empty() {
            report(Event::Warning(&format!(
                "{}: the history that tells its version is not at hand, so the build will not name {} as upstream's did",
                known.name, commit
            )));
            return Ok(None);
        }
        Ok(Some(text))
    }

    /// `git describe` of the commit, kept beside the mirror; `None` where history would cost a whole fetch.
    fn describe(
        &self,
        known: &Known,
        pin: &SourcePin,
        mirror: &Mirror,
        commit: Oid,
        report: Report<'_>,
    ) -> Result<Option<String>> {
        let from = self.address(known.url)?;
        if self.offline || !self.fetcher.has_bare_history(&from) {
            return Ok(None);
        }
        report(Event::Step(&format!("read the history of {}", known.name)));
        let _lock = mirror.lock(report)?;
        let history = self
            .fetcher
            .history(
                &from,
                &Reach::Everything,
                false,
                mirror.scratch("history")?,
                report,
            )
            .with_context(|| format!("reading the history of {}", described(known.url, &from)))?;
        let digits = Some(pin.commit.len()).filter(|digits| *digits < 40);
        let text = version::describe(&history, commit, digits)?.unwrap_or_default();
        mirror.keep_description(commit, &text)?;
        Ok(Some(text))
    }

    /// Submodules of a commit in `mirror`, several at a time; nested ones by those who fetch their parents.
    fn submodules(
        &self,
        name: &str,
        url: &str,
        mirror: &Mirror,
        commit: Oid,
        depth: usize,
        report: Report<'_>,
    ) -> Result<Vec<Submodule>> {
        let recorded =
            submodules::of(&mirror.repo, commit).with_context(|| format!("submodules of {url}"))?;
        if recorded.is_empty() {
            return Ok(Vec::new());
        }
        if depth > DEEPEST {
            bail!(
                "submodules are nested more than {DEEPEST} deep at {url}; do they contain each other?"
            );
        }
        let bring = |one: &Recorded| {
            self.submodule(url, one, depth, report)
                .with_context(|| format!("submodule {} of {url}", one.path))
        };
        if depth > 1 {
            return super::all(recorded.iter().map(bring).collect());
        }
        report(Event::Step(&format!("submodules of {name}")));
        let (done, total) = (AtomicU64::new(0), recorded.len() as u64);
        let counted = |one: &Recorded| {
            report(Event::Detail(&one.path));
            let result = bring(one);
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            report(Event::Count {
                done,
                total,
                unit: "submodules",
            });
            result
        };
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(AT_A_TIME)
            .build()?;
        super::all(pool.install(|| recorded.par_iter().map(counted).collect()))
    }

    fn submodule(
        &self,
        parent: &str,
        recorded: &Recorded,
        depth: usize,
        report: Report<'_>,
    ) -> Result<Submodule> {
        let url = address::resolve(parent, &recorded.url)?;
        let mirror = Mirror::open(self.work, &repositories::mirror_name(&url), report)?;
        if !mirror.has(recorded.commit) {
            self.refuse_offline(&format!("commit {}", recorded.commit), &url)?;
            let from = self.address(&url)?;
            // Several at once: only what must be seen may pass, a bar has room for one.
            let quiet = |event: Event<'_>| match event {
                Event::Warning(_) | Event::Note(_) => report(event),
                _ => {}
            };
            let _lock = mirror.lock(&quiet)?;
            let want = Want {
                commit: recorded.commit,
                tags: &[],
            };
            self.bring(&from, &want, &mirror, &quiet).with_context(|| {
                format!(
                    "fetching {} from {}",
                    recorded.commit,
                    described(&url, &from)
                )
            })?;
        }
        Ok(Submodule {
            name: recorded.name.clone(),
            path: recorded.path.clone(),
            holding: Holding {
                submodules: self.submodules(
                    &recorded.name,
                    &url,
                    &mirror,
                    recorded.commit,
                    depth + 1,
                    report,
                )?,
                mirror: mirror.folder(),
                url,
                commit: recorded.commit,
                head: Head::Detached(Vec::new()),
                abbrev: None,
                version: None,
            },
        })
    }

    pub(super) fn address(&self, url: &str) -> Result<Address> {
        Address::parse(&self.mirrors.map(url))
    }

    pub(super) fn refuse_offline(&self, what: &str, url: &str) -> Result<()> {
        if self.offline {
            bail!("{what} ({url}) was not fetched by an earlier run; run once without --offline");
        }
        Ok(())
    }
}

/// Takes the tags that are wanted along, from a repository that has all of them.
fn copy_tags(from: &Repository, into: &Repository, want: &Want<'_>) -> Result<()> {
    let (source, target) = (from.odb()?, into.odb()?);
    for tag in want.tags {
        let Ok(reference) = from.find_reference(&format!("refs/tags/{tag}")) else {
            continue;
        };
        let Some(oid) = reference.target() else {
            continue;
        };
        if oid != want.commit {
            let object = source.read(oid)?;
            target.write(object.kind(), object.data())?;
        }
        into.reference(
            &super::fetch::tag_ref(want.commit, tag),
            oid,
            true,
            "tag of a pinned commit",
        )?;
    }
    Ok(())
}

/// HEAD of the work tree: on the branch that the pin names, or at its tags.
fn head(mirror: &Mirror, commit: Oid, refs: &[String]) -> Head {
    let tags: Vec<_> = refs
        .iter()
        .filter_map(|name| Some((name.clone(), mirror.tag(commit, name)?)))
        .collect();
    match refs {
        [branch] if tags.is_empty() => Head::Branch(branch.clone()),
        _ => Head::Detached(tags),
    }
}

/// A pin as `versions.txt` has it.
fn shown(pin: &SourcePin) -> String {
    let mut words = pin.refs.clone();
    words.push(pin.commit.clone());
    words.join(" ")
}

/// An address, and what a mirror option made of it.
fn described(url: &str, from: &Address) -> String {
    let from = from.to_string();
    if from == url {
        from
    } else {
        format!("{url} (mirrored at {from})")
    }
}
