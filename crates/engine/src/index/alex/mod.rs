//! ALEX on disk.
