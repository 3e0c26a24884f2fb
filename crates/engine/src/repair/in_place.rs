//! Repair in place, for a store whose manifest is intact: rewrites the damaged files and nothing else.

use super::recovering_cursor::ValueEvidence;
use super::store::{RecoveredMemtables, RepairContext, RepairReport, open_values};
use crate::block::header::new_nonce;
use crate::error::Result;
use crate::io::Storage;
use crate::lsm::compact::LevelsBelow;
use crate::lsm::read::merge::MergeCursor;
use crate::lsm::state::cursor::EntryCursor;
use crate::lsm::state::entry::KeyspaceId;
use crate::lsm::state::tables::table_file::{KeyspaceStatement, TableFile, TableOrigin};
use crate::lsm::state::version::{
    ClosedLengths, FileKind, KeyspaceLevels, LEVELS, Manifest, ManifestEdit, ManifestState, RecoveredManifest,
    TableFileMeta, file_name, parse_file_name,
};
use crate::verify::report::{StoreReport, finding_of};
use crate::vlog::ValueFile;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Repairs a store whose damage is in `report`.
pub(super) fn repair_in_place(
    storage: &Arc<dyn Storage>,
    recovered: RecoveredManifest,
    report: &StoreReport,
) -> Result<RepairReport> {
    let damaged: BTreeSet<String> = report.findings.iter().map(|finding| finding.file.clone()).collect();
    let RecoveredManifest { mut state, closed, .. } = recovered;
    begin_opening(storage, &mut state, closed.as_ref())?;
    let values = open_values(&storage.list()?, |number| match state.value_files.contains_key(&number) {
        true => ValueFile::open(&**storage, state.binding_of(number), number),
        false => ValueFile::open_of_store(&**storage, state.owner, number),
    })?;
    let is_damaged = |number: u64, kind| damaged.contains(&file_name(number, kind));
    let suspect = values.keys().copied().filter(|&number| is_damaged(number, FileKind::Values)).collect();
    let mut context = RepairContext::new(
        storage,
        state.binding(),
        state.next_file,
        ValueEvidence { values, suspect, ..ValueEvidence::default() },
    );
    let statements = state.keyspaces.iter().map(|(&id, keyspace)| (id, KeyspaceStatement::of_keyspace(keyspace)));
    context.keyspaces = statements.collect();
    let mut edit = ManifestEdit::default();
    for (keyspace, level, table) in state.tables() {
        let points_to_lost = table.values.iter().any(|&(file, _)| is_damaged(file, FileKind::Values));
        if points_to_lost || is_damaged(table.number, FileKind::Table) {
            rewrite(&context, &state, (keyspace, level, table), &mut edit)?;
        }
    }
    let has_bad_log = state.logs.iter().any(|&number| is_damaged(number, FileKind::Log));
    let has_bad_values = damaged.iter().any(|name| matches!(parse_file_name(name), Some((_, FileKind::Values))));
    if has_bad_log || has_bad_values && !state.logs.is_empty() {
        rewrite_logs(&context, &state, &mut edit)?;
    }
    let after = state_after_repair(&context, &state, edit)?;
    let was_complete = state.value_files.keys().copied().collect();
    install(&context, &after, closed, &was_complete)?;
    Ok(RepairReport {
        // The contents of a log after its last intact group are unknown. Older logs are kept for recycling.
        is_loss_known: !damaged
            .iter()
            .any(|name| matches!(parse_file_name(name), Some((number, FileKind::Log)) if number >= state.oldest_log)),
        damaged_files: damaged.into_iter().collect(),
        foreign_files: Vec::new(),
        ingested_files: Vec::new(),
        saved_entries: context.recovered_count.count(),
        lost_entries: context.evidence.lost.load(Ordering::Relaxed),
        manifest_rebuilt: false,
    })
}

/// Makes the repair an opening of the store: a manifest with the same contents records its nonce and reserves its
/// numbers, so files that an interrupted repair leaves are recognized as leftovers.
fn begin_opening(storage: &Arc<dyn Storage>, state: &mut ManifestState, closed: Option<&ClosedLengths>) -> Result<()> {
    let number = state.next_file;
    state.begin_opening(new_nonce());
    state.next_file = number + 1;
    state.reserved = state.next_file.saturating_add(RESERVED_NUMBERS);
    Manifest::create(storage, number, state, closed).map(drop)
}

/// More file numbers than any repair uses.
const RESERVED_NUMBERS: u64 = 1 << 32;

/// Replaces a table by its readable entries.
fn rewrite(
    context: &RepairContext,
    state: &ManifestState,
    table: (KeyspaceId, usize, &Arc<TableFileMeta>),
    edit: &mut ManifestEdit,
) -> Result<()> {
    let (keyspace, level, table) = table;
    edit.removed.push((keyspace, level, table.number));
    let cache = Arc::new(crate::block::BlockCache::none());
    let opened = TableFile::open(
        &context.storage,
        context.binding.store,
        Arc::clone(table),
        &cache,
        &context.options.of_tables(),
        None,
    );
    let file = match opened {
        Err(error) if finding_of(&error).is_some() => {
            context.evidence.lost.fetch_add(table.records, Ordering::Relaxed);
            return Ok(());
        }
        opened => opened?,
    };
    let none = KeyspaceLevels::default();
    let levels = state.levels(keyspace).unwrap_or(&none);
    let below = if level > 0 { LevelsBelow::level(levels, level) } else { below_newest(levels, table.number) };
    let outcome = context.write(
        context.recovering_cursor(&file),
        vec![Arc::clone(&file.tombstones)],
        // An ingested table does not state its keyspace.
        (TableOrigin { keyspace, ..file.origin }, level),
        below,
    )?;
    edit.added.extend(outcome.tables.into_iter().map(|meta| (keyspace, level, Arc::new(meta))));
    edit.value_files_added.extend(outcome.value_files.iter().map(|file| (file.number(), file.len_bytes())));
    Ok(())
}

/// All tables of a keyspace except one of level 0: those that may contain older entries.
fn below_newest(levels: &KeyspaceLevels, number: u64) -> LevelsBelow {
    let newest = levels.level(0).iter().filter(|table| table.number != number);
    let runs = newest.map(|table| vec![Arc::clone(table)]);
    LevelsBelow::new(runs.chain((1..LEVELS).map(|level| levels.level(level).to_vec())))
}

/// Value files that only logs point into.
fn unflushed(context: &RepairContext, state: &ManifestState) -> Vec<u64> {
    context.evidence.values.keys().copied().filter(|number| !state.value_files.contains_key(number)).collect()
}

/// Flushes the readable entries of all logs, so that none is needed any more.
fn rewrite_logs(context: &RepairContext, state: &ManifestState, edit: &mut ManifestEdit) -> Result<()> {
    // Values of these files are copied as well: nothing proves the end of a file that was still growing.
    let mut copying =
        RepairContext::new(&context.storage, context.binding, context.next_file(), ValueEvidence::default());
    copying.keyspaces = context.keyspaces.clone();
    let values = context.evidence.values.clone();
    copying.evidence = Arc::new(ValueEvidence { values, ..ValueEvidence::default() });
    copying.collected = context.collected.clone();
    for number in unflushed(context, state) {
        if let Some(file) = context.evidence.values.get(&number) {
            copying.collected.insert(number, Arc::clone(file));
        }
    }
    // All logs together, since a later one may remove what an earlier one put.
    let mut memtables = RecoveredMemtables::default();
    for &number in &state.logs {
        context.read_log((state.binding_of(number), number), &BTreeMap::new(), &mut memtables)?;
    }
    let last_sequence = state.last_sequence.max(memtables.last_sequence);
    context.recovered_count.add(memtables.entries);
    for (keyspace, list) in memtables.by_keyspace {
        let Some(levels) = state.levels(keyspace) else { continue };
        let sources = list.iter().rev().map(|memtable| Box::new(memtable.cursor()) as Box<dyn EntryCursor>);
        let outcome = copying.write(
            Box::new(MergeCursor::new(sources.collect())),
            list.iter().map(|memtable| memtable.tombstones()).collect(),
            (TableOrigin { keyspace, newest: 0 }, 0),
            LevelsBelow::memtable(levels),
        )?;
        edit.added.extend(outcome.tables.into_iter().map(|meta| (keyspace, 0, Arc::new(meta))));
        edit.value_files_added.extend(outcome.value_files.iter().map(|file| (file.number(), file.len_bytes())));
    }
    context.next_file.store(copying.next_file(), Ordering::Relaxed);
    edit.last_sequence = Some(last_sequence);
    edit.oldest_log = Some(copying.next_file());
    Ok(())
}

/// The state after the repair, without unreferenced value files.
fn state_after_repair(context: &RepairContext, state: &ManifestState, mut edit: ManifestEdit) -> Result<ManifestState> {
    edit.next_file = Some(context.next_file() + 1);
    // Rows and entries may have been lost, each without the others.
    edit.indexes = state.incomplete_indexes();
    let path = context.storage.path(&file_name(context.next_file(), FileKind::Manifest));
    let apply =
        |state: &ManifestState, edit: &ManifestEdit| state.apply(edit).map_err(|error| error.into_error(&path, 0));
    let after = apply(state, &edit)?;
    let unused = ManifestEdit { value_files_removed: after.unreferenced_value_files(), ..ManifestEdit::default() };
    let mut after = apply(&after, &unused)?;
    after.reserved = after.next_file;
    Ok(after)
}

/// Installs a state, and removes all other files of the store, except value files that only logs point into: those
/// newer than the oldest log that were not complete before.
pub(super) fn install(
    context: &RepairContext,
    state: &ManifestState,
    was_closed: Option<ClosedLengths>,
    was_complete: &BTreeSet<u64>,
) -> Result<()> {
    let complete = state.value_files.iter().map(|(&number, file)| (number, file.bytes));
    let closed = if state.logs.is_empty() {
        Some(ClosedLengths { value_files: complete.collect(), ..ClosedLengths::default() })
    } else {
        was_closed.map(|lengths| {
            let unflushed = lengths.value_files.into_iter().filter(|(number, _)| {
                context.evidence.values.contains_key(number)
                    && !context.evidence.suspect.contains(number)
                    && !was_complete.contains(number)
            });
            let mut value_files: Vec<(u64, u64)> = complete.chain(unflushed).collect();
            value_files.sort_unstable();
            value_files.dedup_by_key(|file| file.0);
            ClosedLengths { value_files, ..lengths }
        })
    };
    let number = state.next_file - 1;
    Manifest::create(&context.storage, number, state, closed.as_ref())?;
    let kept: BTreeSet<String> = state
        .tables()
        .map(|(_, _, table)| RepairContext::table_name(table.number))
        .chain(state.value_files.keys().map(|&number| file_name(number, FileKind::Values)))
        .chain(state.logs.iter().map(|&number| file_name(number, FileKind::Log)))
        .chain([file_name(number, FileKind::Manifest)])
        .collect();
    for name in context.storage.list()? {
        let Some((number, kind)) = parse_file_name(&name) else { continue };
        let may_be_unflushed = kind == FileKind::Values && !state.logs.is_empty();
        let is_unflushed = may_be_unflushed && number >= state.oldest_log && !was_complete.contains(&number);
        if !kept.contains(&name) && !is_unflushed {
            context.storage.remove(&name)?;
        }
    }
    Ok(())
}
