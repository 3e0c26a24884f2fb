//! The inner table of a registered method: its blocks, read one window at a time, and the separators between them.

use super::block_batch::BlockBatch;
use super::decoded::DecodedRows;
use super::load::IndexLoader;
use crate::error::Result;
use crate::join::methods::lookup::separators::BlockSeparators;
use crate::join::rows::probe_method::InnerTable;
use crate::join::rows::stream::RowsView;
use crate::join::rows::task::{MemoryGrant, TimedPhase};
use std::ops::Range;

/// Largest read request for a window, in bytes.
const REQUEST_BYTES: u64 = 4 << 20;

impl<'a> InnerTable<'a> {
    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.table.len()
    }

    /// Number of blocks.
    #[inline]
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.table.blocks()
    }

    /// Whether all keys are distinct.
    #[inline]
    #[must_use]
    pub fn is_distinct(&self) -> bool {
        self.table.is_distinct()
    }

    /// One separator per block: from the index of the table if that has them, otherwise from one scan of its data. The
    /// grant is the memory that they take.
    ///
    /// # Errors
    /// Errors of the storage, and damage; [`Cause::JoinMemory`](crate::Cause::JoinMemory) if they do not fit
    /// the memory of the join.
    pub fn separators(&self) -> Result<(BlockSeparators, MemoryGrant)> {
        self.loader().block_separators()
    }

    /// Adjusts the grant of an index over the blocks to `bytes`.
    ///
    /// # Errors
    /// [`Cause::JoinMemory`](crate::Cause::JoinMemory) if the join has too little memory left.
    pub fn resize(&self, memory: &mut MemoryGrant, bytes: u64) -> Result<()> {
        self.loader().resize(memory, bytes)
    }

    /// A reader of blocks within `memory_bytes`, which the caller has been granted.
    #[must_use]
    pub fn reader(&self, memory_bytes: u64) -> BlockReader<'a> {
        // A third each for stored blocks, unpacked blocks, and the decoded rows of one block.
        let part_bytes = memory_bytes / 3;
        BlockReader {
            inner: *self,
            batch: BlockBatch::default(),
            decoded: DecodedRows::new(part_bytes as usize, &self.task.budget),
            blocks_max: (part_bytes / self.table.largest_block_bytes().max(1)).max(1),
        }
    }

    fn loader(&self) -> IndexLoader<'a> {
        IndexLoader { table: self.table, task: self.task }
    }
}

/// A reader of consecutive blocks of the inner table. It keeps the blocks that it read last, except those without rows,
/// and gives the rows of one of them at a time.
#[derive(Debug)]
pub struct BlockReader<'a> {
    inner: InnerTable<'a>,
    batch: BlockBatch,
    decoded: DecodedRows,
    /// Most blocks in memory at once.
    blocks_max: u64,
}

impl<'a> BlockReader<'a> {
    /// The table.
    #[inline]
    #[must_use]
    pub fn inner(&self) -> InnerTable<'a> {
        self.inner
    }

    /// Reads the first blocks of a range, as many as fit memory, in place of those read before. Returns their range.
    ///
    /// # Errors
    /// Errors of the storage, and damage.
    pub fn read(&mut self, blocks: Range<u64>) -> Result<Range<u64>> {
        let InnerTable { table, task } = self.inner;
        let start = blocks.start.min(table.blocks());
        let blocks = start..blocks.end.clamp(start, start.saturating_add(self.blocks_max)).min(table.blocks());
        let batch = &mut self.batch;
        task.timed(TimedPhase::Reading, || batch.read(table, task, std::slice::from_ref(&blocks), REQUEST_BYTES))?;
        Ok(blocks)
    }

    /// Number of blocks in memory.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.batch.blocks.len()
    }

    /// Whether no block is in memory.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.batch.blocks.is_empty()
    }

    /// The number in the table of a block in memory.
    #[inline]
    #[must_use]
    pub fn number(&self, block: usize) -> Option<u64> {
        self.batch.blocks.get(block).map(|block| block.number)
    }

    /// The position in memory of the block with a number.
    #[must_use]
    pub fn position(&self, number: u64) -> Option<usize> {
        self.batch.blocks.binary_search_by_key(&number, |block| block.number).ok()
    }

    /// First key of a block in memory; empty beyond the last block.
    #[inline]
    #[must_use]
    pub fn first_key(&self, block: usize) -> &[u8] {
        self.batch.first_key(block)
    }

    /// Last key of a block in memory; empty beyond the last block.
    #[inline]
    #[must_use]
    pub fn last_key(&self, block: usize) -> &[u8] {
        self.batch.last_key(block)
    }

    /// Prepares a block in memory for [`Self::rows`].
    ///
    /// # Errors
    /// Damage; [`Cause::JoinMemory`](crate::Cause::JoinMemory) if its rows exceed the memory of the reader.
    pub fn decode(&mut self, block: usize) -> Result<()> {
        let InnerTable { table, task } = self.inner;
        if self.decoded.load(table, &self.batch, block, 0)?.is_none() {
            return Ok(());
        }
        let (number, path) = (self.number(block).unwrap_or(0), table.path().display());
        let needed_bytes = DecodedRows::needed_bytes(table, &self.batch, block)?;
        let part_bytes = self.decoded.bytes_max();
        let what = format!(
            "the rows of block {number} of {path} take {needed_bytes} bytes, and the memory that this join has for \
             probes holds {part_bytes}"
        );
        // The part for rows grows with the limit.
        Err(task.budget.short((needed_bytes, part_bytes), what))
    }

    /// The rows of the block that was [decoded](Self::decode) last.
    #[inline]
    #[must_use]
    pub fn rows(&self, block: usize) -> RowsView<'_> {
        self.decoded.rows(self.inner.table, &self.batch, block)
    }

    /// Whether the block that was decoded last has out-of-line values.
    #[inline]
    #[must_use]
    pub fn has_long(&self, block: usize) -> bool {
        self.rows(block).has_long()
    }

    /// Loads a value of the block that was decoded last into `value`, replacing its content.
    ///
    /// # Errors
    /// Errors of the storage, and damage; [`Cause::JoinMemory`](crate::Cause::JoinMemory).
    pub fn value(&self, block: usize, row: usize, value: &mut Vec<u8>) -> Result<()> {
        let rows = self.rows(block);
        if rows.is_long(row) {
            return self.decoded.long_value(self.inner.table, row, value);
        }
        value.clear();
        value.extend_from_slice(rows.value(row));
        Ok(())
    }
}
