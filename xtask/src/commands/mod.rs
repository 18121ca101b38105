//! One file a subcommand: read the arguments, decide, call stages, print.

pub mod build_libs;
pub mod demo;
pub mod patches;
pub mod pins;
