//! FITing-tree inserts: overwrite the existing entry, or add to the buffer of the segment.

use super::node::{FitingGeometry, FitingState, SegmentRecord, buffer};
use super::search::{KeyLocation, find_in_buffer, find_in_data, locate};
use super::tree::Fiting;
use super::{directory::DirectoryPath, rebuild, splice};
use crate::disk_indexes::structures::pgm::packed::{FoundEntry, PackedEntries, push_entry};
use ogive::Result;
use ogive::index::extend::Word;
use ogive::io::Purpose;
use ogive::page::{PageNumber, PagePhase, Transaction};

/// Inserts an entry; true if it is new.
pub(super) fn insert<W: Word>(
    tree: &Fiting,
    tx: &mut Transaction,
    state: &mut FitingState,
    key: W,
    payload: &[u8],
) -> Result<bool> {
    tx.enter(PagePhase::Search);
    let geometry = tree.geometry::<W>(tx);
    match locate(&geometry, tx, state, key)? {
        KeyLocation::Head => insert_below(tree, tx, state, &geometry, key, payload),
        KeyLocation::Segment(path, record) => {
            let (data, found) = find_in_data(&geometry, tx, &path, &record, key)?;
            if found.exact {
                return overwrite(tx, &path, record, &data, &found, payload, W::BYTES);
            }
            insert_delta(tree, tx, state, &path, record, (key, payload))
        }
    }
}

/// Overwrites an entry of a segment, and restores it if it was removed.
fn overwrite<W: Word>(
    tx: &mut Transaction,
    path: &DirectoryPath<W>,
    mut record: SegmentRecord<W>,
    data: &PackedEntries,
    found: &FoundEntry,
    payload: &[u8],
    key_bytes: usize,
) -> Result<bool> {
    tx.enter(PagePhase::Insert);
    let (index, slot) = data.locate(found.position);
    let mut edit = tx.edit(data.page_number(index), Purpose::Leaf)?;
    edit.write(data.shape.offset(slot) + key_bytes, payload);
    if !data.shape.flag(&edit, slot) {
        return Ok(false);
    }
    let at = data.shape.flags_offset() + slot / 8;
    let byte = edit.get(at).map_or(0, |byte| byte & !(1 << (slot % 8)));
    edit.write(at, &[byte]);
    drop(edit);
    record.removed = record.removed.saturating_sub(1);
    splice::update(tx, path, &record)?;
    Ok(true)
}

/// Inserts into the buffer of a segment.
fn insert_delta<W: Word>(
    tree: &Fiting,
    tx: &mut Transaction,
    state: &mut FitingState,
    path: &DirectoryPath<W>,
    mut record: SegmentRecord<W>,
    (key, payload): (W, &[u8]),
) -> Result<bool> {
    let delta = record.delta(&path.geometry, tx, path.page())?;
    let found = find_in_buffer(tx, &delta, key)?;
    if found.exact {
        tx.enter(PagePhase::Insert);
        overwrite_in_buffer::<W>(tx, &delta, &found, payload)?;
        return Ok(false);
    }
    if delta.count as usize + 1 >= path.geometry.buffer_entries {
        rebuild::rebuild(tree, tx, state, path, record, Some((key, payload)))?;
        return Ok(true);
    }
    tx.enter(PagePhase::Insert);
    record.buffer = insert_into_buffer(tx, &delta, &found, key, payload)?;
    record.buffered += 1;
    splice::update(tx, path, &record)?;
    Ok(true)
}

/// Inserts a key below all segments.
fn insert_below<W: Word>(
    tree: &Fiting,
    tx: &mut Transaction,
    state: &mut FitingState,
    geometry: &FitingGeometry,
    key: W,
    payload: &[u8],
) -> Result<bool> {
    let head = buffer(state.head, state.head_count, geometry, tx, 0)?;
    let found = find_in_buffer(tx, &head, key)?;
    if found.exact {
        tx.enter(PagePhase::Insert);
        overwrite_in_buffer::<W>(tx, &head, &found, payload)?;
        return Ok(false);
    }
    if head.count as usize + 1 >= geometry.buffer_entries {
        rebuild::flush_head(tree, tx, state, &head, (key, payload))?;
        return Ok(true);
    }
    tx.enter(PagePhase::Insert);
    state.head = insert_into_buffer(tx, &head, &found, key, payload)?;
    state.head_count += 1;
    Ok(true)
}

fn overwrite_in_buffer<W: Word>(
    tx: &mut Transaction,
    packed: &PackedEntries,
    found: &FoundEntry,
    payload: &[u8],
) -> Result<()> {
    let slot = packed.locate(found.position).1;
    tx.edit(packed.first, Purpose::Leaf)?.write(packed.shape.offset(slot) + W::BYTES, payload);
    Ok(())
}

/// Inserts an entry at the position `found`; returns the buffer's page, newly allocated if there was none.
fn insert_into_buffer<W: Word>(
    tx: &mut Transaction,
    packed: &PackedEntries,
    found: &FoundEntry,
    key: W,
    payload: &[u8],
) -> Result<PageNumber> {
    let page = if packed.first == 0 { tx.allocate()? } else { packed.first };
    let mut entry = Vec::with_capacity(packed.shape.entry_bytes());
    push_entry(&mut entry, key, payload);
    let offset = packed.shape.offset(found.position as usize);
    let end = packed.shape.offset(packed.count as usize);
    let mut edit = tx.edit(page, Purpose::Leaf)?;
    if end > offset {
        edit.shift(offset..end, offset + entry.len());
    }
    edit.write(offset, &entry);
    Ok(page)
}
