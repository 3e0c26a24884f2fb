//! Keeping what subscribers need: called where a log, a table or a keyspace is about to be forgotten. Without a
//! subscriber this costs a listing of the folder for each flush, and nothing is kept.

use crate::error::Result;
use crate::io::local::sync::MutexGuard;
use crate::io::{remove_if_present, unix_time_s};
use crate::lsm::core::shared::SharedState;
use crate::lsm::core::store::Core;
use crate::lsm::state::changes::kept::{DroppedKeyspace, KeptChanges, KeptLogs, KeptTable, subscribers};
use crate::lsm::state::entry::{KeyspaceId, Sequence};
use crate::lsm::state::keyspace_tree::is_of_store;
use crate::lsm::state::memtable_set::MemtableSet;
use crate::lsm::state::version::{
    FileKind, ManifestEdit, TableFileMeta, file_name, is_kept_file, is_name_of_changes, kept_name,
};
use std::collections::HashSet;
use std::sync::Arc;

impl Core {
    /// Reads what an earlier opening kept, and removes what a crash left of it.
    pub(in crate::lsm) fn load_kept_changes(&self) -> Result<()> {
        if self.files.objects.is_some() {
            return Ok(());
        }
        let storage = &*self.files.storage;
        let names = storage.list()?;
        if !names.iter().any(|name| is_name_of_changes(name)) {
            return Ok(());
        }
        let kept = KeptChanges::read(storage, self.files.binding.store)?;
        let needed = kept.file_names();
        let unneeded = names.iter().filter(|name| is_kept_file(name) && !needed.contains(*name));
        unneeded.into_iter().try_for_each(|name| storage.remove(name))?;
        *self.contents.kept.lock() = kept;
        Ok(())
    }

    /// The change up to which no subscriber needs anything; `None` without one.
    fn needed_after(&self) -> Result<Option<Sequence>> {
        if self.files.objects.is_some() {
            return Ok(None);
        }
        let found = subscribers(&*self.files.storage, self.files.binding.store)?;
        Ok(found.into_values().min())
    }

    /// Keeps the logs of memtables that are in tables now, before they are forgotten, and forgets what no subscriber
    /// needs.
    pub(in crate::lsm) fn keep_logs(&self, flushed: &MemtableSet) -> Result<()> {
        let nonces: Vec<(u64, u64)> = {
            let shared = self.contents.lock();
            flushed.logs.iter().map(|log| (log.number, shared.state.binding_of(log.number).nonce)).collect()
        };
        self.keep(|next, needed| {
            let newest = next.sets.back().map_or(needed, |set| set.last.max(needed));
            if flushed.last_sequence <= newest {
                return Ok(());
            }
            let mut set = KeptLogs { last: flushed.last_sequence, since_s: unix_time_s(), ..KeptLogs::default() };
            for (number, nonce) in nonces.into_iter().filter(|(number, _)| !next.has_log(*number)) {
                set.bytes += self.keep_file(number, FileKind::Log)?;
                set.logs.push((number, nonce));
            }
            set.bytes += flushed.values.iter().map(|handle| handle.file.len_bytes()).sum::<u64>();
            set.values = flushed.values.iter().map(|handle| handle.number).collect();
            next.sets.push_back(set);
            Ok(())
        })
    }

    /// Forgets what no subscriber needs any more.
    pub(super) fn forget_acknowledged(&self) -> Result<()> {
        self.keep(|_, _| Ok(()))
    }

    /// Keeps the numbers that no change has, from `first` on to `last`, since a write failed.
    pub(in crate::lsm) fn keep_gap(&self, first: Sequence, last: Sequence) -> Result<()> {
        if first > last {
            return Ok(());
        }
        self.keep(|next, _| {
            next.gaps.insert(first, last);
            Ok(())
        })
    }

    /// Keeps the ingested tables and the keyspaces that an edit removes, before it does.
    pub(in crate::lsm) fn keep_removed(&self, shared: &SharedState, edit: &ManifestEdit) -> Result<()> {
        let tables = ingested_tables(shared, edit);
        if self.files.objects.is_some() || tables.is_empty() && edit.keyspaces_dropped.is_empty() {
            return Ok(());
        }
        self.keep(|next, needed| {
            for (keyspace, table) in tables {
                let Some(sequence) = table.global_sequence.filter(|&sequence| sequence > needed) else { continue };
                if shared.state.keyspaces.get(&keyspace).is_some_and(|keyspace| is_of_store(&keyspace.name)) {
                    next.gaps.insert(sequence, sequence);
                    continue;
                }
                let (number, bytes) = (table.number, table.bytes);
                if next.tables.insert(sequence, KeptTable { keyspace, number, bytes }).is_none() {
                    self.keep_file(number, FileKind::Table)?;
                }
            }
            for id in &edit.keyspaces_dropped {
                if let (Some(keyspace), Some(sequence)) = (shared.state.keyspaces.get(id), edit.last_sequence) {
                    let (name, types) = (keyspace.name.clone(), keyspace.types.clone());
                    next.dropped.entry(sequence).or_default().push(DroppedKeyspace { id: *id, name, types });
                }
            }
            Ok(())
        })
    }

    /// Adds to what is kept, if there is a subscriber, forgets what none needs, and records both durably.
    fn keep(&self, add: impl FnOnce(&mut KeptChanges, Sequence) -> Result<()>) -> Result<()> {
        let mut kept = self.contents.kept.lock();
        let mut next = kept.clone();
        match self.needed_after()? {
            None if kept.is_empty() => return Ok(()),
            None => next = KeptChanges::default(),
            Some(needed) => {
                next.forget(needed);
                add(&mut next, needed)?;
                let writes = &self.options.writes;
                let oldest_s = writes.kept_changes_age.map_or(0, |age| unix_time_s().saturating_sub(age.as_secs()));
                next.forget_beyond(writes.kept_changes_bytes, oldest_s);
            }
        }
        self.replace_kept(&mut kept, next)
    }

    fn replace_kept(&self, kept: &mut MutexGuard<'_, KeptChanges>, next: KeptChanges) -> Result<()> {
        if next == **kept {
            return Ok(());
        }
        let storage = &*self.files.storage;
        let (before, after) = (kept.file_names(), next.file_names());
        if !after.is_subset(&before) {
            // A record that survives a crash must not name files that do not.
            storage.sync_directory()?;
        }
        next.write(storage, self.files.binding.store)?;
        **kept = next;
        before.difference(&after).try_for_each(|name| remove_if_present(storage, name))
    }

    /// Gives a file another name, under which it stays; returns its length in bytes.
    fn keep_file(&self, number: u64, kind: FileKind) -> Result<u64> {
        let (storage, name, kept_name) = (&*self.files.storage, file_name(number, kind), kept_name(number, kind));
        // One that a crash left may be incomplete.
        remove_if_present(storage, &kept_name)?;
        storage.export(&name, storage, &kept_name)?;
        Ok(storage.open(&kept_name)?.len())
    }
}

/// The ingested tables that an edit removes, with their keyspaces.
fn ingested_tables(shared: &SharedState, edit: &ManifestEdit) -> Vec<(KeyspaceId, Arc<TableFileMeta>)> {
    let moved: HashSet<u64> = edit.added.iter().map(|(_, _, table)| table.number).collect();
    let removed = edit.removed.iter().filter(|(.., number)| !moved.contains(number));
    let removed = removed.filter_map(|(id, _, number)| Some((*id, Arc::clone(&shared.tables.get(number)?.meta))));
    let dropped = edit.keyspaces_dropped.iter().filter_map(|id| Some((*id, shared.state.levels(*id)?)));
    let dropped = dropped.flat_map(|(id, levels)| levels.iter().map(move |(_, table)| (id, Arc::clone(table))));
    removed.chain(dropped).filter(|(_, table)| table.global_sequence.is_some()).collect()
}
