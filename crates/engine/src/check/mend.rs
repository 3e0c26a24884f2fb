//! Repair in place, for a store whose manifest is intact: rewrites the damaged files and nothing else.

use super::repair::{Bench, Memtables, Repaired, open_values};
use super::report::{StoreReport, complaint};
use super::salvage::Evidence;
use crate::block::header::new_nonce;
use crate::error::Result;
use crate::io::Storage;
use crate::lsm::compact::Below;
use crate::lsm::cursor::Cursor;
use crate::lsm::entry::KeyspaceId;
use crate::lsm::merge::MergeCursor;
use crate::lsm::table_file::{Origin, TableFile};
use crate::lsm::version::{
    ClosedLengths, Edit, FileKind, LEVELS, Levels, Manifest, Recovered, State, TableMeta, file_name, parse_file_name,
};
use crate::vlog::ValueFile;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Makes a store sound whose damage `report` tells.
pub(super) fn mend(storage: &Arc<dyn Storage>, recovered: Recovered, report: &StoreReport) -> Result<Repaired> {
    let damaged: BTreeSet<String> = report.findings.iter().map(|finding| finding.file.clone()).collect();
    let Recovered { mut state, closed, .. } = recovered;
    begin_opening(storage, &mut state, closed.as_ref())?;
    let values = open_values(&storage.list()?, |number| match state.value_files.contains_key(&number) {
        true => ValueFile::open(&**storage, state.bond_of(number), number),
        false => ValueFile::open_of_store(&**storage, state.owner, number),
    })?;
    let is_damaged = |number: u64, kind| damaged.contains(&file_name(number, kind));
    let suspect = values.keys().copied().filter(|&number| is_damaged(number, FileKind::Values)).collect();
    let bench = Bench::new(storage, state.bond(), state.next_file, Evidence { values, suspect, ..Evidence::default() });
    let mut edit = Edit::default();
    for (keyspace, level, table) in state.tables() {
        let points_to_lost = table.values.iter().any(|&(file, _)| is_damaged(file, FileKind::Values));
        if points_to_lost || is_damaged(table.number, FileKind::Table) {
            rewrite(&bench, &state, (keyspace, level, table), &mut edit)?;
        }
    }
    let has_bad_log = state.logs.iter().any(|&number| is_damaged(number, FileKind::Log));
    if has_bad_log || !young(&bench, &state).is_empty() && !bench.evidence.suspect.is_empty() {
        rewrite_logs(&bench, &state, &mut edit)?;
    }
    let after = applied(&bench, &state, edit)?;
    let was_complete = state.value_files.keys().copied().collect();
    install(&bench, &after, closed, &was_complete)?;
    Ok(Repaired {
        // How much a log held behind its last sound group nobody knows.
        is_loss_known: !damaged.iter().any(|name| matches!(parse_file_name(name), Some((_, FileKind::Log)))),
        damaged_files: damaged.into_iter().collect(),
        foreign_files: Vec::new(),
        saved_entries: bench.shown.count(),
        lost_entries: bench.evidence.lost.load(Ordering::Relaxed),
        manifest_rebuilt: false,
    })
}

/// Makes the repair an opening of the store: a manifest that says the same as before knows its nonce, and reserves its numbers, so that
/// nothing that a repair leaves which is cut short passes for more than a leftover.
fn begin_opening(storage: &Arc<dyn Storage>, state: &mut State, closed: Option<&ClosedLengths>) -> Result<()> {
    let number = state.next_file;
    state.begin_opening(new_nonce());
    state.next_file = number + 1;
    state.reserved = state.next_file.saturating_add(RESERVED_NUMBERS);
    Manifest::create(storage, number, state, closed).map(drop)
}

/// More than any repair writes files.
const RESERVED_NUMBERS: u64 = 1 << 32;

/// Puts what can be read of a table in its place.
fn rewrite(bench: &Bench, state: &State, place: (KeyspaceId, usize, &Arc<TableMeta>), edit: &mut Edit) -> Result<()> {
    let (keyspace, level, table) = place;
    edit.removed.push((keyspace, level, table.number));
    let cache = Arc::new(crate::block::BlockCache::new(0));
    let opened = TableFile::open(&bench.storage, bench.bond.store, Arc::clone(table), &cache, &bench.options);
    let file = match opened {
        Err(error) if complaint(&error).is_some() => {
            bench.evidence.lost.fetch_add(table.records, Ordering::Relaxed);
            return Ok(());
        }
        opened => opened?,
    };
    let none = Levels::default();
    let levels = state.levels(keyspace).unwrap_or(&none);
    let below = if level > 0 { Below::level(levels, level) } else { below_newest(levels, table.number) };
    let outcome = bench.write(bench.salvage(&file), vec![Arc::clone(&file.removals)], (file.origin, level), below)?;
    edit.added.extend(outcome.tables.into_iter().map(|meta| (keyspace, level, Arc::new(meta))));
    edit.value_files_added.extend(outcome.value_files.iter().map(|file| (file.number(), file.len_bytes())));
    Ok(())
}

/// All tables of a keyspace but one of level 0: those that may hold older entries than it.
fn below_newest(levels: &Levels, number: u64) -> Below {
    let newest = levels.level(0).iter().filter(|table| table.number != number);
    let runs = newest.map(|table| vec![Arc::clone(table)]);
    Below::new(runs.chain((1..LEVELS).map(|level| levels.level(level).to_vec())))
}

/// Value files that only logs lead to.
fn young(bench: &Bench, state: &State) -> Vec<u64> {
    bench.evidence.values.keys().copied().filter(|number| !state.value_files.contains_key(number)).collect()
}

/// Writes out what can be read of the logs, so that none is needed any more.
fn rewrite_logs(bench: &Bench, state: &State, edit: &mut Edit) -> Result<()> {
    // The values of these files are copied, too: nothing proves the end of a file that was still growing.
    let mut copying = Bench::new(&bench.storage, bench.bond, bench.next_file(), Evidence::default());
    let values = bench.evidence.values.clone();
    copying.evidence = Arc::new(Evidence { values, ..Evidence::default() });
    copying.collected = bench.collected.clone();
    for number in young(bench, state) {
        if let Some(file) = bench.evidence.values.get(&number) {
            copying.collected.insert(number, Arc::clone(file));
        }
    }
    // All logs together: what a later one removes, an earlier one may have put.
    let mut memtables = Memtables::default();
    for &number in &state.logs {
        bench.read_log((state.bond_of(number), number), &BTreeMap::new(), &mut memtables)?;
    }
    let last_sequence = state.last_sequence.max(memtables.last_sequence);
    bench.shown.add(memtables.entries);
    for (keyspace, list) in memtables.by_keyspace {
        let Some(levels) = state.levels(keyspace) else { continue };
        let sources = list.iter().rev().map(|memtable| Box::new(memtable.cursor()) as Box<dyn Cursor>);
        let outcome = copying.write(
            Box::new(MergeCursor::new(sources.collect())),
            list.iter().map(|memtable| memtable.removals()).collect(),
            (Origin { keyspace, newest: 0 }, 0),
            Below::memtable(levels),
        )?;
        edit.added.extend(outcome.tables.into_iter().map(|meta| (keyspace, 0, Arc::new(meta))));
        edit.value_files_added.extend(outcome.value_files.iter().map(|file| (file.number(), file.len_bytes())));
    }
    bench.next_file.store(copying.next_file(), Ordering::Relaxed);
    edit.last_sequence = Some(last_sequence);
    edit.oldest_log = Some(copying.next_file());
    Ok(())
}

/// The state after the repair, without value files that nothing points into.
fn applied(bench: &Bench, state: &State, mut edit: Edit) -> Result<State> {
    edit.next_file = Some(bench.next_file() + 1);
    let path = bench.storage.path(&file_name(bench.next_file(), FileKind::Manifest));
    let apply = |state: &State, edit: &Edit| state.apply(edit).map_err(|error| error.into_error(&path, 0));
    let after = apply(state, &edit)?;
    let unused = Edit { value_files_removed: after.unreferenced_value_files(), ..Edit::default() };
    let mut after = apply(&after, &unused)?;
    after.reserved = after.next_file;
    Ok(after)
}

/// Makes a state that of the store, and removes all other files, but for value files that only logs lead to: younger ones than the
/// oldest log, which are not among those that were complete.
pub(super) fn install(
    bench: &Bench,
    state: &State,
    was_closed: Option<ClosedLengths>,
    was_complete: &BTreeSet<u64>,
) -> Result<()> {
    let complete = state.value_files.iter().map(|(&number, file)| (number, file.bytes));
    let closed = if state.logs.is_empty() {
        Some(ClosedLengths { logs: Vec::new(), value_files: complete.collect() })
    } else {
        was_closed.map(|lengths| {
            let young = lengths.value_files.into_iter().filter(|(number, _)| {
                bench.evidence.values.contains_key(number)
                    && !bench.evidence.suspect.contains(number)
                    && !was_complete.contains(number)
            });
            let mut value_files: Vec<(u64, u64)> = complete.chain(young).collect();
            value_files.sort_unstable();
            value_files.dedup_by_key(|file| file.0);
            ClosedLengths { logs: lengths.logs, value_files }
        })
    };
    let number = state.next_file - 1;
    Manifest::create(&bench.storage, number, state, closed.as_ref())?;
    let kept: BTreeSet<String> = state
        .tables()
        .map(|(_, _, table)| Bench::table_name(table.number))
        .chain(state.value_files.keys().map(|&number| file_name(number, FileKind::Values)))
        .chain(state.logs.iter().map(|&number| file_name(number, FileKind::Log)))
        .chain([file_name(number, FileKind::Manifest)])
        .collect();
    for name in bench.storage.list()? {
        let Some((number, kind)) = parse_file_name(&name) else { continue };
        let may_be_young = kind == FileKind::Values && !state.logs.is_empty();
        let is_young = may_be_young && number >= state.oldest_log && !was_complete.contains(&number);
        if !kept.contains(&name) && !is_young {
            bench.storage.remove(&name)?;
        }
    }
    Ok(())
}
