//! The planner's inputs: both relations, the device, and the options.

use super::spread::Spread;
use crate::io::Profile;
use crate::join::options::{JoinKind, Side};

/// Bytes of a row's key or value where nothing is known of its width.
const UNKNOWN_KEY_BYTES: f64 = 16.0;

/// How a relation can be looked up in.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::join) enum LookupAccess {
    /// Only from end to end.
    Scan,
    /// It finds keys by itself: an index, or a store.
    Probe,
    /// A table, whose blocks can be read alone.
    TableBlocks(TableBlocks),
}

/// The blocks of a table.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::join) struct TableBlocks {
    pub(in crate::join) count: f64,
    /// Bytes of one block.
    pub(in crate::join) bytes: u64,
    /// The index that the table carries, if it does: nobody has to build it.
    pub(in crate::join) stored_index: Option<StoredIndex>,
}

/// The nodes of an index next to the data, as a table carries them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::join) struct StoredIndex {
    /// What must be read to have them in memory; nothing, where opening the table has.
    pub(in crate::join) unread_bytes: u64,
    /// What they take in memory.
    pub(in crate::join) memory_bytes: u64,
    /// Blocks that they lead a key to, in the mean.
    pub(in crate::join) window_blocks: f64,
    /// Whether they are separators, one for each block: what other indexes can be made of.
    pub(in crate::join) separates_blocks: bool,
}

/// One of the two relations.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::join) struct SideFacts {
    pub(in crate::join) name: String,
    pub(in crate::join) rows: f64,
    /// Bytes that reading all of it takes.
    pub(in crate::join) bytes: f64,
    pub(in crate::join) key_bytes: Option<f64>,
    pub(in crate::join) value_bytes: Option<f64>,
    pub(in crate::join) is_sorted: bool,
    pub(in crate::join) is_distinct: bool,
    pub(in crate::join) access: LookupAccess,
}

/// What was asked for, and where.
#[derive(Clone, Debug)]
pub(in crate::join) struct PlanContext<'a> {
    pub(in crate::join) kind: JoinKind,
    pub(in crate::join) profile: &'a Profile,
    pub(in crate::join) memory_bytes: f64,
    /// Most threads that may join.
    pub(in crate::join) threads: usize,
    pub(in crate::join) any_order: bool,
}

/// Everything that a choice follows from.
#[derive(Clone, Debug)]
pub(in crate::join) struct PlanInput<'a> {
    pub(in crate::join) left: SideFacts,
    pub(in crate::join) right: SideFacts,
    pub(in crate::join) context: PlanContext<'a>,
    /// How the keys of the left relation lie over the blocks of the right one.
    pub(in crate::join) left_over_right: Spread,
    /// And the other way round.
    pub(in crate::join) right_over_left: Spread,
}

impl SideFacts {
    /// Bytes of a row in memory.
    pub(in crate::join) fn row_bytes(&self) -> f64 {
        match (self.key_bytes, self.value_bytes) {
            (Some(key), Some(value)) => key + value,
            _ => (self.bytes / self.rows.max(1.0)).max(self.key_bytes.unwrap_or(1.0)),
        }
    }

    /// Bytes of a key, about.
    pub(in crate::join) fn key_bytes_about(&self) -> f64 {
        self.key_bytes.unwrap_or_else(|| UNKNOWN_KEY_BYTES.min(self.row_bytes()))
    }

    /// Bytes of all rows in memory.
    pub(in crate::join) fn memory_bytes(&self) -> f64 {
        self.rows * self.row_bytes()
    }

    /// Whether all rows have one width.
    pub(in crate::join) fn is_dense(&self) -> bool {
        self.key_bytes.is_some() && self.value_bytes.is_some()
    }
}

impl PlanInput<'_> {
    pub(in crate::join) fn side(&self, side: Side) -> &SideFacts {
        match side {
            Side::Left => &self.left,
            Side::Right => &self.right,
        }
    }

    /// How the keys of the other side lie over the blocks of `inner`.
    pub(in crate::join) fn spread_over(&self, inner: Side) -> &Spread {
        match inner {
            Side::Left => &self.right_over_left,
            Side::Right => &self.left_over_right,
        }
    }

    /// Whether all rows of a side are wanted whatever the other one has, so that it cannot be the one that is looked up in.
    pub(in crate::join) fn must_scan(&self, side: Side) -> bool {
        side == Side::Left && self.context.kind.keeps_unmatched()
    }

    /// Rows of the output, at most about: as many as the smaller side has, where every row of it finds one partner.
    pub(in crate::join) fn output_rows(&self) -> f64 {
        match self.context.kind {
            JoinKind::Inner | JoinKind::Semi => self.left.rows.min(self.right.rows),
            JoinKind::Left => self.left.rows,
            JoinKind::Anti => (self.left.rows - self.right.rows).max(0.0),
        }
    }

    /// Bytes of a row of the output.
    pub(in crate::join) fn output_row_bytes(&self) -> f64 {
        let right = if self.context.kind.pairs() { self.right.row_bytes() - self.right.key_bytes_about() } else { 0.0 };
        self.left.row_bytes() + right.max(0.0)
    }
}
