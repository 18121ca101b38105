//! The installers for people without Rust, as build-libs places them: run by the shells of the systems that they are for.
#![allow(
    clippy::unwrap_used,
    reason = "what a test's helpers cannot do fails the test"
)]

#[path = "../../src/testing.rs"]
mod testing;
#[cfg(unix)]
mod unix;
#[cfg(target_os = "linux")]
mod windows;
#[cfg(target_os = "linux")]
#[path = "../wine/mod.rs"]
mod wine;
mod world;
