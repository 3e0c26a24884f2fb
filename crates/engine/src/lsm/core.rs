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
use super::snapshot::Moments;
use super::table_file::TableFile;
use super::values::ValueFiles;
use super::version::{Edit, Job, LEVELS, Manifest, State, TableMeta};
use super::view::{Levels, Tree, View};
use crate::block::BlockCache;
use crate::block::header::Bond;
use crate::error::{Error, Result};
use crate::io::sync::{Condvar, Mutex, MutexGuard};
use crate::io::{FileLock, Storage};
use std::collections::{BTreeMap, HashSet, VecDeque};
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
    pub(super) bond: Bond,
    pub(super) cache: Arc<BlockCache>,
    pub(super) moments: Moments,
    pub(super) counters: Counters,
    pub(super) learner: Learner,
    /// Batches that wait for a writer to take them along.
    pub(super) queue: Mutex<Queue>,
    /// Told of whenever a group was written.
    pub(super) written: Condvar,
    pub(super) writer: Mutex<Writer>,
    pub(super) shared: Mutex<Shared>,
    /// Told of whenever the shared state has changed.
    pub(super) changed: Condvar,
    pub(super) visible: AtomicU64,
    pub(super) numbers: Numbers,
    /// Memtables are switched when they hide more bytes of older values than this.
    pub(super) hidden_limit: AtomicU64,
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
    pub(super) active: BTreeMap<KeyspaceId, Arc<Memtable>>,
    /// Generations to be written out, oldest first.
    pub(super) sealed: VecDeque<Arc<Generation>>,
    pub(super) tables: BTreeMap<u64, Arc<TableFile>>,
    pub(super) values: Arc<ValueFiles>,
    /// Compactions under way.
    pub(super) running: Vec<Arc<Job>>,
    /// Value files of generations that are not written out yet, or are being written: no table may lead to them.
    pub(super) young_values: HashSet<u64>,
    /// Bytes of older values in tables below that tables are estimated to hide, by the number of the table. Tables that were there when
    /// the store was opened are not among them.
    pub(super) hidden: BTreeMap<u64, u64>,
    pub(super) is_flushing: bool,
    /// Logs that are needed no more, to be written anew.
    pub(super) recyclable: Vec<u64>,
    pub(super) failure: Option<String>,
}

/// A change of what belongs to the store, and the files that it brings.
#[derive(Debug, Default)]
pub(super) struct Change {
    pub(super) edit: Edit,
    pub(super) tables: Vec<Arc<TableFile>>,
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
        let apply = |edit: &Edit| shared.state.apply(edit).map_err(|error| error.into_error(path(), 0));
        let mut after = apply(edit)?;
        let unused = after.unreferenced_value_files();
        edit.value_files_removed = unused.into_iter().filter(|number| !shared.young_values.contains(number)).collect();
        if !edit.value_files_removed.is_empty() {
            after = apply(edit)?;
        }
        manifest.append(edit)?;
        manifest.sync()?;
        let is_long = manifest.is_long();
        shared.state = after;
        self.numbers.note_reserved(shared.state.reserved);
        let live: u64 = shared.state.value_files.values().map(|file| file.live_bytes).sum();
        self.hidden_limit.store((live / HIDDEN_PART).max(HIDDEN_BYTES_MIN), Ordering::Relaxed);
        shared.adopt(change, &self.learner);
        self.publish(shared);
        if is_long {
            // Edits that took longer to read than the state itself make way for it.
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

    /// Gives readers what the state says now.
    pub(super) fn publish(&self, shared: &Shared) {
        for tree in shared.trees.values() {
            let before = tree.view.get();
            if let Some(view) = shared.view(tree.id, &before.levels) {
                for (number, level) in view.levels.numbered() {
                    if !before.levels.has(level) {
                        self.learner.note_level(tree.id, number, level);
                    }
                }
                tree.view.set(view);
            }
        }
    }
}

impl Shared {
    /// Takes the files of a change over, and lets go of those that it removes.
    fn adopt(&mut self, change: &mut Change, learner: &Learner) {
        let moved: HashSet<u64> = change.edit.added.iter().map(|(_, _, meta)| meta.number).collect();
        for (_, level, number) in &change.edit.removed {
            if moved.contains(number) {
                continue;
            }
            self.hidden.remove(number);
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
    fn view(&self, id: KeyspaceId, before: &Levels) -> Option<View> {
        let active = Arc::clone(self.active.get(&id)?);
        let sealed = self.sealed.iter().rev().filter_map(|generation| generation.memtables.get(&id));
        let levels = self.state.keyspaces.get(&id).map(|keyspace| self.levels(&keyspace.levels, before));
        Some(View {
            active,
            sealed: sealed.filter(|memtable| !memtable.is_empty()).cloned().collect(),
            levels: Arc::new(levels.unwrap_or_default()),
            values: Arc::clone(&self.values),
        })
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
