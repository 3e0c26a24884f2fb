//! LIPP on disk.
