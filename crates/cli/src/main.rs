//! The `ogive` command: tables, indexes, stores and joins from the command line.
//!
//! Results go to standard output and everything else to standard error. Exit codes: 0 on success, 1 on an error or an
//! absent key, 2 on a usage error, 130 after an interrupt. A closed pipe is not an error.

mod args;
mod assess;
#[cfg(feature = "parquet")]
mod beside;
mod bounds;
mod command_line;
mod commands;
mod dates;
mod demo;
mod disk_cache;
mod export;
mod external;
mod failure;
mod hints;
mod info;
mod input;
mod interrupt;
mod key;
mod load;
mod lookups;
mod outcome;
mod output;
mod page_file;
#[cfg(feature = "parquet")]
mod parquet_out;
mod pipe;
mod progress;
mod reads;
mod records;
mod replace;
mod report;
mod sample;
mod shell;
mod short_help;
mod size;
mod source;
mod standard_input;
mod system;
mod table_text;
mod urls;
mod value;
mod words;
mod workload;

use failure::Failure;
use outcome::Outcome;
use output::{Output, note};
use serde_json::json;
use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    ogive_papers::register();
    interrupt::tell_file_size_limits();
    let words: Vec<OsString> = std::env::args_os().collect();
    let arguments = match command_line::parse(&words) {
        Ok(arguments) => arguments,
        Err(error) => return refuse(&error, &words),
    };
    urls::register(&arguments.storage_options, arguments.cache.as_ref());
    let mut output = Output::new(arguments.json);
    let outcome = arguments.run(&mut output).and_then(|outcome| output.flush().map(|()| outcome));
    disk_cache::note_failure();
    match outcome {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Negative) => ExitCode::from(1),
        Err(failure) => report(&failure, &mut output),
    }
}

/// Prints help and version to standard output, and usage errors to standard error; with `--json`, also as an object to
/// standard output.
fn refuse(error: &clap::Error, words: &[OsString]) -> ExitCode {
    // A closed pipe is not an error.
    let _ = error.print();
    let code = u8::try_from(error.exit_code()).unwrap_or(2);
    let json_asked = words.iter().skip(1).take_while(|word| *word != "--").any(|word| word == "--json");
    if code != 0 && json_asked {
        let rendered = error.to_string();
        let hint = rendered.lines().find_map(|line| line.trim().strip_prefix("tip: ")).unwrap_or("run `ogive --help`");
        let _ = Output::new(true).json(&json!({ "error": first_paragraph(&rendered), "hint": hint }));
    }
    ExitCode::from(code)
}

/// The first paragraph of a usage error, before the synopsis, on one line.
fn first_paragraph(rendered: &str) -> String {
    let paragraph = rendered.split("\n\n").next().unwrap_or_default();
    let words: Vec<&str> = paragraph.split_whitespace().collect();
    words.join(" ").trim_start_matches("error: ").to_owned()
}

/// Prints a failure to standard error and, with `--json`, as an object to standard output.
fn report(failure: &Failure, output: &mut Output) -> ExitCode {
    if !matches!(failure, Failure::ClosedPipe) {
        note(format_args!("error: {failure}"));
        if let Some(hint) = failure.hint() {
            note(format_args!("hint: {hint}"));
        }
        if output.is_json() {
            // A second failure of the same stream adds nothing.
            let _ = output.json(&json!({ "error": failure.to_string(), "hint": failure.hint() }));
        }
    }
    let _ = output.flush();
    ExitCode::from(failure.exit_code())
}
