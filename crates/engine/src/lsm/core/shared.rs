//! The state of an open store under one lock, from which the views of its keyspaces are built.

use crate::error::StoreFailure;
use crate::lsm::state::compaction_job::CompactionJob;
use crate::lsm::state::entry::{KeyspaceId, Sequence};
use crate::lsm::state::keyspace_tree::KeyspaceTree;
use crate::lsm::state::memtable::Memtable;
use crate::lsm::state::memtable_set::MemtableSet;
use crate::lsm::state::skipped::{SkippedEntries, TombstoneCleanup};
use crate::lsm::state::tables::learner::Learner;
use crate::lsm::state::tables::lookup_times::TableLookups;
use crate::lsm::state::tables::table_file::TableFile;
use crate::lsm::state::tables::value_files::{ValueFiles, ValueHandle};
use crate::lsm::state::version::{
    FileKind, KeyspaceLevels, LEVELS, Manifest, ManifestEdit, ManifestState, TableFileMeta, file_name,
};
use crate::lsm::state::view::{KeyspaceView, OpenLevels};
use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::sync::Arc;

/// The default keyspace, which always exists.
pub(in crate::lsm) const DEFAULT_KEYSPACE: KeyspaceId = 0;

/// The state under the shared lock, from which views are built.
#[derive(Debug)]
pub(in crate::lsm) struct SharedState {
    /// The state that the manifest records.
    pub(in crate::lsm) state: ManifestState,
    /// `None` in a read-only store, and after a failed write to the manifest.
    pub(in crate::lsm) manifest: Option<Manifest>,
    pub(in crate::lsm) trees: BTreeMap<KeyspaceId, Arc<KeyspaceTree>>,
    /// The memtables of the keyspaces being written.
    pub(in crate::lsm) active: BTreeMap<KeyspaceId, Arc<Memtable>>,
    /// The view of an empty keyspace; nothing is inserted into its memtable.
    pub(in crate::lsm) empty_view: KeyspaceView,
    /// Memtable sets to be flushed, oldest first.
    pub(in crate::lsm) sealed: VecDeque<Arc<MemtableSet>>,
    pub(in crate::lsm) tables: BTreeMap<u64, Arc<TableFile>>,
    /// The lookups of tables that are gone.
    pub(in crate::lsm) past_lookups: TableLookups,
    pub(in crate::lsm) values: Arc<ValueFiles>,
    /// The value files in the views of keyspaces with memtables.
    pub(in crate::lsm) published_values: Arc<ValueFiles>,
    /// Tombstones that iterators skipped, by keyspace, and the cleanups due for them.
    pub(in crate::lsm) skips: BTreeMap<KeyspaceId, SkippedEntries>,
    pub(in crate::lsm) cleanups: Vec<TombstoneCleanup>,
    /// Whether memtables must be switched for a cleanup.
    pub(in crate::lsm) is_switch_due: bool,
    /// Running compactions.
    pub(in crate::lsm) running: Vec<Arc<CompactionJob>>,
    /// Value files of memtable sets that are not flushed yet; no table points into them.
    pub(in crate::lsm) unflushed_values: HashSet<u64>,
    /// Estimated bytes of older values that a table hides in tables below it, by table number. Tables from before this
    /// opening are not included.
    pub(in crate::lsm) hidden: BTreeMap<u64, u64>,
    pub(in crate::lsm) is_flushing: bool,
    /// Whether obsolete objects are being removed.
    pub(in crate::lsm) is_collecting: bool,
    /// Logs that are not needed any more, available for recycling.
    pub(in crate::lsm) recyclable: Vec<u64>,
    /// Keyspaces in which a compaction may be due, because their tables changed since the last check.
    pub(in crate::lsm) compaction_candidates: BTreeSet<KeyspaceId>,
    /// Keyspaces with tables that hide values; the total decides whether a compaction is due.
    pub(in crate::lsm) hiding: BTreeSet<KeyspaceId>,
    /// Keyspaces with tables to be rewritten once no snapshot needs their droppable entries.
    pub(in crate::lsm) waiting_for_snapshot: BTreeSet<KeyspaceId>,
    /// Tables whose filters are to be read, since the store was opened; lookups do not wait for it.
    pub(in crate::lsm) unread_filters: Vec<u64>,
    /// Whether no compaction was due at the last check, and nothing has changed since.
    pub(in crate::lsm) is_nothing_due: bool,
    /// Entries that expire up to this time make a compaction due, by the last check.
    pub(in crate::lsm) expiry_due_ms: Option<u64>,
    /// The oldest snapshot at the last check for compactions.
    pub(in crate::lsm) checked_with_snapshot: Sequence,
    pub(in crate::lsm) failure: Option<StoreFailure>,
    /// Whether the failure is that another writer has taken over.
    pub(in crate::lsm) is_fenced: bool,
    /// On an object store: whether the failure is that the store is gone.
    pub(in crate::lsm) is_gone: bool,
}

/// A change of the store's state, with the new tables it adds.
#[derive(Debug, Default)]
pub(in crate::lsm) struct StateChange {
    pub(in crate::lsm) edit: ManifestEdit,
    pub(in crate::lsm) tables: Vec<Arc<TableFile>>,
    /// Keyspaces whose memtables were switched or flushed.
    pub(in crate::lsm) switched: Vec<KeyspaceId>,
}

impl SharedState {
    /// The keyspace with this name.
    pub(in crate::lsm) fn tree_named(&self, name: &str) -> Option<&Arc<KeyspaceTree>> {
        self.trees.get(&self.state.keyspace_named(name)?)
    }

    /// Whether a keyspace still exists.
    pub(in crate::lsm) fn has_keyspace(&self, id: KeyspaceId) -> bool {
        self.trees.contains_key(&id)
    }

    /// New memtables for the keyspaces that were written recently.
    pub(in crate::lsm) fn fresh_memtables(&self) -> BTreeMap<KeyspaceId, Arc<Memtable>> {
        let written = self.active.iter().filter(|(id, memtable)| !memtable.is_empty() && self.has_keyspace(**id));
        written.map(|(id, memtable)| (*id, Arc::new(Memtable::after(memtable)))).collect()
    }

    /// Records the keyspaces in which an edit may make a compaction due.
    pub(super) fn note_changed_keyspaces(&mut self, edit: &ManifestEdit) {
        let (added, removed) = (edit.added.iter(), edit.removed.iter());
        self.compaction_candidates.extend(added.map(|(id, ..)| *id).chain(removed.map(|(id, ..)| *id)));
        self.compaction_candidates.extend(&self.hiding);
        self.is_nothing_due = false;
    }

    /// Requests a check of all keyspaces for compactions.
    pub(in crate::lsm) fn recheck_all(&mut self) {
        let with_tables = self.state.keyspaces.iter().filter(|(_, keyspace)| keyspace.levels.iter().next().is_some());
        self.compaction_candidates = with_tables.map(|(&id, _)| id).collect();
        self.is_nothing_due = false;
    }

    /// Registers the files that a change adds, and releases those it removes.
    pub(super) fn apply_files(&mut self, change: &mut StateChange, learner: Option<&dyn Learner>) {
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
    pub(in crate::lsm) fn needed_files(&self) -> HashSet<String> {
        let tables = self.state.tables().map(|(_, _, table)| file_name(table.number, FileKind::Table));
        let logs = self.state.logs.iter().map(|&number| file_name(number, FileKind::Log));
        let values = self.values.0.keys().chain(self.state.value_files.keys());
        let values = values.map(|&number| file_name(number, FileKind::Values));
        tables.chain(logs).chain(values).collect()
    }

    /// Adds a value file.
    pub(in crate::lsm) fn add_values(&mut self, handle: Arc<ValueHandle>) {
        let mut values = ValueFiles::clone(&self.values);
        values.0.insert(handle.number, handle);
        self.values = Arc::new(values);
    }

    /// Reverts [`Self::add_values`].
    pub(in crate::lsm) fn forget_values(&mut self, number: u64) {
        let mut values = ValueFiles::clone(&self.values);
        values.0.remove(&number);
        self.values = Arc::new(values);
    }

    /// The current view of a keyspace.
    pub(super) fn view(&self, id: KeyspaceId, before: &OpenLevels) -> KeyspaceView {
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
            time: Arc::clone(&self.empty_view.time),
        }
    }

    /// The value files that tables point into. The result need not be replaced when other value files are added.
    fn values_of(&self, levels: &KeyspaceLevels) -> Arc<ValueFiles> {
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
    fn levels(&self, levels: &KeyspaceLevels, before: &OpenLevels) -> OpenLevels {
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
