//! Reads ahead of a planned scan: the next block batches, as predicted by the index alone, in flight while the current
//! one is handed over.
//!
//! They are a guess: keys that repeat, and windows that turn out to be wrong, change the plan. So each batch is planned
//! once more when its turn comes, and taken from here only if it reads the very same blocks.

use super::blocks::block_batch::BlockBatch;
use super::queue::PlannedQueue;
use super::run_planner::PlannedRun;
use super::window::BlockFinger;
use crate::join::rows::read_lanes::StartedRead;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// Where planning goes on: a key of the outer batch, and the first block not planned yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PlanPosition {
    pub(super) key: usize,
    pub(super) floor: u64,
}

/// Block batches in flight, in the order of their blocks.
#[derive(Default)]
pub(super) struct ReadsAhead {
    started: VecDeque<(Vec<Range<u64>>, StartedRead<BlockBatch>)>,
    pub(super) finger: BlockFinger,
    pub(super) position: PlanPosition,
}

impl ReadsAhead {
    pub(super) fn len(&self) -> usize {
        self.started.len()
    }

    pub(super) fn push(&mut self, ranges: Vec<Range<u64>>, read: StartedRead<BlockBatch>) {
        self.started.push_back((ranges, read));
    }

    /// The read of these blocks, if it is the next one in flight. Otherwise all are given up, and the next ones are
    /// planned from `position`.
    pub(super) fn take(
        &mut self,
        ranges: &[Range<u64>],
        position: PlanPosition,
        queue: &PlannedQueue,
    ) -> Option<StartedRead<BlockBatch>> {
        if self.started.front().is_some_and(|(ahead, _)| ahead == ranges) {
            return self.started.pop_front().map(|(_, read)| read);
        }
        self.give_up(queue);
        self.position = position;
        None
    }

    /// Gives up all reads, and returns their block batches.
    pub(super) fn give_up(&mut self, queue: &PlannedQueue) {
        while let Some((_, read)) = self.started.pop_front() {
            drop(read);
            queue.return_block_batch(Arc::new(BlockBatch::default()));
        }
    }
}

/// The blocks of runs.
pub(super) fn ranges_of(runs: &[PlannedRun]) -> Vec<Range<u64>> {
    runs.iter().map(|run| run.first..run.last + 1).collect()
}

#[cfg(test)]
mod tests {
    use super::super::queue::SpareBatch;
    use super::*;
    use std::path::Path;

    #[test]
    fn only_a_read_of_the_very_blocks_is_taken_and_all_batches_come_back() {
        let ranges: [Vec<Range<u64>>; 3] = [vec![0..3, 7..9], vec![10..12, 13..14], vec![16..17, 19..20]];
        let others = [vec![0..3, 7..8], vec![0..3, 7..9, 10..11], vec![10..12, 13..14], vec![]];
        for other in others.iter().chain([&ranges[0]]) {
            let queue = PlannedQueue::new(1, ranges.len());
            let mut ahead = ReadsAhead::default();
            for own in &ranges {
                let Some(batch) = queue.take_spare_block_batch() else { panic!("all batches are spare") };
                ahead.push(own.clone(), StartedRead::later(Path::new("f"), || Ok(batch)));
            }
            assert!(queue.take_spare_block_batch().is_none());
            let position = PlanPosition { key: 5, floor: 20 };
            let taken = ahead.take(other, position, &queue);
            assert_eq!(taken.is_some(), *other == ranges[0], "{other:?}");
            if let Some(read) = taken {
                assert_eq!((ahead.len(), ahead.position), (2, PlanPosition::default()));
                queue.return_block_batch(Arc::new(read.wait().unwrap()));
                ahead.give_up(&queue);
            } else {
                assert_eq!((ahead.len(), ahead.position), (0, position));
            }
            let spare = (0..ranges.len()).filter(|_| matches!(queue.spare_block_batch(), SpareBatch::BlockBatch(_)));
            assert_eq!(spare.count(), ranges.len());
        }
    }
}
