//! A few files of one commit, by the git program: the commit's folders without content (`--filter=blob:none`), then, through a
//! sparse checkout, the content of these files alone. libgit2 can do neither.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use fs_err as fs;
use git2::{Oid, Repository};

use super::super::address::Address;
use super::program::{GitProgram, refuses_ids};
use crate::progress::Report;

/// Files by their paths, each with its blob id.
pub(in crate::upstream) type Listed = BTreeMap<String, Oid>;

/// What came of it.
pub(in crate::upstream) enum Sparse {
    /// The files are there.
    Files(Listed),
    /// The server gives no commits by id; its words.
    Refused(String),
}

impl GitProgram {
    /// Puts the files and folders `paths` of `commit` into `to`. `scratch` is a folder for a repository that is of no use after.
    pub(in crate::upstream) fn few_files(
        &self,
        from: &Address,
        commit: Oid,
        paths: &[String],
        scratch: &Path,
        to: &Path,
        report: Report<'_>,
    ) -> Result<Sparse> {
        Repository::init_bare(scratch)?;
        let url = from.to_string();
        let commit = commit.to_string();
        for (key, value) in [
            ("core.autocrlf", "false"),
            ("core.longpaths", "true"),
            ("core.sparseCheckout", "true"),
            ("core.sparseCheckoutCone", "false"),
            ("remote.origin.url", &url),
        ] {
            self.read(scratch, &["config", key, value])?;
        }
        let patterns: String = paths.iter().map(|path| format!("/{path}\n")).collect();
        fs::create_dir_all(scratch.join("info"))?;
        fs::write(scratch.join("info").join("sparse-checkout"), patterns)?;
        let specs = [commit.clone()];
        // By the remote's name: a filter is remembered with it, and the checkout asks there for what is missing.
        match self.fetch(
            scratch,
            "origin",
            &["--depth=1", "--filter=blob:none"],
            &specs,
            report,
        )? {
            Ok(()) => {}
            Err(words) if refuses_ids(&words) => return Ok(Sparse::Refused(words)),
            Err(words) => return Err(anyhow!("fetching {commit} from {url}: {words}")),
        }
        let tree = to
            .to_str()
            .with_context(|| format!("the path {} is not UTF-8", to.display()))?;
        let work_tree = format!("--work-tree={tree}");
        self.read(
            scratch,
            &[&work_tree, "checkout", "--quiet", "--detach", &commit],
        )?;
        let mut list = vec!["ls-tree", "-r", "-z", "--full-tree", &commit, "--"];
        list.extend(paths.iter().map(String::as_str));
        Ok(Sparse::Files(listed(&self.read(scratch, &list)?)?))
    }

    fn read(&self, git_dir: &Path, arguments: &[&str]) -> Result<String> {
        let name = arguments
            .iter()
            .find(|word| !word.starts_with('-'))
            .copied()
            .unwrap_or_default();
        let output = self
            .command(git_dir, arguments)?
            .output()
            .with_context(|| format!("starting git {name}"))?;
        if !output.status.success() {
            bail!(
                "git {name}: {}",
                String::from_utf8_lossy(&output.stderr).trim()
            );
        }
        String::from_utf8(output.stdout).with_context(|| format!("git {name} does not speak UTF-8"))
    }
}

/// Reads what `git ls-tree -r -z` lists; submodules are left out.
fn listed(text: &str) -> Result<Listed> {
    let mut files = Listed::new();
    for entry in text.split('\0').filter(|entry| !entry.is_empty()) {
        let unreadable = || format!("`git ls-tree` says `{entry}`, which is no entry of a tree");
        let (head, path) = entry.split_once('\t').with_context(unreadable)?;
        match head.split(' ').collect::<Vec<_>>()[..] {
            [_, "blob", id] => {
                files.insert(path.to_owned(), Oid::from_str(id).with_context(unreadable)?);
            }
            [_, _, _] => {}
            _ => bail!(unreadable()),
        }
    }
    Ok(files)
}
