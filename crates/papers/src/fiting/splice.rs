//! Changes of the FITing-tree directory: some records of a node are replaced by others.

use super::directory::{DirectoryBuilder, Path, Step, child, node_header, read_node};
use super::node::{Geometry, Record, State};
use crate::pgm::packed::push_entry;
use ogive::Result;
use ogive::index::extend::Word;
use ogive::page::{PageNumber, Pages, Transaction};
use std::ops::Range;

/// Entries that take the place of others in one node.
struct Splice {
    range: Range<usize>,
    entries: Vec<u8>,
}

/// Overwrites the record that `path` leads to; its first key stays.
pub(super) fn update<W: Word>(tx: &mut Transaction, path: &Path<W>, record: &Record<W>) -> Result<()> {
    let Some(step) = path.steps.last() else { return Ok(()) };
    let (old, new) = (path.geometry.records.entry(&step.content, step.index), record.bytes());
    let Some(from) = old.iter().zip(&new).position(|(old, new)| old != new) else { return Ok(()) };
    let to = old.iter().zip(&new).rposition(|(old, new)| old != new).map_or(from, |last| last + 1);
    let offset = path.geometry.records.offset(step.index) + from;
    let mut edit = tx.edit(step.page, path.purpose(path.steps.len() - 1))?;
    edit.write(offset, new.get(from..to).unwrap_or(&[]));
    Ok(())
}

/// Replaces the records in `range` of the node that `path` leads to by others, which may be none or many.
pub(super) fn replace<W: Word>(
    tx: &mut Transaction,
    state: &mut State,
    path: &Path<W>,
    range: Range<usize>,
    records: &[Record<W>],
) -> Result<()> {
    let entries = records.iter().flat_map(Record::bytes).collect();
    let mut splice = Some(Splice { range, entries });
    for (depth, step) in path.steps.iter().enumerate().rev() {
        let Some(change) = splice.take() else { return Ok(()) };
        // Nodes above have changed since the path was taken, where the first key of a node did.
        let content = tx.read(step.page, path.purpose(depth))?;
        splice = replace_in(tx, state, path, depth, &Step { content, ..step.clone() }, change)?;
    }
    if let Some(splice) = splice {
        // The root was divided: what stands beside it now gets a root of its own.
        grow(tx, state, path, &splice)?;
    }
    Ok(())
}

/// Replaces entries in the node of one step; what is left to do in its parent.
fn replace_in<W: Word>(
    tx: &mut Transaction,
    state: &mut State,
    path: &Path<W>,
    depth: usize,
    step: &Step,
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
            raise(tx, path, depth, first)?;
        }
    }
    if count > shape.per_page() {
        return divide(tx, path, depth, step, change, count).map(Some);
    }
    write_in_place(tx, path, depth, step, &change, count)?;
    let Some(parent) = parent else {
        return shrink(tx, state, path, step, count).map(|()| None);
    };
    if count * 4 < shape.per_page() { merge(tx, path, depth, step.page, count, parent) } else { Ok(None) }
}

/// Writes the new first key of a node to its ancestors, as far as they have it.
fn raise<W: Word>(tx: &mut Transaction, path: &Path<W>, depth: usize, first: W) -> Result<()> {
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
    path: &Path<W>,
    depth: usize,
    step: &Step,
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

/// Divides a node of too many entries; the first part stays in the old page. The others are to be put into the parent.
fn divide<W: Word>(
    tx: &mut Transaction,
    path: &Path<W>,
    depth: usize,
    step: &Step,
    change: Splice,
    count: usize,
) -> Result<Splice> {
    tx.count("directory split");
    let level = path.level(depth);
    let shape = path.geometry.node(level);
    let whole = |range: Range<usize>| step.content.get(range).unwrap_or(&[]);
    let before = whole(shape.offset(0)..shape.offset(change.range.start));
    let behind = whole(shape.offset(change.range.end)..shape.offset(step.count));
    let entries = [before, &change.entries, behind].concat();
    // Where entries are appended, nodes stay full.
    let even = count.div_ceil(count.div_ceil(shape.per_page()));
    let each = if behind.is_empty() { shape.per_page() } else { even } * shape.entry_bytes();
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

/// Puts a new root above the old one and its new siblings.
fn grow<W: Word>(tx: &mut Transaction, state: &mut State, path: &Path<W>, siblings: &Splice) -> Result<()> {
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

/// A root of one child gives way to it.
fn shrink<W: Word>(
    tx: &mut Transaction,
    state: &mut State,
    path: &Path<W>,
    root: &Step,
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

/// Joins a node of few entries with one beside it, if both fill at most three quarters of a page together.
fn merge<W: Word>(
    tx: &mut Transaction,
    path: &Path<W>,
    depth: usize,
    page: PageNumber,
    count: usize,
    parent: &Step,
) -> Result<Option<Splice>> {
    let geometry: &Geometry = &path.geometry;
    let (level, height) = (path.level(depth), path.level(0) + 1);
    let shape = geometry.node(level);
    let right_index = if parent.index + 1 < parent.count { parent.index + 1 } else { parent.index };
    let Some(left_index) = right_index.checked_sub(1) else { return Ok(None) };
    let beside = if right_index == parent.index { left_index } else { right_index };
    let beside_page = child::<W>(geometry, &parent.content, beside);
    let (content, beside_count) = read_node(tx, geometry, beside_page, level, height)?;
    if (count + beside_count) * 4 > shape.per_page() * 3 {
        return Ok(None);
    }
    tx.count("directory merge");
    let (own, _) = read_node(tx, geometry, page, level, height)?;
    let [left, right] = if beside == right_index {
        [(page, own, count), (beside_page, content, beside_count)]
    } else {
        [(beside_page, content, beside_count), (page, own, count)]
    };
    let mut edit = tx.edit(left.0, path.purpose(depth))?;
    edit.write(shape.offset(left.2), right.1.get(shape.offset(0)..shape.offset(right.2)).unwrap_or(&[]));
    edit.write(0, &node_header(level, left.2 + right.2));
    drop(edit);
    tx.free(right.0, 1);
    Ok(Some(Splice { range: right_index..right_index + 1, entries: Vec::new() }))
}
