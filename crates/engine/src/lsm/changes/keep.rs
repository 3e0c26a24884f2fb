//! Keeping what followers need: called where a log, a table or a keyspace is about to be forgotten.
//!
//! In a folder, without a subscriber this costs a listing for each flush, and nothing is kept. On an object store all
//! files stay for the grace period anyway: what they have of the history is a part of the edit that forgets them, so
//! that a flush makes no request for it. Before files are removed, the store is listed; that listing shows the
//! subscribers, and what they need stays.

use crate::error::Result;
use crate::io::local::sync::MutexGuard;
use crate::io::{ListedFile, remove_if_present, unix_time_s};
use crate::lsm::core::shared::SharedState;
use crate::lsm::core::store::Core;
use crate::lsm::objects::ObjectFolder;
use crate::lsm::state::changes::kept::{listed_subscribers, subscribers};
use crate::lsm::state::entry::{KeyspaceId, Sequence};
use crate::lsm::state::keyspace_tree::is_of_store;
use crate::lsm::state::memtable_set::MemtableSet;
use crate::lsm::state::version::{
    DroppedKeyspace, FileKind, KeptChanges, KeptLogs, KeptTable, ManifestEdit, TableFileMeta, file_name, is_kept_file,
    is_name_of_changes, kept_name,
};
use std::collections::{BTreeSet, HashSet};
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
        let found = subscribers(&*self.files.storage, self.files.binding.store)?;
        Ok(found.into_values().min())
    }

    /// Keeps the logs of memtables that are in tables now, before they are forgotten, and forgets what no subscriber
    /// needs. On an object store it returns what the edit that forgets them is to state.
    pub(in crate::lsm) fn keep_logs(&self, flushed: &MemtableSet) -> Result<Option<KeptChanges>> {
        let (last, values) = (flushed.last_sequence, flushed.values.iter());
        let mut set = KeptLogs { last, since_s: unix_time_s(), ..KeptLogs::default() };
        set.bytes = values.clone().map(|handle| handle.file.len_bytes()).sum();
        set.values = values.map(|handle| handle.number).collect();
        let nonces: Vec<(u64, u64)> = {
            let shared = self.contents.lock();
            if self.files.objects.is_some() && last <= shared.state.kept.last() {
                return Ok(None);
            }
            flushed.logs.iter().map(|log| (log.number, shared.state.binding_of(log.number).nonce)).collect()
        };
        if self.files.objects.is_some() {
            set.bytes += flushed.logs.iter().map(|log| log.bytes).sum::<u64>();
            set.logs = nonces;
            return Ok(Some(KeptChanges { sets: [set].into(), ..KeptChanges::default() }));
        }
        self.keep(|next, needed| {
            let newest = next.sets.back().map_or(needed, |set| set.last.max(needed));
            if last <= newest {
                return Ok(());
            }
            for (number, nonce) in nonces.into_iter().filter(|(number, _)| !next.has_log(*number)) {
                set.bytes += self.keep_file(number, FileKind::Log)?;
                set.logs.push((number, nonce));
            }
            next.sets.push_back(set);
            Ok(())
        })?;
        Ok(None)
    }

    /// Forgets what no subscriber needs any more.
    pub(super) fn forget_acknowledged(&self) -> Result<()> {
        if self.files.objects.is_some() { Ok(()) } else { self.keep(|_, _| Ok(())) }
    }

    /// Keeps the numbers that no change has, from `first` on to `last`, since a write failed. On an object store it
    /// returns what an edit is to state.
    pub(in crate::lsm) fn keep_gap(
        &self,
        shared: &mut SharedState,
        first: Sequence,
        last: Sequence,
    ) -> Result<Option<KeptChanges>> {
        if first > last {
            return Ok(None);
        }
        if self.files.objects.is_some() {
            // The edit may fail.
            self.pass_numbers(shared, first, last);
            return Ok(Some(KeptChanges { gaps: [(first, last)].into(), ..KeptChanges::default() }));
        }
        self.keep(|next, _| {
            next.gaps.insert(first, last);
            Ok(())
        })?;
        Ok(None)
    }

    /// On an object store: keeps the numbers of a change whose edit failed, which no change has if the store goes on.
    /// The next manifest states them.
    pub(in crate::lsm) fn pass_numbers(&self, shared: &mut SharedState, first: Sequence, last: Sequence) {
        if self.files.objects.is_some() && first <= last {
            shared.state.kept.gaps.insert(first, last);
        }
    }

    /// Keeps the ingested tables and the keyspaces that an edit removes, before it does. On an object store the edit
    /// states them.
    pub(in crate::lsm) fn keep_removed(&self, shared: &SharedState, edit: &mut ManifestEdit) -> Result<()> {
        let tables = ingested_tables(shared, edit);
        if self.files.objects.is_some() {
            self.state_kept(shared, edit, tables);
            return Ok(());
        }
        if tables.is_empty() && edit.keyspaces_dropped.is_empty() {
            return Ok(());
        }
        self.keep(|next, needed| {
            let removed = removed_changes(shared, edit, tables);
            next.gaps.extend(removed.gaps.range(needed + 1..));
            for (sequence, table) in removed.tables.into_iter().filter(|(sequence, _)| *sequence > needed) {
                let number = table.number;
                if next.tables.insert(sequence, table).is_none() {
                    self.keep_file(number, FileKind::Table)?;
                }
            }
            for (sequence, dropped) in removed.dropped {
                next.dropped.entry(sequence).or_default().extend(dropped);
            }
            Ok(())
        })
    }

    /// On an object store: lets an edit state what followers still need of what it removes.
    fn state_kept(&self, shared: &SharedState, edit: &mut ManifestEdit, tables: Vec<RemovedTable>) {
        let after = shared.state.kept.after;
        let removed = removed_changes(shared, edit, tables);
        match &mut edit.kept {
            Some(kept) => kept.apply(&removed),
            None if removed.is_empty() => {}
            kept => *kept = Some(removed),
        }
        if let Some(kept) = &mut edit.kept {
            // What was forgotten since the last edit is forgotten by this one.
            kept.forget_for_good(after);
        }
    }

    /// On an object store: forgets what no subscriber of these needs, once it is older than the grace period, and what
    /// is beyond the limits. Returns the names of the files that are kept.
    ///
    /// A subscriber that this listing does not show yet was made since files of that age were obsolete, and needs none
    /// of them. The next edit states what was forgotten.
    pub(in crate::lsm) fn forget_unneeded(
        &self,
        objects: &ObjectFolder,
        listed: &[ListedFile],
    ) -> Result<BTreeSet<String>> {
        let found = listed_subscribers(objects.bucket(), self.files.binding.store, listed)?;
        let mut shared = self.contents.lock();
        // Logs that are needed may have changes before a drop of a keyspace. It keeps no file, and waits for them.
        let mut memtables = shared.active.values();
        let is_flushed = shared.sealed.is_empty() && memtables.all(|memtable| memtable.is_empty());
        let waits = !is_flushed && shared.state.kept.tables.is_empty();
        let newest = if waits { shared.state.kept.last() } else { shared.state.last_sequence };
        let needed = found.into_values().min().map_or(newest, |needed| needed.min(newest));
        let kept = &mut shared.state.kept;
        let now_s = unix_time_s();
        kept.forget_for_good(kept.kept_for(objects.retired.grace_s(), now_s, needed));
        let writes = &self.options.writes;
        let oldest_s = writes.kept_changes_age.map_or(0, |age| now_s.saturating_sub(age.as_secs()));
        kept.forget_beyond_for_good(writes.kept_changes_bytes, oldest_s);
        Ok(kept.object_names())
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

/// A table that an edit removes, with its keyspace.
type RemovedTable = (KeyspaceId, Arc<TableFileMeta>);

/// What these ingested tables, and the keyspaces that an edit drops, are in the history.
fn removed_changes(shared: &SharedState, edit: &ManifestEdit, tables: Vec<RemovedTable>) -> KeptChanges {
    let (mut kept, since_s) = (KeptChanges::default(), unix_time_s());
    for (keyspace, table) in tables {
        let Some(sequence) = table.global_sequence else { continue };
        if shared.state.keyspaces.get(&keyspace).is_some_and(|keyspace| is_of_store(&keyspace.name)) {
            kept.gaps.insert(sequence, sequence);
            continue;
        }
        let (number, bytes, object) = (table.number, table.bytes, table.object.clone());
        kept.tables.insert(sequence, KeptTable { keyspace, number, bytes, since_s, object });
    }
    for id in &edit.keyspaces_dropped {
        if let (Some(keyspace), Some(sequence)) = (shared.state.keyspaces.get(id), edit.last_sequence) {
            let (name, types) = (keyspace.name.clone(), keyspace.types.clone());
            kept.dropped.entry(sequence).or_default().push(DroppedKeyspace { since_s, id: *id, name, types });
        }
    }
    kept
}

/// The ingested tables that an edit removes, with their keyspaces.
fn ingested_tables(shared: &SharedState, edit: &ManifestEdit) -> Vec<RemovedTable> {
    let moved: HashSet<u64> = edit.added.iter().map(|(_, _, table)| table.number).collect();
    let removed = edit.removed.iter().filter(|(.., number)| !moved.contains(number));
    let removed = removed.filter_map(|(id, _, number)| Some((*id, Arc::clone(&shared.tables.get(number)?.meta))));
    let dropped = edit.keyspaces_dropped.iter().filter_map(|id| Some((*id, shared.state.levels(*id)?)));
    let dropped = dropped.flat_map(|(id, levels)| levels.iter().map(move |(_, table)| (id, Arc::clone(table))));
    removed.chain(dropped).filter(|(_, table)| table.global_sequence.is_some()).collect()
}
