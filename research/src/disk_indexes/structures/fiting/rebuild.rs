//! FITing-tree structure modifications: segments and buffers are segmented again, into fresh extents.

use super::build::SegmentWriter;
use super::directory::{DirectoryBuilder, DirectoryPath, EntryChoice};
use super::node::{FitingState, SegmentRecord};
use super::splice;
use super::tree::Fiting;
use crate::disk_indexes::structures::pgm::packed::{PackedEntries, PackedReader};
use ogive::Result;
use ogive::index::extend::Word;
use ogive::io::Purpose;
use ogive::page::{PageNumber, PagePhase, Transaction};

/// Least pages of a segment that is not rewritten if all new entries are after it, or before it: they become segments
/// of their own.
const LONG_SEGMENT_PAGES_MIN: u64 = 8;

/// Sorted entries to add in a rebuild: of a buffer, and a new one.
type NewEntries<W> = Vec<(W, Vec<u8>)>;

/// Segments the entries of a segment, its buffer and `new` again, together with those of a neighbour if they are few.
pub(super) fn rebuild<W: Word>(
    tree: &Fiting,
    tx: &mut Transaction,
    state: &mut FitingState,
    path: &DirectoryPath<W>,
    record: SegmentRecord<W>,
    new: Option<(W, &[u8])>,
) -> Result<()> {
    tx.enter(PagePhase::Structure);
    tx.count("segment rebuilt");
    let delta = record.delta(&path.geometry, tx, path.page())?;
    let extra = collect(tree, tx, &delta, new)?;
    let Some(index) = path.steps.last().map(|step| step.index) else { return Ok(()) };
    if are_after_long_segment(tx, path, &record, &extra)? {
        return append(tree, tx, state, path, record, extra);
    }
    let (range, records) = with_neighbour(path, record, index);
    let mut writer = SegmentWriter::new(&path.geometry, tree.error());
    for (at, &old) in range.clone().zip(&records) {
        let neighbour_extra;
        let extra = if at == index {
            &extra
        } else {
            let delta = old.delta(&path.geometry, tx, path.page())?;
            neighbour_extra = collect(tree, tx, &delta, None)?;
            &neighbour_extra
        };
        write_merged(tree, tx, &mut writer, &old, path, extra)?;
    }
    let segments = writer.finish(tx)?;
    for old in &records {
        free_segment(tx, path, old)?;
    }
    splice::replace(tx, state, path, range, &segments)
}

/// Turns the entries below the first segment, and a new one, into segments, together with the first segment if it is
/// short.
pub(super) fn flush_head<W: Word>(
    tree: &Fiting,
    tx: &mut Transaction,
    state: &mut FitingState,
    head: &PackedEntries,
    new: (W, &[u8]),
) -> Result<()> {
    tx.enter(PagePhase::Structure);
    tx.count("first buffer flushed");
    let geometry = tree.geometry::<W>(tx);
    let entries = collect(tree, tx, head, Some(new))?;
    let mut writer = SegmentWriter::new(&geometry, tree.error());
    for (key, payload) in &entries {
        writer.push(tx, *key, payload)?;
    }
    if head.count > 0 {
        tx.free(head.first, 1);
    }
    (state.head, state.head_count) = (0, 0);
    let Some(path) = DirectoryPath::find(tx, &geometry, state, EntryChoice::First)? else {
        let mut directory = DirectoryBuilder::new(&geometry, 100, 0);
        for record in writer.finish(tx)? {
            directory.push_record(tx, &record)?;
        }
        (state.root, state.height) = directory.finish(tx)?;
        return Ok(());
    };
    let first = path.record();
    let with_first = geometry.data.pages(first.live()) < LONG_SEGMENT_PAGES_MIN;
    if with_first {
        let delta = first.delta(&geometry, tx, path.page())?;
        let extra = collect(tree, tx, &delta, None)?;
        write_merged(tree, tx, &mut writer, &first, &path, &extra)?;
        free_segment(tx, &path, &first)?;
    }
    let segments = writer.finish(tx)?;
    splice::replace(tx, state, &path, 0..usize::from(with_first), &segments)
}

/// The entries of a buffer, and the new one, in order.
fn collect<W: Word>(
    tree: &Fiting,
    tx: &Transaction,
    delta: &PackedEntries,
    new: Option<(W, &[u8])>,
) -> Result<NewEntries<W>> {
    let mut reader = PackedReader::new(*delta, Purpose::Leaf);
    let mut entries = Vec::with_capacity(delta.count as usize + 1);
    let mut position = 0;
    while let Some(key) = reader.key(tx, position)? {
        let mut payload = vec![0; tree.layout().payload_bytes];
        reader.payload::<W>(tx, position, &mut payload)?;
        entries.push((key, payload));
        position += 1;
    }
    if let Some((key, payload)) = new {
        let at = entries.partition_point(|&(other, _)| other < key);
        entries.insert(at, (key, payload.to_vec()));
    }
    Ok(entries)
}

/// Whether all new entries are after a segment that is already long.
fn are_after_long_segment<W: Word>(
    tx: &Transaction,
    path: &DirectoryPath<W>,
    record: &SegmentRecord<W>,
    extra: &NewEntries<W>,
) -> Result<bool> {
    let Some(&(least, _)) = extra.first() else { return Ok(false) };
    let data = record.data(&path.geometry, tx, path.page())?;
    if data.pages() < LONG_SEGMENT_PAGES_MIN || record.removed > 0 {
        return Ok(false);
    }
    let last: Option<W> = PackedReader::new(data, Purpose::Leaf).key(tx, data.count - 1)?;
    Ok(last.is_some_and(|last| last < least))
}

/// Turns a buffer into segments after its own segment.
fn append<W: Word>(
    tree: &Fiting,
    tx: &mut Transaction,
    state: &mut FitingState,
    path: &DirectoryPath<W>,
    mut record: SegmentRecord<W>,
    extra: NewEntries<W>,
) -> Result<()> {
    let mut writer = SegmentWriter::new(&path.geometry, tree.error());
    for (key, payload) in &extra {
        writer.push(tx, *key, payload)?;
    }
    free_buffer(tx, &record);
    (record.buffer, record.buffered) = (0, 0);
    let mut records = vec![record];
    records.extend(writer.finish(tx)?);
    let index = path.steps.last().map_or(0, |step| step.index);
    splice::replace(tx, state, path, index..index + 1, &records)
}

/// The record, and an adjacent one of the same node if the first is too short alone, and both together are not too
/// long.
fn with_neighbour<W: Word>(
    path: &DirectoryPath<W>,
    record: SegmentRecord<W>,
    index: usize,
) -> (std::ops::Range<usize>, Vec<SegmentRecord<W>>) {
    let alone = (index..index + 1, vec![record]);
    let Some(step) = path.steps.last() else { return alone };
    if record.live() == 0 || record.live() * 2 >= path.geometry.data.per_page() as u64 {
        return alone;
    }
    let neighbour_index = if index + 1 < step.count { index + 1 } else { index.wrapping_sub(1) };
    if neighbour_index >= step.count {
        return alone;
    }
    let neighbour = SegmentRecord::load(path.geometry.records.entry(&step.content, neighbour_index));
    if neighbour.live() * 2 > path.geometry.segment_entries_max as u64 {
        return alone;
    }
    let records = if neighbour_index > index { vec![record, neighbour] } else { vec![neighbour, record] };
    (index.min(neighbour_index)..index.max(neighbour_index) + 1, records)
}

/// Merges the entries of a segment with `extra` into a writer.
fn write_merged<W: Word>(
    tree: &Fiting,
    tx: &mut Transaction,
    writer: &mut SegmentWriter<W>,
    record: &SegmentRecord<W>,
    path: &DirectoryPath<W>,
    extra: &NewEntries<W>,
) -> Result<()> {
    let data = record.data(&path.geometry, tx, path.page())?;
    let mut reader = PackedReader::new(data, Purpose::Leaf);
    let mut payload = vec![0; tree.layout().payload_bytes];
    let mut extra = extra.iter().peekable();
    let mut position = 0;
    while let Some(key) = reader.key(tx, position)? {
        while let Some((new, payload)) = extra.next_if(|(new, _)| *new < key) {
            writer.push(tx, *new, payload)?;
        }
        if !reader.flag(tx, position)? {
            reader.payload::<W>(tx, position, &mut payload)?;
            writer.push(tx, key, &payload)?;
        }
        position += 1;
    }
    for (new, payload) in extra {
        writer.push(tx, *new, payload)?;
    }
    Ok(())
}

/// Frees the pages of a segment and of its buffer.
fn free_segment<W: Word>(tx: &mut Transaction, path: &DirectoryPath<W>, record: &SegmentRecord<W>) -> Result<()> {
    let data = record.data(&path.geometry, tx, path.page())?;
    tx.free(data.first, data.pages() as u32);
    free_buffer(tx, record);
    Ok(())
}

fn free_buffer<W: Word>(tx: &mut Transaction, record: &SegmentRecord<W>) {
    let page: PageNumber = record.buffer;
    if record.buffered > 0 && page > 0 {
        tx.free(page, 1);
    }
}
