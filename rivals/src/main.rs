//! `ogive-rivals`: Ogive beside other embedded stores, on the same workloads.
//!
//! Each system runs in a process of its own, so that its memory can be told; the processes take turns, so that what
//! else the machine does falls on all of them. Results go to standard output and everything else to standard error.
//! Exit codes: 0; 1 for an error; 2 for wrong usage.

mod arguments;
mod conduct;
#[cfg(feature = "slatedb")]
mod objects;
mod process;
mod protocol;
mod report;
mod store;
mod systems;
mod worker;
mod workloads;

use std::io::Write;
use std::process::ExitCode;

use arguments::Command;
use ogive_bench::command_line::Program;

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
        Command::List => report::list(out, json),
        Command::Run(run) => conduct::run(run, out, json),
        #[cfg(feature = "slatedb")]
        Command::Objects(run) => objects::run(run, out, json),
        Command::Worker { setup } => worker::serve(setup, out),
    }
}
