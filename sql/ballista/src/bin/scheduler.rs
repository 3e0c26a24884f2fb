//! The command `ogive-scheduler`.

use clap::Parser;
use ogive_ballista::{SchedulerArguments, run_process, run_scheduler};
use std::process::ExitCode;

fn main() -> ExitCode {
    run_process("ogive-scheduler", run_scheduler(SchedulerArguments::parse()))
}
