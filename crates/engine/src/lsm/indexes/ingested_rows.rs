//! The rows of ingested tables in key order: of two with the same key, the one of the later table.

use crate::block::BlockCache;
use crate::error::Result;
use crate::lsm::core::store::Core;
use crate::lsm::state::version::{FileKind, TableFileMeta, file_name};
use crate::table::{Table, TableCursor};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Least bytes that are read ahead of a table.
const AHEAD_BYTES_MIN: u64 = 4 << 10;

/// A merge of tables that are in the folder of the store. Only those are open whose rows are due.
pub(super) struct IngestedRows<'a> {
    core: &'a Core,
    /// The tables that are not open yet, with their places in the list; that with the smallest key is the last.
    upcoming: Vec<(usize, &'a TableFileMeta)>,
    /// Open tables by their next keys, and among equal ones from the last place on.
    open: BTreeMap<(Vec<u8>, Reverse<usize>), TableCursor>,
    last: Option<Vec<u8>>,
    ahead_bytes: u64,
}

impl<'a> IngestedRows<'a> {
    /// Reads ahead at most about this many bytes, unless there are very many tables with the same keys.
    pub(super) fn new(core: &'a Core, tables: &'a [TableFileMeta], memory_bytes: u64) -> Self {
        let mut upcoming: Vec<(usize, &TableFileMeta)> = tables.iter().enumerate().collect();
        upcoming.sort_by(|(_, one), (_, other)| other.smallest.cmp(&one.smallest));
        let ahead_bytes = (memory_bytes / tables.len().max(1) as u64).max(AHEAD_BYTES_MIN);
        Self { core, upcoming, open: BTreeMap::new(), last: None, ahead_bytes }
    }

    /// The next row, as it is stored.
    pub(super) fn next_row(&mut self) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        loop {
            let first = self.open.first_key_value().map(|((key, _), _)| key);
            let is_due = |(_, table): &mut (usize, &TableFileMeta)| first.is_none_or(|first| table.smallest <= *first);
            if let Some((place, table)) = self.upcoming.pop_if(is_due) {
                let (storage, cache) = (Arc::clone(&self.core.files.storage), Arc::new(BlockCache::none()));
                let name = file_name(table.number, FileKind::Table);
                let table = Table::open_with(storage, &name, &cache, &self.core.options.of_tables())?;
                let mut cursor = table.compaction_cursor(self.ahead_bytes);
                cursor.first()?;
                self.put(place, cursor);
                continue;
            }
            let Some(((key, Reverse(place)), mut cursor)) = self.open.pop_first() else { return Ok(None) };
            let row = cursor.entry().map(|entry| entry.value.to_vec());
            cursor.next()?;
            self.put(place, cursor);
            if let Some(row) = row.filter(|_| self.last.as_ref() != Some(&key)) {
                self.last = Some(key.clone());
                return Ok(Some((key, row)));
            }
        }
    }

    fn put(&mut self, place: usize, cursor: TableCursor) {
        if let Some(key) = cursor.entry().map(|entry| entry.key.to_vec()) {
            self.open.insert((key, Reverse(place)), cursor);
        }
    }
}
