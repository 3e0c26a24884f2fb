//! The `ogive-research` command: the whole command `ogive` with what the papers add to it, key sets and experiments.
//!
//! Results go to standard output and everything else to standard error. Exit codes are those of `ogive`: 0 on success,
//! 1 on an error or an absent key, 2 on wrong usage. A closed pipe is not an error.

use std::process::ExitCode;

use ogive_cli::Extension;
use ogive_research::BenchCommand;
use ogive_research::command_line::Program;
use ogive_research::experiments::MemoryGauge;
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

const PROGRAM: Program = Program {
    name: "ogive-research",
    version: env!("CARGO_PKG_VERSION"),
    about: "The command ogive with structures, designs, join methods and policies of papers, and their experiments",
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
    ogive_research::register();
    let bench = BenchCommand::new(PROGRAM).memory(MEMORY);
    ogive_cli::main_with(Extension {
        name: PROGRAM.name,
        about: PROGRAM.about,
        commands: BenchCommand::commands(),
        run: Box::new(move |arguments, json| bench.run(arguments, json)),
    })
}
