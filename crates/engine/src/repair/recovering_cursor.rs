//! A cursor that recovers the readable entries of a damaged table.

use crate::block::Slice;
use crate::error::{Error, Result};
use crate::lsm::state::cursor::EntryCursor;
use crate::lsm::state::entry::Entry;
use crate::lsm::state::tables::table_file::{TableFile, TableFileCursor};
use crate::verify::report::finding_of;
use crate::vlog::{ValueFile, ValueFilePointer};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The readable value files of a store, and the number of entries lost so far.
#[derive(Debug, Default)]
pub(super) struct ValueEvidence {
    /// Readable value files.
    pub(super) values: BTreeMap<u64, Arc<ValueFile>>,
    /// Damaged value files: each value in them is verified before its entry is kept.
    pub(super) suspect: BTreeSet<u64>,
    /// Number of entries known to be lost.
    pub(super) lost: AtomicU64,
}

impl ValueEvidence {
    /// Whether the value of an entry is intact.
    fn has_intact_value(&self, table: &TableFile, entry: &Entry<'_>) -> Result<bool> {
        let Some(pointer) = entry.pointer() else { return Ok(true) };
        let Some(pointer) = ValueFilePointer::decode(pointer) else { return Ok(false) };
        match self.values.get(&pointer.file).filter(|file| self.may_point_into(table, file)) {
            Some(file) if self.suspect.contains(&pointer.file) => file.is_intact(&pointer),
            found => Ok(found.is_some()),
        }
    }

    fn lose(&self, entries: u64) {
        self.lost.fetch_add(entries, Ordering::Relaxed);
    }
}

/// A forward-only cursor over the intact entries of a table.
///
/// After an unreadable block it continues at the first readable position, which it finds by the record counts of
/// blocks.
#[derive(Debug)]
pub(super) struct RecoveringCursor {
    file: Arc<TableFile>,
    evidence: Arc<ValueEvidence>,
    cursor: TableFileCursor,
    /// Number of records before the current entry, as far as known.
    position: u64,
    /// Counts the entries returned.
    recovered_count: Arc<RecoveredCount>,
}

/// A count of recovered entries.
#[derive(Debug, Default)]
pub(super) struct RecoveredCount(AtomicU64);

impl RecoveredCount {
    pub(super) fn add(&self, entries: u64) {
        self.0.fetch_add(entries, Ordering::Relaxed);
    }

    pub(super) fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl RecoveringCursor {
    pub(super) fn new(
        file: &Arc<TableFile>,
        evidence: &Arc<ValueEvidence>,
        recovered_count: &Arc<RecoveredCount>,
    ) -> Self {
        Self {
            // Block by block: a read of several blocks would lose all of them with one.
            cursor: TableFileCursor::new(file, None),
            file: Arc::clone(file),
            evidence: Arc::clone(evidence),
            position: 0,
            recovered_count: Arc::clone(recovered_count),
        }
    }

    /// Moves on to the next entry whose value is intact, past damage if necessary.
    fn skip_lost(&mut self, mut moved: Result<()>) -> Result<()> {
        loop {
            match moved {
                Err(error) if finding_of(&error).is_some() => {
                    moved = self.skip_damage();
                    continue;
                }
                outcome => outcome?,
            }
            let Some(entry) = self.cursor.entry() else { return Ok(()) };
            if self.evidence.has_intact_value(&self.file, &entry)? {
                self.recovered_count.0.fetch_add(1, Ordering::Relaxed);
                return Ok(());
            }
            self.evidence.lose(1);
            self.position += 1;
            moved = self.cursor.next();
        }
    }

    /// Moves to the first readable record after the damage, or behind the end if there is none.
    fn skip_damage(&mut self) -> Result<()> {
        let records = self.file.table.len();
        let found = first_readable(self.position, records, &|position| self.is_readable(position))?;
        let position = found.unwrap_or(records);
        self.evidence.lose(position.saturating_sub(self.position));
        self.position = position;
        // A new cursor is unpositioned, as one behind the end is.
        self.cursor = TableFileCursor::new(&self.file, None);
        match found {
            // By position, since the index may be wrong as well.
            Some(position) => self.cursor.seek_position(position),
            None => Ok(()),
        }
    }

    fn is_readable(&self, position: u64) -> Result<bool> {
        match self.file.table.nth(position) {
            Ok(record) => Ok(record.is_some()),
            Err(error) if finding_of(&error).is_some() => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// The first readable position from `start` on, if the unreadable ones are contiguous: doubling steps, then bisection.
fn first_readable(start: u64, end: u64, is_readable: &dyn Fn(u64) -> Result<bool>) -> Result<Option<u64>> {
    let (mut unreadable, mut step) = (start, 1);
    let mut readable = loop {
        let position = (start + step).min(end.saturating_sub(1));
        if position <= unreadable {
            return Ok(None);
        }
        if is_readable(position)? {
            break position;
        }
        unreadable = position;
        step *= 2;
    };
    while readable - unreadable > 1 {
        let middle = unreadable + (readable - unreadable) / 2;
        if is_readable(middle)? { readable = middle } else { unreadable = middle }
    }
    Ok(Some(readable))
}

impl EntryCursor for RecoveringCursor {
    fn entry(&self) -> Option<Entry<'_>> {
        self.cursor.entry()
    }

    fn value_slice(&self) -> Option<Slice> {
        self.cursor.value_slice()
    }

    fn first(&mut self) -> Result<()> {
        self.position = 0;
        let moved = self.cursor.first();
        self.skip_lost(moved)
    }

    fn next(&mut self) -> Result<()> {
        if self.cursor.entry().is_none() {
            return Ok(());
        }
        self.position += 1;
        let moved = self.cursor.next();
        self.skip_lost(moved)
    }

    fn seek(&mut self, _: &[u8], _: u64) -> Result<()> {
        Err(forward_only())
    }

    fn seek_before(&mut self, _: &[u8]) -> Result<()> {
        Err(forward_only())
    }

    fn last(&mut self) -> Result<()> {
        Err(forward_only())
    }

    fn prev(&mut self) -> Result<()> {
        Err(forward_only())
    }
}

fn forward_only() -> Error {
    Error::input("a recovering cursor moves forward only")
}
