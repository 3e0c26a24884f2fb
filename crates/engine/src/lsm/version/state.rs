//! What a store consists of.

use super::edit::Edit;
use super::levels::Levels;
use super::names::NUMBERS_MAX;
use super::table::TableMeta;
use crate::block::header::StoreBinding;
use crate::error::Error;
use crate::lsm::entry::{KeyspaceId, Sequence};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

/// The keyspace that every store has.
const DEFAULT_KEYSPACE: (KeyspaceId, &str) = (0, "default");

/// A keyspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyspaceState {
    pub(crate) name: String,
    pub(crate) levels: Levels,
}

/// A value file that is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ValueFileMeta {
    /// Its length.
    pub(crate) bytes: u64,
    /// Bytes that tables point at. Entries that a newer one in another table shadows still count, until a compaction meets both.
    pub(crate) live_bytes: u64,
    /// Tables that point into it.
    pub(crate) tables: u64,
}

impl ValueFileMeta {
    /// Bytes that nothing points at.
    pub(crate) fn dead_bytes(&self) -> u64 {
        self.bytes.saturating_sub(self.live_bytes)
    }
}

/// What a store consists of: one moment of it. It is changed by [edits](Edit) only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct State {
    /// Identity of the store: 64 random bits.
    pub(crate) owner: u64,
    /// The opening for writing that the manifest is of: 64 random bits; 0 in those of the first version.
    pub(crate) nonce: u64,
    pub(crate) keyspaces: BTreeMap<KeyspaceId, KeyspaceState>,
    /// Complete value files by number.
    pub(crate) value_files: BTreeMap<u64, ValueFileMeta>,
    /// Write-ahead logs that are needed, and so must be there.
    pub(crate) logs: BTreeSet<u64>,
    /// No log with a lesser number is needed.
    pub(crate) oldest_log: u64,
    /// The next file may have this number.
    pub(crate) next_file: u64,
    /// Greatest sequence number that tables have.
    pub(crate) last_sequence: Sequence,
    /// The next keyspace has this number.
    pub(crate) next_keyspace: KeyspaceId,
    /// No file has this number or a greater one; 0 where that is not known, as in manifests of the first version.
    pub(crate) reserved: u64,
    /// The openings that wrote the logs and value files of others than this one, by number of the file.
    pub(crate) bound: BTreeMap<u64, u64>,
    /// Where logs ended that are known to take no more, by number.
    pub(crate) logs_ended: BTreeMap<u64, u64>,
    /// Openings whose logs may be there although nothing names them, by nonce.
    pub(crate) known: BTreeSet<u64>,
    /// The numbers of the keyspaces by name.
    pub(super) names: BTreeMap<String, KeyspaceId>,
    /// The numbers of all tables.
    pub(super) numbers: HashSet<u64>,
}

/// What an edit has changed of a state, as it was before.
#[derive(Debug)]
pub(crate) struct Undo {
    /// All but keyspaces and tables.
    rest: State,
    /// The keyspaces that the edit names; `None` for one that was not there.
    keyspaces: Vec<(KeyspaceId, Option<KeyspaceState>)>,
}

/// With more openings than this, those that no file is of any more are forgotten.
const KNOWN_OPENINGS_MAX: usize = 64;

/// An edit that does not fit a state: what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Inconsistent(pub(crate) String);

impl Inconsistent {
    /// As damage at `offset` of the manifest at `path`.
    pub(crate) fn into_error(self, path: impl Into<PathBuf>, offset: u64) -> Error {
        Error::damaged(path, offset, self.0)
    }
}

type Outcome = Result<(), Inconsistent>;

fn refuse<T>(detail: String) -> Result<T, Inconsistent> {
    Err(Inconsistent(detail))
}

impl State {
    /// A new store: the default keyspace, and nothing in it.
    pub(crate) fn new(owner: u64) -> Self {
        let (id, name) = DEFAULT_KEYSPACE;
        let keyspace = KeyspaceState { name: name.to_owned(), levels: Levels::default() };
        let names = [(name.to_owned(), id)].into();
        Self { keyspaces: [(id, keyspace)].into(), next_keyspace: id + 1, names, ..Self::empty(owner) }
    }

    /// What the snapshot at the start of a manifest is applied to.
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
        }
    }

    /// What the files of this opening are bound to.
    pub(crate) fn bond(&self) -> StoreBinding {
        StoreBinding { store: self.owner, nonce: self.nonce }
    }

    /// What a log or a value file is bound to.
    pub(crate) fn bond_of(&self, number: u64) -> StoreBinding {
        StoreBinding { store: self.owner, nonce: self.bound.get(&number).copied().unwrap_or(self.nonce) }
    }

    /// Whether a log that nothing names may be what an opening has left.
    pub(crate) fn knows(&self, bond: StoreBinding) -> bool {
        bond.store == self.owner && (bond.nonce == self.nonce || self.known.contains(&bond.nonce))
    }

    /// Makes this the state of a new opening: what is there stays of those that wrote it.
    pub(crate) fn begin_opening(&mut self, nonce: u64) {
        for &number in self.logs.iter().chain(self.value_files.keys()) {
            self.bound.entry(number).or_insert(self.nonce);
        }
        // A new store has had none.
        if self.nonce != 0 || self.next_file > 1 {
            self.known.insert(self.nonce);
        }
        self.nonce = nonce;
    }

    /// Names no log any more. What is needed is said to begin where it did.
    pub(crate) fn drop_logs(&mut self) {
        self.logs_ended.clear();
        for number in std::mem::take(&mut self.logs) {
            self.bound.remove(&number);
        }
    }

    /// Whether openings should be forgotten.
    pub(crate) fn knows_many(&self) -> bool {
        self.known.len() > KNOWN_OPENINGS_MAX
    }

    /// Forgets the openings that no file which is named is of. There must be no other files of theirs, durably.
    pub(crate) fn forget_openings(&mut self) {
        self.known = self.bound.values().copied().collect();
    }

    /// The number of the keyspace of a name.
    pub(crate) fn keyspace_named(&self, name: &str) -> Option<KeyspaceId> {
        self.names.get(name).copied()
    }

    /// The tables of a keyspace, if there is one.
    pub(crate) fn levels(&self, keyspace: KeyspaceId) -> Option<&Levels> {
        self.keyspaces.get(&keyspace).map(|keyspace| &keyspace.levels)
    }

    /// All tables, with their keyspaces and levels.
    pub(crate) fn tables(&self) -> impl Iterator<Item = (KeyspaceId, usize, &Arc<TableMeta>)> {
        self.keyspaces
            .iter()
            .flat_map(|(&id, keyspace)| keyspace.levels.iter().map(move |(level, table)| (id, level, table)))
    }

    /// Value files that no table points into: an edit may remove them.
    pub(crate) fn unreferenced_value_files(&self) -> Vec<u64> {
        self.value_files.iter().filter(|(_, file)| file.tables == 0).map(|(&number, _)| number).collect()
    }

    /// The state after an edit.
    ///
    /// # Errors
    /// As [`Self::change`].
    pub(crate) fn apply(&self, edit: &Edit) -> Result<Self, Inconsistent> {
        let mut next = self.clone();
        next.change(edit)?;
        Ok(next)
    }

    /// As [`Self::change`], with what takes it back by [`Self::restore`]; after an error the state is as before. Costs what the edit
    /// does, however many keyspaces there are that it does not name.
    pub(crate) fn change_undoably(&mut self, edit: &Edit) -> Result<Undo, Inconsistent> {
        let created = edit.keyspaces_created.iter().map(|(id, _)| *id);
        let removed = edit.removed.iter().map(|(id, ..)| *id);
        let added = edit.added.iter().map(|(id, ..)| *id);
        let named: BTreeSet<KeyspaceId> =
            created.chain(edit.keyspaces_dropped.iter().copied()).chain(removed).chain(added).collect();
        let keyspaces = named.into_iter().map(|id| (id, self.keyspaces.get(&id).cloned())).collect();
        let undo = Undo { rest: self.without_keyspaces(), keyspaces };
        match self.change(edit) {
            Ok(()) => Ok(undo),
            Err(inconsistent) => {
                self.restore(undo);
                Err(inconsistent)
            }
        }
    }

    /// Takes the last change back.
    pub(crate) fn restore(&mut self, undo: Undo) {
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

    /// A copy of all but keyspaces and tables.
    fn without_keyspaces(&mut self) -> Self {
        let (keyspaces, names) = (std::mem::take(&mut self.keyspaces), std::mem::take(&mut self.names));
        let numbers = std::mem::take(&mut self.numbers);
        let copy = self.clone();
        (self.keyspaces, self.names, self.numbers) = (keyspaces, names, numbers);
        copy
    }

    /// Changes the state by an edit; after an error it is worth nothing.
    ///
    /// # Errors
    /// What does not fit: removing what is not there, tables of a level that overlap, numbers used twice or going back. The manifest is
    /// damaged then, or the store has a bug.
    pub(super) fn change(&mut self, edit: &Edit) -> Outcome {
        self.change_numbers(edit)?;
        for (id, name) in &edit.keyspaces_created {
            self.create_keyspace(*id, name)?;
        }
        self.bound.extend(edit.bound.iter().copied());
        self.known.extend(&edit.known);
        for &(number, bytes) in &edit.value_files_added {
            self.check_unused(number)?;
            self.value_files.insert(number, ValueFileMeta { bytes, live_bytes: 0, tables: 0 });
        }
        for &(keyspace, level, number) in &edit.removed {
            self.remove_table(keyspace, level, number)?;
        }
        self.add_tables(edit)?;
        for &id in &edit.keyspaces_dropped {
            self.drop_keyspace(id)?;
        }
        for &number in &edit.value_files_removed {
            match self.forget_value_file(number) {
                Some(file) if file.tables == 0 => {}
                Some(_) => return refuse(format!("value file {number} is removed, but tables point into it")),
                None => return refuse(format!("value file {number} is removed, but not there")),
            }
        }
        self.change_logs(edit)
    }

    /// Takes a value file out, and who wrote it.
    pub(crate) fn forget_value_file(&mut self, number: u64) -> Option<ValueFileMeta> {
        self.bound.remove(&number);
        self.value_files.remove(&number)
    }

    /// The edit that makes this state of an empty one.
    pub(super) fn as_edit(&self) -> Edit {
        let tables = self.tables().map(|(keyspace, level, table)| (keyspace, level, Arc::clone(table)));
        Edit {
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
            ..Edit::default()
        }
    }

    fn change_numbers(&mut self, edit: &Edit) -> Outcome {
        fn raise<T: Ord + Copy>(number: &mut T, to: Option<T>, what: &str) -> Outcome {
            match to {
                Some(to) if to < *number => refuse(format!("the {what} goes back")),
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
        raise(&mut self.reserved, edit.reserved, "end of the numbers that are reserved")?;
        // A store that takes a million numbers a second has enough for a hundred thousand years; sums of them do not overflow.
        match self.next_file > NUMBERS_MAX || self.reserved > 2 * NUMBERS_MAX {
            true => refuse("numbers of files are beyond those that there are".to_owned()),
            false => Ok(()),
        }
    }

    fn create_keyspace(&mut self, id: KeyspaceId, name: &str) -> Outcome {
        if id >= self.next_keyspace {
            return refuse(format!("keyspace {id} is created, but the next number is {}", self.next_keyspace));
        }
        if self.keyspace_named(name).is_some() {
            return refuse(format!("there are two keyspaces called {name:?}"));
        }
        let keyspace = KeyspaceState { name: name.to_owned(), levels: Levels::default() };
        self.names.insert(name.to_owned(), id);
        match self.keyspaces.insert(id, keyspace) {
            Some(_) => refuse(format!("keyspace {id} is created, but there already")),
            None => Ok(()),
        }
    }

    fn drop_keyspace(&mut self, id: KeyspaceId) -> Outcome {
        let Some(keyspace) = self.keyspaces.remove(&id).filter(|_| id != DEFAULT_KEYSPACE.0) else {
            return refuse(format!("keyspace {id} is dropped, but may not be, or is not there"));
        };
        self.names.remove(&keyspace.name);
        for (_, table) in keyspace.levels.iter() {
            self.numbers.remove(&table.number);
            self.release_values(table);
        }
        Ok(())
    }

    fn remove_table(&mut self, keyspace: KeyspaceId, level: usize, number: u64) -> Outcome {
        let levels = self.keyspaces.get_mut(&keyspace).map(|keyspace| &mut keyspace.levels);
        let Some(table) = levels.and_then(|levels| levels.remove(level, number)) else {
            return refuse(format!(
                "table {number} is removed from level {level} of keyspace {keyspace}, but not there"
            ));
        };
        self.numbers.remove(&number);
        self.release_values(&table);
        Ok(())
    }

    fn add_tables(&mut self, edit: &Edit) -> Outcome {
        let mut added: HashSet<u64> = HashSet::new();
        let mut places: BTreeMap<(KeyspaceId, usize), Vec<Arc<TableMeta>>> = BTreeMap::new();
        for (keyspace, level, table) in &edit.added {
            self.check_table(table)?;
            if !added.insert(table.number) {
                return refuse(format!("table {} is added twice", table.number));
            }
            if self.numbers.contains(&table.number) {
                return refuse(format!("table {} is added, but there already", table.number));
            }
            self.hold_values(table)?;
            places.entry((*keyspace, *level)).or_default().push(Arc::clone(table));
        }
        for ((keyspace, level), tables) in places {
            let Some(keyspace) = self.keyspaces.get_mut(&keyspace) else {
                return refuse(format!("a table is added to keyspace {keyspace}, which is not there"));
            };
            keyspace.levels.add(level, tables).map_err(Inconsistent)?;
        }
        self.numbers.extend(added);
        Ok(())
    }

    fn check_table(&self, table: &TableMeta) -> Outcome {
        if !table.is_sensible() {
            return refuse(format!("what is said of table {} makes no sense", table.number));
        }
        let sequence = table.global_sequence.unwrap_or(0).max(table.largest_sequence);
        if sequence > self.last_sequence {
            return refuse(format!("table {} has sequence number {sequence}, beyond the last one", table.number));
        }
        let is_other = self.value_files.contains_key(&table.number) || self.logs.contains(&table.number);
        if table.number >= self.next_file || is_other {
            return refuse(format!("the number of table {} is another file's", table.number));
        }
        Ok(())
    }

    /// For files other than tables, whose numbers are checked as they are added.
    fn check_unused(&self, number: u64) -> Outcome {
        let used = self.value_files.contains_key(&number) || self.logs.contains(&number);
        if used || number >= self.next_file || self.numbers.contains(&number) {
            return refuse(format!("file {number} is added, but the number is another file's"));
        }
        Ok(())
    }

    fn hold_values(&mut self, table: &TableMeta) -> Outcome {
        for (number, bytes) in &table.values {
            let Some(file) = self.value_files.get_mut(number) else {
                return refuse(format!("table {} points into value file {number}, which is not there", table.number));
            };
            file.live_bytes = file.live_bytes.saturating_add(*bytes);
            file.tables += 1;
        }
        Ok(())
    }

    fn release_values(&mut self, table: &TableMeta) {
        for (number, bytes) in &table.values {
            if let Some(file) = self.value_files.get_mut(number) {
                file.live_bytes = file.live_bytes.saturating_sub(*bytes);
                file.tables = file.tables.saturating_sub(1);
            }
        }
    }

    fn change_logs(&mut self, edit: &Edit) -> Outcome {
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
            return refuse(format!("it says where log {number} ended, but does not name that"));
        }
        let is_there = |number| self.logs.contains(number) || self.value_files.contains_key(number);
        match self.bound.keys().find(|number| !is_there(*number)) {
            Some(number) => refuse(format!("it says who wrote file {number}, but nothing names that")),
            None => Ok(()),
        }
    }
}
