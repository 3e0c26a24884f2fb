//! The logarithmic method: the choice of runs to merge, and the merge.

use super::buffer::{self, Buffer};
use super::build::RunBuilder;
use super::cursor::Merged;
use super::run::{Geometry, Run};
use super::state::State;
use super::tree::Pgm;
use ogive::Result;
use ogive::index::extend::Word;
use ogive::page::{Pages, Phase, Transaction};

/// An older run takes part in a merge once there are tombstones for one in so many of its entries.
const TOMBSTONE_PARTS: u64 = 4;

/// The buffer must have room for so many entries beside the descriptions of runs, or as many as fit without; else all
/// runs become one.
const LEAST_ROOM: usize = 8;

/// Merges the buffer with as many runs as it takes, into one.
pub(super) fn flush<W: Word>(
    tree: &Pgm,
    tx: &mut Transaction,
    geometry: &Geometry,
    state: &mut State<W>,
    buffer: Buffer<W>,
) -> Result<()> {
    tx.enter(Phase::Structure);
    let mut runs = buffer.runs.clone();
    runs.extend(state.oldest.take());
    let merged = choose(tree, geometry, &buffer, &runs);
    let mut runs = merge(tree, tx, geometry, &buffer, runs, merged)?;
    let newer = runs.len().saturating_sub(1);
    let page_bytes = tx.payload_bytes();
    let least = LEAST_ROOM.min(buffer::room::<W>(geometry, &[], page_bytes));
    if buffer::room(geometry, runs.get(..newer).unwrap_or(&[]), page_bytes) < least {
        let empty = Buffer { entries: super::packed::Packed { count: 0, ..buffer.entries }, ..buffer };
        let all = runs.len();
        runs = merge(tree, tx, geometry, &empty, runs, all)?;
    }
    state.oldest = runs.pop();
    state.page = buffer::rewrite(tx, geometry, state.page, &runs)?;
    state.runs = runs.len() as u8;
    state.buffered = 0;
    Ok(())
}

/// How many of the runs, from the newest on, to merge with the buffer.
fn choose<W: Word>(tree: &Pgm, geometry: &Geometry, buffer: &Buffer<W>, runs: &[Run<W>]) -> usize {
    let mut total = buffer.entries.count;
    let mut tombstones = buffer.tombstones();
    let mut chosen = 0;
    while let Some(run) = runs.get(chosen) {
        let joins = run.level <= tree.level_of(geometry, total) || tombstones * TOMBSTONE_PARTS >= run.entries;
        if !joins {
            break;
        }
        total += run.entries;
        tombstones += run.tombstones;
        chosen += 1;
    }
    chosen
}

/// Merges the buffer and the first `merged` runs; what runs there are then, newest first.
fn merge<W: Word>(
    tree: &Pgm,
    tx: &mut Transaction,
    geometry: &Geometry,
    buffer: &Buffer<W>,
    mut runs: Vec<Run<W>>,
    merged: usize,
) -> Result<Vec<Run<W>>> {
    tx.count("run merged");
    let older = runs.split_off(merged.min(runs.len()));
    let total = runs.iter().fold(buffer.entries.count, |total, run| total + run.entries);
    let tombstones = runs.iter().fold(buffer.tombstones(), |sum, run| sum + run.tombstones);
    let is_oldest = older.is_empty();
    let mut builder = RunBuilder::new(geometry, !is_oldest && tombstones > 0);
    builder.reserve(tx, total)?;
    let mut source = Merged::<W>::new(geometry, buffer, runs.iter());
    let mut payload = vec![0; tree.payload_bytes()];
    while let Some((key, tombstone)) = source.next(tx, &mut payload)? {
        if !(tombstone && is_oldest) {
            builder.push(tx, key, &payload, tombstone)?;
        }
    }
    let lowest = runs.iter().map(|run| run.level).max().unwrap_or(0);
    let new = builder.finish(tx)?.map(|run| Run { level: tree.level_of(geometry, run.entries).max(lowest), ..run });
    for run in &runs {
        release(tx, geometry, run);
    }
    Ok(new.into_iter().chain(older).collect())
}

/// Gives back the pages of a run.
fn release<W: Word>(tx: &mut Transaction, geometry: &Geometry, run: &Run<W>) {
    tx.free(run.first, run.data(geometry).pages() as u32);
    let index_pages = run.index_pages(geometry);
    if index_pages > 0 {
        tx.free(run.index, index_pages);
    }
}
