//! The table output: writes the rows of a join to a new table.

use crate::error::Result;
use crate::io::Storage;
use crate::join::methods::emit::RowWriter;
use crate::join::rows::form::RowForm;
use crate::join::rows::task::{MemoryGrant, Task, TimedPhase};
use crate::table::{TableWriteOptions, TableWriter};
use crate::types::RecordType;
use std::sync::Arc;

/// Bytes between two syncs of the file: often enough to keep the device busy, rarely enough that sync latency is
/// negligible (measured: 160 MB of writes took 0.13 s with this interval, and 0.55 s with one sync at the end).
pub(super) const SYNC_INTERVAL_BYTES: u64 = 16 << 20;

/// Writes the rows of a join to a table.
pub(super) struct TableOutput {
    writer: TableWriter,
    /// Widths of a key and of a row, if rows have one width but the table's records do not, because its keys are
    /// strings.
    apart: Option<(usize, usize)>,
    task: Arc<Task>,
    grant: MemoryGrant,
    /// The part of the grant for buffers; the rest is for structures that grow with the table.
    buffer_bytes: u64,
    /// Bytes of rows since the grant was last compared with the memory in use.
    unchecked_bytes: usize,
}

/// Bytes of rows between two comparisons of the grant with the memory in use.
const GRANT_CHECK_INTERVAL_BYTES: usize = 256 << 10;
/// The grant grows by at least this many bytes, and at least an eighth of its size.
const GRANT_GROWTH_BYTES_MIN: u64 = 16 << 10;

impl TableOutput {
    /// Reserves memory for the structures that grow with the table.
    fn account(&mut self, bytes: usize) -> Result<()> {
        self.unchecked_bytes += bytes;
        if self.unchecked_bytes < GRANT_CHECK_INTERVAL_BYTES {
            return Ok(());
        }
        self.unchecked_bytes = 0;
        let needed = self.buffer_bytes + self.writer.growing_bytes();
        if needed <= self.grant.bytes() {
            return Ok(());
        }
        let least = needed - self.grant.bytes();
        if self.grant.try_grow(least.max(GRANT_GROWTH_BYTES_MIN).max(self.grant.bytes() / 8))
            || self.grant.try_grow(least)
        {
            return Ok(());
        }
        let limit_bytes = self.grant.limit_bytes();
        let what = format!(
            "the index of {} takes {} bytes of memory by now, which exceeds the memory limit of this join",
            self.writer.path().display(),
            self.writer.growing_bytes()
        );
        Err(self.grant.short((limit_bytes.saturating_add(least), limit_bytes), what))
    }
}

impl TableOutput {
    pub(super) fn create(
        (storage, name): (Arc<dyn Storage>, &str),
        options: TableWriteOptions,
        form: RowForm,
        types: &RecordType,
        task: &Arc<Task>,
        memory_bytes: u64,
    ) -> Result<Self> {
        let grant = task.budget.take(memory_bytes, "the writer")?;
        let row_bytes = types.values.width().filter(|_| form.key.is_some());
        let value_width = form.value_bytes().or(row_bytes).and_then(|bytes| u32::try_from(bytes).ok());
        let apart = form.widths().map(|widths| widths.key).zip(form.row_bytes());
        let apart = apart.filter(|(key, _)| form.key_type.width() != Some(*key));
        let options = TableWriteOptions { value_width, ..options.record_type(types.clone()) };
        let mut writer = TableWriter::create((storage, name), options)?;
        match task.fast_paths.write_behind {
            true => writer.write_behind(memory_bytes, SYNC_INTERVAL_BYTES)?,
            false => _ = writer.limit_working_memory(memory_bytes),
        }
        Ok(Self { writer, apart, task: task.clone(), grant, buffer_bytes: memory_bytes, unchecked_bytes: 0 })
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
        let Self { writer, task, grant: _grant, .. } = *self;
        task.add_time(TimedPhase::Writing, writer.waited_us());
        writer.finish().map(|_| ())
    }
}
