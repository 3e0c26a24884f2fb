//! The `ogive-research` command: key sets and experiments.
//!
//! Results go to standard output and everything else to standard error. Exit codes: 0 on success, 1 on an error, 2 on
//! wrong usage. A closed pipe is not an error.

use std::process::ExitCode;

use ogive_research::BenchCommand;
use ogive_research::command_line::Program;
use ogive_research::experiments::MemoryGauge;
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

const PROGRAM: Program = Program {
    name: "ogive-research",
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
