//! FITing-tree removals: flag the entry in a segment, or delete it from a buffer.

use super::node::{FitingState, buffer};
use super::search::{KeyLocation, find_in_buffer, find_in_data, locate};
use super::tree::Fiting;
use super::{rebuild, splice};
use crate::disk_indexes::structures::pgm::packed::{FoundEntry, PackedEntries};
use ogive::Result;
use ogive::index::extend::Word;
use ogive::io::Purpose;
use ogive::page::{PageNumber, PagePhase, Transaction};

/// Removes the entry of `key`; false if there is none.
pub(super) fn remove<W: Word>(tree: &Fiting, tx: &mut Transaction, state: &mut FitingState, key: W) -> Result<bool> {
    tx.enter(PagePhase::Search);
    let geometry = tree.geometry::<W>(tx);
    let (path, mut record) = match locate(&geometry, tx, state, key)? {
        KeyLocation::Head => {
            let head = buffer(state.head, state.head_count, &geometry, tx, 0)?;
            let found = find_in_buffer(tx, &head, key)?;
            if found.exact {
                (state.head, state.head_count) = remove_from_buffer(tx, &head, &found)?;
            }
            return Ok(found.exact);
        }
        KeyLocation::Segment(path, record) => (path, record),
    };
    let (data, found) = find_in_data(&geometry, tx, &path, &record, key)?;
    if found.exact {
        if !flag(tx, &data, &found)? {
            return Ok(false);
        }
        // A damaged page may have fewer flags than the record counts.
        record.removed = record.removed.saturating_add(1);
    } else {
        let delta = record.delta(&geometry, tx, path.page())?;
        let found = find_in_buffer(tx, &delta, key)?;
        if !found.exact {
            return Ok(false);
        }
        (record.buffer, record.buffered) = remove_from_buffer(tx, &delta, &found)?;
    }
    // Rewrites the segment when half of its entries are removed.
    if record.live() == 0 || record.removed > record.count / 2 {
        rebuild::rebuild(tree, tx, state, &path, record, None)?;
    } else {
        splice::update(tx, &path, &record)?;
    }
    Ok(true)
}

/// Flags an entry of a segment as removed; false if it already was.
fn flag(tx: &mut Transaction, data: &PackedEntries, found: &FoundEntry) -> Result<bool> {
    let (index, slot) = data.locate(found.position);
    if found.page.as_ref().is_none_or(|(_, page)| data.shape.flag(page, slot)) {
        return Ok(false);
    }
    tx.enter(PagePhase::Insert);
    let mut edit = tx.edit(data.page_number(index), Purpose::Leaf)?;
    let at = data.shape.flags_offset() + slot / 8;
    let byte = edit.get(at).map_or(0, |byte| byte | 1 << (slot % 8));
    edit.write(at, &[byte]);
    Ok(true)
}

/// Deletes an entry from a buffer; returns the buffer's page, 0 after the last entry, and the number of entries left.
fn remove_from_buffer(tx: &mut Transaction, packed: &PackedEntries, found: &FoundEntry) -> Result<(PageNumber, u16)> {
    tx.enter(PagePhase::Insert);
    if packed.count <= 1 {
        tx.free(packed.first, 1);
        return Ok((0, 0));
    }
    let offset = packed.shape.offset(found.position as usize);
    let end = packed.shape.offset(packed.count as usize);
    tx.edit(packed.first, Purpose::Leaf)?.shift(offset + packed.shape.entry_bytes()..end, offset);
    Ok((packed.first, packed.count as u16 - 1))
}
