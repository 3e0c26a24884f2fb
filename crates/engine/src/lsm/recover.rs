//! Opening a store: reading the manifest, replaying the logs, and opening all tables.

use super::commit::{WriterState, fresh_memtables};
use super::core::{Core, HIDDEN_BYTES_MIN, SharedState, StateChange};
use super::counters::DbCounters;
use super::entry::{Action, KeyspaceId, Operation, ValueKind, decode_group};
use super::extend::{Learner, TableLookups};
use super::file_numbers::FileNumbers;
use super::memtable::Memtable;
use super::memtable_set::{BackingLog, MemtableSet};
use super::options::{DbOptions, MEMORY_OPTION};
use super::snapshot::LiveSnapshots;
use super::table_file::TableFile;
use super::unreferenced::{UnreferencedFiles, leftovers};
use super::value_files::{ValueFiles, ValueHandle};
use super::version::{
    ClosedLengths, FileKind, ManifestEdit, ManifestState, RecoveredManifest, parse_file_name, recover, remove_leftovers,
};
use super::view::{KeyspaceTree, KeyspaceView, OpenLevels};
use super::wal::{self, ClosedLog, WalWriter, log_name};
use crate::block::BlockCache;
use crate::block::header::{StoreBinding, new_nonce};
use crate::error::{Error, Result};
use crate::io::fair::FairMutex;
use crate::io::sync::{Condvar, Mutex};
use crate::io::{Storage, random_u64};
use crate::vlog::{ValueFile, ValueFilePointer, ValueFileWriter, values_name};
use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

/// The lock file of a store that is open for writing.
pub(crate) const LOCK_NAME: &str = "LOCK";

/// Attempts of a read-only opening to find the store unchanged by its writer.
const READ_ONLY_TRIES_MAX: u32 = 8;

/// An index larger than the memory takes at most this many times its stored bytes.
const INDEX_EXPANSION_MAX: u64 = 4;

/// Opens a store. With `read_only`, nothing is written, and another process may be writing: the result is valid only if
/// the manifest is still the same afterwards, since files may have been removed or recycled in between.
pub(super) fn open(storage: Arc<dyn Storage>, options: &DbOptions, read_only: bool) -> Result<Core> {
    if !read_only {
        return open_once(storage, options, false);
    }
    let manifest = || Ok::<_, Error>(recover(&*storage)?.map(|found| (found.number, found.state)));
    for tries in 1..=READ_ONLY_TRIES_MAX {
        let before = manifest();
        let opened = open_once(Arc::clone(&storage), options, true);
        match (before, manifest()) {
            (Ok(before), Ok(after)) if before == after => return opened,
            (Err(error), _) | (_, Err(error)) if tries == READ_ONLY_TRIES_MAX => return Err(error),
            _ => {}
        }
    }
    let changed = std::io::Error::new(std::io::ErrorKind::NotFound, "its writer changes it too often; try again");
    Err(Error::io("open", storage.path(""), changed))
}

fn open_once(storage: Arc<dyn Storage>, options: &DbOptions, read_only: bool) -> Result<Core> {
    options.check(&folder(&*storage))?;
    if read_only || !options.create {
        refuse_other_folder(&*storage)?;
    }
    let lock = if read_only { None } else { Some(storage.lock(LOCK_NAME)?) };
    if !read_only {
        remove_leftovers(&*storage)?;
    }
    let (mut state, closed) = match recover(&*storage)? {
        Some(RecoveredManifest { state, closed, .. }) => (state, closed),
        None => (ManifestState::new(random_u64()), None),
    };
    if !read_only {
        state.begin_opening(new_nonce());
    }
    let unnamed = UnreferencedFiles::find(&storage, &state)?;
    unnamed.check(&*storage)?;
    let cache = Arc::new(match options.fast_paths.cache {
        true => BlockCache::for_store(options.memory_bytes),
        false => BlockCache::for_accounting(options.memory_bytes),
    });
    cache.reserve(options.buffer_bytes());
    let mut replayed = LogReplay::new(&storage, &state)?;
    replayed.replay(&state, closed.as_ref(), &unnamed)?;
    let LogReplay { values, memtable_set, unflushed, ends, .. } = replayed;
    state.last_sequence = state.last_sequence.max(memtable_set.last_sequence);
    let learner = options.start_learning();
    let tables = open_tables(&storage, &state, &cache, options, learner.as_deref())?;
    if !read_only {
        let orphans = leftovers(storage.list()?, &state, |number| unflushed.contains(&number));
        orphans.iter().try_for_each(|name| storage.remove(name))?;
    }
    let visible = state.last_sequence;
    let shared = shared(state, tables, values, unflushed);
    let mut core = Core {
        options: DbOptions { coding: options.coding && shared.state.has_coding, ..options.clone() },
        binding: shared.state.binding(),
        cache,
        live_snapshots: LiveSnapshots::default(),
        counters: DbCounters::default(),
        learner,
        queue: Mutex::default(),
        written: Condvar::default(),
        writer: FairMutex::new(WriterState::new(None, MemtableSet::default(), visible + 1)),
        numbers: FileNumbers::new(shared.state.next_file),
        hidden_limit: AtomicU64::new(HIDDEN_BYTES_MIN),
        shared: Mutex::new(shared),
        changed: Condvar::default(),
        visible: AtomicU64::new(visible),
        read_only,
        is_switch_requested: AtomicBool::new(false),
        has_failed: AtomicBool::new(read_only),
        stop: AtomicBool::new(false),
        is_closed: AtomicBool::new(false),
        lock: Mutex::new(lock),
        storage,
    };
    core.begin(memtable_set, closed.is_some(), &ends)?;
    if options.upgrade && !read_only {
        // Last, so that an opening that fails before leaves the format as it was.
        core.raise_format()?;
        core.options.coding = options.coding;
    }
    Ok(core)
}

/// The shared state of a recovered store, without its keyspaces.
fn shared(
    state: ManifestState,
    tables: BTreeMap<u64, Arc<TableFile>>,
    values: ValueFiles,
    unflushed_values: HashSet<u64>,
) -> SharedState {
    let empty_view = KeyspaceView {
        active: Arc::new(Memtable::new()),
        sealed: Vec::new(),
        levels: Arc::new(OpenLevels::default()),
        values: Arc::new(ValueFiles::default()),
    };
    let misindexed = tables.values().filter(|table| table.table.has_unordered_separators());
    let misindexed: BTreeSet<u64> = misindexed.map(|table| table.meta.number).collect();
    SharedState {
        manifest: None,
        trees: BTreeMap::new(),
        active: BTreeMap::new(),
        sealed: VecDeque::new(),
        tables,
        past_lookups: TableLookups::default(),
        published_values: Arc::clone(&empty_view.values),
        empty_view,
        values: Arc::new(values),
        running: Vec::new(),
        unflushed_values,
        hidden: BTreeMap::new(),
        misindexed,
        skips: BTreeMap::new(),
        cleanups: Vec::new(),
        is_switch_due: false,
        is_flushing: false,
        recyclable: Vec::new(),
        compaction_candidates: BTreeSet::new(),
        hiding: BTreeSet::new(),
        waiting_for_snapshot: BTreeSet::new(),
        unread_filters: Vec::new(),
        is_nothing_due: false,
        checked_with_snapshot: 0,
        failure: None,
        state,
    }
}

/// Refuses a folder without files of a store, before anything is created in it.
fn refuse_other_folder(storage: &dyn Storage) -> Result<()> {
    let is_ours = |name: &String| matches!(parse_file_name(name), Some((_, kind)) if kind != FileKind::NewManifest);
    if storage.list()?.iter().any(is_ours) {
        return Ok(());
    }
    let path = folder(storage);
    let detail = "it contains no manifest; check the path, or set `create` to create a store".into();
    Err(Error::NotAStore { path, detail })
}

/// Opens all tables, with one read each.
///
/// # Errors
/// [`Error::MemoryShort`] if their resident parts exceed their share of memory, with the memory needed.
fn open_tables(
    storage: &Arc<dyn Storage>,
    state: &ManifestState,
    cache: &Arc<BlockCache>,
    options: &DbOptions,
    learner: Option<&dyn Learner>,
) -> Result<BTreeMap<u64, Arc<TableFile>>> {
    let (mut tables, mut reserved_bytes) = (BTreeMap::new(), 0_u64);
    for (_, level, meta) in state.tables() {
        let table = match TableFile::open(storage, state.owner, Arc::clone(meta), cache, options, learner) {
            Ok(table) => table,
            // The index alone exceeds the whole memory; unfolded it takes about twice as much.
            Err(Error::MemoryShort { needed_bytes, .. }) => {
                reserved_bytes = reserved_bytes.saturating_add(needed_bytes.saturating_mul(INDEX_EXPANSION_MAX));
                continue;
            }
            Err(error) => return Err(error),
        };
        reserved_bytes = reserved_bytes.saturating_add(table.reserved_bytes());
        // If memory is exceeded, the remaining tables are opened one at a time, to report the memory needed.
        if reserved_bytes <= options.tables_limit_bytes() {
            if let Some(learner) = learner {
                learner.table_added(level, &table);
            }
            tables.insert(meta.number, table);
        }
    }
    check_room(options, reserved_bytes, || folder(&**storage))?;
    Ok(tables)
}

/// Refuses if open tables exceed their share of memory.
pub(super) fn check_room(options: &DbOptions, reserved_bytes: u64, path: impl Fn() -> PathBuf) -> Result<()> {
    if reserved_bytes <= options.tables_limit_bytes() {
        return Ok(());
    }
    let needed_bytes = options.memory_for_tables(reserved_bytes);
    Err(Error::MemoryShort { path: path(), needed_bytes, given_bytes: options.memory_bytes, option: MEMORY_OPTION })
}

/// The folder of a store, for error messages.
fn folder(storage: &dyn Storage) -> PathBuf {
    storage.path("x").parent().map(Into::into).unwrap_or_default()
}

impl Core {
    /// Prepares a recovered store for use: read-only, or with a new manifest and a new log.
    fn begin(&self, found: MemtableSet, was_closed: bool, ends: &BTreeMap<u64, u64>) -> Result<()> {
        let mut writer = self.writer.lock();
        let mut shared = self.shared.lock();
        self.create_trees(&mut shared, &found);
        if self.read_only {
            self.publish_all(&mut shared);
            return Ok(());
        }
        let found = self.finish_value_files(&mut shared, found, ends)?;
        if was_closed {
            // The manifest that records this is replaced before the header of the next log does.
            shared.state.logs_ended = found.logs.iter().map(|part| (part.number, part.bytes)).collect();
        }
        if shared.state.knows_many() {
            // Removals of files of forgotten openings must be durable.
            self.storage.sync_directory()?;
            shared.state.forget_openings();
        }
        self.renew_manifest(&mut shared)?;
        // After a crash, recovered entries are flushed, so a log with a torn tail is never read again.
        let keeps =
            was_closed && found.logs.len() < KEPT_LOGS_MAX && found.memory_bytes() < self.options.memtable_bytes / 2;
        let previous = found.logs.last().filter(|_| keeps && found.logs.last().is_some_and(|part| part.bytes > 0));
        let previous = previous.map(|part| ClosedLog { number: part.number, bytes: part.bytes });
        let number = self.number_within(&mut shared)?;
        let log = WalWriter::create(&self.storage, self.binding, number, None, previous)?;
        let mut active = found;
        active.reservation = self.reserve_for_memtables(active.memory_bytes());
        if !keeps {
            let mut next = MemtableSet::of(fresh_memtables(&shared));
            (next.last_sequence, next.reservation) = (active.last_sequence, self.reserve_for_memtables(0));
            shared.sealed.push_back(Arc::new(std::mem::replace(&mut active, next)));
        }
        active.logs.push(BackingLog { number, bytes: 0 });
        active.last_sequence = active.last_sequence.max(shared.state.last_sequence);
        shared.active = active.memtables().clone();
        let edit = ManifestEdit { logs_added: vec![number], ..ManifestEdit::default() };
        let moved = shared.trees.keys().copied().collect();
        self.apply(&mut shared, StateChange { edit, switched: moved, ..StateChange::default() })?;
        let next_sequence = active.last_sequence + 1;
        *writer = WriterState::new(Some(log), active, next_sequence);
        let sealed = shared.sealed.front().cloned();
        drop(shared);
        drop(writer);
        sealed.map_or(Ok(()), |memtable_set| self.flush_memtable_set(&memtable_set))
    }

    /// Raises the format of the store to the newest, durably.
    ///
    /// # Errors
    /// Errors of the storage: the format is unchanged, unless only the sync of the folder or the removal of the old
    /// manifest failed.
    fn raise_format(&self) -> Result<()> {
        let mut shared = self.shared.lock();
        if shared.state.has_coding {
            return Ok(());
        }
        shared.state.has_coding = true;
        self.renew_manifest(&mut shared)
    }

    /// Syncs the value files that the logs point into; the process that wrote them may have left this to the operating
    /// system.
    fn finish_value_files(
        &self,
        shared: &mut SharedState,
        mut found: MemtableSet,
        ends: &BTreeMap<u64, u64>,
    ) -> Result<MemtableSet> {
        for handle in &mut found.values {
            let number = handle.number;
            if handle.file.is_finished()? {
                self.storage.open_update(&values_name(number))?.sync()?;
                continue;
            }
            let end = ends.get(&number).copied().unwrap_or(0);
            let completed =
                ValueFileWriter::resume(&self.storage, handle.file.binding(), number, end, self.options.compression);
            let file = completed.and_then(ValueFileWriter::finish)?;
            *handle = ValueHandle::new(&self.storage, number, file);
            shared.add_values(Arc::clone(handle));
        }
        Ok(found)
    }

    /// Creates the tree of each keyspace.
    fn create_trees(&self, shared: &mut SharedState, found: &MemtableSet) {
        let keyspaces = shared.state.keyspaces.iter();
        let trees = keyspaces.map(|(&id, found)| {
            let types = found.types.as_ref().clone();
            (id, Arc::new(KeyspaceTree::new(id, found.name.clone(), types, shared.empty_view.clone())))
        });
        shared.trees = trees.collect();
        shared.active = found.memtables().clone();
        shared.recheck_all();
    }
}

/// Logs that a cleanly closed store keeps at opening; with more, their entries are flushed.
const KEPT_LOGS_MAX: usize = 8;

/// The state of a log replay.
struct LogReplay<'a> {
    storage: &'a Arc<dyn Storage>,
    keyspaces: HashSet<KeyspaceId>,
    /// The identity of the current log, to which the value files it points into are bound as well.
    binding: StoreBinding,
    values: ValueFiles,
    memtable_set: MemtableSet,
    /// Value files that entries of the logs point into.
    unflushed: HashSet<u64>,
    /// For each of them, the end of the last such value.
    ends: BTreeMap<u64, u64>,
}

impl<'a> LogReplay<'a> {
    fn new(storage: &'a Arc<dyn Storage>, state: &ManifestState) -> Result<Self> {
        let mut values = ValueFiles::default();
        for (&number, meta) in &state.value_files {
            let handle = open_values(storage, state.binding_of(number), number)?;
            if handle.file.len_bytes() < meta.bytes {
                let path = storage.path(&super::version::file_name(number, FileKind::Values));
                let detail = format!("it had {} bytes when it was complete", meta.bytes);
                return Err(Error::damaged(path, handle.file.len_bytes(), detail));
            }
            values.0.insert(number, handle);
        }
        let mut memtable_set = MemtableSet::of(BTreeMap::new());
        memtable_set.last_sequence = state.last_sequence;
        let keyspaces = state.keyspaces.keys().copied().collect();
        let (unflushed, ends) = (HashSet::new(), BTreeMap::new());
        Ok(Self { storage, keyspaces, binding: state.binding(), values, memtable_set, unflushed, ends })
    }

    fn replay(
        &mut self,
        state: &ManifestState,
        closed: Option<&ClosedLengths>,
        unnamed: &UnreferencedFiles,
    ) -> Result<()> {
        for (&number, next) in state.logs.iter().zip(state.logs.iter().skip(1).map(Some).chain([None])) {
            let closed_at = match (closed, next) {
                _ if state.logs_ended.contains_key(&number) => state.logs_ended.get(&number).copied(),
                (Some(lengths), _) => Some(lengths.logs.iter().find(|(log, _)| *log == number).map_or(0, |log| log.1)),
                (None, Some(&next)) => wal::recorded_end(&**self.storage, state.binding_of(next), next, number)?,
                (None, None) => unnamed.ends.get(&number).copied(),
            };
            let storage = Arc::clone(self.storage);
            self.binding = state.binding_of(number);
            let bytes = wal::replay(&*storage, self.binding, number, closed_at, &mut |group, synced| {
                self.replay_group(number, group, synced)
            })?;
            self.memtable_set.logs.push(BackingLog { number, bytes });
        }
        self.drop_unreached_values();
        let Some(lengths) = closed else { return Ok(()) };
        for &(number, bytes) in &lengths.value_files {
            let handle = self.values.0.get(&number);
            if handle.is_some_and(|handle| handle.file.len_bytes() != bytes) {
                let path = self.storage.path(&super::version::file_name(number, FileKind::Values));
                return Err(Error::damaged(path, bytes, "its length differs from that at the last close"));
            }
        }
        Ok(())
    }

    /// Replays a group; returns `false` if a value that it points to is damaged, as a crash may leave it.
    fn replay_group(&mut self, log: u64, group: &[u8], synced: bool) -> Result<bool> {
        let malformed = || Error::damaged(self.storage.path(&log_name(log)), 0, "a group of operations is malformed");
        let mut operations = decode_group(group).ok_or_else(malformed)?;
        for operation in &operations {
            if operation.action == Action::Put(ValueKind::Pointer) && !self.resolve_value(operation, group, synced)? {
                return Ok(false);
            }
        }
        self.note_value_ends(&operations, group);
        let last = operations.last().map_or(0, |operation| operation.sequence);
        self.memtable_set.last_sequence = self.memtable_set.last_sequence.max(last);
        let keyspaces = &self.keyspaces;
        let make = |id| keyspaces.contains(&id).then(|| Arc::new(Memtable::new()));
        if !self.memtable_set.insert(group.to_vec(), &mut operations, make) {
            let path = self.storage.path(&log_name(log));
            let detail =
                format!("{} does not fit into a memtable; open the store with smaller memtables", path.display());
            return Err(Error::InvalidArgument(detail));
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
        for operation in operations.iter().filter(|operation| operation.action == Action::Put(ValueKind::Pointer)) {
            if let Some(pointer) = ValueFilePointer::decode(operation.parts(group).1) {
                let end = self.ends.entry(pointer.file).or_default();
                *end = pointer.end().unwrap_or(0).max(*end);
            }
        }
    }

    /// Opens the value file that an entry points into; returns whether the value is intact.
    fn resolve_value(&mut self, operation: &Operation, group: &[u8], synced: bool) -> Result<bool> {
        let Some(pointer) = ValueFilePointer::decode(operation.parts(group).1) else { return Ok(false) };
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
    match error {
        Error::Io { source, .. } => matches!(source.kind(), ErrorKind::NotFound | ErrorKind::UnexpectedEof),
        Error::Damaged { .. } => true,
        _ => false,
    }
}

fn open_values(storage: &Arc<dyn Storage>, binding: StoreBinding, number: u64) -> Result<Arc<ValueHandle>> {
    let file = ValueFile::open(&**storage, binding, number)?;
    Ok(ValueHandle::new(storage, number, Arc::new(file)))
}
