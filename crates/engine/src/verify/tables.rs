//! Verification of one table of a store.
//!
//! The entries are compared with the manifest right behind the walk over the blocks, so that each part of the file is
//! read once, whatever the length of the table.

use super::pointers::PointerBatch;
use super::store::StoreVerifier;
use crate::error::{Error, Result};
use crate::lsm::state::cursor::EntryCursor;
use crate::lsm::state::entry::{Entry, ValueKind, split_expiry};
use crate::lsm::state::tables::table_file::{SCAN_READ_AHEAD_BYTES, TableFile};
use crate::lsm::state::version::{FileKind, TableFileMeta, file_name};
use crate::table::{Table, TableOptions, WalkStep};
use crate::vlog::ValueFilePointer;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Totals over the entries of a table.
#[derive(Debug, Default, PartialEq, Eq)]
struct TableCounts {
    records: u64,
    tombstones: u64,
    shadowed: u64,
    values: BTreeMap<u64, u64>,
}

/// A defect: the name of the file, the offset in it, and the description.
pub(super) type FoundDefect = (String, u64, String);

/// The entries of a table, as far as they were checked.
struct EntryWalk {
    name: String,
    meta: Arc<TableFileMeta>,
    cursor: Box<dyn EntryCursor>,
    is_begun: bool,
    counted: TableCounts,
    /// Has what was counted of entries that expire.
    expiring: TableFileMeta,
    /// Key and sequence number of the last entry.
    last: Option<(Vec<u8>, u64)>,
    pointers: PointerBatch,
    /// Defects so far. Those of the table itself are reported before.
    found: Vec<FoundDefect>,
    /// The error that ended the walk.
    failure: Option<Error>,
}

impl EntryWalk {
    fn new(name: &str, file: &Arc<TableFile>) -> Self {
        Self {
            name: name.to_owned(),
            meta: Arc::clone(&file.meta),
            cursor: file.cursor(Some(SCAN_READ_AHEAD_BYTES)),
            is_begun: false,
            counted: TableCounts::default(),
            expiring: TableFileMeta::default(),
            last: None,
            pointers: PointerBatch::default(),
            found: Vec::new(),
            failure: None,
        }
    }

    /// Checks the entries up to this number of them.
    fn advance(&mut self, store: &mut StoreVerifier<'_>, records: u64) {
        if self.failure.is_none() {
            self.failure = self.try_advance(store, records).err();
        }
    }

    fn try_advance(&mut self, store: &mut StoreVerifier<'_>, records: u64) -> Result<()> {
        if !std::mem::replace(&mut self.is_begun, true) {
            self.cursor.first()?;
        }
        while self.counted.records < records {
            let Some(entry) = self.cursor.entry() else { return Ok(()) };
            self.counted.records += 1;
            store.report.records += 1;
            self.counted.tombstones += u64::from(entry.kind == ValueKind::Remove);
            let found = |detail: String| (self.name.clone(), 0, detail);
            if let Some((key, sequence)) = &self.last {
                let is_same = key.as_slice() == entry.key;
                self.counted.shadowed += u64::from(is_same);
                if key.as_slice() > entry.key || (is_same && *sequence <= entry.sequence) {
                    self.found.push(found(format!("entry {} is out of order", self.counted.records)));
                }
            }
            if !is_within(&self.meta, &entry) {
                let key = entry.key.escape_ascii();
                self.found.push(found(format!("the entry {key} is outside of the range in the manifest")));
            }
            if let Some(expires_ms) = entry.expires_ms() {
                self.expiring.note_expiring(expires_ms);
                if split_expiry(entry.value).is_none() {
                    let key = entry.key.escape_ascii();
                    self.found.push(found(format!("the entry {key} has no time at which it expires")));
                }
            }
            if let Some(pointer) = entry.pointer() {
                match ValueFilePointer::decode(pointer) {
                    None => {
                        let key = entry.key.escape_ascii();
                        self.found.push(found(format!("the value pointer of {key} is malformed")));
                    }
                    Some(pointer) => {
                        *self.counted.values.entry(pointer.file).or_default() += pointer.stored_bytes;
                        if store.follows_pointers {
                            self.pointers.push(pointer, entry.key);
                        }
                    }
                }
            }
            match &mut self.last {
                Some((key, sequence)) => {
                    key.clear();
                    key.extend_from_slice(entry.key);
                    *sequence = entry.sequence;
                }
                None => self.last = Some((entry.key.to_vec(), entry.sequence)),
            }
            if self.pointers.bytes() >= store.pointers_bytes {
                self.found.extend(store.follow(&mut self.pointers)?);
            }
            self.cursor.next()?;
        }
        Ok(())
    }

    /// Checks the entries that are left.
    fn finish(&mut self, store: &mut StoreVerifier<'_>) -> Result<()> {
        self.advance(store, u64::MAX);
        // Also those before an error.
        self.found.extend(store.follow(&mut self.pointers)?);
        self.failure.take().map_or(Ok(()), Err)
    }
}

fn is_within(meta: &TableFileMeta, entry: &Entry<'_>) -> bool {
    entry.key >= meta.smallest.as_slice()
        && !meta.ends_before(entry.key)
        && (meta.smallest_sequence..=meta.largest_sequence).contains(&entry.sequence)
}

impl StoreVerifier<'_> {
    /// Checks a table by itself, against the manifest, and follows its pointers.
    pub(crate) fn table(&mut self, meta: &Arc<TableFileMeta>) -> Result<()> {
        let name = file_name(meta.number, FileKind::Table);
        let before = self.done_bytes;
        let opened = Table::open_for_walk(Arc::clone(&self.storage), &name, &TableOptions::default());
        if let Some(table) = self.report.note(&name, opened)? {
            self.report.tables += 1;
            let (total, options) = (self.total_bytes, self.options.of_tables());
            let file = TableFile::open(&self.storage, self.state.owner, Arc::clone(meta), &self.cache, &options, None);
            let mut entries = file.as_ref().ok().map(|file| EntryWalk::new(&name, file));
            let verified = table.verify_as_open(&mut |step: WalkStep| {
                if let Some(entries) = &mut entries {
                    entries.advance(self, step.records);
                }
                (self.progress)(before + step.done_bytes, total);
            });
            for finding in self.report.note(&name, verified)?.map_or_else(Vec::new, |found| found.findings) {
                self.report.add(&name, finding.offset, finding.detail);
            }
            if self.report.note(&name, file)?.is_some()
                && let Some(entries) = entries
            {
                self.entries(entries)?;
            }
            if self.storage.open(&name)?.len() != meta.bytes {
                self.report.add(&name, meta.bytes, "its length differs from that in the manifest");
            }
        }
        self.advance(meta.bytes);
        Ok(())
    }

    /// Checks the entries that are left, and reports on all.
    fn entries(&mut self, mut entries: EntryWalk) -> Result<()> {
        let was_sound = !self.report.has_finding(&entries.name);
        let outcome = entries.finish(self);
        let EntryWalk { name, meta, counted, expiring, found, .. } = entries;
        found.into_iter().for_each(|(file, offset, detail)| self.report.add(&file, offset, detail));
        match outcome {
            Ok(()) => {}
            // Defects of blocks were reported before.
            Err(error) if super::report::finding_of(&error).is_some() && !was_sound => return Ok(()),
            Err(error) => return self.report.note(&name, Err::<(), _>(error)).map(drop),
        }
        let stated = TableCounts {
            records: meta.records,
            tombstones: meta.tombstones,
            shadowed: meta.shadowed,
            values: meta.values.iter().copied().collect(),
        };
        let (counted, stated) = ((counted, expiring.expiring), (stated, meta.expiring));
        if counted != stated && was_sound {
            self.report.add(&name, 0, format!("the manifest states {stated:?}, but the table has {counted:?}"));
        }
        Ok(())
    }
}
