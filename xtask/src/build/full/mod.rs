//! Upstream's own build.sh, driven at pinned commits.
