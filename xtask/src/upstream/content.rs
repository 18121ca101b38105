//! What a commit is made of, its trees and files: proven to be there, or copied from one repository to another.

use std::collections::HashSet;
use std::io::Write;

use anyhow::{Context, Result, anyhow};
use git2::{ObjectType, Odb, OdbLookupFlags, Oid, Repository};

/// Takes an object's id, path and type.
type Visit<'a> = &'a mut dyn FnMut(Oid, &str, ObjectType) -> Result<()>;

/// Proves that the whole content of `commit` is in `repo`: every object is read, and libgit2 compares its hash.
///
/// # Errors
/// The first object that is missing or damaged, with its path.
pub(super) fn verify(repo: &Repository, commit: Oid) -> Result<()> {
    let odb = repo.odb()?;
    walk(repo, commit, &mut |oid, path, kind| {
        if kind == ObjectType::Blob {
            odb.read(oid).with_context(|| lacking(oid, path))?;
        }
        Ok(())
    })
}

/// Whether every object below `commit` is listed in `repo`; contents are not read.
pub(super) fn is_present(repo: &Repository, commit: Oid) -> bool {
    let Ok(odb) = repo.odb() else { return false };
    walk(repo, commit, &mut |oid, path, kind| {
        if kind == ObjectType::Blob && !odb.exists_ext(oid, OdbLookupFlags::NO_REFRESH) {
            return Err(anyhow!(lacking(oid, path)));
        }
        Ok(())
    })
    .is_ok()
}

/// Copies `commit` without its history from one repository into another as one pack, with the `extra` objects (tags).
///
/// What `into` already has is left out. `progress` gets objects done and in all.
pub(super) fn copy(
    from: &Repository,
    into: &Repository,
    commit: Oid,
    extra: &[Oid],
    progress: &dyn Fn(usize, usize),
) -> Result<()> {
    let target = into.odb()?;
    let mut pack = plain_pack(from)?;
    walk(from, commit, &mut |oid, path, _| {
        if !target.exists_ext(oid, OdbLookupFlags::NO_REFRESH) {
            pack.insert_object(oid, Some(path))
                .with_context(|| lacking(oid, path))?;
        }
        Ok(())
    })?;
    for &oid in extra {
        pack.insert_object(oid, None)?;
    }
    if pack.object_count() == 0 {
        return Ok(());
    }
    stream(pack, &target, progress)
}

/// A pack builder that stores objects as they are: looking for differences between them takes ten times as long as the rest.
///
/// libgit2 has no call for it. It skips objects above a size, which it reads from `pack.deltaCacheSize` (1.9's
/// `pack-objects.c`, where `core.bigFileThreshold` is meant); the settings reach this handle of the repository only.
fn plain_pack(repo: &Repository) -> Result<git2::PackBuilder<'_>> {
    let dir = tempfile::tempdir()?;
    let file = dir.path().join("config");
    fs_err::write(
        &file,
        "[core]\n\tbigFileThreshold = 1\n[pack]\n\tdeltaCacheSize = 1\n",
    )?;
    repo.config()?
        .add_file(&file, git2::ConfigLevel::App, true)?;
    let mut pack = repo.packbuilder()?;
    pack.set_threads(0);
    Ok(pack)
}

fn stream(
    mut pack: git2::PackBuilder<'_>,
    target: &Odb<'_>,
    progress: &dyn Fn(usize, usize),
) -> Result<()> {
    let total = pack.object_count();
    let mut writer = target.packwriter()?;
    writer.progress(move |state| {
        progress(state.received_objects(), total);
        true
    });
    let mut failed = None;
    let outcome = pack.foreach(|bytes| {
        // The binding's own error says `Write error`; why is known to libgit2, until its next call.
        failed = writer
            .write_all(bytes)
            .err()
            .map(|_| git2::Error::last_error(-1));
        failed.is_none()
    });
    if let Some(error) = failed {
        return Err(error.into());
    }
    outcome?;
    writer.commit()?;
    Ok(())
}

/// Calls `visit` once for the commit and once for each tree and file below it, with its path.
///
/// Commits of submodules are not content of the repository and are left out.
fn walk(repo: &Repository, commit: Oid, visit: Visit<'_>) -> Result<()> {
    let root = repo
        .find_commit(commit)
        .with_context(|| format!("commit {commit} is missing or damaged"))?
        .tree_id();
    visit(commit, "", ObjectType::Commit)?;
    let mut seen = HashSet::from([root]);
    let mut trees = vec![(root, String::new())];
    while let Some((oid, path)) = trees.pop() {
        visit(oid, &path, ObjectType::Tree)?;
        let tree = repo.find_tree(oid).with_context(|| lacking(oid, &path))?;
        for entry in &tree {
            let (id, name) = (entry.id(), String::from_utf8_lossy(entry.name_bytes()));
            let below = if path.is_empty() {
                name.into_owned()
            } else {
                format!("{path}/{name}")
            };
            match entry.kind() {
                Some(ObjectType::Commit) => {}
                _ if !seen.insert(id) => {}
                Some(ObjectType::Tree) => trees.push((id, below)),
                _ => visit(id, &below, ObjectType::Blob)?,
            }
        }
    }
    Ok(())
}

fn lacking(oid: Oid, path: &str) -> String {
    format!("object {oid} (`{path}`) is missing or damaged")
}
