//! The choice between the two external sorts: rows of one width, or rows of any length.

use super::width::for_width;
use super::{general, relation as dense};
use crate::error::Result;
use crate::join::rows::relation::Relation;
use crate::join::rows::sort_progress::SortProgress;
use crate::join::rows::spill::Spill;
use std::sync::Arc;

/// Builds a sorted copy of a relation, which holds its memory until dropped. Building takes `memory_bytes` of the
/// remaining budget; each scan of the copy will get about `scan_bytes`.
///
/// # Errors
/// Errors of the relation and the spill storage; [`crate::Cause::JoinMemory`] if memory is short;
/// [`crate::Cause::Interrupted`].
pub(crate) fn sorted_copy(
    relation: &Arc<dyn Relation>,
    spill: &Arc<Spill>,
    memory_bytes: u64,
    scan_bytes: u64,
    progress: &mut SortProgress,
) -> Result<Arc<dyn Relation>> {
    let facts = relation.facts();
    let memory = spill.task().budget.take(memory_bytes, "sorting")?;
    let width = facts.key_bytes.zip(facts.value_bytes);
    let (key, width) = width.map_or((0, 0), |(key, value)| (key, key + value));
    for_width!(
        width,
        N => Ok(Arc::new(dense::DenseRelation::<N>::sort(&**relation, key, spill, memory, scan_bytes, progress)?)),
        else Ok(Arc::new(general::GeneralRelation::sort(Arc::clone(relation), spill, memory, progress)?))
    )
}
