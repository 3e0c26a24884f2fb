//! The `ogive` command: tables, indexes, stores and joins from the command line.

use std::process::ExitCode;

fn main() -> ExitCode {
    ogive_cli::main()
}
