//! Output files in foreign formats: plain records, and lines of text.

use super::choice::Line;
use super::table::SYNC_EVERY_BYTES;
use crate::error::{Error, Result};
use crate::io::Storage;
use crate::join::emit::{RowForm, RowWriter};
use crate::join::merge::Sink;
use crate::join::rows::RowsView;
use crate::join::task::{Share, Spent, Task};
use crate::table::PublishedFile;
use std::ops::Range;
use std::sync::Arc;

/// Least and greatest size of a buffer, in bytes.
const BUFFER_BYTES: (usize, usize) = (16 << 10, 1 << 20);

/// A file that grows under a temporary name.
struct Growing {
    file: PublishedFile,
    task: Arc<Task>,
    _share: Share,
}

impl Growing {
    fn create(
        storage: Arc<dyn Storage>,
        name: &str,
        replace: bool,
        task: &Arc<Task>,
        memory_bytes: u64,
    ) -> Result<Self> {
        let share = task.budget.take(memory_bytes, "the writer")?;
        let mut file = PublishedFile::create_plain(storage, name, replace)?;
        let buffer_bytes = (memory_bytes as usize / 8).clamp(BUFFER_BYTES.0, BUFFER_BYTES.1);
        file.set_buffer(buffer_bytes, buffer_bytes / 4);
        if task.fast_paths.write_behind {
            file.write_behind(memory_bytes as usize / file.buffer_capacity(), SYNC_EVERY_BYTES);
        }
        Ok(Self { file, task: task.clone(), _share: share })
    }

    fn finish(mut self) -> Result<()> {
        self.task.count_spent(Spent::Writing, self.file.waited_us());
        self.file.publish()
    }
}

/// Writes rows of one width one behind the other.
pub(super) struct RecordWriter(Growing);

impl RecordWriter {
    pub(super) fn create(
        storage: Arc<dyn Storage>,
        name: &str,
        replace: bool,
        form: RowForm,
        task: &Arc<Task>,
        memory_bytes: u64,
    ) -> Result<Self> {
        if form.widths().is_none() {
            return Err(Error::InvalidArgument(format!(
                "{} cannot be a file of plain records: keys and values have no one width; write a table or text",
                storage.path(name).display()
            )));
        }
        Growing::create(storage, name, replace, task, memory_bytes).map(Self)
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

/// Writes a line for each row.
pub(super) struct LineSink {
    growing: Growing,
    line: Box<Line>,
    rows: u64,
}

impl LineSink {
    pub(super) fn create(
        storage: Arc<dyn Storage>,
        name: &str,
        replace: bool,
        line: Box<Line>,
        task: &Arc<Task>,
        memory_bytes: u64,
    ) -> Result<Self> {
        let growing = Growing::create(storage, name, replace, task, memory_bytes)?;
        Ok(Self { growing, line, rows: 0 })
    }
}

impl Sink for LineSink {
    fn pairs(&mut self, left: RowsView<'_>, right: RowsView<'_>, pairs: &[(u32, u32)]) -> Result<()> {
        pairs.iter().try_for_each(|&(i, j)| {
            let (i, j) = (i as usize, j as usize);
            self.row(left.key(i), left.value(i), Some(right.value(j)))
        })
    }

    fn lefts(&mut self, left: RowsView<'_>, rows: Range<usize>) -> Result<()> {
        rows.into_iter().try_for_each(|i| self.row(left.key(i), left.value(i), None))
    }

    fn row(&mut self, key: &[u8], left: &[u8], right: Option<&[u8]>) -> Result<()> {
        self.rows += 1;
        let line = &mut self.line;
        self.growing.file.put_with(|out| line(key, left, right, out))
    }

    fn rows(&self) -> u64 {
        self.rows
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.growing.finish()
    }
}
