//! A planned join carried out: what is done once, and what each thread does with its range of keys.

use super::group::Group;
use super::hash::HashJoin;
use super::inlj::{Loaded, Planned, Probes, load, probe, wanted_bytes};
use super::merge::{self, Sink};
use super::open_probes;
use super::options::{JoinOptions, Method, Side};
use super::overflow::SpilledRun;
use super::parallel::{self, Parallel};
use super::partition;
use super::plan::Plan;
use super::sorted::{self, Progress};
use super::source::{KeyRange, Relation};
use super::spill::Spill;
use super::task::Task;
use crate::error::{Error, Result};
use crate::table::Table;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Of the memory that a thread has, a scan takes this part, and so do runs of equal keys, and windows of probes.
const SCAN_PART: u64 = 4;
const GROUP_PART: u64 = 4;
const WINDOW_PART: u64 = 4;
/// Of it, a planned scan takes at most this part; then there is as much for runs of equal keys.
const PLANNED_PART: u64 = 2;
/// Rows that wait for their turn, where there are several threads, take this part of the memory.
const QUEUE_PART: u64 = 8;
/// Of what is left, sorting or partitioning takes this part; what comes out may stay in memory while the rest is used to join it.
const ARRANGE_PART: u64 = 2;

/// A join that is planned, and what was made for it.
pub(super) struct Work<'a> {
    left: Arc<dyn Relation>,
    right: Arc<dyn Relation>,
    plan: &'a Plan,
    options: &'a JoinOptions,
    task: &'a Arc<Task>,
    spill: &'a Arc<Spill>,
    /// The index over the inner relation's blocks, in methods that have one.
    index: Option<Loaded>,
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
        let mut work = Self { left, right, plan, options, task, spill, index: None, rows_done: AtomicU64::new(0) };
        if work.looks_blocks_up() {
            work.index = Some(load(work.inner_table()?, plan.method, options.leaf_iterator, task)?);
        }
        Ok(work)
    }

    /// Joins, on as many threads as planned.
    pub(super) fn run(&self, sink: &mut dyn Sink) -> Result<()> {
        let memory_bytes = self.task.budget.left_bytes();
        let threads = if self.can_be_cut() { self.plan.threads } else { 1 };
        let queue_bytes = if threads > 1 { memory_bytes / QUEUE_PART } else { 0 };
        let parallel = Parallel { threads, any_order: self.options.any_order, queue_bytes };
        let cuts = if threads > 1 { self.cuts(parallel.morsels()) } else { Vec::new() };
        let batches_bytes = (threads * parallel.batch_bytes()) as u64;
        let _queue = match threads {
            1 => None,
            _ => Some(self.task.budget.take(queue_bytes + batches_bytes, "handing rows over")?),
        };
        let each_bytes = self.task.budget.left_bytes() / threads as u64;
        let join = |range: &KeyRange, sink: &mut dyn Sink| self.join(range, each_bytes, sink);
        parallel.run(self.task, &parallel::ranges(cuts), &join, sink)
    }

    /// Whether each range of keys can be joined by itself.
    fn can_be_cut(&self) -> bool {
        self.plan.method == Method::Merge || self.looks_blocks_up() || self.plan.method == Method::InljIndex
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
            Method::Inlj => self.planned(range, memory_bytes, sink),
            Method::InljIndex | Method::PartitionBtree => self.open_probes(range, memory_bytes, sink),
            _ => self.probes(range, memory_bytes, sink),
        }
    }

    fn merge(&self, range: &KeyRange, memory_bytes: u64, sink: &mut dyn Sink) -> Result<()> {
        let share = |side: &dyn Relation| self.task.budget.take(memory_bytes / SCAN_PART, &side.facts().name);
        let mut left = self.left.scan(range, self.task, share(&*self.left)?)?;
        let mut right = self.right.scan(range, self.task, share(&*self.right)?)?;
        let mut group = self.group(memory_bytes / GROUP_PART)?;
        merge::join(self.task, &mut *left, &mut *right, sink, &mut group, &mut |rows| self.advance(rows))
    }

    fn hash(&self, range: &KeyRange, memory_bytes: u64, sink: &mut dyn Sink) -> Result<()> {
        let join = HashJoin { left: &self.left, right: &self.right, task: self.task, spill: self.spill };
        join.run(range, memory_bytes, self.options.any_order, sink, &mut |rows| self.advance(rows))
    }

    fn planned(&self, range: &KeyRange, memory_bytes: u64, sink: &mut dyn Sink) -> Result<()> {
        let (table, index) = (self.inner_table()?, self.loaded()?);
        let wanted = wanted_bytes(table).min(memory_bytes / PLANNED_PART);
        let memory = self.task.budget.take(wanted, "reading ahead")?;
        let Planned { mut outer, mut inner } = Planned::start(self.outer(), range, table, index, self.task, memory)?;
        let mut group = self.group(memory_bytes / GROUP_PART)?;
        let done = &mut |rows| self.advance(rows);
        match self.plan.inner {
            Side::Right => merge::join(self.task, &mut outer, &mut inner, sink, &mut group, done),
            Side::Left => merge::join(self.task, &mut inner, &mut outer, sink, &mut group, done),
        }
    }

    fn probes(&self, range: &KeyRange, memory_bytes: u64, sink: &mut dyn Sink) -> Result<()> {
        let outer_memory = self.task.budget.take(memory_bytes / SCAN_PART, &self.outer().facts().name)?;
        let mut outer = self.outer().scan(range, self.task, outer_memory)?;
        let probes = Probes {
            task: self.task,
            inner: self.inner_table()?,
            index: self.loaded()?,
            inner_side: self.plan.inner,
            forward_window: self.options.forward_window.unwrap_or(self.plan.method != Method::InljBtree),
            memory: self.task.budget.take(memory_bytes / WINDOW_PART, "the window")?,
        };
        probe(&probes, &mut *outer, sink, &mut |rows| self.advance(rows))
    }

    fn open_probes(&self, range: &KeyRange, memory_bytes: u64, sink: &mut dyn Sink) -> Result<()> {
        let outer_memory = self.task.budget.take(memory_bytes / SCAN_PART, &self.outer().facts().name)?;
        let mut outer = self.outer().scan(range, self.task, outer_memory)?;
        let Some(prober) = self.inner().prober() else {
            let name = &self.inner().facts().name;
            return Err(Error::InvalidArgument(format!("{name} is no open index; choose another method, or `auto`")));
        };
        open_probes::join(self.task, &mut *outer, &mut *prober?, self.plan.inner, sink, &mut |rows| self.advance(rows))
    }

    /// Room for runs of equal keys.
    fn group(&self, memory_bytes: u64) -> Result<Group> {
        let facts = self.right.facts();
        let overflow = SpilledRun::new(self.spill, (facts.key_bytes, facts.value_bytes), memory_bytes);
        Group::new(self.task, memory_bytes, Some(Box::new(overflow)))
    }

    /// Whether the method looks keys up in an index over blocks.
    fn looks_blocks_up(&self) -> bool {
        matches!(
            self.plan.method,
            Method::Inlj
                | Method::InljBtree
                | Method::InljBtreeIter
                | Method::InljPgm { .. }
                | Method::InljPgmSampled
                | Method::InljRadixSpline
                | Method::InljRmi
        )
    }

    fn inner(&self) -> &Arc<dyn Relation> {
        match self.plan.inner {
            Side::Left => &self.left,
            Side::Right => &self.right,
        }
    }

    fn outer(&self) -> &Arc<dyn Relation> {
        match self.plan.inner {
            Side::Left => &self.right,
            Side::Right => &self.left,
        }
    }

    fn inner_table(&self) -> Result<&Table> {
        self.inner().table().ok_or_else(|| {
            let name = &self.inner().facts().name;
            Error::InvalidArgument(format!("{name} is no table, so that no index leads to its blocks; try `auto`"))
        })
    }

    fn loaded(&self) -> Result<&Loaded> {
        self.index.as_ref().ok_or_else(|| Error::InvalidArgument("a method without index looks blocks up".into()))
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
    let memory_bytes = || task.budget.left_bytes() / ARRANGE_PART;
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
