//! The demonstration's parts: a small upstream that is compiled in, git repositories made of it, an Arduino installation
//! with its stock libraries, and what differs between two libraries trees.

pub mod arduino;
pub mod content;
pub mod difference;
pub mod repositories;
