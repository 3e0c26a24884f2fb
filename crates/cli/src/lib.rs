//! The command `ogive` as a library: for its program, and for that of `ogive-research`, which adds sub-commands.
//!
//! Results go to standard output and everything else to standard error. Exit codes: 0 on success, 1 on an error or an
//! absent key, 2 on a usage error, 130 after an interrupt. A closed pipe is not an error.
//!
//! | folder or file | contents |
//! |---|---|
//! | `commands` | one file for each sub-command; `place`: the kind of a path or URL; `verbs`: the work on any kind |
//! | `args`, `command_line`, `short_help`, `hints` | flags; keys with a hyphen; `-h`; advice on unknown words |
//! | `input`, `reading` | readers of input files; pipes, standard input, samples |
//! | `values` | keys, values, dates and sizes as text |
//! | `beside` | indexes beside Parquet files |
//! | `export`, `parquet_out`, `output` | records in files of other formats; standard output |
//! | `failure`, `voice`, `advice` | errors with their exit codes, and what to do about them |
//! | `demo` | the demonstration |

mod advice;
mod args;
mod assess;
#[cfg(feature = "parquet")]
mod beside;
mod command_line;
mod commands;
mod demo;
mod disk_cache;
mod export;
mod failure;
mod hints;
mod info;
mod input;
mod interrupt;
mod load;
mod outcome;
mod output;
mod page_file;
#[cfg(feature = "parquet")]
mod parquet_out;
mod places;
mod program;
mod progress;
mod reading;
mod replace;
mod report;
mod shell;
mod short_help;
mod system;
mod urls;
mod values;
mod voice;
mod workload;

pub use program::{Extension, RunCommand, main, main_with};
