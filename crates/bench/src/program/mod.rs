//! The command `ogive-bench`, with the structures and key sets that a program of another crate adds to it.

mod arguments;
mod bench;
mod commands;
mod papers;

pub use bench::BenchCommand;
