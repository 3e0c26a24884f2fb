//! Taking tables into the store as they are.
//!
//! A table that was written elsewhere becomes a part of a level: it is linked into the folder, or copied where that is not possible,
//! and none of it is written again. Its records have no sequence numbers, so all of them get one, as if one batch had inserted them at
//! that moment. It goes to the deepest level where neither that level nor one above it has tables among its keys: what lies above is
//! newer, and nothing is newer than what has just come.

use super::core::{Change, Core, Shared};
use super::entry::{KeyspaceId, Kind, MAX_SEQUENCE};
use super::keyspace::Keyspace;
use super::numbers::NumberSource;
use super::options::MAX_INLINE_BYTES;
use super::table_file::LEAST_OPENING_BYTES;
use super::version::{Edit, FileKind, LEVELS, Levels, TableMeta, file_name};
use super::view::Tree;
use crate::block::BlockCache;
use crate::error::{Error, Result};
use crate::io::{LocalStorage, Storage};
use crate::table::{KEY_BYTES_MAX, SharedOptions, Table};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What was taken in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ingested {
    /// Tables.
    pub tables: u64,
    /// Records in them.
    pub records: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Keyspace {
    /// Takes tables into the keyspace as they are, all of them or none: their records replace those of the same keys, as if a batch had
    /// inserted them. The files are linked where they lie on the same file system, so they must not be changed in place afterwards, and
    /// copied otherwise. Where two of the tables have a key, the later one in the list counts.
    ///
    /// Keys of any type are taken as the bytes that they are in the table, in which they order as they should: integers big-endian.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a table that has a key twice, a value longer than 1 MiB, or that refers to other files;
    /// [`Error::Damaged`] and others of [`Table::open`], also for a table whose index does not lead to all its keys; [`Error::MemoryShort`]
    /// where the store's memory has no room for its index; as [`Keyspace::insert`]. Nothing was taken in then, but for one case: after an
    /// error of the storage on the store's manifest all of the tables may be there when the store is opened again.
    pub fn ingest<P: AsRef<Path>>(&self, paths: impl IntoIterator<Item = P>) -> Result<Ingested> {
        let mut files: Vec<(Arc<dyn Storage>, String)> = Vec::new();
        for path in paths {
            let (folder, name) = LocalStorage::split_path(path.as_ref())?;
            files.push((Arc::new(LocalStorage::new(folder)), name));
        }
        self.ingest_from(&files)
    }

    /// As [`Self::ingest`], of files in any storages.
    ///
    /// # Errors
    /// As [`Self::ingest`].
    pub fn ingest_from(&self, files: &[(Arc<dyn Storage>, String)]) -> Result<Ingested> {
        let core = self.core();
        core.check_writable()?;
        let mut incoming = Incoming { core, tables: Vec::new() };
        for (storage, name) in files {
            incoming.take(storage, name)?;
        }
        core.storage.sync_directory()?;
        let ingested = Ingested {
            tables: incoming.tables.len() as u64,
            records: incoming.tables.iter().map(|table| table.records).sum(),
            bytes: incoming.tables.iter().map(|table| table.bytes).sum(),
        };
        core.install_ingested(self.tree(), &mut incoming.tables)?;
        core.work_after_write();
        Ok(ingested)
    }
}

/// Files that are in the folder, but not in the store yet; those that never get there are removed.
struct Incoming<'a> {
    core: &'a Core,
    tables: Vec<TableMeta>,
}

impl Incoming<'_> {
    fn take(&mut self, storage: &Arc<dyn Storage>, name: &str) -> Result<()> {
        // First where it is: a file that is no table is not even linked.
        let examined = examine(self.core, storage, name)?;
        let Some(mut meta) = examined else { return Ok(()) };
        meta.number = self.core.take_number()?;
        let new_name = file_name(meta.number, FileKind::Table);
        storage.export(name, &*self.core.storage, &new_name)?;
        self.tables.push(meta);
        // Whoever wrote the table may not have synced it.
        self.core.storage.open_update(&new_name)?.sync()
    }
}

impl Drop for Incoming<'_> {
    fn drop(&mut self) {
        for table in &self.tables {
            // What cannot be removed now is removed when the store is opened again.
            _ = self.core.storage.remove(&file_name(table.number, FileKind::Table));
        }
    }
}

/// Reads a whole table, and says what it is, but for its numbers; `None` for an empty one.
fn examine(core: &Core, storage: &Arc<dyn Storage>, name: &str) -> Result<Option<TableMeta>> {
    let cache = Arc::new(BlockCache::new(0));
    let unversioned = (Kind::Value as u8, 0);
    let options = SharedOptions {
        profile: core.options.profile.clone(),
        value_bytes: MAX_INLINE_BYTES,
        opening_bytes: core.options.memory_bytes.max(LEAST_OPENING_BYTES),
        unversioned,
        fast_paths: core.options.fast_paths,
    };
    let table = Table::open_with(Arc::clone(storage), name, &cache, &options)?;
    let refuse = |detail: &str| Err(Error::InvalidArgument(format!("{}: {detail}", storage.path(name).display())));
    if table.is_versioned() || !table.is_self_contained() {
        return refuse(
            "it is a part of a store, or an index beside other data; give a table that was built for itself",
        );
    }
    let report = table.verify(&mut |_, _| {})?;
    if let Some(finding) = report.findings.first() {
        let detail = format!("{}; build it anew from a scan, which does not use the index", finding.detail);
        return Err(Error::damaged(storage.path(name), finding.offset, detail));
    }
    let mut meta = TableMeta { bytes: storage.open(name)?.len(), ..TableMeta::default() };
    let mut cursor = table.compaction_cursor(super::table_file::WALK_AHEAD_BYTES);
    cursor.first()?;
    while let Some(entry) = cursor.entry() {
        if entry.key.len() > KEY_BYTES_MAX {
            return refuse("it has a key that is longer than 64 KiB");
        }
        if meta.records == 0 {
            meta.smallest = entry.key.to_vec();
        } else if entry.key <= meta.largest.as_slice() {
            return refuse("it has a key twice; in a store each key has one value");
        }
        meta.largest.clear();
        meta.largest.extend_from_slice(entry.key);
        meta.records += 1;
        cursor.next()?;
    }
    if meta.records != table.len() {
        return Err(Error::damaged(storage.path(name), 0, "it has not as many records as it says"));
    }
    Ok((meta.records > 0).then_some(meta))
}

impl Core {
    /// Makes tables that are in the folder a part of the store; takes those out of `tables` that are.
    fn install_ingested(&self, tree: &Tree, tables: &mut Vec<TableMeta>) -> Result<()> {
        let id = tree.id;
        let mut writer = self.writer.lock();
        self.check_writable()?;
        if tree.is_dropped() {
            return Err(Error::KeyspaceDropped { path: self.path(), name: tree.name.clone() });
        }
        // The edit is durable at once; what was written before must be so, too.
        if let Err(error) = writer.sync() {
            writer.abandon();
            self.fail(&mut self.shared.lock(), &error);
            return Err(error);
        }
        // What is in memory is older, and may not lie above. Nobody writes meanwhile: the writer is held.
        if has_entries(writer.active.memtables().get(&id)) {
            self.switch(&mut writer)?;
        }
        self.wait_until(|shared| shared.sealed.iter().all(|sealed| !has_entries(sealed.memtables().get(&id))))?;
        let mut shared = self.shared.lock();
        let first = writer.next_sequence;
        let last = first + tables.len() as u64 - u64::from(!tables.is_empty());
        if last > MAX_SEQUENCE {
            return Err(Error::InvalidArgument(format!("{} has no further sequence numbers", self.path().display())));
        }
        let mut change = Change { edit: Edit { last_sequence: Some(last), ..Edit::default() }, ..Change::default() };
        for (place, table) in tables.iter().enumerate() {
            let sequence = first + place as u64;
            let meta = TableMeta {
                smallest_sequence: sequence,
                largest_sequence: sequence,
                global_sequence: Some(sequence),
                ..table.clone()
            };
            let level = level_for(&shared, id, &meta, &change.edit);
            let file = self.open_table(meta)?;
            change.edit.added.push((id, level, Arc::clone(&file.meta)));
            change.tables.push(file);
        }
        if tables.is_empty() {
            return Ok(());
        }
        self.check_room(&shared, &change)?;
        writer.next_sequence = last + 1;
        writer.active.last_sequence = last;
        // Where this fails the edit may be durable all the same, so the files stay until the store is opened again.
        tables.clear();
        self.apply(&mut shared, change)?;
        self.visible.store(last, Ordering::Release);
        drop(shared);
        self.changed.notify_all();
        Ok(())
    }
}

fn has_entries(memtable: Option<&Arc<super::memtable::Memtable>>) -> bool {
    memtable.is_some_and(|memtable| !memtable.is_empty())
}

/// The deepest level where a table that is newer than all others may lie.
fn level_for(shared: &Shared, id: KeyspaceId, table: &TableMeta, edit: &Edit) -> usize {
    let none = Levels::default();
    let levels = shared.state.levels(id).unwrap_or(&none);
    // What compactions under way write is there already, as it were; so is what comes with the table.
    let is_written = |level: usize| {
        let running = shared.running.iter().filter(|job| job.keyspace == id && job.output_level == level);
        running.into_iter().any(|job| table.overlaps(job.span.bounds()))
            || edit.added.iter().any(|(_, found, other)| *found == level && table.overlaps(other.bounds()))
    };
    let is_free = |level: usize| levels.overlapping(level, table.bounds()).next().is_none() && !is_written(level);
    let free = (0..LEVELS).take_while(|&level| is_free(level)).count();
    free.saturating_sub(1)
}
