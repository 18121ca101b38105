//! Builds, installs and proves Arduino core libraries for the ESP32-S3 whose program runs from PSRAM.
//!
//! Data flows one way, a module a stage:
//! [`release`] (pins) -> [`upstream`] (sources) -> [`patchset`] (patched sources) -> [`build`] (built libraries)
//! -> [`package`] (zip) -> [`swap`] (installed tree) -> [`verify`] (verdict); [`audit`] looks before, at what a patch set
//! will do. [`pipeline`] and [`commands`] wire the stages together; nothing below them prints, prompts or exits.

pub mod arduino;
pub mod audit;
pub mod build;
pub mod cli;
pub mod commands;
pub mod config;
pub mod demo;
pub mod digest;
pub mod engine;
pub mod exit;
pub mod hazards;
pub mod http;
pub mod libs;
pub mod names;
pub mod package;
pub mod patchset;
pub mod patient_rename;
pub mod pipeline;
pub mod progress;
pub mod release;
pub mod slashed;
pub mod swap;
#[cfg(test)]
mod testing;
pub mod ui;
pub mod upstream;
pub mod verify;
pub mod whole_file;
pub mod workdir;
