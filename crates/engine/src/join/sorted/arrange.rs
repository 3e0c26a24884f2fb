//! The choice between the two external sorts: rows of one width, or rows of any length.

use super::input::Progress;
use super::width::for_width;
use super::{general, relation as dense};
use crate::error::Result;
use crate::join::source::Relation;
use crate::join::spill::Spill;
use std::sync::Arc;

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
        N => Ok(Arc::new(dense::DenseRelation::<N>::sort(&**relation, key, spill, memory, scan_bytes, progress)?)),
        else Ok(Arc::new(general::GeneralRelation::sort(Arc::clone(relation), spill, memory, progress)?))
    )
}
