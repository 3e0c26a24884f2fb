//! Output files in foreign formats: plain records, and lines of text.

use super::table::SYNC_INTERVAL_BYTES;
use crate::error::{Error, Result};
use crate::io::Storage;
use crate::join::methods::emit::RowWriter;
use crate::join::rows::form::{RowForm, Widths};
use crate::join::rows::sink::RowSink;
use crate::join::rows::task::{MemoryGrant, Task, TimedPhase};
use crate::table::PublishedFile;
use std::path::Path;
use std::sync::Arc;

/// Smallest and largest size of a buffer, in bytes.
const BUFFER_BYTES_LIMITS: (usize, usize) = (16 << 10, 1 << 20);

/// An output file, under a temporary name until it is complete.
pub(super) struct OutputFile {
    file: PublishedFile,
    task: Arc<Task>,
    _grant: MemoryGrant,
}

impl OutputFile {
    pub(super) fn create(
        storage: Arc<dyn Storage>,
        name: &str,
        replace: bool,
        task: &Arc<Task>,
        memory_bytes: u64,
    ) -> Result<Self> {
        let grant = task.budget.take(memory_bytes, "the writer")?;
        let mut file = PublishedFile::create_plain(storage, name, replace)?;
        let buffer_bytes = (memory_bytes as usize / 8).clamp(BUFFER_BYTES_LIMITS.0, BUFFER_BYTES_LIMITS.1);
        file.set_buffer(buffer_bytes, buffer_bytes / 4);
        if task.fast_paths.write_behind {
            file.write_behind(memory_bytes as usize / file.buffer_capacity(), SYNC_INTERVAL_BYTES);
        }
        Ok(Self { file, task: task.clone(), _grant: grant })
    }

    fn finish(mut self) -> Result<()> {
        self.task.add_time(TimedPhase::Writing, self.file.waited_us());
        self.file.publish()
    }
}

/// Writes rows of one width consecutively.
pub(super) struct RecordWriter(OutputFile);

impl RecordWriter {
    pub(super) fn new(file: OutputFile) -> Self {
        Self(file)
    }

    /// The widths of the rows, for the file at `path`.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) for rows of several widths.
    pub(super) fn widths(form: &RowForm, path: &Path) -> Result<Widths> {
        form.widths().ok_or_else(|| {
            Error::input(format!(
                "{} cannot be a file of plain records: its keys or values vary in width; write a table or text",
                path.display()
            ))
        })
    }
}

impl RowWriter for RecordWriter {
    fn dense(&mut self, rows: &[u8]) -> Result<()> {
        self.0.file.put(rows)
    }

    fn row(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.0.file.put(key)?;
        self.0.file.put(value)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.0.finish()
    }
}

/// Appends the line of a row, including the line break, to a buffer: key, and the left and right values that there are.
pub(super) type LineFormatter = dyn FnMut(&[u8], Option<&[u8]>, Option<&[u8]>, &mut Vec<u8>) -> Result<()> + Send;

/// Writes one line per row.
pub(super) struct LineSink<'l> {
    file: OutputFile,
    line: &'l mut LineFormatter,
    rows: u64,
}

impl<'l> LineSink<'l> {
    pub(super) fn new(mut file: OutputFile, header: &[u8], line: &'l mut LineFormatter) -> Result<Self> {
        file.file.put(header)?;
        Ok(Self { file, line, rows: 0 })
    }
}

impl RowSink for LineSink<'_> {
    fn row(&mut self, key: &[u8], left: Option<&[u8]>, right: Option<&[u8]>) -> Result<()> {
        self.rows += 1;
        let line = &mut self.line;
        self.file.file.put_with(|out| line(key, left, right, out))?
    }

    fn rows(&self) -> u64 {
        self.rows
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.file.finish()
    }
}
