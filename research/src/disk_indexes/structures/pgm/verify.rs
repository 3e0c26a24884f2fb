//! Walks over a whole PGM index: verification, statistics, release.

use super::buffer::InsertBuffer;
use super::cursor::PgmCursor;
use super::levels::UPPER_ERROR;
use super::packed::{PackedEntries, PackedReader};
use super::run::{PgmGeometry, PgmRun, Segment, load_position};
use super::state::PgmState;
use super::tree::PgmTree;
use crate::kinds::parts::free_parts;
use ogive::Result;
use ogive::index::extend::{Cursor as _, IndexLevelStatistics, IndexStatistics, Visitor, Word};
use ogive::io::Purpose;
use ogive::page::{PageNumber, Pages, Transaction};

/// The state with all its runs.
struct LoadedPgm<W> {
    state: PgmState<W>,
    buffer: InsertBuffer<W>,
    /// All runs, newest first.
    runs: Vec<PgmRun<W>>,
    geometry: PgmGeometry,
}

fn load<W: Word>(tree: &PgmTree, pages: &dyn Pages, state: &[u8]) -> Result<LoadedPgm<W>> {
    let geometry = tree.geometry::<W>(pages);
    let state = PgmState::load(state, pages, &geometry)?;
    let buffer = InsertBuffer::load(pages, &geometry, &state)?;
    let runs = buffer.runs.iter().chain(&state.oldest).cloned().collect();
    Ok(LoadedPgm { state, buffer, runs, geometry })
}

/// The extents of all pages: first, count.
fn extents<W: Word>(state: &PgmState<W>, runs: &[PgmRun<W>], geometry: &PgmGeometry) -> Vec<(PageNumber, u32)> {
    let data = runs.iter().map(|run| (run.first, run.data(geometry).pages() as u32));
    let index = runs.iter().map(|run| (run.index, run.index_pages(geometry)));
    let buffer = (state.page, u32::from(state.page > 0));
    std::iter::once(buffer).chain(data).chain(index).filter(|&(_, pages)| pages > 0).collect()
}

pub(super) fn verify<W: Word>(
    tree: &PgmTree,
    pages: &dyn Pages,
    state: &[u8],
    visitor: &mut dyn Visitor<W>,
) -> Result<()> {
    let LoadedPgm { state: loaded, buffer, runs, geometry } = load::<W>(tree, pages, state)?;
    for (first, count) in extents(&loaded, &runs, &geometry) {
        visitor.pages(first, count)?;
    }
    verify_order::<W>(pages, &buffer.entries)?;
    for run in &runs {
        let tombstones = verify_order::<W>(pages, &run.data(&geometry))?;
        if tombstones != run.tombstones {
            return Err(pages.damaged(run.first, "a run has another number of tombstones"));
        }
        verify_levels(pages, &geometry, run)?;
    }
    if loaded.oldest.as_ref().is_some_and(|oldest| oldest.tombstones > 0) {
        return Err(pages.damaged(0, "the oldest run has tombstones, which hide nothing"));
    }
    let mut cursor = PgmCursor::<W>::new(*tree, state);
    let mut payload = vec![0; tree.payload_bytes()];
    while let Some(key) = cursor.next(pages, &mut payload)? {
        visitor.entry(key)?;
    }
    Ok(())
}

/// Checks that entries ascend strictly; returns the number of flagged ones.
fn verify_order<W: Word>(pages: &dyn Pages, entries: &PackedEntries) -> Result<u64> {
    let mut reader = PackedReader::new(*entries, Purpose::Leaf);
    let mut flagged = 0;
    let mut before: Option<W> = None;
    for position in 0..entries.count {
        let key = reader.key(pages, position)?;
        if before >= key {
            return Err(pages.damaged(entries.first, "the keys of a run are out of order"));
        }
        before = key;
        flagged += u64::from(reader.flag(pages, position)?);
    }
    Ok(flagged)
}

/// Checks that each segment starts at an entry of the level below with its key, and predicts the following ones.
fn verify_levels<W: Word>(pages: &dyn Pages, geometry: &PgmGeometry, run: &PgmRun<W>) -> Result<()> {
    let mut below = run.data(geometry);
    for level in 0..run.counts.len() {
        let segments = run.segments(geometry, level);
        verify_headers::<W>(pages, &segments, below.count)?;
        let error = if level == 0 { geometry.error } else { UPPER_ERROR };
        let mut reader = PackedReader::new(segments, Purpose::Leaf);
        let mut stream = LevelChecker::<W>::new(below, error);
        for place in 0..segments.count {
            stream.segment(pages, read_segment(&mut reader, pages, place)?)?;
        }
        stream.finish(pages)?;
        below = segments;
    }
    // Roots have no error bound: their misses only show in the reads of lookups.
    let error = if run.counts.is_empty() { geometry.error } else { u64::MAX };
    let mut stream = LevelChecker::<W>::new(below, error);
    for &root in &run.roots {
        stream.segment(pages, root)?;
    }
    if run.roots.is_empty() { Ok(()) } else { stream.finish(pages) }
}

fn read_segment<W: Word>(reader: &mut PackedReader, pages: &dyn Pages, place: u64) -> Result<Segment<W>> {
    let key: W = reader.key(pages, place)?.unwrap_or_default();
    let mut rest = vec![0; reader.packed().shape.entry_bytes() - W::BYTES];
    reader.payload::<W>(pages, place, &mut rest)?;
    let mut bytes = Vec::new();
    super::packed::push_entry(&mut bytes, key, &rest);
    Ok(Segment::load(&bytes))
}

/// Checks that the header of each page repeats the start of the next page.
fn verify_headers<W: Word>(pages: &dyn Pages, segments: &PackedEntries, below: u64) -> Result<()> {
    let mut expected = None;
    for index in 0..segments.pages() {
        let page = pages.read(segments.page_number(index), Purpose::Leaf)?;
        let first = Segment::<W>::load(segments.shape.entry(&page, 0));
        if expected.is_some_and(|expected| expected != (first.key, first.start)) {
            return Err(
                pages.damaged(segments.page_number(index), "the header of the previous page names another segment")
            );
        }
        expected = Some((W::load(&page), load_position(&page, W::BYTES)));
    }
    match expected {
        Some((_, end)) if end != below => {
            Err(pages.damaged(segments.first, "a level does not end where the one below ends"))
        }
        _ => Ok(()),
    }
}

/// A check of the keys of a level against the segments over them.
struct LevelChecker<W> {
    below: PackedEntries,
    reader: PackedReader,
    error: u64,
    open: Option<Segment<W>>,
}

impl<W: Word> LevelChecker<W> {
    fn new(below: PackedEntries, error: u64) -> Self {
        Self { below, reader: PackedReader::new(below, Purpose::Leaf), error, open: None }
    }

    /// Starts the next segment, which ends the previous one.
    fn segment(&mut self, pages: &dyn Pages, segment: Segment<W>) -> Result<()> {
        self.close(pages, segment.start)?;
        if self.open.is_none() && segment.start != 0 || self.reader.key(pages, segment.start)? != Some(segment.key) {
            return Err(pages.damaged(self.below.first, "a segment starts at an entry with another key"));
        }
        self.open = Some(segment);
        Ok(())
    }

    fn finish(mut self, pages: &dyn Pages) -> Result<()> {
        self.close(pages, self.below.count)
    }

    fn close(&mut self, pages: &dyn Pages, end: u64) -> Result<()> {
        let Some(open) = self.open else { return Ok(()) };
        if end <= open.start || end > self.below.count {
            return Err(pages.damaged(self.below.first, "segments are out of order"));
        }
        for position in open.start..end {
            let key = self.reader.key(pages, position)?.unwrap_or_default();
            if open.predict(key, end).abs_diff(position) > self.error {
                return Err(pages.damaged(self.below.first, "a segment misses an entry by more than the error"));
            }
        }
        Ok(())
    }
}

pub(super) fn statistics<W: Word>(tree: &PgmTree, pages: &dyn Pages, state: &[u8]) -> Result<IndexStatistics> {
    let LoadedPgm { state: loaded, buffer, runs, geometry } = load::<W>(tree, pages, state)?;
    let mut found = IndexStatistics::default();
    let mut cursor = PgmCursor::<W>::new(*tree, state);
    let mut payload = vec![0; tree.payload_bytes()];
    while cursor.next(pages, &mut payload)?.is_some() {
        found.entries += 1;
    }
    let depth = runs.iter().map(|run| run.counts.len()).max().unwrap_or(0);
    found.height = depth as u32 + 1;
    found.levels = vec![IndexLevelStatistics::default(); depth + 1];
    found.inner_pages = u64::from(loaded.page > 0);
    let (mut steps, mut stored) = (buffer.entries.count, buffer.entries.count);
    for run in &runs {
        let height = run.counts.len();
        steps += run.entries * (height as u64 + 1);
        stored += run.entries;
        let segments =
            if height > 0 { run.counts.first().map_or(0, |&count| u64::from(count)) } else { run.roots.len() as u64 };
        found.leaves += segments.max(1);
        found.leaf_pages += run.data(&geometry).pages();
        found.inner_pages += u64::from(run.index_pages(&geometry));
        // Depths count from the uppermost level of the highest run, so that data of all runs share the last one.
        for level in 0..height {
            let packed = run.segments(&geometry, level);
            let below = if level == 0 { run.entries } else { run.segments(&geometry, level - 1).count };
            add(&mut found.levels, depth - 1 - level, packed.count, packed.pages(), below);
        }
        add(&mut found.levels, depth, segments.max(1), run.data(&geometry).pages(), run.entries);
    }
    found.mean_height = steps as f64 / stored.max(1) as f64;
    let tombstones = runs.iter().fold(buffer.tombstones(), |sum, run| sum + run.tombstones);
    found.details = vec![
        ("segments", found.leaves),
        ("runs", runs.len() as u64),
        ("buffered entries", buffer.entries.count),
        ("tombstones", tombstones),
    ];
    Ok(found)
}

fn add(levels: &mut [IndexLevelStatistics], depth: usize, nodes: u64, pages: u64, entries: u64) {
    if let Some(level) = levels.get_mut(depth) {
        level.nodes += nodes;
        level.pages += pages;
        level.entries += entries;
    }
}

pub(super) fn free<W: Word>(tree: &PgmTree, tx: &mut Transaction, state: &[u8]) -> Result<()> {
    let LoadedPgm { state, runs, geometry, .. } = load::<W>(tree, tx, state)?;
    free_parts(tx, extents(&state, &runs, &geometry))
}
