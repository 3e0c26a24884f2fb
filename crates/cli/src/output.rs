//! Standard output: text, or JSON with `--json`.

use crate::failure::{Failure, Result};
use serde::Serialize;
use std::fmt;
use std::io::{self, BufWriter, StdoutLock, Write};
use std::sync::{Mutex, PoisonError};

/// The only writer to standard output. Notes and progress go to standard error, so that a pipe receives results only.
pub(crate) struct Output {
    writer: BufWriter<StdoutLock<'static>>,
    json: bool,
}

impl Output {
    /// Standard output, locked for the life of the process.
    pub(crate) fn new(json: bool) -> Self {
        Self { writer: BufWriter::with_capacity(1 << 16, io::stdout().lock()), json }
    }

    /// Whether results are printed as JSON.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// One line of text.
    pub(crate) fn line(&mut self, line: impl fmt::Display) -> Result<()> {
        writeln!(self.writer, "{line}").map_err(Failure::from_output)
    }

    /// Bytes as they are.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.writer.write_all(bytes).map_err(Failure::from_output)
    }

    /// One JSON document on a line of its own.
    pub(crate) fn json(&mut self, document: &impl Serialize) -> Result<()> {
        let text = serde_json::to_string(document).map_err(|error| Failure::Output(error.into()))?;
        self.line(text)
    }

    /// Flushes everything to the system.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.writer.flush().map_err(Failure::from_output)
    }
}

/// Prints a warning to standard error, unless it was printed before: an input may be read more than once.
#[cfg(feature = "parquet")]
pub(crate) fn warn_once(warning: &str) {
    note_once(format!("warning: {warning}"));
}

/// Prints a remark to standard error, unless it was printed before: an input may be read more than once.
pub(crate) fn note_once(remark: String) {
    note_once_about(&remark.clone(), remark);
}

/// Prints a remark to standard error, unless one about the same subject was printed before.
pub(crate) fn note_once_about(subject: &str, remark: String) {
    static TOLD: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    if !told.iter().any(|known| known == subject) {
        note(remark);
        told.push(subject.to_owned());
    }
}

/// Prints a remark to standard error.
pub(crate) fn note(remark: impl fmt::Display) {
    // A failure of standard error cannot be reported.
    let _ = writeln!(io::stderr(), "{remark}");
}
