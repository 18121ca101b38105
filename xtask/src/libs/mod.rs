//! The layout of a libraries tree: memory variants, flags, archives, sdkconfig.h, manifest.

pub mod files;
pub mod flags;
pub mod layout;
pub mod manifest;
pub mod sdkconfig;
mod tree;
mod value;

pub use tree::Tree;
pub use value::Value;
