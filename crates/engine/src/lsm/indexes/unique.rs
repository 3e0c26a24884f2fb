//! Unique indexes: the check that no two rows have the same values.
//!
//! Entries that begin with the values are read at the snapshot, and become part of what must not be written meanwhile.
//! So of two writers of the same value the later one is computed again, and finds the entry of the other. A batch reads
//! the entries of its values in one wave, and the rows that they lead to in another.

use super::upkeep::{EntryValues, ValueChange};
use crate::error::{Error, Result};
use crate::lsm::core::store::Core;
use crate::lsm::read::starts_ahead::read_starts;
use crate::lsm::state::expiry::store_time::ReadPoint;
use crate::lsm::state::indexes::kept::KeptIndex;
use crate::lsm::state::keyspace_tree::KeyspaceTree;
use crate::lsm::state::transactions::read_set::ReadSet;
use crate::types::{IndexedValues, KeyType, end_of_prefix};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Values whose blocks of entries are read in one wave.
const WAVE_VALUES_MAX: usize = 128;

/// A changed row, its new values, and the key of another row with an entry of these.
pub(super) struct SameValues<'a> {
    pub(super) key: &'a [u8],
    pub(super) values: &'a IndexedValues,
    pub(super) other: Vec<u8>,
}

impl Core {
    /// Checks that no other row has the new values of changed rows; with `clears`, all other rows are removed.
    ///
    /// # Errors
    /// [`Cause::NotUnique`](crate::Cause::NotUnique), which names the key of the other row; errors of the storage, and
    /// damage.
    pub(super) fn check_unique(
        &self,
        tree: &Arc<KeyspaceTree>,
        index: &KeptIndex,
        changes: &[ValueChange],
        (point, clears): (ReadPoint, bool),
        reads: &mut ReadSet,
    ) -> Result<()> {
        let mut claimed: BTreeMap<&[u8], &[u8]> = BTreeMap::new();
        let mut due: BTreeMap<&[u8], (&[u8], &IndexedValues)> = BTreeMap::new();
        for ValueChange { key, old, new } in changes {
            // A row that has expired when it is written takes no values.
            let alive = new.as_ref().filter(|new| is_alive(new, point));
            let Some(values) = alive.map(|new| &new.values).filter(|values| !values.has_null) else { continue };
            if let Some(other) = claimed.insert(&values.bytes, key) {
                return Err(self.not_unique(tree, index, key, other));
            }
            // Others may have the values of one that has expired.
            let is_same = |old: &EntryValues| old.values == *values && is_alive(old, point);
            if !clears && !old.as_ref().is_some_and(is_same) {
                due.insert(&values.bytes, (key, values));
            }
        }
        let due: Vec<(&[u8], &IndexedValues)> = due.into_values().collect();
        let mut others = Vec::new();
        for wave in due.chunks(WAVE_VALUES_MAX) {
            let starts: Vec<&[u8]> = wave.iter().map(|(_, values)| &values.bytes[..]).collect();
            read_starts(&self.view_at(&index.entries, point).0, &starts)?;
            for (key, values) in wave {
                reads.add_range(&index.entries, &values.bytes, end_of_prefix(&values.bytes).as_deref());
                let found = self.keys_with(index, values, point)?.into_iter();
                let is_unchanged = |other: &Vec<u8>| changes.binary_search_by(|change| change.key.cmp(other)).is_err();
                others.extend(found.filter(is_unchanged).map(|other| SameValues { key, values, other }));
            }
        }
        self.check_others(tree, index, &others, point, reads)
    }

    /// The keys of the entries that begin with values.
    fn keys_with(&self, index: &KeptIndex, values: &IndexedValues, point: ReadPoint) -> Result<Vec<Vec<u8>>> {
        let (mut keys, end) = (Vec::new(), end_of_prefix(&values.bytes));
        self.visit_rows(&index.entries, (&values.bytes, end.as_deref()), point, &mut |entry, _| {
            keys.extend(entry.get(values.bytes.len()..).map(<[u8]>::to_vec));
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(keys)
    }

    /// Checks that the rows of entries have other values than these: an entry alone proves nothing.
    pub(super) fn check_others(
        &self,
        tree: &Arc<KeyspaceTree>,
        index: &KeptIndex,
        others: &[SameValues<'_>],
        point: ReadPoint,
        reads: &mut ReadSet,
    ) -> Result<()> {
        if others.is_empty() {
            return Ok(());
        }
        let keys: Vec<&[u8]> = others.iter().map(|found| &found.other[..]).collect();
        keys.iter().for_each(|key| reads.add_point(tree, key));
        let resolved = index.resolved(tree)?;
        for (SameValues { key, values, other }, row) in others.iter().zip(self.rows_at(tree, &keys, point)?) {
            let Some(row) = row else { continue };
            if resolved.values_of(other, &row)?.as_ref() == Some(values) {
                return Err(self.not_unique(tree, index, key, other));
            }
        }
        Ok(())
    }

    /// The error of a row whose values another row has.
    pub(super) fn not_unique(&self, tree: &KeyspaceTree, index: &KeptIndex, key: &[u8], other: &[u8]) -> Error {
        let keys: KeyType = tree.types.get().types.keys;
        let detail = format!(
            "the row {:?} has the values of the row {:?} in the unique index {:?} by {}",
            keys.display(key),
            keys.display(other),
            index.name(),
            index.record.definition
        );
        Error::not_unique(self.path(), (&tree.name, index.name()), (key, other), detail)
    }
}

/// Whether a row has not expired.
fn is_alive(row: &EntryValues, point: ReadPoint) -> bool {
    row.expires_ms.is_none_or(|expires_ms| point.fixed_ms().is_some_and(|now_ms| expires_ms > now_ms))
}
