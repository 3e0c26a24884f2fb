//! The `ogive-bench` command: key sets and experiments.
//!
//! Results go to standard output and everything else to standard error. Exit codes: 0 on success, 1 on an error, 2 on
//! wrong usage. A closed pipe is not an error.

mod arguments;
mod commands;

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use clap::Parser;
use ogive_bench::experiments::MemoryGauge;
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// The memory gauge of the experiments: the counting allocator.
const MEMORY: MemoryGauge = MemoryGauge {
    start: || {
        ALLOCATOR.reset_peak_usage();
        ALLOCATOR.current_usage() as u64
    },
    peak_bytes: || ALLOCATOR.peak_usage() as u64,
};

fn main() -> ExitCode {
    ogive_papers::register();
    let arguments = arguments::Arguments::parse();
    let mut out = BufWriter::new(io::stdout().lock());
    let done = commands::run(&arguments, &mut out).and_then(|()| Ok(out.flush()?));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
