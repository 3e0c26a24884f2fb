//! Opening a store: reading the manifest, replaying the logs, and opening all tables.

use super::few_keys::{ChooseKeys, keep_chosen};
use super::lock::take_lock;
use super::log_replay::LogReplay;
use super::newest_state::{attempts, changed, is_removal};
use super::tables::{TableOpener, side_by_side};
use super::unreferenced::{UnreferencedFiles, leftovers};
use crate::block::BlockCache;
use crate::block::header::new_nonce;
use crate::error::{Advice, Call, Cause, Error, Result};
use crate::io::{Profile, Storage, Timer, random_u64};
use crate::lsm::core::contents::Contents;
use crate::lsm::core::files::CoreFiles;
use crate::lsm::core::replayed_logs::ReplayedLogs;
use crate::lsm::core::reports::FinishedOpening;
use crate::lsm::core::shared::{SharedState, StateChange};
use crate::lsm::core::store::Core;
use crate::lsm::core::wal::ClosedLog;
use crate::lsm::core::writer::{SeparationRules, WriterState};
use crate::lsm::objects::{FolderPurpose, KnownChain, ObjectFolder, StoreVersion};
use crate::lsm::state::expiry::store_time::StoreTime;
use crate::lsm::state::indexes::kept::KeptIndex;
use crate::lsm::state::keyspace_tree::KeyspaceTree;
use crate::lsm::state::memtable::Memtable;
use crate::lsm::state::memtable_set::{BackingLog, MemtableSet};
use crate::lsm::state::options::DbOptions;
use crate::lsm::state::tables::lookup_times::TableLookups;
use crate::lsm::state::tables::table_file::TableFile;
use crate::lsm::state::tables::value_files::{ValueFiles, ValueHandle};
use crate::lsm::state::version::{
    FileKind, ManifestEdit, ManifestState, ReadManifest, RecoveredManifest, newest_format, parse_file_name, recover,
    recover_on, remove_leftovers,
};
use crate::lsm::state::view::{KeyspaceView, OpenLevels};
use crate::telemetry::{self, Counter};
use crate::vlog::{ValueFileWriter, values_name};
use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Attempts of a read-only opening to find the store unchanged by its writer, at least.
const READ_ONLY_TRIES_MIN: u32 = 8;

/// Opens a version of a store on an object store, or the newest one. A reader reads what one listing shows; what its
/// writer removes meanwhile makes it try again.
///
/// # Errors
/// [`Cause::VersionGone`] for a named version that is not there any more; [`Cause::Fenced`] if another opening for
/// writing was faster.
fn open_objects(
    storage: &Arc<dyn Storage>,
    options: &DbOptions,
    mode: FolderPurpose,
    choose: Option<ChooseKeys<'_>>,
) -> Result<Core> {
    let stated = storage.profile().filter(|_| options.profile == Profile::default());
    let options = &stated.map_or_else(|| options.clone(), |profile| options.clone().profile(profile.clone()));
    let mut tried = None;
    loop {
        let folder = Arc::new(ObjectFolder::open(Arc::clone(storage), mode, options.objects.grace_s)?);
        let version = folder.version()?;
        match open_folder(Arc::clone(&folder), options, None, choose) {
            Err(Error { cause: Cause::VersionGone | Cause::Damaged | Cause::WrongAnswer, .. })
                if mode == FolderPurpose::Read(None) && tried != Some(version) =>
            {
                tried = Some(version);
            }
            // Another manifest may begin where the one of an old version is being removed.
            Err(error @ Error { cause: Cause::Damaged, .. })
                if is_manifest(&error.place()) && folder.is_superseded()? =>
            {
                return Err(folder.version_gone());
            }
            Err(Error { cause: Cause::VersionGone, .. }) if mode == FolderPurpose::Read(None) => {
                return Err(folder.explain_gone()?);
            }
            Err(error @ Error { cause: Cause::Damaged, .. }) if !matches!(mode, FolderPurpose::Read(Some(_))) => {
                return Err(folder.explain_damage(error)?);
            }
            opened => return opened,
        }
    }
}

fn is_manifest(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).and_then(parse_file_name);
    matches!(name, Some((_, FileKind::Manifest)))
}

fn open_folder(
    folder: Arc<ObjectFolder>,
    options: &DbOptions,
    before: Option<&Core>,
    choose: Option<ChooseKeys<'_>>,
) -> Result<Core> {
    let read_only = folder.is_reading();
    open_once((Arc::clone(&folder) as Arc<dyn Storage>, Some(folder)), options, before, (read_only, choose))
}

/// Opens the newest version of the store of a reader, with its cache and its open tables; `None` if the reader has it.
pub(in crate::lsm) fn open_newer(before: &Core) -> Result<Option<Core>> {
    let (Some(objects), Some(version)) = (&before.files.objects, before.contents.version) else {
        let hint = "only readers of stores on object stores can; open it again".to_owned();
        return Err(Error::unsupported(before.path(), "refresh", hint));
    };
    if before.is_closed() {
        return Err(before.closed());
    }
    let mut tried = version;
    loop {
        let folder = Arc::new(objects.newest(&version)?);
        let newest = folder.version()?;
        // A listing may lag behind the version that the reader has.
        if newest <= version {
            return Ok(None);
        }
        match open_folder(folder, &before.options, Some(before), None) {
            Err(Error { cause: Cause::VersionGone | Cause::Damaged | Cause::WrongAnswer, .. }) if tried != newest => {
                tried = newest;
            }
            Err(error @ Error { cause: Cause::Gone, .. }) => return Err(error),
            // The store may have been removed meanwhile.
            Err(error) => return objects.check_in_place().and(Err(error)),
            Ok(newer) => return Ok(Some(newer)),
        }
    }
}

/// Opens a version of a store, read-only.
pub(in crate::lsm) fn open_version(
    storage: &Arc<dyn Storage>,
    options: &DbOptions,
    version: StoreVersion,
) -> Result<Core> {
    if storage.is_object_store() {
        return open_objects(storage, options, FolderPurpose::Read(Some(version)), None);
    }
    let hint = "only stores on object stores have named versions; open it at the newest one, or make a checkpoint";
    let action = "open a version of";
    Err(Error::unsupported(folder(&**storage), action, hint))
}

/// Opens a store. With `read_only`, nothing is written, and another process may be writing: the result is valid only if
/// the manifest is still the same afterwards, since files may have been removed or recycled in between. Such an opening
/// may be one for few keys, which `choose` names.
pub(in crate::lsm) fn open(
    storage: Arc<dyn Storage>,
    options: &DbOptions,
    read_only: bool,
    choose: Option<ChooseKeys<'_>>,
) -> Result<Core> {
    if storage.is_object_store() {
        let purpose = if read_only { FolderPurpose::Read(None) } else { FolderPurpose::Write };
        if !read_only && !options.wait_for_lock.is_zero() {
            let hint = "a store on an object store has none: who opens it for writing takes it over; open it without a \
                        time to wait";
            return Err(Error::unsupported(folder(&*storage), "wait for the lock of", hint));
        }
        return open_objects(&storage, options, purpose, choose);
    }
    if !read_only {
        return open_once((storage, None), options, None, (false, None));
    }
    let manifest = || Ok::<_, Error>(recover(&*storage)?.map(|found| (found.number, found.state)));
    for attempt in attempts(READ_ONLY_TRIES_MIN) {
        let before = manifest();
        let opened = open_once((Arc::clone(&storage), None), options, None, (true, choose));
        match (before, manifest()) {
            (Ok(before), Ok(after)) if before == after => return opened,
            (Err(error), _) | (_, Err(error))
                if attempt >= READ_ONLY_TRIES_MIN && !is_removed_file(&*storage, &error) =>
            {
                return Err(error);
            }
            _ => {}
        }
    }
    Err(changed(&*storage))
}

/// Whether an error is about a file of a store that was removed meanwhile, and not about its folder.
fn is_removed_file(storage: &dyn Storage, error: &Error) -> bool {
    is_removal(error) && !(matches!(error.cause, Cause::Io(_)) && error.path() == Some(&*folder(storage)))
}

fn open_once(
    (storage, objects): (Arc<dyn Storage>, Option<Arc<ObjectFolder>>),
    options: &DbOptions,
    before: Option<&Core>,
    (read_only, choose): (bool, Option<ChooseKeys<'_>>),
) -> Result<Core> {
    let timer = Timer::start();
    options.check(&folder(&*storage))?;
    if read_only || !options.create {
        refuse_other_folder(&*storage, objects.as_deref())?;
    }
    let lock = if read_only || objects.is_some() { None } else { Some(take_lock(&*storage, options.wait_for_lock)?) };
    if !read_only {
        remove_leftovers(&*storage)?;
    }
    let nonce = new_nonce();
    let mut replayed = before.and_then(|before| before.contents.take_replayed());
    let (found, read) = match &objects {
        Some(objects) if !read_only => (take_over(objects, nonce)?, None),
        Some(objects) => read_on(objects, replayed.as_mut().and_then(|replayed| replayed.manifest.take()))?,
        None => (recover(&*storage)?, None),
    };
    let manifest_number = found.as_ref().map_or(0, |found| found.number);
    objects.as_ref().map_or(Ok(()), |objects| check_objects(objects, found.as_ref()))?;
    let (mut state, closed) = match found {
        Some(RecoveredManifest { state, closed, .. }) => (state, closed),
        None => (ManifestState::new(random_u64()), None),
    };
    if !read_only {
        state.begin_opening(nonce);
    }
    objects.iter().for_each(|objects| objects.name_objects(&state));
    let reads_parts = read_only && objects.is_some();
    let new_cache = || new_cache(options, reads_parts, &folder(&*storage));
    let cache = before.map_or_else(new_cache, |before| Arc::clone(&before.files.cache));
    let learner = before.map_or_else(|| options.start_learning(), |before| before.background.learner.clone());
    let asked_last = choose.and_then(|choose| keep_chosen(&mut state, choose));
    let places = (&storage, objects.as_deref());
    let tables = TableOpener { places, cache: &cache, options, before, asked_last }.open_all(&mut state, &learner)?;
    replayed = replayed.filter(|replayed| replayed.is_part_of(&state));
    if let Some(objects) = &objects {
        objects.set_known(FileKind::Log, replayed.iter().flat_map(ReplayedLogs::known_logs));
        fetch(objects, &state, &tables, options)?;
    }
    let unnamed = unreferenced(&storage, objects.as_deref(), &state, read_only)?;
    let mut replay = LogReplay::new(&storage, objects.as_deref(), &state, replayed)?;
    replay.replay(&state, closed.as_ref(), &unnamed)?;
    let replayed = read_only.then(|| replay.replayed(&cache, read));
    let older = replay.older().collect();
    let opening = FinishedOpening::of(&replay.memtable_set.logs, manifest_number == 0, closed.is_some());
    let LogReplay { values, memtable_set, unflushed, ends, .. } = replay;
    state.last_sequence = state.last_sequence.max(memtable_set.last_sequence);
    let version = objects.as_ref().filter(|_| read_only).map(|objects| objects.version()).transpose()?;
    if !read_only {
        let orphans = leftovers(storage.list()?, &state, |number| unflushed.contains(&number));
        orphans.iter().try_for_each(|name| storage.remove(name))?;
    }
    objects.iter().for_each(|objects| objects.forget_listing());
    let time = store_time(options, before, &state);
    let shared = SharedState { sealed: older, ..shared(state, tables, values, unflushed, time) };
    let files = CoreFiles::new((storage, objects), lock, cache, &shared.state, manifest_number);
    let contents = Contents::new(shared, version, replayed);
    let mut core = Core::new(options.clone(), read_only, files, contents, learner);
    let begun = core.begin(memtable_set, closed.is_some(), &ends).and_then(|()| core.upgrade(options));
    begun.map_err(|error| core.explain_lost_opening(error, manifest_number + 1))?;
    if before.is_none() {
        core.report_opening(timer, &opening);
    }
    Ok(core)
}

/// What a reader knows of a manifest, and of its parts.
pub(in crate::lsm) type KnownManifest = Option<(ReadManifest, KnownChain)>;

/// Reads the newest manifest, or what of it is new to a reader. Also returns it as it is read now.
pub(in crate::lsm) fn read_on(
    objects: &ObjectFolder,
    before: KnownManifest,
) -> Result<(Option<RecoveredManifest>, KnownManifest)> {
    objects.set_known(FileKind::Manifest, before.iter().map(|(read, known)| (read.number(), *known)));
    let Some((found, read)) = recover_on(objects, before.map(|(read, _)| read))? else { return Ok((None, None)) };
    let known = objects.end_chain(FileKind::Manifest, found.number, read.bytes)?;
    Ok((Some(found), known.map(|known| (read, known))))
}

/// Refuses to read a state that is not the newest, and to create a store where a copy of one is being made.
fn check_objects(objects: &ObjectFolder, found: Option<&RecoveredManifest>) -> Result<()> {
    match found {
        Some(found) if objects.reads_newest() => objects.check_current(found.number, &found.state),
        None if !objects.is_reading() => objects.check_no_copy(),
        _ => Ok(()),
    }
}

/// Reads the logs, and for a reader the filters of these tables with the same requests in flight.
fn fetch(
    objects: &ObjectFolder,
    state: &ManifestState,
    tables: &BTreeMap<u64, Arc<TableFile>>,
    options: &DbOptions,
) -> Result<()> {
    let tables: Vec<&Arc<TableFile>> = match objects.is_reading() && options.fast_paths.prefetch {
        true => tables.values().collect(),
        false => Vec::new(),
    };
    // Filters that cannot be read are left to the lookups that need them.
    let read_filter = |at: usize| _ = tables.get(at).map(|table| table.table.load_filter());
    side_by_side(tables.len(), options, read_filter, || objects.fetch_logs(&state.logs, false))
}

/// Examines the files that the manifest does not name.
///
/// # Errors
/// [`Cause::Damaged`] if there are files that no crash leaves; errors of the storage.
fn unreferenced(
    storage: &Arc<dyn Storage>,
    objects: Option<&ObjectFolder>,
    state: &ManifestState,
    read_only: bool,
) -> Result<UnreferencedFiles> {
    let unnamed = match objects {
        Some(_) if read_only => UnreferencedFiles::default(),
        Some(objects) => {
            state.retired.iter().for_each(|(name, &since_s)| objects.retired.add_since(name, since_s));
            UnreferencedFiles::find_in_objects(storage, objects, state)?
        }
        None => UnreferencedFiles::find(storage, state)?,
    };
    unnamed.check(&**storage)?;
    Ok(unnamed)
}

/// Ends the chains that another writer may be writing, and reads the newest manifest. What that writer has acknowledged
/// is in them.
fn take_over(objects: &ObjectFolder, nonce: u64) -> Result<Option<RecoveredManifest>> {
    let Some(found) = recover(objects)? else { return Ok(None) };
    if found.number == ObjectFolder::FIRST_MANIFEST {
        // The opening that created the store may have died before it did.
        objects.check_conditions()?;
    }
    if found.closed.is_some() {
        // Its writer has ended them.
        return Ok(Some(found));
    }
    objects.seal(FileKind::Manifest, found.number, nonce)?;
    let Some(found) = recover(objects)? else { return Ok(None) };
    for &number in found.state.logs.iter().filter(|number| !found.state.logs_ended.contains_key(number)) {
        objects.seal(FileKind::Log, number, nonce)?;
    }
    Ok(Some(found))
}

/// The time of a recovered store: that of the reader before, if there is one.
fn store_time(options: &DbOptions, before: Option<&Core>, state: &ManifestState) -> Arc<StoreTime> {
    let Some(before) = before else {
        return Arc::new(StoreTime::new(options.clock.clone(), options.expiry.clock_ahead_max, state.times));
    };
    before.contents.time.note_recorded(state.times);
    Arc::clone(&before.contents.time)
}

/// The shared state of a recovered store, without its keyspaces.
fn shared(
    state: ManifestState,
    tables: BTreeMap<u64, Arc<TableFile>>,
    values: ValueFiles,
    unflushed_values: HashSet<u64>,
    time: Arc<StoreTime>,
) -> SharedState {
    let empty_view = KeyspaceView {
        active: Arc::new(Memtable::new()),
        sealed: Vec::new(),
        levels: Arc::new(OpenLevels::default()),
        values: Arc::new(ValueFiles::default()),
        time,
    };
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
        expiry_due_ms: None,
        checked_with_snapshot: 0,
        failure: None,
        is_fenced: false,
        is_gone: false,
        is_collecting: false,
        state,
    }
}

/// Refuses a folder without files of a store, before anything is created in it.
fn refuse_other_folder(storage: &dyn Storage, objects: Option<&ObjectFolder>) -> Result<()> {
    let is_ours = |name: &String| matches!(parse_file_name(name), Some((_, kind)) if kind != FileKind::NewManifest);
    if storage.list()?.iter().any(is_ours) {
        return Ok(());
    }
    objects.map_or(Ok(()), ObjectFolder::check_absent)?;
    let path = folder(storage);
    let detail = "it contains no manifest";
    Err(Error::not_a_store(path, detail).advise(Advice::Use(Call::CreateStore)))
}

fn new_cache(options: &DbOptions, reads_parts: bool, store: &Path) -> Arc<BlockCache> {
    let mut cache = match options.fast_paths.cache {
        true => BlockCache::for_blocks_of(options.memory_bytes, options.levels.block_bytes.into()),
        false => BlockCache::accounting(options.memory_bytes),
    };
    let store = store.display().to_string();
    let counter = |metric| Counter::register(metric, &[("store", &*store)]);
    cache.count_in(counter(telemetry::STORE_CACHE_HITS), counter(telemetry::STORE_CACHE_MISSES));
    cache.reserve(options.buffer_bytes());
    if reads_parts {
        // For the parts of logs, from their answers until they are memtables.
        cache.reserve(options.memtable_limit_bytes());
    }
    Arc::new(cache)
}

/// The folder of a store, for error messages.
fn folder(storage: &dyn Storage) -> PathBuf {
    storage.path("x").parent().map(Into::into).unwrap_or_default()
}

impl Core {
    /// Prepares a recovered store for use: read-only, or with a new manifest and a new log.
    fn begin(&self, found: MemtableSet, was_closed: bool, ends: &BTreeMap<u64, u64>) -> Result<()> {
        let mut writer = self.writes.writer.lock();
        let mut shared = self.contents.lock();
        self.create_trees(&mut shared, &found);
        if self.access.is_read_only() {
            self.publish_all(&mut shared);
            return Ok(());
        }
        self.load_kept_changes()?;
        let found = self.finish_value_files(&mut shared, found, ends)?;
        if was_closed {
            // The manifest that records this is replaced before the header of the next log does.
            shared.state.logs_ended = found.logs.iter().map(|part| (part.number, part.bytes)).collect();
        }
        if shared.state.knows_many() {
            // Removals of files of forgotten openings must be durable.
            self.files.storage.sync_directory()?;
            shared.state.forget_openings();
        }
        self.renew_manifest(&mut shared)?;
        // After a crash, recovered entries are flushed, so a log with a torn tail is never read again. They are flushed
        // as well if there might be no room for that later.
        let keeps = was_closed
            && found.logs.len() < KEPT_LOGS_MAX
            && found.memory_bytes() < self.options.writes.memtable_bytes / 2
            && self.has_room_to_flush(&shared);
        let previous = found.logs.last().filter(|_| keeps && found.logs.last().is_some_and(|part| part.bytes > 0));
        let previous = previous.map(|part| ClosedLog { number: part.number, bytes: part.bytes });
        let number = self.number_within(&mut shared)?;
        let log = self.files.create_log(number, None, previous)?;
        let mut active = found;
        active.reservation = self.reserve_for_memtables(active.memory_bytes());
        if !keeps {
            let mut next = MemtableSet::of(shared.fresh_memtables());
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
        writer.separation = SeparationRules::new(&self.options, &shared.state);
        let sealed = shared.sealed.front().cloned();
        drop(shared);
        drop(writer);
        sealed.map_or(Ok(()), |memtable_set| self.flush_memtable_set(&memtable_set))
    }

    /// The error of an opening whose manifest was to have this number.
    fn explain_lost_opening(&self, error: Error, number: u64) -> Error {
        match &self.files.objects {
            Some(objects) => objects.explain_lost_opening(error, number),
            None => error,
        }
    }

    /// Raises the format if the options say so: last, so that an opening that fails before leaves it as it was.
    fn upgrade(&mut self, options: &DbOptions) -> Result<()> {
        if options.upgrade && !self.access.is_read_only() {
            self.raise_format()?;
        }
        Ok(())
    }

    /// Raises the format of the store to the newest, durably.
    ///
    /// # Errors
    /// Errors of the storage: the format is unchanged, unless only the sync of the folder or the removal of the old
    /// manifest failed.
    fn raise_format(&self) -> Result<()> {
        let mut shared = self.contents.lock();
        if shared.state.format >= newest_format() {
            return Ok(());
        }
        shared.state.format = newest_format();
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
            if self.files.objects.is_some() {
                // Objects are complete and durable.
                continue;
            }
            if handle.file.is_finished()? {
                self.files.storage.open_update(&values_name(number))?.sync()?;
                continue;
            }
            let end = ends.get(&number).copied().unwrap_or(0);
            let completed = ValueFileWriter::resume(
                &self.files.storage,
                handle.file.binding(),
                number,
                end,
                self.options.compression,
            );
            let file = completed.and_then(ValueFileWriter::finish)?;
            *handle = ValueHandle::new(&self.files.storage, number, file);
            shared.add_values(Arc::clone(handle));
        }
        Ok(found)
    }

    /// Creates the tree of each keyspace.
    fn create_trees(&self, shared: &mut SharedState, found: &MemtableSet) {
        let folder: Arc<Path> = self.path().into();
        let keyspaces = shared.state.keyspaces.iter();
        let trees = keyspaces.map(|(&id, found)| {
            let named = (id, found.name.clone());
            let (types, view) = (found.types.clone(), shared.empty_view.clone());
            let tree = KeyspaceTree::new(named, Arc::clone(&folder), types, view);
            tree.set_expiry_rule(found.options.expiry.clone());
            (id, Arc::new(tree))
        });
        shared.trees = trees.collect();
        for (id, index) in shared.state.indexes() {
            let (Some(owner), Some(entries)) = (shared.trees.get(&index.owner), shared.trees.get(&id)) else {
                continue;
            };
            let mut indexes = owner.indexes.get().to_vec();
            indexes.push(KeptIndex::new(Arc::clone(index), Arc::clone(entries)));
            owner.indexes.set(indexes);
        }
        shared.active = found.memtables().clone();
        shared.recheck_all();
    }
}

/// Logs that a cleanly closed store keeps at opening; with more, their entries are flushed.
const KEPT_LOGS_MAX: usize = 8;
