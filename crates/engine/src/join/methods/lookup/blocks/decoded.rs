//! Decoded rows of one block: rows that are not dense in the block, laid out consecutively.

use super::block_batch::{BlockBatch, BlockRows};
use crate::error::{Error, Result};
use crate::io::local::sync::Mutex;
use crate::join::rows::stream::{RowSpan, RowsView};
use crate::join::rows::task::{MemoryBudget, MemoryGrant};
use crate::table::format::value::ValuePointer;
use crate::table::{FrontKeys, Table};

/// Decoded rows of one block.
#[derive(Debug)]
pub(in crate::join::methods::lookup) struct DecodedRows {
    bytes: Vec<u8>,
    spans: Vec<RowSpan>,
    /// The block, and its first decoded row.
    block: Option<u64>,
    first: usize,
    /// Most bytes decoded at once, except for a single row.
    bytes_max: usize,
    /// Memory for a row, or a value, that is longer.
    extra: Mutex<MemoryGrant>,
}

impl DecodedRows {
    /// Rows of at most `bytes_max` at once. A single row that is longer takes more memory from `budget`.
    pub(in crate::join::methods::lookup) fn new(bytes_max: usize, budget: &MemoryBudget) -> Self {
        let extra = Mutex::new(budget.empty_grant());
        Self { bytes: Vec::new(), spans: Vec::new(), block: None, first: 0, bytes_max, extra }
    }

    /// Takes memory for a row, or a value, of this length.
    fn hold(&self, table: &Table, bytes: u64) -> Result<()> {
        let mut extra = self.extra.lock();
        let more = bytes.saturating_sub(self.bytes_max as u64).saturating_sub(extra.bytes());
        extra.grow_for_record(more, bytes, &table.path().display().to_string())
    }

    /// Decodes rows of a block of a batch from row `first` on, unless they are dense; returns the first row that did
    /// not fit.
    ///
    /// # Errors
    /// Damage; [`Cause::JoinMemory`](crate::Cause::JoinMemory) for a row that exceeds the memory.
    pub(in crate::join::methods::lookup) fn load(
        &mut self,
        table: &Table,
        block_batch: &BlockBatch,
        block: usize,
        first: usize,
    ) -> Result<Option<usize>> {
        let BlockRows::Other(unpacked) = block_batch.rows(block) else { return Ok(None) };
        let Some(number) = block_batch.blocks.get(block).map(|block| block.number) else { return Ok(None) };
        let records = table.records_of(number, unpacked)?;
        if self.block != Some(number) || self.first != first {
            self.block = None;
            self.bytes.clear();
            self.spans.clear();
            let mut front = FrontKeys::default();
            for row in first..records.count() {
                let length = records.record_bytes(row, &mut front)?;
                if self.bytes.len() + length + (self.spans.len() + 1) * size_of::<RowSpan>() > self.bytes_max {
                    if row > first {
                        break;
                    }
                    self.hold(table, (length + size_of::<RowSpan>()) as u64)?;
                }
                let key_at = self.bytes.len();
                let value = records.push_key(row, &mut front, &mut self.bytes)?;
                self.spans.push(RowSpan::push_value(&mut self.bytes, key_at, value));
            }
            (self.block, self.first) = (Some(number), first);
        }
        let end = first + self.spans.len();
        Ok((end < records.count()).then_some(end))
    }

    /// Bytes that all rows of a block take when they are decoded; 0 if they are dense.
    ///
    /// # Errors
    /// Damage.
    pub(in crate::join::methods::lookup) fn needed_bytes(
        table: &Table,
        block_batch: &BlockBatch,
        block: usize,
    ) -> Result<u64> {
        let BlockRows::Other(unpacked) = block_batch.rows(block) else { return Ok(0) };
        let Some(number) = block_batch.blocks.get(block).map(|block| block.number) else { return Ok(0) };
        let (records, mut front) = (table.records_of(number, unpacked)?, FrontKeys::default());
        (0..records.count()).try_fold(0, |bytes: u64, row| {
            let row_bytes = records.record_bytes(row, &mut front)? + size_of::<RowSpan>();
            Ok(bytes.saturating_add(row_bytes as u64))
        })
    }

    /// Most bytes decoded at once.
    pub(in crate::join::methods::lookup) fn bytes_max(&self) -> u64 {
        self.bytes_max as u64
    }

    /// The rows of a block, decoded by [`Self::load`] if necessary.
    #[inline]
    pub(in crate::join::methods::lookup) fn rows<'a>(
        &'a self,
        table: &Table,
        block_batch: &'a BlockBatch,
        block: usize,
    ) -> RowsView<'a> {
        match (block_batch.rows(block), table.dense_widths()) {
            (BlockRows::Dense(bytes), Some((key, value))) => RowsView::Dense { bytes, key, value },
            (BlockRows::Dense(_), None) => RowsView::EMPTY,
            (BlockRows::Other(_), _) => RowsView::Spans { bytes: &self.bytes, spans: &self.spans },
        }
    }

    /// Fetches the out-of-line value of a row into `value`, replacing its content.
    ///
    /// # Errors
    /// Errors of the storage, and damage; `Cause::JoinMemory` for a value that exceeds the memory.
    pub(in crate::join::methods::lookup) fn long_value(
        &self,
        table: &Table,
        row: usize,
        value: &mut Vec<u8>,
    ) -> Result<()> {
        let rows = RowsView::Spans { bytes: &self.bytes, spans: &self.spans };
        let pointer = if rows.is_long(row) { ValuePointer::decode(rows.value(row)) } else { None };
        let pointer = pointer.ok_or_else(|| Error::input("this row has no long value"))?;
        value.clear();
        self.hold(table, pointer.length)?;
        *value = table.long_value(pointer, pointer.length)?;
        Ok(())
    }
}
