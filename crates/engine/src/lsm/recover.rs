//! Opening a store: what the manifest says, and what the logs have beyond it.

use super::commit::{Writer, fresh_memtables};
use super::core::{Change, Core, HIDDEN_BYTES_MIN, Shared};
use super::counters::Counters;
use super::entry::{Action, KeyspaceId, Kind, Operation, decode_group};
use super::generation::{Generation, LogPart};
use super::learn::Learner;
use super::memtable::Memtable;
use super::numbers::Numbers;
use super::options::{DbOptions, MEMORY_OPTION};
use super::snapshot::Moments;
use super::table_file::TableFile;
use super::unnamed::{Unnamed, leftovers};
use super::values::{ValueFiles, ValueHandle};
use super::version::{ClosedLengths, Edit, FileKind, Recovered, State, parse_file_name, recover, remove_leftovers};
use super::view::{Levels, Tree, View};
use super::wal::{self, ClosedLog, Wal, log_name};
use crate::block::BlockCache;
use crate::block::header::{StoreBinding, new_nonce};
use crate::error::{Error, Result};
use crate::io::fair::FairMutex;
use crate::io::sync::{Condvar, Mutex};
use crate::io::{Storage, random_u64};
use crate::vlog::{ValueFile, ValuePlace, ValueWriter, values_name};
use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

/// The file that a store holds locked while it is open for writing.
pub(crate) const LOCK_NAME: &str = "LOCK";

/// A reader beside a writer tries so often to find a store that does not change while it is opened.
const READ_ONLY_TRIES: u32 = 8;

/// An index that is larger than the memory takes at most so many times the bytes that were read of it.
const UNFOLDED: u64 = 4;

/// Opens a store. Nothing is written with `read_only`; then the store may be another process's, so what was found counts only if the
/// manifest still says the same afterwards: files may have been removed, or logs written anew, in between.
pub(super) fn open(storage: Arc<dyn Storage>, options: &DbOptions, read_only: bool) -> Result<Core> {
    if !read_only {
        return open_once(storage, options, false);
    }
    let manifest = || Ok::<_, Error>(recover(&*storage)?.map(|found| (found.number, found.state)));
    for tries in 1..=READ_ONLY_TRIES {
        let before = manifest();
        let opened = open_once(Arc::clone(&storage), options, true);
        match (before, manifest()) {
            (Ok(before), Ok(after)) if before == after => return opened,
            (Err(error), _) | (_, Err(error)) if tries == READ_ONLY_TRIES => return Err(error),
            _ => {}
        }
    }
    let changed = std::io::Error::new(std::io::ErrorKind::NotFound, "it changes faster than it can be read");
    Err(Error::io("open", storage.path(""), changed))
}

fn open_once(storage: Arc<dyn Storage>, options: &DbOptions, read_only: bool) -> Result<Core> {
    options.check(&folder(&*storage))?;
    if read_only || !options.create {
        refuse_what_is_no_store(&*storage)?;
    }
    let lock = if read_only { None } else { Some(storage.lock(LOCK_NAME)?) };
    if !read_only {
        remove_leftovers(&*storage)?;
    }
    let (mut state, closed) = match recover(&*storage)? {
        Some(Recovered { state, closed, .. }) => (state, closed),
        None => (State::new(random_u64()), None),
    };
    if !read_only {
        state.begin_opening(new_nonce());
    }
    let unnamed = Unnamed::find(&storage, &state)?;
    unnamed.check(&*storage)?;
    let cache = Arc::new(match options.fast_paths.cache {
        true => BlockCache::for_tables(options.memory_bytes),
        false => BlockCache::for_accounting(options.memory_bytes),
    });
    cache.reserve(options.buffer_bytes());
    let mut replayed = Replayed::new(&storage, &state)?;
    replayed.replay(&state, closed.as_ref(), &unnamed)?;
    let Replayed { values, generation, young, ends, .. } = replayed;
    state.last_sequence = state.last_sequence.max(generation.last_sequence);
    let learner = Learner::new(options);
    let tables = open_tables(&storage, &state, &cache, options, &learner)?;
    if !read_only {
        let orphans = leftovers(storage.list()?, &state, |number| young.contains(&number));
        orphans.iter().try_for_each(|name| storage.remove(name))?;
    }
    let visible = state.last_sequence;
    let shared = shared(state, tables, values, young);
    let core = Core {
        options: options.clone(),
        bond: shared.state.bond(),
        cache,
        moments: Moments::default(),
        counters: Counters::default(),
        learner,
        queue: Mutex::default(),
        written: Condvar::default(),
        writer: FairMutex::new(Writer::new(None, Generation::default(), visible + 1)),
        numbers: Numbers::new(shared.state.next_file),
        hidden_limit: AtomicU64::new(HIDDEN_BYTES_MIN),
        shared: Mutex::new(shared),
        changed: Condvar::default(),
        visible: AtomicU64::new(visible),
        read_only,
        is_switch_asked: AtomicBool::new(false),
        has_failed: AtomicBool::new(read_only),
        stop: AtomicBool::new(false),
        _lock: lock,
        storage,
    };
    core.begin(generation, closed.is_some(), &ends)?;
    Ok(core)
}

/// What threads share of a store that was found, before its keyspaces are planted.
fn shared(
    state: State,
    tables: BTreeMap<u64, Arc<TableFile>>,
    values: ValueFiles,
    young_values: HashSet<u64>,
) -> Shared {
    let blank = View {
        active: Arc::new(Memtable::new()),
        sealed: Vec::new(),
        levels: Arc::new(Levels::default()),
        values: Arc::new(ValueFiles::default()),
    };
    let misled = tables.values().filter(|table| table.table.has_unordered_separators());
    let misled: BTreeSet<u64> = misled.map(|table| table.meta.number).collect();
    Shared {
        manifest: None,
        trees: BTreeMap::new(),
        active: BTreeMap::new(),
        sealed: VecDeque::new(),
        tables,
        shown_values: Arc::clone(&blank.values),
        blank,
        values: Arc::new(values),
        running: Vec::new(),
        young_values,
        hidden: BTreeMap::new(),
        misled,
        skips: BTreeMap::new(),
        cleanups: Vec::new(),
        is_switch_due: false,
        is_flushing: false,
        recyclable: Vec::new(),
        unsettled: BTreeSet::new(),
        hiding: BTreeSet::new(),
        waiting: BTreeSet::new(),
        is_settled: false,
        looked_with: 0,
        failure: None,
        state,
    }
}

/// Refuses a folder without files of a store, before anything is made in it.
fn refuse_what_is_no_store(storage: &dyn Storage) -> Result<()> {
    let is_ours = |name: &String| matches!(parse_file_name(name), Some((_, kind)) if kind != FileKind::NewManifest);
    if storage.list()?.iter().any(is_ours) {
        return Ok(());
    }
    let path = folder(storage);
    let detail = "it holds no manifest; check the path, or allow the store to be made".into();
    Err(Error::NotAStore { path, detail })
}

/// Opens all tables, by one read each.
///
/// # Errors
/// [`Error::MemoryShort`] where what they keep in memory is more than their part of it, with as much as suffices.
fn open_tables(
    storage: &Arc<dyn Storage>,
    state: &State,
    cache: &Arc<BlockCache>,
    options: &DbOptions,
    learner: &Learner,
) -> Result<BTreeMap<u64, Arc<TableFile>>> {
    let (mut tables, mut reserved_bytes) = (BTreeMap::new(), 0_u64);
    for (_, level, meta) in state.tables() {
        let table = match TableFile::open(storage, state.owner, Arc::clone(meta), cache, options) {
            Ok(table) => table,
            // More than the whole memory, and with what its index takes unfolded about twice as much.
            Err(Error::MemoryShort { needed_bytes, .. }) => {
                reserved_bytes = reserved_bytes.saturating_add(needed_bytes.saturating_mul(UNFOLDED));
                continue;
            }
            Err(error) => return Err(error),
        };
        reserved_bytes = reserved_bytes.saturating_add(table.reserved_bytes());
        // Where there is no room, the rest is opened to tell how much they take, one after the other.
        if reserved_bytes <= options.tables_limit_bytes() {
            learner.note_table(level, &table);
            tables.insert(meta.number, table);
        }
    }
    check_room(options, reserved_bytes, || folder(&**storage))?;
    Ok(tables)
}

/// Refuses more memory for open tables than is theirs.
pub(super) fn check_room(options: &DbOptions, reserved_bytes: u64, path: impl Fn() -> PathBuf) -> Result<()> {
    if reserved_bytes <= options.tables_limit_bytes() {
        return Ok(());
    }
    let needed_bytes = options.memory_for_tables(reserved_bytes);
    Err(Error::MemoryShort { path: path(), needed_bytes, given_bytes: options.memory_bytes, option: MEMORY_OPTION })
}

/// The folder of a store, for messages.
fn folder(storage: &dyn Storage) -> PathBuf {
    storage.path("x").parent().map(Into::into).unwrap_or_default()
}

impl Core {
    /// Makes a store that was found ready: for reading, or with a manifest and a log of its own.
    fn begin(&self, found: Generation, was_closed: bool, ends: &BTreeMap<u64, u64>) -> Result<()> {
        let mut writer = self.writer.lock();
        let mut shared = self.shared.lock();
        self.plant(&mut shared, &found);
        if self.read_only {
            self.publish_all(&mut shared);
            return Ok(());
        }
        let found = self.complete_values(&mut shared, found, ends)?;
        if was_closed {
            // The manifest that says so is replaced before the next log does.
            shared.state.logs_ended = found.logs.iter().map(|part| (part.number, part.bytes)).collect();
        }
        if shared.state.knows_many() {
            // What was removed of theirs must not come back.
            self.storage.sync_directory()?;
            shared.state.forget_openings();
        }
        self.renew_manifest(&mut shared)?;
        // What was found after a crash is written out, so that no log with a torn end is ever read again.
        let keeps =
            was_closed && found.logs.len() < KEPT_LOGS && found.memory_bytes() < self.options.memtable_bytes / 2;
        let previous = found.logs.last().filter(|_| keeps && found.logs.last().is_some_and(|part| part.bytes > 0));
        let previous = previous.map(|part| ClosedLog { number: part.number, bytes: part.bytes });
        let number = self.number_within(&mut shared)?;
        let log = Wal::create(&self.storage, self.bond, number, None, previous)?;
        let mut active = found;
        active.held = self.hold_for_memtables(active.memory_bytes());
        if !keeps {
            let mut next = Generation::of(fresh_memtables(&shared));
            (next.last_sequence, next.held) = (active.last_sequence, self.hold_for_memtables(0));
            shared.sealed.push_back(Arc::new(std::mem::replace(&mut active, next)));
        }
        active.logs.push(LogPart { number, bytes: 0 });
        active.last_sequence = active.last_sequence.max(shared.state.last_sequence);
        shared.active = active.memtables().clone();
        let edit = Edit { logs_added: vec![number], ..Edit::default() };
        let moved = shared.trees.keys().copied().collect();
        self.apply(&mut shared, Change { edit, moved, ..Change::default() })?;
        let next_sequence = active.last_sequence + 1;
        *writer = Writer::new(Some(log), active, next_sequence);
        let sealed = shared.sealed.front().cloned();
        drop(shared);
        drop(writer);
        sealed.map_or(Ok(()), |generation| self.flush_generation(&generation))
    }

    /// Makes what the logs point to durable: a process that ended may have left it to the operating system.
    fn complete_values(
        &self,
        shared: &mut Shared,
        mut found: Generation,
        ends: &BTreeMap<u64, u64>,
    ) -> Result<Generation> {
        for handle in &mut found.values {
            let number = handle.number;
            if handle.file.is_finished()? {
                self.storage.open_update(&values_name(number))?.sync()?;
                continue;
            }
            let end = ends.get(&number).copied().unwrap_or(0);
            let completed =
                ValueWriter::resume(&self.storage, handle.file.bond(), number, end, self.options.compression);
            let file = completed.and_then(ValueWriter::finish)?;
            *handle = ValueHandle::new(&self.storage, number, file);
            shared.add_values(Arc::clone(handle));
        }
        Ok(found)
    }

    /// Makes a tree for each keyspace.
    fn plant(&self, shared: &mut Shared, found: &Generation) {
        let keyspaces = shared.state.keyspaces.iter();
        let trees =
            keyspaces.map(|(&id, found)| (id, Arc::new(Tree::new(id, found.name.clone(), shared.blank.clone()))));
        shared.trees = trees.collect();
        shared.active = found.memtables().clone();
        shared.look_at_all();
    }
}

/// A store that was closed keeps so many logs when it is opened; from then on what they hold is written out.
const KEPT_LOGS: usize = 8;

/// What the logs have.
struct Replayed<'a> {
    storage: &'a Arc<dyn Storage>,
    keyspaces: HashSet<KeyspaceId>,
    /// What the log at hand is bound to, and so the value files that it points to alone.
    bond: StoreBinding,
    values: ValueFiles,
    generation: Generation,
    /// Value files that entries of the logs point to.
    young: HashSet<u64>,
    /// Where in each of them the last such value ends.
    ends: BTreeMap<u64, u64>,
}

impl<'a> Replayed<'a> {
    fn new(storage: &'a Arc<dyn Storage>, state: &State) -> Result<Self> {
        let mut values = ValueFiles::default();
        for (&number, meta) in &state.value_files {
            let handle = open_values(storage, state.bond_of(number), number)?;
            if handle.file.len_bytes() < meta.bytes {
                let path = storage.path(&super::version::file_name(number, FileKind::Values));
                let detail = format!("it had {} bytes when it was complete", meta.bytes);
                return Err(Error::damaged(path, handle.file.len_bytes(), detail));
            }
            values.0.insert(number, handle);
        }
        let mut generation = Generation::of(BTreeMap::new());
        generation.last_sequence = state.last_sequence;
        let keyspaces = state.keyspaces.keys().copied().collect();
        let (young, ends) = (HashSet::new(), BTreeMap::new());
        Ok(Self { storage, keyspaces, bond: state.bond(), values, generation, young, ends })
    }

    fn replay(&mut self, state: &State, closed: Option<&ClosedLengths>, unnamed: &Unnamed) -> Result<()> {
        for (&number, next) in state.logs.iter().zip(state.logs.iter().skip(1).map(Some).chain([None])) {
            let closed_at = match (closed, next) {
                _ if state.logs_ended.contains_key(&number) => state.logs_ended.get(&number).copied(),
                (Some(lengths), _) => Some(lengths.logs.iter().find(|(log, _)| *log == number).map_or(0, |log| log.1)),
                (None, Some(&next)) => wal::end_before(&**self.storage, state.bond_of(next), next, number)?,
                (None, None) => unnamed.ends.get(&number).copied(),
            };
            let storage = Arc::clone(self.storage);
            self.bond = state.bond_of(number);
            let bytes = wal::replay(&*storage, self.bond, number, closed_at, &mut |group, synced| {
                self.take(number, group, synced)
            })?;
            self.generation.logs.push(LogPart { number, bytes });
        }
        self.forget_unreached();
        let Some(lengths) = closed else { return Ok(()) };
        for &(number, bytes) in &lengths.value_files {
            let handle = self.values.0.get(&number);
            if handle.is_some_and(|handle| handle.file.len_bytes() != bytes) {
                let path = self.storage.path(&super::version::file_name(number, FileKind::Values));
                return Err(Error::damaged(path, bytes, "it does not have the length that it was closed with"));
            }
        }
        Ok(())
    }

    /// Takes a group over; `false` where a value that it points to is not whole, as a crash may leave it.
    fn take(&mut self, log: u64, group: &[u8], synced: bool) -> Result<bool> {
        let malformed = || Error::damaged(self.storage.path(&log_name(log)), 0, "a group that makes no sense");
        let operations = decode_group(group).ok_or_else(malformed)?;
        for operation in &operations {
            if operation.action == Action::Put(Kind::Pointer) && !self.reach(operation, group, synced)? {
                return Ok(false);
            }
        }
        self.note_ends(&operations, group);
        let last = operations.last().map_or(0, |operation| operation.sequence);
        self.generation.last_sequence = self.generation.last_sequence.max(last);
        let keyspaces = &self.keyspaces;
        let make = |id| keyspaces.contains(&id).then(|| Arc::new(Memtable::new()));
        if !self.generation.insert(group.to_vec(), operations, make) {
            let path = self.storage.path(&log_name(log));
            let detail = format!("{} holds more than memtables take; open the store with smaller ones", path.display());
            return Err(Error::InvalidArgument(detail));
        }
        Ok(true)
    }

    /// Lets go of files that were opened for a group which a crash has torn.
    fn forget_unreached(&mut self) {
        let (young, ends) = (&mut self.young, &self.ends);
        let unreached: Vec<u64> = young.iter().copied().filter(|number| !ends.contains_key(number)).collect();
        young.retain(|number| ends.contains_key(number));
        self.generation.values.retain(|handle| !unreached.contains(&handle.number));
        self.values.0.retain(|number, _| !unreached.contains(number));
    }

    fn note_ends(&mut self, operations: &[Operation], group: &[u8]) {
        for operation in operations.iter().filter(|operation| operation.action == Action::Put(Kind::Pointer)) {
            if let Some(place) = ValuePlace::decode(operation.parts(group).1) {
                let end = self.ends.entry(place.file).or_default();
                *end = place.end().unwrap_or(0).max(*end);
            }
        }
    }

    /// Opens the file that an entry points to; whether the value is whole.
    fn reach(&mut self, operation: &Operation, group: &[u8], synced: bool) -> Result<bool> {
        let Some(place) = ValuePlace::decode(operation.parts(group).1) else { return Ok(false) };
        let is_open = self.values.0.get(&place.file).is_some_and(|handle| handle.file.bond() == self.bond);
        if !is_open {
            match open_values(self.storage, self.bond, place.file) {
                Ok(handle) => {
                    self.young.insert(place.file);
                    self.generation.values.push(Arc::clone(&handle));
                    self.values.0.insert(place.file, handle);
                }
                Err(error)
                    if synced
                        || !is_torn(&error)
                        || ValueFile::is_anothers(&**self.storage, self.bond, place.file)? =>
                {
                    return Err(error);
                }
                Err(_) => return Ok(false),
            }
        }
        match self.values.0.get(&place.file) {
            Some(_) if synced => Ok(true),
            Some(handle) => handle.file.is_whole(&place),
            None => Ok(false),
        }
    }
}

/// Whether a value file is as a crash may leave one that was just begun; a failure to read it says nothing of the kind.
fn is_torn(error: &Error) -> bool {
    match error {
        Error::Io { source, .. } => matches!(source.kind(), ErrorKind::NotFound | ErrorKind::UnexpectedEof),
        Error::Damaged { .. } => true,
        _ => false,
    }
}

fn open_values(storage: &Arc<dyn Storage>, bond: StoreBinding, number: u64) -> Result<Arc<ValueHandle>> {
    let file = ValueFile::open(&**storage, bond, number)?;
    Ok(ValueHandle::new(storage, number, Arc::new(file)))
}
