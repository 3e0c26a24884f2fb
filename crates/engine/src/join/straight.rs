//! The sort-merge join of relations that are in key order already: both are read from end to end (Chesetti and Pandey, Section 2.3).

use super::emit::RowForm;
use super::group::Group;
use super::merge::{self, Sink};
use super::options::Phase;
use super::output::Output;
use super::overflow::SpilledRun;
use super::rows::RowStream;
use super::source::{KeyRange, Relation};
use super::spill::Spill;
use super::task::Task;
use crate::error::Result;
use std::sync::Arc;

/// How the memory of a join by the kernel is divided, in sixteenths: each scan, the writer, the rows of one key. What is left is for what
/// grows with the output.
const SCAN_PARTS: u64 = 4;
const WRITER_PARTS: u64 = 4;
const GROUP_PARTS: u64 = 2;
const PARTS: u64 = 16;

/// Rows of the left relation are told to whoever watches about so often.
const REPORTS: u64 = 256;

/// Joins relations in key order; returns the rows of the output, which is complete and durable.
///
/// # Errors
/// What the relations and the output report; [`crate::Error::Interrupted`].
pub(super) fn join(
    task: &Arc<Task>,
    left: &dyn Relation,
    right: &dyn Relation,
    output: Output,
    spill: Option<&Arc<Spill>>,
) -> Result<u64> {
    let part = |parts: u64| task.budget.limit_bytes() / PARTS * parts;
    let form = RowForm::new(task.kind, left.facts(), right.facts());
    let mut sink = output.begin(form, task, part(WRITER_PARTS))?;
    let range = KeyRange::all();
    let mut ours = left.scan(&range, task, task.budget.take(part(SCAN_PARTS), "reading the left relation")?)?;
    let mut theirs = right.scan(&range, task, task.budget.take(part(SCAN_PARTS), "reading the right relation")?)?;
    run(task, left.facts().rows, &mut *ours, &mut *theirs, &mut *sink, spill)?;
    drop((ours, theirs));
    task.report(Phase::Finishing, 0, 1);
    let rows = sink.rows();
    sink.finish()?;
    task.report(Phase::Finishing, 1, 1);
    Ok(rows)
}

/// Runs the kernel over two streams, and tells of the progress.
///
/// # Errors
/// As [`merge::join`].
pub(super) fn run(
    task: &Arc<Task>,
    left_rows: u64,
    left: &mut dyn RowStream,
    right: &mut dyn RowStream,
    sink: &mut dyn Sink,
    spill: Option<&Arc<Spill>>,
) -> Result<()> {
    let group_bytes = task.budget.limit_bytes() / PARTS * GROUP_PARTS;
    let overflow = spill.map(|spill| Box::new(SpilledRun::new(spill, group_bytes / 2)) as Box<_>);
    let mut group = Group::new(task, group_bytes / 2, overflow)?;
    let (mut done, mut told) = (0, 0);
    merge::join(task, left, right, sink, &mut group, &mut |rows| {
        done += rows;
        if done - told >= left_rows / REPORTS {
            told = done;
            task.report(Phase::Joining, done.min(left_rows), left_rows);
        }
    })
}
