//! Sorted copies of relations that are not sorted: external sort, the first half of a sort-merge join of unsorted input.
//!
//! Rows of one width, as most are, are sorted as they stand ([`dense`]): runs as long as memory allows, written one behind the other into
//! one spill file, merged by a tree of losers. Rows of any length go through the [`Sorter`](crate::table::sort::Sorter) of the tables. What
//! fits memory is never written.

mod dense;
mod general;
mod input;
mod merge;
mod relation;
mod runs;
#[cfg(test)]
mod tests;
mod width;

use crate::error::Result;
use crate::join::source::Relation;
use crate::join::spill::Spill;
use std::sync::Arc;

pub(crate) use dense::sort_rows;
pub(crate) use input::{Input, Progress, input_bytes};
pub(crate) use merge::RunMerge;
pub(crate) use relation::sorted_facts;
pub(crate) use runs::{RunSorter, Sorted, merge_runs};
pub(crate) use width::for_width;

/// A copy of a relation in key order, which takes its memory while it lives. To make it, `memory_bytes` of what is left are used; scans of it
/// are to get about `scan_bytes` each.
///
/// # Errors
/// Those of the relation and of the storage of spill files; [`crate::Error::InvalidArgument`] where memory is short;
/// [`crate::Error::Interrupted`].
pub(crate) fn arrange(
    relation: &Arc<dyn Relation>,
    spill: &Arc<Spill>,
    memory_bytes: u64,
    scan_bytes: u64,
    progress: &mut Progress,
) -> Result<Arc<dyn Relation>> {
    let facts = relation.facts();
    let memory = spill.task().budget.take(memory_bytes, "sorting")?;
    let width = facts.key_bytes.zip(facts.value_bytes);
    let (key, width) = width.map_or((0, 0), |(key, value)| (key, key + value));
    for_width!(
        width,
        N => Ok(Arc::new(relation::DenseRelation::<N>::sort(&**relation, key, spill, memory, scan_bytes, progress)?)),
        else Ok(Arc::new(general::GeneralRelation::sort(Arc::clone(relation), spill, memory, progress)?))
    )
}
