//! Whole runs on a real folder: what they leave, and what they leave when a step fails or is the last.

mod faults;
mod runs;
mod sequences;
pub(super) mod world;
