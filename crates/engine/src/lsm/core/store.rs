//! The shared core of a store: the state that its handles, writers and background threads use.
//!
//! Lock order: the writer's lock, then the lock of the shared state. Readers take neither: they read the current view
//! of a keyspace, which is replaced as a whole.

use super::groups_in_flight::GroupsInFlight;
use super::replayed_logs::ReplayedLogs;
use super::shared::{SharedState, StateChange};
use super::telemetry::StoreTelemetry;
use super::write_queue::WriteQueue;
use super::writer::WriterState;
use crate::block::BlockCache;
use crate::block::header::StoreBinding;
use crate::durability::Durability;
use crate::error::{Cause, Error, Result, StoreFailure};
use crate::io::local::sync::{Condvar, Mutex, MutexGuard};
use crate::io::reads::fair::FairMutex;
use crate::io::{FileLock, FolderIdentity, Storage};
use crate::lsm::objects::{ObjectFolder, StoreVersion};
use crate::lsm::state::counters::DbCounters;
use crate::lsm::state::entry::{KeyspaceId, Sequence};
use crate::lsm::state::file_numbers::FileNumbers;
use crate::lsm::state::keyspace_tree::KeyspaceTree;
use crate::lsm::state::learner::Learner;
use crate::lsm::state::live_snapshots::LiveSnapshots;
use crate::lsm::state::memtable::Memtable;
use crate::lsm::state::options::DbOptions;
use crate::lsm::state::version::{ClosedLengths, Manifest, ManifestState, recover_manifest};
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// Memtables may hide 1/48 of all live values; a level may hide three times as much before it is merged.
const MEMTABLE_HIDDEN_DIVISOR: u64 = 48;

/// Groups without a sync between two looks whether the folder is in its place.
const UNCHECKED_GROUPS_MAX: u32 = 63;

/// Memtables may always hide this many bytes, so that small stores do not write tiny tables.
pub(in crate::lsm) const HIDDEN_BYTES_MIN: u64 = 1 << 20;

/// The state of an open store that all handles and threads share.
#[derive(Debug)]
pub(crate) struct Core {
    pub(in crate::lsm) storage: Arc<dyn Storage>,
    /// The same, if it is an object store.
    pub(in crate::lsm) objects: Option<Arc<ObjectFolder>>,
    pub(in crate::lsm) options: DbOptions,
    /// The identity of the store and of this opening; checksums of new files are bound to both.
    pub(in crate::lsm) binding: StoreBinding,
    pub(in crate::lsm) cache: Arc<BlockCache>,
    pub(in crate::lsm) live_snapshots: LiveSnapshots,
    pub(in crate::lsm) counters: DbCounters,
    pub(in crate::lsm) telemetry: StoreTelemetry,
    /// The learner of the policy, if there is one.
    pub(in crate::lsm) learner: Option<Arc<dyn Learner>>,
    /// Batches that wait to be written.
    pub(in crate::lsm) queue: Mutex<WriteQueue>,
    /// On an object store: groups that are being put.
    pub(in crate::lsm) in_flight: GroupsInFlight,
    /// Signalled when a group was written.
    pub(in crate::lsm) written: Condvar,
    /// The lock of writers, taken in the order of requests.
    pub(in crate::lsm) writer: FairMutex<WriterState>,
    pub(in crate::lsm) shared: Mutex<SharedState>,
    /// Signalled when the shared state has changed.
    pub(in crate::lsm) changed: Condvar,
    pub(in crate::lsm) visible: AtomicU64,
    pub(in crate::lsm) numbers: FileNumbers,
    /// On an object store: the number of the newest manifest, and the first number that this opening may have used.
    pub(in crate::lsm) manifest_number: AtomicU64,
    pub(in crate::lsm) first_file: u64,
    /// On an object store: whether this opening has put a manifest.
    pub(in crate::lsm) has_opened: AtomicBool,
    /// On an object store: the version of a reader.
    pub(in crate::lsm) version: Option<StoreVersion>,
    /// Of a reader: what it has of the logs, until its next version goes on with that.
    pub(in crate::lsm) replayed: Mutex<Option<ReplayedLogs>>,
    /// Memtables are switched when they hide more bytes of older values than this.
    pub(in crate::lsm) hidden_limit: AtomicU64,
    /// Whether the next group must switch memtables even if they are not full.
    pub(in crate::lsm) is_switch_requested: AtomicBool,
    pub(in crate::lsm) read_only: bool,
    /// Whether the store is closed to writes; the reason is in the shared state.
    pub(in crate::lsm) has_failed: AtomicBool,
    /// Tells background work to stop.
    pub(in crate::lsm) stop: AtomicBool,
    /// Whether [`Db::close`](crate::lsm::Db::close) was called: all handles fail then.
    pub(in crate::lsm) is_closed: AtomicBool,
    /// Held while the store is open for writing.
    pub(in crate::lsm) lock: Mutex<Option<Box<dyn FileLock>>>,
    /// Groups written since the folder was last found in its place.
    pub(in crate::lsm) groups_unchecked: AtomicU32,
    /// The folder in which the store was opened, if it is on the local file system.
    pub(in crate::lsm) folder_identity: Option<FolderIdentity>,
}

impl Core {
    pub(in crate::lsm) fn path(&self) -> PathBuf {
        let name = self.storage.path("x");
        name.parent().map_or_else(PathBuf::new, PathBuf::from)
    }

    /// The newest operation visible to readers.
    pub(in crate::lsm) fn visible(&self) -> Sequence {
        self.visible.load(Ordering::Acquire)
    }

    pub(in crate::lsm) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    pub(in crate::lsm) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// The error for uses of a closed store.
    pub(in crate::lsm) fn closed(&self) -> Error {
        Error::closed(self.path())
    }

    /// Fails if the folder is not where it was locked.
    pub(in crate::lsm) fn check_place(&self) -> Result<()> {
        match self.lock.lock().as_ref() {
            Some(lock) if !lock.is_in_place() => Err(Error::gone(self.path())),
            _ => Ok(()),
        }
    }

    /// As [`Self::check_place`], for a group that is about to be written. Beside a sync the check costs nothing;
    /// without one it takes about as long as the write itself, and so one group in some is checked.
    pub(in crate::lsm) fn check_place_of_group(&self, is_due: bool) -> Result<()> {
        let groups = self.groups_unchecked.load(Ordering::Relaxed);
        if !is_due && self.options.durability != Durability::Synced && groups < UNCHECKED_GROUPS_MAX {
            self.groups_unchecked.store(groups + 1, Ordering::Relaxed);
            return Ok(());
        }
        self.check_place()?;
        self.groups_unchecked.store(0, Ordering::Relaxed);
        Ok(())
    }

    /// The error for uses of a keyspace that is gone: it was dropped, or the store was closed.
    pub(in crate::lsm) fn gone(&self, tree: &KeyspaceTree) -> Error {
        if self.is_closed() {
            return self.closed();
        }
        Error::keyspace_dropped(self.path(), tree.name.clone())
    }

    /// The error for writes, if the store is closed to them.
    pub(in crate::lsm) fn refusal(&self, shared: &SharedState) -> Option<Error> {
        if self.is_closed() {
            return Some(self.closed());
        }
        if self.read_only {
            return Some(Error::opened_read_only(self.path()));
        }
        self.failure(shared)
    }

    /// The error for the failure that has closed the store to writes, if there was one.
    pub(in crate::lsm) fn failure(&self, shared: &SharedState) -> Option<Error> {
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
    pub(in crate::lsm) fn lasting_failure(&self, shared: &SharedState) -> Option<Error> {
        if shared.is_gone {
            return Some(Error::gone(self.path()));
        }
        shared.is_fenced.then(|| Error::fenced(self.path(), false))
    }

    /// Closes the store to writes.
    pub(in crate::lsm) fn fail(&self, shared: &mut SharedState, error: &Error) {
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
    pub(in crate::lsm) fn apply(
        &self,
        shared: &mut MutexGuard<'_, SharedState>,
        mut change: StateChange,
    ) -> Result<()> {
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
    pub(in crate::lsm) fn renew_manifest(&self, shared: &mut SharedState) -> Result<()> {
        shared.manifest = None;
        let mut state = shared.state.clone();
        let manifest = self.new_manifest(&mut state, None)?;
        shared.manifest = Some(manifest);
        self.numbers.note_reserved(state.reserved);
        shared.state = state;
        Ok(())
    }

    /// Writes a manifest of a state, with the file numbers of now. A *closed* one ends them.
    pub(in crate::lsm) fn new_manifest(
        &self,
        state: &mut ManifestState,
        closed: Option<&ClosedLengths>,
    ) -> Result<Manifest> {
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
    pub(in crate::lsm) fn publish(&self, shared: &mut SharedState, mut changed: BTreeSet<KeyspaceId>) {
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
    pub(in crate::lsm) fn publish_all(&self, shared: &mut SharedState) {
        let all = shared.trees.keys().copied().collect();
        self.publish(shared, all);
    }

    /// Creates the memtable of a keyspace in the current memtable set, visible to readers before anything is inserted;
    /// `None` if the keyspace was dropped.
    pub(in crate::lsm) fn new_memtable(&self, id: KeyspaceId) -> Option<Arc<Memtable>> {
        let mut shared = self.shared.lock();
        let view = shared.trees.get(&id)?.view.get();
        let memtable = Arc::new(view.sealed.first().map_or_else(Memtable::new, |older| Memtable::after(older)));
        shared.active.insert(id, Arc::clone(&memtable));
        self.publish(&mut shared, [id].into());
        Some(memtable)
    }
}
