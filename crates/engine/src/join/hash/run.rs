//! The driver of the hash join: in memory, partitioned, or as a last resort sorted and merged.

use super::bucket::{BucketRelation, scatter};
use super::order::OrderSink;
use super::probe::Probe;
use super::table::{self, HashTable};
use crate::error::Result;
use crate::join::group::Group;
use crate::join::merge::{self, Sink};
use crate::join::options::{JoinKind, Side};
use crate::join::overflow::SpilledRun;
use crate::join::partition::{Scatter, flush_bytes};
use crate::join::sorted::{self, Progress, input_bytes};
use crate::join::source::{KeyRange, Relation};
use crate::join::spill::Spill;
use crate::join::task::Task;
use std::sync::Arc;

/// Seeds of the hashes, by how often rows were scattered.
const SEEDS: [u64; 4] = [0x243F_6A88_85A3_08D3, 0x1319_8A2E_0370_7344, 0xA409_3822_299F_31D0, 0x082E_FA98_EC4E_6C89];
/// A bucket is to take this part of memory, so that one that is larger than others still fits.
const BUCKET_PART: u64 = 3;
/// Buckets that are filled at a time.
const BUCKETS_MAX: u64 = 1024;
/// Sorting the output takes this part of memory.
const ORDER_PART: u64 = 4;

/// Two relations to be joined by hashing.
pub(crate) struct HashJoin<'a> {
    pub(crate) left: &'a Arc<dyn Relation>,
    pub(crate) right: &'a Arc<dyn Relation>,
    pub(crate) task: &'a Arc<Task>,
    pub(crate) spill: &'a Arc<Spill>,
}

impl HashJoin<'_> {
    /// Joins what both have within a range of keys, in about `memory_bytes` of the budget: in key order, or in any. `done` is told of left rows that
    /// are dealt with.
    ///
    /// # Errors
    /// What the relations, the storage of spill files and the sink report; [`crate::Error::InvalidArgument`] where memory is short;
    /// [`crate::Error::Interrupted`].
    pub(crate) fn run(
        &self,
        range: &KeyRange,
        memory_bytes: u64,
        any_order: bool,
        sink: &mut dyn Sink,
        done: &mut dyn FnMut(u64),
    ) -> Result<()> {
        let (build, probe) = self.sides();
        let fits = table::memory_bytes(build.facts()) + 2 * input_bytes(memory_bytes) <= memory_bytes;
        let facts = build.facts();
        // What rows of varying width take is known only when they are there: they may lie packed in their table.
        let is_certain = facts.is_exact && facts.key_bytes.is_some() && facts.value_bytes.is_some();
        // Once a table is built, its rows come out in the order of the probe side.
        let in_order = any_order || (fits && is_certain && probe.facts().is_sorted);
        if in_order {
            return self.level(range, memory_bytes, 0, sink, done);
        }
        let order_bytes = memory_bytes / ORDER_PART;
        let mut order = OrderSink::new(self.spill, order_bytes)?;
        self.level(range, memory_bytes - order_bytes, 0, &mut order, done)?;
        order.give(sink)
    }

    fn build(&self) -> Side {
        let is_smaller = self.left.facts().bytes < self.right.facts().bytes;
        if self.task.kind == JoinKind::Inner && is_smaller { Side::Left } else { Side::Right }
    }

    /// The relation that is put into a table, and the other one.
    fn sides(&self) -> (&Arc<dyn Relation>, &Arc<dyn Relation>) {
        match self.build() {
            Side::Left => (self.left, self.right),
            Side::Right => (self.right, self.left),
        }
    }

    fn level(
        &self,
        range: &KeyRange,
        memory_bytes: u64,
        depth: usize,
        sink: &mut dyn Sink,
        done: &mut dyn FnMut(u64),
    ) -> Result<()> {
        let (build, probe) = self.sides();
        let total = if depth == 0 { build.facts().rows } else { 0 };
        let mut progress = Progress::new(self.task, total);
        let scan_bytes = input_bytes(memory_bytes);
        let seed = SEEDS[depth.min(SEEDS.len() - 1)];
        let available = (memory_bytes - memory_bytes.min(scan_bytes), scan_bytes);
        let built = HashTable::build(&**build, range, self.task, available, !seed, &mut progress)?;
        if let Some(table) = built {
            let mut stream = probe.scan(range, self.task, self.task.budget.take(scan_bytes, "reading")?)?;
            let is_left = self.build() == Side::Right;
            let mut count = |rows| {
                if is_left {
                    done(rows)
                }
            };
            return Probe::new(self.task.kind, &table, self.build()).run(self.task, &mut *stream, sink, &mut count);
        }
        self.scattered(range, memory_bytes, depth, sink, done, &mut progress)
    }

    /// Scatters both relations, and joins bucket by bucket.
    fn scattered(
        &self,
        range: &KeyRange,
        memory_bytes: u64,
        depth: usize,
        sink: &mut dyn Sink,
        done: &mut dyn FnMut(u64),
        progress: &mut Progress,
    ) -> Result<()> {
        let Some(&seed) = SEEDS.get(depth) else { return self.merged(range, memory_bytes, sink, done, progress) };
        let (build, _) = self.sides();
        let needed = table::memory_bytes(build.facts());
        let input = input_bytes(memory_bytes);
        let buffers = (memory_bytes - input) / 2;
        let wanted = (needed.saturating_mul(BUCKET_PART) / memory_bytes.max(1) + 2).min(BUCKETS_MAX);
        let flush = flush_bytes(&self.task.profile).min(buffers / wanted).max(FLUSH_BYTES_MIN);
        let buckets = wanted.min(buffers / flush).max(2) as usize;
        let bytes = self.left.facts().bytes.saturating_add(self.right.facts().bytes);
        if Scatter::list_bytes(bytes, flush as usize) > memory_bytes / 4 {
            // The list of so many pieces would not fit memory.
            return self.merged(range, memory_bytes, sink, done, progress);
        }
        let shape = (buckets, flush as usize, input);
        let hash = |key: &[u8]| table::hash(key, seed);
        let left = scatter(&**self.left, range, self.spill, shape, hash, progress)?;
        let right = scatter(&**self.right, range, self.spill, shape, hash, progress)?;
        for number in 0..buckets {
            let (left, right) = (left.bucket(number), right.bucket(number));
            self.bucket(left, right, memory_bytes, depth, sink, done)?;
        }
        Ok(())
    }

    fn bucket(
        &self,
        left: BucketRelation,
        right: BucketRelation,
        memory_bytes: u64,
        depth: usize,
        sink: &mut dyn Sink,
        done: &mut dyn FnMut(u64),
    ) -> Result<()> {
        if left.facts().rows == 0 || (right.facts().rows == 0 && !self.task.kind.keeps_unmatched()) {
            done(left.facts().rows);
            return Ok(());
        }
        let (left, right): (Arc<dyn Relation>, Arc<dyn Relation>) = (Arc::new(left), Arc::new(right));
        let bucket = HashJoin { left: &left, right: &right, ..*self };
        // Where most rows came into one bucket, they are of one key: another hash would not part them.
        let is_part = |part: &Arc<dyn Relation>, whole: &Arc<dyn Relation>| part.facts().rows <= whole.facts().rows / 2;
        let (build, _) = bucket.sides();
        let whole = if bucket.build() == Side::Left { self.left } else { self.right };
        let fits = table::memory_bytes(build.facts()) <= memory_bytes / 2;
        if fits || is_part(build, whole) {
            return bucket.level(&KeyRange::all(), memory_bytes, depth + 1, sink, done);
        }
        let mut progress = Progress::new(self.task, 0);
        bucket.merged(&KeyRange::all(), memory_bytes, sink, done, &mut progress)
    }

    /// Sorts both relations, and merges them.
    fn merged(
        &self,
        range: &KeyRange,
        memory_bytes: u64,
        sink: &mut dyn Sink,
        done: &mut dyn FnMut(u64),
        progress: &mut Progress,
    ) -> Result<()> {
        let part = memory_bytes / 4;
        let arrange = |relation: &Arc<dyn Relation>, bytes, progress: &mut Progress| match relation.facts().is_sorted {
            true => Ok(Arc::clone(relation)),
            false => sorted::arrange(relation, self.spill, bytes, part, progress),
        };
        // What the first one keeps in memory is not there for the second, nor for the scans.
        let left = arrange(self.left, part, progress)?;
        let right = arrange(self.right, part, progress)?;
        let scan = |relation: &Arc<dyn Relation>| {
            let memory = self.task.budget.take(self.task.budget.left_bytes().min(part), "reading")?;
            relation.scan(range, self.task, memory)
        };
        let (mut left_rows, mut right_rows) = (scan(&left)?, scan(&right)?);
        let group_bytes = part / 2;
        let facts = self.right.facts();
        let overflow = SpilledRun::new(self.spill, (facts.key_bytes, facts.value_bytes), group_bytes);
        let mut group = Group::new(self.task, group_bytes, Some(Box::new(overflow)))?;
        merge::join(self.task, &mut *left_rows, &mut *right_rows, sink, &mut group, done)
    }
}

/// Least that is written at a time, in bytes.
const FLUSH_BYTES_MIN: u64 = 8 << 10;
