//! Rows that a join hands over to an iterator on another thread, in batches.

use crate::error::{Error, Result};
use crate::io::Handoff;
use crate::join::rows::packed_rows::{pack, packed_bytes};
use crate::join::rows::sink::RowSink;
use crate::join::rows::task::{MemoryGrant, Task, TimedPhase};
use std::sync::Arc;

/// Batches that circulate between the join and the iterator, and the size up to which they are filled, in bytes.
const BATCHES: usize = 3;
const BATCH_BYTES_MAX: u64 = 64 << 10;

/// The join's end of the hand-over.
pub(in crate::join) struct RowSender(Arc<Handoff<Vec<u8>>>);

impl RowSender {
    /// The hand-over, with all its batches, and the join's end of it.
    pub(in crate::join) fn new() -> (Arc<Handoff<Vec<u8>>>, Self) {
        let handoff = Arc::new(Handoff::new(vec![Vec::new(); BATCHES]));
        (Arc::clone(&handoff), Self(handoff))
    }

    /// The sink, with batches of up to `memory_bytes` together.
    pub(super) fn begin(&self, task: &Arc<Task>, memory_bytes: u64) -> Result<HandedRows> {
        let batch_bytes = (memory_bytes / BATCHES as u64).min(BATCH_BYTES_MAX);
        let grant = task.budget.take(batch_bytes * BATCHES as u64, "handing rows over")?;
        let batch_bytes = batch_bytes as usize;
        let (handoff, task) = (Arc::clone(&self.0), Arc::clone(task));
        Ok(HandedRows { handoff, batch: None, batch_bytes, rows: 0, task, _grant: grant })
    }
}

/// Packs rows into batches for the iterator.
pub(super) struct HandedRows {
    handoff: Arc<Handoff<Vec<u8>>>,
    batch: Option<Vec<u8>>,
    batch_bytes: usize,
    rows: u64,
    task: Arc<Task>,
    _grant: MemoryGrant,
}

impl RowSink for HandedRows {
    fn row(&mut self, key: &[u8], left: Option<&[u8]>, right: Option<&[u8]>) -> Result<()> {
        self.rows += 1;
        let row = (key, left, right);
        if let Some(full) = self.batch.take_if(|batch| batch.len() + packed_bytes(row) > self.batch_bytes) {
            self.handoff.put(full);
        }
        if self.batch.is_none() {
            let mut waited_us = 0.0;
            let empty = self.handoff.empty(&mut waited_us)?;
            self.task.add_time(TimedPhase::Writing, waited_us);
            // The iterator was dropped.
            self.batch = Some(empty.ok_or_else(Error::interrupted)?);
        }
        if let Some(batch) = &mut self.batch {
            if batch.capacity() == 0 {
                batch.reserve_exact(self.batch_bytes);
            }
            pack(row, batch);
        }
        Ok(())
    }

    fn rows(&self) -> u64 {
        self.rows
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        if let Some(rest) = self.batch.take() {
            self.handoff.put(rest);
        }
        Ok(())
    }
}
