//! The job of a registered method that copies relations: their rows in the order of arrival, and its files.

use crate::error::Result;
use crate::io::Storage;
use crate::join::input::sorted::{SortInput, sorted_facts};
use crate::join::input::source::JoinSource;
use crate::join::rows::copy_method::{CopiedRelation, CopyJob, CopyMethod};
use crate::join::rows::options::JoinSide;
use crate::join::rows::relation::{KeyRange, Prober, Relation, RelationFacts};
use crate::join::rows::sort_progress::SortProgress;
use crate::join::rows::spill::{Spill, SpillName};
use crate::join::rows::stream::RowStream;
use crate::join::rows::task::{MemoryGrant, Task};
use std::any::Any;
use std::fmt::{self, Debug};
use std::sync::Arc;

impl<'a> CopyJob<'a> {
    fn new(relations: [&'a Arc<dyn Relation>; 2], spill: &'a Arc<Spill>, memory_bytes: u64) -> Self {
        let rows = relations.iter().map(|relation| relation.facts().rows).sum();
        Self { relations, spill, memory_bytes, progress: SortProgress::new(spill.task(), rows) }
    }

    /// Memory for copying and for reading the copies, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    /// Takes memory of the join; `what` names its purpose in errors.
    ///
    /// # Errors
    /// [`Cause::JoinMemory`](crate::Cause::JoinMemory) if fewer bytes are left.
    pub fn take(&self, bytes: u64, what: &str) -> Result<MemoryGrant> {
        self.spill.task().budget.take(bytes, what)
    }

    /// The properties of a relation.
    #[must_use]
    pub fn facts(&self, side: JoinSide) -> &'a RelationFacts {
        self.relation(side).facts()
    }

    /// The rows of a relation in the order of arrival, read within `memory`. Counts them as progress.
    ///
    /// # Errors
    /// Errors of the relation.
    pub fn rows(&mut self, side: JoinSide, memory: MemoryGrant) -> Result<ArrivingRows<'_>> {
        let (relation, task) = (self.relation(side), self.spill.task());
        SortInput::open(&**relation, &KeyRange::all(), task, memory, &mut self.progress)
            .map(|input| ArrivingRows { input, long: Vec::new() })
    }

    /// The storage of temporary files.
    #[must_use]
    pub fn storage(&self) -> &Arc<dyn Storage> {
        self.spill.storage()
    }

    /// An unused name of a temporary file. All files whose names begin with it are removed when it is dropped.
    ///
    /// # Errors
    /// Errors of the storage.
    pub fn file_name(&self) -> Result<SpillName> {
        self.spill.name()
    }

    /// The finished copy of the relation on `side`: a source in key order that looks keys up, such as an index. `kept`
    /// is dropped after the source: the file name and the memory of the copy.
    #[must_use]
    pub fn copied(&self, side: JoinSide, source: &JoinSource, kept: impl Any + Send + Sync) -> CopiedRelation {
        let facts = sorted_facts(self.facts(side));
        CopiedRelation(Arc::new(KeptCopy { relation: source.relation.clone(), facts, _kept: Box::new(kept) }))
    }

    fn relation(&self, side: JoinSide) -> &'a Arc<dyn Relation> {
        match side {
            JoinSide::Left => self.relations[0],
            JoinSide::Right => self.relations[1],
        }
    }
}

/// The rows of a relation in the order of arrival, chunk by chunk.
pub struct ArrivingRows<'a> {
    input: SortInput<'a>,
    long: Vec<u8>,
}

impl Debug for ArrivingRows<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ArrivingRows")
    }
}

impl ArrivingRows<'_> {
    /// Moves to the next chunk; `false` at the end.
    ///
    /// # Errors
    /// Errors of the relation; [`Cause::Interrupted`](crate::Cause::Interrupted).
    pub fn advance(&mut self) -> Result<bool> {
        self.input.advance()
    }

    /// Visits key and value of each row of the chunk.
    ///
    /// # Errors
    /// Errors of the relation, and of `visit`.
    pub fn visit(&mut self, visit: impl FnMut(&[u8], &[u8]) -> Result<()>) -> Result<()> {
        self.input.visit(&mut self.long, visit)
    }
}

/// A copy with what must outlive it.
struct KeptCopy {
    // The file is closed before it is removed.
    relation: Arc<dyn Relation>,
    facts: RelationFacts,
    _kept: Box<dyn Any + Send + Sync>,
}

impl Debug for KeptCopy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("KeptCopy").field("facts", &self.facts).finish_non_exhaustive()
    }
}

impl Relation for KeptCopy {
    fn facts(&self) -> &RelationFacts {
        &self.facts
    }

    fn scan(&self, range: &KeyRange, task: &Arc<Task>, memory: MemoryGrant) -> Result<Box<dyn RowStream>> {
        self.relation.scan(range, task, memory)
    }

    fn prober(&self) -> Option<Result<Box<dyn Prober>>> {
        self.relation.prober()
    }
}

/// Copies two relations by a registered method, within `memory_bytes` of the remaining budget.
///
/// # Errors
/// As [`CopyMethod::copy`].
pub(crate) fn copies_by(
    method: &dyn CopyMethod,
    relations: [&Arc<dyn Relation>; 2],
    spill: &Arc<Spill>,
    memory_bytes: u64,
) -> Result<[Arc<dyn Relation>; 2]> {
    let copies = method.copy(&mut CopyJob::new(relations, spill, memory_bytes))?;
    Ok(copies.map(|CopiedRelation(relation)| relation))
}
