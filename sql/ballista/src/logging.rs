//! Messages of a process on standard error.

use log::{LevelFilter, Log, Metadata, Record};
use std::io::{Write, stderr};

struct Messages;

impl Log for Messages {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        // There is no other place to say that standard error is closed.
        _ = writeln!(stderr(), "{} {}: {}", record.level(), record.target(), record.args());
    }

    fn flush(&self) {}
}

/// Writes messages of at least this level, unless the program has a logger.
pub(crate) fn begin(level: LevelFilter) {
    if log::set_logger(&Messages).is_ok() {
        log::set_max_level(level);
    }
}
