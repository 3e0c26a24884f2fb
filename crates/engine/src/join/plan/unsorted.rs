//! Costs of methods over relations in any order: sorting, hashing, partitioning, and B-trees built by inserts.

use super::cost::Cost;
use super::device::Requests;
use super::facts::{Case, SideFacts};
use super::rates;
use crate::join::options::Side;

/// Bytes of a request to a spill file.
const SPILL_REQUEST_BYTES: f64 = 1_048_576.0;
/// Memory that a row takes in a sort's buffer or in a hash table, beside itself, in bytes.
const SORT_ROW_OVERHEAD_BYTES: f64 = 16.0;
const HASH_ROW_OVERHEAD_BYTES: f64 = 12.0;
/// Shortest buffer of a run while runs are merged, in bytes.
const RUN_BUFFER_BYTES: f64 = 65_536.0;
/// Partitions vary in size: so much of the memory is left free for the larger ones.
const SKEW_MARGIN: f64 = 0.6;
/// How full inserts in random order leave the leaves of a B-tree.
const RANDOM_FILL: f64 = 0.69;

impl Case<'_> {
    /// A relation in key order: read, and where it is not sorted, sorted within a share of the memory.
    pub(super) fn in_order(&self, side: &SideFacts, memory_share: f64) -> Cost {
        let mut cost = self.scan(side);
        if side.is_sorted || side.rows < 2.0 {
            return cost;
        }
        let memory_bytes = self.setting.memory_bytes * memory_share;
        let row_bytes = side.row_bytes() + SORT_ROW_OVERHEAD_BYTES;
        let rows_a_run = (memory_bytes / row_bytes).clamp(2.0, side.rows);
        cost.work(side.rows, rates::COPY_ROW_NS + rows_a_run.log2() * rates::SORT_STEP_NS);
        let runs = (side.rows / rows_a_run).ceil();
        if runs > 1.0 {
            let fan_in = (memory_bytes / RUN_BUFFER_BYTES).max(2.0);
            let passes = (runs.ln() / fan_in.ln()).ceil().max(1.0);
            for _ in 0..passes as u32 {
                // Runs are read in turns, each by its own buffer.
                let piece = (memory_bytes / runs.min(fan_in)).clamp(4096.0, SPILL_REQUEST_BYTES);
                self.spill(&mut cost, side.memory_bytes(), piece);
                cost.work(side.rows, rates::RUN_ROW_NS);
            }
        }
        cost
    }

    /// One relation hashed, the other asked for row by row.
    pub(super) fn hash(&self, build: Side) -> Cost {
        let (built, asked) = (self.side(build), self.side(build.other()));
        let mut cost = self.scan(built);
        cost += self.scan(asked);
        let table_bytes = built.rows * (built.row_bytes() + HASH_ROW_OVERHEAD_BYTES);
        let room_bytes = self.setting.memory_bytes * rates::HELD_SHARE;
        let partitions = (table_bytes / (room_bytes * SKEW_MARGIN)).ceil();
        let is_partitioned = table_bytes > room_bytes;
        if is_partitioned {
            for side in [built, asked] {
                cost.work(side.rows, rates::COPY_ROW_NS);
                self.spill(&mut cost, side.memory_bytes(), self.partition_piece(partitions));
            }
        }
        let in_cache = usize::from(table_bytes / partitions.max(1.0) > rates::CORE_CACHE_BYTES);
        cost.work(built.rows, rates::HASH_ROW_NS[in_cache]);
        cost.work(asked.rows, rates::HASH_PROBE_NS[in_cache]);
        cost.hold(table_bytes.min(room_bytes));
        if !self.setting.any_order && (is_partitioned || !asked.is_sorted) {
            cost += self.sort_output();
        }
        cost += self.output();
        cost
    }

    /// Both relations cut into partitions by a learned distribution, each sorted in memory.
    pub(super) fn partition(&self) -> Cost {
        let mut cost = Cost::default();
        let room_bytes = self.setting.memory_bytes * SKEW_MARGIN;
        let taken = |side: &SideFacts| side.rows * (side.row_bytes() + SORT_ROW_OVERHEAD_BYTES);
        let partitions = ((taken(&self.left) + taken(&self.right)) / room_bytes).ceil().max(1.0);
        for side in [&self.left, &self.right] {
            cost += self.scan(side);
            cost.work(side.rows, rates::PARTITION_ROW_NS);
            if partitions > 1.0 {
                self.spill(&mut cost, side.memory_bytes(), self.partition_piece(partitions));
                cost.work(side.rows, rates::COPY_ROW_NS);
            }
            let rows = (side.rows / partitions).max(2.0);
            cost.work(side.rows, rates::COPY_ROW_NS + rows.log2() * rates::SORT_STEP_NS);
        }
        cost += self.kernel(self.left.rows, self.right.rows);
        cost += self.output();
        cost
    }

    /// A B-tree of each relation, built by inserts as rows arrive; the smaller one is scanned, the larger one asked.
    pub(super) fn partition_btree(&self) -> Cost {
        let mut cost = Cost::default();
        for side in [&self.left, &self.right] {
            cost += self.scan(side);
            cost.work(side.rows, rates::BTREE_INSERT_NS);
            let tree_bytes = side.memory_bytes() / RANDOM_FILL;
            let absent = (1.0 - self.setting.memory_bytes / 2.0 / tree_bytes).clamp(0.0, 1.0);
            let pages = if side.is_sorted { 0.0 } else { side.rows * absent };
            cost.read(Requests { count: pages, bytes: pages * rates::PAGE_BYTES, at_once: 1 }, self.setting.profile);
            cost.write(Requests { count: pages, bytes: pages * rates::PAGE_BYTES, at_once: 1 }, self.setting.profile);
        }
        cost.work(self.left.rows.min(self.right.rows), rates::BTREE_PROBE_NS);
        cost += self.output();
        cost
    }

    /// Why a B-tree cannot be built of these relations.
    pub(super) fn no_btree(&self) -> Option<String> {
        [&self.left, &self.right]
            .into_iter()
            .find(|side| !side.is_dense() || side.key_bytes.is_some_and(|bytes| bytes > 16.0))
            .map(|side| {
                format!("rows of {} have no fixed width with keys of up to 16 bytes, as a B-tree needs", side.name)
            })
    }

    fn sort_output(&self) -> Cost {
        let side = SideFacts {
            name: String::new(),
            rows: self.output_rows(),
            bytes: 0.0,
            key_bytes: self.left.key_bytes,
            value_bytes: Some((self.output_row_bytes() - self.left.key_bytes_about()).max(0.0)),
            is_sorted: false,
            is_distinct: false,
            access: super::facts::Access::Scan,
        };
        self.in_order(&side, 0.5)
    }

    /// Writes so many bytes, and reads them again.
    fn spill(&self, cost: &mut Cost, bytes: f64, piece_bytes: f64) {
        let requests = Requests::sequential(bytes, piece_bytes as u64, 1);
        cost.write(requests, self.setting.profile);
        cost.read(requests, self.setting.profile);
        cost.work(2.0 * requests.count, rates::REQUEST_NS);
        cost.work(2.0 * bytes, rates::TABLE_BYTE_NS);
    }

    fn partition_piece(&self, partitions: f64) -> f64 {
        (self.setting.memory_bytes * 0.25 / partitions.max(1.0)).clamp(4096.0, SPILL_REQUEST_BYTES)
    }
}
