//! Repair by rebuilding, for a store whose manifest is lost or outdated: all tables and logs are merged into a new last
//! level.
//!
//! Only the manifest recorded which tables were live, and on which level. So a table that a crash left behind is
//! included as well; of two entries with the same key and sequence number, the one in the newer file wins. Each table
//! states the number of its keyspace and the newest operation that it may contain; later operations of the logs are in
//! no table. Files of another store, or of a copy of this one, are set aside (see `foreign`). So are ingested tables
//! that no manifest names: they are as others wrote them, often other names of files of others, and state neither a
//! keyspace nor how old their records are.

use super::foreign::{FOREIGN_SUFFIX, INGESTED_SUFFIX, StoreFiles, set_aside};
use super::in_place::install;
use super::recovering_cursor::ValueEvidence;
use super::store::{RecoveredMemtables, RepairContext, RepairReport, open_values};
use crate::block::BlockCache;
use crate::block::header::{StoreBinding, new_nonce};
use crate::error::{Error, Result};
use crate::io::{Storage, unix_time_ms};
use crate::lsm::DbOptions;
use crate::lsm::compact::LevelsBelow;
use crate::lsm::core::wal;
use crate::lsm::read::merge::MergeCursor;
use crate::lsm::state::cursor::EntryCursor;
use crate::lsm::state::entry::{KeyspaceId, Sequence};
use crate::lsm::state::expiry::store_time::RecordedTimes;
use crate::lsm::state::memtable::Memtable;
use crate::lsm::state::range_tombstones::RangeTombstones;
use crate::lsm::state::tables::table_file::{
    KeyspaceStatement, ORIGIN_PROPERTY, RANGE_TOMBSTONES_PROPERTY, STORE_PROPERTY, TableFile, TableOrigin,
};
use crate::lsm::state::version::{
    FileKind, KeyspaceOptions, LEVELS, ManifestEdit, ManifestState, TableFileMeta, file_name, largest_number,
    parse_file_name,
};
use crate::table::{Table, TableOptions};
use crate::verify::report::finding_of;
use crate::vlog::ValueFile;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The names of files from which a store is not rebuilt.
#[derive(Debug, Default)]
struct UnusedFiles {
    damaged: Vec<String>,
    foreign: Vec<String>,
    /// Ingested tables of unknown keyspaces.
    ingested: Vec<String>,
}

/// A table that can be read.
#[derive(Debug)]
struct FoundTable {
    meta: TableFileMeta,
    /// The store that it states.
    owner: Option<u64>,
    /// The keyspace of a table that does not state it, by the outdated manifest.
    keyspace: Option<KeyspaceId>,
}

/// Rebuilds a store whose manifest is unreadable, or outdated (`stale`). `cause` is the error that shows this, with the
/// files concerned.
pub(super) fn rebuild(
    storage: &Arc<dyn Storage>,
    names: &[String],
    (cause, damaged): (Error, Vec<String>),
    stale: Option<&ManifestState>,
) -> Result<RepairReport> {
    let mut unused = UnusedFiles { damaged, ..UnusedFiles::default() };
    let Some((owner, found)) = find(storage, names, stale, &mut unused)? else { return Err(cause) };
    set_aside(&**storage, &unused.foreign, FOREIGN_SUFFIX)?;
    set_aside(&**storage, &unused.ingested, INGESTED_SUFFIX)?;
    let StoreFiles { tables, logs, values } = found;
    let (evidence, complete) = assess_values(values)?;
    let binding = StoreBinding { store: owner, nonce: new_nonce() };
    let mut state = ManifestState::new(owner);
    state.nonce = binding.nonce;
    // An interrupted removal of surplus files leaves files of these openings.
    state.known = logs.values().map(|binding| binding.nonce).collect();
    let bound = complete.keys().filter_map(|number| Some((*number, evidence.values.get(number)?.binding().nonce)));
    let mut edit = ManifestEdit { bound: bound.collect(), ..ManifestEdit::default() };
    let mut context = RepairContext::new(storage, binding, largest_number(&**storage)?.saturating_add(1), evidence);
    let statements = statements(&tables, stale);
    context.keyspaces = statements.clone();
    let mut known: BTreeMap<KeyspaceId, Sequence> = BTreeMap::new();
    for file in &tables {
        let newest = known.entry(file.origin.keyspace).or_default();
        *newest = file.origin.newest.max(*newest);
    }
    let mut memtables = RecoveredMemtables::default();
    for (&number, &binding) in &logs {
        context.read_log((binding, number), &known, &mut memtables)?;
    }
    context.recovered_count.add(memtables.entries);
    edit.value_files_added = complete.into_iter().collect();
    let keyspaces: BTreeSet<KeyspaceId> = known.keys().chain(memtables.by_keyspace.keys()).copied().collect();
    for &keyspace in &keyspaces {
        let of_keyspace = tables.iter().filter(|file| file.origin.keyspace == keyspace);
        let (cursor, tombstones) = all_entries(&context, of_keyspace, memtables.by_keyspace.get(&keyspace));
        let origin = TableOrigin { keyspace, newest: known.get(&keyspace).copied().unwrap_or(0) };
        let outcome = context.write(cursor, tombstones, (origin, LEVELS - 1), LevelsBelow::default())?;
        edit.added.extend(outcome.tables.into_iter().map(|meta| (keyspace, LEVELS - 1, Arc::new(meta))));
        edit.value_files_added.extend(outcome.value_files.iter().map(|file| (file.number(), file.len_bytes())));
    }
    let name_of =
        |id: KeyspaceId| statements.get(&id).map_or_else(|| format!("keyspace {id}"), |stated| stated.name.clone());
    edit.keyspaces_created = keyspaces.iter().filter(|&&id| id > 0).map(|&id| (id, name_of(id))).collect();
    let kept = statements.iter().filter(|(id, _)| **id == 0 || keyspaces.contains(id));
    kept.for_each(|(&id, stated)| state_keyspace(id, stated, &mut edit));
    edit.times = times(&edit, stale);
    edit.next_keyspace = keyspaces.last().map(|&last| last.saturating_add(1).max(1));
    edit.next_file = Some(context.next_file() + 1);
    edit.reserved = edit.next_file;
    // No log is needed any more.
    edit.oldest_log = Some(context.next_file());
    edit.last_sequence = Some(known.into_values().max().unwrap_or(0).max(memtables.last_sequence));
    let path = storage.path(&file_name(context.next_file(), FileKind::Manifest));
    let apply =
        |state: &ManifestState, edit: &ManifestEdit| state.apply(edit).map_err(|error| error.into_error(&path, 0));
    let state = apply(&state, &edit)?;
    let removed = ManifestEdit { value_files_removed: state.unreferenced_value_files(), ..ManifestEdit::default() };
    install(&context, &apply(&state, &removed)?, None, &BTreeSet::new())?;
    Ok(RepairReport {
        damaged_files: unused.damaged,
        foreign_files: unused.foreign,
        ingested_files: unused.ingested,
        saved_entries: context.recovered_count.count(),
        lost_entries: context.evidence.lost.load(Ordering::Relaxed),
        is_loss_known: false,
        manifest_rebuilt: true,
    })
}

/// The times of a store with records that expire: those of the outdated manifest, or else what the clock says.
fn times(edit: &ManifestEdit, stale: Option<&ManifestState>) -> Option<RecordedTimes> {
    let expire = edit.added.iter().any(|(.., table)| table.expiring.is_some())
        || edit.options.iter().any(|(_, options)| options.expiry.is_some());
    let by_clock = || expire.then(|| RecordedTimes { base_ms: unix_time_ms(), ..RecordedTimes::default() });
    stale.and_then(|state| state.times).or_else(by_clock)
}

/// Adds the types and the options of a keyspace, if it has any.
fn state_keyspace(id: KeyspaceId, stated: &KeyspaceStatement, edit: &mut ManifestEdit) {
    if !stated.types.types.is_bytes() {
        edit.types.push((id, stated.types.after_forms()));
    }
    if !stated.options.is_default() {
        edit.options.push((id, stated.options.clone()));
    }
}

/// Names, types and options of keyspaces: those of the outdated manifest, else as the newest table of each states them.
/// A name that two tables state for two keyspaces belongs to neither.
fn statements(tables: &[Arc<TableFile>], stale: Option<&ManifestState>) -> BTreeMap<KeyspaceId, KeyspaceStatement> {
    let mut found: BTreeMap<KeyspaceId, (u64, KeyspaceStatement)> = BTreeMap::new();
    let mut options: BTreeMap<KeyspaceId, (u64, KeyspaceOptions)> = BTreeMap::new();
    for file in tables {
        let own = (file.meta.number, KeyspaceStatement::options_of_table(&file.table));
        let newest = options.entry(file.origin.keyspace).or_insert_with(|| own.clone());
        if own.0 > newest.0 {
            *newest = own;
        }
        let Some(stated) = KeyspaceStatement::of_table(&file.table) else { continue };
        let newest = found.entry(file.origin.keyspace).or_insert((file.meta.number, stated.clone()));
        if file.meta.number > newest.0 {
            *newest = (file.meta.number, stated);
        }
    }
    let mut found: BTreeMap<KeyspaceId, _> = found.into_iter().map(|(id, (_, stated))| (id, stated)).collect();
    for (id, stated) in &mut found {
        // A table without options is of the time when there were none.
        stated.options = options.remove(id).map(|(_, options)| options).unwrap_or_default();
    }
    let count = |name: &String| found.values().filter(|other| other.name == *name).count();
    let ambiguous: BTreeSet<KeyspaceId> =
        found.iter().filter(|(_, stated)| count(&stated.name) > 1).map(|(&id, _)| id).collect();
    for (id, stated) in &mut found {
        if ambiguous.contains(id) {
            stated.name = format!("keyspace {id}");
        }
    }
    for (&id, keyspace) in stale.into_iter().flat_map(|state| &state.keyspaces) {
        let stated = KeyspaceStatement::of_keyspace(keyspace);
        match found.get_mut(&id) {
            // An alteration that the manifest does not know: there may be values of its form.
            Some(newer) if newer.types.forms.current > stated.types.forms.current => {
                (newer.name, newer.options) = (stated.name, stated.options);
            }
            _ => _ = found.insert(id, stated),
        }
    }
    found
}

/// Finds the files to rebuild a store from, and its identity; `None` if no file states one.
fn find(
    storage: &Arc<dyn Storage>,
    names: &[String],
    stale: Option<&ManifestState>,
    unused: &mut UnusedFiles,
) -> Result<Option<(u64, StoreFiles)>> {
    let (owner, tables) = open_tables(storage, names, stale, unused)?;
    let mut logs = logs(storage, names, stale)?;
    let Some(owner) = owner.or_else(|| logs.values().next().map(|binding| binding.store)) else { return Ok(None) };
    let anothers = logs.iter().filter(|(_, binding)| binding.store != owner);
    unused.foreign.extend(anothers.map(|(&number, _)| file_name(number, FileKind::Log)));
    logs.retain(|_, binding| binding.store == owner);
    let values = open_values(names, |number| ValueFile::open_of_store(&**storage, owner, number))?;
    for name in names {
        if let Some((number, FileKind::Values)) = parse_file_name(name)
            && !values.contains_key(&number)
        {
            let store = ValueFile::binding_of(&**storage, number).map(|binding| binding.map(|binding| binding.store));
            let has_other_identity = store.is_ok_and(|store| store.is_some_and(|store| store != owner));
            (if has_other_identity { &mut unused.foreign } else { &mut unused.damaged }).push(name.clone());
        }
    }
    let mut found = StoreFiles { tables, logs, values };
    unused.foreign.extend(found.remove_foreign());
    unused.foreign.sort();
    Ok(Some((owner, found)))
}

/// The value files as evidence, and those that are proved to be complete, with their lengths.
fn assess_values(values: BTreeMap<u64, Arc<ValueFile>>) -> Result<(ValueEvidence, BTreeMap<u64, u64>)> {
    let mut evidence = ValueEvidence { values, ..ValueEvidence::default() };
    let mut complete = BTreeMap::new();
    for (&number, file) in &evidence.values {
        if file.scan(&mut |_| Ok(()))?.is_proved {
            complete.insert(number, file.len_bytes());
        } else {
            evidence.suspect.insert(number);
        }
    }
    Ok((evidence, complete))
}

/// Opens all readable tables, newest first; also returns the identity of the store that they state.
fn open_tables(
    storage: &Arc<dyn Storage>,
    names: &[String],
    stale: Option<&ManifestState>,
    unused: &mut UnusedFiles,
) -> Result<(Option<u64>, Vec<Arc<TableFile>>)> {
    let cache = Arc::new(BlockCache::none());
    let mut owners: BTreeMap<u64, u64> = BTreeMap::new();
    let mut found: Vec<FoundTable> = Vec::new();
    for name in names {
        let Some((number, FileKind::Table)) = parse_file_name(name) else { continue };
        match Table::open_for_walk(Arc::clone(storage), name, &TableOptions::default()) {
            Ok(table) => {
                let owner = table.property(STORE_PROPERTY).and_then(|identity| identity.first_chunk()).copied();
                let owner = owner.map(u64::from_le_bytes);
                if let Some(owner) = owner {
                    *owners.entry(owner).or_default() += 1;
                }
                let known = known_meta(&table, number, stale);
                let states_keyspace = table.is_versioned() || table.property(ORIGIN_PROPERTY).is_some();
                if !states_keyspace && known.is_none() {
                    unused.ingested.push(name.clone());
                    continue;
                }
                let keyspace = known.filter(|_| !states_keyspace).map(|(keyspace, _)| keyspace);
                let meta = stated_meta(&table, number, known.map(|(_, meta)| meta));
                found.push(FoundTable { meta, owner, keyspace });
            }
            Err(error) if finding_of(&error).is_some() => unused.damaged.push(name.clone()),
            Err(error) => return Err(error),
        }
    }
    let named = owners.into_iter().max_by_key(|&(_, count)| count).map(|(owner, _)| owner);
    let owner = stale.map(|state| state.owner).or(named);
    found.sort_by_key(|table| std::cmp::Reverse(table.meta.number));
    let mut tables = Vec::new();
    for FoundTable { meta, owner: stated, keyspace } in found {
        let number = meta.number;
        if stated.is_some() && stated != owner {
            unused.foreign.push(file_name(number, FileKind::Table));
            continue;
        }
        match TableFile::open(
            storage,
            owner.unwrap_or(0),
            Arc::new(meta),
            &cache,
            &DbOptions::for_verification().of_tables(),
            None,
        ) {
            Ok(mut file) => {
                if let (Some(keyspace), Some(file)) = (keyspace, Arc::get_mut(&mut file)) {
                    file.origin.keyspace = keyspace;
                }
                tables.push(file);
            }
            Err(error) if finding_of(&error).is_some() => unused.damaged.push(file_name(number, FileKind::Table)),
            Err(error) => return Err(error),
        }
    }
    Ok((owner, tables))
}

/// What the outdated manifest says of a table: its keyspace, and its metadata.
fn known_meta<'a>(
    table: &Table,
    number: u64,
    stale: Option<&'a ManifestState>,
) -> Option<(KeyspaceId, &'a TableFileMeta)> {
    let same = |known: &TableFileMeta| known.number == number && known.file_id == Some(table.file_id());
    let mut tables = stale?.tables();
    tables.find(|(_, _, known)| same(known)).map(|(keyspace, _, known)| (keyspace, &**known))
}

/// The metadata that a table itself states. An ingested table has lost its sequence number, unless the outdated
/// manifest records it, and counts as the oldest.
fn stated_meta(table: &Table, number: u64, known: Option<&TableFileMeta>) -> TableFileMeta {
    let sequence = known.and_then(|known| known.global_sequence).unwrap_or(0);
    let tombstones = known.filter(|known| known.is_of_removals()).map_or(0, |known| known.tombstones);
    TableFileMeta {
        number,
        records: table.len(),
        has_range_tombstones: table.property(RANGE_TOMBSTONES_PROPERTY).is_some(),
        global_sequence: (!table.is_versioned()).then_some(sequence),
        tombstones,
        ..TableFileMeta::default()
    }
}

/// The identities of the logs, by number: of those with a valid header that matches their name.
fn logs(
    storage: &Arc<dyn Storage>,
    names: &[String],
    stale: Option<&ManifestState>,
) -> Result<BTreeMap<u64, StoreBinding>> {
    let named = stale.into_iter().flat_map(|state| state.logs.iter().map(|&number| (number, state.binding_of(number))));
    let mut logs: BTreeMap<u64, StoreBinding> = named.collect();
    for name in names {
        if let Some((number, FileKind::Log)) = parse_file_name(name)
            && let Some(header) = wal::header(&**storage, number)?.filter(|header| header.number == number)
        {
            logs.insert(number, header.binding);
        }
    }
    Ok(logs)
}

/// A cursor over all entries of a keyspace, and all its range tombstones.
fn all_entries<'a>(
    context: &RepairContext,
    tables: impl Iterator<Item = &'a Arc<TableFile>>,
    memtables: Option<&Vec<Arc<Memtable>>>,
) -> (Box<dyn EntryCursor>, Vec<Arc<RangeTombstones>>) {
    let mut sources: Vec<Box<dyn EntryCursor>> = Vec::new();
    let mut tombstones = Vec::new();
    for memtable in memtables.into_iter().flat_map(|list| list.iter().rev()) {
        sources.push(Box::new(memtable.cursor()));
        tombstones.push(memtable.tombstones());
    }
    for file in tables {
        sources.push(context.recovering_cursor(file));
        tombstones.push(Arc::clone(&file.tombstones));
    }
    (Box::new(MergeCursor::new(sources)), tombstones)
}
