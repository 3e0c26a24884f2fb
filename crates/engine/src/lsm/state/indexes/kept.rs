//! The secondary indexes that a store keeps itself, as an open keyspace has them.
//!
//! A keyspace counts the changes of its indexes. A write that has computed the changes of entries states the count that
//! it has seen; if it is another one when the write is admitted, they are computed again. So no write of a keyspace
//! misses an index, and one of a keyspace that never had any costs one atomic load.

use crate::error::{Error, Result};
use crate::io::local::sync::{Mutex, Published};
use crate::lsm::state::entry::Sequence;
use crate::lsm::state::keyspace_tree::KeyspaceTree;
use crate::lsm::state::version::{IndexRecord, index_name};
use crate::types::{RecordType, ResolvedIndex};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// An index of an open keyspace.
#[derive(Clone, Debug)]
pub(crate) struct KeptIndex {
    pub(in crate::lsm) record: Arc<IndexRecord>,
    /// The keyspace of its entries.
    pub(in crate::lsm) entries: Arc<KeyspaceTree>,
    /// The newest operation when it became complete in this process: older snapshots lack entries of rows that they
    /// have.
    pub(in crate::lsm) complete_from: Sequence,
    /// Its definition for the types of a generation of the keyspace.
    resolved: Arc<Mutex<Option<ResolvedAt>>>,
}

/// A definition for the types of a generation.
type ResolvedAt = (u64, Arc<ResolvedIndex>);

impl KeptIndex {
    pub(in crate::lsm) fn new(record: Arc<IndexRecord>, entries: Arc<KeyspaceTree>) -> Self {
        Self { record, entries, complete_from: 0, resolved: Arc::default() }
    }

    /// Its name.
    pub(in crate::lsm) fn name(&self) -> &str {
        index_name(&self.entries.name)
    }

    /// Its definition for the types that the keyspace has now.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) if they do not have its columns.
    pub(in crate::lsm) fn resolved(&self, owner: &KeyspaceTree) -> Result<Arc<ResolvedIndex>> {
        let types = owner.types.get();
        let mut resolved = self.resolved.lock();
        if let Some((generation, found)) = &*resolved
            && *generation == types.generation
        {
            return Ok(Arc::clone(found));
        }
        let found = Arc::new(self.record.definition.resolve(&types.types)?);
        *resolved = Some((types.generation, Arc::clone(&found)));
        Ok(found)
    }
}

/// The indexes of a keyspace.
#[derive(Debug)]
pub(in crate::lsm) struct KeptIndexes {
    list: Published<Vec<KeptIndex>>,
    /// How often they have changed; 0 if there never were any in this process.
    changes: AtomicU64,
}

impl Default for KeptIndexes {
    fn default() -> Self {
        Self { list: Published::new(Vec::new()), changes: AtomicU64::new(0) }
    }
}

impl KeptIndexes {
    /// How often they have changed.
    #[inline]
    pub(in crate::lsm) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    pub(in crate::lsm) fn get(&self) -> Arc<Vec<KeptIndex>> {
        self.list.get()
    }

    /// Replaces them. The caller holds the lock of the writer, or no other thread has the keyspace yet.
    pub(in crate::lsm) fn set(&self, list: Vec<KeptIndex>) {
        self.list.set(list);
        self.changes.fetch_add(1, Ordering::AcqRel);
    }
}

impl KeyspaceTree {
    /// Checks that the types of its records may become these: its indexes have the same values of the same types then.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input).
    pub(in crate::lsm) fn check_indexes_fit(&self, types: &RecordType) -> Result<()> {
        for index in self.indexes.get().iter() {
            let before = index.resolved(self)?.tuple();
            let after = index.record.definition.resolve(types);
            if after.is_ok_and(|after| after.tuple() == before) && types.keys == self.types.get().types.keys {
                continue;
            }
            return Err(Error::input(format!(
                "the keyspace {:?} has the index {:?} of {}, whose columns must keep their names and types; drop the \
                 index, and create it again afterwards",
                self.name,
                index.name(),
                index.record.definition
            )));
        }
        Ok(())
    }
}
