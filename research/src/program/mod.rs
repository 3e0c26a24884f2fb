//! The command `ogive-research`, with the structures, key sets and stores that a program of another crate adds to it.

mod arguments;
mod bench;
mod commands;
mod papers;

pub use bench::BenchCommand;
