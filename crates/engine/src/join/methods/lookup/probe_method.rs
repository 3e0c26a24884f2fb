//! Registered methods that probe a table: the traits that other crates implement.

use super::inner_table::{BlockReader, InnerTable};
use crate::error::Result;
use crate::index::extend::Tunable;
use crate::join::methods::merge::RowSink;
use crate::join::plan::{JoinCost, JoinCostModel};
use crate::join::rows::options::{JoinKind, JoinSide};
use crate::join::rows::stream::{RowStream, RowsView};
use std::fmt::{self, Debug};
use std::ops::Range;

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
    fn run(&self, job: &mut ProbeJob<'_>) -> Result<()>;
}

/// The inputs and the output of one thread of a join by probes.
pub struct JoinProbeJob<'a> {
    pub(super) kind: JoinKind,
    pub(super) inner_side: JoinSide,
    pub(super) inner: InnerTable<'a>,
    pub(super) memory_bytes: u64,
    pub(super) outer: &'a mut dyn RowStream,
    pub(super) sink: JoinProbeSink<'a>,
    pub(super) done: &'a mut dyn FnMut(u64),
}

impl Debug for JoinProbeJob<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = formatter.debug_struct("ProbeJob");
        debug.field("kind", &self.kind).field("inner_side", &self.inner_side).finish_non_exhaustive()
    }
}

impl<'a> JoinProbeJob<'a> {
    /// The kind of the join.
    #[must_use]
    pub fn kind(&self) -> JoinKind {
        self.kind
    }

    /// The side of the inner relation.
    #[must_use]
    pub fn inner_side(&self) -> JoinSide {
        self.inner_side
    }

    /// A reader of the blocks of the inner table, within the memory of this thread.
    #[must_use]
    pub fn reader(&self) -> BlockReader<'a> {
        self.inner.reader(self.memory_bytes)
    }

    /// Moves to the next chunk of outer rows; `false` at the end. Reports progress, and ends an interrupted join.
    ///
    /// # Errors
    /// Errors of the outer relation; [`Cause::Interrupted`](crate::Cause::Interrupted).
    pub fn advance(&mut self) -> Result<bool> {
        if !self.outer.advance(None)? {
            return Ok(false);
        }
        self.inner.task.check()?;
        (self.done)(self.outer.rows().len() as u64);
        Ok(true)
    }

    /// The outer rows of the chunk, in key order, and the sink of the output rows.
    #[inline]
    pub fn parts(&mut self) -> (&mut dyn RowStream, &mut JoinProbeSink<'a>) {
        (&mut *self.outer, &mut self.sink)
    }
}

/// The sink of the output rows. Rows must come in key order: each pair once, and each row without right value once.
pub struct JoinProbeSink<'a>(pub(super) &'a mut dyn RowSink);

impl Debug for JoinProbeSink<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ProbeSink")
    }
}

impl JoinProbeSink<'_> {
    /// Takes pairs of rows of a left and a right chunk, by row number.
    ///
    /// # Errors
    /// Errors of the output, after which no more rows may be passed; the same applies to the other methods.
    #[inline]
    pub fn pairs(&mut self, left: RowsView<'_>, right: RowsView<'_>, pairs: &[(u32, u32)]) -> Result<()> {
        self.0.pairs(left, right, pairs)
    }

    /// Takes left rows without right values: unmatched rows, or, in a semi join, matched ones.
    ///
    /// # Errors
    /// As [`Self::pairs`].
    #[inline]
    pub fn lefts(&mut self, left: RowsView<'_>, rows: Range<usize>) -> Result<()> {
        self.0.lefts(left, rows)
    }

    /// Takes one row; without a right value as in [`Self::lefts`].
    ///
    /// # Errors
    /// As [`Self::pairs`].
    #[inline]
    pub fn row(&mut self, key: &[u8], left: &[u8], right: Option<&[u8]>) -> Result<()> {
        self.0.row(key, Some(left), right)
    }
}
