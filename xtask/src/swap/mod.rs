//! Stage 6: is one whole tree in place, whatever happened?
//!
//! The names in the tool folder are `<core>` (the libraries that sketches are built with), `<core>.stock` (Espressif's,
//! kept) and `<core>.<suffix>` (patched ones, set aside). An install unpacks into `.xip/new`, verifies every file, waits for
//! the disk, writes a journal, and then renames: `<core>` to `<core>.stock`, `.xip/new` to `<core>`. A revert is two renames.
//! All that changes something goes through [`Disk`].
//!
//! A run may die between any two steps. What it was about to do stands in its journal, and the folders tell how far it came:
//! the next install or revert undoes an install that had not put its tree in place, and finishes everything else. Two rules
//! make that safe: stock libraries are only ever renamed between their two names, never written into; and nothing is
//! removed before its successor is in place.

mod archive;
mod content;
mod disk;
mod install;
mod journal;
mod listing;
pub mod menu;
mod place;
mod plan;
mod preflight;
mod record;
mod revert;
mod state;
mod unpack;
mod yard;

pub use content::{Content, Origin, Patched};
pub use disk::{Disk, RealDisk};
pub use install::{InstallOptions, Installed, Outcome, install};
pub use journal::{Remedy, Run};
pub use listing::Depth;
pub use place::{Place, tool_folder};
pub use plan::Move;
pub use record::InstallRecord;
pub use revert::{RevertOptions, Reverted, revert};
pub use state::{Aside, CoreState, State, Unfinished, state};
pub use yard::{Caches, Recovered};

#[cfg(test)]
mod tests;
