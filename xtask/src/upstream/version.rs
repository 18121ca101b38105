//! The text that `git describe` prints for a commit whose history is not in the work tree.

use anyhow::{Context, Result};
use git2::{DescribeFormatOptions, DescribeOptions, ErrorCode, Oid, Repository};

/// What ESP-IDF's build passes to `git describe` (ESP-IDF `tools/cmake/build.cmake`).
const PATTERN: &str = "v*.*";

/// Digits of an abbreviated id in a repository as large as ESP-IDF, where the pin does not show it.
const DIGITS: u32 = 10;

/// What `git describe --match=v*.*` prints for `commit`; `None` where no such tag is in its history.
pub(super) fn describe(
    history: &Repository,
    commit: Oid,
    digits: Option<usize>,
) -> Result<Option<String>> {
    let mut options = DescribeOptions::new();
    options.pattern(PATTERN);
    let object = history.find_object(commit, None)?;
    let described = match object.describe(&options) {
        Ok(described) => described,
        Err(error) if error.code() == ErrorCode::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("describing {commit}")),
    };
    let mut format = DescribeFormatOptions::new();
    format.abbreviated_size(
        digits
            .and_then(|digits| u32::try_from(digits).ok())
            .unwrap_or(DIGITS),
    );
    Ok(Some(described.format(Some(&format))?))
}

/// Whether `tag` alone answers `git describe --match=v*.*`: an annotated tag of that form at the commit.
pub(super) fn answers(repo: &Repository, tag: &str, object: Oid) -> bool {
    tag.starts_with('v') && tag.contains('.') && repo.find_tag(object).is_ok()
}
