//! Repairing a store whose manifest is lost, or older than other files: all tables and logs are merged into a new last level.
//!
//! Which tables counted, and for which level, only the manifest said. So a table that a crash left behind counts, too; of two entries with
//! one key and sequence number that of the younger file is taken. Each table says which keyspace it is of, by number, and what the
//! newest operation is that it may hold; what logs have beyond that is in no table yet. Files that another store or a copy of this one wrote
//! are set aside (see `foreign`).

use super::foreign::{Found, set_aside};
use super::mend::install;
use super::repair::{Bench, Memtables, Repaired, open_values};
use super::report::complaint;
use super::salvage::Evidence;
use crate::block::BlockCache;
use crate::block::header::{StoreBinding, new_nonce};
use crate::error::{Error, Result};
use crate::io::Storage;
use crate::lsm::compact::Below;
use crate::lsm::cursor::Cursor;
use crate::lsm::entry::{KeyspaceId, Sequence};
use crate::lsm::memtable::Memtable;
use crate::lsm::merge::MergeCursor;
use crate::lsm::removals::Removals;
use crate::lsm::table_file::{Origin, PLACE_PROPERTY, REMOVALS_PROPERTY, TableFile};
use crate::lsm::version::{Edit, FileKind, LEVELS, State, TableMeta, file_name, largest_number, parse_file_name};
use crate::lsm::{DbOptions, wal};
use crate::table::{OpenOptions, Table};
use crate::vlog::ValueFile;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Makes a store sound whose manifest cannot be read, or is `stale`, for the reason of `cause`: an error, and the files that it is of.
pub(super) fn rebuild(
    storage: &Arc<dyn Storage>,
    names: &[String],
    (cause, mut damaged_files): (Error, Vec<String>),
    stale: Option<&State>,
) -> Result<Repaired> {
    let Some((owner, found, foreign_files)) = find(storage, names, stale, &mut damaged_files)? else {
        return Err(cause);
    };
    set_aside(&**storage, &foreign_files)?;
    let Found { tables, logs, values } = found;
    let (evidence, complete) = weighed(values)?;
    let bond = StoreBinding { store: owner, nonce: new_nonce() };
    let mut state = State::new(owner);
    state.nonce = bond.nonce;
    // A crash that cuts the removal of what was short leaves files of theirs.
    state.known = logs.values().map(|bond| bond.nonce).collect();
    let bound = complete.keys().filter_map(|number| Some((*number, evidence.values.get(number)?.bond().nonce)));
    let mut edit = Edit { bound: bound.collect(), ..Edit::default() };
    let bench = Bench::new(storage, bond, largest_number(&**storage)?.saturating_add(1), evidence);
    let mut known: BTreeMap<KeyspaceId, Sequence> = BTreeMap::new();
    for file in &tables {
        let newest = known.entry(file.origin.keyspace).or_default();
        *newest = file.origin.newest.max(*newest);
    }
    let mut memtables = Memtables::default();
    for (&number, &bond) in &logs {
        bench.read_log((bond, number), &known, &mut memtables)?;
    }
    bench.shown.add(memtables.entries);
    edit.value_files_added = complete.into_iter().collect();
    let keyspaces: BTreeSet<KeyspaceId> = known.keys().chain(memtables.by_keyspace.keys()).copied().collect();
    for &keyspace in &keyspaces {
        let of_keyspace = tables.iter().filter(|file| file.origin.keyspace == keyspace);
        let (cursor, removals) = everything(&bench, of_keyspace, memtables.by_keyspace.get(&keyspace));
        let origin = Origin { keyspace, newest: known.get(&keyspace).copied().unwrap_or(0) };
        let outcome = bench.write(cursor, removals, (origin, LEVELS - 1), Below::default())?;
        edit.added.extend(outcome.tables.into_iter().map(|meta| (keyspace, LEVELS - 1, Arc::new(meta))));
        edit.value_files_added.extend(outcome.value_files.iter().map(|file| (file.number(), file.len_bytes())));
    }
    let name_of = |id: KeyspaceId| match stale.and_then(|state| state.keyspaces.get(&id)) {
        Some(keyspace) => keyspace.name.clone(),
        None => format!("keyspace {id}"),
    };
    edit.keyspaces_created = keyspaces.iter().filter(|&&id| id > 0).map(|&id| (id, name_of(id))).collect();
    edit.next_keyspace = keyspaces.last().map(|&last| last.saturating_add(1).max(1));
    edit.next_file = Some(bench.next_file() + 1);
    edit.reserved = edit.next_file;
    // No log is needed any more.
    edit.oldest_log = Some(bench.next_file());
    edit.last_sequence = Some(known.into_values().max().unwrap_or(0).max(memtables.last_sequence));
    let path = storage.path(&file_name(bench.next_file(), FileKind::Manifest));
    let apply = |state: &State, edit: &Edit| state.apply(edit).map_err(|error| error.into_error(&path, 0));
    let state = apply(&state, &edit)?;
    let unused = Edit { value_files_removed: state.unreferenced_value_files(), ..Edit::default() };
    install(&bench, &apply(&state, &unused)?, None, &BTreeSet::new())?;
    Ok(Repaired {
        damaged_files,
        foreign_files,
        saved_entries: bench.shown.count(),
        lost_entries: bench.evidence.lost.load(Ordering::Relaxed),
        is_loss_known: false,
        manifest_rebuilt: true,
    })
}

/// The files that a store can be rebuilt of, whose they are, and the names of those that are not the store's; `None` where no file says whose
/// it is.
fn find(
    storage: &Arc<dyn Storage>,
    names: &[String],
    stale: Option<&State>,
    damaged_files: &mut Vec<String>,
) -> Result<Option<(u64, Found, Vec<String>)>> {
    let mut foreign = Vec::new();
    let (owner, tables) = open_tables(storage, names, stale, (damaged_files, &mut foreign))?;
    let mut logs = logs(storage, names, stale)?;
    let Some(owner) = owner.or_else(|| logs.values().next().map(|bond| bond.store)) else { return Ok(None) };
    let anothers = logs.iter().filter(|(_, bond)| bond.store != owner);
    foreign.extend(anothers.map(|(&number, _)| file_name(number, FileKind::Log)));
    logs.retain(|_, bond| bond.store == owner);
    let values = open_values(names, |number| ValueFile::open_of_store(&**storage, owner, number))?;
    for name in names {
        if let Some((number, FileKind::Values)) = parse_file_name(name)
            && !values.contains_key(&number)
        {
            let store = ValueFile::bond_of(&**storage, number).map(|bond| bond.map(|bond| bond.store));
            let is_anothers = store.is_ok_and(|store| store.is_some_and(|store| store != owner));
            (if is_anothers { &mut foreign } else { &mut *damaged_files }).push(name.clone());
        }
    }
    let mut found = Found { tables, logs, values };
    foreign.extend(found.take_foreign());
    foreign.sort();
    Ok(Some((owner, found, foreign)))
}

/// The value files as evidence, and those that are proved to be whole, with their lengths.
fn weighed(values: BTreeMap<u64, Arc<ValueFile>>) -> Result<(Evidence, BTreeMap<u64, u64>)> {
    let mut evidence = Evidence { values, ..Evidence::default() };
    let mut complete = BTreeMap::new();
    for (&number, file) in &evidence.values {
        if file.walk(&mut |_| Ok(()))?.is_proved {
            complete.insert(number, file.len_bytes());
        } else {
            evidence.suspect.insert(number);
        }
    }
    Ok((evidence, complete))
}

/// The name of the file that an error is of.
pub(super) fn file_of(cause: &Error) -> String {
    match cause {
        Error::Damaged { path, .. } => {
            path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
        }
        _ => String::new(),
    }
}

/// All tables that open, the youngest first, and whose they say they are.
fn open_tables(
    storage: &Arc<dyn Storage>,
    names: &[String],
    stale: Option<&State>,
    (damaged_files, foreign_files): (&mut Vec<String>, &mut Vec<String>),
) -> Result<(Option<u64>, Vec<Arc<TableFile>>)> {
    let cache = Arc::new(BlockCache::new(0));
    let mut owners: BTreeMap<u64, u64> = BTreeMap::new();
    let mut found: Vec<(u64, TableMeta, Option<u64>)> = Vec::new();
    for name in names {
        let Some((number, FileKind::Table)) = parse_file_name(name) else { continue };
        match Table::open_for_walk(Arc::clone(storage), name, &OpenOptions::default()) {
            Ok(table) => {
                let owner = table.property(PLACE_PROPERTY).and_then(|place| place.first_chunk()).copied();
                let owner = owner.map(u64::from_le_bytes);
                if let Some(owner) = owner {
                    *owners.entry(owner).or_default() += 1;
                }
                found.push((number, described(&table, number, stale), owner));
            }
            Err(error) if complaint(&error).is_some() => damaged_files.push(name.clone()),
            Err(error) => return Err(error),
        }
    }
    let named = owners.into_iter().max_by_key(|&(_, count)| count).map(|(owner, _)| owner);
    let owner = stale.map(|state| state.owner).or(named);
    found.sort_by_key(|(number, ..)| std::cmp::Reverse(*number));
    let mut tables = Vec::new();
    for (number, meta, of) in found {
        if of.is_some() && of != owner {
            foreign_files.push(file_name(number, FileKind::Table));
            continue;
        }
        match TableFile::open(storage, owner.unwrap_or(0), Arc::new(meta), &cache, &DbOptions::for_walks()) {
            Ok(file) => tables.push(file),
            Err(error) if complaint(&error).is_some() => damaged_files.push(file_name(number, FileKind::Table)),
            Err(error) => return Err(error),
        }
    }
    Ok((owner, tables))
}

/// As much as a table says of itself. One that was taken in has lost its sequence number, unless the stale manifest knows it, and counts as
/// the oldest.
fn described(table: &Table, number: u64, stale: Option<&State>) -> TableMeta {
    let same = |known: &TableMeta| known.number == number && known.file_id == Some(table.file_id());
    let known = stale.and_then(|state| state.tables().find(|(_, _, known)| same(known)));
    let sequence = known.and_then(|(_, _, known)| known.global_sequence).unwrap_or(0);
    TableMeta {
        number,
        records: table.len(),
        has_range_removals: table.property(REMOVALS_PROPERTY).is_some(),
        global_sequence: (!table.is_versioned()).then_some(sequence),
        ..TableMeta::default()
    }
}

/// What the logs are bound to, by number: those that begin as logs do, and are what their names say.
fn logs(storage: &Arc<dyn Storage>, names: &[String], stale: Option<&State>) -> Result<BTreeMap<u64, StoreBinding>> {
    let named = stale.into_iter().flat_map(|state| state.logs.iter().map(|&number| (number, state.bond_of(number))));
    let mut logs: BTreeMap<u64, StoreBinding> = named.collect();
    for name in names {
        if let Some((number, FileKind::Log)) = parse_file_name(name)
            && let Some(header) = wal::header(&**storage, number)?.filter(|header| header.number == number)
        {
            logs.insert(number, header.bond);
        }
    }
    Ok(logs)
}

/// All entries of a keyspace in their order, and all range removals.
fn everything<'a>(
    bench: &Bench,
    tables: impl Iterator<Item = &'a Arc<TableFile>>,
    memtables: Option<&Vec<Arc<Memtable>>>,
) -> (Box<dyn Cursor>, Vec<Arc<Removals>>) {
    let mut sources: Vec<Box<dyn Cursor>> = Vec::new();
    let mut removals = Vec::new();
    for memtable in memtables.into_iter().flat_map(|list| list.iter().rev()) {
        sources.push(Box::new(memtable.cursor()));
        removals.push(memtable.removals());
    }
    for file in tables {
        sources.push(bench.salvage(file));
        removals.push(Arc::clone(&file.removals));
    }
    (Box::new(MergeCursor::new(sources)), removals)
}
