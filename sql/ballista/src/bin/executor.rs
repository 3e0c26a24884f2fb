//! The command `ogive-executor`.

use clap::Parser;
use mimalloc::MiMalloc;
use ogive_ballista::{ExecutorArguments, run_executor, run_process};
use std::process::ExitCode;

/// Look-ups and plans allocate much, on several threads.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    run_process("ogive-executor", run_executor(ExecutorArguments::parse()))
}
