//! `ogive-rivals`: Ogive beside other embedded stores, on the same workloads.
//!
//! The workloads, the processes and the report are those of `ogive-research stores`; this program adds the other
//! systems. Results go to standard output and everything else to standard error. Exit codes: 0; 1 for an error; 2 for
//! wrong usage.

mod arguments;
#[cfg(feature = "slatedb")]
mod objects;
mod systems;
mod transfers;

use std::io::Write;
use std::process::ExitCode;

use arguments::Command;
use ogive_research::command_line::Program;
use ogive_research::stores::StoreBench;

const PROGRAM: Program = Program {
    name: "ogive-rivals",
    version: env!("CARGO_PKG_VERSION"),
    about: "Runs Ogive and other embedded stores on the same workloads",
};

fn main() -> ExitCode {
    PROGRAM.main(run)
}

fn run(command: &Command, json: bool, out: &mut dyn Write) -> anyhow::Result<()> {
    match command {
        Command::Stores(command) => {
            let bench = systems::others().into_iter().fold(StoreBench::new(&["worker"]), StoreBench::store);
            bench.run(command, json, out)
        }
        Command::Transfers(run) => transfers::run(run, out, json),
        #[cfg(feature = "slatedb")]
        Command::Objects(run) => objects::run(run, out, json),
    }
}
