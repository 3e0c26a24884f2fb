//! The manifest state: the contents of a store, and the checks that each edit must pass.

use super::edit::{ManifestEdit, StatedTypes};
use super::file_names::FILE_NUMBER_MAX;
use super::index_record::{INDEX_PREFIX, IndexRecord};
use super::kept_changes::KeptChanges;
use super::keyspace_options::KeyspaceOptions;
use super::levels::KeyspaceLevels;
use super::manifest::{ALTERED_FORMAT, EXPIRING_FORMAT, INDEXED_FORMAT, OPTIONS_FORMAT, newest_format};
use super::table::TableFileMeta;
use crate::block::header::StoreBinding;
use crate::error::Error;
use crate::lsm::state::entry::{KeyspaceId, Sequence};
use crate::lsm::state::expiry::store_time::RecordedTimes;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

/// The default keyspace, which always exists.
const DEFAULT_KEYSPACE: (KeyspaceId, &str) = (0, "default");

/// A keyspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyspaceState {
    pub(crate) name: String,
    pub(crate) types: StatedTypes,
    pub(crate) levels: KeyspaceLevels,
    /// The index whose entries these are, if they are.
    pub(crate) index: Option<Arc<IndexRecord>>,
    /// What it has other than the options of the store say.
    pub(crate) options: KeyspaceOptions,
}

impl KeyspaceState {
    /// An empty keyspace of untyped keys and values.
    fn new(name: &str) -> Self {
        let (types, levels, options) = Default::default();
        Self { name: name.to_owned(), types, levels, index: None, options }
    }
}

/// Metadata of a complete value file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ValueFileMeta {
    /// Length of the file.
    pub(crate) bytes: u64,
    /// Bytes that tables point at. Entries shadowed by a newer one in another table still count, until a compaction
    /// meets both.
    pub(crate) live_bytes: u64,
    /// Number of tables that point into it.
    pub(crate) tables: u64,
}

impl ValueFileMeta {
    /// Bytes that no table points at.
    pub(crate) fn dead_bytes(&self) -> u64 {
        self.bytes.saturating_sub(self.live_bytes)
    }
}

/// The contents of a store at one time, changed by [edits](ManifestEdit) only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ManifestState {
    /// Identity of the store: 64 random bits.
    pub(crate) owner: u64,
    /// The opening for writing that wrote the manifest: 64 random bits.
    pub(crate) nonce: u64,
    pub(crate) keyspaces: BTreeMap<KeyspaceId, KeyspaceState>,
    /// Complete value files by number.
    pub(crate) value_files: BTreeMap<u64, ValueFileMeta>,
    /// Write-ahead logs that are needed, and so must exist.
    pub(crate) logs: BTreeSet<u64>,
    /// Logs with smaller numbers are not needed.
    pub(crate) oldest_log: u64,
    /// The next file number.
    pub(crate) next_file: u64,
    /// Largest sequence number in any table.
    pub(crate) last_sequence: Sequence,
    /// The next keyspace number.
    pub(crate) next_keyspace: KeyspaceId,
    /// An upper bound of all file numbers; 0 if unknown.
    pub(crate) reserved: u64,
    /// The openings of logs and value files that another opening wrote, by file number.
    pub(crate) bound: BTreeMap<u64, u64>,
    /// The ends of finished logs, by number.
    pub(crate) logs_ended: BTreeMap<u64, u64>,
    /// Openings whose logs may exist without a reference, by nonce.
    pub(crate) known: BTreeSet<u64>,
    /// The format of the store. It stays as it is until the store is told to have the newest, or a keyspace is altered.
    pub(crate) format: u32,
    /// On an object store: files that wait for their removal, with the time since when, as of the last full state.
    pub(crate) retired: BTreeMap<String, u64>,
    /// On an object store: what is kept for followers.
    pub(crate) kept: KeptChanges,
    /// The times of a store with records that expire.
    pub(crate) times: Option<RecordedTimes>,
    /// Keyspace numbers by name.
    pub(super) names: BTreeMap<String, KeyspaceId>,
    /// The numbers of all tables.
    pub(super) numbers: HashSet<u64>,
}

/// The parts of a state that an edit changed, as they were before.
#[derive(Debug)]
pub(crate) struct StateUndo {
    /// Everything except keyspaces and tables.
    rest: ManifestState,
    /// The keyspaces that the edit names; `None` for one that did not exist.
    keyspaces: Vec<(KeyspaceId, Option<KeyspaceState>)>,
}

/// Beyond this number, openings without any file are forgotten.
const KNOWN_OPENINGS_MAX: usize = 64;

/// The reason why an edit does not fit a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InconsistentEdit(pub(crate) String);

impl InconsistentEdit {
    /// Converts to damage at `offset` of the manifest at `path`.
    pub(crate) fn into_error(self, path: impl Into<PathBuf>, offset: u64) -> Error {
        Error::damaged(path, offset, self.0)
    }
}

type EditResult<T = ()> = Result<T, InconsistentEdit>;

fn refuse<T>(detail: String) -> Result<T, InconsistentEdit> {
    Err(InconsistentEdit(detail))
}

impl ManifestState {
    /// A new store: an empty default keyspace.
    pub(crate) fn new(owner: u64) -> Self {
        let (id, name) = DEFAULT_KEYSPACE;
        let keyspace = KeyspaceState::new(name);
        let names = [(name.to_owned(), id)].into();
        Self { keyspaces: [(id, keyspace)].into(), next_keyspace: id + 1, names, ..Self::empty(owner) }
    }

    /// The empty state to which the first record of a manifest is applied.
    pub(super) fn empty(owner: u64) -> Self {
        Self {
            owner,
            nonce: 0,
            keyspaces: BTreeMap::new(),
            value_files: BTreeMap::new(),
            logs: BTreeSet::new(),
            oldest_log: 0,
            next_file: 1,
            last_sequence: 0,
            next_keyspace: 0,
            names: BTreeMap::new(),
            numbers: HashSet::new(),
            reserved: 0,
            bound: BTreeMap::new(),
            logs_ended: BTreeMap::new(),
            known: BTreeSet::new(),
            format: newest_format(),
            retired: BTreeMap::new(),
            kept: KeptChanges::default(),
            times: None,
        }
    }

    /// The identity to which files of this opening are bound.
    pub(crate) fn binding(&self) -> StoreBinding {
        StoreBinding { store: self.owner, nonce: self.nonce }
    }

    /// The identity to which a log or a value file is bound.
    pub(crate) fn binding_of(&self, number: u64) -> StoreBinding {
        StoreBinding { store: self.owner, nonce: self.bound.get(&number).copied().unwrap_or(self.nonce) }
    }

    /// Whether an opening may have left a log without a reference.
    pub(crate) fn knows(&self, binding: StoreBinding) -> bool {
        binding.store == self.owner && (binding.nonce == self.nonce || self.known.contains(&binding.nonce))
    }

    /// Turns this into the state of a new opening; existing files stay bound to the openings that wrote them.
    pub(crate) fn begin_opening(&mut self, nonce: u64) {
        for &number in self.logs.iter().chain(self.value_files.keys()) {
            self.bound.entry(number).or_insert(self.nonce);
        }
        // A new store has no earlier opening.
        if self.nonce != 0 || self.next_file > 1 {
            self.known.insert(self.nonce);
        }
        self.nonce = nonce;
    }

    /// Drops all logs, keeping `oldest_log`.
    pub(crate) fn drop_logs(&mut self) {
        self.logs_ended.clear();
        for number in std::mem::take(&mut self.logs) {
            self.bound.remove(&number);
        }
    }

    /// Drops all logs for good: those before `next` are not needed.
    pub(crate) fn end_logs(&mut self, next: u64) {
        self.drop_logs();
        self.oldest_log = self.oldest_log.max(next);
    }

    /// Turns this into the state of a copy, in which tables have names of their own and nothing waits for its removal.
    pub(crate) fn begin_copy(&mut self) {
        self.retired.clear();
        self.kept = KeptChanges::default();
        for keyspace in self.keyspaces.values_mut() {
            keyspace.levels.forget_objects();
        }
    }

    /// Whether openings should be forgotten.
    pub(crate) fn knows_many(&self) -> bool {
        self.known.len() > KNOWN_OPENINGS_MAX
    }

    /// Forgets the openings without any named file. Removals of their other files must be durable.
    pub(crate) fn forget_openings(&mut self) {
        self.known = self.bound.values().copied().collect();
    }

    /// The number of the keyspace with this name.
    pub(crate) fn keyspace_named(&self, name: &str) -> Option<KeyspaceId> {
        self.names.get(name).copied()
    }

    /// The tables of a keyspace, if it exists.
    pub(crate) fn levels(&self, keyspace: KeyspaceId) -> Option<&KeyspaceLevels> {
        self.keyspaces.get(&keyspace).map(|keyspace| &keyspace.levels)
    }

    /// All tables, with their keyspaces and levels.
    pub(crate) fn tables(&self) -> impl Iterator<Item = (KeyspaceId, usize, &Arc<TableFileMeta>)> {
        self.keyspaces
            .iter()
            .flat_map(|(&id, keyspace)| keyspace.levels.iter().map(move |(level, table)| (id, level, table)))
    }

    /// Value files that no table points into, which an edit may remove.
    pub(crate) fn unreferenced_value_files(&self) -> Vec<u64> {
        self.value_files.iter().filter(|(_, file)| file.tables == 0).map(|(&number, _)| number).collect()
    }

    /// The state after an edit.
    ///
    /// # Errors
    /// As [`Self::change`].
    pub(crate) fn apply(&self, edit: &ManifestEdit) -> Result<Self, InconsistentEdit> {
        let mut next = self.clone();
        next.change(edit)?;
        Ok(next)
    }

    /// As [`Self::change`], with an undo for [`Self::restore`]; after an error the state is unchanged. The cost depends
    /// on the edit, not on the number of keyspaces.
    pub(crate) fn change_undoably(&mut self, edit: &ManifestEdit) -> Result<StateUndo, InconsistentEdit> {
        let created = edit.keyspaces_created.iter().map(|(id, _)| *id);
        let removed = edit.removed.iter().map(|(id, ..)| *id);
        let added = edit.added.iter().map(|(id, ..)| *id);
        let typed = edit.types.iter().map(|(id, _)| *id);
        let indexes = edit.indexes.iter().map(|(id, _)| *id);
        let options = edit.options.iter().map(|(id, _)| *id);
        let changed = removed.chain(added).chain(typed).chain(indexes).chain(options);
        let named: BTreeSet<KeyspaceId> =
            created.chain(edit.keyspaces_dropped.iter().copied()).chain(changed).collect();
        let keyspaces = named.into_iter().map(|id| (id, self.keyspaces.get(&id).cloned())).collect();
        let undo = StateUndo { rest: self.without_keyspaces(), keyspaces };
        match self.change(edit) {
            Ok(()) => Ok(undo),
            Err(inconsistent) => {
                self.restore(undo);
                Err(inconsistent)
            }
        }
    }

    /// Reverts the last change.
    pub(crate) fn restore(&mut self, undo: StateUndo) {
        let after = std::mem::replace(self, undo.rest);
        (self.keyspaces, self.names, self.numbers) = (after.keyspaces, after.names, after.numbers);
        for (id, before) in undo.keyspaces {
            if let Some(keyspace) = self.keyspaces.remove(&id) {
                self.names.remove(&keyspace.name);
                keyspace.levels.iter().for_each(|(_, table)| _ = self.numbers.remove(&table.number));
            }
            if let Some(keyspace) = before {
                self.names.insert(keyspace.name.clone(), id);
                self.numbers.extend(keyspace.levels.iter().map(|(_, table)| table.number));
                self.keyspaces.insert(id, keyspace);
            }
        }
    }

    /// A copy without keyspaces and tables.
    fn without_keyspaces(&mut self) -> Self {
        let (keyspaces, names) = (std::mem::take(&mut self.keyspaces), std::mem::take(&mut self.names));
        let numbers = std::mem::take(&mut self.numbers);
        let copy = self.clone();
        (self.keyspaces, self.names, self.numbers) = (keyspaces, names, numbers);
        copy
    }

    /// Applies an edit in place; after an error the state is unusable.
    ///
    /// # Errors
    /// An edit that does not fit: removing what does not exist, overlapping tables in a level, numbers that are reused
    /// or decrease. The manifest is then damaged, or the store has a bug.
    pub(super) fn change(&mut self, edit: &ManifestEdit) -> EditResult {
        self.change_numbers(edit)?;
        for (id, name) in &edit.keyspaces_created {
            self.create_keyspace(*id, name)?;
        }
        for (id, stated) in &edit.types {
            self.state_types(*id, stated)?;
        }
        for (id, index) in &edit.indexes {
            self.state_index(*id, index)?;
        }
        for (id, options) in &edit.options {
            self.state_options(*id, options)?;
        }
        self.bound.extend(edit.bound.iter().copied());
        self.known.extend(&edit.known);
        self.retired.extend(edit.retired.iter().cloned());
        edit.kept.iter().for_each(|kept| self.kept.apply(kept));
        self.note_times(edit.times);
        for &(number, bytes) in &edit.value_files_added {
            self.check_unused(number)?;
            self.value_files.insert(number, ValueFileMeta { bytes, live_bytes: 0, tables: 0 });
        }
        let mut removed = Vec::new();
        for &(keyspace, level, number) in &edit.removed {
            removed.push(self.remove_table(keyspace, level, number)?);
        }
        self.add_tables(edit)?;
        for &id in &edit.keyspaces_dropped {
            removed.extend(self.drop_keyspace(id)?);
        }
        if !edit.keyspaces_dropped.is_empty()
            && let Some((id, index)) = self.indexes().find(|(_, index)| !self.keyspaces.contains_key(&index.owner))
        {
            return refuse(format!("keyspace {} is dropped, but not keyspace {id}, its index", index.owner));
        }
        self.retire_objects(&removed);
        for &number in &edit.value_files_removed {
            match self.forget_value_file(number) {
                Some(file) if file.tables == 0 => {}
                Some(_) => return refuse(format!("value file {number} is removed, but tables point into it")),
                None => return refuse(format!("value file {number} is removed, but does not exist")),
            }
        }
        self.change_logs(edit)
    }

    /// Removes a value file, and the record of its opening.
    pub(crate) fn forget_value_file(&mut self, number: u64) -> Option<ValueFileMeta> {
        self.bound.remove(&number);
        self.value_files.remove(&number)
    }

    /// The edit that turns an empty state into this one.
    pub(super) fn as_edit(&self) -> ManifestEdit {
        let tables = self.tables().map(|(keyspace, level, table)| (keyspace, level, Arc::clone(table)));
        ManifestEdit {
            keyspaces_created: self.keyspaces.iter().map(|(&id, keyspace)| (id, keyspace.name.clone())).collect(),
            added: tables.collect(),
            value_files_added: self.value_files.iter().map(|(&number, file)| (number, file.bytes)).collect(),
            logs_added: self.logs.iter().copied().collect(),
            oldest_log: Some(self.oldest_log),
            next_file: Some(self.next_file),
            last_sequence: Some(self.last_sequence),
            next_keyspace: Some(self.next_keyspace),
            reserved: Some(self.reserved),
            bound: self.bound.iter().map(|(&number, &nonce)| (number, nonce)).collect(),
            logs_ended: self.logs_ended.iter().map(|(&number, &bytes)| (number, bytes)).collect(),
            known: self.known.iter().copied().collect(),
            types: self.types(),
            indexes: self.indexes().map(|(id, index)| (id, Arc::clone(index))).collect(),
            options: self.options(),
            retired: self.retired.iter().map(|(name, &since_s)| (name.clone(), since_s)).collect(),
            times: self.times,
            kept: Some(&self.kept).filter(|kept| !kept.is_empty()).cloned(),
            ..ManifestEdit::default()
        }
    }

    /// The types of all keyspaces for which any were stated.
    fn types(&self) -> Vec<(KeyspaceId, StatedTypes)> {
        let typed = self.keyspaces.iter().filter(|(_, keyspace)| keyspace.types.generation > 0);
        typed.map(|(&id, keyspace)| (id, keyspace.types.clone())).collect()
    }

    /// The indexes, with the keyspaces of their entries.
    pub(crate) fn indexes(&self) -> impl Iterator<Item = (KeyspaceId, &Arc<IndexRecord>)> {
        self.keyspaces.iter().filter_map(|(&id, keyspace)| Some((id, keyspace.index.as_ref()?)))
    }

    /// The options of all keyspaces that have any of their own.
    pub(crate) fn options(&self) -> Vec<(KeyspaceId, KeyspaceOptions)> {
        let own = self.keyspaces.iter().filter(|(_, keyspace)| !keyspace.options.is_default());
        own.map(|(&id, keyspace)| (id, keyspace.options.clone())).collect()
    }

    fn state_options(&mut self, id: KeyspaceId, options: &KeyspaceOptions) -> EditResult {
        let Some(keyspace) = self.keyspaces.get_mut(&id) else {
            return refuse(format!("options are stated for keyspace {id}, which does not exist"));
        };
        keyspace.options = options.clone();
        self.format = self.format.max(OPTIONS_FORMAT);
        Ok(())
    }

    /// An edit that lets no index count as complete, nor what was built of it.
    pub(crate) fn incomplete_indexes(&self) -> Vec<(KeyspaceId, Arc<IndexRecord>)> {
        let incomplete =
            |index: &Arc<IndexRecord>| IndexRecord { is_complete: false, is_repaired: true, ..(**index).clone() };
        self.indexes().map(|(id, index)| (id, Arc::new(incomplete(index)))).collect()
    }

    fn state_index(&mut self, id: KeyspaceId, index: &Arc<IndexRecord>) -> EditResult {
        let is_owned = index.owner != id && self.keyspaces.get(&index.owner).is_some_and(|owner| owner.index.is_none());
        let Some(keyspace) = self.keyspaces.get_mut(&id).filter(|_| is_owned) else {
            return refuse(format!("keyspace {id} is an index of keyspace {}, but they do not exist", index.owner));
        };
        if !keyspace.name.starts_with(INDEX_PREFIX) {
            return refuse(format!("keyspace {id} is an index, but is called {:?}", keyspace.name));
        }
        keyspace.index = Some(Arc::clone(index));
        self.format = self.format.max(INDEXED_FORMAT);
        Ok(())
    }

    /// Notes the times of a store with records that expire: they never go back.
    pub(crate) fn note_times(&mut self, times: Option<RecordedTimes>) {
        let Some(times) = times else { return };
        self.times = Some(self.times.unwrap_or_default().latest(times));
        self.format = self.format.max(EXPIRING_FORMAT);
    }

    fn state_types(&mut self, id: KeyspaceId, stated: &StatedTypes) -> EditResult {
        let Some(keyspace) = self.keyspaces.get_mut(&id) else {
            return refuse(format!("types are stated for keyspace {id}, which does not exist"));
        };
        let before = keyspace.types.generation;
        let generation = if stated.generation == 0 { before.saturating_add(1) } else { stated.generation };
        if generation <= before {
            return refuse(format!("types of generation {generation} of keyspace {id} follow those of {before}"));
        }
        keyspace.types = StatedTypes { generation, ..stated.clone() };
        if stated.forms.is_altered() {
            self.format = self.format.max(ALTERED_FORMAT);
        }
        Ok(())
    }

    fn change_numbers(&mut self, edit: &ManifestEdit) -> EditResult {
        fn raise<T: Ord + Copy>(number: &mut T, to: Option<T>, what: &str) -> EditResult {
            match to {
                Some(to) if to < *number => refuse(format!("the {what} decreases")),
                Some(to) => {
                    *number = to;
                    Ok(())
                }
                None => Ok(()),
            }
        }
        raise(&mut self.next_file, edit.next_file, "number of the next file")?;
        raise(&mut self.last_sequence, edit.last_sequence, "last sequence number")?;
        raise(&mut self.next_keyspace, edit.next_keyspace, "number of the next keyspace")?;
        raise(&mut self.oldest_log, edit.oldest_log, "number of the oldest log")?;
        raise(&mut self.reserved, edit.reserved, "end of the reserved numbers")?;
        // At a million numbers per second, these last for a hundred thousand years, and sums of them do not overflow.
        match self.next_file > FILE_NUMBER_MAX || self.reserved > 2 * FILE_NUMBER_MAX {
            true => refuse("file numbers exceed the maximum".to_owned()),
            false => Ok(()),
        }
    }

    fn create_keyspace(&mut self, id: KeyspaceId, name: &str) -> EditResult {
        if id >= self.next_keyspace {
            return refuse(format!("keyspace {id} is created, but the next number is {}", self.next_keyspace));
        }
        if self.keyspace_named(name).is_some() {
            return refuse(format!("there are two keyspaces called {name:?}"));
        }
        let keyspace = KeyspaceState::new(name);
        self.names.insert(name.to_owned(), id);
        match self.keyspaces.insert(id, keyspace) {
            Some(_) => refuse(format!("keyspace {id} is created, but exists already")),
            None => Ok(()),
        }
    }

    /// Lets the objects of tables that are gone wait for their removal: no listing shows that they were the store's.
    /// The time since when is not known; it is in the future, which stands for the next opening.
    fn retire_objects(&mut self, removed: &[Arc<TableFileMeta>]) {
        for table in removed.iter().filter(|table| !self.numbers.contains(&table.number)) {
            self.retired.extend(table.object.iter().map(|object| (object.to_string(), u64::MAX)));
        }
    }

    fn drop_keyspace(&mut self, id: KeyspaceId) -> EditResult<Vec<Arc<TableFileMeta>>> {
        let Some(keyspace) = self.keyspaces.remove(&id).filter(|_| id != DEFAULT_KEYSPACE.0) else {
            return refuse(format!("keyspace {id} is dropped, but is the default one or does not exist"));
        };
        self.names.remove(&keyspace.name);
        let tables: Vec<Arc<TableFileMeta>> = keyspace.levels.iter().map(|(_, table)| Arc::clone(table)).collect();
        for table in &tables {
            self.numbers.remove(&table.number);
            self.release_values(table);
        }
        Ok(tables)
    }

    fn remove_table(&mut self, keyspace: KeyspaceId, level: usize, number: u64) -> EditResult<Arc<TableFileMeta>> {
        let levels = self.keyspaces.get_mut(&keyspace).map(|keyspace| &mut keyspace.levels);
        let Some(table) = levels.and_then(|levels| levels.remove(level, number)) else {
            return refuse(format!(
                "table {number} is removed from level {level} of keyspace {keyspace}, but is not in it"
            ));
        };
        self.numbers.remove(&number);
        self.release_values(&table);
        Ok(table)
    }

    fn add_tables(&mut self, edit: &ManifestEdit) -> EditResult {
        let mut added: HashSet<u64> = HashSet::new();
        let mut places: BTreeMap<(KeyspaceId, usize), Vec<Arc<TableFileMeta>>> = BTreeMap::new();
        for (keyspace, level, table) in &edit.added {
            self.check_table(table)?;
            if !added.insert(table.number) {
                return refuse(format!("table {} is added twice", table.number));
            }
            if self.numbers.contains(&table.number) {
                return refuse(format!("table {} is added, but exists already", table.number));
            }
            self.hold_values(table)?;
            places.entry((*keyspace, *level)).or_default().push(Arc::clone(table));
        }
        for ((keyspace, level), tables) in places {
            let Some(keyspace) = self.keyspaces.get_mut(&keyspace) else {
                return refuse(format!("a table is added to keyspace {keyspace}, which does not exist"));
            };
            keyspace.levels.add(level, tables).map_err(InconsistentEdit)?;
        }
        self.numbers.extend(added);
        Ok(())
    }

    fn check_table(&self, table: &TableFileMeta) -> EditResult {
        if !table.is_sensible() {
            return refuse(format!("the metadata of table {} is inconsistent", table.number));
        }
        let sequence = table.global_sequence.unwrap_or(0).max(table.largest_sequence);
        if sequence > self.last_sequence {
            return refuse(format!("table {} has sequence number {sequence}, beyond the last one", table.number));
        }
        let is_other = self.value_files.contains_key(&table.number) || self.logs.contains(&table.number);
        if table.number >= self.next_file || is_other {
            return refuse(format!("the number of table {} belongs to another file", table.number));
        }
        Ok(())
    }

    /// For files other than tables, whose numbers are checked when they are added.
    fn check_unused(&self, number: u64) -> EditResult {
        let used = self.value_files.contains_key(&number) || self.logs.contains(&number);
        if used || number >= self.next_file || self.numbers.contains(&number) {
            return refuse(format!("file {number} is added, but the number belongs to another file"));
        }
        Ok(())
    }

    fn hold_values(&mut self, table: &TableFileMeta) -> EditResult {
        for (number, bytes) in &table.values {
            let Some(file) = self.value_files.get_mut(number) else {
                return refuse(format!("table {} points into value file {number}, which does not exist", table.number));
            };
            file.live_bytes = file.live_bytes.saturating_add(*bytes);
            file.tables += 1;
        }
        Ok(())
    }

    fn release_values(&mut self, table: &TableFileMeta) {
        for (number, bytes) in &table.values {
            if let Some(file) = self.value_files.get_mut(number) {
                file.live_bytes = file.live_bytes.saturating_sub(*bytes);
                file.tables = file.tables.saturating_sub(1);
            }
        }
    }

    fn change_logs(&mut self, edit: &ManifestEdit) -> EditResult {
        for &number in &edit.logs_added {
            self.check_unused(number)?;
            self.logs.insert(number);
        }
        let needed = self.logs.split_off(&self.oldest_log);
        let dropped = std::mem::replace(&mut self.logs, needed);
        self.logs_ended.extend(edit.logs_ended.iter().copied());
        for number in dropped {
            self.bound.remove(&number);
            self.logs_ended.remove(&number);
        }
        if let Some(number) = self.logs_ended.keys().find(|number| !self.logs.contains(number)) {
            return refuse(format!("it states the end of log {number}, but does not name this log"));
        }
        let is_there = |number| self.logs.contains(number) || self.value_files.contains_key(number);
        match self.bound.keys().find(|number| !is_there(*number)) {
            Some(number) => refuse(format!("it states the opening of file {number}, but does not name this file")),
            None => Ok(()),
        }
    }
}
