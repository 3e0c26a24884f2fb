//! An index nested loop join: the state shared by its threads, and the work of each of them.

use super::blocks::load::{LoadedIndex, load};
use super::open::probe_open;
use super::planned::PlannedScan;
use super::sizes::wanted_bytes;
use super::table_prober::TableProber;
use crate::error::{Advice, Call, Error, Result};
use crate::join::methods::group::KeyGroup;
use crate::join::methods::merge;
use crate::join::rows::condition::{ConditionSink, JoinCondition};
use crate::join::rows::method::{JoinMethod, MethodImplementation, RegisteredMethod};
use crate::join::rows::options::{JoinKind, JoinOptions, JoinSide};
use crate::join::rows::probe_method::{InnerTable, JoinProbe, JoinProbeJob, JoinProbeSink};
use crate::join::rows::relation::{KeyRange, Relation};
use crate::join::rows::sink::RowSink;
use crate::join::rows::task::{Task, TimedPhase};
use crate::table::Table;
use std::sync::Arc;

/// The scan of the outer relation gets 1/2 of a probe loop's memory.
const PROBE_SCAN_DIVISOR: u64 = 2;

/// The access path to the inner relation.
#[derive(Debug)]
enum InnerAccess {
    /// By a planned scan of its blocks.
    PlannedScan(Table, LoadedIndex),
    /// By one lookup per outer row in the table.
    KeyByKey(Table),
    /// By the loop of a registered method.
    Registered(Table, Box<dyn JoinProbe>),
    /// By the relation's own point lookups.
    Open,
}

/// A prepared index nested loop join, to be run by several threads, each on a range of keys.
pub(crate) struct IndexLookup {
    outer: Arc<dyn Relation>,
    inner: Arc<dyn Relation>,
    inner_side: JoinSide,
    access: InnerAccess,
    /// The condition on pairs, if there is one.
    condition: Option<JoinCondition>,
}

impl IndexLookup {
    /// Loads or builds the index of a method over the relation on `inner_side`.
    ///
    /// # Errors
    /// `Cause::Input` if the method cannot look keys up in that relation; `Cause::JoinMemory` if the
    /// index does not fit memory; errors of the storage, and damage.
    pub(crate) fn new(
        (left, right): (&Arc<dyn Relation>, &Arc<dyn Relation>),
        method: JoinMethod,
        inner_side: JoinSide,
        options: &JoinOptions,
        task: &Task,
    ) -> Result<Self> {
        let (outer, inner) = match inner_side {
            JoinSide::Right => (left, right),
            JoinSide::Left => (right, left),
        };
        if inner_side == JoinSide::Left && options.kind.keeps_unmatched() {
            return Err(Error::input(format!(
                "a join of kind {} reads its whole left relation, so only the right one can be the inner relation",
                options.kind
            )));
        }
        if options.kind.keeps_unmatched_right() {
            return Err(Error::input(format!(
                "a join of kind {} reads both relations whole, and the method {method} only one; use another method",
                options.kind
            )));
        }
        // A left row's partners are told apart only where whole runs of equal keys meet.
        let needs_runs = inner_side == JoinSide::Left && options.kind == JoinKind::Semi && options.condition.is_some();
        let access = match (method, inner.table()) {
            (JoinMethod::InljIndex, _) => match inner.prober() {
                Some(_) => InnerAccess::Open,
                None => return Err(unsupported(method, &**inner, "an open index or store")),
            },
            (_, None) => return Err(unsupported(method, &**inner, "a table")),
            (JoinMethod::Registered(method), Some(table)) => {
                InnerAccess::Registered(table.clone(), prepared(method, table, options, task)?)
            }
            (_, Some(table)) if task.fast_paths.batches || needs_runs => {
                InnerAccess::PlannedScan(table.clone(), load(table, task)?)
            }
            (_, Some(table)) => InnerAccess::KeyByKey(table.clone()),
        };
        let condition = options.condition.clone();
        Ok(Self { outer: outer.clone(), inner: inner.clone(), inner_side, access, condition })
    }

    /// Joins the rows of both relations within a range of keys, in at most `memory_bytes` of the budget, excluding
    /// `group`. Calls `done` with the number of rows of each chunk of the left or outer relation.
    ///
    /// # Errors
    /// Errors of the relations and the sink; `Cause::Interrupted`; `Cause::JoinMemory` if memory is short.
    pub(crate) fn run(
        &self,
        range: &KeyRange,
        memory_bytes: u64,
        group: &mut KeyGroup,
        task: &Arc<Task>,
        sink: &mut dyn RowSink,
        done: &mut dyn FnMut(u64),
    ) -> Result<()> {
        let name = &self.outer.facts().name;
        match &self.access {
            InnerAccess::PlannedScan(table, loaded) => {
                let memory = task.budget.take(memory_bytes.min(wanted_bytes(table)), name)?;
                let PlannedScan { mut outer, mut inner } =
                    PlannedScan::start(&self.outer, range, table, loaded, task, memory)?;
                match self.inner_side {
                    JoinSide::Right => merge::join(task, &mut outer, &mut inner, sink, group, done),
                    JoinSide::Left => merge::join(task, &mut inner, &mut outer, sink, group, done),
                }
            }
            InnerAccess::Registered(table, probe) => {
                let scan = task.budget.take(memory_bytes / PROBE_SCAN_DIVISOR, name)?;
                let memory = task.budget.take(memory_bytes - memory_bytes / PROBE_SCAN_DIVISOR, name)?;
                let mut outer = self.outer.scan(range, task, scan)?;
                let mut filtered;
                let sink: &mut dyn RowSink = match &self.condition {
                    Some(condition) => {
                        filtered = ConditionSink { condition, sink };
                        &mut filtered
                    }
                    None => sink,
                };
                probe.run(&mut JoinProbeJob {
                    kind: task.kind,
                    inner_side: self.inner_side,
                    inner: InnerTable { table, task },
                    memory_bytes: memory.bytes(),
                    outer: &mut *outer,
                    sink: JoinProbeSink(sink),
                    done,
                })
            }
            InnerAccess::KeyByKey(table) => {
                let scan = task.budget.take(memory_bytes / PROBE_SCAN_DIVISOR, name)?;
                let mut outer = self.outer.scan(range, task, scan)?;
                probe_open(
                    (task, self.condition.as_ref()),
                    &mut *outer,
                    &mut TableProber { table },
                    self.inner_side,
                    sink,
                    done,
                )
            }
            InnerAccess::Open => {
                let scan = task.budget.take(memory_bytes / PROBE_SCAN_DIVISOR, name)?;
                let mut outer = self.outer.scan(range, task, scan)?;
                let prober = self.inner.prober().transpose()?;
                let mut prober =
                    prober.ok_or_else(|| unsupported(JoinMethod::InljIndex, &*self.inner, "an open index"))?;
                probe_open((task, self.condition.as_ref()), &mut *outer, &mut *prober, self.inner_side, sink, done)
            }
        }
    }
}

/// The index of a registered method over a table.
fn prepared(method: RegisteredMethod, table: &Table, options: &JoinOptions, task: &Task) -> Result<Box<dyn JoinProbe>> {
    let MethodImplementation::Probe(implementation) = method.implementation() else {
        return Err(Error::input(format!("the method {method} has no index to look keys up in")));
    };
    let inner = InnerTable { table, task };
    task.timed(TimedPhase::Loading, || implementation.prepare(inner, method.number(), &options.tunables))
}

fn unsupported(method: JoinMethod, inner: &dyn Relation, wanted: &str) -> Error {
    Error::input(format!(
        "the method {method} needs {wanted} as the inner relation, and {} is not one",
        inner.facts().name
    ))
    .advise(Advice::Use(Call::ChooseMethod))
}
