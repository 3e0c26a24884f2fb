//! The run planner: maps a batch of outer keys to runs of inner blocks. Runs are separated by gaps wide enough to
//! justify a request of their own.
//!
//! Keys arrive in order, so their windows do too. If the windows of two keys touch, or nearly touch, so do those of all
//! keys between them; keys are therefore looked up in steps that grow while the run continues, not one by one. Dense
//! keys cost a few lookups per block, sparse keys one lookup each.

use super::window::{BlockFinger, BlockIndex, BlockWindow};
use crate::error::Result;
use crate::join::rows::stream::RowsView;

/// A run of blocks to read, and the first key that needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlannedRun {
    pub(super) first: u64,
    pub(super) last: u64,
    /// Number of the first key that needs the run.
    pub(super) key: usize,
    /// Whether all its windows are exact.
    pub(super) is_exact: bool,
}

impl PlannedRun {
    pub(super) fn blocks(&self) -> u64 {
        self.last - self.first + 1
    }
}

/// Plans runs of blocks for sorted keys.
pub(super) struct RunPlanner<'a> {
    pub(super) index: &'a dyn BlockIndex,
    pub(super) finger: &'a mut BlockFinger,
    pub(super) rows: RowsView<'a>,
    /// Largest gap, in blocks, that is read along with its neighbours.
    pub(super) bridge_blocks: u64,
}

impl RunPlanner<'_> {
    fn find(&mut self, key: usize) -> Result<BlockWindow> {
        self.index.look_up(self.rows.key(key), self.finger)
    }

    /// The next run of at most `room` blocks from block `floor` on, for the keys from `key` on; moves `key` to the
    /// first key that the run does not cover. `None` if no further key needs a block from `floor` on.
    pub(super) fn next(&mut self, key: &mut usize, floor: u64, room: u64) -> Result<Option<PlannedRun>> {
        let Some(window) = self.skip(key, floor)? else { return Ok(None) };
        let count = self.rows.len();
        let mut run = PlannedRun {
            first: window.first.max(floor),
            last: window.last.max(floor),
            key: *key,
            is_exact: window.is_exact,
        };
        let (mut reached, mut step) = (*key, 1);
        while run.blocks() < room && reached + 1 < count {
            let candidate = (reached + step).min(count - 1);
            let window = self.find(candidate)?;
            if window.first <= run.last.saturating_add(1 + self.bridge_blocks) {
                run.last = run.last.max(window.last);
                run.is_exact &= window.is_exact;
                reached = candidate;
                step *= 2;
            } else if step == 1 {
                break;
            } else {
                step /= 2;
            }
        }
        if run.blocks() > room {
            // The keys that need the rest plan it again.
            run.last = run.first + room.max(1) - 1;
        } else {
            *key = reached + 1;
        }
        Ok(Some(run))
    }

    /// Skips keys whose windows end before `floor`; returns the window of the first other key.
    fn skip(&mut self, key: &mut usize, floor: u64) -> Result<Option<BlockWindow>> {
        let count = self.rows.len();
        if *key >= count {
            return Ok(None);
        }
        let window = self.find(*key)?;
        if window.last >= floor {
            return Ok(Some(window));
        }
        // Invariant: keys up to `low` are skipped; the key at `high`, if any, is not.
        let (mut low, mut step) = (*key, 1);
        let mut high = loop {
            let candidate = low + step;
            if candidate >= count {
                break count;
            }
            if self.find(candidate)?.last >= floor {
                break candidate;
            }
            low = candidate;
            step *= 2;
        };
        while low + 1 < high {
            let middle = low + (high - low) / 2;
            if self.find(middle)?.last >= floor { high = middle } else { low = middle }
        }
        *key = high;
        if high == count {
            return Ok(None);
        }
        self.find(high).map(Some)
    }
}
