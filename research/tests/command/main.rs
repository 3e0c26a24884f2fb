//! Whole runs of the commands of `ogive` in `ogive-research`. Goal: they work with every kind of index, design and join
//! method of the papers, and `ogive` says which program does. Method: the tests of the command `ogive`, with these.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(dead_code, reason = "the command's tests use the other helpers")]

mod designs;
#[path = "../../../crates/cli/tests/command/kinds.rs"]
mod kinds;
#[path = "../../../crates/cli/tests/command/methods.rs"]
mod methods;
mod repairs;
#[path = "../../../crates/cli/tests/command/run.rs"]
mod run;

/// The program under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_ogive-research");

/// Its kinds of index.
const KINDS: [&str; 12] = [
    "ogive",
    "aulid",
    "btree",
    "fiting",
    "pgm",
    "alex",
    "lipp",
    "fiting-btree",
    "pgm-btree",
    "alex-btree",
    "lipp-btree",
    "airindex",
];

/// Its methods of joins of tables.
const METHODS: [&str; 12] = [
    "auto",
    "merge",
    "hash",
    "inlj",
    "inlj:btree",
    "inlj:btree-iter",
    "inlj:pgm:64",
    "inlj:pgm-sampled",
    "inlj:radix-spline",
    "inlj:rmi",
    "partition",
    "partition:btree",
];
