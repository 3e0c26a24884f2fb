//! Operations on the store as a whole: creating and dropping keyspaces, syncing, flushing, resuming after a failure,
//! closing.

use crate::error::{Advice, Call, Error, Result};
use crate::io::local::sync::MutexGuard;
use crate::lsm::core::shared::{SharedState, StateChange};
use crate::lsm::core::store::Core;
use crate::lsm::core::wal;
use crate::lsm::core::writer::WriterState;
use crate::lsm::objects::ObjectFolder;
use crate::lsm::state::entry::{SEQUENCE_MAX, decode_group};
use crate::lsm::state::keyspace_tree::KeyspaceTree;
use crate::lsm::state::log_header::log_name;
use crate::lsm::state::memtable_set::{BackingLog, MemtableSet};
use crate::lsm::state::version::{FileKind, ManifestEdit, StatedTypes, largest_number};
use std::sync::Arc;

/// The longest name of a keyspace, in bytes.
const NAME_BYTES_MAX: usize = 255;

impl Core {
    /// Returns the keyspace with this name, creating it if necessary; its types are undecided then.
    pub(in crate::lsm) fn keyspace(&self, name: &str) -> Result<Arc<KeyspaceTree>> {
        if name.is_empty() || name.len() > NAME_BYTES_MAX {
            return Err(Error::input(format!(
                "the name of a keyspace has 1 to {NAME_BYTES_MAX} bytes, not {}",
                name.len()
            )));
        }
        let is_new = self.contents.lock().tree_named(name).is_none();
        if is_new {
            self.check_place()?;
        }
        let mut shared = self.contents.lock();
        if self.is_closed() {
            return Err(self.closed());
        }
        if let Some(tree) = shared.tree_named(name) {
            return Ok(Arc::clone(tree));
        }
        if let Some(error) = self.refusal(&shared) {
            return Err(error);
        }
        let id = shared.state.next_keyspace;
        let edit = ManifestEdit {
            keyspaces_created: vec![(id, name.to_owned())],
            next_keyspace: Some(id + 1),
            ..ManifestEdit::default()
        };
        let (named, view) = ((id, name.to_owned()), shared.empty_view.clone());
        let tree = Arc::new(KeyspaceTree::new(named, self.path().into(), StatedTypes::default(), view));
        self.apply(&mut shared, StateChange { edit, ..StateChange::default() })?;
        shared.trees.insert(id, Arc::clone(&tree));
        Ok(tree)
    }

    /// Drops a keyspace; returns `false` if there is none.
    pub(in crate::lsm) fn drop_keyspace(&self, name: &str) -> Result<bool> {
        let mut writer = self.writer_alone();
        self.check_place()?;
        if self.contents.lock().tree_named(name).is_none() {
            return Ok(false);
        }
        // The edit is durable at once, so all earlier writes must be durable, too.
        self.sync_writes(&mut writer)?;
        let mut shared = self.contents.lock();
        let Some(tree) = shared.tree_named(name).cloned() else { return Ok(false) };
        if tree.id == crate::lsm::core::shared::DEFAULT_KEYSPACE {
            let error = Error::input(format!("the keyspace {name:?} cannot be dropped"));
            return Err(error.advise(Advice::Use(Call::RemoveRecords)));
        }
        if let Some(error) = self.refusal(&shared) {
            return Err(error);
        }
        let indexes = tree.indexes.get();
        let dropped: Vec<_> = indexes.iter().map(|index| &index.entries).chain([&tree]).cloned().collect();
        self.drop_trees(&mut writer, &mut shared, &dropped)?;
        Ok(true)
    }

    /// Drops keyspaces by one edit.
    pub(in crate::lsm) fn drop_trees(
        &self,
        writer: &mut WriterState,
        shared: &mut MutexGuard<'_, SharedState>,
        trees: &[Arc<KeyspaceTree>],
    ) -> Result<()> {
        // In a store that was never written to, a drop is no change to anybody.
        let last_sequence = Some(writer.next_sequence).filter(|&sequence| sequence > 1);
        if last_sequence > Some(SEQUENCE_MAX) {
            return Err(Error::input(format!("{} has no further sequence numbers", self.path().display())));
        }
        let levels = trees.iter().filter_map(|tree| shared.state.levels(tree.id));
        let numbers: Vec<u64> = levels.flat_map(|levels| levels.iter().map(|(_, table)| table.number)).collect();
        for tree in trees {
            self.contents.live_snapshots.keep(tree);
            // Readers must learn of the drop before they could find the keyspace empty.
            tree.mark_dropped(true);
        }
        let keyspaces_dropped = trees.iter().map(|tree| tree.id).collect();
        let edit = ManifestEdit { keyspaces_dropped, last_sequence, ..ManifestEdit::default() };
        let outcome = self.apply(shared, StateChange { edit, ..StateChange::default() });
        if outcome.is_err() {
            trees.iter().for_each(|tree| tree.mark_dropped(false));
            if let Some(sequence) = last_sequence.filter(|_| self.files.objects.is_some()) {
                // A follower may have seen the edit.
                self.pass_numbers(shared, sequence, sequence);
                (writer.next_sequence, writer.active.last_sequence) = (sequence + 1, sequence);
            }
            return outcome;
        }
        if let Some(sequence) = last_sequence {
            (writer.next_sequence, writer.active.last_sequence) = (sequence + 1, sequence);
            self.contents.show(sequence);
        }
        for tree in trees {
            shared.trees.remove(&tree.id);
            shared.active.remove(&tree.id);
            shared.skips.remove(&tree.id);
            writer.active.forget(tree.id);
            if let Some(learner) = &self.background.learner {
                learner.levels_changed(tree.id, &[]);
            }
            tree.view.set(shared.empty_view.clone());
        }
        for number in numbers {
            shared.hidden.remove(&number);
            if let Some(table) = shared.tables.remove(&number) {
                table.mark_obsolete();
            }
        }
        Ok(())
    }

    /// Syncs all writes.
    pub(in crate::lsm) fn persist(&self) -> Result<()> {
        self.sync_writes(&mut self.writer_alone())
    }

    /// As [`Self::persist`], for the holder of the lock of writers.
    pub(in crate::lsm) fn sync_writes(&self, writer: &mut WriterState) -> Result<()> {
        self.check_writable()?;
        let outcome = writer.sync();
        if let Err(error) = &outcome {
            writer.abandon();
            self.fail(&mut self.contents.lock(), error);
        }
        outcome
    }

    /// Flushes the memtables, and waits for completion.
    pub(in crate::lsm) fn flush(&self) -> Result<()> {
        let mut writer = self.writer_alone();
        self.check_writable()?;
        if !writer.active.is_empty() {
            self.wait_for_room()?;
            self.switch(&mut writer)?;
        }
        drop(writer);
        self.wait_until(|shared| shared.sealed.is_empty() && !shared.is_flushing)
    }

    /// Waits for background work, or runs it if there are no background threads.
    pub(in crate::lsm) fn wait_until(&self, is_done: impl Fn(&SharedState) -> bool) -> Result<()> {
        let mut shared = self.contents.lock();
        loop {
            if is_done(&shared) {
                return Ok(());
            }
            if let Some(error) = self.refusal(&shared) {
                return Err(error);
            }
            shared = self.work_or_wait(shared)?;
        }
    }

    /// Refuses if the store is closed to writes.
    pub(in crate::lsm) fn check_writable(&self) -> Result<()> {
        if !self.access.has_failed() {
            return Ok(());
        }
        let shared = self.contents.lock();
        self.refusal(&shared).map_or(Ok(()), Err)
    }

    /// Reopens the store for writes after a failure.
    pub(in crate::lsm) fn resume(&self) -> Result<()> {
        if self.access.is_read_only() || self.is_closed() {
            return self.check_writable();
        }
        let mut writer = self.writer_alone();
        let mut shared = self.contents.lock();
        if shared.failure.is_none() {
            return Ok(());
        }
        if let Some(lasting) = self.lasting_failure(&shared) {
            return Err(lasting);
        }
        let outcome = self.try_resume(&mut writer, &mut shared);
        drop(shared);
        drop(writer);
        // Flushing the data at risk proves that the storage works again.
        outcome.and_then(|()| self.flush())?;
        self.report_resumed();
        Ok(())
    }

    fn try_resume(&self, writer: &mut WriterState, shared: &mut MutexGuard<'_, SharedState>) -> Result<()> {
        if self.files.objects.is_some() {
            // Names may be taken by a writer of a store that was removed from there.
            self.files.numbers.pass(largest_number(&*self.files.storage)?);
        }
        // The effect of a failed edit on the old manifest is unknown; the new one contains the full state. The old one
        // gets no further edits, even if the new one fails.
        self.renew_manifest(shared)?;
        shared.failure = None;
        shared.recheck_all();
        self.access.reopen();
        // Background threads wait for the end of a failure.
        self.contents.notify_changed();
        if writer.log.is_none() {
            let outcome = self.restart_log(writer, shared);
            if let Err(error) = &outcome {
                self.fail(shared, error);
            }
            return outcome;
        }
        Ok(())
    }

    /// Replaces a failed log: its memtables are sealed, to be flushed, and a new log is begun.
    fn restart_log(&self, writer: &mut WriterState, shared: &mut MutexGuard<'_, SharedState>) -> Result<()> {
        if let (Some(objects), Some(failed)) = (&self.files.objects, writer.active.logs.last().copied()) {
            // The part that failed may still arrive, and would change versions that readers have.
            objects.seal(FileKind::Log, failed.number, self.files.binding.nonce)?;
            self.take_arrived(objects, writer, shared, failed.number)?;
        }
        let number = self.number_within(shared)?;
        let log = self.files.create_log(number, None, None)?;
        let memtables = shared.fresh_memtables();
        let last_sequence = writer.next_sequence - 1;
        let kept = self.keep_gap(shared, writer.active.last_sequence + 1, last_sequence)?;
        let mut next = MemtableSet::of(memtables.clone());
        (next.logs, next.last_sequence) = (vec![BackingLog { number, bytes: 0 }], last_sequence);
        next.reservation = self.reserve_for_memtables(0);
        let sealed = std::mem::replace(&mut writer.active, next);
        shared.sealed.push_back(Arc::new(sealed));
        let moved = std::mem::replace(&mut shared.active, memtables).into_keys().collect();
        let edit = ManifestEdit {
            logs_added: vec![number],
            last_sequence: Some(last_sequence),
            kept,
            ..ManifestEdit::default()
        };
        self.apply(shared, StateChange { edit, switched: moved, ..StateChange::default() })?;
        writer.log = Some(log);
        Ok(())
    }

    /// Takes the groups of a log that failed, but whose parts the object store has: readers and followers may have seen
    /// them.
    fn take_arrived(
        &self,
        objects: &ObjectFolder,
        writer: &mut WriterState,
        shared: &mut MutexGuard<'_, SharedState>,
        number: u64,
    ) -> Result<()> {
        let folder = objects.followed(self.files.manifest_number(), None)?;
        let Some(file) = folder.open_followed(number, None)? else { return Ok(()) };
        let name = log_name(number);
        let malformed = || Error::damaged(self.files.storage.path(&name), 0, "a group of operations is malformed");
        let binding = shared.state.binding_of(number);
        wal::groups_behind(&*file, (binding, number), 0, None, &mut |group| {
            let mut operations = decode_group(group).ok_or_else(malformed)?;
            let last = operations.last().map_or(0, |operation| operation.sequence);
            if last <= writer.active.last_sequence {
                return Ok(true);
            }
            let has_room = writer.active.has_room(operations.len());
            let make = |id| self.new_memtable_of(shared, id);
            if !has_room || !writer.active.insert(group.to_vec(), &mut operations, make) {
                return Err(Error::input(
                    "a write that failed before does not fit into a memtable; open the store again",
                ));
            }
            writer.active.last_sequence = last;
            self.contents.show(last);
            Ok(true)
        })?;
        Ok(())
    }

    /// Refuses all further uses. Writes and waits that are under way end with an error, or before the store is closed.
    pub(in crate::lsm) fn refuse_uses(&self) {
        let shared = self.contents.lock();
        self.access.close();
        drop(shared);
        self.contents.notify_changed();
    }

    /// Ends the reads of a closed store, and releases its lock, its files and its memory. Iterators keep what they
    /// read.
    pub(in crate::lsm) fn end_reads(&self) {
        let mut writer = self.writer_alone();
        let mut shared = self.contents.lock();
        // No edit may follow the closed manifest.
        shared.manifest = None;
        let empty_view = shared.empty_view.clone();
        for tree in shared.trees.values() {
            tree.mark_dropped(true);
            tree.view.set(empty_view.clone());
        }
        self.contents.live_snapshots.forget_kept(&empty_view);
        (writer.log, writer.values, writer.active) = (None, None, MemtableSet::default());
        shared.active.clear();
        shared.sealed.clear();
        shared.tables.clear();
        (shared.values, shared.published_values) = (Arc::default(), Arc::default());
        drop((shared, writer));
        self.files.unlock();
    }

    /// Tells background work to stop.
    pub(in crate::lsm) fn stop(&self) {
        let shared = self.contents.lock();
        self.background.stop();
        drop(shared);
        self.contents.notify_changed();
    }
}
