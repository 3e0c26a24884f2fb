//! `ogive sql`: starts the command `ogive-sql`, which is built separately, since its query engine takes minutes to
//! compile.

use crate::failure::{Failure, Result};
use crate::outcome::Outcome;
use crate::output::Output;
use crate::urls;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};

const PROGRAM: &str = "ogive-sql";

const EXAMPLES: &str = "\
Examples:
  ogive sql users.ogive                   a shell in which `users` is a table
  ogive sql users.ogive \"select count(*) from users\"
  ogive sql \"select * from 'users.ogive' where id in (1, 2, 3)\" --json
  ogive sql report.sql
  ogive sql -- --help                     all options";

/// Run SQL over tables and Parquet, CSV and JSON files (by ogive-sql, installed apart)
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SqlArguments {
    /// Arguments for ogive-sql
    #[arg(value_name = "ARGUMENT", trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// Runs the command.
pub(crate) fn run(arguments: &SqlArguments, output: &mut Output) -> Result<Outcome> {
    let mut command = Command::new(program());
    command.args(urls::storage_option_words()).args(&arguments.arguments);
    if output.is_json() {
        command.args(["--format", "json"]);
    }
    match started(&mut command) {
        Ok(status) if status.success() => Ok(Outcome::Done),
        // It said why.
        Ok(_) => Ok(Outcome::Negative),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(Failure::refused(
            format!("{PROGRAM} is not installed"),
            "in a clone of the repository: cargo install --path sql/shell",
        )),
        Err(source) => Err(Failure::File { action: "start", path: PROGRAM.to_owned(), source }),
    }
}

/// Becomes the program: its exit code is that of this process, and Ctrl-C reaches it alone.
#[cfg(unix)]
fn started(command: &mut Command) -> std::io::Result<ExitStatus> {
    Err(std::os::unix::process::CommandExt::exec(command))
}

/// Runs the program to its end.
#[cfg(not(unix))]
fn started(command: &mut Command) -> std::io::Result<ExitStatus> {
    command.status()
}

/// The program beside this one, else the one that the shell would find.
fn program() -> PathBuf {
    let name = format!("{PROGRAM}{}", std::env::consts::EXE_SUFFIX);
    let beside = std::env::current_exe().ok().and_then(|own| Some(own.parent()?.join(&name)));
    beside.filter(|path| path.is_file()).unwrap_or_else(|| PathBuf::from(name))
}
