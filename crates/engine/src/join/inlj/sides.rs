//! The row streams of a planned scan: one for the outer relation, one for the inner.

use super::batch::Batch;
use super::decoded::Decoded;
use super::queue::{Part, Queue};
use crate::error::Result;
use crate::io::Worker;
use crate::join::rows::{RowStream, RowsView};
use crate::join::task::{Share, Spent, Task};
use crate::table::Table;
use std::sync::Arc;

/// What ends the reading thread, and gives its memory back, when both sides are done.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) queue: Arc<Queue>,
    pub(super) task: Arc<Task>,
    /// Dropped before the memory: that waits for the thread.
    pub(super) worker: Option<Worker>,
    pub(super) _memory: Share,
}

impl Drop for Link {
    fn drop(&mut self) {
        self.queue.close();
        self.worker = None;
    }
}

/// The outer relation.
pub(crate) struct OuterRows {
    pub(super) link: Arc<Link>,
    pub(super) batch: Option<Arc<Batch>>,
}

impl RowStream for OuterRows {
    fn advance(&mut self, from: Option<&[u8]>) -> Result<bool> {
        let Link { queue, task, .. } = &*self.link;
        loop {
            task.check()?;
            if let Some(batch) = self.batch.take() {
                queue.give_batch(batch);
            }
            self.batch = match queue.has_batch() {
                true => queue.next_batch()?,
                false => task.spend(Spent::Reading, || queue.next_batch())?,
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

/// The inner relation.
pub(crate) struct InnerRows {
    pub(super) link: Arc<Link>,
    pub(super) table: Table,
    pub(super) part: Option<Part>,
    pub(super) decoded: Decoded,
    /// The first row of the block that is still to be laid out.
    pub(super) rest: Option<usize>,
}

impl InnerRows {
    /// Goes to the next part; `false` behind the last.
    fn next_part(&mut self) -> Result<bool> {
        let Link { queue, task, .. } = &*self.link;
        task.check()?;
        if let Some(part) = self.part.take() {
            queue.give_piece(part.piece);
        }
        self.part = match queue.has_part() {
            true => queue.next_part()?,
            false => task.spend(Spent::Reading, || queue.next_part())?,
        };
        Ok(self.part.is_some())
    }
}

impl RowStream for InnerRows {
    fn advance(&mut self, from: Option<&[u8]>) -> Result<bool> {
        if let (Some(part), Some(rest)) = (&self.part, self.rest) {
            self.rest = self.decoded.load(&self.table, &part.piece, part.blocks.start, rest)?;
            return Ok(true);
        }
        if let Some(part) = &mut self.part {
            part.blocks.start += 1;
        }
        loop {
            if let Some(part) = &mut self.part {
                let is_needed = |block: &usize| from.is_none_or(|from| part.piece.last_key(*block) >= from);
                if let Some(block) = part.blocks.clone().find(is_needed) {
                    part.blocks.start = block;
                    self.rest = self.decoded.load(&self.table, &part.piece, block, 0)?;
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
            Some(part) => self.decoded.rows(&self.table, &part.piece, part.blocks.start),
            None => RowsView::EMPTY,
        }
    }

    fn long_value(&mut self, row: usize, value: &mut Vec<u8>) -> Result<()> {
        self.decoded.long_value(&self.table, row, value)
    }
}
