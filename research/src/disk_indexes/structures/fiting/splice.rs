//! Changes of the FITing-tree directory: replaces some records of a node by others, with splits and merges.

use super::directory::{DirectoryBuilder, DirectoryPath, DirectoryStep, child, node_header, read_node};
use super::node::{FitingGeometry, FitingState, SegmentRecord};
use crate::disk_indexes::structures::pgm::packed::push_entry;
use ogive::Result;
use ogive::index::extend::Word;
use ogive::page::{PageNumber, Pages, Transaction};
use std::ops::Range;

/// A replacement of some entries of one node by others.
struct Splice {
    range: Range<usize>,
    entries: Vec<u8>,
}

/// Overwrites the record at `path`; its first key stays.
pub(super) fn update<W: Word>(tx: &mut Transaction, path: &DirectoryPath<W>, record: &SegmentRecord<W>) -> Result<()> {
    let Some(step) = path.steps.last() else { return Ok(()) };
    let (old, new) = (path.geometry.records.entry(&step.content, step.index), record.bytes());
    let Some(from) = old.iter().zip(&new).position(|(old, new)| old != new) else { return Ok(()) };
    let to = old.iter().zip(&new).rposition(|(old, new)| old != new).map_or(from, |last| last + 1);
    let offset = path.geometry.records.offset(step.index) + from;
    let mut edit = tx.edit(step.page, path.purpose(path.steps.len() - 1))?;
    edit.write(offset, new.get(from..to).unwrap_or(&[]));
    Ok(())
}

/// Replaces the records in `range` of the node at `path` by any number of others.
pub(super) fn replace<W: Word>(
    tx: &mut Transaction,
    state: &mut FitingState,
    path: &DirectoryPath<W>,
    range: Range<usize>,
    records: &[SegmentRecord<W>],
) -> Result<()> {
    let entries = records.iter().flat_map(SegmentRecord::bytes).collect();
    let mut splice = Some(Splice { range, entries });
    for (depth, step) in path.steps.iter().enumerate().rev() {
        let Some(change) = splice.take() else { return Ok(()) };
        // A changed first key has also changed the nodes above, since the path was read.
        let content = tx.read(step.page, path.purpose(depth))?;
        splice = replace_in(tx, state, path, depth, &DirectoryStep { content, ..step.clone() }, change)?;
    }
    if let Some(splice) = splice {
        // The root was split: it and its new siblings get a new root.
        add_root(tx, state, path, &splice)?;
    }
    Ok(())
}

/// Replaces entries in the node of one step; returns the replacement to make in its parent.
fn replace_in<W: Word>(
    tx: &mut Transaction,
    state: &mut FitingState,
    path: &DirectoryPath<W>,
    depth: usize,
    step: &DirectoryStep,
    change: Splice,
) -> Result<Option<Splice>> {
    let level = path.level(depth);
    let shape = path.geometry.node(level);
    let added = change.entries.len() / shape.entry_bytes();
    let count = step.count.saturating_sub(change.range.len()) + added;
    let parent = depth.checked_sub(1).and_then(|above| path.steps.get(above));
    if count == 0 {
        tx.free(step.page, 1);
        if parent.is_none() {
            (state.root, state.height) = (0, 0);
        }
        return Ok(parent.map(|parent| Splice { range: parent.index..parent.index + 1, entries: Vec::new() }));
    }
    if change.range.start == 0 {
        let kept = shape.key(&step.content, change.range.end);
        let first = if added > 0 { W::load(&change.entries) } else { kept };
        if first != shape.key(&step.content, 0) {
            update_first_key(tx, path, depth, first)?;
        }
    }
    if count > shape.per_page() {
        return split(tx, path, depth, step, change, count).map(Some);
    }
    write_in_place(tx, path, depth, step, &change, count)?;
    let Some(parent) = parent else {
        return remove_root(tx, state, path, step, count).map(|()| None);
    };
    if count * 4 < shape.per_page() { merge(tx, path, depth, step.page, count, parent) } else { Ok(None) }
}

/// Writes the new first key of a node to those ancestors that contain it.
fn update_first_key<W: Word>(tx: &mut Transaction, path: &DirectoryPath<W>, depth: usize, first: W) -> Result<()> {
    let above = path.steps.get(..depth).unwrap_or(&[]);
    let end = above.iter().rposition(|step| step.index > 0).unwrap_or(0);
    let mut key = vec![0; W::BYTES];
    first.store(&mut key);
    for (depth, step) in above.iter().enumerate().skip(end) {
        let offset = path.geometry.children.offset(step.index);
        tx.edit(step.page, path.purpose(depth))?.write(offset, &key);
    }
    Ok(())
}

fn write_in_place<W: Word>(
    tx: &mut Transaction,
    path: &DirectoryPath<W>,
    depth: usize,
    step: &DirectoryStep,
    change: &Splice,
    count: usize,
) -> Result<()> {
    let level = path.level(depth);
    let shape = path.geometry.node(level);
    let at = shape.offset(change.range.start);
    let mut edit = tx.edit(step.page, path.purpose(depth))?;
    if count != step.count {
        let tail = shape.offset(change.range.end)..shape.offset(step.count);
        edit.shift(tail, at + change.entries.len());
        edit.write(0, &node_header(level, count));
    }
    edit.write(at, &change.entries);
    Ok(())
}

/// Splits a node of too many entries; the first part stays in its page. Returns the insertion of the others into the
/// parent.
fn split<W: Word>(
    tx: &mut Transaction,
    path: &DirectoryPath<W>,
    depth: usize,
    step: &DirectoryStep,
    change: Splice,
    count: usize,
) -> Result<Splice> {
    tx.count("directory split");
    let level = path.level(depth);
    let shape = path.geometry.node(level);
    let whole = |range: Range<usize>| step.content.get(range).unwrap_or(&[]);
    let before = whole(shape.offset(0)..shape.offset(change.range.start));
    let after = whole(shape.offset(change.range.end)..shape.offset(step.count));
    let entries = [before, &change.entries, after].concat();
    // Nodes stay full if entries are appended.
    let even = count.div_ceil(count.div_ceil(shape.per_page()));
    let each = if after.is_empty() { shape.per_page() } else { even } * shape.entry_bytes();
    let mut parts = entries.chunks(each.max(1));
    let first = parts.next().unwrap_or(&[]);
    let same = change.range.start * shape.entry_bytes();
    let mut edit = tx.edit(step.page, path.purpose(depth))?;
    edit.write(0, &node_header(level, first.len() / shape.entry_bytes()));
    if let Some(changed) = first.get(same..) {
        edit.write(shape.offset(change.range.start), changed);
    }
    drop(edit);
    let mut siblings = Vec::new();
    for part in parts {
        let page = tx.allocate_extent(1)?;
        let header = node_header(level, part.len() / shape.entry_bytes());
        tx.write_fresh(page, path.purpose(depth), &[&header[..], part].concat())?;
        push_entry(&mut siblings, W::load(part), &page.to_le_bytes());
    }
    let next = depth.checked_sub(1).and_then(|above| path.steps.get(above)).map_or(0, |parent| parent.index + 1);
    Ok(Splice { range: next..next, entries: siblings })
}

/// Adds a root above the old one and its new siblings.
fn add_root<W: Word>(
    tx: &mut Transaction,
    state: &mut FitingState,
    path: &DirectoryPath<W>,
    siblings: &Splice,
) -> Result<()> {
    let Some(root) = path.steps.first() else { return Ok(()) };
    let mut builder = DirectoryBuilder::<W>::new(&path.geometry, 100, state.height);
    let content = tx.read(root.page, path.purpose(0))?;
    let key = path.geometry.node(state.height.saturating_sub(1)).key(&content, 0);
    builder.push_child(tx, key, root.page)?;
    for sibling in siblings.entries.chunks(path.geometry.children.entry_bytes()) {
        builder.push_child(tx, W::load(sibling), super::node::load_u32(sibling, W::BYTES))?;
    }
    (state.root, state.height) = builder.finish(tx)?;
    Ok(())
}

/// Replaces a root of one child by that child.
fn remove_root<W: Word>(
    tx: &mut Transaction,
    state: &mut FitingState,
    path: &DirectoryPath<W>,
    root: &DirectoryStep,
    mut count: usize,
) -> Result<()> {
    let mut page = root.page;
    while count == 1 && state.height > 1 {
        let (content, _) = read_node(tx, &path.geometry, page, state.height - 1, state.height)?;
        tx.free(page, 1);
        page = child::<W>(&path.geometry, &content, 0);
        state.height -= 1;
        state.root = page;
        count = read_node(tx, &path.geometry, page, state.height - 1, state.height)?.1;
    }
    Ok(())
}

/// Merges a node of few entries with an adjacent one, if both together fill at most 3/4 of a page.
fn merge<W: Word>(
    tx: &mut Transaction,
    path: &DirectoryPath<W>,
    depth: usize,
    page: PageNumber,
    count: usize,
    parent: &DirectoryStep,
) -> Result<Option<Splice>> {
    let geometry: &FitingGeometry = &path.geometry;
    let (level, height) = (path.level(depth), path.level(0) + 1);
    let shape = geometry.node(level);
    let right_index = if parent.index + 1 < parent.count { parent.index + 1 } else { parent.index };
    let Some(left_index) = right_index.checked_sub(1) else { return Ok(None) };
    let neighbour = if right_index == parent.index { left_index } else { right_index };
    let neighbour_page = child::<W>(geometry, &parent.content, neighbour);
    let (content, neighbour_count) = read_node(tx, geometry, neighbour_page, level, height)?;
    if (count + neighbour_count) * 4 > shape.per_page() * 3 {
        return Ok(None);
    }
    tx.count("directory merge");
    let (own, _) = read_node(tx, geometry, page, level, height)?;
    let [left, right] = if neighbour == right_index {
        [(page, own, count), (neighbour_page, content, neighbour_count)]
    } else {
        [(neighbour_page, content, neighbour_count), (page, own, count)]
    };
    let mut edit = tx.edit(left.0, path.purpose(depth))?;
    edit.write(shape.offset(left.2), right.1.get(shape.offset(0)..shape.offset(right.2)).unwrap_or(&[]));
    edit.write(0, &node_header(level, left.2 + right.2));
    drop(edit);
    tx.free(right.0, 1);
    Ok(Some(Splice { range: right_index..right_index + 1, entries: Vec::new() }))
}
