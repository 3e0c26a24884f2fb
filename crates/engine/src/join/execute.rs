//! The execution of a planned join: preparation once, then a join of each range of keys on a thread.

use super::input::sorted;
use super::methods::group::KeyGroup;
use super::methods::hash::HashJoin;
use super::methods::lookup::IndexLookup;
use super::methods::overflow::SpilledRun;
use super::methods::parallel::{self, Parallel};
use super::methods::{merge, partition};
use super::plan::Plan;
use super::rows::method::JoinMethod;
use super::rows::options::{JoinKind, JoinOptions, JoinSide};
use super::rows::relation::{KeyRange, Relation};
use super::rows::sink::RowSink;
use super::rows::sort_progress::SortProgress;
use super::rows::spill::Spill;
use super::rows::stoppable::StoppableSink;
use super::rows::task::Task;
use crate::error::{Error, Result};
use crate::table::Table;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Runs of equal keys get 1/4 of a thread's memory.
const GROUP_DIVISOR: u64 = 4;
/// Least memory of a thread, in bytes; with less, fewer threads run.
const THREAD_BYTES_MIN: u64 = 1 << 20;
/// Least memory of a thread, in blocks of the table with the largest ones: a planned scan divides three quarters of it
/// into nine parts, and each holds a block as read and as unpacked.
const THREAD_BLOCKS_MIN: u64 = 24;
/// The queue of waiting rows gets 1/8 of the memory, up to a useful maximum in bytes.
const QUEUE_DIVISOR: u64 = 8;
const QUEUE_BYTES_MAX: u64 = 16 << 20;
/// Sorted and partitioned relations may stay in memory, so 1/4 of the remaining memory is reserved for the join itself,
/// or, if memory is short, up to half of it within this many bytes.
const RESERVE_DIVISOR: u64 = 4;
const RESERVE_BYTES_MAX: u64 = 4 << 20;
/// Each scan of a sorted copy gets 1/4 of the memory for sorting and partitioning.
const SORTED_SCAN_DIVISOR: u64 = 4;

/// A planned join, with its prepared relations and index.
pub(super) struct Execution<'a> {
    left: Arc<dyn Relation>,
    right: Arc<dyn Relation>,
    plan: &'a Plan,
    options: &'a JoinOptions,
    task: &'a Arc<Task>,
    spill: &'a Arc<Spill>,
    /// The index of the inner relation, for methods that use one.
    lookup: Option<IndexLookup>,
    rows_done: AtomicU64,
}

impl<'a> Execution<'a> {
    /// Sorts, partitions and indexes the relations as the method requires.
    pub(super) fn prepare(
        relations: [&Arc<dyn Relation>; 2],
        plan: &'a Plan,
        options: &'a JoinOptions,
        task: &'a Arc<Task>,
        spill: &'a Arc<Spill>,
    ) -> Result<Self> {
        let [left, right] = prepare_relations(relations, plan, task, spill)?;
        // Of two copies, one is scanned in order, and the other one is probed; or both are scanned if rows of both may
        // be returned alone, or if a condition must tell all pairs of a row that is looked up.
        let is_scanned = options.kind.keeps_unmatched_right()
            || (options.condition.is_some() && options.kind == JoinKind::Semi && plan.inner == JoinSide::Left);
        let method = match plan.method.as_copy() {
            Some(_) if is_scanned => JoinMethod::Merge,
            Some(_) => JoinMethod::InljIndex,
            None => plan.method,
        };
        let lookup = match method.is_lookup() {
            true => Some(IndexLookup::new((&left, &right), method, plan.inner, options, task)?),
            false => None,
        };
        Ok(Self { left, right, plan, options, task, spill, lookup, rows_done: AtomicU64::new(0) })
    }

    /// Joins on the planned number of threads, if memory suffices and a relation can be cut.
    pub(super) fn run(&self, sink: &mut dyn RowSink) -> Result<()> {
        let left_bytes = self.task.budget.left_bytes();
        let most = usize::try_from(left_bytes / self.thread_bytes_min()).unwrap_or(usize::MAX);
        let threads = if self.can_be_cut() { self.plan.threads.min(most).max(1) } else { 1 };
        let queue_bytes = (left_bytes / QUEUE_DIVISOR).min(QUEUE_BYTES_MAX);
        let parallel = Parallel { threads, any_order: self.options.any_order, queue_bytes };
        let ranges = parallel::ranges(self.cuts(parallel.morsels()));
        if let [all] = &ranges[..] {
            return self.join(all, left_bytes, sink);
        }
        let _queue = self.task.budget.take(parallel.memory_bytes(), "handing rows over between threads")?;
        let each_bytes = self.task.budget.left_bytes() / threads as u64;
        let work = |range: &KeyRange, sink: &mut dyn RowSink| self.join(range, each_bytes, sink);
        self.task.averaged(threads, || parallel.run(self.task, &ranges, &work, sink))
    }

    /// Least memory of a thread.
    fn thread_bytes_min(&self) -> u64 {
        let tables = [&self.left, &self.right].into_iter().filter_map(|relation| relation.table());
        let largest_block = tables.map(Table::largest_block_bytes).max().unwrap_or(0);
        largest_block.saturating_mul(THREAD_BLOCKS_MIN).max(THREAD_BYTES_MIN)
    }

    /// Whether ranges of keys can be joined independently at no extra cost.
    fn can_be_cut(&self) -> bool {
        let is_by_range = self.plan.method == JoinMethod::Merge || self.plan.method.is_lookup();
        is_by_range && self.left.scans_ranges() && self.right.scans_ranges()
    }

    /// Keys that cut the larger relation into parts of about equal size.
    fn cuts(&self, parts: usize) -> Vec<Vec<u8>> {
        let mut relations = [&self.left, &self.right];
        relations.sort_by_key(|relation| std::cmp::Reverse(relation.facts().bytes));
        let cuts = relations.map(|relation| relation.cuts(parts));
        cuts.into_iter().find(|cuts| !cuts.is_empty()).unwrap_or_default()
    }

    /// Joins the rows of both relations within a range of keys, in about `memory_bytes` of the budget.
    fn join(&self, range: &KeyRange, memory_bytes: u64, sink: &mut dyn RowSink) -> Result<()> {
        let sink = &mut StoppableSink { task: self.task, sink };
        match self.plan.method {
            JoinMethod::Merge | JoinMethod::Partition | JoinMethod::Auto => self.merge(range, memory_bytes, sink),
            JoinMethod::Hash => self.hash(range, memory_bytes, sink),
            _ if self.lookup.is_none() => self.merge(range, memory_bytes, sink),
            _ => self.look_up(range, memory_bytes, sink),
        }
    }

    fn look_up(&self, range: &KeyRange, memory_bytes: u64, sink: &mut dyn RowSink) -> Result<()> {
        let Some(lookup) = &self.lookup else {
            return Err(Error::input("this method has no index to look keys up in"));
        };
        let mut group = self.group(memory_bytes / GROUP_DIVISOR)?;
        let memory_bytes = memory_bytes - memory_bytes / GROUP_DIVISOR;
        lookup.run(range, memory_bytes, &mut group, self.task, sink, &mut |rows| self.advance(rows))
    }

    fn merge(&self, range: &KeyRange, memory_bytes: u64, sink: &mut dyn RowSink) -> Result<()> {
        let share = |side: &dyn Relation, bytes: u64| self.task.budget.take(bytes, &side.facts().name);
        let relations = [&self.left, &self.right].map(|side| side.facts().bytes as f64);
        let [left_bytes, right_bytes] = merge::scan_bytes(memory_bytes, relations);
        let mut left = self.left.scan(range, self.task, share(&*self.left, left_bytes)?)?;
        let mut right = self.right.scan(range, self.task, share(&*self.right, right_bytes)?)?;
        let mut group = self.group(memory_bytes / GROUP_DIVISOR)?;
        merge::join(self.task, &mut *left, &mut *right, sink, &mut group, &mut |rows| self.advance(rows))
    }

    fn hash(&self, range: &KeyRange, memory_bytes: u64, sink: &mut dyn RowSink) -> Result<()> {
        let join = HashJoin {
            left: &self.left,
            right: &self.right,
            task: self.task,
            spill: self.spill,
            condition: self.options.condition.as_ref(),
        };
        join.run(range, memory_bytes, self.options.any_order, sink, &mut |rows| self.advance(rows))
    }

    /// Memory for runs of equal keys.
    fn group(&self, memory_bytes: u64) -> Result<KeyGroup> {
        let facts = self.right.facts();
        let overflow = SpilledRun::new(self.spill, (facts.key_bytes, facts.value_bytes), memory_bytes);
        KeyGroup::new(self.task, memory_bytes, Some(Box::new(overflow)), self.options.condition.as_ref())
    }

    /// Counts processed rows, and reports progress.
    fn advance(&self, rows: u64) {
        let done = self.rows_done.fetch_add(rows, Ordering::Relaxed) + rows;
        self.task.report(super::JoinPhase::Joining, done, self.left.facts().rows.max(done));
    }
}

/// Both relations as the method needs them: sorted copies of unsorted ones, or what a registered method makes of them.
fn prepare_relations(
    relations: [&Arc<dyn Relation>; 2],
    plan: &Plan,
    task: &Arc<Task>,
    spill: &Arc<Spill>,
) -> Result<[Arc<dyn Relation>; 2]> {
    let memory_bytes = || {
        let left_bytes = task.budget.left_bytes();
        left_bytes - (left_bytes / 2).min(RESERVE_BYTES_MAX.max(left_bytes / RESERVE_DIVISOR))
    };
    match plan.method {
        JoinMethod::Partition => {
            partition::sorted_copies(relations, spill, memory_bytes(), memory_bytes() / SORTED_SCAN_DIVISOR)
        }
        JoinMethod::Merge | JoinMethod::Inlj | JoinMethod::InljIndex => {
            // Keys are looked up in the inner relation in their order.
            let is_read_in_order = |side: JoinSide| plan.method == JoinMethod::Merge || side != plan.inner;
            let sides = [(relations[0], JoinSide::Left), (relations[1], JoinSide::Right)];
            let is_sorted_first = |(relation, side): &(&Arc<dyn Relation>, JoinSide)| {
                !relation.facts().is_sorted && is_read_in_order(*side)
            };
            let rows = sides.iter().filter(|side| is_sorted_first(side)).map(|(relation, _)| relation.facts().rows);
            let mut progress = SortProgress::new(task, rows.fold(0, u64::saturating_add));
            let mut sort = |side: &(&Arc<dyn Relation>, JoinSide)| match is_sorted_first(side) {
                false => Ok(Arc::clone(side.0)),
                true => {
                    let (memory_bytes, scan_bytes) = (memory_bytes(), memory_bytes() / SORTED_SCAN_DIVISOR);
                    sorted::sorted_copy(side.0, spill, memory_bytes, scan_bytes, &mut progress)
                }
            };
            Ok([sort(&sides[0])?, sort(&sides[1])?])
        }
        _ => match plan.method.as_copy() {
            Some(copy) => partition::copies_by(copy, relations, spill, memory_bytes()),
            None => Ok(relations.map(Arc::clone)),
        },
    }
}
