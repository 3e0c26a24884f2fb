//! The execution of a planned join: preparation once, then a join of each range of keys on a thread.

use super::group::Group;
use super::hash::HashJoin;
use super::inlj::Lookup;
use super::merge::{self, Sink};
use super::options::{JoinOptions, Method};
use super::overflow::SpilledRun;
use super::parallel::{self, Parallel};
use super::partition;
use super::plan::Plan;
use super::sorted::{self, Progress};
use super::source::{KeyRange, Relation};
use super::spill::Spill;
use super::task::Task;
use crate::error::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Of the memory that a thread has, both scans together take this part, and runs of equal keys another one.
const SCANS_PART: u64 = 2;
const GROUP_PART: u64 = 4;
/// The smaller relation's scan takes at least this part of what both have: its requests must not be short either.
const LEAST_SCAN_PART: u64 = 8;
/// A thread has at least so much, in bytes, or there are fewer.
const THREAD_BYTES_MIN: u64 = 1 << 20;
/// Part of the memory for rows that wait for their turn, and the most that is of use, in bytes.
const QUEUE_PART: u64 = 8;
const QUEUE_BYTES: u64 = 16 << 20;
/// What comes out of sorting and partitioning may stay in memory, so this part of what is left is kept for joining it, or, where memory is short, half of
/// it up to so many bytes.
const KEPT_PART: u64 = 4;
const KEPT_BYTES: u64 = 4 << 20;
/// Of the memory for sorting and partitioning, scans of what comes out get this part each.
const SCAN_PART: u64 = 4;

/// A join that is planned, and what was made for it.
pub(super) struct Work<'a> {
    left: Arc<dyn Relation>,
    right: Arc<dyn Relation>,
    plan: &'a Plan,
    options: &'a JoinOptions,
    task: &'a Arc<Task>,
    spill: &'a Arc<Spill>,
    /// The index of the inner relation, in methods that look up in one.
    lookup: Option<Lookup>,
    rows_done: AtomicU64,
}

impl<'a> Work<'a> {
    /// Sorts, partitions and indexes what the method needs sorted, partitioned and indexed.
    pub(super) fn prepare(
        relations: [&Arc<dyn Relation>; 2],
        plan: &'a Plan,
        options: &'a JoinOptions,
        task: &'a Arc<Task>,
        spill: &'a Arc<Spill>,
    ) -> Result<Self> {
        let [left, right] = arrange(relations, plan.method, task, spill)?;
        // As in the paper (Section 5.4), one of the trees is read in order, and the other one is probed.
        let method = if plan.method == Method::PartitionBtree { Method::InljIndex } else { plan.method };
        let lookup = match method.is_lookup() {
            true => Some(Lookup::new((&left, &right), method, plan.inner, options, task)?),
            false => None,
        };
        Ok(Self { left, right, plan, options, task, spill, lookup, rows_done: AtomicU64::new(0) })
    }

    /// Joins, on as many threads as are planned, if there is memory for them and a relation can be cut.
    pub(super) fn run(&self, sink: &mut dyn Sink) -> Result<()> {
        let left_bytes = self.task.budget.left_bytes();
        let most = usize::try_from(left_bytes / THREAD_BYTES_MIN).unwrap_or(usize::MAX);
        let threads = if self.can_be_cut() { self.plan.threads.min(most).max(1) } else { 1 };
        let queue_bytes = (left_bytes / QUEUE_PART).min(QUEUE_BYTES);
        let parallel = Parallel { threads, any_order: self.options.any_order, queue_bytes };
        let ranges = parallel::ranges(self.cuts(parallel.morsels()));
        if let [all] = &ranges[..] {
            return self.join(all, left_bytes, sink);
        }
        let _queue = self.task.budget.take(parallel.memory_bytes(), "handing rows over between threads")?;
        let each_bytes = self.task.budget.left_bytes() / threads as u64;
        parallel.run(self.task, &ranges, &|range, sink| self.join(range, each_bytes, sink), sink)
    }

    /// Whether each range of keys can be joined by itself, as cheaply as all of them.
    fn can_be_cut(&self) -> bool {
        (self.plan.method == Method::Merge && self.left.facts().is_sorted && self.right.facts().is_sorted)
            || self.plan.method.is_lookup()
    }

    /// Keys that cut the larger relation into about equal parts.
    fn cuts(&self, parts: usize) -> Vec<Vec<u8>> {
        let mut relations = [&self.left, &self.right];
        relations.sort_by_key(|relation| std::cmp::Reverse(relation.facts().bytes));
        let cuts = relations.map(|relation| relation.cuts(parts));
        cuts.into_iter().find(|cuts| !cuts.is_empty()).unwrap_or_default()
    }

    /// Joins what both relations have within a range of keys, in about `memory_bytes` of the budget.
    fn join(&self, range: &KeyRange, memory_bytes: u64, sink: &mut dyn Sink) -> Result<()> {
        match self.plan.method {
            Method::Merge | Method::Partition | Method::Auto => self.merge(range, memory_bytes, sink),
            Method::Hash => self.hash(range, memory_bytes, sink),
            _ => self.look_up(range, memory_bytes, sink),
        }
    }

    fn look_up(&self, range: &KeyRange, memory_bytes: u64, sink: &mut dyn Sink) -> Result<()> {
        let Some(lookup) = &self.lookup else {
            return Err(Error::InvalidArgument("a method without index looks up".into()));
        };
        let mut group = self.group(memory_bytes / GROUP_PART)?;
        let memory_bytes = memory_bytes - memory_bytes / GROUP_PART;
        lookup.run(range, memory_bytes, &mut group, self.task, sink, &mut |rows| self.advance(rows))
    }

    fn merge(&self, range: &KeyRange, memory_bytes: u64, sink: &mut dyn Sink) -> Result<()> {
        let share = |side: &dyn Relation, bytes: u64| self.task.budget.take(bytes, &side.facts().name);
        let [left_bytes, right_bytes] = self.scan_bytes(memory_bytes / SCANS_PART);
        let mut left = self.left.scan(range, self.task, share(&*self.left, left_bytes)?)?;
        let mut right = self.right.scan(range, self.task, share(&*self.right, right_bytes)?)?;
        let mut group = self.group(memory_bytes / GROUP_PART)?;
        merge::join(self.task, &mut *left, &mut *right, sink, &mut group, &mut |rows| self.advance(rows))
    }

    /// Memory for a scan of each relation: the longer one gets the longer requests.
    fn scan_bytes(&self, both_bytes: u64) -> [u64; 2] {
        let (left, right) = (self.left.facts().bytes as f64, self.right.facts().bytes as f64);
        let least = both_bytes / LEAST_SCAN_PART;
        let share = (both_bytes as f64 * (left / (left + right).max(1.0))) as u64;
        let left_bytes = share.clamp(least, both_bytes - least);
        [left_bytes, both_bytes - left_bytes]
    }

    fn hash(&self, range: &KeyRange, memory_bytes: u64, sink: &mut dyn Sink) -> Result<()> {
        let join = HashJoin { left: &self.left, right: &self.right, task: self.task, spill: self.spill };
        join.run(range, memory_bytes, self.options.any_order, sink, &mut |rows| self.advance(rows))
    }

    /// Room for runs of equal keys.
    fn group(&self, memory_bytes: u64) -> Result<Group> {
        let facts = self.right.facts();
        let overflow = SpilledRun::new(self.spill, (facts.key_bytes, facts.value_bytes), memory_bytes);
        Group::new(self.task, memory_bytes, Some(Box::new(overflow)))
    }

    /// Counts rows that are dealt with.
    fn advance(&self, rows: u64) {
        let done = self.rows_done.fetch_add(rows, Ordering::Relaxed) + rows;
        self.task.report(super::Phase::Joining, done, self.left.facts().rows.max(done));
    }
}

/// Both relations as the method wants them: sorted copies of those that are not sorted, or trees.
fn arrange(
    relations: [&Arc<dyn Relation>; 2],
    method: Method,
    task: &Arc<Task>,
    spill: &Arc<Spill>,
) -> Result<[Arc<dyn Relation>; 2]> {
    let memory_bytes = || {
        let left_bytes = task.budget.left_bytes();
        left_bytes - (left_bytes / 2).min(KEPT_BYTES.max(left_bytes / KEPT_PART))
    };
    match method {
        Method::Partition => partition::arrange(relations, spill, memory_bytes(), memory_bytes() / SCAN_PART),
        Method::PartitionBtree => partition::arrange_btree(relations, spill, memory_bytes()),
        Method::Merge => {
            let unsorted = relations.iter().filter(|relation| !relation.facts().is_sorted);
            let mut progress = Progress::new(task, unsorted.map(|relation| relation.facts().rows).sum());
            let mut sort = |relation: &Arc<dyn Relation>| match relation.facts().is_sorted {
                true => Ok(relation.clone()),
                false => sorted::arrange(relation, spill, memory_bytes(), memory_bytes() / SCAN_PART, &mut progress),
            };
            Ok([sort(relations[0])?, sort(relations[1])?])
        }
        _ => Ok(relations.map(Arc::clone)),
    }
}
