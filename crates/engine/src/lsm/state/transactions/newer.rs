//! Operations newer than a sequence number, of a key or an interval of keys: how a commit finds that something a
//! transaction has read was written since.
//!
//! The store itself is the record of what was written. A transaction holds a snapshot until it ends, and a compaction
//! keeps, for each key, the newest entry that no snapshot sees, a removal too, with its number, and so it does with
//! range tombstones. So no transaction is too old to be validated, nothing is recorded for those that have no
//! transaction, and what moved without being written keeps its number. Nearly always only memtables are read: tables
//! say how new their newest entry is.

use super::key_intervals::PointOrRange;
use crate::error::Result;
use crate::lsm::state::cursor::EntryCursor;
use crate::lsm::state::entry::{SEQUENCE_MAX, Sequence};
use crate::lsm::state::range_tombstones::RangeTombstones;
use crate::lsm::state::tables::table_file::TableFile;
use crate::lsm::state::view::KeyspaceView;
use std::sync::Arc;

/// A part of the validation of a transaction. Tests leave out one, and see that anomalies are found then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::lsm) enum ConflictCheck {
    Points,
    Intervals,
    /// The rest of a range that has ended, in which nothing was found.
    EmptyIntervals,
    RangeTombstones,
    Tables,
    GroupsInFlight,
    /// Batches in front, in the same group.
    SameGroup,
    Drops,
    Alterations,
    /// Keys that are written, of a transaction that reads at its snapshot.
    OwnWrites,
}

/// The parts of the validation that are made: all, but in tests.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::lsm) struct ConflictChecks {
    #[cfg(test)]
    pub(in crate::lsm) left_out: Option<ConflictCheck>,
}

impl ConflictChecks {
    #[cfg(not(test))]
    #[inline]
    pub(in crate::lsm) fn has(self, _: ConflictCheck) -> bool {
        true
    }

    #[cfg(test)]
    pub(in crate::lsm) fn has(self, check: ConflictCheck) -> bool {
        self.left_out != Some(check)
    }
}

impl KeyspaceView {
    /// A key of an interval that an operation newer than `after` has written or removed, if there is one.
    ///
    /// # Errors
    /// Errors of the storage, and damage.
    pub(in crate::lsm) fn newer_within(
        &self,
        interval: PointOrRange<'_>,
        after: Sequence,
        checks: ConflictChecks,
    ) -> Result<Option<Vec<u8>>> {
        match interval {
            PointOrRange::Point(key) if checks.has(ConflictCheck::Points) => {
                Ok(self.is_newer(key, after, checks)?.then(|| key.to_vec()))
            }
            PointOrRange::Range(start, end) if checks.has(ConflictCheck::Intervals) => {
                self.newer_in_range(start, end, after, checks)
            }
            PointOrRange::Point(_) | PointOrRange::Range(..) => Ok(None),
        }
    }

    /// Whether the newest operation on a key is newer than `after`. The first source that has any has the newest.
    fn is_newer(&self, key: &[u8], after: Sequence, checks: ConflictChecks) -> Result<bool> {
        let tombstone = |found: Sequence| if checks.has(ConflictCheck::RangeTombstones) { found } else { 0 };
        for memtable in self.memtables().filter(|memtable| !memtable.is_empty()) {
            let entry = memtable.get(key, SEQUENCE_MAX).map_or(0, |entry| entry.sequence);
            match entry.max(tombstone(memtable.covering(key, SEQUENCE_MAX))) {
                0 => {}
                newest => return Ok(newest > after),
            }
        }
        let deeper = self.levels.deeper.iter().filter_map(|(_, level)| level.find(key));
        let newest = self.levels.newest.iter().filter(|table| table.may_hold(key));
        for table in newest.chain(deeper).filter(|table| is_table_newer(table, after, checks)) {
            let entry = table.get(key, SEQUENCE_MAX, None, None, |_| {}, |_| Some(()))?;
            let entry = entry.map_or(0, |(_, sequence, ())| sequence);
            match entry.max(tombstone(table.covering(key, SEQUENCE_MAX))) {
                0 => {}
                newest => return Ok(newest > after),
            }
        }
        Ok(false)
    }

    fn newer_in_range(
        &self,
        start: &[u8],
        end: Option<&[u8]>,
        after: Sequence,
        checks: ConflictChecks,
    ) -> Result<Option<Vec<u8>>> {
        let removed = |tombstones: &RangeTombstones| match checks.has(ConflictCheck::RangeTombstones) {
            true => tombstones.newer_within(start, end, after),
            false => None,
        };
        for memtable in self.memtables().filter(|memtable| !memtable.is_empty()) {
            if let Some(key) = removed(&memtable.tombstones()) {
                return Ok(Some(key));
            }
            if let Some(key) = newer_entry(&mut memtable.cursor(), start, end, after)? {
                return Ok(Some(key));
            }
        }
        let deeper = self.levels.deeper.iter().flat_map(|(_, level)| level.tables());
        for table in self.levels.newest.iter().chain(deeper).filter(|table| is_table_newer(table, after, checks)) {
            if table.meta.ends_before(start) || end.is_some_and(|end| end <= table.meta.smallest.as_slice()) {
                continue;
            }
            if let Some(key) = removed(&table.tombstones) {
                return Ok(Some(key));
            }
            if let Some(key) = newer_entry(&mut *table.cursor(None), start, end, after)? {
                return Ok(Some(key));
            }
        }
        Ok(None)
    }
}

fn is_table_newer(table: &Arc<TableFile>, after: Sequence, checks: ConflictChecks) -> bool {
    table.meta.largest_sequence > after && checks.has(ConflictCheck::Tables)
}

/// The key of the first entry of a range that is newer than `after`.
fn newer_entry(
    cursor: &mut dyn EntryCursor,
    start: &[u8],
    end: Option<&[u8]>,
    after: Sequence,
) -> Result<Option<Vec<u8>>> {
    cursor.seek(start, SEQUENCE_MAX)?;
    while let Some(entry) = cursor.entry().filter(|entry| end.is_none_or(|end| entry.key < end)) {
        if entry.sequence > after {
            return Ok(Some(entry.key.to_vec()));
        }
        cursor.next()?;
    }
    Ok(None)
}
