//! The project's own checks and chores, run as `cargo xtask COMMAND`.
//!
//! It has no dependencies, so that it compiles in a moment and runs before anything else is built.

mod book;
mod browser;
mod fuzz;
mod gate;
mod import;
mod long;
mod minio;
mod moto;
mod process;
mod python;
mod source;
mod sql;
mod targets;
mod test;
mod tidy;
mod vendor;
mod virtual_environment;

use std::path::PathBuf;
use std::process::ExitCode;

const HELP: &str = "\
The project's own checks and chores.

Usage: cargo xtask COMMAND

Commands:
  test [--long]                 run every check, in this order, and stop at the first that fails:
                                format, clippy, tidy, documentation without warnings,
                                unit, property and crash tests, fuzz targets on fixed inputs,
                                doc tests, examples, the Python package, pages in a browser, other systems, the book,
                                SQL
                                --long runs the long tests too; each is listed with its minutes first,
                                the workspace import/, which links other stores, and a store in use on MinIO
  test core                     the same without research/, and without the workspace sql/, whose dependencies compile
                                for minutes
  tidy                          check the rules of the house that no compiler knows (a second)
  targets                       check the library crates and the command for each supported system whose standard
                                library is installed, and name the others
  book                          build the pages of docs/ as a site in target/book, and check its links
  fuzz [TARGET] [--seconds N]   fuzz one decoder, or all in turn, for N seconds each (60 unless said);
                                without cargo-fuzz, installs it
  gate REVISION [NAME]          compare the cost of calls (those whose names contain NAME) with that of another
                                revision: processor time, the median of nine rounds (or --rounds N), or what
                                valgrind counts (--instructions); fails over 1.03
  browser                       test the pages of reports in Chromium
  vendor-charts                 fetch the chart library of reports as crates/report/assets/package-lock.json states it
                                (needs npm)
  help                          print this

What is missing is installed: rustfmt, clippy, cargo-fuzz, mdBook (in target/mdbook); moto and what tests of the Python
package and of pages need (in target/moto, target/python, target/browser), if there is Python; Chromium, by apt-get; and
for --long MinIO (in target/minio), if there is Go.
Exit codes: 0 all is well, 1 a check failed, 2 wrong usage.
";

/// Why a command did not succeed.
enum Failure {
    /// The command line makes no sense.
    Usage(String),
    /// A check or a tool failed; the message says which and what to do.
    Check(String),
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match dispatch(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Check(message)) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
        Err(Failure::Usage(message)) => {
            eprintln!("{message}\n\n{HELP}");
            ExitCode::from(2)
        }
    }
}

fn dispatch(words: &[&str]) -> Result<(), Failure> {
    let root = repository_root()?;
    match words {
        ["test"] => test::run(&root, false, false),
        ["test", "core"] => test::run(&root, false, true),
        ["test", "--long"] => test::run(&root, true, false),
        ["browser"] => browser::run(&root),
        ["vendor-charts"] => vendor::run(&root),
        ["tidy"] => tidy::run(&root),
        ["targets"] => targets::run(&root),
        ["book"] => book::run(&root),
        ["fuzz", rest @ ..] => fuzz::run(&root, rest),
        ["gate", rest @ ..] => gate::run(&root, rest),
        ["help" | "--help" | "-h", ..] | [_, "--help" | "-h"] => {
            print!("{HELP}");
            Ok(())
        }
        [] => Err(Failure::Usage("no command given".to_owned())),
        _ => Err(Failure::Usage(format!("unknown command or option: {}", words.join(" ")))),
    }
}

/// The folder above this crate. Cargo names the crate's folder when it runs us; a bare binary remembers where it was
/// built.
fn repository_root() -> Result<PathBuf, Failure> {
    let here =
        std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    match here.parent() {
        Some(root) if root.join("xtask").is_dir() => Ok(root.to_path_buf()),
        _ => Err(Failure::Check(format!("{} is not inside the repository; run `cargo xtask` there", here.display()))),
    }
}
