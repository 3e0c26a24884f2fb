//! The prices of registered methods: the facts of both relations, and the costs of the steps that methods share.

use super::device::Requests;
use super::rates;
use crate::join::rows::options::JoinSide;
use crate::join::rows::plan::cost::JoinCost;
use crate::join::rows::plan::facts::JoinCostModel;

impl JoinCostModel<'_> {
    /// Starting and ending a join, in nanoseconds.
    pub const JOIN_NS: f64 = rates::JOIN_NS;
    /// Reading, checking and decoding a byte of a table, in nanoseconds.
    pub const SCAN_BYTE_NS: f64 = rates::SCAN_BYTE_NS;
    /// Decoding a row of varying width, in nanoseconds.
    pub const DECODE_ROW_NS: f64 = rates::LAY_OUT_ROW_NS;
    /// Page size of an index, in bytes.
    pub const PAGE_BYTES: f64 = rates::PAGE_BYTES;

    /// The name of a relation, for messages.
    #[must_use]
    pub fn name(&self, side: JoinSide) -> &str {
        &self.0.side(side).name
    }

    /// Estimated number of rows of a relation.
    #[must_use]
    pub fn rows(&self, side: JoinSide) -> f64 {
        self.0.side(side).rows
    }

    /// Size of all rows of a relation in memory, in bytes.
    #[must_use]
    pub fn row_bytes(&self, side: JoinSide) -> f64 {
        self.0.side(side).memory_bytes
    }

    /// Whether a relation is in key order.
    #[must_use]
    pub fn is_sorted(&self, side: JoinSide) -> bool {
        self.0.side(side).is_sorted
    }

    /// Width of the keys of a relation, if all its rows have one width.
    #[must_use]
    pub fn dense_key_bytes(&self, side: JoinSide) -> Option<f64> {
        let side = self.0.side(side);
        side.key_bytes.filter(|_| side.is_dense())
    }

    /// Number of blocks of a table, and the size of a block in bytes.
    ///
    /// # Errors
    /// The reason why `inner` cannot be looked up in block by block, with the keys of the other relation in order.
    pub fn blocks(&self, inner: JoinSide) -> Result<(f64, u64), String> {
        self.0.sorted_outer(inner)?;
        let blocks = self.0.blocks_of(inner)?;
        Ok((blocks.count, blocks.bytes))
    }

    /// The number of windows of this many blocks that a search for the keys of the other relation reads from `inner`,
    /// if windows only move forward.
    #[must_use]
    pub fn windows(&self, inner: JoinSide, window_blocks: f64) -> f64 {
        self.0.spread_over(inner).windows(window_blocks)
    }

    /// Memory for input rows, in bytes.
    #[must_use]
    pub fn input_bytes(&self) -> f64 {
        self.0.input_bytes()
    }

    /// The cost of one separator per block of `inner` in memory; nothing to build if the table stores them.
    ///
    /// # Errors
    /// As [`Self::blocks`].
    pub fn separators(&self, inner: JoinSide) -> Result<JoinCost, String> {
        Ok(self.0.load_separators(self.0.side(inner), self.0.blocks_of(inner)?))
    }

    /// The cost of a full scan of a relation.
    #[must_use]
    pub fn scan(&self, side: JoinSide) -> JoinCost {
        self.0.scan(self.0.side(side))
    }

    /// The cost of building and writing the output.
    #[must_use]
    pub fn output(&self) -> JoinCost {
        self.0.output()
    }

    /// Adds the device time of `count` reads of `bytes` together, one at a time.
    pub fn read(&self, cost: &mut JoinCost, count: f64, bytes: f64) {
        cost.read(Requests { count, bytes, at_once: 1, parts: 1 }, self.0.context.profile);
    }

    /// Adds the device time of `count` writes of `bytes` together, one at a time.
    pub fn write(&self, cost: &mut JoinCost, count: f64, bytes: f64) {
        cost.write(Requests { count, bytes, at_once: 1, parts: 1 }, self.0.context.profile);
    }

    /// The cost, unless the method needs more memory at once than the join has.
    ///
    /// # Errors
    /// The memory that it needs.
    pub fn within_memory(&self, cost: JoinCost) -> Result<JoinCost, String> {
        self.0.fits(cost)
    }
}
