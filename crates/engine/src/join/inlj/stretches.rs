//! The run planner: maps a batch of outer keys to runs of inner blocks. Runs are separated by gaps wide enough to
//! justify a request of their own.
//!
//! Keys arrive in order, so their windows do too. If the windows of two keys touch, or nearly touch, so do those of all
//! keys between them; keys are therefore looked up in steps that grow while the run continues, not one by one. Dense
//! keys cost a few lookups per block, sparse keys one lookup each.

use super::window::{BlockIndex, Finger, Window};
use crate::error::Result;
use crate::join::rows::RowsView;

/// Blocks to be read, and the keys for which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    pub(super) first: u64,
    pub(super) last: u64,
    /// The first key that it is for.
    pub(super) key: usize,
    /// Whether all windows in it are certain.
    pub(super) proof: bool,
}

impl Stretch {
    pub(super) fn blocks(&self) -> u64 {
        self.last - self.first + 1
    }
}

/// Looks sorted keys up.
pub(super) struct Scout<'a> {
    pub(super) index: &'a dyn BlockIndex,
    pub(super) finger: &'a mut Finger,
    pub(super) rows: RowsView<'a>,
    /// A gap of so many blocks, or fewer, is read with what lies around it.
    pub(super) bridge_blocks: u64,
}

impl Scout<'_> {
    fn find(&mut self, key: usize) -> Result<Window> {
        self.index.look_up(self.rows.key(key), self.finger)
    }

    /// The next stretch of at most `room` blocks from block `floor` on, for the keys from `key` on, which moves to the first key that this
    /// stretch is not for; `None` where no further key needs a block from `floor` on.
    pub(super) fn next(&mut self, key: &mut usize, floor: u64, room: u64) -> Result<Option<Stretch>> {
        let Some(window) = self.skip(key, floor)? else { return Ok(None) };
        let count = self.rows.len();
        let mut stretch =
            Stretch { first: window.first.max(floor), last: window.last.max(floor), key: *key, proof: window.proof };
        let (mut reached, mut step) = (*key, 1);
        while stretch.blocks() < room && reached + 1 < count {
            let candidate = (reached + step).min(count - 1);
            let window = self.find(candidate)?;
            if window.first <= stretch.last.saturating_add(1 + self.bridge_blocks) {
                stretch.last = stretch.last.max(window.last);
                stretch.proof &= window.proof;
                reached = candidate;
                step *= 2;
            } else if step == 1 {
                break;
            } else {
                step /= 2;
            }
        }
        if stretch.blocks() > room {
            // The rest is found again by the keys that need it.
            stretch.last = stretch.first + room.max(1) - 1;
        } else {
            *key = reached + 1;
        }
        Ok(Some(stretch))
    }

    /// Passes keys whose windows end before `floor`; the window of the first other one.
    fn skip(&mut self, key: &mut usize, floor: u64) -> Result<Option<Window>> {
        let count = self.rows.len();
        if *key >= count {
            return Ok(None);
        }
        let window = self.find(*key)?;
        if window.last >= floor {
            return Ok(Some(window));
        }
        // Keys up to `low` are passed; the one at `high`, if there is one, is not.
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
