//! The main function of the programs: command line, standard output, exit code.

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use clap::{Args, FromArgMatches, Subcommand};

use crate::error::with_causes;

/// A program, as its `--help` and `--version` describe it.
#[derive(Debug, Clone, Copy)]
pub struct Program {
    /// Its name.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
    /// What it does, in one line.
    pub about: &'static str,
}

/// The command line of a program with the sub-commands `C`.
#[derive(Debug, Args)]
struct ProgramArguments<C: Subcommand> {
    #[command(subcommand)]
    command: C,
    /// Print one JSON object per line
    #[arg(long, global = true)]
    json: bool,
}

impl Program {
    /// Parses the command line and runs the sub-command, with whether it prints JSON, and with standard output.
    ///
    /// Prints an error to standard error. The exit code is 0 on success and after a closed pipe, 1 on an error, and 2
    /// on wrong usage.
    pub fn main<C: Subcommand>(self, run: impl FnOnce(&C, bool, &mut dyn Write) -> anyhow::Result<()>) -> ExitCode {
        let mut parser = ProgramArguments::<C>::augment_args(clap::Command::new(self.name));
        parser = parser.version(self.version).about(self.about);
        let parsed = ProgramArguments::<C>::from_arg_matches_mut(&mut parser.get_matches_mut());
        let arguments = parsed.unwrap_or_else(|error| error.format(&mut parser).exit());
        with_output(|out| run(&arguments.command, arguments.json, out))
    }
}

/// Runs a sub-command with standard output, and prints its error to standard error. The exit code is that of
/// [`Program::main`].
pub(crate) fn with_output(run: impl FnOnce(&mut dyn Write) -> anyhow::Result<()>) -> ExitCode {
    let mut out = BufWriter::new(io::stdout().lock());
    match run(&mut out).and_then(|()| Ok(out.flush()?)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", with_causes(&error));
            ExitCode::FAILURE
        }
    }
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
