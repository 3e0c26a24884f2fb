//! Log replay: what the logs of a store have, as memtables. A reader of a store on an object store keeps it for the
//! next version, which then takes only what was written since.

use super::unreferenced::UnreferencedFiles;
use crate::block::BlockCache;
use crate::block::header::StoreBinding;
use crate::error::{Cause, Error, Result};
use crate::io::Storage;
use crate::lsm::core::replayed_logs::{ReplayedLog, ReplayedLogs};
use crate::lsm::core::wal;
use crate::lsm::objects::{KnownChain, ObjectFolder};
use crate::lsm::state::entry::{KeyspaceId, Operation, decode_group};
use crate::lsm::state::log_header::log_name;
use crate::lsm::state::memtable::Memtable;
use crate::lsm::state::memtable_set::{BackingLog, MemtableSet};
use crate::lsm::state::tables::value_files::{ValueFiles, ValueHandle};
use crate::lsm::state::version::{ClosedLengths, FileKind, ManifestState, ReadManifest, file_name};
use crate::vlog::{ValueFile, ValueFilePointer, values_name};
use std::collections::{BTreeMap, HashSet};
use std::io::ErrorKind;
use std::sync::Arc;

/// The state of a log replay.
#[derive(Debug)]
pub(super) struct LogReplay<'a> {
    storage: &'a Arc<dyn Storage>,
    objects: Option<&'a ObjectFolder>,
    keyspaces: HashSet<KeyspaceId>,
    /// The number of the next keyspace.
    next_keyspace: KeyspaceId,
    /// The identity of the current log, to which the value files it points into are bound as well.
    binding: StoreBinding,
    pub(super) values: ValueFiles,
    pub(super) memtable_set: MemtableSet,
    /// Value files that entries of the logs point into.
    pub(super) unflushed: HashSet<u64>,
    /// For each of them, the end of the last such value.
    pub(super) ends: BTreeMap<u64, u64>,
    /// For a reader of a store on an object store: what was replayed of logs before, and is now, oldest first. Each has
    /// memtables of its own, so that those of a flushed log go with it.
    before: BTreeMap<u64, ReplayedLog>,
    logs: Vec<ReplayedLog>,
}

/// The extent of what the logs of a store have, up to the last whole group.
#[derive(Debug)]
pub(in crate::lsm) struct LogExtents {
    /// The logs by number, with their ends.
    pub(in crate::lsm) logs: Vec<(u64, u64)>,
    /// The value files that only logs point into, each with the end of the last value.
    pub(in crate::lsm) values: Vec<(Arc<ValueHandle>, u64)>,
}

/// Replays the logs of a store to find where they end. Memory: as much as their entries take.
pub(in crate::lsm) fn replay_extents(
    storage: &Arc<dyn Storage>,
    state: &ManifestState,
    closed: Option<&ClosedLengths>,
    unnamed: &UnreferencedFiles,
) -> Result<LogExtents> {
    let mut replayed = LogReplay::new(storage, None, state, None)?;
    replayed.replay(state, closed, unnamed)?;
    let LogReplay { memtable_set, ends, .. } = replayed;
    let logs = memtable_set.logs.iter().map(|log| (log.number, log.bytes)).collect();
    let end = |handle: &Arc<ValueHandle>| ends.get(&handle.number).copied().unwrap_or(0);
    let values = memtable_set.values.iter().map(|handle| (Arc::clone(handle), end(handle))).collect();
    Ok(LogExtents { logs, values })
}

impl<'a> LogReplay<'a> {
    /// A replay of the logs of a state. It goes on with what a reader has `replayed` before.
    pub(super) fn new(
        storage: &'a Arc<dyn Storage>,
        objects: Option<&'a ObjectFolder>,
        state: &ManifestState,
        replayed: Option<ReplayedLogs>,
    ) -> Result<Self> {
        let mut values = ValueFiles::default();
        for (&number, meta) in &state.value_files {
            if let Some(objects) = objects {
                let file = objects.open_later(&values_name(number), meta.bytes);
                let file = ValueFile::known(file, state.binding_of(number), number);
                values.0.insert(number, ValueHandle::new(storage, number, Arc::new(file)));
                continue;
            }
            let handle = open_values(storage, state.binding_of(number), number)?;
            if handle.file.len_bytes() < meta.bytes {
                let path = storage.path(&file_name(number, FileKind::Values));
                let detail = format!("it had {} bytes when it was complete", meta.bytes);
                return Err(Error::damaged(path, handle.file.len_bytes(), detail));
            }
            values.0.insert(number, handle);
        }
        let keyspaces = state.keyspaces.keys().copied().collect();
        let (mut unflushed, mut before, mut ends) = (HashSet::new(), BTreeMap::new(), BTreeMap::new());
        if let Some(replayed) = replayed {
            ends = replayed.ends;
            for log in replayed.logs.into_iter().filter(|log| state.logs.contains(&log.number)) {
                for handle in &log.memtable_set.values {
                    unflushed.extend((!values.0.contains_key(&handle.number)).then_some(handle.number));
                    values.0.entry(handle.number).or_insert_with(|| Arc::clone(handle));
                }
                before.insert(log.number, log);
            }
        }
        let mut memtable_set = MemtableSet::of(BTreeMap::new());
        memtable_set.last_sequence = state.last_sequence;
        let (binding, logs) = (state.binding(), Vec::new());
        let next_keyspace = state.next_keyspace;
        Ok(Self {
            storage,
            objects,
            keyspaces,
            next_keyspace,
            binding,
            values,
            memtable_set,
            unflushed,
            ends,
            before,
            logs,
        })
    }

    /// What the next version of a reader can go on with.
    pub(super) fn replayed(
        &mut self,
        cache: &Arc<BlockCache>,
        manifest: Option<(ReadManifest, KnownChain)>,
    ) -> ReplayedLogs {
        self.logs.iter_mut().for_each(|log| log.reserve(cache));
        ReplayedLogs { manifest, keyspaces: self.keyspaces.clone(), logs: self.logs.clone(), ends: self.ends.clone() }
    }

    /// The memtables of a reader's older logs, oldest first.
    pub(super) fn older(&self) -> impl Iterator<Item = Arc<MemtableSet>> + '_ {
        let older = self.logs.split_last().map_or(&[][..], |(_, older)| older);
        older.iter().map(|log| Arc::new(log.memtable_set.clone()))
    }

    pub(super) fn replay(
        &mut self,
        state: &ManifestState,
        closed: Option<&ClosedLengths>,
        unnamed: &UnreferencedFiles,
    ) -> Result<()> {
        for (&number, next) in state.logs.iter().zip(state.logs.iter().skip(1).map(Some).chain([None])) {
            let before = self.begin_log(number);
            let from = before.as_ref().and_then(|log| log.known).map_or(0, |known| known.bytes);
            if from > 0 && next.is_some_and(|next| self.before.contains_key(next)) {
                // It had ended before.
                self.logs.extend(before);
                continue;
            }
            let closed_at = match (closed, next) {
                _ if state.logs_ended.contains_key(&number) => state.logs_ended.get(&number).copied(),
                (Some(lengths), _) => Some(lengths.logs.iter().find(|(log, _)| *log == number).map_or(0, |log| log.1)),
                (None, Some(&next)) => wal::recorded_end(&**self.storage, state.binding_of(next), next, number)?,
                (None, None) => unnamed.ends.get(&number).copied(),
            };
            let storage = Arc::clone(self.storage);
            self.binding = state.binding_of(number);
            let bytes = wal::replay(&*storage, self.binding, number, from, closed_at, &mut |group, synced| {
                self.replay_group(number, group, synced)
            })?;
            self.memtable_set.logs.push(BackingLog { number, bytes });
            if let Some(objects) = self.objects.filter(|objects| objects.is_reading()) {
                let known = objects.end_chain(FileKind::Log, number, bytes)?;
                let reserved = before.map_or_else(Vec::new, |log| log.reserved);
                let (binding, memtable_set) = (self.binding, self.memtable_set.clone());
                self.logs.push(ReplayedLog { number, binding, known, memtable_set, reserved });
            }
        }
        self.drop_unreached_values();
        let Some(lengths) = closed else { return Ok(()) };
        for &(number, bytes) in &lengths.value_files {
            let handle = self.values.0.get(&number);
            if handle.is_some_and(|handle| handle.file.len_bytes() != bytes) {
                let path = self.storage.path(&file_name(number, FileKind::Values));
                return Err(Error::damaged(path, bytes, "its length differs from that at the last close"));
            }
        }
        Ok(())
    }

    /// Begins with a log: a reader of a store on an object store with memtables of its own, those from before if there
    /// are any.
    fn begin_log(&mut self, number: u64) -> Option<ReplayedLog> {
        self.objects.filter(|objects| objects.is_reading())?;
        let last_sequence = self.memtable_set.last_sequence;
        let before = self.before.remove(&number);
        self.memtable_set = before.as_ref().map_or_else(MemtableSet::default, |log| log.memtable_set.clone());
        self.memtable_set.logs.clear();
        self.memtable_set.last_sequence = self.memtable_set.last_sequence.max(last_sequence);
        before
    }

    /// Replays a group; returns `false` if a value that it points to is damaged, as a crash may leave it.
    fn replay_group(&mut self, log: u64, group: &[u8], synced: bool) -> Result<bool> {
        let malformed = || Error::damaged(self.storage.path(&log_name(log)), 0, "a group of operations is malformed");
        let mut operations = decode_group(group).ok_or_else(malformed)?;
        for operation in &operations {
            if let Some((_, pointer)) = operation.pointer(group)
                && !self.resolve_value(pointer, synced)?
            {
                return Ok(false);
            }
        }
        self.note_value_ends(&operations, group);
        let last = operations.last().map_or(0, |operation| operation.sequence);
        self.memtable_set.last_sequence = self.memtable_set.last_sequence.max(last);
        // On an object store, the listing may be of several moments. Dropped keyspaces have smaller numbers.
        if self.objects.is_some() && operations.iter().any(|operation| operation.keyspace >= self.next_keyspace) {
            let detail = "it writes to a keyspace that the manifest does not have yet";
            return Err(Error::damaged(self.storage.path(&log_name(log)), 0, detail));
        }
        let keyspaces = &self.keyspaces;
        let make = |id| keyspaces.contains(&id).then(|| Arc::new(Memtable::new()));
        if !self.memtable_set.insert(group.to_vec(), &mut operations, make) {
            let path = self.storage.path(&log_name(log));
            let detail =
                format!("{} does not fit into a memtable; open the store with smaller memtables", path.display());
            return Err(Error::input(detail));
        }
        Ok(true)
    }

    /// Releases value files that were opened for a torn group only.
    fn drop_unreached_values(&mut self) {
        let (unflushed, ends) = (&mut self.unflushed, &self.ends);
        let unreached: Vec<u64> = unflushed.iter().copied().filter(|number| !ends.contains_key(number)).collect();
        unflushed.retain(|number| ends.contains_key(number));
        self.memtable_set.values.retain(|handle| !unreached.contains(&handle.number));
        self.values.0.retain(|number, _| !unreached.contains(number));
    }

    fn note_value_ends(&mut self, operations: &[Operation], group: &[u8]) {
        for (_, pointer) in operations.iter().filter_map(|operation| operation.pointer(group)) {
            if let Some(pointer) = ValueFilePointer::decode(pointer) {
                let end = self.ends.entry(pointer.file).or_default();
                *end = pointer.end().unwrap_or(0).max(*end);
            }
        }
    }

    /// Opens the value file that an entry points into; returns whether the value is intact.
    fn resolve_value(&mut self, pointer: &[u8], synced: bool) -> Result<bool> {
        let Some(pointer) = ValueFilePointer::decode(pointer) else { return Ok(false) };
        let is_open = self.values.0.get(&pointer.file).is_some_and(|handle| handle.file.binding() == self.binding);
        if !is_open {
            match open_values(self.storage, self.binding, pointer.file) {
                Ok(handle) => {
                    self.unflushed.insert(pointer.file);
                    self.memtable_set.values.push(Arc::clone(&handle));
                    self.values.0.insert(pointer.file, handle);
                }
                Err(error)
                    if synced
                        || !is_torn(&error)
                        || ValueFile::has_other_identity(&**self.storage, self.binding, pointer.file)? =>
                {
                    return Err(error);
                }
                Err(_) => return Ok(false),
            }
        }
        match self.values.0.get(&pointer.file) {
            Some(_) if synced => Ok(true),
            Some(handle) => handle.file.is_intact(&pointer),
            None => Ok(false),
        }
    }
}

/// Whether a value file is in a state that a crash may leave just after its creation; a read failure is not.
fn is_torn(error: &Error) -> bool {
    matches!(error.cause, Cause::Io(ErrorKind::NotFound | ErrorKind::UnexpectedEof) | Cause::Damaged)
}

fn open_values(storage: &Arc<dyn Storage>, binding: StoreBinding, number: u64) -> Result<Arc<ValueHandle>> {
    let file = ValueFile::open(&**storage, binding, number)?;
    Ok(ValueHandle::new(storage, number, Arc::new(file)))
}
