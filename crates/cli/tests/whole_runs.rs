//! Whole runs of the command. Method: the built program runs in temporary folders; its output, exit code and files are
//! compared with expectations.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod command;

/// The program under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_ogive");

/// Its kinds of index.
const KINDS: [&str; 2] = ["ogive", "btree"];

/// Its methods of joins of tables.
const METHODS: [&str; 5] = ["auto", "merge", "hash", "inlj", "partition"];
