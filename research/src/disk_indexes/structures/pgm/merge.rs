//! The logarithmic method: chooses the runs to merge with the buffer, and merges them.

use super::buffer::{self, InsertBuffer};
use super::build::RunBuilder;
use super::cursor::MergedRuns;
use super::run::{PgmGeometry, PgmRun};
use super::state::PgmState;
use super::tree::PgmTree;
use ogive::Result;
use ogive::index::extend::Word;
use ogive::page::{PagePhase, Pages, Transaction};

/// An older run joins a merge if there are tombstones for 1/4 of its entries.
const TOMBSTONE_DIVISOR: u64 = 4;

/// Least number of entries for which the buffer must have room next to the run descriptions, unless it has less without
/// them; else all runs are merged into one.
const BUFFER_ENTRIES_MIN: usize = 8;

/// Merges the buffer and the chosen runs into one run.
pub(super) fn flush<W: Word>(
    tree: &PgmTree,
    tx: &mut Transaction,
    geometry: &PgmGeometry,
    state: &mut PgmState<W>,
    buffer: InsertBuffer<W>,
) -> Result<()> {
    tx.enter(PagePhase::Structure);
    let mut runs = buffer.runs.clone();
    runs.extend(state.oldest.take());
    let merged = choose(tree, geometry, &buffer, &runs);
    let mut runs = merge(tree, tx, geometry, &buffer, runs, merged)?;
    let newer = runs.len().saturating_sub(1);
    let page_bytes = tx.payload_bytes();
    let least = BUFFER_ENTRIES_MIN.min(buffer::room::<W>(geometry, &[], page_bytes));
    if buffer::room(geometry, runs.get(..newer).unwrap_or(&[]), page_bytes) < least {
        let empty = InsertBuffer { entries: super::packed::PackedEntries { count: 0, ..buffer.entries }, ..buffer };
        let all = runs.len();
        runs = merge(tree, tx, geometry, &empty, runs, all)?;
    }
    state.oldest = runs.pop();
    state.page = buffer::rewrite(tx, geometry, state.page, &runs)?;
    state.runs = runs.len() as u8;
    state.buffered = 0;
    Ok(())
}

/// The number of runs to merge with the buffer, from the newest on.
fn choose<W: Word>(tree: &PgmTree, geometry: &PgmGeometry, buffer: &InsertBuffer<W>, runs: &[PgmRun<W>]) -> usize {
    let mut total = buffer.entries.count;
    let mut tombstones = buffer.tombstones();
    let mut chosen = 0;
    while let Some(run) = runs.get(chosen) {
        let is_merged = run.level <= tree.level_of(geometry, total) || tombstones * TOMBSTONE_DIVISOR >= run.entries;
        if !is_merged {
            break;
        }
        total += run.entries;
        tombstones += run.tombstones;
        chosen += 1;
    }
    chosen
}

/// Merges the buffer and the first `merged` runs; returns the new list of runs, newest first.
fn merge<W: Word>(
    tree: &PgmTree,
    tx: &mut Transaction,
    geometry: &PgmGeometry,
    buffer: &InsertBuffer<W>,
    mut runs: Vec<PgmRun<W>>,
    merged: usize,
) -> Result<Vec<PgmRun<W>>> {
    tx.count("run merged");
    let older = runs.split_off(merged.min(runs.len()));
    let total = runs.iter().fold(buffer.entries.count, |total, run| total + run.entries);
    let tombstones = runs.iter().fold(buffer.tombstones(), |sum, run| sum + run.tombstones);
    let is_oldest = older.is_empty();
    let mut builder = RunBuilder::new(geometry, !is_oldest && tombstones > 0);
    builder.reserve(tx, total)?;
    let mut source = MergedRuns::<W>::new(geometry, buffer, runs.iter());
    let mut payload = vec![0; tree.payload_bytes()];
    while let Some((key, tombstone)) = source.next(tx, &mut payload)? {
        if !(tombstone && is_oldest) {
            builder.push(tx, key, &payload, tombstone)?;
        }
    }
    let lowest = runs.iter().map(|run| run.level).max().unwrap_or(0);
    let new = builder.finish(tx)?.map(|run| PgmRun { level: tree.level_of(geometry, run.entries).max(lowest), ..run });
    for run in &runs {
        release(tx, geometry, run);
    }
    Ok(new.into_iter().chain(older).collect())
}

/// Frees the pages of a run.
fn release<W: Word>(tx: &mut Transaction, geometry: &PgmGeometry, run: &PgmRun<W>) {
    tx.free(run.first, run.data(geometry).pages() as u32);
    let index_pages = run.index_pages(geometry);
    if index_pages > 0 {
        tx.free(run.index, index_pages);
    }
}
