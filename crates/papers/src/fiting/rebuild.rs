//! FITing-tree structure modifications: a segment and its buffer are segmented anew, into fresh extents.

use super::build::SegmentWriter;
use super::directory::{DirectoryBuilder, Path, Which};
use super::node::{Record, State};
use super::splice;
use super::tree::Fiting;
use crate::pgm::packed::{Packed, Reader};
use ogive::Result;
use ogive::index::extend::Word;
use ogive::io::Purpose;
use ogive::page::{PageNumber, Phase, Transaction};

/// A segment of so many pages is not written anew for entries that all lie behind it, or before it: they become a
/// segment of their own.
const GROWN_PAGES: u64 = 8;

/// Entries in order, for a rebuild: of a buffer, and the one being inserted.
type Extra<W> = Vec<(W, Vec<u8>)>;

/// Segments the entries of a segment, of its buffer and `new` anew. Where few are left, the entries of a neighbour join
/// them.
pub(super) fn rebuild<W: Word>(
    tree: &Fiting,
    tx: &mut Transaction,
    state: &mut State,
    path: &Path<W>,
    record: Record<W>,
    new: Option<(W, &[u8])>,
) -> Result<()> {
    tx.enter(Phase::Structure);
    tx.count("segment rebuilt");
    let delta = record.delta(&path.geometry, tx, path.page())?;
    let extra = collect(tree, tx, &delta, new)?;
    let Some(index) = path.steps.last().map(|step| step.index) else { return Ok(()) };
    if lies_behind(tx, path, &record, &extra)? {
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
        pour(tree, tx, &mut writer, &old, path, extra)?;
    }
    let segments = writer.finish(tx)?;
    for old in &records {
        release(tx, path, old)?;
    }
    splice::replace(tx, state, path, range, &segments)
}

/// Turns the entries below the first segment, and one more, into segments: with the first one, while that is short.
pub(super) fn flush_head<W: Word>(
    tree: &Fiting,
    tx: &mut Transaction,
    state: &mut State,
    head: &Packed,
    new: (W, &[u8]),
) -> Result<()> {
    tx.enter(Phase::Structure);
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
    let Some(path) = Path::find(tx, &geometry, state, Which::First)? else {
        let mut directory = DirectoryBuilder::new(&geometry, 100, 0);
        for record in writer.finish(tx)? {
            directory.push_record(tx, &record)?;
        }
        (state.root, state.height) = directory.finish(tx)?;
        return Ok(());
    };
    let first = path.record();
    let joins = geometry.data.pages(first.live()) < GROWN_PAGES;
    if joins {
        let delta = first.delta(&geometry, tx, path.page())?;
        let extra = collect(tree, tx, &delta, None)?;
        pour(tree, tx, &mut writer, &first, &path, &extra)?;
        release(tx, &path, &first)?;
    }
    let segments = writer.finish(tx)?;
    splice::replace(tx, state, &path, 0..usize::from(joins), &segments)
}

/// The entries of a buffer, with the new one in its place.
fn collect<W: Word>(tree: &Fiting, tx: &Transaction, delta: &Packed, new: Option<(W, &[u8])>) -> Result<Extra<W>> {
    let mut reader = Reader::new(*delta, Purpose::Leaf);
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

/// Whether all new entries lie behind a segment that is long already.
fn lies_behind<W: Word>(tx: &Transaction, path: &Path<W>, record: &Record<W>, extra: &Extra<W>) -> Result<bool> {
    let Some(&(least, _)) = extra.first() else { return Ok(false) };
    let data = record.data(&path.geometry, tx, path.page())?;
    if data.pages() < GROWN_PAGES || record.removed > 0 {
        return Ok(false);
    }
    let last: Option<W> = Reader::new(data, Purpose::Leaf).key(tx, data.count - 1)?;
    Ok(last.is_some_and(|last| last < least))
}

/// Makes segments of a buffer alone, behind its segment.
fn append<W: Word>(
    tree: &Fiting,
    tx: &mut Transaction,
    state: &mut State,
    path: &Path<W>,
    mut record: Record<W>,
    extra: Extra<W>,
) -> Result<()> {
    let mut writer = SegmentWriter::new(&path.geometry, tree.error());
    for (key, payload) in &extra {
        writer.push(tx, *key, payload)?;
    }
    release_buffer(tx, &record);
    (record.buffer, record.buffered) = (0, 0);
    let mut records = vec![record];
    records.extend(writer.finish(tx)?);
    let index = path.steps.last().map_or(0, |step| step.index);
    splice::replace(tx, state, path, index..index + 1, &records)
}

/// The record, and one beside it in the same node if both together are short enough and one alone would be too short.
fn with_neighbour<W: Word>(
    path: &Path<W>,
    record: Record<W>,
    index: usize,
) -> (std::ops::Range<usize>, Vec<Record<W>>) {
    let alone = (index..index + 1, vec![record]);
    let Some(step) = path.steps.last() else { return alone };
    if record.live() == 0 || record.live() * 2 >= path.geometry.data.per_page() as u64 {
        return alone;
    }
    let beside = if index + 1 < step.count { index + 1 } else { index.wrapping_sub(1) };
    if beside >= step.count {
        return alone;
    }
    let neighbour = Record::load(path.geometry.records.entry(&step.content, beside));
    if neighbour.live() * 2 > path.geometry.most_entries as u64 {
        return alone;
    }
    let records = if beside > index { vec![record, neighbour] } else { vec![neighbour, record] };
    (index.min(beside)..index.max(beside) + 1, records)
}

/// Hands the entries of a segment, and those beside it, to a writer, in order.
fn pour<W: Word>(
    tree: &Fiting,
    tx: &mut Transaction,
    writer: &mut SegmentWriter<W>,
    record: &Record<W>,
    path: &Path<W>,
    extra: &Extra<W>,
) -> Result<()> {
    let data = record.data(&path.geometry, tx, path.page())?;
    let mut reader = Reader::new(data, Purpose::Leaf);
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

/// Gives back the pages of a segment and of its buffer.
fn release<W: Word>(tx: &mut Transaction, path: &Path<W>, record: &Record<W>) -> Result<()> {
    let data = record.data(&path.geometry, tx, path.page())?;
    tx.free(data.first, data.pages() as u32);
    release_buffer(tx, record);
    Ok(())
}

fn release_buffer<W: Word>(tx: &mut Transaction, record: &Record<W>) {
    let page: PageNumber = record.buffer;
    if record.buffered > 0 && page > 0 {
        tx.free(page, 1);
    }
}
