//! The index levels of a PGM run: segments over segments, until few are left.

use super::line::longest;
use super::packed::{GallopResult, gallop};
use super::run::{PgmGeometry, ROOTS_MAX, Segment, level_header_bytes, push_key, push_position};
use ogive::Result;
use ogive::index::extend::Word;
use ogive::io::Purpose;
use ogive::page::{PageNumber, Transaction};

/// The error of the levels above the lowest, in segments: that of the PGM-index library. It nearly always predicts the
/// right page.
pub(super) const UPPER_ERROR: u64 = 4;

/// Most keys of a segment, which bounds the memory of segmentation.
const SEGMENT_KEYS_MAX: usize = 1 << 16;

/// The segmentation of a stream of keys.
#[derive(Debug)]
pub(super) struct Segmenter<W> {
    error: u64,
    keys: Vec<W>,
    /// Number of keys at the front that already have segments.
    done: usize,
    /// Position of the first key after them.
    position: u64,
    segments: Vec<Segment<W>>,
}

impl<W: Word> Segmenter<W> {
    pub(super) fn new(error: u64) -> Self {
        Self { error, keys: Vec::new(), done: 0, position: 0, segments: Vec::new() }
    }

    /// Adds a key, which is greater than the previous one.
    pub(super) fn push(&mut self, key: W) {
        if self.keys.len() - self.done == SEGMENT_KEYS_MAX {
            self.cut();
        }
        self.keys.push(key);
    }

    pub(super) fn finish(mut self) -> Vec<Segment<W>> {
        while self.done < self.keys.len() {
            self.cut();
        }
        self.segments
    }

    fn cut(&mut self) {
        let keys = self.keys.get(self.done..).unwrap_or(&[]);
        let (served, line) = longest(keys, self.error);
        let key = keys.first().copied().unwrap_or_default();
        self.segments.push(Segment { key, start: self.position, line });
        self.position += served as u64;
        self.done += served;
        // Keys are dropped in large batches, because that moves the rest.
        if self.done >= SEGMENT_KEYS_MAX {
            self.keys.drain(..self.done);
            self.done = 0;
        }
    }
}

/// The stored levels of a run.
#[derive(Debug, Default)]
pub(super) struct Levels<W> {
    pub(super) index: PageNumber,
    pub(super) counts: Vec<u32>,
    pub(super) roots: Vec<Segment<W>>,
}

/// Builds and writes the levels over `entries` entries with the given lowest segments.
pub(super) fn write<W: Word>(
    tx: &mut Transaction,
    geometry: &PgmGeometry,
    lowest: Vec<Segment<W>>,
    entries: u64,
) -> Result<Levels<W>> {
    if geometry.plain.pages(entries) <= 1 {
        return Ok(Levels { index: 0, counts: Vec::new(), roots: Vec::new() });
    }
    let (levels, roots) = plan(geometry, lowest, entries);
    let pages = levels.iter().map(|level| geometry.segments.pages(level.len() as u64) as u32).sum();
    let index = if pages > 0 { tx.allocate_extent(pages)? } else { 0 };
    let mut page = index;
    let mut below = entries;
    for level in &levels {
        page = write_level(tx, geometry, page, level, below)?;
        below = level.len() as u64;
    }
    Ok(Levels { index, counts: levels.iter().map(|level| level.len() as u32).collect(), roots })
}

/// The levels to store, the lowest first, and the root segments over them.
fn plan<W: Word>(
    geometry: &PgmGeometry,
    lowest: Vec<Segment<W>>,
    entries: u64,
) -> (Vec<Vec<Segment<W>>>, Vec<Segment<W>>) {
    let mut levels = Vec::new();
    let mut level = lowest;
    let mut below = entries;
    loop {
        if level.len() <= ROOTS_MAX {
            return (levels, level);
        }
        let keys: Vec<W> = level.iter().map(|segment| segment.key).collect();
        let weights = weights(&level, below);
        below = level.len() as u64;
        levels.push(level);
        if geometry.segments.pages(below) == 1 {
            return (levels, Vec::new());
        }
        if let Some(roots) = roots(geometry, &keys, &weights) {
            return (levels, roots);
        }
        let mut upper = Segmenter::new(UPPER_ERROR);
        keys.into_iter().for_each(|key| upper.push(key));
        level = upper.finish();
    }
}

/// The number of entries, or of segments, under each segment.
fn weights<W: Word>(level: &[Segment<W>], below: u64) -> Vec<u64> {
    let ends = level.iter().skip(1).map(|next| next.start).chain([below]);
    level.iter().zip(ends).map(|(segment, end)| end.saturating_sub(segment.start)).collect()
}

/// Root segments over a level of several pages, if their misses cost less than a level of pages above.
fn roots<W: Word>(geometry: &PgmGeometry, keys: &[W], weights: &[u64]) -> Option<Vec<Segment<W>>> {
    let mut error = UPPER_ERROR;
    while error < 2 * keys.len() as u64 {
        if let Some(roots) = root_segments(keys, error) {
            return (misses(geometry, &roots, keys, weights) <= 1.0).then_some(roots);
        }
        error *= 2;
    }
    None
}

/// The segments with an error, if they are at most [`ROOTS_MAX`].
fn root_segments<W: Word>(keys: &[W], error: u64) -> Option<Vec<Segment<W>>> {
    let mut segments = Vec::new();
    let mut start = 0;
    while start < keys.len() {
        if segments.len() == ROOTS_MAX {
            return None;
        }
        let rest = keys.get(start..).unwrap_or(&[]);
        let (served, line) = longest(rest, error);
        segments.push(Segment { key: rest.first().copied().unwrap_or_default(), start: start as u64, line });
        start += served.max(1);
    }
    Some(segments)
}

/// The mean number of wrong pages that lookups read if the roots predict their start, measured at the first key of each
/// segment.
fn misses<W: Word>(geometry: &PgmGeometry, roots: &[Segment<W>], keys: &[W], weights: &[u64]) -> f64 {
    let per_page = geometry.segments.per_page() as u64;
    let pages = geometry.segments.pages(keys.len() as u64);
    let (mut missed, mut all) = (0_u128, 0_u128);
    for ((position, &key), &weight) in (0..).zip(keys).zip(weights) {
        let expected = position / per_page;
        let mut probes = 0_u32;
        let found = gallop(pages, predict_root(roots, keys.len() as u64, key) / per_page, |page| {
            probes += 1;
            Ok(expected.cmp(&page))
        });
        debug_assert!(matches!(found, Ok(GallopResult::Within(page)) if page == expected));
        missed += u128::from(probes.saturating_sub(1)) * u128::from(weight);
        all += u128::from(weight);
    }
    missed as f64 / all.max(1) as f64
}

/// The position that root segments predict for a key among `count` segments of the level below.
pub(super) fn predict_root<W: Word>(roots: &[Segment<W>], count: u64, key: W) -> u64 {
    let after = roots.partition_point(|root| root.key <= key);
    let Some(root) = roots.get(after.saturating_sub(1)) else { return 0 };
    root.predict(key, roots.get(after.max(1)).map_or(count, |next| next.start))
}

/// Writes a level from page `page` on; returns the page after it.
fn write_level<W: Word>(
    tx: &mut Transaction,
    geometry: &PgmGeometry,
    mut page: PageNumber,
    level: &[Segment<W>],
    below: u64,
) -> Result<PageNumber> {
    let per_page = geometry.segments.per_page();
    for (number, segments) in level.chunks(per_page).enumerate() {
        let next = level.get((number + 1) * per_page);
        let mut bytes =
            Vec::with_capacity(level_header_bytes::<W>() + segments.len() * geometry.segments.entry_bytes());
        push_key(&mut bytes, next.map_or(W::MAX, |next| next.key));
        push_position(&mut bytes, next.map_or(below, |next| next.start));
        segments.iter().for_each(|segment| segment.push(&mut bytes));
        tx.write_fresh(page, Purpose::Inner(u8::MAX), &bytes)?;
        page += 1;
    }
    Ok(page)
}
