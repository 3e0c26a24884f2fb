//! The builder of PGM runs, and the bulk load.

use super::levels::{self, Segmenter};
use super::packed::{EntryLayout, push_entry};
use super::run::{PgmGeometry, PgmRun};
use super::state::PgmState;
use super::tree::PgmTree;
use ogive::Result;
use ogive::index::extend::{Entries, Word};
use ogive::io::Purpose;
use ogive::page::{PageNumber, PagePhase, Pages, Transaction};

/// Number of pages by which an extent of unknown length grows.
const GROWTH_PAGES: u32 = 64;

/// Builds an index of a sorted stream; returns its state.
pub(super) fn bulk_load<W: Word>(
    tree: &PgmTree,
    tx: &mut Transaction,
    entries: &mut dyn Entries<W>,
) -> Result<Vec<u8>> {
    tx.enter(PagePhase::Structure);
    let geometry = tree.geometry::<W>(tx);
    let mut builder = RunBuilder::new(&geometry, false);
    let mut payload = vec![0; tree.payload_bytes()];
    while let Some(key) = entries.next(&mut payload)? {
        builder.push(tx, key, &payload, false)?;
    }
    let run = builder.finish(tx)?;
    let oldest = run.map(|run| PgmRun { level: tree.level_of(&geometry, run.entries), ..run });
    Ok(PgmState { page: 0, buffered: 0, runs: 0, oldest }.bytes())
}

/// A growing extent of pages, filled in order.
#[derive(Debug, Default)]
struct RunExtent {
    first: PageNumber,
    pages: u32,
    used: u32,
}

impl RunExtent {
    fn push(&mut self, tx: &mut Transaction, payload: &[u8]) -> Result<()> {
        if self.used == self.pages {
            self.grow(tx, GROWTH_PAGES)?;
        }
        tx.write_fresh(self.first + self.used, Purpose::Leaf, payload)?;
        self.used += 1;
        Ok(())
    }

    /// Adds pages after the last one; if these are in use, moves all pages.
    fn grow(&mut self, tx: &mut Transaction, pages: u32) -> Result<()> {
        let more = tx.allocate_extent(pages)?;
        if self.pages == 0 || more == self.first + self.pages {
            self.first = if self.pages == 0 { more } else { self.first };
            self.pages += pages;
            return Ok(());
        }
        tx.free(more, pages);
        let pages = self.pages.saturating_add(self.pages.max(pages));
        let moved = tx.allocate_extent(pages)?;
        for index in 0..self.used {
            let content = tx.read(self.first + index, Purpose::Leaf)?;
            tx.write_fresh(moved + index, Purpose::Leaf, &content)?;
        }
        tx.free(self.first, self.pages);
        (self.first, self.pages) = (moved, pages);
        Ok(())
    }

    /// Frees the unused pages, and returns the first page.
    fn finish(self, tx: &mut Transaction) -> PageNumber {
        if self.pages > self.used {
            tx.free(self.first + self.used, self.pages - self.used);
        }
        self.first
    }
}

/// A builder of a run. It holds the segments in memory: at most 24 bytes per `2 * error + 1` entries.
#[derive(Debug)]
pub(super) struct RunBuilder<W> {
    geometry: PgmGeometry,
    shape: EntryLayout,
    flagged: bool,
    extent: RunExtent,
    /// The page being filled.
    entries: Vec<u8>,
    flags: Vec<u8>,
    on_page: usize,
    count: u64,
    tombstones: u64,
    segmenter: Segmenter<W>,
}

impl<W: Word> RunBuilder<W> {
    /// Creates a builder; `flagged` says whether entries may be tombstones.
    pub(super) fn new(geometry: &PgmGeometry, flagged: bool) -> Self {
        let shape = geometry.data(flagged);
        Self {
            geometry: *geometry,
            shape,
            flagged,
            extent: RunExtent::default(),
            entries: Vec::new(),
            flags: vec![0; shape.flags_bytes()],
            on_page: 0,
            count: 0,
            tombstones: 0,
            segmenter: Segmenter::new(geometry.error),
        }
    }

    /// Allocates the pages for a number of entries at once.
    pub(super) fn reserve(&mut self, tx: &mut Transaction, entries: u64) -> Result<()> {
        let pages = u32::try_from(self.shape.pages(entries)).unwrap_or(u32::MAX);
        self.extent.grow(tx, pages.max(1))
    }

    /// Adds an entry, with a greater key than the previous one.
    pub(super) fn push(&mut self, tx: &mut Transaction, key: W, payload: &[u8], tombstone: bool) -> Result<()> {
        if self.on_page == self.shape.per_page() {
            self.write_page(tx)?;
        }
        push_entry(&mut self.entries, key, payload);
        if tombstone {
            if let Some(byte) = self.flags.get_mut(self.on_page / 8) {
                *byte |= 1 << (self.on_page % 8);
            }
            self.tombstones += 1;
        }
        self.on_page += 1;
        self.count += 1;
        self.segmenter.push(key);
        Ok(())
    }

    fn write_page(&mut self, tx: &mut Transaction) -> Result<()> {
        if self.flagged {
            self.entries.resize(self.shape.flags_offset(), 0);
            self.entries.extend_from_slice(&self.flags);
            self.flags.fill(0);
        }
        self.extent.push(tx, &self.entries)?;
        self.entries.clear();
        self.on_page = 0;
        Ok(())
    }

    /// Writes the remaining entries and the index levels. `None` if there were no entries. The caller sets the level.
    pub(super) fn finish(mut self, tx: &mut Transaction) -> Result<Option<PgmRun<W>>> {
        if self.on_page > 0 {
            self.write_page(tx)?;
        }
        let first = self.extent.finish(tx);
        if self.count == 0 {
            return Ok(None);
        }
        let levels = levels::write(tx, &self.geometry, self.segmenter.finish(), self.count)?;
        Ok(Some(PgmRun {
            level: 0,
            flagged: self.flagged,
            tombstones: self.tombstones,
            first,
            entries: self.count,
            index: levels.index,
            counts: levels.counts,
            roots: levels.roots,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ogive_testkit::index::page_file;

    #[test]
    fn extents_stay_contiguous_if_the_next_pages_are_taken() {
        let file = page_file(512);
        let mut tx = file.begin().unwrap();
        let mut extent = RunExtent::default();
        for number in 0..500_u32 {
            extent.push(&mut tx, &number.to_le_bytes()).unwrap();
            if number % 100 == 0 {
                tx.allocate().unwrap();
            }
        }
        let first = extent.finish(&mut tx);
        for number in 0..500_u32 {
            let page = tx.read(first + number, Purpose::Leaf).unwrap();
            assert_eq!(page.first_chunk(), Some(&number.to_le_bytes()));
        }
    }
}
