//! Links in place of the menu's folders. What one leads to may be the core's own libraries, so none is ever followed.

use std::path::{Path, PathBuf};

use crate::swap::place::{OWN, Place};

/// The link that stands where the tool folder, this tool's folder in it, or the folder of the core version should be.
pub(super) fn in_place_of(place: &Place) -> Option<PathBuf> {
    let folders = [place.tools.clone(), place.at(OWN), place.active()];
    folders.into_iter().find(|folder| is_link(folder))
}

pub(super) fn is_link(path: &Path) -> bool {
    path.symlink_metadata()
        .is_ok_and(|found| found.is_symlink())
}

/// What is said of one.
pub(super) fn told(link: &Path) -> String {
    format!(
        "{} is a link, which is not followed; remove the link (not what it leads to) for the menu to have that folder",
        link.display()
    )
}
