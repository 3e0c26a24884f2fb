//! The entries that the writes of a transaction make in an index before they are committed.
//!
//! They are brought up to date at each lookup, by the writes since the last one, and shared with the ranges that were
//! begun before: these see the writes of their beginning.

use super::index_rows::KeyWithRow;
use crate::block::Slice;
use crate::error::Result;
use crate::lsm::handles::own_writes::{OwnChange, OwnWrites};
use crate::lsm::handles::transaction_range::Hides;
use crate::lsm::state::entry::KeyspaceId;
use crate::lsm::state::transactions::key_intervals::KeyIntervals;
use crate::types::ResolvedIndex;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

/// Approximate memory of a written row beside its key and entry, which are there twice, in bytes.
const ENTRY_BYTES: u64 = 256;

/// The entries of the rows that a transaction has written.
#[derive(Clone, Debug, Default)]
pub(in crate::lsm::handles) struct OwnEntries {
    /// The rows by their entries.
    rows: BTreeMap<Vec<u8>, KeyWithRow>,
    /// The entry of each key that was written, unless it was removed, or the index leaves its row out.
    entries: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    /// The ranges of keys that were removed.
    removed: KeyIntervals,
    /// The number of writes that were looked at.
    seen: usize,
    bytes: u64,
}

impl OwnEntries {
    /// Approximate memory in bytes.
    pub(in crate::lsm::handles) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether all writes were looked at.
    pub(in crate::lsm::handles) fn is_up_to(&self, writes: &OwnWrites) -> bool {
        self.seen == writes.len()
    }

    /// Looks at further writes.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) for a value that is no row.
    pub(in crate::lsm::handles) fn add(
        &mut self,
        writes: &OwnWrites,
        keyspace: KeyspaceId,
        index: &ResolvedIndex,
    ) -> Result<()> {
        for (id, key, change) in writes.since(self.seen) {
            match change {
                _ if id != keyspace => {}
                OwnChange::SetExpiring(_, _, true) | OwnChange::Remove => self.set(key, None, None),
                OwnChange::Set(row) | OwnChange::SetExpiring(row, _, false) => {
                    let values = index.values_of(key, row)?;
                    self.set(key, values.map(|values| [&values.bytes, key].concat()), Some(row));
                }
                OwnChange::RemoveRange(end) => self.remove_range(key, end.as_deref()),
            }
            self.seen += 1;
        }
        Ok(())
    }

    fn set(&mut self, key: &[u8], entry: Option<Vec<u8>>, row: Option<&Slice>) {
        self.bytes += ENTRY_BYTES + 2 * (key.len() + entry.as_ref().map_or(0, Vec::len)) as u64;
        if let Some(before) = self.entries.insert(key.to_vec(), entry.clone()).flatten() {
            self.rows.remove(&before);
        }
        if let (Some(entry), Some(row)) = (entry, row) {
            self.rows.insert(entry, (key.into(), row.clone()));
        }
    }

    fn remove_range(&mut self, start: &[u8], end: Option<&[u8]>) {
        let mut removed = self.entries.split_off(start);
        if let Some(end) = end {
            self.entries.append(&mut removed.split_off(end));
        }
        removed.into_values().flatten().for_each(|entry| _ = self.rows.remove(&entry));
        let (added, freed) = self.removed.add_range(start, end);
        self.bytes = (self.bytes + added).saturating_sub(freed);
    }

    /// The rows whose entries are from `start` up to `end`, in the order of the index.
    pub(in crate::lsm::handles) fn within(
        &self,
        start: &[u8],
        end: Option<&[u8]>,
    ) -> VecDeque<(Slice, Option<KeyWithRow>)> {
        if end.is_some_and(|end| end <= start) {
            return VecDeque::new();
        }
        let end = end.map_or(Bound::Unbounded, Bound::Excluded);
        let within = self.rows.range::<[u8], _>((Bound::Included(start), end));
        within.map(|(entry, row)| (entry[..].into(), Some(row.clone()))).collect()
    }

    /// Whether the transaction has written or removed a row.
    pub(in crate::lsm::handles) fn has(&self, key: &[u8]) -> bool {
        self.entries.contains_key(key) || self.removed.contains(key)
    }
}

/// A row that the transaction has written or removed is not as the snapshot has it.
impl Hides<KeyWithRow> for Arc<OwnEntries> {
    fn hides(&self, _: &Slice, (key, _): &KeyWithRow) -> bool {
        self.has(key)
    }
}
