//! The layout of a libraries tree: memory variants, flags, archives, sdkconfig.h, manifest.

pub mod manifest;
