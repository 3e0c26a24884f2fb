//! The upkeep of indexes: the changes of entries that belong to the changes of rows, in the same batch.
//!
//! ```text
//! batch     put 7 {email: b}    remove 9                 its rows at the snapshot: 7 {email: a}, 9 {email: c}
//! added     remove (a, 7)   put (b, 7)   remove (c, 9)
//! condition 7 and 9 are as they were; in a unique index, there is no newer entry that begins with b
//! ```
//!
//! So each write of an indexed keyspace is a transaction of its own. Its rows are read in one wave without a lock, and
//! it is admitted to a group of the log if nothing of what was read was written meanwhile, by batches in front in the
//! same group either; else its changes are computed again. Others share the group, and its sync.

use crate::error::{Error, Result};
use crate::lsm::core::store::Core;
use crate::lsm::state::entry::{Action, Entry, ValueKind, decode_group};
use crate::lsm::state::expiry::store_time::ReadPoint;
use crate::lsm::state::indexes::kept::KeptIndex;
use crate::lsm::state::keyspace_tree::KeyspaceTree;
use crate::lsm::state::operations::{Operations, ReadCondition};
use crate::lsm::state::transactions::read_set::ReadSet;
use crate::lsm::state::written_keyspace::WrittenKeyspace;
use crate::table::KEY_BYTES_MAX;
use crate::types::IndexedValues;
use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow, RangeFull};
use std::sync::Arc;

/// A row as it is stored or written.
#[derive(Debug)]
struct StatedRow {
    bytes: Vec<u8>,
    /// The time at which it expires, if it does.
    expires_ms: Option<u64>,
}

/// A row before and after a batch; `None` where there is none. An old one may have expired: its entries are still
/// there.
#[derive(Debug, Default)]
pub(super) struct RowChange {
    old: Option<StatedRow>,
    new: Option<StatedRow>,
    /// Whether `old` is what the store has.
    is_read: bool,
}

/// What a batch does to the rows of a keyspace, by key.
#[derive(Debug, Default)]
pub(super) struct RowChanges {
    rows: BTreeMap<Vec<u8>, RowChange>,
    /// Whether it removes all rows that were there.
    clears: bool,
}

/// The indexed values of a row before and after a batch.
#[derive(Debug)]
pub(super) struct ValueChange {
    pub(super) key: Vec<u8>,
    pub(super) old: Option<EntryValues>,
    pub(super) new: Option<EntryValues>,
}

/// The indexed values of a row, and the time at which it expires with its entry, if it does.
#[derive(Debug, PartialEq)]
pub(super) struct EntryValues {
    pub(super) values: IndexedValues,
    pub(super) expires_ms: Option<u64>,
}

impl Core {
    /// Adds the changes of all indexes to a batch, computed from what the store had at a point, with the condition that
    /// this is still so. Those that it had are replaced.
    ///
    /// # Errors
    /// [`Cause::NotUnique`](crate::Cause::NotUnique); [`Cause::Input`](crate::Cause::Input) for a new value that is no
    /// row of the keyspace's type, and for a removed range with too many rows;
    /// [`Cause::KeyLength`](crate::Cause::KeyLength) for an entry that is too long; errors of the storage, and damage.
    pub(in crate::lsm) fn keep_indexes(&self, operations: &mut Operations, point: ReadPoint) -> Result<()> {
        operations.drop_upkeep();
        let trees = operations.keyspaces.clone();
        let seen = trees.iter().map(|tree| (tree.id, tree.indexes.changes())).collect();
        let mut reads = ReadSet::new(self.options.transaction_limit_bytes());
        let mut entries = Operations::default();
        for tree in trees {
            let indexes = tree.indexes.get();
            if indexes.is_empty() {
                continue;
            }
            if tree.is_dropped() {
                return Err(self.gone(&tree));
            }
            // Types that are altered from now on make the batch stale.
            reads.add_range(&tree, &[], Some(&[]));
            let changes = self.row_changes(&tree, operations, point, &mut reads)?;
            for index in indexes.iter() {
                self.entry_changes(&tree, index, &changes, point, &mut reads, &mut entries)?;
            }
        }
        entries.take_error()?;
        operations.add_upkeep(ReadCondition { reads, after: point.at }, seen, entries);
        Ok(())
    }

    /// The rows that a batch changes, before and after it.
    fn row_changes(
        &self,
        tree: &Arc<KeyspaceTree>,
        operations: &Operations,
        point: ReadPoint,
        reads: &mut ReadSet,
    ) -> Result<RowChanges> {
        let mut changes = RowChanges::default();
        let bytes = &operations.bytes;
        let decoded = decode_group(bytes).ok_or_else(|| Error::input("a batch has at most 4 GiB; split it"))?;
        for operation in decoded.iter().filter(|operation| operation.keyspace == tree.id) {
            let (key, value) = operation.parts(bytes);
            match operation.action {
                Action::Put(ValueKind::Remove) => changes.rows.entry(key.to_vec()).or_default().new = None,
                Action::Put(kind) => {
                    let entry = Entry { key, sequence: 0, kind, value };
                    let bytes = tree.delivered(None, entry.stored())?.into_owned();
                    let row = StatedRow { bytes, expires_ms: entry.expires_ms() };
                    changes.rows.entry(key.to_vec()).or_default().new = Some(row);
                }
                Action::RemoveRange => {
                    self.remove_rows(tree, (key, (!value.is_empty()).then_some(value)), point, reads, &mut changes)?;
                }
            }
        }
        if changes.clears || operations.are_absent() {
            return Ok(changes);
        }
        let unread: Vec<Vec<u8>> =
            changes.rows.iter().filter(|(_, row)| !row.is_read).map(|(key, _)| key.clone()).collect();
        let found = self.rows_with_expired(tree, &unread, point)?;
        for (key, old) in unread.iter().zip(found) {
            reads.add_point(tree, key);
            if let Some(row) = changes.rows.get_mut(key) {
                row.old = old.map(|(old, expires_ms)| StatedRow { bytes: old.to_vec(), expires_ms });
            }
        }
        Ok(changes)
    }

    /// Reads the rows of a range that a batch removes.
    fn remove_rows(
        &self,
        tree: &Arc<KeyspaceTree>,
        (start, end): (&[u8], Option<&[u8]>),
        point: ReadPoint,
        reads: &mut ReadSet,
        changes: &mut RowChanges,
    ) -> Result<()> {
        if start.is_empty() && end.is_none() {
            *changes = RowChanges { clears: true, ..RowChanges::default() };
            return Ok(());
        }
        let within = (Bound::Included(start), end.map_or(Bound::Unbounded, Bound::Excluded));
        changes.rows.range_mut::<[u8], _>(within).for_each(|(_, row)| row.new = None);
        if changes.clears {
            return Ok(());
        }
        reads.add_range(tree, start, end);
        let (limit, mut bytes) = (self.options.transaction_limit_bytes(), 0);
        let with_expired = ReadPoint::with_expired(point.at);
        self.visit_rows(tree, (start, end), with_expired, &mut |key, (value, expires_ms)| {
            bytes += (key.len() + value.len()) as u64;
            if bytes > limit {
                return Err(Error::input(format!(
                    "the rows of the range to be removed take more than {limit} bytes, and are read for the indexes \
                     of the keyspace {:?}; remove parts of the range, or the whole keyspace",
                    tree.name
                )));
            }
            let row = changes.rows.entry(key.to_vec()).or_default();
            (row.old, row.is_read) = (Some(StatedRow { bytes: value.to_vec(), expires_ms }), true);
            Ok(ControlFlow::Continue(()))
        })
    }

    /// Adds the changes of one index.
    fn entry_changes(
        &self,
        tree: &Arc<KeyspaceTree>,
        index: &KeptIndex,
        changes: &RowChanges,
        point: ReadPoint,
        reads: &mut ReadSet,
        entries: &mut Operations,
    ) -> Result<()> {
        let resolved = index.resolved(tree)?;
        let mut values = Vec::with_capacity(changes.rows.len());
        for (key, row) in &changes.rows {
            // A row that is none is in no index.
            let old = row.old.as_ref().and_then(|old| stated(resolved.values_of(key, &old.bytes).ok()?, old));
            let new = match &row.new {
                Some(new) => stated(resolved.values_of(key, &new.bytes)?, new),
                None => None,
            };
            values.push(ValueChange { key: key.clone(), old, new });
        }
        if index.record.definition.is_unique() {
            self.check_unique(tree, index, &values, (point, changes.clears), reads)?;
        }
        let written = WrittenKeyspace::new(Arc::clone(&index.entries));
        if changes.clears {
            entries.push_range::<&[u8]>(&written, &RangeFull);
        }
        for change in values.iter().filter(|change| change.old != change.new) {
            let entry = |row: &Option<EntryValues>| Some([&row.as_ref()?.values.bytes[..], &change.key].concat());
            if let Some(old) = entry(&change.old) {
                entries.push(&written, Action::Put(ValueKind::Remove), &old, &[]);
            }
            if let Some(new) = entry(&change.new) {
                check_entry(index, &new, &change.key)?;
                let expires_ms = change.new.as_ref().and_then(|row| row.expires_ms);
                entries.push_value(&written, &new, &[], expires_ms);
            }
        }
        Ok(())
    }
}

/// The indexed values of a row with its time, unless the index leaves it out.
fn stated(values: Option<IndexedValues>, row: &StatedRow) -> Option<EntryValues> {
    Some(EntryValues { values: values?, expires_ms: row.expires_ms })
}

/// Checks the length of an entry.
pub(super) fn check_entry(index: &KeptIndex, entry: &[u8], key: &[u8]) -> Result<()> {
    if entry.len() <= KEY_BYTES_MAX {
        return Ok(());
    }
    let detail = format!(
        "an entry of the index {:?} consists of the indexed values and the key, here of {} bytes; entries have at most \
         {KEY_BYTES_MAX} bytes",
        index.name(),
        key.len()
    );
    Err(Error::key_length(index.entries.folder.to_path_buf(), entry.len() as u64, detail))
}
