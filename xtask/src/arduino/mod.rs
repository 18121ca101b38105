//! Arduino installations: where they are, and which libraries stand in them.

pub mod caches;
mod cli;
mod config;
pub mod cores;
pub mod data_dir;
mod elsewhere;
pub mod ide;
#[cfg(test)]
mod made_up;
pub mod surroundings;
mod windows_path;

pub use config::{Config, sketchbook};
pub use data_dir::{DataDir, FoundBy, Search, data_dir};
pub use elsewhere::Place;
pub use surroundings::{Os, Surroundings};
