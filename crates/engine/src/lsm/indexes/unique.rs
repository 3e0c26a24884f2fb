//! Unique indexes: the check that no two rows have the same values.
//!
//! Entries that begin with the values are read at the snapshot, and become part of what must not be written meanwhile.
//! So of two writers of the same value the later one is computed again, and finds the entry of the other.

use super::upkeep::{EntryValues, ValueChange};
use crate::error::{Error, Result};
use crate::lsm::core::store::Core;
use crate::lsm::state::expiry::store_time::ReadPoint;
use crate::lsm::state::indexes::kept::KeptIndex;
use crate::lsm::state::keyspace_tree::KeyspaceTree;
use crate::lsm::state::transactions::read_set::ReadSet;
use crate::types::{IndexedValues, KeyType, end_of_prefix};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

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
        for ValueChange { key, old, new } in changes {
            let Some(values) = new.as_ref().map(|new| &new.values).filter(|values| !values.has_null) else { continue };
            if let Some(other) = claimed.insert(&values.bytes, key) {
                return Err(self.not_unique(tree, index, key, other));
            }
            // Others may have the values of one that has expired.
            if clears || old.as_ref().is_some_and(|old| old.values == *values && is_alive(old, point)) {
                continue;
            }
            let end = end_of_prefix(&values.bytes);
            reads.add_range(&index.entries, &values.bytes, end.as_deref());
            for other in self.keys_with(index, values, point)? {
                let is_changed = changes.binary_search_by(|change| change.key.cmp(&other)).is_ok();
                if !is_changed && self.has_values(tree, index, &other, (values, point), reads)? {
                    return Err(self.not_unique(tree, index, key, &other));
                }
            }
        }
        Ok(())
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

    /// Whether the row of an entry has its values: an entry alone proves nothing.
    fn has_values(
        &self,
        tree: &Arc<KeyspaceTree>,
        index: &KeptIndex,
        key: &[u8],
        (values, point): (&IndexedValues, ReadPoint),
        reads: &mut ReadSet,
    ) -> Result<bool> {
        reads.add_point(tree, key);
        let Some(row) = self.rows_at(tree, &[key], point)?.pop().flatten() else { return Ok(false) };
        Ok(index.resolved(tree)?.values_of(key, &row)?.as_ref() == Some(values))
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
        Error::not_unique(self.path(), &tree.name, detail)
    }
}

/// Whether a row has not expired.
fn is_alive(row: &EntryValues, point: ReadPoint) -> bool {
    row.expires_ms.is_none_or(|expires_ms| point.now_ms.is_some_and(|now_ms| expires_ms > now_ms))
}
