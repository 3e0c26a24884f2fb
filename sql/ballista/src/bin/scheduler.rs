//! The command `ogive-scheduler`.

use clap::Parser;
use mimalloc::MiMalloc;
use ogive_ballista::{SchedulerArguments, run_process, run_scheduler};
use std::process::ExitCode;

/// Look-ups and plans allocate much, on several threads.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    run_process("ogive-scheduler", run_scheduler(SchedulerArguments::parse()))
}
