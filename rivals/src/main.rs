//! `ogive-rivals`: Ogive beside other embedded stores, on the same workloads.
//!
//! Each system runs in a process of its own, so that its memory can be told; the processes take turns, so that what
//! else the machine does falls on all of them. Results go to standard output and everything else to standard error.
//! Exit codes: 0; 1 for an error; 2 for wrong usage.

mod arguments;
mod conduct;
mod process;
mod protocol;
mod report;
mod store;
mod systems;
mod worker;
mod workloads;

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let arguments = arguments::Arguments::parse();
    let mut out = BufWriter::new(io::stdout().lock());
    let done = run(&arguments, &mut out).and_then(|()| Ok(out.flush()?));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &arguments::Arguments, out: &mut dyn Write) -> anyhow::Result<()> {
    match &arguments.command {
        arguments::Command::List => report::list(out, arguments.json),
        arguments::Command::Run(run) => conduct::run(run, out, arguments.json),
        arguments::Command::Worker { setup } => worker::serve(setup, out),
    }
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
