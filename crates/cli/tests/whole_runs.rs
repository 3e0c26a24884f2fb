//! Whole runs of the command. Method: the built program runs in temporary folders; its output, exit code and files are
//! compared with expectations.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod command;
