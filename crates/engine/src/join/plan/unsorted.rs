//! The prices of the hash join and the learned partitions, and of the sorts that methods in key order need first.

use super::device::Requests;
use super::rates;
use crate::io::Profile;
use crate::join::methods::hash::{table_memory_bytes, table_room_bytes};
use crate::join::rows::options::JoinSide;
use crate::join::rows::plan::cost::JoinCost;
use crate::join::rows::plan::facts::{PlanInput, SideFacts};

/// Runs are written in chunks of 1/64 of the memory, within bounds; [`FAN_IN_MAX`] limits the runs merged at once.
const RUN_CHUNK_DIVISOR: f64 = 64.0;
const RUN_CHUNK_BYTES_LIMITS: (f64, f64) = (4_096.0, 262_144.0);
/// Memory of a sort beside the rows: 1/16 for the input, and working memory up to a limit in bytes; most runs merged at
/// once.
const SORT_INPUT_DIVISOR: f64 = 16.0;
const SORT_SCRATCH_BYTES: f64 = 524_288.0;
const FAN_IN_MAX: f64 = 512.0;
/// Partitions are sorted within a core's cache; smallest and largest write to a partition.
const BUCKET_BYTES: f64 = 393_216.0;
const FLUSH_BYTES_LIMITS: (u64, u64) = (16 << 10, 1 << 20);
const BUCKETS_MAX: f64 = 4096.0;
/// Partitions of a hash join are sized to 1/3 of the memory, so that larger ones still fit.
const HASH_BUCKET_DIVISOR: f64 = 3.0;
const HASH_BUCKETS_MAX: f64 = 1024.0;
/// Sorting the probe side of a hash join gets 1/4 of the memory.
const ORDER_DIVISOR: f64 = 4.0;

impl PlanInput<'_> {
    /// The cost of reading a relation in key order, including an external sort within half of the memory if it is
    /// unsorted. `room_bytes` is the memory left, reduced by what stays in memory.
    pub(super) fn in_order(&self, side: &SideFacts, room_bytes: &mut f64) -> JoinCost {
        let mut cost = self.scan(side);
        if side.is_sorted || side.rows < 2.0 {
            return cost;
        }
        let runs = self.sort_within(&mut cost, side, *room_bytes / 2.0);
        if runs <= 1.0 {
            *room_bytes -= side.memory_bytes;
        }
        cost
    }

    /// Adds the cost of an external sort within `memory_bytes`; gives the number of its runs.
    fn sort_within(&self, cost: &mut JoinCost, side: &SideFacts, memory_bytes: f64) -> f64 {
        let (least, most) = RUN_CHUNK_BYTES_LIMITS;
        let chunk = (memory_bytes / RUN_CHUNK_DIVISOR).clamp(least, most);
        let beside = memory_bytes / SORT_INPUT_DIVISOR + (memory_bytes / 8.0).min(SORT_SCRATCH_BYTES) + 2.0 * chunk;
        let runs = (side.memory_bytes / (memory_bytes - beside).max(chunk)).ceil().max(1.0);
        self.sort(cost, side, side.rows / runs);
        if runs <= 1.0 {
            return runs;
        }
        let fan_in = (memory_bytes / chunk).clamp(2.0, FAN_IN_MAX);
        let passes = (runs.ln() / fan_in.ln()).ceil().max(1.0);
        for _ in 0..passes as u32 {
            // Runs are read alternately, each into its own buffer.
            self.spill(cost, side, chunk, chunk);
            cost.work(side.rows, runs.min(fan_in).log2().max(1.0) * rates::RUN_STEP_NS);
        }
        runs
    }

    /// The cost of sorting rows in memory, in runs of this many rows.
    fn sort(&self, cost: &mut JoinCost, side: &SideFacts, rows_at_once: f64) {
        if side.is_dense() {
            cost.work(side.rows, rates::RADIX_ROW_NS);
        } else {
            cost.work(side.rows, rows_at_once.log2().max(1.0) * rates::SORT_STEP_NS);
        }
    }

    /// The hash join: one relation hashed, probed with each row of the other. In key order, the rows that have partners
    /// are sorted before, or both sides sorted and merged, where one table has not all rows to be returned.
    pub(super) fn hash(&self, build: JoinSide) -> JoinCost {
        let (built, asked) = (self.side(build), self.side(build.other()));
        let any_order = self.context.any_order;
        let sorts_probe = !any_order && !asked.is_sorted;
        let table_bytes = table_memory_bytes(built.rows as u64, built.memory_bytes as u64, built.is_dense()) as f64;
        let room_bytes = table_room_bytes(self.input_bytes() as u64, sorts_probe) as f64;
        let is_partitioned = table_bytes > room_bytes;
        // Rows of the built side without partner come last.
        if !any_order && (is_partitioned || self.context.kind.keeps_unmatched_right()) {
            return self.merge();
        }
        let mut cost = self.scan(built);
        cost.work(1.0, rates::JOIN_NS);
        cost += self.scan(asked);
        let mut buckets = 1.0;
        if is_partitioned {
            buckets = (table_bytes * HASH_BUCKET_DIVISOR / self.input_bytes()).ceil().min(HASH_BUCKETS_MAX);
            let flush = (self.input_bytes() / 2.0 / buckets).clamp(8_192.0, FLUSH_BYTES_LIMITS.1 as f64);
            for side in [built, asked] {
                self.spill(&mut cost, side, flush, flush);
            }
        }
        let in_cache = usize::from(table_bytes / buckets > rates::CORE_CACHE_BYTES);
        cost.work(built.rows, rates::HASH_ROW_NS[in_cache]);
        cost.work(asked.rows, rates::HASH_PROBE_NS[in_cache]);
        cost.hold(table_bytes.min(room_bytes));
        if sorts_probe {
            let used = self.used_probe_rows(asked);
            cost.work(used.rows, rates::HASH_PROBE_NS[in_cache]);
            self.sort_within(&mut cost, &used, self.input_bytes() / ORDER_DIVISOR);
        }
        cost += self.output();
        cost
    }

    /// The rows of the probe side that the output has, if each has one partner.
    fn used_probe_rows(&self, asked: &SideFacts) -> SideFacts {
        let rows = asked.rows.min(self.output_rows());
        let share = rows / asked.rows.max(1.0);
        // They are sorted as rows of any length.
        SideFacts { rows, memory_bytes: asked.memory_bytes * share, value_bytes: None, ..asked.clone() }
    }

    /// The partition join: both relations partitioned by a learned distribution, and each partition sorted in memory; a
    /// relation that fits half of the memory is sorted at once.
    pub(super) fn partition(&self) -> JoinCost {
        let mut cost = JoinCost::default();
        cost.work(1.0, rates::JOIN_NS);
        let mut room_bytes = self.input_bytes() / 2.0;
        let mut sides = [&self.left, &self.right];
        sides.sort_by(|a, b| a.memory_bytes.total_cmp(&b.memory_bytes));
        for side in sides {
            cost += self.scan(side);
            if side.is_sorted {
                continue;
            }
            if side.memory_bytes <= room_bytes / 2.0 {
                room_bytes -= side.memory_bytes;
                self.sort(&mut cost, side, side.rows);
                continue;
            }
            let buckets = (side.memory_bytes / BUCKET_BYTES).ceil().min(BUCKETS_MAX);
            let flush = (flush_bytes(self.context.profile) as f64)
                .min(room_bytes * 0.75 / buckets)
                .max(FLUSH_BYTES_LIMITS.0 as f64);
            // The keys of text are sampled by a scan of their own.
            if side.hints.text.is_some() {
                cost += self.scan(side);
            }
            cost.work(side.rows, rates::PARTITION_ROW_NS);
            self.spill(&mut cost, side, flush, flush);
            self.sort(&mut cost, side, side.rows / buckets);
        }
        cost += self.kernel(self.left.rows, self.right.rows);
        cost += self.output();
        cost
    }

    /// The cost of writing all rows and reading them back.
    fn spill(&self, cost: &mut JoinCost, side: &SideFacts, write_bytes: f64, read_bytes: f64) {
        let bytes = side.memory_bytes;
        let writes = Requests::sequential(bytes, write_bytes as u64, 1);
        let reads = Requests::sequential(bytes, read_bytes as u64, 1);
        cost.write(writes, self.context.profile);
        cost.read(reads, self.context.profile);
        cost.work(writes.count + reads.count, rates::REQUEST_NS);
        cost.work(bytes, rates::SPILL_BYTE_NS);
        cost.work(side.rows, rates::SPILL_ROW_NS);
    }
}

/// The smallest request at which a device reaches half of its best rate, in bytes.
fn flush_bytes(profile: &Profile) -> u64 {
    let (least, most) = FLUSH_BYTES_LIMITS;
    let rate = |bytes: u64| bytes as f64 / profile.time_us(bytes).max(f64::MIN_POSITIVE);
    let mut bytes = least;
    while bytes < most && rate(bytes) < rate(16 * most) / 2.0 {
        bytes *= 2;
    }
    bytes
}
