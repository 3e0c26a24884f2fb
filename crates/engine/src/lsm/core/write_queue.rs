//! The batches that wait to be written.

use crate::durability::Durability;
use crate::error::Result;
use crate::io::local::sync::Mutex;
use crate::lsm::state::operations::Operations;
use std::sync::Arc;

/// A batch waiting to be written.
#[derive(Debug)]
pub(in crate::lsm) struct WriteRequest {
    pub(in crate::lsm) durability: Durability,
    pub(in crate::lsm) work: Mutex<PendingBatch>,
}

#[derive(Debug)]
pub(in crate::lsm) struct PendingBatch {
    pub(in crate::lsm) operations: Operations,
    pub(in crate::lsm) outcome: Option<Result<()>>,
}

/// The queue of waiting batches, oldest first.
#[derive(Debug, Default)]
pub(in crate::lsm) struct WriteQueue {
    pub(in crate::lsm) waiting: Vec<Arc<WriteRequest>>,
    /// Whether a leader is writing a group; the others wait for its end, or for their turn to lead.
    pub(in crate::lsm) has_leader: bool,
    /// The number of writers at the end of the last group, and the duration of that group in microseconds.
    pub(in crate::lsm) writers: usize,
    pub(in crate::lsm) group_us: f64,
}

impl WriteQueue {
    /// Takes the batches of the next group.
    pub(in crate::lsm) fn take_group(&mut self, bytes_max: usize) -> Vec<Arc<WriteRequest>> {
        let (mut bytes, mut count) = (0, 0);
        for request in &self.waiting {
            bytes += request.work.lock().operations.byte_len();
            if count > 0 && bytes > bytes_max {
                break;
            }
            count += 1;
        }
        self.waiting.drain(..count).collect()
    }
}
