//! PGM removals: add a tombstone to the buffer, if there may be an older entry.

use super::buffer::InsertBuffer;
use super::insert;
use super::search::find_in_runs;
use super::state::PgmState;
use super::tree::PgmTree;
use ogive::Result;
use ogive::index::extend::Word;
use ogive::page::{PagePhase, Transaction};

/// Removes the entry of `key`; false if there is none.
pub(super) fn remove<W: Word>(tree: &PgmTree, tx: &mut Transaction, state: &mut PgmState<W>, key: W) -> Result<bool> {
    tx.enter(PagePhase::Search);
    let geometry = tree.geometry::<W>(tx);
    let buffer = InsertBuffer::load(tx, &geometry, state)?;
    let found = buffer.find(key);
    if !found.exact {
        let older = find_in_runs(&geometry, tx, state, &buffer, key)?;
        if older.is_none_or(|older| older.is_tombstone()) {
            return Ok(false);
        }
        insert::add(tree, tx, &geometry, state, buffer, key, None)?;
        return Ok(true);
    }
    if buffer.is_tombstone(found.position) {
        return Ok(false);
    }
    tx.enter(PagePhase::Insert);
    if state.oldest.is_none() {
        buffer.remove(tx, found.position)?;
        state.buffered -= 1;
    } else {
        // A lookup in all runs could tell whether the tombstone is needed; the next merges drop it if it is not.
        buffer.put(tx, found.position, true, key, None)?;
    }
    Ok(true)
}
