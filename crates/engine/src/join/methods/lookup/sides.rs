//! The row streams of a planned scan: one for the outer relation, one for the inner.

use super::batch::OuterBatch;
use super::blocks::decoded::DecodedRows;
use super::queue::{BatchPart, PlannedQueue};
use crate::error::Result;
use crate::io::Worker;
use crate::join::rows::stream::{RowStream, RowsView};
use crate::join::rows::task::{MemoryGrant, Task, TimedPhase};
use crate::table::Table;
use std::sync::Arc;

/// Stops the prefetch thread and returns its memory when both sides are dropped.
#[derive(Debug)]
pub(super) struct PlannedScanLink {
    pub(super) queue: Arc<PlannedQueue>,
    pub(super) task: Arc<Task>,
    /// Dropped before the memory, which must outlive the thread.
    pub(super) worker: Option<Worker>,
    pub(super) _memory: MemoryGrant,
}

impl Drop for PlannedScanLink {
    fn drop(&mut self) {
        self.queue.close();
        self.worker = None;
    }
}

/// The row stream of the outer relation.
pub(crate) struct OuterRows {
    pub(super) link: Arc<PlannedScanLink>,
    pub(super) batch: Option<Arc<OuterBatch>>,
}

impl RowStream for OuterRows {
    fn advance(&mut self, from: Option<&[u8]>) -> Result<bool> {
        let PlannedScanLink { queue, task, .. } = &*self.link;
        loop {
            task.check()?;
            if let Some(batch) = self.batch.take() {
                queue.return_outer_batch(batch);
            }
            self.batch = match queue.has_batch() {
                true => queue.next_batch()?,
                false => task.timed(TimedPhase::Reading, || queue.next_batch())?,
            };
            let Some(batch) = &self.batch else { return Ok(false) };
            let rows = batch.rows();
            if from.is_none_or(|from| rows.key(rows.len() - 1) >= from) {
                return Ok(true);
            }
        }
    }

    fn rows(&self) -> RowsView<'_> {
        self.batch.as_ref().map_or(RowsView::EMPTY, |batch| batch.rows())
    }
}

/// The row stream of the inner relation.
pub(crate) struct InnerRows {
    pub(super) link: Arc<PlannedScanLink>,
    pub(super) table: Table,
    pub(super) part: Option<BatchPart>,
    pub(super) decoded: DecodedRows,
    /// The first row of the block not decoded yet.
    pub(super) rest: Option<usize>,
}

impl InnerRows {
    /// Moves to the next part; `false` at the end.
    fn next_part(&mut self) -> Result<bool> {
        let PlannedScanLink { queue, task, .. } = &*self.link;
        task.check()?;
        if let Some(part) = self.part.take() {
            queue.return_block_batch(part.block_batch);
        }
        self.part = match queue.has_part() {
            true => queue.next_part()?,
            false => task.timed(TimedPhase::Reading, || queue.next_part())?,
        };
        Ok(self.part.is_some())
    }
}

impl RowStream for InnerRows {
    fn advance(&mut self, from: Option<&[u8]>) -> Result<bool> {
        if let (Some(part), Some(rest)) = (&self.part, self.rest) {
            self.rest = self.decoded.load(&self.table, &part.block_batch, part.blocks.start, rest)?;
            return Ok(true);
        }
        if let Some(part) = &mut self.part {
            part.blocks.start += 1;
        }
        loop {
            if let Some(part) = &mut self.part {
                let is_needed = |block: &usize| from.is_none_or(|from| part.block_batch.last_key(*block) >= from);
                if let Some(block) = part.blocks.clone().find(is_needed) {
                    part.blocks.start = block;
                    self.rest = self.decoded.load(&self.table, &part.block_batch, block, 0)?;
                    return Ok(true);
                }
            }
            if !self.next_part()? {
                return Ok(false);
            }
        }
    }

    fn rows(&self) -> RowsView<'_> {
        match &self.part {
            Some(part) => self.decoded.rows(&self.table, &part.block_batch, part.blocks.start),
            None => RowsView::EMPTY,
        }
    }

    fn long_value(&mut self, row: usize, value: &mut Vec<u8>) -> Result<()> {
        self.decoded.long_value(&self.table, row, value)
    }
}
