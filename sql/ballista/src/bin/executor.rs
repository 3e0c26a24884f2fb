//! The command `ogive-executor`.

use clap::Parser;
use ogive_ballista::{ExecutorArguments, run_executor, run_process};
use std::process::ExitCode;

fn main() -> ExitCode {
    run_process("ogive-executor", run_executor(ExecutorArguments::parse()))
}
