//! The heart of a store: what its handles, its writers and its background threads share.
//!
//! Locks are taken in one order: the writer's, then that of the shared state. Readers take none: they read the view of a
//! keyspace, which is replaced as a whole.

use super::commit::{Queue, Writer};
use super::counters::Counters;
use super::entry::{KeyspaceId, Sequence};
use super::generation::Generation;
use super::learn::Learner;
use super::memtable::Memtable;
use super::numbers::Numbers;
use super::options::DbOptions;
use super::recover::check_room;
use super::skips::{Cleanup, Skips};
use super::snapshot::Moments;
use super::table_file::TableFile;
use super::values::ValueFiles;
use super::version::{Edit, Job, LEVELS, Manifest, State, TableMeta};
use super::view::{Levels, Tree, View};
use crate::block::BlockCache;
use crate::block::header::StoreBinding;
use crate::error::{Error, Result};
use crate::io::fair::FairMutex;
use crate::io::sync::{Condvar, Mutex, MutexGuard};
use crate::io::{FileLock, Storage};
use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The keyspace that every store has.
pub(super) const DEFAULT_KEYSPACE: KeyspaceId = 0;

/// Memtables may hide this part of all live values. A level may hide three times as much before it is merged.
const HIDDEN_PART: u64 = 48;

/// And so many bytes in any case, lest small stores write tiny tables.
pub(super) const HIDDEN_BYTES_MIN: u64 = 1 << 20;

/// See the module.
#[derive(Debug)]
pub(crate) struct Core {
    pub(super) storage: Arc<dyn Storage>,
    pub(super) options: DbOptions,
    /// The store and this opening of it: checksums of new files are bound to both.
    pub(super) bond: StoreBinding,
    pub(super) cache: Arc<BlockCache>,
    pub(super) moments: Moments,
    pub(super) counters: Counters,
    pub(super) learner: Learner,
    /// Batches that wait for a writer to take them along.
    pub(super) queue: Mutex<Queue>,
    /// Told of whenever a group was written.
    pub(super) written: Condvar,
    /// Batches, single writes and all else that writes take their turns.
    pub(super) writer: FairMutex<Writer>,
    pub(super) shared: Mutex<Shared>,
    /// Told of whenever the shared state has changed.
    pub(super) changed: Condvar,
    pub(super) visible: AtomicU64,
    pub(super) numbers: Numbers,
    /// Memtables are switched when they hide more bytes of older values than this.
    pub(super) hidden_limit: AtomicU64,
    /// The next group is to switch memtables, full or not.
    pub(super) is_switch_asked: AtomicBool,
    pub(super) read_only: bool,
    /// Set when the store is closed to writes; why, is in the shared state.
    pub(super) has_failed: AtomicBool,
    /// Set when background work is to end.
    pub(super) stop: AtomicBool,
    /// Held for as long as the store is open for writing.
    pub(super) _lock: Option<Box<dyn FileLock>>,
}

/// What is changed under the one lock, and what views are made from.
#[derive(Debug)]
pub(super) struct Shared {
    /// What the manifest says.
    pub(super) state: State,
    /// `None` in a store that is only read, and after a failed write to it.
    pub(super) manifest: Option<Manifest>,
    pub(super) trees: BTreeMap<KeyspaceId, Arc<Tree>>,
    /// The memtables of the keyspaces that are written.
    pub(super) active: BTreeMap<KeyspaceId, Arc<Memtable>>,
    /// What a keyspace has in which nothing is: its memtable takes nothing.
    pub(super) blank: View,
    /// Generations to be written out, oldest first.
    pub(super) sealed: VecDeque<Arc<Generation>>,
    pub(super) tables: BTreeMap<u64, Arc<TableFile>>,
    pub(super) values: Arc<ValueFiles>,
    /// Those that the views of keyspaces with memtables show.
    pub(super) shown_values: Arc<ValueFiles>,
    /// What iterators have skipped of the keyspaces, and what is to be done about it.
    pub(super) skips: BTreeMap<KeyspaceId, Skips>,
    pub(super) cleanups: Vec<Cleanup>,
    /// Memtables are to be switched for a cleanup.
    pub(super) is_switch_due: bool,
    /// Compactions under way.
    pub(super) running: Vec<Arc<Job>>,
    /// Value files of generations that are not written out yet, or are being written: no table may lead to them.
    pub(super) young_values: HashSet<u64>,
    /// Bytes of older values in tables below that tables are estimated to hide, by the number of the table. Tables that were there when
    /// the store was opened are not among them.
    pub(super) hidden: BTreeMap<u64, u64>,
    /// Tables whose index leads look-ups astray, as they were found when the store was opened: they are to be written anew.
    pub(super) misled: BTreeSet<u64>,
    pub(super) is_flushing: bool,
    /// Logs that are needed no more, to be written anew.
    pub(super) recyclable: Vec<u64>,
    /// Keyspaces in which a compaction may be due: their tables have changed since none was.
    pub(super) unsettled: BTreeSet<KeyspaceId>,
    /// Keyspaces with tables that hide values: how many there are in all says whether that makes a compaction due.
    pub(super) hiding: BTreeSet<KeyspaceId>,
    /// Keyspaces with tables that are to be rewritten once no snapshot needs what they would drop.
    pub(super) waiting: BTreeSet<KeyspaceId>,
    /// No compaction was due, and nothing has changed since.
    pub(super) is_settled: bool,
    /// The oldest snapshot when compactions were last looked for.
    pub(super) looked_with: Sequence,
    pub(super) failure: Option<String>,
}

/// A change of what belongs to the store, and the files that it brings.
#[derive(Debug, Default)]
pub(super) struct Change {
    pub(super) edit: Edit,
    pub(super) tables: Vec<Arc<TableFile>>,
    /// Keyspaces whose memtables were switched or written out.
    pub(super) moved: Vec<KeyspaceId>,
}

impl Core {
    pub(super) fn path(&self) -> PathBuf {
        let name = self.storage.path("x");
        name.parent().map_or_else(PathBuf::new, PathBuf::from)
    }

    /// The newest operation that readers see.
    pub(super) fn visible(&self) -> Sequence {
        self.visible.load(Ordering::Acquire)
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// The error of a store that an earlier failure has closed to writes.
    pub(super) fn refusal(&self, shared: &Shared) -> Option<Error> {
        if self.read_only {
            return Some(Error::StoreReadOnly { path: self.path(), cause: "it was opened to be read only".into() });
        }
        let cause = shared.failure.clone()?;
        Some(Error::StoreReadOnly { path: self.path(), cause })
    }

    /// Closes the store to writes.
    pub(super) fn fail(&self, shared: &mut Shared, error: &Error) {
        if !matches!(error, Error::StoreReadOnly { .. }) {
            shared.failure.get_or_insert_with(|| error.to_string());
            self.has_failed.store(true, Ordering::Release);
        }
        self.changed.notify_all();
    }

    /// Refuses a change after which the open tables would keep more memory than is theirs, unless they keep less than before.
    ///
    /// # Errors
    /// [`Error::MemoryShort`]; nothing has changed then.
    pub(super) fn check_room(&self, shared: &Shared, change: &Change) -> Result<()> {
        let gone: HashSet<u64> = change.edit.removed.iter().map(|(.., number)| *number).collect();
        let before: u64 = shared.tables.values().map(|table| table.reserved_bytes()).sum();
        let kept = shared.tables.values().filter(|table| !gone.contains(&table.meta.number)).chain(&change.tables);
        let after: u64 = kept.map(|table| table.reserved_bytes()).sum();
        if after <= before { Ok(()) } else { check_room(&self.options, after, || self.path()) }
    }

    /// Makes a change durable, then visible. Files that nothing leads to any more are removed when their last reader has gone.
    pub(super) fn apply(&self, shared: &mut MutexGuard<'_, Shared>, mut change: Change) -> Result<()> {
        let outcome = self.try_apply(shared, &mut change);
        if let Err(error) = &outcome {
            shared.manifest = None;
            self.fail(shared, error);
        }
        self.changed.notify_all();
        outcome
    }

    fn try_apply(&self, shared: &mut Shared, change: &mut Change) -> Result<()> {
        let path = || self.path();
        let Some(manifest) = &mut shared.manifest else {
            return Err(Error::StoreReadOnly { path: path(), cause: "its manifest could not be written".into() });
        };
        let edit = &mut change.edit;
        self.numbers.put_into(edit);
        // Generations are written out after newer ones were begun.
        edit.last_sequence = edit.last_sequence.map(|sequence| sequence.max(shared.state.last_sequence));
        let undo = shared.state.change_undoably(edit).map_err(|error| error.into_error(path(), 0))?;
        let unused = shared.state.unreferenced_value_files();
        edit.value_files_removed = unused.into_iter().filter(|number| !shared.young_values.contains(number)).collect();
        edit.value_files_removed.iter().for_each(|&number| _ = shared.state.forget_value_file(number));
        if let Err(error) = manifest.append(edit).and_then(|()| manifest.sync()) {
            shared.state.restore(undo);
            return Err(error);
        }
        let is_spent = manifest.is_spent();
        self.numbers.note_reserved(shared.state.reserved);
        let live: u64 = shared.state.value_files.values().map(|file| file.live_bytes).sum();
        self.hidden_limit.store((live / HIDDEN_PART).max(HIDDEN_BYTES_MIN), Ordering::Relaxed);
        shared.adopt(change, &self.learner);
        shared.unsettle(&change.edit);
        let (added, removed) = (change.edit.added.iter(), change.edit.removed.iter());
        let changed = added.map(|(id, ..)| *id).chain(removed.map(|(id, ..)| *id)).chain(change.moved.drain(..));
        let changed: BTreeSet<KeyspaceId> = changed.collect();
        self.publish(shared, changed);
        if is_spent {
            // Edits that took longer to read than the state itself make way for it. So does a file that a failure has closed: the edit
            // after this one must not fail for what has long ended.
            let renewed = self.renew_manifest(shared);
            // The change itself is durable: only the next one cannot be made.
            if let Err(error) = renewed {
                self.fail(shared, &error);
            }
        }
        Ok(())
    }

    /// Writes a new manifest, which takes edits from now on; the one before takes none any more, whatever becomes of the new one.
    pub(super) fn renew_manifest(&self, shared: &mut Shared) -> Result<()> {
        shared.manifest = None;
        let number = self.numbers.take();
        let mut state = shared.state.clone();
        state.next_file = state.next_file.max(self.numbers.next());
        state.reserved = state.reserved.max(self.numbers.batch_end());
        shared.manifest = Some(Manifest::create(&self.storage, number, &state, None)?);
        self.numbers.note_reserved(state.reserved);
        shared.state = state;
        Ok(())
    }

    /// Gives readers of some keyspaces what there is now; and those of all that have memtables, if there are other value files. What
    /// else there is of keyspaces has not changed.
    pub(super) fn publish(&self, shared: &mut Shared, mut changed: BTreeSet<KeyspaceId>) {
        if !Arc::ptr_eq(&shared.values, &shared.shown_values) {
            shared.shown_values = Arc::clone(&shared.values);
            changed.extend(shared.active.keys());
            changed.extend(shared.sealed.iter().flat_map(|generation| generation.memtables().keys()));
        }
        for id in changed {
            let Some(tree) = shared.trees.get(&id) else { continue };
            let before = tree.view.get();
            let view = shared.view(id, &before.levels);
            for (number, level) in view.levels.numbered() {
                if !before.levels.has(level) {
                    self.learner.note_level(id, number, level);
                }
            }
            tree.view.set(view);
        }
    }

    /// Gives readers of all keyspaces what there is now.
    pub(super) fn publish_all(&self, shared: &mut Shared) {
        let all = shared.trees.keys().copied().collect();
        self.publish(shared, all);
    }

    /// The first memtable of a keyspace in the generation that grows, seen by readers before anything is in it; `None` where the
    /// keyspace is gone.
    pub(super) fn new_memtable(&self, id: KeyspaceId) -> Option<Arc<Memtable>> {
        let mut shared = self.shared.lock();
        let view = shared.trees.get(&id)?.view.get();
        let memtable = Arc::new(view.sealed.first().map_or_else(Memtable::new, |older| Memtable::after(older)));
        shared.active.insert(id, Arc::clone(&memtable));
        self.publish(&mut shared, [id].into());
        Some(memtable)
    }
}

impl Shared {
    /// The keyspace of a name.
    pub(super) fn tree_named(&self, name: &str) -> Option<&Arc<Tree>> {
        self.trees.get(&self.state.keyspace_named(name)?)
    }

    /// Notes what a change may make due.
    fn unsettle(&mut self, edit: &Edit) {
        let (added, removed) = (edit.added.iter(), edit.removed.iter());
        self.unsettled.extend(added.map(|(id, ..)| *id).chain(removed.map(|(id, ..)| *id)));
        self.unsettled.extend(&self.hiding);
        self.is_settled = false;
    }

    /// Lets compactions be looked for everywhere.
    pub(super) fn look_at_all(&mut self) {
        let with_tables = self.state.keyspaces.iter().filter(|(_, keyspace)| keyspace.levels.iter().next().is_some());
        self.unsettled = with_tables.map(|(&id, _)| id).collect();
        self.is_settled = false;
    }

    /// Takes the files of a change over, and lets go of those that it removes.
    fn adopt(&mut self, change: &mut Change, learner: &Learner) {
        let moved: HashSet<u64> = change.edit.added.iter().map(|(_, _, meta)| meta.number).collect();
        for (_, level, number) in &change.edit.removed {
            if moved.contains(number) {
                continue;
            }
            self.hidden.remove(number);
            self.misled.remove(number);
            if let Some(table) = self.tables.remove(number) {
                learner.note_gone(*level, &table);
                table.mark_obsolete();
            }
        }
        for table in change.tables.drain(..) {
            self.tables.insert(table.meta.number, table);
        }
        for (_, level, meta) in &change.edit.added {
            if let Some(table) = self.tables.get(&meta.number) {
                learner.note_table(*level, table);
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

    /// Adds a value file.
    pub(super) fn add_values(&mut self, handle: Arc<super::values::ValueHandle>) {
        let mut values = ValueFiles::clone(&self.values);
        values.0.insert(handle.number, handle);
        self.values = Arc::new(values);
    }

    /// Takes back what [`Self::add_values`] did.
    pub(super) fn forget_values(&mut self, number: u64) {
        let mut values = ValueFiles::clone(&self.values);
        values.0.remove(&number);
        self.values = Arc::new(values);
    }

    /// What readers of a keyspace see now.
    fn view(&self, id: KeyspaceId, before: &Levels) -> View {
        let active = self.active.get(&id);
        let memtables = self.sealed.iter().rev().filter_map(|generation| generation.memtables().get(&id));
        let sealed: Vec<_> = memtables.filter(|memtable| !memtable.is_empty()).cloned().collect();
        let levels = self.state.levels(id).filter(|levels| levels.iter().next().is_some());
        let values = match (active, &sealed[..], levels) {
            // What the entries of memtables lead to is not known in advance.
            (Some(_), ..) | (_, [_, ..], _) => Arc::clone(&self.values),
            (None, [], Some(levels)) => self.values_of(levels),
            (None, [], None) => Arc::clone(&self.blank.values),
        };
        View {
            active: Arc::clone(active.unwrap_or(&self.blank.active)),
            sealed,
            levels: levels
                .map_or_else(|| Arc::clone(&self.blank.levels), |levels| Arc::new(self.levels(levels, before))),
            values,
        }
    }

    /// The value files that tables lead to, and no others: this need not be replaced when there are others.
    fn values_of(&self, levels: &super::version::Levels) -> Arc<ValueFiles> {
        let numbers: BTreeSet<u64> =
            levels.iter().flat_map(|(_, table)| table.values.iter().map(|(number, _)| *number)).collect();
        if numbers.is_empty() {
            return Arc::clone(&self.blank.values);
        }
        let found =
            numbers.into_iter().filter_map(|number| self.values.0.get(&number).map(|file| (number, Arc::clone(file))));
        Arc::new(ValueFiles(found.collect()))
    }

    /// The open tables of a keyspace; levels that are as before stay what they are, with their models.
    fn levels(&self, levels: &super::version::Levels, before: &Levels) -> Levels {
        let files = |tables: &[Arc<TableMeta>]| -> Vec<Arc<TableFile>> {
            tables.iter().filter_map(|meta| self.tables.get(&meta.number)).cloned().collect()
        };
        let deeper = (1..LEVELS).filter(|&level| !levels.level(level).is_empty());
        Levels {
            newest: files(levels.level(0)),
            deeper: deeper.map(|level| (level, before.reused(files(levels.level(level))))).collect(),
        }
    }
}
