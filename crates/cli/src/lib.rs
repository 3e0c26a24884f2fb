//! The command `ogive` as a library: for its program, and for that of `ogive-research`, which adds sub-commands.
//!
//! Results go to standard output and everything else to standard error. Exit codes: 0 on success, 1 on an error or an
//! absent key, 2 on a usage error, 130 after an interrupt. A closed pipe is not an error.

mod advice;
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
mod program;
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
mod voice;
mod workload;

pub use program::{Extension, RunCommand, main, main_with};
