//! The driver of the hash join: in memory, partitioned, or as a last resort sorted and merged.

use super::bucket::{BucketRelation, scatter};
use super::order::SortedProbe;
use super::probe::HashProbe;
use super::table::{self, HashTable};
use crate::error::Result;
use crate::join::input::sorted::{self, input_bytes};
use crate::join::methods::group::KeyGroup;
use crate::join::methods::merge;
use crate::join::methods::overflow::SpilledRun;
use crate::join::methods::partition::{Scatter, flush_bytes};
use crate::join::rows::condition::JoinCondition;
use crate::join::rows::options::{JoinKind, JoinSide};
use crate::join::rows::relation::{KeyRange, Relation};
use crate::join::rows::sink::RowSink;
use crate::join::rows::sort_progress::SortProgress;
use crate::join::rows::spill::Spill;
use crate::join::rows::task::Task;
use std::sync::Arc;

/// Hash seeds, by recursion depth.
const SEEDS: [u64; 4] = [0x243F_6A88_85A3_08D3, 0x1319_8A2E_0370_7344, 0xA409_3822_299F_31D0, 0x082E_FA98_EC4E_6C89];
/// Partitions are sized to 1/3 of the memory, so that a larger one still fits.
const BUCKET_DIVISOR: u64 = 3;
/// Most partitions filled at once.
const BUCKETS_MAX: u64 = 1024;
/// Sorting the probe side gets 1/4 of the memory.
const ORDER_DIVISOR: u64 = 4;

/// A hash join of two relations.
pub(crate) struct HashJoin<'a> {
    pub(crate) left: &'a Arc<dyn Relation>,
    pub(crate) right: &'a Arc<dyn Relation>,
    pub(crate) task: &'a Arc<Task>,
    pub(crate) spill: &'a Arc<Spill>,
    /// The condition on pairs, if there is one.
    pub(crate) condition: Option<&'a JoinCondition>,
}

/// Most memory of a hash table of a join that has `memory_bytes`, and sorts the probe side if `sorts_probe`; for a
/// larger one rows are partitioned, or both sides sorted and merged. The planner predicts with it.
pub(crate) fn table_room_bytes(memory_bytes: u64, sorts_probe: bool) -> u64 {
    let memory_bytes = if sorts_probe { memory_bytes - memory_bytes / ORDER_DIVISOR } else { memory_bytes };
    memory_bytes.saturating_sub(2 * input_bytes(memory_bytes))
}

/// A level of the recursion: what to join within which memory.
#[derive(Clone, Copy)]
struct HashLevel<'a> {
    range: &'a KeyRange,
    memory_bytes: u64,
    /// Number of partitionings above.
    depth: usize,
}

/// Where the rows of a join go, and the number of processed left rows.
struct HashOutput<'a> {
    sink: &'a mut dyn RowSink,
    done: &'a mut dyn FnMut(u64),
}

impl HashJoin<'_> {
    /// Joins the rows of both relations within a range of keys, in about `memory_bytes` of the budget, in key order or
    /// in any order. Calls `done` with numbers of processed left rows.
    ///
    /// # Errors
    /// Errors of the relations, the spill storage and the sink; [`crate::Cause::JoinMemory`] if memory is short;
    /// [`crate::Cause::Interrupted`].
    pub(crate) fn run(
        &self,
        range: &KeyRange,
        memory_bytes: u64,
        any_order: bool,
        sink: &mut dyn RowSink,
        done: &mut dyn FnMut(u64),
    ) -> Result<()> {
        let level = HashLevel { range, memory_bytes, depth: 0 };
        let (_, probe) = self.sides();
        let output = &mut HashOutput { sink, done };
        if any_order {
            return self.join_level(level, output);
        }
        // Rows of the build side that have no partner come last, wherever they belong.
        let keeps_build = self.task.kind.keeps_unmatched_right();
        if !keeps_build && self.in_order(level, probe.facts().is_sorted, output)? {
            return Ok(());
        }
        let mut progress = SortProgress::new(self.task, 0);
        self.sort_and_merge(level, output, &mut progress)
    }

    /// Joins in key order by one table in memory: rows come out in the order of the probe side, which is sorted if it
    /// is not. `false`, without any output, if the table does not fit.
    fn in_order(&self, level: HashLevel<'_>, is_sorted: bool, output: &mut HashOutput<'_>) -> Result<bool> {
        if is_sorted {
            return self.in_memory(level, output);
        }
        let HashLevel { range, memory_bytes, .. } = level;
        let order_bytes = memory_bytes / ORDER_DIVISOR;
        let (_, probe_side) = self.sides();
        let Some((table, scan_bytes)) = self.table(HashLevel { memory_bytes: memory_bytes - order_bytes, ..level })?
        else {
            return Ok(false);
        };
        let mut probe = HashProbe::new((self.task, self.condition), &table, self.build())?;
        let mut progress = SortProgress::new(self.task, probe_side.facts().rows);
        let room = (order_bytes, scan_bytes);
        let mut sorted = SortedProbe::sort((&**probe_side, range), &probe, self.spill, room, &mut progress)?;
        probe.run(self.task, &mut sorted, output.sink, &mut self.left_counter(output.done))?;
        Ok(true)
    }

    fn build(&self) -> JoinSide {
        let is_smaller = self.left.facts().memory_bytes() < self.right.facts().memory_bytes();
        if self.task.kind == JoinKind::Inner && is_smaller { JoinSide::Left } else { JoinSide::Right }
    }

    /// The build side and the probe side.
    fn sides(&self) -> (&Arc<dyn Relation>, &Arc<dyn Relation>) {
        match self.build() {
            JoinSide::Left => (self.left, self.right),
            JoinSide::Right => (self.right, self.left),
        }
    }

    fn join_level(&self, level: HashLevel<'_>, output: &mut HashOutput<'_>) -> Result<()> {
        match self.in_memory(level, output)? {
            true => Ok(()),
            false => self.scattered(level, output),
        }
    }

    /// Joins by one table in memory; `false`, without any output, if it does not fit.
    fn in_memory(&self, level: HashLevel<'_>, output: &mut HashOutput<'_>) -> Result<bool> {
        let Some((table, scan_bytes)) = self.table(level)? else { return Ok(false) };
        let (_, probe) = self.sides();
        let mut stream = probe.scan(level.range, self.task, self.task.budget.take(scan_bytes, "reading")?)?;
        let mut probe = HashProbe::new((self.task, self.condition), &table, self.build())?;
        probe.run(self.task, &mut *stream, output.sink, &mut self.left_counter(output.done))?;
        Ok(true)
    }

    /// The table of the build side, and the memory for each scan; `None` if it does not fit.
    fn table(&self, level: HashLevel<'_>) -> Result<Option<(HashTable, u64)>> {
        let HashLevel { range, memory_bytes, depth } = level;
        let (build, _) = self.sides();
        let total = if depth == 0 { build.facts().rows } else { 0 };
        let mut progress = SortProgress::new(self.task, total);
        let scan_bytes = input_bytes(memory_bytes);
        let seed = SEEDS[depth.min(SEEDS.len() - 1)];
        let available = (memory_bytes - memory_bytes.min(scan_bytes), scan_bytes);
        let built = HashTable::build(&**build, range, self.task, available, !seed, &mut progress)?;
        Ok(built.map(|table| (table, scan_bytes)))
    }

    /// Counts probe rows as processed if they are those of the left side.
    fn left_counter<'d>(&self, done: &'d mut dyn FnMut(u64)) -> impl FnMut(u64) + use<'d> {
        let is_left = self.build() == JoinSide::Right;
        move |rows| {
            if is_left {
                done(rows);
            }
        }
    }

    /// Partitions both relations by hash, and joins pairs of partitions.
    fn scattered(&self, level: HashLevel<'_>, output: &mut HashOutput<'_>) -> Result<()> {
        let HashLevel { range, memory_bytes, depth } = level;
        let total = if depth == 0 { self.left.facts().rows.saturating_add(self.right.facts().rows) } else { 0 };
        let progress = &mut SortProgress::new(self.task, total);
        let Some(&seed) = SEEDS.get(depth) else { return self.sort_and_merge(level, output, progress) };
        let (build, _) = self.sides();
        let needed = table::memory_bytes(build.facts());
        let input = input_bytes(memory_bytes);
        let buffers = (memory_bytes - input) / 2;
        let wanted = (needed.saturating_mul(BUCKET_DIVISOR) / memory_bytes.max(1) + 2).min(BUCKETS_MAX);
        let flush = flush_bytes(&self.task.profile).min(buffers / wanted).max(FLUSH_BYTES_MIN);
        let buckets = wanted.min(buffers / flush).max(2) as usize;
        let bytes = self.left.facts().memory_bytes().saturating_add(self.right.facts().memory_bytes());
        if Scatter::list_bytes(bytes, flush as usize) > memory_bytes / 4 {
            // The list of chunks would not fit memory.
            return self.sort_and_merge(level, output, progress);
        }
        let shape = (buckets, flush as usize, input);
        let hash = |key: &[u8]| table::hash(key, seed);
        let left = scatter(&**self.left, range, self.spill, shape, hash, progress)?;
        let right = scatter(&**self.right, range, self.spill, shape, hash, progress)?;
        for number in 0..buckets {
            let below = HashLevel { range: &KeyRange::all(), memory_bytes, depth: depth + 1 };
            self.bucket(left.bucket(number), right.bucket(number), below, output)?;
        }
        Ok(())
    }

    fn bucket(
        &self,
        left: BucketRelation,
        right: BucketRelation,
        level: HashLevel<'_>,
        output: &mut HashOutput<'_>,
    ) -> Result<()> {
        let is_empty = |side: &BucketRelation| side.facts().rows == 0;
        let (keeps_left, keeps_right) = (self.task.kind.keeps_unmatched(), self.task.kind.keeps_unmatched_right());
        if (is_empty(&left) && !keeps_right) || (is_empty(&right) && !keeps_left) {
            (output.done)(left.facts().rows);
            return Ok(());
        }
        let (left, right): (Arc<dyn Relation>, Arc<dyn Relation>) = (Arc::new(left), Arc::new(right));
        let bucket = HashJoin { left: &left, right: &right, ..*self };
        // If most rows are in one partition, they have one key, and another hash would not split them.
        let is_part = |part: &Arc<dyn Relation>, whole: &Arc<dyn Relation>| part.facts().rows <= whole.facts().rows / 2;
        let (build, _) = bucket.sides();
        let whole = if bucket.build() == JoinSide::Left { self.left } else { self.right };
        let fits = table::memory_bytes(build.facts()) <= level.memory_bytes / 2;
        if fits || is_part(build, whole) {
            return bucket.join_level(level, output);
        }
        let mut progress = SortProgress::new(self.task, 0);
        bucket.sort_and_merge(level, output, &mut progress)
    }

    /// Sorts both relations, and merges them.
    fn sort_and_merge(
        &self,
        HashLevel { range, memory_bytes, .. }: HashLevel<'_>,
        HashOutput { sink, done }: &mut HashOutput<'_>,
        progress: &mut SortProgress,
    ) -> Result<()> {
        let part = memory_bytes / 4;
        let sort = |relation: &Arc<dyn Relation>, bytes, progress: &mut SortProgress| match relation.facts().is_sorted {
            true => Ok(Arc::clone(relation)),
            false => sorted::sorted_copy(relation, self.spill, bytes, part, progress),
        };
        // The memory that the first copy keeps is not available to the second, nor to the scans.
        let left = sort(self.left, part, progress)?;
        let right = sort(self.right, part, progress)?;
        // The rows of one key, and their overflow, get a part of their own, whatever the copies keep.
        let scan_bytes = (self.task.budget.left_bytes().saturating_sub(part) / 2).min(part);
        let scan = |relation: &Arc<dyn Relation>| {
            relation.scan(range, self.task, self.task.budget.take(scan_bytes, "reading")?)
        };
        let (mut left_rows, mut right_rows) = (scan(&left)?, scan(&right)?);
        let group_bytes = part / 2;
        let facts = self.right.facts();
        let overflow = SpilledRun::new(self.spill, (facts.key_bytes, facts.value_bytes), group_bytes);
        let mut group = KeyGroup::new(self.task, group_bytes, Some(Box::new(overflow)), self.condition)?;
        merge::join(self.task, &mut *left_rows, &mut *right_rows, *sink, &mut group, *done)
    }
}

/// Smallest write, in bytes.
const FLUSH_BYTES_MIN: u64 = 8 << 10;
