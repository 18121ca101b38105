//! Reproduce before replace: objects compiled from stock settings are compared with the release's own.

use std::fmt;
use std::path::Path;

use anyhow::{Context, Result};
use fs_err as fs;

use super::archive::Archive;
use super::compare;
use super::targets::Target;

/// A stock object that did not come out as the release has it.
#[derive(Debug)]
pub(super) struct Finding {
    /// The archive, relative to the tree.
    pub(super) archive: String,
    /// The member.
    pub(super) member: String,
    /// What differs.
    pub(super) what: What,
}

/// What differs.
#[derive(Debug)]
pub(super) enum What {
    /// The release's object was made by another compiler.
    Compiler {
        /// The one that made the release's.
        theirs: String,
        /// The one used here.
        ours: String,
    },
    /// Code or data.
    Content(compare::Difference),
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}: ", self.archive, self.member)?;
        match &self.what {
            What::Compiler { theirs, ours } => {
                write!(f, "compiled by `{theirs}`, here by `{ours}`")
            }
            What::Content(difference) => {
                write!(
                    f,
                    "{difference} (the release's against the one compiled here)"
                )
            }
        }
    }
}

/// Compares the object at `object`, compiled for `target`, with the release's member in `archive`.
pub(super) fn compare(
    target: &Target<'_>,
    archive: &Archive<'_>,
    object: &Path,
) -> Result<Option<Finding>> {
    let ours = fs::read(object)?;
    let theirs = archive.member(&target.source.member)?.data;
    let context = || format!("comparing {} of {}", target.source.member, target.archive);
    let finding = |what| Finding {
        archive: target.archive.clone(),
        member: target.source.member.clone(),
        what,
    };
    // A member that does not say its compiler has to be told by its code.
    if let (Some(theirs), Some(ours)) = (compare::compiler(theirs)?, compare::compiler(&ours)?)
        && theirs != ours
    {
        return Ok(Some(finding(What::Compiler { theirs, ours })));
    }
    let difference = compare::objects(theirs, &ours).with_context(context)?;
    Ok(difference.map(|difference| finding(What::Content(difference))))
}

/// All that was found, in words.
pub(super) fn told(findings: &[Finding], of: usize) -> String {
    let lines: Vec<String> = findings.iter().map(Finding::to_string).collect();
    format!(
        "{} of {of} stock objects do not come out as the release has them, so patched ones could not be trusted either:\n  {}",
        findings.len(),
        lines.join("\n  ")
    )
}
