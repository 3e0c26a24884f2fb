//! PGM inserts: add to the buffer, and merge it with runs when it is full.

use super::buffer::{self, InsertBuffer};
use super::search::find_in_runs;
use super::state::PgmState;
use super::tree::PgmTree;
use super::{merge, run::PgmGeometry};
use ogive::Result;
use ogive::index::extend::Word;
use ogive::page::{PagePhase, Transaction};

/// Inserts an entry; true if it is new.
pub(super) fn insert<W: Word>(
    tree: &PgmTree,
    tx: &mut Transaction,
    state: &mut PgmState<W>,
    key: W,
    payload: &[u8],
) -> Result<bool> {
    tx.enter(PagePhase::Search);
    let geometry = tree.geometry::<W>(tx);
    let loaded = InsertBuffer::load(tx, &geometry, state)?;
    let found = loaded.find(key);
    if found.exact {
        tx.enter(PagePhase::Insert);
        loaded.put(tx, found.position, true, key, Some(payload))?;
        return Ok(loaded.is_tombstone(found.position));
    }
    let older = find_in_runs(&geometry, tx, state, &loaded, key)?;
    let is_new = older.is_none_or(|older| older.is_tombstone());
    add(tree, tx, &geometry, state, loaded, key, Some(payload))?;
    Ok(is_new)
}

/// Adds an entry, or a tombstone, whose key is not in the buffer.
pub(super) fn add<W: Word>(
    tree: &PgmTree,
    tx: &mut Transaction,
    geometry: &PgmGeometry,
    state: &mut PgmState<W>,
    mut loaded: InsertBuffer<W>,
    key: W,
    payload: Option<&[u8]>,
) -> Result<()> {
    let limit = tree.buffer_entries(loaded.entries.shape.per_page());
    if usize::from(state.buffered) >= limit {
        merge::flush(tree, tx, geometry, state, loaded)?;
        loaded = InsertBuffer::load(tx, geometry, state)?;
    }
    tx.enter(PagePhase::Insert);
    if state.page == 0 {
        state.page = buffer::rewrite::<W>(tx, geometry, 0, &[])?;
        loaded.entries.first = state.page;
    }
    loaded.put(tx, loaded.find(key).position, false, key, payload)?;
    state.buffered += 1;
    Ok(())
}
