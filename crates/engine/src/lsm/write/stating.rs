//! Types that are stated in one step with a change of their keyspace: a change that fails states none.
//!
//! ```text
//! writer's lock: no record --> lock of the shared state: no handle --> edit of the manifest --> log --> visible
//! ```
//!
//! The edit precedes the records, since records of a keyspace without types are bytes. Whatever can refuse the change
//! is checked before it, so that only an error of the storage lies between the two; the whole change may be found then
//! when the store is opened again, as after any such error.

use crate::error::Result;
use crate::lsm::core::shared::{SharedState, StateChange};
use crate::lsm::core::store::Core;
use crate::lsm::state::entry::KeyspaceId;
use crate::lsm::state::expiry::store_time::ReadPoint;
use crate::lsm::state::operations::Operations;
use crate::lsm::state::version::{ManifestEdit, StatedTypes};
use crate::lsm::state::written_keyspace::{Statement, WrittenKeyspace, wrong};
use crate::types::RecordType;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A statement that no record keeps from being made.
#[derive(Debug)]
pub(super) struct AdmittedStatement {
    keyspace: WrittenKeyspace,
    stated: StatedTypes,
    found: Arc<StatedTypes>,
    replaces: bool,
}

impl Core {
    /// The statements of handles that change anything, if no record of any version that is still read keeps them from
    /// it. The caller holds the writer's lock until they are made, so that no record is written meanwhile.
    pub(super) fn admit_statements(&self, stating: &[WrittenKeyspace]) -> Result<Vec<AdmittedStatement>> {
        let admitted = stating.iter().filter_map(|keyspace| self.admit_one(keyspace).transpose());
        let admitted: Vec<_> = admitted.collect::<Result<_>>()?;
        if !admitted.is_empty() {
            self.check_place()?;
        }
        Ok(admitted)
    }

    fn admit_one(&self, keyspace: &WrittenKeyspace) -> Result<Option<AdmittedStatement>> {
        let Some(Statement { types, yields }) = keyspace.statement() else { return Ok(None) };
        let found = keyspace.tree().types.get();
        let is_decided = found.generation > 0;
        if is_decided && (found.types == *types || *yields && found.types.extends(types)) {
            return Ok(None);
        }
        if is_decided && *yields {
            return Err(wrong(keyspace, &found.types, types, 0));
        }
        keyspace.tree().check_indexes_fit(types)?;
        let replaces = !types.extends(&found.types);
        if replaces && keyspace.has_another_form() {
            return Err(wrong(keyspace, &found.types, types, 0));
        }
        if replaces {
            self.check_no_records(keyspace, types, &found)?;
        }
        let forms = if replaces { found.forms.replaced() } else { found.forms.clone() };
        let stated = StatedTypes { generation: found.generation + 1, types: Arc::clone(types), forms };
        Ok(Some(AdmittedStatement { keyspace: keyspace.clone().with(None), stated, found, replaces }))
    }

    /// Checks that no version that is still read has a record of the keyspace.
    fn check_no_records(&self, keyspace: &WrittenKeyspace, types: &RecordType, found: &StatedTypes) -> Result<()> {
        let snapshots = self.contents.live_snapshots.points().into_iter().map(|snapshot| snapshot.sequence);
        for at in snapshots.chain([self.visible()]) {
            // Records that have expired are of the old types, too.
            if !self.is_empty_at(keyspace.tree(), ReadPoint::with_expired(at))? {
                return Err(wrong(keyspace, &found.types, types, 0));
            }
        }
        Ok(())
    }

    /// What an edit says of admitted statements, if no handle keeps them from being made: handles are made under the
    /// lock of the shared state, without that of the writer.
    pub(super) fn stated(
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
    pub(in crate::lsm) fn state_types(&self, stating: &[WrittenKeyspace]) -> Result<()> {
        let admitted = self.admit_statements(stating)?;
        if admitted.is_empty() {
            return Ok(());
        }
        let mut shared = self.contents.lock();
        let edit = ManifestEdit { types: self.stated(&shared, &admitted)?, ..ManifestEdit::default() };
        self.apply(&mut shared, StateChange { edit, ..StateChange::default() })?;
        admitted.into_iter().for_each(AdmittedStatement::publish);
        Ok(())
    }

    /// As [`Self::state_types`], of batches that are about to be logged.
    pub(super) fn state_types_of(&self, batches: &[Operations]) -> Result<()> {
        batches
            .iter()
            .filter(|batch| !batch.stating().is_empty())
            .try_for_each(|batch| self.state_types(batch.stating()))
    }
}

impl AdmittedStatement {
    /// Lets handles see what was stated. The caller holds the lock of the shared state.
    pub(super) fn publish(self) {
        self.keyspace.tree().set_types(self.stated);
    }
}
