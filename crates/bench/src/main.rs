//! The `ogive-bench` command: key sets and experiments.
//!
//! Results go to standard output and everything else to standard error. Exit codes: 0 on success, 1 on an error, 2 on
//! wrong usage. A closed pipe is not an error.

use std::process::ExitCode;

use ogive_bench::BenchCommand;
use ogive_bench::command_line::Program;
use ogive_bench::experiments::MemoryGauge;
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

const PROGRAM: Program = Program {
    name: "ogive-bench",
    version: env!("CARGO_PKG_VERSION"),
    about: "Generate sorted key sets and run the experiments of the papers",
};

/// The memory gauge of the experiments: the counting allocator.
const MEMORY: MemoryGauge = MemoryGauge {
    start: || {
        ALLOCATOR.reset_peak_usage();
        ALLOCATOR.current_usage() as u64
    },
    peak_bytes: || ALLOCATOR.peak_usage() as u64,
};

fn main() -> ExitCode {
    BenchCommand::new(PROGRAM).memory(MEMORY).main()
}
