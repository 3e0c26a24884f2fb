//! A new table.

use crate::error::Result;
use crate::io::Storage;
use crate::join::emit::{RowForm, RowWriter};
use crate::join::task::{Share, Task};
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
    share: Share,
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
        let value_width = form.widths().and_then(|_| form.value_bytes()).and_then(|bytes| u32::try_from(bytes).ok());
        let apart = form.widths().map(|widths| widths.key).zip(form.row_bytes());
        let apart = apart.filter(|(key, _)| form.key_type.width() != Some(*key));
        let options = WriteOptions { key_type: form.key_type, value_width, ..options };
        let mut writer = TableWriter::create(storage, name, options)?;
        writer.write_behind(memory_bytes, SYNC_EVERY_BYTES)?;
        Ok(Self { writer, apart, share })
    }
}

impl RowWriter for TableOutput {
    fn dense(&mut self, rows: &[u8]) -> Result<()> {
        let Some((key, row)) = self.apart else { return self.writer.append_dense(rows) };
        rows.chunks_exact(row).try_for_each(|row| {
            let (key, value) = row.split_at(key.min(row.len()));
            self.writer.append(key, value)
        })
    }

    fn row(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.writer.append(key, value)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        let Self { writer, share: _share, .. } = *self;
        writer.finish().map(|_| ())
    }
}
