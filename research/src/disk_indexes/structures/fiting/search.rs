//! FITing-tree lookups: the segment of a key, then its buffer.

use super::directory::{DirectoryPath, EntryChoice};
use super::node::{FitingGeometry, FitingState, SegmentRecord, buffer};
use crate::disk_indexes::structures::pgm::packed::{FoundEntry, PackedEntries, copy_payload};
use ogive::Result;
use ogive::index::extend::{IndexVisit, Word};
use ogive::io::Purpose;
use ogive::page::Pages;

/// The location of a key: the part of the tree that it belongs to.
#[derive(Debug)]
pub(super) enum KeyLocation<W> {
    /// The buffer of the keys below the first segment.
    Head,
    /// A segment.
    Segment(DirectoryPath<W>, SegmentRecord<W>),
}

/// Finds the location of a key.
pub(super) fn locate<W: Word>(
    geometry: &FitingGeometry,
    pages: &dyn Pages,
    state: &FitingState,
    key: W,
) -> Result<KeyLocation<W>> {
    let Some(path) = DirectoryPath::find(pages, geometry, state, EntryChoice::Of(key))? else {
        return Ok(KeyLocation::Head);
    };
    let record = path.record();
    Ok(if key < record.first && path.is_first() { KeyLocation::Head } else { KeyLocation::Segment(path, record) })
}

/// Looks up a key in the entries of a segment itself.
pub(super) fn find_in_data<W: Word>(
    geometry: &FitingGeometry,
    pages: &dyn Pages,
    path: &DirectoryPath<W>,
    record: &SegmentRecord<W>,
    key: W,
) -> Result<(PackedEntries, FoundEntry)> {
    let data = record.data(geometry, pages, path.page())?;
    let predicted = record.line.position(record.first, key, data.count);
    let found = data.find(pages, key, predicted, Purpose::Leaf)?;
    Ok((data, found))
}

/// Looks up a key in a buffer; reads no page if it is empty.
pub(super) fn find_in_buffer<W: Word>(pages: &dyn Pages, buffer: &PackedEntries, key: W) -> Result<FoundEntry> {
    buffer.find(pages, key, 0, Purpose::Leaf)
}

pub(super) fn get<W: Word>(
    geometry: &FitingGeometry,
    pages: &dyn Pages,
    state: &FitingState,
    key: W,
    payload: &mut [u8],
) -> Result<bool> {
    let delta = match locate(geometry, pages, state, key)? {
        KeyLocation::Head => buffer(state.head, state.head_count, geometry, pages, 0)?,
        KeyLocation::Segment(path, record) => {
            let (data, found) = find_in_data(geometry, pages, &path, &record, key)?;
            if found.exact {
                return Ok(copy_found::<W>(&data, &found, payload));
            }
            record.delta(geometry, pages, path.page())?
        }
    };
    let found = find_in_buffer(pages, &delta, key)?;
    Ok(found.exact && copy_found::<W>(&delta, &found, payload))
}

/// Copies the payload of an entry that was found; false if it was removed.
fn copy_found<W: Word>(packed: &PackedEntries, found: &FoundEntry, payload: &mut [u8]) -> bool {
    let slot = packed.locate(found.position).1;
    let Some((_, page)) = found.page.as_ref().filter(|(_, page)| !packed.shape.flag(page, slot)) else { return false };
    copy_payload::<W>(packed.shape.entry(page, slot), payload);
    true
}

pub(super) fn explain<W: Word>(
    geometry: &FitingGeometry,
    pages: &dyn Pages,
    state: &FitingState,
    key: W,
) -> Result<Vec<IndexVisit>> {
    let mut visits = Vec::new();
    let depth = state.height;
    let delta = match locate(geometry, pages, state, key)? {
        KeyLocation::Head => buffer(state.head, state.head_count, geometry, pages, 0)?,
        KeyLocation::Segment(path, record) => {
            explain_path(&path, &mut visits);
            let (data, found) = find_in_data(geometry, pages, &path, &record, key)?;
            let predicted = record.line.position(record.first, key, data.count);
            let detail = format!(
                "predicted position {predicted}, {} at {} of {}; {} page(s) read",
                if found.exact { "found" } else { "absent" },
                found.position,
                data.count,
                found.probes
            );
            let page = data.page_number(found.page.as_ref().map_or(0, |&(index, _)| index));
            visits.push(IndexVisit { node: "segment", page, depth, entries: data.count, detail });
            if found.exact {
                return Ok(visits);
            }
            record.delta(geometry, pages, path.page())?
        }
    };
    if delta.count > 0 {
        let found = find_in_buffer(pages, &delta, key)?;
        let detail = format!("{} at {}", if found.exact { "found" } else { "absent" }, found.position);
        visits.push(IndexVisit { node: "buffer", page: delta.first, depth, entries: delta.count, detail });
    }
    Ok(visits)
}

fn explain_path<W: Word>(path: &DirectoryPath<W>, visits: &mut Vec<IndexVisit>) {
    for (depth, step) in path.steps.iter().enumerate() {
        let what = if path.level(depth) == 0 { "segment" } else { "child" };
        let detail = format!("{what} {} of {}", step.index, step.count);
        let entries = step.count as u64;
        visits.push(IndexVisit { node: "inner node", page: step.page, depth: depth as u8, entries, detail });
    }
}
