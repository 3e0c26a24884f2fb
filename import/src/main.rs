//! `ogive-import`: reads SQLite databases, LMDB environments and RocksDB folders into Ogive stores.
//!
//! Results go to standard output, everything else to standard error. Exit codes: 0 on success, 1 on an error, 2 on a
//! usage error, 130 after an interrupt.
//!
//! | file or folder | contents |
//! |---|---|
//! | `arguments`, `choice` | the command line; what is taken, and under which names |
//! | `kind`, `open`, `source` | the kind of a file by its first bytes; its opening; what all sources have in common |
//! | `sqlite`, `lmdb`, `rocksdb` | a source each |
//! | `import`, `target`, `unfinished` | the import itself; the keyspaces that it writes; marks of those under way |
//! | `checksum`, `check` | records as one number; the comparison of a keyspace with its source |
//! | `summary`, `failure`, `voice`, `interrupt` | what is printed, and when it ends early |

mod arguments;
mod check;
mod checksum;
mod choice;
mod failure;
mod import;
mod interrupt;
mod kind;
#[cfg(feature = "lmdb")]
mod lmdb;
mod open;
#[cfg(feature = "rocksdb")]
mod rocksdb;
mod source;
#[cfg(feature = "sqlite")]
mod sqlite;
mod summary;
mod target;
mod unfinished;
mod voice;

use arguments::Arguments;
use clap::Parser;
use failure::Failure;
use serde_json::json;
use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    let arguments = match Arguments::try_parse_from(&words) {
        Ok(arguments) => arguments,
        Err(error) => {
            // A closed pipe is not an error.
            _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let done = import::run(&arguments).and_then(|summary| {
        let text = if arguments.json { format!("{}\n", summary.to_json()) } else { summary.to_string() };
        io::stdout().lock().write_all(text.as_bytes()).map_err(Failure::from_output)
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => report(&failure, arguments.json),
    }
}

/// Prints a failure to standard error and, with `--json`, as an object to standard output.
fn report(failure: &Failure, is_json: bool) -> ExitCode {
    if !matches!(failure, Failure::ClosedPipe) {
        let (error, hint) = (failure.to_string(), failure.hint());
        // A failure of standard error cannot be reported.
        _ = writeln!(io::stderr(), "error: {error}");
        if let Some(hint) = &hint {
            _ = writeln!(io::stderr(), "hint: {hint}");
        }
        if is_json {
            _ = writeln!(io::stdout(), "{}", json!({ "error": error, "hint": hint }));
        }
    }
    ExitCode::from(failure.exit_code())
}
