//! The table output: writes the rows of a join to a new table.

use crate::error::Result;
use crate::io::Storage;
use crate::join::emit::{RowForm, RowWriter};
use crate::join::task::{Share, Spent, Task};
use crate::table::{TableWriter, WriteOptions};
use std::sync::Arc;

/// The file is synced every so many bytes: often enough that the device works all along, seldom enough that its latency does not count
/// (measured: 160 MB of writes took 0.13 s so, and 0.55 s with one sync at the end).
pub(super) const SYNC_EVERY_BYTES: u64 = 16 << 20;

/// Writes the rows of a join to a table.
pub(super) struct TableOutput {
    writer: TableWriter,
    /// Bytes of a key and of a row, where rows have one width and the table's records do not: its keys are strings.
    apart: Option<(usize, usize)>,
    task: Arc<Task>,
    share: Share,
    /// What of the share is for buffers; the rest is for what grows with the table.
    buffer_bytes: u64,
    /// Rows since the share was last compared with what grows.
    unchecked_bytes: usize,
}

/// What grows is looked at again after so many bytes of rows.
const CHECK_EVERY_BYTES: usize = 256 << 10;
/// The share grows by at least so many bytes, or an eighth of itself.
const GROWTH_BYTES: u64 = 16 << 10;

impl TableOutput {
    /// Sets memory aside for what grows with the table.
    fn account(&mut self, bytes: usize) -> Result<()> {
        self.unchecked_bytes += bytes;
        if self.unchecked_bytes < CHECK_EVERY_BYTES {
            return Ok(());
        }
        self.unchecked_bytes = 0;
        let needed = self.buffer_bytes + self.writer.growing_bytes();
        if needed <= self.share.bytes() {
            return Ok(());
        }
        let least = needed - self.share.bytes();
        if self.share.try_grow(least.max(GROWTH_BYTES).max(self.share.bytes() / 8)) || self.share.try_grow(least) {
            return Ok(());
        }
        let limit_bytes = self.share.limit_bytes();
        let what = format!(
            "the index of {} takes {} bytes of memory by now, more than this join has left",
            self.writer.path().display(),
            self.writer.growing_bytes()
        );
        Err(self.share.short((limit_bytes.saturating_add(least), limit_bytes), what))
    }
}

impl TableOutput {
    pub(super) fn create(
        storage: Arc<dyn Storage>,
        name: &str,
        options: WriteOptions,
        form: RowForm,
        task: &Arc<Task>,
        memory_bytes: u64,
    ) -> Result<Self> {
        let share = task.budget.take(memory_bytes, "the writer")?;
        let value_width = form.value_bytes().and_then(|bytes| u32::try_from(bytes).ok());
        let apart = form.widths().map(|widths| widths.key).zip(form.row_bytes());
        let apart = apart.filter(|(key, _)| form.key_type.width() != Some(*key));
        let options = WriteOptions { key_type: form.key_type, value_width, ..options };
        let mut writer = TableWriter::create(storage, name, options)?;
        match task.fast_paths.write_behind {
            true => writer.write_behind(memory_bytes, SYNC_EVERY_BYTES)?,
            false => _ = writer.limit_working_memory(memory_bytes),
        }
        Ok(Self { writer, apart, task: task.clone(), share, buffer_bytes: memory_bytes, unchecked_bytes: 0 })
    }
}

impl RowWriter for TableOutput {
    fn dense(&mut self, rows: &[u8]) -> Result<()> {
        self.account(rows.len())?;
        let Some((key, row)) = self.apart else { return self.writer.append_dense(rows) };
        rows.chunks_exact(row).try_for_each(|row| {
            let (key, value) = row.split_at(key.min(row.len()));
            self.writer.append(key, value)
        })
    }

    fn row(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.account(key.len() + value.len())?;
        self.writer.append(key, value)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        let Self { writer, task, share: _share, .. } = *self;
        task.count_spent(Spent::Writing, writer.waited_us());
        writer.finish().map(|_| ())
    }
}
