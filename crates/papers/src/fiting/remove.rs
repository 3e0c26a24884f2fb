//! FITing-tree removals: a flag in a segment, release of the entry in a buffer.

use super::node::{State, buffer};
use super::search::{Home, find_in_buffer, find_in_data, home};
use super::tree::Fiting;
use super::{rebuild, splice};
use crate::pgm::packed::{Found, Packed};
use ogive::Result;
use ogive::index::extend::Word;
use ogive::io::Purpose;
use ogive::page::{PageNumber, Phase, Transaction};

/// Removes the entry of `key`; false if there is none.
pub(super) fn remove<W: Word>(tree: &Fiting, tx: &mut Transaction, state: &mut State, key: W) -> Result<bool> {
    tx.enter(Phase::Search);
    let geometry = tree.geometry::<W>(tx);
    let (path, mut record) = match home(&geometry, tx, state, key)? {
        Home::Head => {
            let head = buffer(state.head, state.head_count, &geometry, tx, 0)?;
            let found = find_in_buffer(tx, &head, key)?;
            if found.exact {
                (state.head, state.head_count) = take(tx, &head, &found)?;
            }
            return Ok(found.exact);
        }
        Home::Segment(path, record) => (path, record),
    };
    let (data, found) = find_in_data(&geometry, tx, &path, &record, key)?;
    if found.exact {
        if !flag(tx, &data, &found)? {
            return Ok(false);
        }
        // A page that was damaged may hold fewer flags than the record counts.
        record.removed = record.removed.saturating_add(1);
    } else {
        let delta = record.delta(&geometry, tx, path.page())?;
        let found = find_in_buffer(tx, &delta, key)?;
        if !found.exact {
            return Ok(false);
        }
        (record.buffer, record.buffered) = take(tx, &delta, &found)?;
    }
    // Half of the space is worth having again.
    if record.live() == 0 || record.removed > record.count / 2 {
        rebuild::rebuild(tree, tx, state, &path, record, None)?;
    } else {
        splice::update(tx, &path, &record)?;
    }
    Ok(true)
}

/// Flags an entry of a segment as removed; false if it was.
fn flag(tx: &mut Transaction, data: &Packed, found: &Found) -> Result<bool> {
    let (index, slot) = data.place(found.position);
    if found.page.as_ref().is_none_or(|(_, page)| data.shape.flag(page, slot)) {
        return Ok(false);
    }
    tx.enter(Phase::Insert);
    let mut edit = tx.edit(data.page_number(index), Purpose::Leaf)?;
    let at = data.shape.flags_offset() + slot / 8;
    let byte = edit.get(at).map_or(0, |byte| byte | 1 << (slot % 8));
    edit.write(at, &[byte]);
    Ok(true)
}

/// Takes an entry out of a buffer: the buffer's page, 0 when it was the last entry, and how many are left.
fn take(tx: &mut Transaction, packed: &Packed, found: &Found) -> Result<(PageNumber, u16)> {
    tx.enter(Phase::Insert);
    if packed.count <= 1 {
        tx.free(packed.first, 1);
        return Ok((0, 0));
    }
    let offset = packed.shape.offset(found.position as usize);
    let end = packed.shape.offset(packed.count as usize);
    tx.edit(packed.first, Purpose::Leaf)?.shift(offset + packed.shape.entry_bytes()..end, offset);
    Ok((packed.first, packed.count as u16 - 1))
}
