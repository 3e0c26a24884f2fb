//! Registered methods that probe a table: the traits that other crates implement, and what their methods are given.

use super::options::{JoinKind, JoinSide};
use super::plan::cost::JoinCost;
use super::plan::facts::JoinCostModel;
use super::sink::RowSink;
use super::stream::RowStream;
use super::task::Task;
use crate::error::Result;
use crate::index::extend::Tunable;
use crate::table::Table;
use std::fmt::{self, Debug};

/// A join method that scans the outer relation in key order, and looks its keys up in an index of its own over the
/// blocks of the inner relation, which is a table.
///
/// It is a constant without state; [`JoinMethod::probe`](crate::join::JoinMethod::probe) makes a
/// [`JoinMethod`](crate::join::JoinMethod) of it. The [module](crate::join::extend) has an example.
pub trait JoinProbeMethod: Debug + Sync {
    /// The name in options, commands and reports, like `inlj:btree`: lowercase letters, digits, hyphens and colons.
    fn name(&self) -> &'static str;

    /// If the method takes a number after its name, like `inlj:pgm:128`: the one with which the planner lists it.
    fn listed_number(&self) -> Option<u64> {
        None
    }

    /// The predicted cost with `inner` as the inner relation. `number` is 0 if the method takes none.
    ///
    /// # Errors
    /// The reason why the method cannot join these relations.
    fn cost(&self, model: &JoinCostModel<'_>, inner: JoinSide, number: u64) -> Result<JoinCost, String>;

    /// Builds the index of a table, within the memory of the join.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) for tunables that the method does not have; errors of
    /// [`InnerTable`].
    fn prepare(&self, inner: InnerTable<'_>, number: u64, tunables: &[Tunable]) -> Result<Box<dyn JoinProbe>>;
}

/// A prepared join by probes. Its threads share it, each for a range of keys.
pub trait JoinProbe: Debug + Send + Sync {
    /// Joins the rows of a range of keys.
    ///
    /// # Errors
    /// Errors of the job: of the relations and the sink, and [`Cause::Interrupted`](crate::Cause::Interrupted).
    fn run(&self, job: &mut JoinProbeJob<'_>) -> Result<()>;
}

/// The inputs and the output of one thread of a join by probes.
pub struct JoinProbeJob<'a> {
    pub(in crate::join) kind: JoinKind,
    pub(in crate::join) inner_side: JoinSide,
    pub(in crate::join) inner: InnerTable<'a>,
    pub(in crate::join) memory_bytes: u64,
    pub(in crate::join) outer: &'a mut dyn RowStream,
    pub(in crate::join) sink: JoinProbeSink<'a>,
    pub(in crate::join) done: &'a mut dyn FnMut(u64),
}

impl Debug for JoinProbeJob<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = formatter.debug_struct("ProbeJob");
        debug.field("kind", &self.kind).field("inner_side", &self.inner_side).finish_non_exhaustive()
    }
}

/// The inner relation of a join by a registered method: a table, and the memory and clock of the join.
#[derive(Clone, Copy, Debug)]
pub struct InnerTable<'a> {
    pub(in crate::join) table: &'a Table,
    pub(in crate::join) task: &'a Task,
}

/// The sink of the output rows. Rows must come in key order: each pair once, and each row without right value once.
pub struct JoinProbeSink<'a>(pub(in crate::join) &'a mut dyn RowSink);

impl Debug for JoinProbeSink<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ProbeSink")
    }
}
