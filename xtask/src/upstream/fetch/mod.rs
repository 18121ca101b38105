//! The edge to repositories elsewhere, and the rule who crosses it.
//!
//! * A folder of this machine is read by libgit2 itself ([`Libgit`]), without any transport: no git program is needed,
//!   and exactly the wanted commit's content is copied. (libgit2's own local transport refuses shallow fetches.)
//! * Everything else goes through the git program ([`GitProgram`]) where one is on the PATH. libgit2 lacks: fetching
//!   commits without their content (`--filter`), protocol 2 (with which servers give any commit by its id), ssh, the
//!   user's credential helpers, and on Linux https (built without OpenSSL, so that nothing but a C compiler is needed).
//! * Without a git program libgit2 fetches over http, and over https where it was built with it (Windows, macOS). It
//!   cannot leave content out, so a commit that no branch or tag points to costs a whole fetch of its branch.
//! * What neither can fetch is an error that says so.

mod libgit;
mod program;
mod progress;
mod sparse;

pub(super) use libgit::{Libgit, open};
pub(super) use program::GitProgram;
pub(super) use sparse::{Listed, Sparse};

use std::sync::OnceLock;

use anyhow::{Result, bail};
use git2::{Oid, Repository};

use super::address::{Address, Scheme};
use crate::progress::Report;

/// A branch or tag that a repository shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Advertised {
    /// Full name, `refs/heads/...` or `refs/tags/...`.
    pub(super) name: String,
    /// The commit; for an annotated tag the one that it was made for.
    pub(super) commit: Oid,
}

/// A commit to bring, and tags that name it.
#[derive(Debug)]
pub(super) struct Want<'a> {
    /// The commit.
    pub(super) commit: Oid,
    /// Names of tags there that point to it; they arrive as [`tag_ref`].
    pub(super) tags: &'a [String],
}

/// Where a tag of `commit` is kept in a mirror. Tags of servers move; below the commit's id they cannot clash.
pub(super) fn tag_ref(commit: Oid, tag: &str) -> String {
    format!("refs/tagged/{commit}/{tag}")
}

/// What came of asking for a commit by its id.
#[derive(Debug)]
pub(super) enum Brought {
    /// It was sent.
    Commit,
    /// The server gives no commits by id, or does not have it; its words.
    Refused(String),
}

/// How much history to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reach {
    /// One branch down to so many commits from its head; all of it with `None`.
    Branch {
        /// Its name, without `refs/heads/`.
        name: String,
        /// Commits from the head.
        depth: Option<u32>,
    },
    /// All branches and tags, with whole histories.
    Everything,
}

/// Talks to repositories elsewhere.
pub(super) trait Fetcher: Sync {
    /// Branches and tags of the repository.
    fn advertised(&self, from: &Address) -> Result<Vec<Advertised>>;

    /// Brings a commit without its history, and its tags, into a mirror.
    fn bring(
        &self,
        from: &Address,
        want: &Want<'_>,
        into: &Repository,
        report: Report<'_>,
    ) -> Result<Brought>;

    /// Whether history can be had without content, so that asking for it in steps is cheap.
    fn has_bare_history(&self, from: &Address) -> bool;

    /// A repository that holds the commits in `reach`: `scratch` after a fetch into it, or the one at `from` itself.
    ///
    /// With `content` every tree and file comes too; without, only where leaving them out is not possible.
    fn history(
        &self,
        from: &Address,
        reach: &Reach,
        content: bool,
        scratch: Repository,
        report: Report<'_>,
    ) -> Result<Repository>;
}

/// Both ways, chosen by the rule of this module.
#[derive(Debug)]
pub(super) struct Fetchers {
    libgit: Libgit,
    /// Looked for when it is first wanted: on a Mac without developer tools, asking for git opens a window.
    program: OnceLock<Option<GitProgram>>,
}

impl Fetchers {
    /// Will look for a git program on the PATH.
    pub(super) fn new() -> Self {
        Self {
            libgit: Libgit,
            program: OnceLock::new(),
        }
    }

    fn choose(&self, from: &Address) -> Result<&dyn Fetcher> {
        let scheme = match from {
            Address::Folder(_) => return Ok(&self.libgit),
            Address::Server { scheme, .. } => scheme,
        };
        if let Some(program) = self.program.get_or_init(GitProgram::find) {
            return Ok(program);
        }
        match scheme {
            Scheme::Http => Ok(&self.libgit),
            Scheme::Https if git2::Version::get().https() => Ok(&self.libgit),
            _ => bail!(
                "{from} cannot be fetched: there is no git program on the PATH, and the built-in libgit2 has no support \
                 for {}; install git, or name a local copy with --mirror FROM=FOLDER",
                scheme.name()
            ),
        }
    }
}

impl Fetcher for Fetchers {
    fn advertised(&self, from: &Address) -> Result<Vec<Advertised>> {
        self.choose(from)?.advertised(from)
    }

    fn bring(
        &self,
        from: &Address,
        want: &Want<'_>,
        into: &Repository,
        report: Report<'_>,
    ) -> Result<Brought> {
        self.choose(from)?.bring(from, want, into, report)
    }

    fn has_bare_history(&self, from: &Address) -> bool {
        self.choose(from)
            .is_ok_and(|fetcher| fetcher.has_bare_history(from))
    }

    fn history(
        &self,
        from: &Address,
        reach: &Reach,
        content: bool,
        scratch: Repository,
        report: Report<'_>,
    ) -> Result<Repository> {
        self.choose(from)?
            .history(from, reach, content, scratch, report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_git_program_folders_work_and_ssh_is_an_error_that_says_what_to_do() {
        let bare = Fetchers {
            libgit: Libgit,
            program: OnceLock::from(None),
        };
        for address in ["/srv/a.git", "http://127.0.0.1/a.git"] {
            assert!(
                bare.choose(&Address::parse(address).unwrap()).is_ok(),
                "{address}"
            );
        }
        let error = bare
            .choose(&Address::parse("git@host:a.git").unwrap())
            .err()
            .unwrap();
        let error = error.to_string();
        assert!(
            ["git@host:a.git", "ssh", "install git", "--mirror"]
                .iter()
                .all(|part| error.contains(part)),
            "{error}"
        );
        let https = bare.choose(&Address::parse("https://host/a.git").unwrap());
        assert_eq!(https.is_ok(), git2::Version::get().https());
    }
}
