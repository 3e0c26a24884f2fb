//! The history of a store at one time: the logs that are left, oldest first, and what is in no log.

use super::followed_objects::HistoryObjects;
use crate::block::header::StoreBinding;
use crate::error::{Error, Result};
use crate::io::{ReadableFile, Storage};
use crate::lsm::core::store::Core;
use crate::lsm::open::newest_state::{attempts, changed, is_removal, newest};
use crate::lsm::state::entry::{KeyspaceId, SEQUENCE_MAX, Sequence};
use crate::lsm::state::keyspace_tree::KeyspaceTree;
use crate::lsm::state::keyspace_tree::is_of_store;
use crate::lsm::state::log_header::log_name;
use crate::lsm::state::tables::value_files::ValueFiles;
use crate::lsm::state::version::{
    DroppedKeyspace, FileKind, KeptChanges, ManifestState, StatedTypes, file_name, kept_name,
};
use crate::lsm::state::view::KeyspaceView;
use crate::table::Table;
use crate::vlog::{ValueFile, ValueFilePointer, values_name};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::Arc;

/// Attempts of a reader to find the files that a manifest names, at least.
const READER_TRIES_MIN: u32 = 8;

/// The history of a store at one time.
pub(super) struct StoreHistory {
    /// The logs by number, with those that a follower is through left out.
    pub(super) logs: VecDeque<HistoryLog>,
    /// What is in no log, by its first number.
    pub(super) events: BTreeMap<Sequence, HistoryEvent>,
    pub(super) keyspaces: BTreeMap<KeyspaceId, Arc<KeyspaceTree>>,
    pub(super) values: HistoryValues,
    /// The newest change, if it is known without reading the logs.
    pub(super) last: Option<Sequence>,
    /// No change of tables is newer.
    pub(super) base: Sequence,
    /// On an object store: what it is read from.
    pub(super) objects: Option<HistoryObjects>,
}

/// What a follower has not read yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnreadChanges {
    /// The newest change that it has.
    pub(super) after: Sequence,
    /// The oldest log of which it has not read everything.
    pub(super) log: u64,
}

impl StoreHistory {
    /// The newest change that there is for sure.
    pub(super) fn newest(&self) -> Sequence {
        self.last.unwrap_or(self.base)
    }
}

/// A log.
pub(super) struct HistoryLog {
    pub(super) number: u64,
    pub(super) binding: StoreBinding,
    /// On an object store it is opened when it is read.
    pub(super) file: Option<Arc<dyn ReadableFile>>,
    /// Where it ends, if that is known.
    pub(super) end: Option<u64>,
    /// What is newer in it did not take place.
    pub(super) last: Sequence,
}

/// What is in no log.
#[derive(Clone)]
pub(super) enum HistoryEvent {
    Ingested(KeyspaceId, Arc<Table>),
    Dropped(KeyspaceId),
    /// Up to this number there is no change.
    Gap(Sequence),
}

/// The values that are not in logs.
pub(super) enum HistoryValues {
    Open(Arc<ValueFiles>),
    /// Of a reader: opened when they are needed.
    OnDemand {
        storage: Arc<dyn Storage>,
        store: u64,
        files: BTreeMap<u64, ValueFile>,
    },
}

impl HistoryValues {
    /// Reads a value of at most `limit_bytes`.
    pub(super) fn get(&mut self, pointer: &[u8], limit_bytes: u64, folder: &Path) -> Result<Vec<u8>> {
        match self {
            Self::Open(files) => Ok(files.get(pointer, limit_bytes, &|| folder.to_owned())?.to_vec()),
            Self::OnDemand { storage, store, files } => {
                let pointer = ValueFilePointer::decode(pointer)
                    .ok_or_else(|| Error::damaged(folder, 0, "a value pointer is malformed"))?;
                let file = match files.entry(pointer.file) {
                    Entry::Occupied(open) => open.into_mut(),
                    Entry::Vacant(unknown) => {
                        // What the writer has left to the operating system must not be lost once it is followed.
                        if !storage.is_object_store() {
                            storage.open_update(&values_name(pointer.file))?.sync()?;
                        }
                        unknown.insert(ValueFile::open_of_store(&**storage, *store, pointer.file)?)
                    }
                };
                Ok(file.get(&pointer, limit_bytes)?.to_vec())
            }
        }
    }
}

impl Core {
    /// The part of the history of a store in a folder that is unread.
    pub(super) fn history(&self, unread: UnreadChanges) -> Result<StoreHistory> {
        if self.access.is_read_only() { self.history_of_reader(unread) } else { self.own_history(unread) }
    }

    /// The history of a store that is open for writing. All changes in it are durable.
    fn own_history(&self, unread: UnreadChanges) -> Result<StoreHistory> {
        let writer = self.durable_writer()?;
        let shared = self.contents.lock();
        if self.is_closed() {
            return Err(self.closed());
        }
        let kept = self.contents.kept.lock();
        let storage = &self.files.storage;
        let mut history = self.history_of_state((&shared.state, &kept), unread, &shared.empty_view, storage)?;
        // Types that are stated now count for values that are read now.
        history.keyspaces.extend(shared.trees.iter().map(|(&id, tree)| (id, Arc::clone(tree))));
        history.last = Some(writer.active.last_sequence);
        history.values = HistoryValues::Open(Arc::clone(&shared.values));
        for set in shared.sealed.iter().map(|set| &**set).chain([&writer.active]) {
            let is_read = |number: u64| number < unread.log || set.last_sequence <= unread.after;
            for log in set.logs.iter().filter(|log| !is_read(log.number) && !kept.has_log(log.number)) {
                let end = Some(log.bytes).filter(|&bytes| bytes > 0);
                let last = set.last_sequence;
                history.logs.push_back(HistoryLog { end, last, ..self.needed_log(&shared.state, log.number)? });
            }
        }
        let current = writer.active.logs.last().map(|log| log.number);
        if let (Some(log), Some(last)) = (&writer.log, history.logs.back_mut())
            && current == Some(last.number)
        {
            last.end = Some(log.len_bytes());
        }
        Ok(history)
    }

    /// The history as its writer has left it in its files until now.
    fn history_of_reader(&self, unread: UnreadChanges) -> Result<StoreHistory> {
        let (storage, store) = (&self.files.storage, self.files.binding.store);
        for attempt in attempts(READER_TRIES_MIN) {
            let Some(state) = newest(storage)? else { continue };
            if state.owner != store {
                return Err(Error::gone(self.path()));
            }
            // The record has a log before the manifest lacks it.
            let kept = KeptChanges::read(&**storage, store)?;
            match self.history_of_files(&state, &kept, unread) {
                Err(error) if is_removal(&error) && attempt < READER_TRIES_MIN => {}
                outcome => return outcome,
            }
        }
        Err(changed(&**storage))
    }

    fn history_of_files(
        &self,
        state: &ManifestState,
        kept: &KeptChanges,
        unread: UnreadChanges,
    ) -> Result<StoreHistory> {
        let view = self.contents.lock().empty_view.clone();
        let mut history = self.history_of_state((state, kept), unread, &view, &self.files.storage)?;
        for &number in state.logs.iter().filter(|&&number| number >= unread.log && !kept.has_log(number)) {
            history.logs.push_back(self.needed_log(state, number)?);
            // Its length is known now. What the writer has left to the operating system must not be lost once it is
            // followed.
            self.files.storage.open_update(&log_name(number))?.sync()?;
        }
        Ok(history)
    }

    fn needed_log(&self, state: &ManifestState, number: u64) -> Result<HistoryLog> {
        let file = Some(self.files.storage.open(&log_name(number))?);
        let end = state.logs_ended.get(&number).copied();
        Ok(HistoryLog { number, binding: state.binding_of(number), file, end, last: SEQUENCE_MAX })
    }

    /// What is kept of the history, and what the state of the store says of it.
    pub(super) fn history_of_state(
        &self,
        (state, kept): (&ManifestState, &KeptChanges),
        unread: UnreadChanges,
        view: &KeyspaceView,
        storage: &Arc<dyn Storage>,
    ) -> Result<StoreHistory> {
        let store = self.files.binding.store;
        let tree = |id: KeyspaceId, name: &str, types: &StatedTypes| {
            let named = (id, name.to_owned());
            (id, Arc::new(KeyspaceTree::new(named, self.path().into(), types.clone(), view.clone())))
        };
        let mut keyspaces: BTreeMap<KeyspaceId, Arc<KeyspaceTree>> =
            state.keyspaces.iter().map(|(&id, keyspace)| tree(id, &keyspace.name, &keyspace.types)).collect();
        let mut logs = VecDeque::new();
        for set in kept.sets.iter().filter(|set| set.last > unread.after) {
            for &(number, nonce) in set.logs.iter().filter(|(number, _)| *number >= unread.log) {
                let is_opened = !storage.is_object_store();
                let open = || storage.open(&kept_name(number, FileKind::Log));
                let file = is_opened.then(open).transpose()?;
                let binding = StoreBinding { store, nonce };
                logs.push_back(HistoryLog { number, binding, file, end: None, last: set.last });
            }
        }
        let mut events = BTreeMap::new();
        for (&sequence, table) in kept.tables.range(unread.after + 1..) {
            let opened = match storage.is_object_store() {
                true => self.open_ingested(storage, &file_name(table.number, FileKind::Table)),
                false => self.open_ingested(storage, &kept_name(table.number, FileKind::Table)),
            };
            match opened {
                // It was forgotten, which a later edit says: its number is not explained.
                Err(error) if storage.is_object_store() && is_removal(&error) => {}
                opened => _ = events.insert(sequence, HistoryEvent::Ingested(table.keyspace, opened?)),
            }
        }
        for (id, _, table) in state.tables() {
            if let Some(sequence) = table.global_sequence.filter(|&sequence| sequence > unread.after) {
                if keyspaces.get(&id).is_some_and(|tree| is_of_store(&tree.name)) {
                    events.insert(sequence, HistoryEvent::Gap(sequence));
                    continue;
                }
                let opened = self.open_ingested(storage, &file_name(table.number, FileKind::Table))?;
                events.insert(sequence, HistoryEvent::Ingested(id, opened));
            }
        }
        // A drop that is recorded, but did not take place, failed.
        for (&sequence, all) in &kept.dropped {
            let dropped = all.iter().filter(|dropped| !keyspaces.contains_key(&dropped.id));
            for DroppedKeyspace { id, name, .. } in dropped {
                if is_of_store(name) {
                    events.entry(sequence).or_insert(HistoryEvent::Gap(sequence));
                } else {
                    events.insert(sequence, HistoryEvent::Dropped(*id));
                }
            }
        }
        for DroppedKeyspace { id, name, types, .. } in kept.dropped.values().flatten() {
            keyspaces.entry(*id).or_insert_with(|| tree(*id, name, types).1);
        }
        events.extend(kept.gaps.iter().map(|(&first, &last)| (first, HistoryEvent::Gap(last))));
        let values = HistoryValues::OnDemand { storage: Arc::clone(storage), store, files: BTreeMap::new() };
        let (last, base) = (None, state.last_sequence);
        Ok(StoreHistory { logs, events, keyspaces, values, last, base, objects: None })
    }

    fn open_ingested(&self, storage: &Arc<dyn Storage>, name: &str) -> Result<Arc<Table>> {
        let (storage, cache) = (Arc::clone(storage), &self.files.cache);
        Ok(Arc::new(Table::open_with(storage, name, cache, &self.options.of_tables())?))
    }
}
