//! PGM lookups: search the buffer, then the runs, newest first.

use super::buffer::InsertBuffer;
use super::levels::predict_root;
use super::packed::{FoundEntry, GallopResult, PackedEntries, copy_payload, gallop};
use super::run::{PgmGeometry, PgmRun, Segment, load_position};
use super::state::PgmState;
use ogive::Result;
use ogive::index::extend::{IndexVisit, Word};
use ogive::io::Purpose;
use ogive::page::{Page, Pages};
use std::cmp::Ordering;

/// The newest entry of a key.
#[derive(Clone, Debug)]
pub(super) struct Hit {
    /// The page with the entry, and its slot there.
    pub(super) page: Page,
    pub(super) slot: usize,
    pub(super) entries: PackedEntries,
}

impl Hit {
    pub(super) fn is_tombstone(&self) -> bool {
        self.entries.shape.flag(&self.page, self.slot)
    }
}

pub(super) fn get<W: Word>(
    geometry: &PgmGeometry,
    pages: &dyn Pages,
    state: &PgmState<W>,
    key: W,
    payload: &mut [u8],
) -> Result<bool> {
    let buffer = InsertBuffer::load(pages, geometry, state)?;
    let found = buffer.find(key);
    let hit = match hit(buffer.entries, found) {
        Some(hit) => Some(hit),
        None => find_in_runs(geometry, pages, state, &buffer, key)?,
    };
    let Some(hit) = hit.filter(|hit| !hit.is_tombstone()) else { return Ok(false) };
    copy_payload::<W>(hit.entries.shape.entry(&hit.page, hit.slot), payload);
    Ok(true)
}

/// The newest entry of a key in the runs.
pub(super) fn find_in_runs<W: Word>(
    geometry: &PgmGeometry,
    pages: &dyn Pages,
    state: &PgmState<W>,
    buffer: &InsertBuffer<W>,
    key: W,
) -> Result<Option<Hit>> {
    for run in buffer.runs.iter().chain(&state.oldest) {
        let found = find(geometry, pages, run, key, &mut None)?;
        if let Some(hit) = hit(run.data(geometry), found) {
            return Ok(Some(hit));
        }
    }
    Ok(None)
}

fn hit(entries: PackedEntries, found: FoundEntry) -> Option<Hit> {
    let slot = entries.locate(found.position).1;
    let (_, page) = found.page.filter(|_| found.exact)?;
    Some(Hit { page, slot, entries })
}

/// Finds the position of a key among the entries of a run; records the index nodes read in `visits`.
pub(super) fn find<W: Word>(
    geometry: &PgmGeometry,
    pages: &dyn Pages,
    run: &PgmRun<W>,
    key: W,
    visits: &mut Option<&mut Vec<IndexVisit>>,
) -> Result<FoundEntry> {
    let top = run.counts.last().map_or(run.entries, |&count| u64::from(count));
    let mut predicted = predict_root(&run.roots, top, key);
    for level in (0..run.counts.len()).rev() {
        let depth = (run.counts.len() - 1 - level) as u8;
        let (segment, end, visit) = floor(geometry, pages, run, (level, depth), predicted, key)?;
        predicted = segment.predict(key, end);
        if let Some(visits) = visits {
            visits.push(visit);
        }
    }
    run.data(geometry).find(pages, key, predicted, Purpose::Leaf)
}

/// The last segment of a level whose key is not above `key`, and its end position.
fn floor<W: Word>(
    geometry: &PgmGeometry,
    pages: &dyn Pages,
    run: &PgmRun<W>,
    (level, depth): (usize, u8),
    predicted: u64,
    key: W,
) -> Result<(Segment<W>, u64, IndexVisit)> {
    let segments = run.segments(geometry, level);
    let shape = segments.shape;
    let last = segments.pages().saturating_sub(1);
    let mut read: Option<Page> = None;
    let mut probes = 0;
    let spot = gallop(segments.pages(), segments.locate(predicted).0, |index| {
        probes += 1;
        let page = pages.read(segments.page_number(index), Purpose::Inner(depth))?;
        let side = if index > 0 && key < shape.key::<W>(&page, 0) {
            Ordering::Less
        } else if index < last && key >= W::load(&page) {
            Ordering::Greater
        } else {
            Ordering::Equal
        };
        read = Some(page);
        Ok(side)
    })?;
    let (GallopResult::Within(index), Some(page)) = (spot, read) else {
        return Err(pages.damaged(segments.first, "a level has a gap between its pages"));
    };
    let count = segments.count_on(index);
    let slot = shape.floor(&page, count, key);
    let start = |slot: usize| Segment::<W>::load(shape.entry(&page, slot)).start;
    let end = if slot + 1 < count { start(slot + 1) } else { load_position(&page, W::BYTES) };
    let position = index * shape.per_page() as u64 + slot as u64;
    let detail =
        format!("predicted segment {predicted}, segment {position} of {}; {probes} page(s) read", segments.count);
    let visit = IndexVisit { node: "level", page: segments.page_number(index), depth, entries: count as u64, detail };
    Ok((Segment::load(shape.entry(&page, slot)), end, visit))
}

pub(super) fn explain<W: Word>(
    geometry: &PgmGeometry,
    pages: &dyn Pages,
    state: &PgmState<W>,
    key: W,
) -> Result<Vec<IndexVisit>> {
    let mut visits = Vec::new();
    let buffer = InsertBuffer::load(pages, geometry, state)?;
    if buffer.page.is_some() {
        let found = buffer.find(key);
        let detail = format!("{}; {} runs described", verdict(&hit(buffer.entries, found.clone())), buffer.runs.len());
        visits.push(IndexVisit { node: "buffer", page: state.page, depth: 0, entries: buffer.entries.count, detail });
        if found.exact {
            return Ok(visits);
        }
    }
    for run in buffer.runs.iter().chain(&state.oldest) {
        let found = find(geometry, pages, run, key, &mut Some(&mut visits))?;
        let data = run.data(geometry);
        let index = found.page.as_ref().map_or(0, |&(index, _)| index);
        let (position, probes) = (found.position, found.probes);
        let hit = hit(data, found);
        let detail = format!("{} at {position}; {probes} page(s) read", verdict(&hit));
        let depth = run.counts.len() as u8;
        visits.push(IndexVisit { node: "run", page: data.page_number(index), depth, entries: data.count, detail });
        if hit.is_some() {
            break;
        }
    }
    Ok(visits)
}

fn verdict(hit: &Option<Hit>) -> &'static str {
    match hit {
        Some(hit) if hit.is_tombstone() => "a tombstone",
        Some(_) => "found",
        None => "absent",
    }
}
