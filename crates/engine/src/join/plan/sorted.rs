//! Costs of methods over relations in key order: the merge, and index nested loops.
//!
//! Equation 1 of the paper bounds the reads of a nested loop by min(|R|, |S|/eps) windows of one size. Here each stretch of keys has its own
//! density, windows are blocks, those that lie close together are read by one request, and P requests are under way at once.

use super::cost::Cost;
use super::device::Requests;
use super::facts::{Access, Blocks, Case, SideFacts};
use super::rates;
use super::shape::ReadShape;
use super::spread::{ReadRule, worthwhile_gap_bytes};
use crate::join::options::{Method, Side};

/// Share of the memory that the buffers of one scan take.
const SCAN_SHARE: f64 = 0.125;
/// Share of the memory that the blocks of a planned scan take, read ahead or in use.
const PLANNED_SHARE: f64 = 0.25;

impl Case<'_> {
    /// How a relation is read from end to end.
    pub(in crate::join) fn scan_shape(&self) -> ReadShape {
        ReadShape::sequential(self.setting.profile, (self.setting.memory_bytes * SCAN_SHARE) as u64)
    }

    /// How a planned scan reads the blocks of a table.
    pub(in crate::join) fn read_rule(&self, blocks: &Blocks) -> ReadRule {
        let memory_bytes = (self.setting.memory_bytes * PLANNED_SHARE) as u64;
        let shape = ReadShape::sequential(self.setting.profile, memory_bytes);
        ReadRule {
            block_bytes: blocks.bytes,
            gap_bytes: worthwhile_gap_bytes(self.setting.profile, blocks.bytes).min(shape.request_bytes),
            piece_bytes: shape.request_bytes.max(blocks.bytes),
            at_once: self.setting.profile.parallel(),
        }
    }

    /// Reading all of a relation.
    pub(super) fn scan(&self, side: &SideFacts) -> Cost {
        let mut cost = Cost::default();
        let shape = self.scan_shape();
        cost.read(Requests::sequential(side.bytes, shape.request_bytes, shape.at_once), self.setting.profile);
        cost.work(side.bytes, rates::TABLE_BYTE_NS);
        cost.work(side.bytes / shape.request_bytes as f64, rates::REQUEST_NS);
        cost
    }

    /// The kernel over so many rows of both sides.
    pub(super) fn kernel(&self, rows: f64, others: f64) -> Cost {
        let mut cost = Cost::default();
        let (few, many) = (rows.min(others), rows.max(others));
        let galloped = (many - few * rates::GALLOP_FROM).max(0.0);
        cost.work(few + many - galloped, rates::MERGE_ROW_NS);
        cost.work(galloped, rates::GALLOP_ROW_NS);
        cost
    }

    /// Making and writing the output; the same for every method that gives it in order.
    pub(super) fn output(&self) -> Cost {
        let mut cost = Cost::default();
        let rows = self.output_rows();
        cost.work(rows, rates::EMIT_ROW_NS);
        cost.work(rows * self.output_row_bytes(), rates::EMIT_BYTE_NS);
        cost
    }

    /// Both relations from end to end, in key order.
    pub(super) fn merge(&self) -> Cost {
        let mut cost = self.in_order(&self.left, 0.5);
        cost += self.in_order(&self.right, 0.5);
        cost += self.kernel(self.left.rows, self.right.rows);
        cost += self.output();
        cost
    }

    /// The outer relation from end to end; of the inner, what its index names.
    pub(super) fn planned(&self, inner: Side) -> Result<Cost, String> {
        let (side, outer) = (self.side(inner), self.side(inner.other()));
        let blocks = self.blocks_of(inner)?;
        let rule = self.read_rule(blocks);
        let reads = self.spread_over(inner).planned_reads(&rule);
        let mut cost = self.load_separators(side, blocks);
        cost += self.in_order(outer, 0.5);
        cost.read(reads.requests, self.setting.profile);
        cost.work(reads.requests.count, rates::REQUEST_NS);
        cost.work(reads.read_blocks * blocks.bytes as f64, rates::TABLE_BYTE_NS);
        cost.work(outer.rows, rates::LOCATE_ROW_NS);
        let rows_a_block = side.rows / blocks.count.max(1.0);
        cost += self.kernel(outer.rows, reads.touched_blocks * rows_a_block);
        cost += self.output();
        self.fits(cost)
    }

    /// Key by key, as the paper does it: look the index up, read the window unless it is there, search it.
    pub(super) fn probes(&self, method: Method, inner: Side) -> Result<Cost, String> {
        let (side, outer) = (self.side(inner), self.side(inner.other()));
        let blocks = self.blocks_of(inner)?;
        let rows_a_block = (side.rows / blocks.count.max(1.0)).max(1.0);
        let index = ProbedIndex::of(method, rows_a_block);
        let mut cost = self.load_separators(side, blocks);
        cost.work(blocks.count, index.build_block_ns);
        cost.hold(blocks.count * index.block_bytes);
        cost += self.in_order(outer, 0.5);
        let windows = self.spread_over(inner).windows(index.window_blocks);
        let bytes = windows * index.window_blocks.min(blocks.count.max(1.0)) * blocks.bytes as f64;
        cost.read(Requests { count: windows, bytes, at_once: 1 }, self.setting.profile);
        cost.work(windows, rates::REQUEST_NS);
        cost.work(bytes, rates::TABLE_BYTE_NS);
        let steps = (rows_a_block * index.window_blocks).log2().max(1.0);
        cost.work(outer.rows, index.probe_ns + steps * rates::BISECT_STEP_NS);
        cost += self.output();
        self.fits(cost)
    }

    /// Probes of an index that is open anyway.
    pub(super) fn open_probes(&self, inner: Side) -> Result<Cost, String> {
        let (side, outer) = (self.side(inner), self.side(inner.other()));
        if side.access != Access::Probe {
            return Err(format!("{} is no open index", side.name));
        }
        if self.must_scan(inner) {
            return Err(must_scan_words(side));
        }
        let mut cost = self.in_order(outer, 0.5);
        let pages = (side.bytes / rates::PAGE_BYTES).ceil().max(1.0);
        let touched = pages * (1.0 - (1.0 - 1.0 / pages).powf(outer.rows));
        cost.read(Requests { count: touched, bytes: touched * rates::PAGE_BYTES, at_once: 1 }, self.setting.profile);
        cost.work(touched, rates::REQUEST_NS);
        cost.work(outer.rows, rates::OPEN_PROBE_NS);
        cost += self.output();
        self.fits(cost)
    }

    /// The separators of a table in memory: nothing to build where it carries them.
    fn load_separators(&self, side: &SideFacts, blocks: &Blocks) -> Cost {
        let mut cost = Cost::default();
        match blocks.carried {
            Some(carried) => {
                let shape = self.scan_shape();
                let requests = Requests::sequential(carried.unread_bytes as f64, shape.request_bytes, shape.at_once);
                cost.read(requests, self.setting.profile);
                cost.work(blocks.count, rates::CARRIED_SEPARATOR_NS);
                cost.hold(carried.memory_bytes as f64);
            }
            None => {
                cost += self.scan(side);
                cost.work(blocks.count, rates::SEPARATOR_NS);
                cost.hold(blocks.count * (side.key_bytes_about() + 8.0));
            }
        }
        cost
    }

    fn blocks_of(&self, inner: Side) -> Result<&Blocks, String> {
        let side = self.side(inner);
        if self.must_scan(inner) {
            return Err(must_scan_words(side));
        }
        match &side.access {
            Access::Blocks(blocks) => Ok(blocks),
            _ => Err(format!("{} is no table: its blocks cannot be read alone", side.name)),
        }
    }

    /// Refuses what needs more memory at once than there is.
    pub(super) fn fits(&self, cost: Cost) -> Result<Cost, String> {
        if cost.memory_bytes > self.setting.memory_bytes * rates::HELD_SHARE {
            return Err(format!("it would hold {:.0} bytes in memory", cost.memory_bytes));
        }
        Ok(cost)
    }
}

fn must_scan_words(side: &SideFacts) -> String {
    format!("all rows of {} are wanted, so that nothing is gained by looking them up", side.name)
}

/// An index of the paper's, as its probes cost.
struct ProbedIndex {
    /// A look-up in it, in nanoseconds.
    probe_ns: f64,
    /// Blocks in the window that it answers with.
    window_blocks: f64,
    /// Building it, for each block of the table, in nanoseconds.
    build_block_ns: f64,
    /// Its bytes, for each block of the table.
    block_bytes: f64,
}

impl ProbedIndex {
    fn of(method: Method, rows_a_block: f64) -> Self {
        // A window of rows begins anywhere in a block, so that it reaches into one more.
        let blocks = |window_rows: f64| (window_rows / rows_a_block).ceil() + 1.0;
        let (probe_ns, window_blocks, build_block_ns, block_bytes) = match method {
            Method::InljBtree => (rates::DESCENT_NS, 1.0, rates::SEPARATOR_NS, 24.0),
            Method::InljBtreeIter => (rates::CURSOR_NS, 1.0, rates::SEPARATOR_NS, 24.0),
            Method::InljPgm { error_keys } => {
                (rates::LINE_NS, blocks(2.0 * error_keys as f64), rates::LINE_BUILD_NS, 8.0)
            }
            Method::InljPgmSampled => (rates::LINE_NS, blocks(rates::SAMPLED_WINDOW_ROWS), rates::LINE_BUILD_NS, 8.0),
            Method::InljRadixSpline => {
                (rates::SPLINE_NS, blocks(rates::SPLINE_WINDOW_ROWS), rates::LINE_BUILD_NS, 16.0)
            }
            _ => (rates::RMI_NS, blocks(rates::SPLINE_WINDOW_ROWS), rates::LINE_BUILD_NS, 32.0),
        };
        Self { probe_ns, window_blocks, build_block_ns, block_bytes }
    }
}
