//! Ingestion: adding existing tables to a store without rewriting them.
//!
//! A table that was written elsewhere becomes part of a level: it is linked into the folder, or copied where linking is
//! not possible; a store on an object store can also take one by reference that lies below its URL. Its records have no
//! sequence numbers, so all of them get one, as if a single batch had inserted them at that time. In an altered
//! keyspace a copy is written instead, whose values have the number of their form. The table goes to the
//! deepest level such that neither this level nor any level above it has overlapping tables: older entries may only lie
//! below it.
//!
//! In a keyspace with indexes, tables with the entries of the rows are written beside them (`indexes/ingested.rs`), and
//! the same edit of the manifest adds all.

use super::stating::AdmittedStatement;
use super::validate::GroupSoFar;
use crate::block::BlockCache;
use crate::error::{Cause, Error, Result};
use crate::io::Storage;
use crate::lsm::compact::{TableForm, table_options};
use crate::lsm::core::shared::{SharedState, StateChange};
use crate::lsm::core::store::Core;
use crate::lsm::core::writer::WriterState;
use crate::lsm::objects::ObjectFolder;
use crate::lsm::state::entry::{KeyspaceId, SEQUENCE_MAX, Sequence};
use crate::lsm::state::file_numbers::FileNumberSource;
use crate::lsm::state::memtable_set::MemtableSet;
use crate::lsm::state::operations::ReadCondition;
use crate::lsm::state::options::INLINE_BYTES_MAX;
use crate::lsm::state::tables::table_file::{KeyspaceStatement, ORIGIN_PROPERTY, SCAN_READ_AHEAD_BYTES, TableOrigin};
use crate::lsm::state::value_forms::mark_of;
use crate::lsm::state::version::{
    FileKind, KeyspaceLevels, LEVELS, ManifestEdit, StatedTypes, TableFileMeta, file_name, is_object_name,
};
use crate::lsm::state::written_keyspace::{WrittenKeyspace, wrong};
use crate::table::{KEY_BYTES_MAX, Table, TableWriteOptions, TableWriter};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The entries of ingested rows are computed this number of times: at last while other writers wait.
const ENTRY_TRIES: u32 = 4;

/// The size of ingested tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct IngestSummary {
    /// Number of tables.
    pub tables: u64,
    /// Number of records.
    pub records: u64,
    /// Size in bytes.
    pub bytes: u64,
}

/// Files that were linked into the folder, but are not installed yet; the rest is removed on drop.
struct IncomingTables<'a> {
    core: &'a Core,
    keyspace: &'a WrittenKeyspace,
    /// The types of the keyspace when the files were examined.
    stated: Arc<StatedTypes>,
    tables: Vec<TableFileMeta>,
    /// Tables of the entries of indexes that belong to the rows, with their keyspaces.
    entries: Vec<(KeyspaceId, TableFileMeta)>,
    seen: SeenRecords,
}

/// What the examined tables have in common.
#[derive(Default)]
struct SeenRecords {
    longest_value_bytes: u64,
    /// Whether they are keys alone; `None` before the first table with records.
    are_keys_only: Option<bool>,
}

impl IncomingTables<'_> {
    fn take(&mut self, storage: &Arc<dyn Storage>, name: &str) -> Result<()> {
        // Examined in place first, so that a file that is not a table is not even linked.
        let Some(mut meta) = self.examine(storage, name)? else { return Ok(()) };
        meta.number = self.core.take_number()?;
        let new_name = file_name(meta.number, FileKind::Table);
        match self.form_of(storage, name)? {
            0 => storage.export(name, &*self.core.files.storage, &new_name)?,
            form => meta.bytes = self.write_marked((storage, name), &new_name, form)?,
        }
        self.tables.push(meta);
        if self.core.files.objects.is_some() {
            return Ok(());
        }
        // The writer of the table may not have synced it.
        self.core.files.storage.open_update(&new_name)?.sync()
    }

    /// The form of the values of a table: the newest whose type they have. Values of bytes are taken for those of the
    /// keyspace, as bytes that are inserted are.
    ///
    /// # Errors
    /// [`Cause::WrongType`] for a type that values of the keyspace never had.
    fn form_of(&self, storage: &Arc<dyn Storage>, name: &str) -> Result<u64> {
        let (types, forms) = (&self.stated.types, &self.stated.forms);
        if !forms.is_altered() {
            return Ok(0);
        }
        let table = self.open(storage, name)?;
        let values = &table.record_type().values;
        let stated = self.keyspace.statement().map_or(&types.values, |statement| &statement.types.values);
        if values.is_bytes() || stated.extends(values) {
            return Ok(forms.current);
        }
        let older = forms.older.iter().rev().find(|(_, older)| older.extends(values));
        older.map(|(form, _)| *form).ok_or_else(|| wrong(self.keyspace, types, table.record_type(), 0))
    }

    fn open(&self, storage: &Arc<dyn Storage>, name: &str) -> Result<Table> {
        let cache = Arc::new(BlockCache::none());
        Table::open_with(Arc::clone(storage), name, &cache, &self.core.options.of_tables())
    }

    /// Writes a copy of a table whose values have the number of their form in front; returns its length in bytes.
    fn write_marked(&mut self, (storage, name): (&Arc<dyn Storage>, &str), new_name: &str, form: u64) -> Result<u64> {
        let core = self.core;
        let table = self.open(storage, name)?;
        let own = core.keyspace_options(self.keyspace.id());
        let of_keyspace = core.options.of_keyspace(&own);
        let mut options =
            TableWriteOptions { versioned: false, ..table_options(&of_keyspace, TableForm::usual(&of_keyspace)) };
        // A repair without the manifest learns whose the copy is, and the forms of its values; no log is in it.
        let origin = TableOrigin { keyspace: self.keyspace.id(), newest: 0 };
        options.properties.push((ORIGIN_PROPERTY.to_owned(), origin.encode()));
        let statement = KeyspaceStatement::new(self.keyspace.name(), &self.stated, &own);
        options.properties.extend(statement.properties());
        let mut writer = TableWriter::create((Arc::clone(&core.files.storage), new_name), options)?;
        writer.limit_memory(core.options.job_bytes() / 2);
        let mark = mark_of(form);
        self.seen.longest_value_bytes += mark.len() as u64;
        let mut cursor = table.compaction_cursor(SCAN_READ_AHEAD_BYTES);
        cursor.first()?;
        while let Some(entry) = cursor.entry() {
            writer.append(entry.key, &[&mark, entry.value].concat())?;
            cursor.next()?;
        }
        Ok(writer.finish()?.file_bytes)
    }

    fn examine(&mut self, storage: &Arc<dyn Storage>, name: &str) -> Result<Option<TableFileMeta>> {
        examine(self.core, storage, name, &mut self.seen).map_err(|error| match error {
            // No memory helps: a store keeps longer values in files of their own.
            Error { cause: Cause::ValueTooLarge { length, limit: INLINE_BYTES_MAX }, .. } => {
                let detail = "is longer than those of tables that can be ingested; write its records instead";
                let path = error.place();
                let path = path.display();
                Error::input(format!("{path}: a value of {length} bytes {detail} ({INLINE_BYTES_MAX} at most)"))
            }
            error => error,
        })
    }

    /// The keyspaces that get tables.
    fn keyspaces(&self) -> BTreeSet<KeyspaceId> {
        let of_rows = (!self.tables.is_empty()).then(|| self.keyspace.id());
        self.entries.iter().map(|(id, _)| *id).chain(of_rows).collect()
    }

    /// Takes an object of the store's folder by reference.
    fn adopt(&mut self, objects: &ObjectFolder, name: &str) -> Result<()> {
        let is_named_twice = self.tables.iter().any(|table| table.object.as_deref() == Some(name));
        if is_named_twice || objects.has_object(name) {
            let what = if is_named_twice { "is named twice" } else { "belongs to the store already" };
            return Err(Error::input(format!("{} {what}", self.core.files.storage.path(name).display())));
        }
        // In the store's own storage, which is to find the same object.
        let Some(mut meta) = self.examine(&self.core.files.storage, name)? else { return Ok(()) };
        let object: Arc<str> = name.into();
        meta.number = self.core.take_number()?;
        objects.name_object(meta.number, &object);
        meta.object = Some(object);
        self.tables.push(meta);
        Ok(())
    }
}

impl IncomingTables<'_> {
    /// Removes the tables of entries. A file that cannot be removed now is removed at the next opening.
    fn drop_entries(&mut self) {
        for (_, table) in self.entries.drain(..) {
            _ = self.core.files.storage.remove(&file_name(table.number, FileKind::Table));
        }
    }
}

impl Drop for IncomingTables<'_> {
    fn drop(&mut self) {
        self.drop_entries();
        for table in &self.tables {
            if let (Some(objects), Some(_)) = (&self.core.files.objects, &table.object) {
                objects.forget_object(table.number);
                continue;
            }
            // A file that cannot be removed now is removed at the next opening.
            _ = self.core.files.storage.remove(&file_name(table.number, FileKind::Table));
        }
    }
}

/// Reads a whole table and returns its metadata without numbers; `None` if it is empty. Adds to what was seen of
/// others.
fn examine(
    core: &Core,
    storage: &Arc<dyn Storage>,
    name: &str,
    seen: &mut SeenRecords,
) -> Result<Option<TableFileMeta>> {
    let cache = Arc::new(BlockCache::none());
    let table = Table::open_with(Arc::clone(storage), name, &cache, &core.options.of_tables())?;
    let refuse = |detail: &str| Err(Error::input(format!("{}: {detail}", storage.path(name).display())));
    if table.is_versioned() || !table.is_self_contained() {
        return refuse("it is part of a store, or an external index; only self-contained tables can be ingested");
    }
    let are_keys_only = table.record_type().is_keys_only();
    if !table.is_empty() && *seen.are_keys_only.get_or_insert(are_keys_only) != are_keys_only {
        return refuse("keys alone and records with values cannot be ingested together");
    }
    let report = table.verify(&mut |_, _| {})?;
    if let Some(finding) = report.findings.first() {
        let detail = format!("{}; rebuild it from a scan, which does not use the index", finding.detail);
        return Err(Error::damaged(storage.path(name), finding.offset, detail));
    }
    let mut meta = TableFileMeta { bytes: storage.open(name)?.len(), ..TableFileMeta::default() };
    let mut cursor = table.compaction_cursor(SCAN_READ_AHEAD_BYTES);
    cursor.first()?;
    while let Some(entry) = cursor.entry() {
        if entry.key.len() > KEY_BYTES_MAX {
            return refuse("it has a key longer than 64 KiB");
        }
        if meta.records == 0 {
            meta.smallest = entry.key.to_vec();
        } else if entry.key <= meta.largest.as_slice() {
            return refuse("it has a duplicate key; in a store each key has one value");
        }
        meta.largest.clear();
        meta.largest.extend_from_slice(entry.key);
        meta.records += 1;
        seen.longest_value_bytes = seen.longest_value_bytes.max(entry.value.len() as u64);
        cursor.next()?;
    }
    if meta.records != table.len() {
        return Err(Error::damaged(storage.path(name), 0, "its number of records is not the one it states"));
    }
    Ok((meta.records > 0).then_some(meta))
}

impl Core {
    /// Ingests files; those that [`Self::adopts`] names are taken `by_reference`.
    pub(in crate::lsm) fn ingest_files(
        &self,
        keyspace: &WrittenKeyspace,
        files: &[(Arc<dyn Storage>, String)],
        by_reference: bool,
    ) -> Result<IngestSummary> {
        self.check_writable()?;
        let stated = keyspace.tree().types.get();
        // The values of tables in an altered keyspace need the number of their form, so they are copied.
        let by_reference = by_reference && !stated.forms.is_altered();
        let (tables, entries, seen) = (Vec::new(), Vec::new(), SeenRecords::default());
        let mut incoming = IncomingTables { core: self, keyspace, stated, tables, entries, seen };
        for (storage, name) in files {
            match self.adopts(&**storage, name).filter(|_| by_reference) {
                Some(objects) => incoming.adopt(objects, name)?,
                None => incoming.take(storage, name)?,
            }
        }
        self.files.storage.sync_directory()?;
        let ingested = IngestSummary {
            tables: incoming.tables.len() as u64,
            records: incoming.tables.iter().map(|table| table.records).sum(),
            bytes: incoming.tables.iter().map(|table| table.bytes).sum(),
        };
        self.install_with_entries(keyspace, &mut incoming)?;
        self.work_after_write();
        Ok(ingested)
    }

    /// Installs tables together with those of the entries that belong to their rows: these are computed from what the
    /// store has, again if that was written meanwhile, and at last while other writers wait.
    fn install_with_entries(&self, keyspace: &WrittenKeyspace, incoming: &mut IncomingTables<'_>) -> Result<()> {
        for attempt in 1..=ENTRY_TRIES {
            let alone = (attempt == ENTRY_TRIES).then(|| self.writer_alone());
            let pinned = self.pin_newest();
            incoming.drop_entries();
            let IncomingTables { tables, entries, .. } = &mut *incoming;
            let (mut condition, changes) = self.write_entries(keyspace.tree(), tables, pinned.point(), entries)?;
            if !entries.is_empty() {
                self.files.storage.sync_directory()?;
            }
            let outcome = match alone {
                Some(mut writer) => self.install_ingested(&mut writer, keyspace, incoming, (&condition, changes)),
                None => self.validate_until_now(&mut condition).and_then(|()| {
                    self.install_ingested(&mut self.writer_alone(), keyspace, incoming, (&condition, changes))
                }),
            };
            if attempt == ENTRY_TRIES || !outcome.as_ref().is_err_and(|error| error.cause == Cause::Conflict) {
                return outcome;
            }
        }
        Ok(())
    }

    /// The folder of objects, if a file is one of them that may be taken by reference.
    pub(in crate::lsm) fn adopts(&self, storage: &dyn Storage, name: &str) -> Option<&ObjectFolder> {
        let objects = self.files.objects.as_deref()?;
        let is_below = storage.is_object_store() && storage.path(name) == objects.path(name);
        (is_below && is_object_name(name)).then_some(objects)
    }

    /// Installs tables from the folder in the store, if what their entries were computed from is as it was, and the
    /// indexes have changed as often; those installed are taken out of `incoming`.
    fn install_ingested(
        &self,
        writer: &mut WriterState,
        keyspace: &WrittenKeyspace,
        incoming: &mut IncomingTables<'_>,
        (condition, changes): (&ReadCondition, u64),
    ) -> Result<()> {
        self.check_incoming(incoming, changes)?;
        self.validate(condition, &mut GroupSoFar::default())?;
        // The edit is durable at once, so all earlier writes must be durable, too.
        if let Err(error) = writer.sync() {
            writer.abandon();
            self.fail(&mut self.contents.lock(), &error);
            return Err(error);
        }
        self.flush_before(writer, incoming.keyspaces())?;
        let admitted = self.admit_statements(std::slice::from_ref(keyspace))?;
        let first = writer.next_sequence;
        // Each table has a number, first those of entries, and the ingestion the one behind them, which separates it
        // from the next one.
        let tables = (incoming.tables.len() + incoming.entries.len()) as u64;
        let last = if tables == 0 { first - 1 } else { first + tables };
        if last > SEQUENCE_MAX {
            return Err(Error::input(format!("{} has no further sequence numbers", self.path().display())));
        }
        if tables == 0 && admitted.is_empty() {
            return Ok(());
        }
        let (mut shared, change) = loop {
            let shared = self.contents.lock();
            let before_bytes = shared.table_bytes();
            let types = self.stated(&shared, &admitted)?;
            let edit = ManifestEdit { last_sequence: Some(last), types, ..ManifestEdit::default() };
            let change = self.with_tables(&shared, incoming, first, edit)?;
            match self.check_room(&shared, &change, shared.unflushed_bytes()) {
                Err(error @ Error { cause: Cause::Memory { .. }, .. }) => {
                    drop(shared);
                    if !self.compact_for_room(before_bytes)? {
                        return Err(error);
                    }
                }
                outcome => {
                    outcome?;
                    break (shared, change);
                }
            }
        };
        writer.next_sequence = last + 1;
        writer.active.last_sequence = last;
        // After a failure the edit may still be durable, so the files stay until the next opening.
        incoming.tables.clear();
        incoming.entries.clear();
        let applied = self.apply(&mut shared, change);
        applied.inspect_err(|_| self.pass_numbers(&mut shared, first, last))?;
        admitted.into_iter().for_each(AdmittedStatement::publish);
        self.contents.show(last);
        drop(shared);
        self.contents.notify_changed();
        Ok(())
    }

    /// Checks that tables still fit their keyspace, whose indexes have changed as often.
    fn check_incoming(&self, incoming: &IncomingTables<'_>, changes: u64) -> Result<()> {
        let (keyspace, tree) = (incoming.keyspace, incoming.keyspace.tree());
        self.check_writable()?;
        keyspace.check_value_bytes(incoming.seen.longest_value_bytes)?;
        if tree.form() != incoming.stated.forms.current {
            let name = keyspace.name();
            return Err(Error::input(format!("the keyspace {name:?} was altered meanwhile; ingest the files again")));
        }
        if tree.is_dropped() {
            return Err(self.gone(tree));
        }
        if tree.indexes.changes() != changes {
            return Err(Error::conflict(self.path(), keyspace.name(), "its indexes have changed"));
        }
        Ok(())
    }

    /// Empties the memtables of keyspaces: their entries are older than the tables, and must not lie above them. No
    /// write happens in the meantime, since the caller holds the writer's lock.
    fn flush_before(&self, writer: &mut WriterState, keyspaces: BTreeSet<KeyspaceId>) -> Result<()> {
        let have_entries = |memtables: &MemtableSet| {
            keyspaces.iter().any(|id| memtables.memtables().get(id).is_some_and(|memtable| !memtable.is_empty()))
        };
        if have_entries(&writer.active) {
            self.wait_for_room()?;
            self.switch(writer)?;
        }
        self.wait_until(|shared| shared.sealed.iter().all(|sealed| !have_entries(sealed)))
    }

    /// An edit with tables, each at the deepest level that it fits, numbered from `first` on.
    fn with_tables(
        &self,
        shared: &SharedState,
        incoming: &IncomingTables<'_>,
        first: Sequence,
        edit: ManifestEdit,
    ) -> Result<StateChange> {
        let mut change = StateChange { edit, ..StateChange::default() };
        let rows = incoming.tables.iter().map(|table| (incoming.keyspace.id(), table));
        let tables = incoming.entries.iter().map(|(id, table)| (*id, table)).chain(rows);
        for (index, (id, table)) in tables.enumerate() {
            let sequence = first + index as u64;
            let meta = TableFileMeta {
                smallest_sequence: sequence,
                largest_sequence: sequence,
                global_sequence: Some(sequence),
                ..table.clone()
            };
            let level = level_for(shared, id, &meta, &change.edit);
            let file = self.open_table(meta, true)?;
            change.edit.added.push((id, level, Arc::clone(&file.meta)));
            change.tables.push(file);
        }
        Ok(change)
    }
}

/// The deepest level at which a table that is newer than all others may be placed.
fn level_for(shared: &SharedState, id: KeyspaceId, table: &TableFileMeta, edit: &ManifestEdit) -> usize {
    let none = KeyspaceLevels::default();
    let levels = shared.state.levels(id).unwrap_or(&none);
    // The outputs of running compactions count, and so do the other tables of this call.
    let is_written = |level: usize| {
        let running = shared.running.iter().filter(|job| job.keyspace == id && job.output_level == level);
        running.into_iter().any(|job| table.overlaps(job.span.bounds()))
            || edit.added.iter().any(|(_, found, other)| *found == level && table.overlaps(other.bounds()))
    };
    let is_free = |level: usize| levels.overlapping(level, table.bounds()).next().is_none() && !is_written(level);
    let free = (0..LEVELS).take_while(|&level| is_free(level)).count();
    free.saturating_sub(1)
}
