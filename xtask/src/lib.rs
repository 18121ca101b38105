//! Builds, installs and proves Arduino core libraries for the ESP32-S3 whose program runs from PSRAM.
//!
//! Data flows one way, a module a stage:
//! [`release`] (pins) -> [`upstream`] (sources) -> [`patchset`] (patched sources) -> [`build`] (built libraries)
//! -> [`package`] (zip). [`pipeline`] and [`commands`] wire the stages together; nothing below it prints, prompts or exits.

pub mod arduino;
pub mod build;
pub mod cli;
pub mod commands;
pub mod config;
pub mod demo;
pub mod digest;
pub mod engine;
pub mod exit;
pub mod firmware;
pub mod http;
pub mod libs;
pub mod names;
pub mod package;
pub mod patchset;
pub mod pipeline;
pub mod progress;
pub mod release;
#[cfg(test)]
mod testing;
pub mod ui;
pub mod upstream;
pub mod whole_file;
pub mod workdir;
