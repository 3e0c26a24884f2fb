//! The entries of ingested rows: they are sorted outside of memory, and written to tables of their own, which one edit
//! of the manifest adds together with the rows.
//!
//! ```text
//! tables   1 {email: b}   7 {email: c}   9 {email: d}       rows of the store, in waves: 7 {email: a}, 9 {email: d}
//! sorted   (a, 7) removed   (b, 1) added   (c, 7) added     a unique index: one row of a value, here and in the store
//! written  a table of added entries, a table of removed ones
//! ```
//!
//! A table of entries that were removed is one without sequence numbers, as all ingested ones, whose metadata count as
//! many removals as records.

use super::ingested_rows::IngestedRows;
use super::unique::SameValues;
use super::upkeep::check_entry;
use crate::error::Result;
use crate::io::{ScratchFolder, Storage};
use crate::lsm::compact::{TableForm, table_options};
use crate::lsm::core::store::Core;
use crate::lsm::read::scan::positioned_cursor;
use crate::lsm::read::visible::VisibleCursor;
use crate::lsm::state::entry::KeyspaceId;
use crate::lsm::state::expiry::store_time::ReadPoint;
use crate::lsm::state::file_numbers::FileNumberSource;
use crate::lsm::state::indexes::kept::KeptIndex;
use crate::lsm::state::keyspace_tree::KeyspaceTree;
use crate::lsm::state::operations::ReadCondition;
use crate::lsm::state::tables::table_file::{ORIGIN_PROPERTY, TableOrigin};
use crate::lsm::state::transactions::read_set::ReadSet;
use crate::lsm::state::version::{FileKind, TableFileMeta, file_name, ingestion_sort_name};
use crate::table::sort::{Sorted, Sorter};
use crate::table::{TableWriteOptions, TableWriter};
use crate::types::{IndexedValues, ResolvedIndex, end_of_prefix};
use std::ops::Bound;
use std::sync::Arc;

/// Rows that are compared in one wave.
const WAVE_ROWS_MAX: usize = 1024;

/// What becomes of a sorted entry.
const REMOVED: u8 = 0;
const ADDED: u8 = 1;

/// Bytes of the number of an index, in front of its entries in the sort of all.
const NUMBER_BYTES: usize = 2;

/// Tables of entries, each with its keyspace.
pub(in crate::lsm) type EntryTables = Vec<(KeyspaceId, TableFileMeta)>;

/// The indexes of a keyspace, by their numbers in the sort.
type Indexes<'a> = [(&'a KeptIndex, Arc<ResolvedIndex>)];

/// The entries with the same values, and what becomes of each.
#[derive(Default)]
struct EntryGroup {
    values: Vec<u8>,
    entries: Vec<(Vec<u8>, u8)>,
}

/// What is looked at while entries are compared with those of the store.
struct UniqueCheck<'a> {
    tree: &'a Arc<KeyspaceTree>,
    index: &'a KeptIndex,
    resolved: &'a ResolvedIndex,
    /// At the first entry of the store that is not before the values of the last check; `None` before the first one.
    stored: Option<VisibleCursor>,
    point: ReadPoint,
}

/// Writes tables of entries in order.
struct EntryWriter<'a> {
    core: &'a Core,
    keyspace: KeyspaceId,
    are_removed: bool,
    current: Option<(TableWriter, TableFileMeta)>,
}

impl Core {
    /// Writes the changes of all entries that come with the rows of tables, computed from what the store had at a
    /// point, and adds their tables to `made`. Returns the condition that this is still so, and how often the indexes
    /// of the keyspace have changed.
    ///
    /// # Errors
    /// As [`Core::keep_indexes`].
    pub(in crate::lsm) fn write_entries(
        &self,
        tree: &Arc<KeyspaceTree>,
        rows: &[TableFileMeta],
        point: ReadPoint,
        made: &mut EntryTables,
    ) -> Result<(ReadCondition, u64)> {
        let (changes, indexes) = (tree.indexes.changes(), tree.indexes.get());
        let mut reads = ReadSet::new(self.options.transaction_limit_bytes());
        if !indexes.is_empty() && !rows.is_empty() {
            // Types that are altered from now on make the entries stale.
            reads.add_range(tree, &[], Some(&[]));
            let indexes = indexes.iter().map(|index| Ok((index, index.resolved(tree)?))).collect::<Result<Vec<_>>>()?;
            let _held = self.files.cache.reserve_scoped(2 * self.options.job_bytes());
            let folder = self.files.objects.as_ref().map(|_| ScratchFolder::create()).transpose()?;
            let storage = folder.as_ref().map_or(Arc::clone(&self.files.storage), |folder| folder.storage() as _);
            let sorted = self.sort_entries(tree, (rows, &indexes), storage, point, &mut reads)?;
            self.write_sorted((tree, &indexes), sorted, point, &mut reads, made)?;
        }
        Ok((ReadCondition { reads, after: point.at }, changes))
    }

    /// Sorts the changes of the entries of all indexes.
    fn sort_entries(
        &self,
        tree: &Arc<KeyspaceTree>,
        (rows, indexes): (&[TableFileMeta], &Indexes<'_>),
        storage: Arc<dyn Storage>,
        point: ReadPoint,
        reads: &mut ReadSet,
    ) -> Result<Sorted> {
        let mut sorter = Sorter::new(storage, self.options.job_bytes(), &ingestion_sort_name(self.take_number()?))?;
        let mut rows = IngestedRows::new(self, rows, self.options.job_bytes() / 2);
        let wave_bytes_max = self.options.job_bytes() as usize / 4;
        loop {
            let (mut keys, mut new, mut bytes) = (Vec::new(), Vec::new(), 0);
            while keys.len() < WAVE_ROWS_MAX && bytes < wave_bytes_max {
                let Some((key, row)) = rows.next_row()? else { break };
                bytes += key.len() + row.len();
                reads.add_point(tree, &key);
                keys.push(key);
                new.push(tree.delivered(None, &row)?.into_owned());
            }
            if keys.is_empty() {
                return sorter.finish();
            }
            for ((key, new), old) in keys.iter().zip(new).zip(self.rows_with_expired(tree, &keys, point)?) {
                for (number, (index, resolved)) in indexes.iter().enumerate() {
                    // A row that is none is in no index.
                    let values = old.as_ref().and_then(|(old, _)| resolved.values_of(key, old).ok()).flatten();
                    let expires = old.as_ref().is_some_and(|(_, expires_ms)| expires_ms.is_some());
                    let new = resolved.values_of(key, &new)?;
                    let is_same = values == new;
                    if is_same && !expires {
                        continue;
                    }
                    // An entry that expires is replaced by the same one that does not.
                    let old = values.filter(|_| !is_same);
                    let number = (number as u16).to_be_bytes();
                    for (values, change) in [(old, REMOVED), (new, ADDED)] {
                        let Some(values) = values else { continue };
                        let entry = [&number[..], &values.bytes, key].concat();
                        check_entry(index, &entry[NUMBER_BYTES..], key)?;
                        sorter.push(&entry, &[change])?;
                    }
                }
            }
        }
    }

    /// Writes sorted changes to tables, and checks unique indexes on the way.
    fn write_sorted(
        &self,
        (tree, indexes): (&Arc<KeyspaceTree>, &Indexes<'_>),
        mut sorted: Sorted,
        point: ReadPoint,
        reads: &mut ReadSet,
        made: &mut EntryTables,
    ) -> Result<()> {
        let mut next = sorted.next_record()?.map(|(entry, change)| (entry.to_vec(), change.to_vec()));
        for (number, (index, resolved)) in indexes.iter().enumerate() {
            let writer =
                |are_removed| EntryWriter { core: self, keyspace: index.entries.id, are_removed, current: None };
            let mut writers = [writer(true), writer(false)];
            let mut check = UniqueCheck { tree, index, resolved, stored: None, point };
            let mut group = EntryGroup::default();
            let number = (number as u16).to_be_bytes();
            while let Some((numbered, change)) = next.take_if(|(numbered, _)| numbered.starts_with(&number)) {
                let entry = &numbered[NUMBER_BYTES..];
                let change = if change == [REMOVED] { REMOVED } else { ADDED };
                writers[usize::from(change == ADDED)].add(entry, made)?;
                if index.record.definition.is_unique() {
                    let key_bytes = resolved.key_of(entry).map_or(0, <[u8]>::len);
                    let values = &entry[..entry.len() - key_bytes];
                    if values != group.values {
                        check.check(self, &group, reads)?;
                        group = EntryGroup { values: values.to_vec(), entries: Vec::new() };
                    }
                    group.entries.push((entry.to_vec(), change));
                }
                next = sorted.next_record()?.map(|(entry, change)| (entry.to_vec(), change.to_vec()));
            }
            check.check(self, &group, reads)?;
            writers.into_iter().try_for_each(|writer| writer.finish(made))?;
        }
        Ok(())
    }
}

impl UniqueCheck<'_> {
    /// Checks that at most one row has the values of a group, among the ingested ones and those of the store.
    fn check(&mut self, core: &Core, group: &EntryGroup, reads: &mut ReadSet) -> Result<()> {
        let Self { tree, index, resolved, point, .. } = *self;
        let key = |entry: &[u8]| resolved.key_of(entry).unwrap_or_default().to_vec();
        let mut added = group.entries.iter().filter(|(_, change)| *change == ADDED).map(|(entry, _)| key(entry));
        let Some(new) = added.next().filter(|_| !resolved.has_null(&group.values)) else { return Ok(()) };
        if let Some(other) = added.next() {
            return Err(core.not_unique(tree, index, &other, &new));
        }
        reads.add_range(&index.entries, &group.values, end_of_prefix(&group.values).as_deref());
        let values = IndexedValues { bytes: group.values.clone(), has_null: false };
        let is_changed = |stored: &Vec<u8>| group.entries.iter().any(|(entry, _)| entry == stored);
        let stored = self.stored_with(core, &values.bytes)?.into_iter().filter(|stored| !is_changed(stored));
        let others: Vec<SameValues<'_>> =
            stored.map(|stored| SameValues { key: &new, values: &values, other: key(&stored) }).collect();
        core.check_others(tree, index, &others, point, reads)
    }

    /// The entries of the store that begin with values, which are greater than those of the last call.
    fn stored_with(&mut self, core: &Core, values: &[u8]) -> Result<Vec<Vec<u8>>> {
        let cursor = match &mut self.stored {
            Some(cursor) => {
                if cursor.key().is_some_and(|key| key < values) {
                    cursor.seek(values)?;
                }
                cursor
            }
            None => {
                let (view, point) = core.view_at(&self.index.entries, self.point);
                let bounds = (Bound::Included(values.to_vec()), Bound::Unbounded);
                self.stored.insert(positioned_cursor(&view, point, &bounds, true)?)
            }
        };
        let mut found = Vec::new();
        while let Some(entry) = cursor.key().filter(|key| key.starts_with(values)) {
            found.push(entry.to_vec());
            cursor.next()?;
        }
        Ok(found)
    }
}

impl EntryWriter<'_> {
    fn add(&mut self, entry: &[u8], made: &mut EntryTables) -> Result<()> {
        let table_bytes = self.core.options.levels.table_bytes;
        if self.current.as_ref().is_some_and(|(writer, _)| writer.bytes_so_far() >= table_bytes) {
            self.end_table(made)?;
        }
        let (writer, meta) = match &mut self.current {
            Some(current) => current,
            None => self.current.insert(self.core.entry_table(self.keyspace, entry)?),
        };
        writer.append(entry, &[])?;
        meta.records += 1;
        meta.tombstones += u64::from(self.are_removed);
        meta.largest.clear();
        meta.largest.extend_from_slice(entry);
        Ok(())
    }

    fn finish(mut self, made: &mut EntryTables) -> Result<()> {
        self.end_table(made)
    }

    fn end_table(&mut self, made: &mut EntryTables) -> Result<()> {
        let Some((writer, mut meta)) = self.current.take() else { return Ok(()) };
        meta.bytes = writer.finish()?.file_bytes;
        made.push((self.keyspace, meta));
        Ok(())
    }
}

impl Core {
    /// A new table of entries whose first one is this.
    fn entry_table(&self, keyspace: KeyspaceId, first: &[u8]) -> Result<(TableWriter, TableFileMeta)> {
        let number = self.take_number()?;
        let options =
            TableWriteOptions { versioned: false, ..table_options(&self.options, TableForm::usual(&self.options)) };
        let place = (Arc::clone(&self.files.storage), file_name(number, FileKind::Table));
        let mut writer = TableWriter::create(place, options)?;
        writer.limit_memory(self.options.job_bytes() / 8);
        // A repair without the manifest learns whose it is; no log is in it.
        writer.set_property(ORIGIN_PROPERTY, TableOrigin { keyspace, newest: 0 }.encode());
        let meta = TableFileMeta { number, smallest: first.to_vec(), ..TableFileMeta::default() };
        Ok((writer, meta))
    }
}
