//! Puts the patched objects into copies of the stock archives.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use super::archive::Archive;
use super::compare;
use super::targets::Target;
use crate::digest::sha256;
use crate::libs::manifest::MemberRecord;
use crate::progress::{Event, Report};

/// What came of it.
pub(super) struct Replaced {
    /// The new archives: path relative to the tree, with `/` -> content.
    pub(super) archives: BTreeMap<String, Vec<u8>>,
    /// Every member that is another now.
    pub(super) members: Vec<MemberRecord>,
}

/// Replaces the member of each target by its object. A member whose code and data stay is left as it is, and told.
pub(super) fn replace(
    targets: &[Target<'_>],
    archives: &BTreeMap<&str, Archive<'_>>,
    objects: &[Vec<u8>],
    report: Report<'_>,
) -> Result<Replaced> {
    let mut members = Vec::new();
    let mut new: BTreeMap<&str, BTreeMap<String, Vec<u8>>> = BTreeMap::new();
    for (target, object) in targets.iter().zip(objects) {
        let member = &target.source.member;
        let stock = archives[target.archive.as_str()].member(member)?.data;
        if compare::objects(stock, object)?.is_none() {
            report(Event::Note(&format!(
                "{}, {member}: the set does not change it",
                target.archive
            )));
            continue;
        }
        members.push(MemberRecord {
            archive: target.archive.clone(),
            member: member.clone(),
            before: sha256(stock),
            after: sha256(object),
        });
        new.entry(&target.archive)
            .or_default()
            .insert(member.clone(), object.clone());
    }
    let rewrite = |(path, members): (&str, BTreeMap<String, Vec<u8>>)| {
        let archive = archives[path]
            .replace(&members)
            .with_context(|| format!("rewriting {path}"))?;
        Ok((path.to_owned(), archive))
    };
    Ok(Replaced {
        archives: new.into_iter().map(rewrite).collect::<Result<_>>()?,
        members,
    })
}
