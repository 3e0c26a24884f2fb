//! The facts by which joins are planned: both relations, the device, and the options.

use super::spread::Spread;
use crate::io::Profile;
use crate::join::rows::options::{JoinKind, JoinSide};
use crate::join::rows::text_hints::InputHints;

/// Assumed size of a key or value of unknown width, in bytes.
const UNKNOWN_KEY_BYTES: f64 = 16.0;

/// The way in which keys can be looked up in a relation.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::join) enum LookupAccess {
    /// Full scans only.
    Scan,
    /// Point lookups by the relation itself: an index or a store.
    Probe,
    /// Reads of single blocks: a table.
    TableBlocks(TableBlocks),
}

/// The blocks of a table.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::join) struct TableBlocks {
    pub(in crate::join) count: f64,
    /// Size of a block in bytes.
    pub(in crate::join) bytes: u64,
    /// The index stored in the table, if any, which need not be built.
    pub(in crate::join) stored_index: Option<StoredIndex>,
}

/// The lowest level of the index stored in a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::join) struct StoredIndex {
    /// Bytes to read to load it; 0 if opening the table has loaded it.
    pub(in crate::join) unread_bytes: u64,
    /// Its size in memory, in bytes.
    pub(in crate::join) memory_bytes: u64,
    /// Mean number of blocks in a window.
    pub(in crate::join) window_blocks: f64,
    /// Whether it holds one separator per block, from which other indexes can be built.
    pub(in crate::join) separates_blocks: bool,
}

/// The facts of one relation.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::join) struct SideFacts {
    pub(in crate::join) name: String,
    pub(in crate::join) rows: f64,
    /// Bytes read by a full scan.
    pub(in crate::join) bytes: f64,
    /// Size of all rows in memory, in bytes.
    pub(in crate::join) memory_bytes: f64,
    pub(in crate::join) key_bytes: Option<f64>,
    pub(in crate::join) value_bytes: Option<f64>,
    pub(in crate::join) is_sorted: bool,
    pub(in crate::join) is_distinct: bool,
    pub(in crate::join) access: LookupAccess,
    pub(in crate::join) hints: InputHints,
}

/// The options and the device.
#[derive(Clone, Debug)]
pub(in crate::join) struct PlanContext<'a> {
    pub(in crate::join) kind: JoinKind,
    /// Whether pairs must meet a condition.
    pub(in crate::join) has_condition: bool,
    /// Whether keys may have nulls.
    pub(in crate::join) may_have_nulls: bool,
    pub(in crate::join) profile: &'a Profile,
    /// The profile of relations on a local disk.
    pub(in crate::join) local: &'a Profile,
    pub(in crate::join) memory_bytes: f64,
    /// Largest number of joining threads.
    pub(in crate::join) threads: usize,
    pub(in crate::join) any_order: bool,
    /// Fields of each row that are formatted as text, if any are.
    pub(in crate::join) formatted_fields: Option<u32>,
}

/// The complete input of the planner.
#[derive(Clone, Debug)]
pub(in crate::join) struct PlanInput<'a> {
    pub(in crate::join) left: SideFacts,
    pub(in crate::join) right: SideFacts,
    pub(in crate::join) context: PlanContext<'a>,
    /// The spread of left keys over right blocks.
    pub(in crate::join) left_over_right: Spread,
    /// The spread of right keys over left blocks.
    pub(in crate::join) right_over_left: Spread,
}

/// The facts of a planned join, and the predicted costs of common steps, in the planner's own units.
///
/// Device and processor time of a step are added to a [`JoinCost`]: reads and writes by [`JoinCostModel::read`] and
/// [`JoinCostModel::write`], processor work by [`JoinCost::work`].
///
/// [`JoinCost`]: crate::join::JoinCost
/// [`JoinCost::work`]: crate::join::JoinCost::work
#[derive(Clone, Copy, Debug)]
pub struct JoinCostModel<'a>(pub(in crate::join) &'a PlanInput<'a>);

impl SideFacts {
    /// Size of a row in memory, in bytes.
    pub(in crate::join) fn row_bytes(&self) -> f64 {
        match (self.key_bytes, self.value_bytes) {
            (Some(key), Some(value)) => key + value,
            _ => (self.memory_bytes / self.rows.max(1.0)).max(self.key_bytes.unwrap_or(1.0)),
        }
    }

    /// Estimated size of a key, in bytes.
    pub(in crate::join) fn key_bytes_about(&self) -> f64 {
        self.key_bytes.unwrap_or_else(|| UNKNOWN_KEY_BYTES.min(self.row_bytes()))
    }

    /// Whether all rows have one width.
    pub(in crate::join) fn is_dense(&self) -> bool {
        self.key_bytes.is_some() && self.value_bytes.is_some()
    }
}

impl PlanInput<'_> {
    pub(in crate::join) fn side(&self, side: JoinSide) -> &SideFacts {
        match side {
            JoinSide::Left => &self.left,
            JoinSide::Right => &self.right,
        }
    }

    /// The spread of the other side's keys over the blocks of `inner`.
    pub(in crate::join) fn spread_over(&self, inner: JoinSide) -> &Spread {
        match inner {
            JoinSide::Left => &self.right_over_left,
            JoinSide::Right => &self.left_over_right,
        }
    }

    /// Whether the join returns all rows of a side, so that it cannot be the inner relation.
    pub(in crate::join) fn must_scan(&self, side: JoinSide) -> bool {
        match side {
            JoinSide::Left => self.context.kind.keeps_unmatched(),
            JoinSide::Right => self.context.kind.keeps_unmatched_right(),
        }
    }

    /// Estimated number of output rows.
    pub(in crate::join) fn output_rows(&self) -> f64 {
        match self.context.kind {
            JoinKind::Inner => self.pairs(),
            JoinKind::Semi => self.left.rows.min(self.right.rows),
            JoinKind::Left => self.left.rows.max(self.pairs()),
            JoinKind::Full => self.left.rows.max(self.right.rows).max(self.pairs()),
            JoinKind::Anti => (self.left.rows - self.right.rows).max(0.0),
        }
    }

    /// Estimated number of pairs: each key of the side with fewer of them has partners, as many as a key of the other
    /// side has rows. Where the keys are not counted, each row of the smaller side has one.
    fn pairs(&self) -> f64 {
        let keys = |side: &SideFacts| side.hints.distinct_keys.map(|keys| (keys as f64).clamp(1.0, side.rows.max(1.0)));
        match (keys(&self.left), keys(&self.right)) {
            (Some(left), Some(right)) => self.left.rows * self.right.rows / left.max(right),
            _ => self.left.rows.min(self.right.rows),
        }
    }

    /// Size of an output row, in bytes.
    pub(in crate::join) fn output_row_bytes(&self) -> f64 {
        let right = if self.context.kind.pairs() { self.right.row_bytes() - self.right.key_bytes_about() } else { 0.0 };
        self.left.row_bytes() + right.max(0.0)
    }
}
