//! The shared core of a store: the state that its handles, writers and background threads use.
//!
//! Lock order: the writer's lock, then the lock of the shared state. Readers take neither: they read the current view
//! of a keyspace, which is replaced as a whole.

use super::access::Access;
use super::background::Background;
use super::contents::Contents;
use super::files::CoreFiles;
use super::shared::{SharedState, StateChange};
use super::telemetry::StoreTelemetry;
use super::writes::Writes;
use crate::durability::Durability;
use crate::error::{Cause, Error, Result, StoreFailure};
use crate::io::local::sync::MutexGuard;
use crate::lsm::objects::ObjectFolder;
use crate::lsm::state::entry::{KeyspaceId, Sequence};
use crate::lsm::state::expiry::store_time::{ReadPoint, RecordedTimes, TimeReading};
use crate::lsm::state::keyspace_tree::KeyspaceTree;
use crate::lsm::state::memtable::Memtable;
use crate::lsm::state::options::DbOptions;
use crate::lsm::state::tables::learner::Learner;
use crate::lsm::state::version::{ClosedLengths, Manifest, ManifestState, recover_manifest};
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;

/// The state of an open store that all handles and threads share.
#[derive(Debug)]
pub(crate) struct Core {
    pub(in crate::lsm) options: DbOptions,
    /// What may be done with the store.
    pub(in crate::lsm) access: Access,
    pub(in crate::lsm) telemetry: StoreTelemetry,
    pub(in crate::lsm) background: Background,
    pub(in crate::lsm) writes: Writes,
    pub(in crate::lsm) contents: Contents,
    // Must be dropped last: the lock of the folder outlives the files, some of which are removed when they are closed.
    pub(in crate::lsm) files: CoreFiles,
}

impl Core {
    /// A store with these files and contents, to which nothing is written yet.
    pub(in crate::lsm) fn new(
        options: DbOptions,
        read_only: bool,
        files: CoreFiles,
        contents: Contents,
        learner: Option<Arc<dyn Learner>>,
    ) -> Self {
        Self {
            options,
            access: Access::new(read_only),
            telemetry: StoreTelemetry::register(&files.path()),
            files,
            writes: Writes::new(contents.visible() + 1),
            contents,
            background: Background::new(learner),
        }
    }

    pub(in crate::lsm) fn path(&self) -> PathBuf {
        self.files.path()
    }

    /// The newest operation visible to readers.
    pub(in crate::lsm) fn visible(&self) -> Sequence {
        self.contents.visible()
    }

    /// The newest operation visible to readers, at the time of now.
    pub(in crate::lsm) fn newest_point(&self) -> ReadPoint {
        ReadPoint::NEWEST.up_to(self.visible()).fixed(&self.contents.time)
    }

    /// The times for the manifest to have; a clock that is too far ahead is reported.
    fn times_to_record(&self) -> RecordedTimes {
        let TimeReading { now_ms, clock_ms, is_ahead } = self.contents.time.read();
        if is_ahead {
            self.report_clock_ahead(now_ms, clock_ms);
        }
        self.contents.time.to_record()
    }

    pub(in crate::lsm) fn is_stopped(&self) -> bool {
        self.background.is_stopped()
    }

    pub(in crate::lsm) fn is_closed(&self) -> bool {
        self.access.is_closed()
    }

    /// The error for uses of a closed store.
    pub(in crate::lsm) fn closed(&self) -> Error {
        Error::closed(self.path())
    }

    /// Fails if the folder is not where it was locked.
    pub(in crate::lsm) fn check_place(&self) -> Result<()> {
        match self.files.lock.lock().as_ref() {
            Some(lock) if !lock.is_in_place() => Err(Error::gone(self.path())),
            _ => Ok(()),
        }
    }

    /// As [`Self::check_place`], for a group that is about to be written. Beside a sync the check costs nothing;
    /// without one it takes about as long as the write itself, and so one group in some is checked.
    pub(in crate::lsm) fn check_place_of_group(&self, is_due: bool) -> Result<()> {
        if !is_due && self.options.durability != Durability::Synced && self.files.may_pass_unchecked() {
            return Ok(());
        }
        self.check_place()?;
        self.files.note_checked();
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
        if self.access.is_read_only() {
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
            shared.is_gone |= self.files.objects.is_some() && matches!(error, Error { cause: Cause::Gone, .. });
            if self.access.fail() {
                self.report_failure(shared.is_fenced, error);
            }
        }
        self.contents.notify_changed();
    }

    /// The error of a file that is missing, if another writer has taken over, or the store is gone.
    fn explain_missing(&self, error: &Error) -> Option<Error> {
        match (error, &self.files.objects) {
            (Error { cause: Cause::Io(ErrorKind::NotFound), .. }, Some(objects)) => {
                let found = objects.check_newest(self.files.manifest_number()).err();
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
        self.contents.notify_changed();
        outcome
    }

    fn try_apply(&self, shared: &mut SharedState, change: &mut StateChange) -> Result<()> {
        let path = || self.path();
        if shared.manifest.is_some() {
            self.keep_removed(shared, &mut change.edit)?;
        }
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
        self.files.numbers.put_into(edit);
        // Memtable sets are flushed after newer ones were begun.
        if self.contents.time.is_used() {
            edit.times = Some(self.times_to_record());
        }
        edit.last_sequence = edit.last_sequence.map(|sequence| sequence.max(shared.state.last_sequence));
        let undo = shared.state.change_undoably(edit).map_err(|error| error.into_error(path(), 0))?;
        let unused = shared.state.unreferenced_value_files().into_iter();
        let unused = unused.filter(|number| !shared.unflushed_values.contains(number));
        let kept = self.contents.kept.lock();
        edit.value_files_removed = unused.filter(|number| !kept.has_values(*number)).collect();
        drop(kept);
        edit.value_files_removed.iter().for_each(|&number| _ = shared.state.forget_value_file(number));
        // The header of a manifest states the format, so that a program that does not know the edit does not open it.
        let raises_format = shared.state.format > manifest.format();
        let written = match raises_format {
            true => self.renew_manifest(shared),
            false => manifest.append(edit).and_then(|()| manifest.sync()),
        };
        if let Err(error) = written {
            shared.state.restore(undo);
            return Err(error);
        }
        self.contents.time.note_recorded(change.edit.times);
        let is_spent = shared.manifest.as_ref().is_some_and(Manifest::is_spent);
        self.files.numbers.note_reserved(shared.state.reserved);
        let live: u64 = shared.state.value_files.values().map(|file| file.live_bytes).sum();
        self.writes.set_live_bytes(live);
        shared.apply_files(change, self.background.learner.as_deref());
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
        self.files.numbers.note_reserved(state.reserved);
        shared.state = state;
        Ok(())
    }

    /// Writes a manifest of a state, with the file numbers of now. A *closed* one ends them.
    pub(in crate::lsm) fn new_manifest(
        &self,
        state: &mut ManifestState,
        closed: Option<&ClosedLengths>,
    ) -> Result<Manifest> {
        let Some(objects) = &self.files.objects else {
            let number = self.files.numbers.take();
            self.state_numbers(state, closed.is_some());
            return Manifest::create(&self.files.storage, number, state, closed);
        };
        self.state_numbers(state, closed.is_some());
        state.retired = objects.retired.all();
        let before = self.files.manifest_number();
        // An opening has just found its store.
        if self.files.has_put_manifest() {
            objects.check_in_place()?;
        }
        let mut number = before + 1;
        loop {
            match Manifest::create(&self.files.storage, number, state, closed) {
                Ok(manifest) => {
                    if number == ObjectFolder::FIRST_MANIFEST {
                        objects.check_conditions_of_new_store()?;
                    }
                    // A writer that slept until the numbers after its own were free again has won nothing.
                    objects.check_won(number, self.files.binding.store)?;
                    self.files.note_manifest(number);
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
                    match recover_manifest(&*self.files.storage, number) {
                        Ok(found) if found.state.binding() == self.files.binding => {}
                        _ => return Err(objects.fenced()),
                    }
                    number += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn state_numbers(&self, state: &mut ManifestState, ends: bool) {
        if self.contents.time.is_used() {
            state.note_times(Some(self.times_to_record()));
        }
        state.next_file = state.next_file.max(self.files.numbers.next());
        // After the end no number is taken.
        state.reserved = if ends { state.next_file } else { state.reserved.max(self.files.numbers.batch_end()) };
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
            if let Some(learner) = &self.background.learner
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
        self.new_memtable_of(&mut self.contents.lock(), id)
    }

    /// As [`Self::new_memtable`], for the holder of the lock.
    pub(in crate::lsm) fn new_memtable_of(&self, shared: &mut SharedState, id: KeyspaceId) -> Option<Arc<Memtable>> {
        let view = shared.trees.get(&id)?.view.get();
        let memtable = Arc::new(view.sealed.first().map_or_else(Memtable::new, |older| Memtable::after(older)));
        shared.active.insert(id, Arc::clone(&memtable));
        self.publish(shared, [id].into());
        Some(memtable)
    }
}
