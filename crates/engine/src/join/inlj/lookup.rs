//! An index nested loop join: the state shared by its threads, and the work of each of them.

use super::load::{Loaded, load};
use super::open::probe_open;
use super::planned::Planned;
use super::probe::{Probes, probe};
use super::sizes::wanted_bytes;
use crate::error::{Error, Result};
use crate::join::group::Group;
use crate::join::merge::{self, Sink};
use crate::join::options::{JoinOptions, Method, Side};
use crate::join::source::{KeyRange, Relation};
use crate::join::task::Task;
use crate::table::Table;
use std::sync::Arc;

/// Of a probe loop's memory, this part is for the scan of the outer relation.
const PROBE_SCAN_PART: u64 = 2;

/// How the inner relation is looked up in.
#[derive(Debug)]
enum Access {
    /// By a planned scan of its blocks.
    Planned(Table, Loaded),
    /// By probes of its blocks; with a window that only moves forward, or not.
    Probes(Table, Loaded, bool),
    /// By probes of its own.
    Open,
}

/// An index nested loop join of two relations, ready to be run by many threads, each on a range of keys.
#[derive(Debug)]
pub(crate) struct Lookup {
    outer: Arc<dyn Relation>,
    inner: Arc<dyn Relation>,
    inner_side: Side,
    access: Access,
}

impl Lookup {
    /// Reads or builds the index of a method over the relation on `inner_side`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] where that relation cannot be looked up in by this method, or the index does not fit the memory; what the
    /// storage reports, and damage.
    pub(crate) fn new(
        (left, right): (&Arc<dyn Relation>, &Arc<dyn Relation>),
        method: Method,
        inner_side: Side,
        options: &JoinOptions,
        task: &Task,
    ) -> Result<Self> {
        let (outer, inner) = match inner_side {
            Side::Right => (left, right),
            Side::Left => (right, left),
        };
        if inner_side == Side::Left && options.kind.keeps_unmatched() {
            return Err(Error::InvalidArgument(format!(
                "a join of kind {} reads its left relation whole; only the right one can be looked up in",
                options.kind
            )));
        }
        let access = match (method, inner.table()) {
            (Method::InljIndex, _) => match inner.prober() {
                Some(_) => Access::Open,
                None => return Err(cannot(method, &**inner, "an open index or store")),
            },
            (_, None) => return Err(cannot(method, &**inner, "a table")),
            (Method::Inlj, Some(table)) if task.fast_paths.batches => {
                Access::Planned(table.clone(), load(table, method, options.leaf_iterator, task)?)
            }
            (_, Some(table)) => {
                // The paper's B-tree join has neither optimisation (Section 5.3).
                let forward = options.forward_window.unwrap_or(method != Method::InljBtree);
                Access::Probes(table.clone(), load(table, method, options.leaf_iterator, task)?, forward)
            }
        };
        Ok(Self { outer: outer.clone(), inner: inner.clone(), inner_side, access })
    }

    /// Joins what both relations have within a range of keys, in at most `memory_bytes` of the budget beside what `group` has. `done` is told
    /// of every chunk how many rows of the left relation, or of the outer one, it has.
    ///
    /// # Errors
    /// What the relations and the sink report; [`Error::Interrupted`]; [`Error::InvalidArgument`] where the memory is too little.
    pub(crate) fn run(
        &self,
        range: &KeyRange,
        memory_bytes: u64,
        group: &mut Group,
        task: &Arc<Task>,
        sink: &mut dyn Sink,
        done: &mut dyn FnMut(u64),
    ) -> Result<()> {
        let name = &self.outer.facts().name;
        match &self.access {
            Access::Planned(table, loaded) => {
                let memory = task.budget.take(memory_bytes.min(wanted_bytes(table)), name)?;
                let Planned { mut outer, mut inner } = Planned::start(&self.outer, range, table, loaded, task, memory)?;
                match self.inner_side {
                    Side::Right => merge::join(task, &mut outer, &mut inner, sink, group, done),
                    Side::Left => merge::join(task, &mut inner, &mut outer, sink, group, done),
                }
            }
            Access::Probes(table, index, forward_window) => {
                let scan = task.budget.take(memory_bytes / PROBE_SCAN_PART, name)?;
                let memory = task.budget.take(memory_bytes - memory_bytes / PROBE_SCAN_PART, name)?;
                let mut outer = self.outer.scan(range, task, scan)?;
                let probes = Probes {
                    task,
                    inner: table,
                    index,
                    inner_side: self.inner_side,
                    forward_window: *forward_window,
                    memory,
                };
                probe(&probes, &mut *outer, sink, done)
            }
            Access::Open => {
                let scan = task.budget.take(memory_bytes / PROBE_SCAN_PART, name)?;
                let mut outer = self.outer.scan(range, task, scan)?;
                let prober = self.inner.prober().transpose()?;
                let mut prober = prober.ok_or_else(|| cannot(Method::InljIndex, &*self.inner, "an open index"))?;
                probe_open(task, &mut *outer, &mut *prober, self.inner_side, sink, done)
            }
        }
    }
}

fn cannot(method: Method, inner: &dyn Relation, wanted: &str) -> Error {
    Error::InvalidArgument(format!(
        "the method {method} looks up in {wanted}, and {} is none; take another method, or let the planner choose",
        inner.facts().name
    ))
}
