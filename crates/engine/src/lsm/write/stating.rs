//! Types that are stated in one step with a change of their keyspace: a change that fails states none.
//!
//! ```text
//! writer's lock: no record --> lock of the shared state: no handle --> edit of the manifest --> log --> visible
//! ```
//!
//! The edit precedes the records, since records of a keyspace without types are bytes. Whatever can refuse the change
//! is checked before it, so that only an error of the storage lies between the two; the whole change may be found then
//! when the store is opened again, as after any such error.

use super::batch::Operations;
use crate::error::Result;
use crate::lsm::handles::keyspace::Keyspace;
use crate::lsm::open::pinned_types::wrong;
use crate::lsm::state::core::{Core, SharedState, StateChange};
use crate::lsm::state::entry::KeyspaceId;
use crate::lsm::state::version::{ManifestEdit, StatedTypes};
use crate::types::RecordType;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The types that the writes of a keyspace's handle state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::lsm) struct Statement {
    pub(in crate::lsm) types: Arc<RecordType>,
    /// Whether types that were decided before stay.
    pub(in crate::lsm) yields: bool,
}

/// A statement that no record keeps from being made.
#[derive(Debug)]
pub(in crate::lsm) struct AdmittedStatement {
    keyspace: Keyspace,
    stated: StatedTypes,
    found: Arc<StatedTypes>,
    replaces: bool,
}

impl Keyspace {
    /// The same keyspace, but each write of this handle, be it an insertion, a batch or an ingestion, states types in
    /// one step with its records, as [`Self::declare`] does. If the write fails, no types are stated.
    ///
    /// ```
    /// # let storage = std::sync::Arc::new(ogive::io::MemoryStorage::new());
    /// use ogive::types::{KeyType, RecordType};
    ///
    /// let db = ogive::Db::open(storage, &ogive::DbOptions::default())?;
    /// let ages = db.keyspace("ages")?;
    /// let stating = ages.stating(&RecordType::new(KeyType::Text, KeyType::U32))?;
    /// assert!(stating.insert("x".repeat(100_000), 36_u32.to_be_bytes()).is_err(), "the key is too long");
    /// assert!(ages.is_undecided()?);
    /// stating.insert("ada", 36_u32.to_be_bytes())?;
    /// assert_eq!(ages.record_type().to_string(), "text -> u32");
    /// # Ok::<(), ogive::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) for types that no keyspace has. Writes fail with
    /// [`Error::WrongRecordType`](crate::Error::WrongRecordType), too.
    pub fn stating(&self, types: &RecordType) -> Result<Self> {
        types.check()?;
        Ok(self.with_statement(&Arc::new(types.clone()), false))
    }

    /// As [`Self::stating`], but types that are decided when a write happens stay: they must be these or extend these.
    ///
    /// # Errors
    /// As [`Self::stating`].
    pub fn deciding(&self, types: &RecordType) -> Result<Self> {
        types.check()?;
        Ok(self.with_statement(&Arc::new(types.clone()), true))
    }

    pub(in crate::lsm) fn with_statement(&self, types: &Arc<RecordType>, yields: bool) -> Self {
        self.clone().with(Some(Arc::new(Statement { types: Arc::clone(types), yields })))
    }
}

impl Core {
    /// The statements of handles that change anything, if no record of any version that is still read keeps them from
    /// it. The caller holds the writer's lock until they are made, so that no record is written meanwhile.
    pub(in crate::lsm) fn admit_statements(&self, stating: &[Keyspace]) -> Result<Vec<AdmittedStatement>> {
        let admitted = stating.iter().filter_map(|keyspace| self.admit_one(keyspace).transpose());
        let admitted: Vec<_> = admitted.collect::<Result<_>>()?;
        if !admitted.is_empty() {
            self.check_place()?;
        }
        Ok(admitted)
    }

    fn admit_one(&self, keyspace: &Keyspace) -> Result<Option<AdmittedStatement>> {
        let Some(Statement { types, yields }) = keyspace.statement() else { return Ok(None) };
        let found = keyspace.tree().types.get();
        let is_decided = found.generation > 0;
        if is_decided && (found.types == *types || *yields && found.types.extends(types)) {
            return Ok(None);
        }
        if is_decided && *yields {
            return Err(wrong(keyspace, &found.types, types, 0));
        }
        let replaces = !types.extends(&found.types);
        if replaces {
            self.check_no_records(keyspace, types, &found)?;
        }
        let stated = StatedTypes { generation: found.generation + 1, types: Arc::clone(types) };
        Ok(Some(AdmittedStatement { keyspace: keyspace.clone().with(None), stated, found, replaces }))
    }

    /// Checks that no version that is still read has a record of the keyspace.
    fn check_no_records(&self, keyspace: &Keyspace, types: &RecordType, found: &StatedTypes) -> Result<()> {
        let newest = [self.visible()];
        for at in self.live_snapshots.sequences().into_iter().chain(newest) {
            if keyspace.range_at::<&[u8]>(.., at).keys().next().transpose()?.is_some() {
                return Err(wrong(keyspace, &found.types, types, 0));
            }
        }
        Ok(())
    }

    /// What an edit says of admitted statements, if no handle keeps them from being made: handles are made under the
    /// lock of the shared state, without that of the writer.
    pub(in crate::lsm) fn stated(
        &self,
        shared: &SharedState,
        admitted: &[AdmittedStatement],
    ) -> Result<Vec<(KeyspaceId, StatedTypes)>> {
        let one = |AdmittedStatement { keyspace, stated, found, replaces }: &AdmittedStatement| {
            let tree = keyspace.tree();
            if let Some(error) = self.refusal(shared) {
                return Err(error);
            }
            if tree.is_dropped() {
                return Err(self.gone(tree));
            }
            let handles = tree.pins.load(Ordering::Acquire);
            if *replaces && handles > 0 {
                return Err(wrong(keyspace, &found.types, &stated.types, handles));
            }
            Ok((tree.id, stated.clone()))
        };
        admitted.iter().map(one).collect()
    }

    /// Makes the statements of handles durable, then visible. The caller holds the writer's lock.
    pub(in crate::lsm) fn state_types(&self, stating: &[Keyspace]) -> Result<()> {
        let admitted = self.admit_statements(stating)?;
        if admitted.is_empty() {
            return Ok(());
        }
        let mut shared = self.shared.lock();
        let edit = ManifestEdit { types: self.stated(&shared, &admitted)?, ..ManifestEdit::default() };
        self.apply(&mut shared, StateChange { edit, ..StateChange::default() })?;
        admitted.into_iter().for_each(AdmittedStatement::publish);
        Ok(())
    }

    /// As [`Self::state_types`], of batches that are about to be logged.
    pub(in crate::lsm) fn state_types_of(&self, batches: &[Operations]) -> Result<()> {
        batches
            .iter()
            .filter(|batch| !batch.stating().is_empty())
            .try_for_each(|batch| self.state_types(batch.stating()))
    }
}

impl AdmittedStatement {
    /// Lets handles see what was stated. The caller holds the lock of the shared state.
    pub(in crate::lsm) fn publish(self) {
        self.keyspace.tree().set_types(self.stated);
    }
}
