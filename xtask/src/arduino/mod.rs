//! Arduino installations: where they are, and which libraries stand in them.
