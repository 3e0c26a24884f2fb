//! The shared core of a store: the state that its handles, writers and background threads use.
//!
//! Lock order: the writer's lock, then the lock of the shared state. Readers take neither: they read the current view
//! of a keyspace, which is replaced as a whole.

use super::commit::{WriteQueue, WriterState};
use super::compact::CompactionJob;
use super::counters::DbCounters;
use super::entry::{KeyspaceId, Sequence};
use super::extend::{Learner, TableLookups};
use super::file_numbers::FileNumbers;
use super::in_flight::GroupsInFlight;
use super::live;
use super::log_replay::ReplayedLogs;
use super::memtable::Memtable;
use super::memtable_set::MemtableSet;
use super::objects::{ObjectFolder, StoreVersion};
use super::options::DbOptions;
use super::snapshot::LiveSnapshots;
use super::table_file::TableFile;
use super::telemetry::StoreTelemetry;
use super::tombstone_cleanup::{SkippedEntries, TombstoneCleanup};
use super::value_files::ValueFiles;
use super::version::{
    ClosedLengths, FileKind, LEVELS, Manifest, ManifestEdit, ManifestState, TableFileMeta, file_name, recover_manifest,
};
use super::view::{KeyspaceTree, KeyspaceView, OpenLevels};
use crate::block::BlockCache;
use crate::block::header::StoreBinding;
use crate::durability::Durability;
use crate::error::{Cause, Error, Result, StoreFailure};
use crate::io::fair::FairMutex;
use crate::io::sync::{Condvar, Mutex, MutexGuard};
use crate::io::{FileLock, FolderIdentity, Storage};
use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// The default keyspace, which always exists.
pub(super) const DEFAULT_KEYSPACE: KeyspaceId = 0;

/// Memtables may hide 1/48 of all live values; a level may hide three times as much before it is merged.
const MEMTABLE_HIDDEN_DIVISOR: u64 = 48;

/// Groups without a sync between two looks whether the folder is in its place.
const UNCHECKED_GROUPS_MAX: u32 = 63;

/// Memtables may always hide this many bytes, so that small stores do not write tiny tables.
pub(super) const HIDDEN_BYTES_MIN: u64 = 1 << 20;

/// The state of an open store that all handles and threads share.
#[derive(Debug)]
pub(crate) struct Core {
    pub(super) storage: Arc<dyn Storage>,
    /// The same, if it is an object store.
    pub(super) objects: Option<Arc<ObjectFolder>>,
    pub(super) options: DbOptions,
    /// The identity of the store and of this opening; checksums of new files are bound to both.
    pub(super) binding: StoreBinding,
    pub(super) cache: Arc<BlockCache>,
    pub(super) live_snapshots: LiveSnapshots,
    pub(super) counters: DbCounters,
    pub(super) telemetry: StoreTelemetry,
    /// The learner of the policy, if there is one.
    pub(super) learner: Option<Arc<dyn Learner>>,
    /// Batches that wait to be written.
    pub(super) queue: Mutex<WriteQueue>,
    /// On an object store: groups that are being put.
    pub(super) in_flight: GroupsInFlight,
    /// Signalled when a group was written.
    pub(super) written: Condvar,
    /// The lock of writers, taken in the order of requests.
    pub(super) writer: FairMutex<WriterState>,
    pub(super) shared: Mutex<SharedState>,
    /// Signalled when the shared state has changed.
    pub(super) changed: Condvar,
    pub(super) visible: AtomicU64,
    pub(super) numbers: FileNumbers,
    /// On an object store: the number of the newest manifest, and the first number that this opening may have used.
    pub(super) manifest_number: AtomicU64,
    pub(super) first_file: u64,
    /// On an object store: whether this opening has put a manifest.
    pub(super) has_opened: AtomicBool,
    /// On an object store: the version of a reader.
    pub(super) version: Option<StoreVersion>,
    /// Of a reader: what it has of the logs, until its next version goes on with that.
    pub(super) replayed: Mutex<Option<ReplayedLogs>>,
    /// Memtables are switched when they hide more bytes of older values than this.
    pub(super) hidden_limit: AtomicU64,
    /// Whether the next group must switch memtables even if they are not full.
    pub(super) is_switch_requested: AtomicBool,
    pub(super) read_only: bool,
    /// Whether the store is closed to writes; the reason is in the shared state.
    pub(super) has_failed: AtomicBool,
    /// Tells background work to stop.
    pub(super) stop: AtomicBool,
    /// Whether [`Db::close`](super::Db::close) was called: all handles fail then.
    pub(super) is_closed: AtomicBool,
    /// Held while the store is open for writing.
    pub(super) lock: Mutex<Option<Box<dyn FileLock>>>,
    /// Groups written since the folder was last found in its place.
    pub(super) groups_unchecked: AtomicU32,
    /// The folder in which the store was opened, if it is on the local file system.
    pub(super) folder_identity: Option<FolderIdentity>,
}

/// The state under the shared lock, from which views are built.
#[derive(Debug)]
pub(super) struct SharedState {
    /// The state that the manifest records.
    pub(super) state: ManifestState,
    /// `None` in a read-only store, and after a failed write to the manifest.
    pub(super) manifest: Option<Manifest>,
    pub(super) trees: BTreeMap<KeyspaceId, Arc<KeyspaceTree>>,
    /// The memtables of the keyspaces being written.
    pub(super) active: BTreeMap<KeyspaceId, Arc<Memtable>>,
    /// The view of an empty keyspace; nothing is inserted into its memtable.
    pub(super) empty_view: KeyspaceView,
    /// Memtable sets to be flushed, oldest first.
    pub(super) sealed: VecDeque<Arc<MemtableSet>>,
    pub(super) tables: BTreeMap<u64, Arc<TableFile>>,
    /// The lookups of tables that are gone.
    pub(super) past_lookups: TableLookups,
    pub(super) values: Arc<ValueFiles>,
    /// The value files in the views of keyspaces with memtables.
    pub(super) published_values: Arc<ValueFiles>,
    /// Tombstones that iterators skipped, by keyspace, and the cleanups due for them.
    pub(super) skips: BTreeMap<KeyspaceId, SkippedEntries>,
    pub(super) cleanups: Vec<TombstoneCleanup>,
    /// Whether memtables must be switched for a cleanup.
    pub(super) is_switch_due: bool,
    /// Running compactions.
    pub(super) running: Vec<Arc<CompactionJob>>,
    /// Value files of memtable sets that are not flushed yet; no table points into them.
    pub(super) unflushed_values: HashSet<u64>,
    /// Estimated bytes of older values that a table hides in tables below it, by table number. Tables from before this
    /// opening are not included.
    pub(super) hidden: BTreeMap<u64, u64>,
    pub(super) is_flushing: bool,
    /// Whether obsolete objects are being removed.
    pub(super) is_collecting: bool,
    /// Logs that are not needed any more, available for recycling.
    pub(super) recyclable: Vec<u64>,
    /// Keyspaces in which a compaction may be due, because their tables changed since the last check.
    pub(super) compaction_candidates: BTreeSet<KeyspaceId>,
    /// Keyspaces with tables that hide values; the total decides whether a compaction is due.
    pub(super) hiding: BTreeSet<KeyspaceId>,
    /// Keyspaces with tables to be rewritten once no snapshot needs their droppable entries.
    pub(super) waiting_for_snapshot: BTreeSet<KeyspaceId>,
    /// Tables whose filters are to be read, since the store was opened; lookups do not wait for it.
    pub(super) unread_filters: Vec<u64>,
    /// Whether no compaction was due at the last check, and nothing has changed since.
    pub(super) is_nothing_due: bool,
    /// The oldest snapshot at the last check for compactions.
    pub(super) checked_with_snapshot: Sequence,
    pub(super) failure: Option<StoreFailure>,
    /// Whether the failure is that another writer has taken over.
    pub(super) is_fenced: bool,
    /// On an object store: whether the failure is that the store is gone.
    pub(super) is_gone: bool,
}

/// A change of the store's state, with the new tables it adds.
#[derive(Debug, Default)]
pub(super) struct StateChange {
    pub(super) edit: ManifestEdit,
    pub(super) tables: Vec<Arc<TableFile>>,
    /// Keyspaces whose memtables were switched or flushed.
    pub(super) switched: Vec<KeyspaceId>,
}

impl Core {
    pub(super) fn path(&self) -> PathBuf {
        let name = self.storage.path("x");
        name.parent().map_or_else(PathBuf::new, PathBuf::from)
    }

    /// The newest operation visible to readers.
    pub(super) fn visible(&self) -> Sequence {
        self.visible.load(Ordering::Acquire)
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// The error for uses of a closed store.
    pub(super) fn closed(&self) -> Error {
        Error::closed(self.path())
    }

    /// Fails if the folder is not where it was locked.
    pub(super) fn check_place(&self) -> Result<()> {
        match self.lock.lock().as_ref() {
            Some(lock) if !lock.is_in_place() => Err(Error::gone(self.path())),
            _ => Ok(()),
        }
    }

    /// As [`Self::check_place`], for a group that is about to be written. Beside a sync the check costs nothing;
    /// without one it takes about as long as the write itself, and so one group in some is checked.
    pub(super) fn check_place_of_group(&self, is_due: bool) -> Result<()> {
        let groups = self.groups_unchecked.load(Ordering::Relaxed);
        if !is_due && self.options.durability != Durability::Synced && groups < UNCHECKED_GROUPS_MAX {
            self.groups_unchecked.store(groups + 1, Ordering::Relaxed);
            return Ok(());
        }
        self.check_place()?;
        self.groups_unchecked.store(0, Ordering::Relaxed);
        Ok(())
    }

    /// Whether the path still leads to the folder that was opened, and the store in it is this one.
    pub(super) fn is_in_place(&self) -> Result<bool> {
        if self.folder_identity.is_none() {
            return Ok(true);
        }
        if self.check_place().is_err() || self.storage.folder_identity() != self.folder_identity {
            return Ok(false);
        }
        let owner = self.shared.lock().state.owner;
        Ok(live::identity(&self.storage)? == Some(owner))
    }

    /// The error for uses of a keyspace that is gone: it was dropped, or the store was closed.
    pub(super) fn gone(&self, tree: &KeyspaceTree) -> Error {
        if self.is_closed() {
            return self.closed();
        }
        Error::keyspace_dropped(self.path(), tree.name.clone())
    }

    /// The error for writes, if the store is closed to them.
    pub(super) fn refusal(&self, shared: &SharedState) -> Option<Error> {
        if self.is_closed() {
            return Some(self.closed());
        }
        if self.read_only {
            return Some(Error::opened_read_only(self.path()));
        }
        self.failure(shared)
    }

    /// The error for the failure that has closed the store to writes, if there was one.
    pub(super) fn failure(&self, shared: &SharedState) -> Option<Error> {
        let failure = shared.failure.as_ref()?;
        if let Err(gone) = self.check_place() {
            return Some(gone);
        }
        if let Some(lasting) = self.lasting_failure(shared) {
            return Some(lasting);
        }
        Some(Error::stopped(self.path(), failure))
    }

    /// The error for a failure that no handle gets over, if it is one: another writer has taken over, or the store is
    /// gone.
    pub(super) fn lasting_failure(&self, shared: &SharedState) -> Option<Error> {
        if shared.is_gone {
            return Some(Error::gone(self.path()));
        }
        shared.is_fenced.then(|| Error::fenced(self.path(), false))
    }

    /// Closes the store to writes.
    pub(super) fn fail(&self, shared: &mut SharedState, error: &Error) {
        if !matches!(error, Error { cause: Cause::ReadOnly | Cause::Closed, .. }) {
            shared.failure.get_or_insert_with(|| error.into());
            let explained = self.explain_missing(error);
            let error = explained.as_ref().unwrap_or(error);
            shared.is_fenced |= matches!(error, Error { cause: Cause::Fenced, .. });
            shared.is_gone |= self.objects.is_some() && matches!(error, Error { cause: Cause::Gone, .. });
            if !self.has_failed.swap(true, Ordering::AcqRel) {
                self.report_failure(shared.is_fenced, error);
            }
        }
        self.changed.notify_all();
    }

    /// The error of a file that is missing, if another writer has taken over, or the store is gone.
    fn explain_missing(&self, error: &Error) -> Option<Error> {
        match (error, &self.objects) {
            (Error { cause: Cause::Io(ErrorKind::NotFound), .. }, Some(objects)) => {
                let found = objects.check_newest(self.manifest_number.load(Ordering::Relaxed)).err();
                found.filter(|found| matches!(found, Error { cause: Cause::Fenced | Cause::Gone, .. }))
            }
            _ => None,
        }
    }

    /// Makes a change durable, then visible. Files that are no longer referenced are removed when their last reader is
    /// gone.
    pub(super) fn apply(&self, shared: &mut MutexGuard<'_, SharedState>, mut change: StateChange) -> Result<()> {
        let outcome = self.try_apply(shared, &mut change);
        if let Err(error) = &outcome {
            shared.manifest = None;
            self.fail(shared, error);
        }
        self.changed.notify_all();
        outcome
    }

    fn try_apply(&self, shared: &mut SharedState, change: &mut StateChange) -> Result<()> {
        let path = || self.path();
        let Some(manifest) = &mut shared.manifest else {
            if self.is_closed() {
                return Err(self.closed());
            }
            if let Some(lasting) = self.lasting_failure(shared) {
                return Err(lasting);
            }
            return Err(Error::stopped(path(), &StoreFailure::from("its manifest could not be written")));
        };
        let edit = &mut change.edit;
        self.numbers.put_into(edit);
        // Memtable sets are flushed after newer ones were begun.
        edit.last_sequence = edit.last_sequence.map(|sequence| sequence.max(shared.state.last_sequence));
        let undo = shared.state.change_undoably(edit).map_err(|error| error.into_error(path(), 0))?;
        let unused = shared.state.unreferenced_value_files();
        edit.value_files_removed =
            unused.into_iter().filter(|number| !shared.unflushed_values.contains(number)).collect();
        edit.value_files_removed.iter().for_each(|&number| _ = shared.state.forget_value_file(number));
        if let Err(error) = manifest.append(edit).and_then(|()| manifest.sync()) {
            shared.state.restore(undo);
            return Err(error);
        }
        let is_spent = manifest.is_spent();
        self.numbers.note_reserved(shared.state.reserved);
        let live: u64 = shared.state.value_files.values().map(|file| file.live_bytes).sum();
        self.hidden_limit.store((live / MEMTABLE_HIDDEN_DIVISOR).max(HIDDEN_BYTES_MIN), Ordering::Relaxed);
        shared.apply_files(change, self.learner.as_deref());
        shared.note_changed_keyspaces(&change.edit);
        let (added, removed) = (change.edit.added.iter(), change.edit.removed.iter());
        let changed = added.map(|(id, ..)| *id).chain(removed.map(|(id, ..)| *id)).chain(change.switched.drain(..));
        let changed: BTreeSet<KeyspaceId> = changed.collect();
        self.publish(shared, changed);
        self.telemetry.set_sizes(shared);
        if is_spent {
            // A manifest whose edits outgrew its state is replaced. So is one that refuses further edits after a
            // failure, since later edits must not fail for a cause that is gone.
            let renewed = self.renew_manifest(shared);
            // This change is durable; only the next one would fail.
            if let Err(error) = renewed {
                self.fail(shared, &error);
            }
        }
        Ok(())
    }

    /// Writes a new manifest, which receives all further edits; the old one receives none, even if the new one fails.
    pub(super) fn renew_manifest(&self, shared: &mut SharedState) -> Result<()> {
        shared.manifest = None;
        let mut state = shared.state.clone();
        let manifest = self.new_manifest(&mut state, None)?;
        shared.manifest = Some(manifest);
        self.numbers.note_reserved(state.reserved);
        shared.state = state;
        Ok(())
    }

    /// Writes a manifest of a state, with the file numbers of now. A *closed* one ends them.
    pub(super) fn new_manifest(&self, state: &mut ManifestState, closed: Option<&ClosedLengths>) -> Result<Manifest> {
        let Some(objects) = &self.objects else {
            let number = self.numbers.take();
            self.state_numbers(state, closed.is_some());
            return Manifest::create(&self.storage, number, state, closed);
        };
        self.state_numbers(state, closed.is_some());
        state.retired = objects.retired.all();
        let before = self.manifest_number.load(Ordering::Relaxed);
        // An opening has just found its store.
        if self.has_opened.load(Ordering::Relaxed) {
            objects.check_in_place()?;
        }
        let mut number = before + 1;
        loop {
            match Manifest::create(&self.storage, number, state, closed) {
                Ok(manifest) => {
                    if number == ObjectFolder::FIRST_MANIFEST {
                        objects.check_conditions_of_new_store()?;
                    }
                    // A writer that slept until the numbers after its own were free again has won nothing.
                    objects.check_won(number, self.binding.store)?;
                    self.manifest_number.store(number, Ordering::Relaxed);
                    self.has_opened.store(true, Ordering::Relaxed);
                    return Ok(manifest);
                }
                Err(Error { cause: Cause::Io(ErrorKind::AlreadyExists), .. }) => {
                    if number == ObjectFolder::FIRST_MANIFEST {
                        objects.check_not_stub()?;
                    } else if objects.is_foreign_manifest(number)? {
                        number += 1;
                        continue;
                    }
                    // It may be an earlier attempt of this opening that seemed to fail.
                    match recover_manifest(&*self.storage, number) {
                        Ok(found) if found.state.binding() == self.binding => {}
                        _ => return Err(objects.fenced()),
                    }
                    number += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn state_numbers(&self, state: &mut ManifestState, ends: bool) {
        state.next_file = state.next_file.max(self.numbers.next());
        // After the end no number is taken.
        state.reserved = if ends { state.next_file } else { state.reserved.max(self.numbers.batch_end()) };
    }

    /// Publishes new views of the changed keyspaces, and of all keyspaces with memtables if the set of value files
    /// changed.
    pub(super) fn publish(&self, shared: &mut SharedState, mut changed: BTreeSet<KeyspaceId>) {
        if !Arc::ptr_eq(&shared.values, &shared.published_values) {
            shared.published_values = Arc::clone(&shared.values);
            changed.extend(shared.active.keys());
            changed.extend(shared.sealed.iter().flat_map(|memtable_set| memtable_set.memtables().keys()));
        }
        for id in changed {
            let Some(tree) = shared.trees.get(&id) else { continue };
            let before = tree.view.get();
            let view = shared.view(id, &before.levels);
            if let Some(learner) = &self.learner
                && !view.levels.is_same(&before.levels)
            {
                learner.levels_changed(id, &view.levels.deeper);
            }
            tree.view.set(view);
        }
    }

    /// Publishes new views of all keyspaces.
    pub(super) fn publish_all(&self, shared: &mut SharedState) {
        let all = shared.trees.keys().copied().collect();
        self.publish(shared, all);
    }

    /// Creates the memtable of a keyspace in the current memtable set, visible to readers before anything is inserted;
    /// `None` if the keyspace was dropped.
    pub(super) fn new_memtable(&self, id: KeyspaceId) -> Option<Arc<Memtable>> {
        let mut shared = self.shared.lock();
        let view = shared.trees.get(&id)?.view.get();
        let memtable = Arc::new(view.sealed.first().map_or_else(Memtable::new, |older| Memtable::after(older)));
        shared.active.insert(id, Arc::clone(&memtable));
        self.publish(&mut shared, [id].into());
        Some(memtable)
    }
}

impl SharedState {
    /// The keyspace with this name.
    pub(super) fn tree_named(&self, name: &str) -> Option<&Arc<KeyspaceTree>> {
        self.trees.get(&self.state.keyspace_named(name)?)
    }

    /// Records the keyspaces in which an edit may make a compaction due.
    fn note_changed_keyspaces(&mut self, edit: &ManifestEdit) {
        let (added, removed) = (edit.added.iter(), edit.removed.iter());
        self.compaction_candidates.extend(added.map(|(id, ..)| *id).chain(removed.map(|(id, ..)| *id)));
        self.compaction_candidates.extend(&self.hiding);
        self.is_nothing_due = false;
    }

    /// Requests a check of all keyspaces for compactions.
    pub(super) fn recheck_all(&mut self) {
        let with_tables = self.state.keyspaces.iter().filter(|(_, keyspace)| keyspace.levels.iter().next().is_some());
        self.compaction_candidates = with_tables.map(|(&id, _)| id).collect();
        self.is_nothing_due = false;
    }

    /// Registers the files that a change adds, and releases those it removes.
    fn apply_files(&mut self, change: &mut StateChange, learner: Option<&dyn Learner>) {
        let moved: HashSet<u64> = change.edit.added.iter().map(|(_, _, meta)| meta.number).collect();
        for (_, level, number) in &change.edit.removed {
            if moved.contains(number) {
                continue;
            }
            self.hidden.remove(number);
            if let Some(table) = self.tables.remove(number) {
                self.past_lookups.add(&table.lookups());
                if let Some(learner) = learner {
                    learner.table_removed(*level, &table);
                }
                table.mark_obsolete();
            }
        }
        for table in change.tables.drain(..) {
            self.tables.insert(table.meta.number, table);
        }
        for (_, level, meta) in &change.edit.added {
            if let (Some(learner), Some(table)) = (learner, self.tables.get(&meta.number)) {
                learner.table_added(*level, table);
            }
        }
        if !change.edit.value_files_removed.is_empty() {
            let mut values = ValueFiles::clone(&self.values);
            for number in &change.edit.value_files_removed {
                if let Some(handle) = values.0.remove(number) {
                    handle.mark_obsolete();
                }
            }
            self.values = Arc::new(values);
        }
    }

    /// The names of all files that the newest version needs, or one that is to come.
    pub(super) fn needed_files(&self) -> HashSet<String> {
        let tables = self.state.tables().map(|(_, _, table)| file_name(table.number, FileKind::Table));
        let logs = self.state.logs.iter().map(|&number| file_name(number, FileKind::Log));
        let values = self.values.0.keys().chain(self.state.value_files.keys());
        let values = values.map(|&number| file_name(number, FileKind::Values));
        tables.chain(logs).chain(values).collect()
    }

    /// Adds a value file.
    pub(super) fn add_values(&mut self, handle: Arc<super::value_files::ValueHandle>) {
        let mut values = ValueFiles::clone(&self.values);
        values.0.insert(handle.number, handle);
        self.values = Arc::new(values);
    }

    /// Reverts [`Self::add_values`].
    pub(super) fn forget_values(&mut self, number: u64) {
        let mut values = ValueFiles::clone(&self.values);
        values.0.remove(&number);
        self.values = Arc::new(values);
    }

    /// The current view of a keyspace.
    fn view(&self, id: KeyspaceId, before: &OpenLevels) -> KeyspaceView {
        let active = self.active.get(&id);
        let memtables = self.sealed.iter().rev().filter_map(|memtable_set| memtable_set.memtables().get(&id));
        let sealed: Vec<_> = memtables.filter(|memtable| !memtable.is_empty()).cloned().collect();
        let levels = self.state.levels(id).filter(|levels| levels.iter().next().is_some());
        let values = match (active, &sealed[..], levels) {
            // The value files that entries of memtables point into are not known in advance.
            (Some(_), ..) | (_, [_, ..], _) => Arc::clone(&self.values),
            (None, [], Some(levels)) => self.values_of(levels),
            (None, [], None) => Arc::clone(&self.empty_view.values),
        };
        KeyspaceView {
            active: Arc::clone(active.unwrap_or(&self.empty_view.active)),
            sealed,
            levels: levels
                .map_or_else(|| Arc::clone(&self.empty_view.levels), |levels| Arc::new(self.levels(levels, before))),
            values,
        }
    }

    /// The value files that tables point into. The result need not be replaced when other value files are added.
    fn values_of(&self, levels: &super::version::KeyspaceLevels) -> Arc<ValueFiles> {
        let numbers: BTreeSet<u64> =
            levels.iter().flat_map(|(_, table)| table.values.iter().map(|(number, _)| *number)).collect();
        if numbers.is_empty() {
            return Arc::clone(&self.empty_view.values);
        }
        let found =
            numbers.into_iter().filter_map(|number| self.values.0.get(&number).map(|file| (number, Arc::clone(file))));
        Arc::new(ValueFiles(found.collect()))
    }

    /// The open tables of a keyspace; unchanged levels are reused, with their guides.
    fn levels(&self, levels: &super::version::KeyspaceLevels, before: &OpenLevels) -> OpenLevels {
        let files = |tables: &[Arc<TableFileMeta>]| -> Vec<Arc<TableFile>> {
            tables.iter().filter_map(|meta| self.tables.get(&meta.number)).cloned().collect()
        };
        let deeper = (1..LEVELS).filter(|&level| !levels.level(level).is_empty());
        OpenLevels {
            newest: files(levels.level(0)),
            deeper: deeper.map(|level| (level, before.reused(files(levels.level(level))))).collect(),
        }
    }
}
