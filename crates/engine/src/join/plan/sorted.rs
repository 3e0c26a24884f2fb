//! The prices of the merge and of lookups (planned scans, probes of an open index), and of the scans, kernel and output
//! of every method.
//!
//! Equation 1 of the paper bounds the reads of a nested loop by min(|R|, |S|/eps) windows of one size. Here each range
//! of keys has its own density, windows are blocks, adjacent ones are read by one request, and P requests are in flight
//! at once.

use super::device::Requests;
use super::rates;
use super::spread::ReadRule;
use crate::io::Profile;
use crate::join::input::read_shape::{ReadShape, StreamShape, worthwhile_gap_bytes};
use crate::join::methods::lookup::batch_shape;
use crate::join::methods::merge;
use crate::join::rows::options::JoinSide;
use crate::join::rows::plan::cost::JoinCost;
use crate::join::rows::plan::facts::{LookupAccess, PlanInput, SideFacts, TableBlocks};

/// Memory fractions, as the join assigns them: the output's buffers get 1/4 up to a limit, a scan 1/4 of the rest; half
/// of that is prefetch.
const OUTPUT_DIVISOR: f64 = 4.0;
const OUTPUT_BYTES_MAX: f64 = 33_554_432.0;
const SCAN_DIVISOR: f64 = 4.0;
/// A planned scan gets three quarters of that memory, in nine parts; one of them, within a limit, holds a batch.
const PLANNED_SCAN_PARTS: f64 = 12.0;
const BATCH_BYTES_MAX: f64 = 8_388_608.0;
/// The parts for its scan of the outer relation.
const PLANNED_OUTER_PARTS: f64 = 2.0;
/// Most requests that it submits at once.
const BATCH_REQUESTS_MAX: f64 = 512.0;
/// Record files are read with one request at a time, of 1/16 of the memory, within bounds.
const FILE_REQUEST_DIVISOR: f64 = 16.0;
const FILE_REQUEST_BYTES_LIMITS: (f64, f64) = (32_768.0, 1_048_576.0);

impl PlanInput<'_> {
    /// Memory for input rows, in bytes.
    pub(super) fn input_bytes(&self) -> f64 {
        self.context.memory_bytes - (self.context.memory_bytes / OUTPUT_DIVISOR).min(OUTPUT_BYTES_MAX)
    }

    /// The read shape of a full scan of a table: all requests in flight.
    pub(super) fn scan_shape(&self) -> ReadShape {
        self.scan_shape_within(self.input_bytes() / SCAN_DIVISOR)
    }

    fn scan_shape_within(&self, memory_bytes: f64) -> ReadShape {
        let stream = StreamShape::within(self.context.profile, memory_bytes as u64, 1);
        ReadShape { at_once: stream.run.at_once * stream.in_flight, ..stream.run }
    }

    /// The read rule of a planned scan of a table.
    pub(super) fn read_rule(&self, blocks: &TableBlocks) -> ReadRule {
        let part_bytes = (self.planned_part_bytes() as u64).max(blocks.bytes);
        let StreamShape { run, in_flight } = batch_shape(self.context.profile, part_bytes, blocks.bytes);
        ReadRule {
            block_bytes: blocks.bytes,
            gap_bytes: worthwhile_gap_bytes(self.context.profile, blocks.bytes),
            batch_bytes: run.request_bytes.max(blocks.bytes),
            at_once: run.at_once * in_flight,
        }
    }

    /// Size of a batch of rows or blocks of a planned scan, in bytes.
    fn planned_part_bytes(&self) -> f64 {
        (self.input_bytes() / PLANNED_SCAN_PARTS).min(BATCH_BYTES_MAX)
    }

    /// The profile of the storage of a relation.
    fn profile_of(&self, side: &SideFacts) -> &Profile {
        if side.hints.is_local { self.context.local } else { self.context.profile }
    }

    /// Adds reads of two relations side by side.
    fn read_beside(&self, cost: &mut JoinCost, reads: [(&SideFacts, Requests); 2]) {
        let [(one, first), (other, second)] = reads;
        if one.hints.is_local == other.hints.is_local {
            cost.read_ahead(&[first, second], self.profile_of(one));
        } else {
            reads.into_iter().for_each(|(side, requests)| cost.read_ahead(&[requests], self.profile_of(side)));
        }
    }

    /// The cost of a full scan of a relation.
    pub(super) fn scan(&self, side: &SideFacts) -> JoinCost {
        let (requests, mut cost) = self.scan_parts(side, self.scan_shape());
        match &side.access {
            LookupAccess::TableBlocks(_) => cost.read_ahead(&[requests], self.profile_of(side)),
            _ => cost.read(requests, self.profile_of(side)),
        }
        cost
    }

    /// The requests of a full scan, of this shape for a table, and its work.
    fn scan_parts(&self, side: &SideFacts, table_shape: ReadShape) -> (Requests, JoinCost) {
        let mut cost = JoinCost::default();
        let (least, most) = FILE_REQUEST_BYTES_LIMITS;
        let shape = match &side.access {
            LookupAccess::TableBlocks(_) => table_shape,
            LookupAccess::Probe => ReadShape { request_bytes: rates::PAGE_BYTES as u64, at_once: 1 },
            LookupAccess::Scan => {
                let bytes = (self.context.memory_bytes / FILE_REQUEST_DIVISOR).clamp(least, most);
                ReadShape { request_bytes: bytes as u64, at_once: 1 }
            }
        };
        let bytes = side.hints.text.map_or(side.bytes, |text| text.bytes as f64);
        let requests = Requests::sequential(bytes, shape.request_bytes, shape.at_once);
        cost.work(requests.count, rates::REQUEST_NS);
        match &side.access {
            LookupAccess::Probe => cost.work(side.rows, rates::INDEX_ROW_NS),
            _ => cost.work(side.bytes, rates::SCAN_BYTE_NS),
        }
        if !side.is_dense() {
            cost.work(side.rows, rates::LAY_OUT_ROW_NS);
        }
        if let Some(text) = side.hints.text {
            cost.parse(bytes, side.rows, text.fields.into());
        }
        (requests, cost)
    }

    /// The cost of both relations: tables are read side by side.
    fn scan_both(&self, room_bytes: &mut f64) -> JoinCost {
        let sides = [&self.left, &self.right];
        if sides.iter().any(|side| !matches!(side.access, LookupAccess::TableBlocks(_))) {
            let mut cost = self.in_order(&self.left, room_bytes);
            cost += self.in_order(&self.right, room_bytes);
            return cost;
        }
        let shares = merge::scan_bytes(self.input_bytes() as u64, sides.map(|side| side.bytes));
        let [left, right] = shares.map(|bytes| self.scan_shape_within(bytes as f64));
        let (left, mut cost) = self.scan_parts(&self.left, left);
        let (right, work) = self.scan_parts(&self.right, right);
        cost += work;
        self.read_beside(&mut cost, [(&self.left, left), (&self.right, right)]);
        cost
    }

    /// The cost of a planned scan's reads: of a full scan of the outer relation and, beside it if that is a table, of
    /// the inner one, which begin with the first outer rows.
    fn scan_planned(&self, outer: &SideFacts, (side, inner): (&SideFacts, Requests)) -> JoinCost {
        let shape = self.scan_shape_within(self.planned_part_bytes() * PLANNED_OUTER_PARTS);
        let (requests, mut cost) = self.scan_parts(outer, shape);
        if matches!(outer.access, LookupAccess::TableBlocks(_)) {
            cost.wait(requests.first_us(self.profile_of(outer)));
            self.read_beside(&mut cost, [(outer, requests), (side, inner)]);
        } else {
            cost.read(requests, self.profile_of(outer));
            cost.read_ahead(&[inner], self.profile_of(side));
        }
        cost
    }

    /// The cost of the merge kernel over both sides.
    pub(super) fn kernel(&self, rows: f64, others: f64) -> JoinCost {
        let mut cost = JoinCost::default();
        let (few, many) = (rows.min(others), rows.max(others));
        let galloped = (many - few * rates::GALLOP_RATIO_MIN).max(0.0);
        cost.work(few + many - galloped, rates::MERGE_ROW_NS);
        cost.work(galloped, rates::GALLOP_ROW_NS);
        cost
    }

    /// The cost of building and writing the output; the same for all methods with ordered output.
    pub(super) fn output(&self) -> JoinCost {
        let mut cost = JoinCost::default();
        let rows = self.output_rows();
        cost.work(rows, rates::EMIT_ROW_NS);
        cost.work(rows * self.output_row_bytes(), rates::EMIT_BYTE_NS);
        if let Some(fields) = self.context.formatted_fields {
            cost.format(rows, f64::from(fields));
        }
        cost
    }

    /// The merge: full scans of both relations in key order.
    pub(super) fn merge(&self) -> JoinCost {
        let mut cost = JoinCost::default();
        cost.work(1.0, rates::JOIN_NS);
        let mut room_bytes = self.input_bytes();
        cost += self.scan_both(&mut room_bytes);
        cost += self.kernel(self.left.rows, self.right.rows);
        cost += self.output();
        cost
    }

    /// The planned scan: a full scan of the outer relation, and reads of the inner blocks located by its index.
    pub(super) fn planned(&self, inner: JoinSide) -> Result<JoinCost, String> {
        let (side, outer) = (self.side(inner), self.side(inner.other()));
        let blocks = self.blocks_of(inner)?;
        let rule = self.read_rule(blocks);
        let reads = self.spread_over(inner).planned_reads(&rule);
        let mut cost = self.load_nodes(side, blocks);
        cost.work(1.0, rates::JOIN_NS);
        let mut requests = reads.requests;
        // Short requests are submitted together: as many as a batch has blocks.
        let batch_bytes = f64::from(rule.at_once) * rule.batch_bytes as f64;
        let mean_bytes = requests.bytes / requests.count.max(1.0);
        let windows = blocks.stored_index.map_or(1.0, |stored_index| stored_index.window_blocks.max(1.0));
        requests.at_once = (batch_bytes / mean_bytes.max(1.0)).clamp(1.0, BATCH_REQUESTS_MAX) as u32;
        requests.bytes = (requests.bytes * windows).min(side.bytes.max(requests.bytes));
        // No read for one batch of outer rows begins before the reads for the one before have ended.
        requests.parts = (outer.memory_bytes / self.planned_part_bytes()).ceil().max(1.0) as u32;
        if outer.is_sorted {
            cost += self.scan_planned(outer, (side, requests));
        } else {
            cost += self.sorted_in_memory(outer);
            cost.read_ahead(&[requests], self.profile_of(side));
        }
        cost.work(requests.count, rates::REQUEST_NS);
        cost.work(requests.bytes, rates::SCAN_BYTE_NS);
        let rows_a_block = side.rows / blocks.count.max(1.0);
        let found = (outer.rows / reads.touched_blocks.max(1.0)).max(1.0);
        // Dense keys are looked up in growing steps.
        let looked_up = (outer.rows / found) * (1.0 + found.log2());
        cost.work(looked_up, rates::LOCATE_NS);
        if !side.is_dense() {
            cost.work(reads.read_blocks * rows_a_block, rates::LAY_OUT_ROW_NS);
        }
        cost += self.kernel(outer.rows, reads.read_blocks * rows_a_block);
        cost += self.output();
        self.fits(cost)
    }

    /// Probes of an open index or store.
    pub(super) fn open_probes(&self, inner: JoinSide) -> Result<JoinCost, String> {
        let (side, outer) = (self.side(inner), self.side(inner.other()));
        if side.access != LookupAccess::Probe {
            return Err(format!("{} is not an open index", side.name));
        }
        if self.must_scan(inner) {
            return Err(must_scan_words(side));
        }
        let mut cost = if outer.is_sorted { self.scan(outer) } else { self.sorted_in_memory(outer) };
        cost.work(1.0, rates::JOIN_NS);
        let pages = (side.bytes / rates::PAGE_BYTES).ceil().max(1.0);
        let touched = pages * (1.0 - (1.0 - 1.0 / pages).powf(outer.rows));
        cost.read(
            Requests { count: touched, bytes: touched * rates::PAGE_BYTES, at_once: 1, parts: 1 },
            self.profile_of(side),
        );
        cost.work(touched, rates::REQUEST_NS);
        cost.work(outer.rows, rates::OPEN_PROBE_NS);
        cost += self.output();
        self.fits(cost)
    }

    /// The stored index of a table, in memory; if there is none, separators are built.
    fn load_nodes(&self, side: &SideFacts, blocks: &TableBlocks) -> JoinCost {
        let mut cost = JoinCost::default();
        let Some(stored_index) = blocks.stored_index else { return self.load_separators(side, blocks) };
        let shape = self.scan_shape();
        let requests = Requests::sequential(stored_index.unread_bytes as f64, shape.request_bytes, shape.at_once);
        cost.read(requests, self.profile_of(side));
        cost.work(stored_index.memory_bytes as f64, rates::NODE_BYTE_NS);
        cost.hold(stored_index.memory_bytes as f64);
        cost
    }

    /// One separator per block, in memory; nothing to build if the table stores them.
    pub(super) fn load_separators(&self, side: &SideFacts, blocks: &TableBlocks) -> JoinCost {
        if blocks.stored_index.is_some_and(|stored_index| stored_index.separates_blocks) {
            return self.load_nodes(side, blocks);
        }
        let mut cost = self.scan(side);
        cost.work(blocks.count, rates::SEPARATOR_NS);
        cost.hold(blocks.count * (side.key_bytes_about() + 8.0));
        cost
    }

    /// The cost of the outer relation in key order, if it is not: it is sorted, and stays in memory.
    fn sorted_in_memory(&self, outer: &SideFacts) -> JoinCost {
        let mut cost = self.in_order(outer, &mut self.input_bytes());
        cost.hold(outer.memory_bytes);
        cost
    }

    /// The outer relation of a registered method, which must be in key order.
    pub(super) fn sorted_outer(&self, inner: JoinSide) -> Result<&SideFacts, String> {
        let outer = self.side(inner.other());
        match outer.is_sorted {
            true => Ok(outer),
            false => Err(format!("{} is not known to be sorted, so its keys cannot be looked up in order", outer.name)),
        }
    }

    pub(super) fn blocks_of(&self, inner: JoinSide) -> Result<&TableBlocks, String> {
        let side = self.side(inner);
        if self.must_scan(inner) {
            return Err(must_scan_words(side));
        }
        match &side.access {
            LookupAccess::TableBlocks(blocks) => Ok(blocks),
            _ => Err(format!("{} is not a table, so its blocks cannot be read individually", side.name)),
        }
    }

    /// Rejects a method that needs more memory at once than available.
    pub(super) fn fits(&self, cost: JoinCost) -> Result<JoinCost, String> {
        if cost.memory_bytes > self.context.memory_bytes * rates::HELD_FRACTION {
            return Err(format!("it needs {:.0} bytes in memory at once", cost.memory_bytes));
        }
        Ok(cost)
    }
}

fn must_scan_words(side: &SideFacts) -> String {
    format!("all rows of {} must be returned, so it cannot be the inner relation", side.name)
}
