//! The PGM cursor: merges all runs and the buffer.

use super::buffer::InsertBuffer;
use super::packed::PackedReader;
use super::run::{PgmGeometry, PgmRun};
use super::search;
use super::state::PgmState;
use super::tree::PgmTree;
use ogive::Result;
use ogive::index::extend::{Cursor, Word};
use ogive::io::Purpose;
use ogive::page::Pages;
use std::marker::PhantomData;

/// A sorted source, and the number of its entries before the position.
#[derive(Debug)]
struct MergeSource {
    reader: PackedReader,
    before: u64,
}

/// The merge of several sorted sources; of entries with the same key, that of the first source is valid.
#[derive(Debug)]
pub(super) struct MergedRuns<W> {
    sources: Vec<MergeSource>,
    word: PhantomData<W>,
}

impl<W: Word> MergedRuns<W> {
    /// Merges the buffer and runs, newest first, from their start.
    pub(super) fn new<'a>(
        geometry: &PgmGeometry,
        buffer: &InsertBuffer<W>,
        runs: impl Iterator<Item = &'a PgmRun<W>>,
    ) -> Self {
        let mut first = PackedReader::new(buffer.entries, Purpose::Inner(0));
        first.keep(buffer.page.clone().map(|page| (0, page)));
        let rest = runs.map(|run| PackedReader::new(run.data(geometry), Purpose::Leaf));
        let sources = std::iter::once(first).chain(rest).map(|reader| MergeSource { reader, before: 0 });
        Self { sources: sources.collect(), word: PhantomData }
    }

    /// Moves past the next key; returns it, with its newest payload, and whether that is a tombstone.
    pub(super) fn next(&mut self, pages: &dyn Pages, payload: &mut [u8]) -> Result<Option<(W, bool)>> {
        let mut least: Option<(W, bool)> = None;
        for source in &mut self.sources {
            let Some(key) = source.reader.key::<W>(pages, source.before)? else { continue };
            if least.is_none_or(|(least, _)| key < least) {
                source.reader.payload::<W>(pages, source.before, payload)?;
                least = Some((key, source.reader.flag(pages, source.before)?));
            }
        }
        let Some((key, _)) = least else { return Ok(None) };
        for source in &mut self.sources {
            if source.reader.key(pages, source.before)? == Some(key) {
                source.before += 1;
            }
        }
        Ok(least)
    }

    /// Moves back before the previous key and returns it.
    fn previous(&mut self, pages: &dyn Pages, payload: &mut [u8]) -> Result<Option<(W, bool)>> {
        let mut greatest: Option<(W, bool)> = None;
        for source in &mut self.sources {
            let Some(position) = source.before.checked_sub(1) else { continue };
            let Some(key) = source.reader.key::<W>(pages, position)? else { continue };
            if greatest.is_none_or(|(greatest, _)| key > greatest) {
                source.reader.payload::<W>(pages, position, payload)?;
                greatest = Some((key, source.reader.flag(pages, position)?));
            }
        }
        let Some((key, _)) = greatest else { return Ok(None) };
        for source in &mut self.sources {
            if let Some(position) = source.before.checked_sub(1)
                && source.reader.key(pages, position)? == Some(key)
            {
                source.before = position;
            }
        }
        Ok(greatest)
    }
}

/// A cursor over a PGM index.
#[derive(Debug)]
pub(super) struct PgmCursor<W> {
    tree: PgmTree,
    state: Vec<u8>,
    merged: Option<MergedRuns<W>>,
}

impl<W: Word> PgmCursor<W> {
    pub(super) fn new(tree: PgmTree, state: &[u8]) -> Self {
        Self { tree, state: state.to_vec(), merged: None }
    }

    fn seek_to(&mut self, pages: &dyn Pages, key: W, after: bool) -> Result<()> {
        self.merged = None;
        let geometry = self.tree.geometry::<W>(pages);
        let state = PgmState::load(&self.state, pages, &geometry)?;
        let buffer = InsertBuffer::load(pages, &geometry, &state)?;
        let runs = || buffer.runs.iter().chain(&state.oldest);
        let mut merged = MergedRuns::new(&geometry, &buffer, runs());
        let mut founds = vec![buffer.find(key)];
        for run in runs() {
            founds.push(search::find(&geometry, pages, run, key, &mut None)?);
        }
        for (source, found) in merged.sources.iter_mut().zip(founds) {
            source.before = found.position + u64::from(found.exact && after);
            source.reader.keep(found.page);
        }
        self.merged = Some(merged);
        Ok(())
    }

    /// The position of the cursor: before the first entry if it was never moved.
    fn position(&mut self, pages: &dyn Pages) -> Result<Option<&mut MergedRuns<W>>> {
        if self.merged.is_none() {
            self.seek_to(pages, W::MIN, false)?;
        }
        Ok(self.merged.as_mut())
    }
}

impl<W: Word> Cursor<W> for PgmCursor<W> {
    fn seek(&mut self, pages: &dyn Pages, key: W) -> Result<()> {
        self.seek_to(pages, key, false)
    }

    fn seek_back(&mut self, pages: &dyn Pages, key: W) -> Result<()> {
        self.seek_to(pages, key, true)
    }

    fn next(&mut self, pages: &dyn Pages, payload: &mut [u8]) -> Result<Option<W>> {
        let Some(merged) = self.position(pages)? else { return Ok(None) };
        loop {
            match merged.next(pages, payload)? {
                Some((_, true)) => {}
                found => return Ok(found.map(|(key, _)| key)),
            }
        }
    }

    fn previous(&mut self, pages: &dyn Pages, payload: &mut [u8]) -> Result<Option<W>> {
        let Some(merged) = self.position(pages)? else { return Ok(None) };
        loop {
            match merged.previous(pages, payload)? {
                Some((_, true)) => {}
                found => return Ok(found.map(|(key, _)| key)),
            }
        }
    }
}
