//! Checkouts of real repositories.
