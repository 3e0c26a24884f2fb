//! Verification of one table of a store.

use super::store::StoreVerifier;
use crate::error::Result;
use crate::lsm::state::cursor::EntryCursor;
use crate::lsm::state::entry::{Entry, ValueKind};
use crate::lsm::state::tables::table_file::{SCAN_READ_AHEAD_BYTES, TableFile};
use crate::lsm::state::version::{FileKind, TableFileMeta, file_name};
use crate::table::{Table, TableOptions};
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

impl StoreVerifier<'_> {
    /// Checks a table by itself, against the manifest, and follows its pointers.
    pub(crate) fn table(&mut self, meta: &Arc<TableFileMeta>) -> Result<()> {
        let name = file_name(meta.number, FileKind::Table);
        let before = self.done_bytes;
        let opened = Table::open_for_walk(Arc::clone(&self.storage), &name, &TableOptions::default());
        if let Some(table) = self.report.note(&name, opened)? {
            self.report.tables += 1;
            let total = self.total_bytes;
            let progress = &mut *self.progress;
            let verified = table.verify(&mut |done, _| progress(before + done, total));
            for finding in self.report.note(&name, verified)?.map_or_else(Vec::new, |found| found.findings) {
                self.report.add(&name, finding.offset, finding.detail);
            }
            let opened = TableFile::open(
                &self.storage,
                self.state.owner,
                Arc::clone(meta),
                &self.cache,
                &self.options.of_tables(),
                None,
            );
            if let Some(file) = self.report.note(&name, opened)? {
                self.entries(&name, &file)?;
            }
            if self.storage.open(&name)?.len() != meta.bytes {
                self.report.add(&name, meta.bytes, "its length differs from that in the manifest");
            }
        }
        self.advance(meta.bytes);
        Ok(())
    }

    fn entries(&mut self, name: &str, file: &Arc<TableFile>) -> Result<()> {
        let was_sound = !self.report.has_finding(name);
        let mut counted = TableCounts::default();
        let mut cursor = file.cursor(Some(SCAN_READ_AHEAD_BYTES));
        match self.check_entries(name, file, &mut *cursor, &mut counted) {
            Ok(()) => {}
            // Defects of blocks were reported before.
            Err(error) if super::report::finding_of(&error).is_some() && !was_sound => return Ok(()),
            Err(error) => return self.report.note(name, Err::<(), _>(error)).map(drop),
        }
        let meta = &file.meta;
        let stated = TableCounts {
            records: meta.records,
            tombstones: meta.tombstones,
            shadowed: meta.shadowed,
            values: meta.values.iter().copied().collect(),
        };
        if counted != stated && was_sound {
            self.report.add(name, 0, format!("the manifest states {stated:?}, but the table has {counted:?}"));
        }
        Ok(())
    }

    fn check_entries(
        &mut self,
        name: &str,
        file: &TableFile,
        cursor: &mut dyn EntryCursor,
        counted: &mut TableCounts,
    ) -> Result<()> {
        let mut last: Option<(Vec<u8>, u64)> = None;
        cursor.first()?;
        while let Some(entry) = cursor.entry() {
            counted.records += 1;
            self.report.records += 1;
            counted.tombstones += u64::from(entry.kind == ValueKind::Remove);
            if let Some((key, sequence)) = &last {
                let is_same = key.as_slice() == entry.key;
                counted.shadowed += u64::from(is_same);
                if key.as_slice() > entry.key || (is_same && *sequence <= entry.sequence) {
                    self.report.add(name, 0, format!("entry {} is out of order", counted.records));
                }
            }
            self.check_range(name, &file.meta, &entry);
            if entry.kind == ValueKind::Pointer {
                self.pointer(name, &entry, &mut counted.values)?;
            }
            match &mut last {
                Some((key, sequence)) => {
                    key.clear();
                    key.extend_from_slice(entry.key);
                    *sequence = entry.sequence;
                }
                None => last = Some((entry.key.to_vec(), entry.sequence)),
            }
            cursor.next()?;
        }
        Ok(())
    }

    fn check_range(&mut self, name: &str, meta: &TableFileMeta, entry: &Entry<'_>) {
        let is_within = entry.key >= meta.smallest.as_slice()
            && !meta.ends_before(entry.key)
            && (meta.smallest_sequence..=meta.largest_sequence).contains(&entry.sequence);
        if !is_within {
            let detail = format!("the entry {} is outside of the range in the manifest", entry.key.escape_ascii());
            self.report.add(name, 0, detail);
        }
    }

    fn pointer(&mut self, name: &str, entry: &Entry<'_>, values: &mut BTreeMap<u64, u64>) -> Result<()> {
        let Some(pointer) = ValueFilePointer::decode(entry.value) else {
            self.report.add(name, 0, format!("the value pointer of {} is malformed", entry.key.escape_ascii()));
            return Ok(());
        };
        *values.entry(pointer.file).or_default() += pointer.stored_bytes;
        if !self.follows_pointers {
            return Ok(());
        }
        if !self.leads_to_value(&pointer)? {
            let file = file_name(pointer.file, FileKind::Values);
            let detail = format!("the value of {} is missing or damaged", entry.key.escape_ascii());
            self.report.add(&file, pointer.offset, detail);
        }
        Ok(())
    }

    /// Whether the value of a pointer is intact.
    pub(crate) fn leads_to_value(&mut self, pointer: &ValueFilePointer) -> Result<bool> {
        self.report.pointers += 1;
        self.values.get(&pointer.file).map_or(Ok(false), |file| file.is_intact(pointer))
    }
}
