//! Arduino installations: where they are, and which libraries stand in them.

pub mod data_dir;

pub use data_dir::{DataDir, data_dir};
