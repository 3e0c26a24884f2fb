//! The PGM cursor: a merge of all runs and the buffer.

use super::buffer::Buffer;
use super::packed::Reader;
use super::run::{Geometry, Run};
use super::search;
use super::state::State;
use super::tree::Pgm;
use ogive::Result;
use ogive::index::extend::{Cursor, Word};
use ogive::io::Purpose;
use ogive::page::Pages;
use std::marker::PhantomData;

/// Sorted entries, and how many of them lie before the place.
#[derive(Debug)]
struct Source {
    reader: Reader,
    before: u64,
}

/// Several sorted sources as one; of entries with one key, the first source has the one that counts.
#[derive(Debug)]
pub(super) struct Merged<W> {
    sources: Vec<Source>,
    word: PhantomData<W>,
}

impl<W: Word> Merged<W> {
    /// The buffer and runs, newest first, at their begin.
    pub(super) fn new<'a>(geometry: &Geometry, buffer: &Buffer<W>, runs: impl Iterator<Item = &'a Run<W>>) -> Self {
        let mut first = Reader::new(buffer.entries, Purpose::Inner(0));
        first.keep(buffer.page.clone().map(|page| (0, page)));
        let rest = runs.map(|run| Reader::new(run.data(geometry), Purpose::Leaf));
        let sources = std::iter::once(first).chain(rest).map(|reader| Source { reader, before: 0 });
        Self { sources: sources.collect(), word: PhantomData }
    }

    /// Passes the next key of all: with its newest payload, and whether that is a tombstone.
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

    /// Passes the previous key of all.
    fn previous(&mut self, pages: &dyn Pages, payload: &mut [u8]) -> Result<Option<(W, bool)>> {
        let mut greatest: Option<(W, bool)> = None;
        for source in &mut self.sources {
            let Some(place) = source.before.checked_sub(1) else { continue };
            let Some(key) = source.reader.key::<W>(pages, place)? else { continue };
            if greatest.is_none_or(|(greatest, _)| key > greatest) {
                source.reader.payload::<W>(pages, place, payload)?;
                greatest = Some((key, source.reader.flag(pages, place)?));
            }
        }
        let Some((key, _)) = greatest else { return Ok(None) };
        for source in &mut self.sources {
            if let Some(place) = source.before.checked_sub(1)
                && source.reader.key(pages, place)? == Some(key)
            {
                source.before = place;
            }
        }
        Ok(greatest)
    }
}

/// A place in a PGM index.
#[derive(Debug)]
pub(super) struct PgmCursor<W> {
    tree: Pgm,
    state: Vec<u8>,
    merged: Option<Merged<W>>,
}

impl<W: Word> PgmCursor<W> {
    pub(super) fn new(tree: Pgm, state: &[u8]) -> Self {
        Self { tree, state: state.to_vec(), merged: None }
    }

    fn seek_to(&mut self, pages: &dyn Pages, key: W, behind: bool) -> Result<()> {
        self.merged = None;
        let geometry = self.tree.geometry::<W>(pages);
        let state = State::load(&self.state, pages, &geometry)?;
        let buffer = Buffer::load(pages, &geometry, &state)?;
        let runs = || buffer.runs.iter().chain(&state.oldest);
        let mut merged = Merged::new(&geometry, &buffer, runs());
        let mut founds = vec![buffer.find(key)];
        for run in runs() {
            founds.push(search::find(&geometry, pages, run, key, &mut None)?);
        }
        for (source, found) in merged.sources.iter_mut().zip(founds) {
            source.before = found.position + u64::from(found.exact && behind);
            source.reader.keep(found.page);
        }
        self.merged = Some(merged);
        Ok(())
    }

    /// Where the cursor stands; before the first entry if it was never moved.
    fn place(&mut self, pages: &dyn Pages) -> Result<Option<&mut Merged<W>>> {
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
        let Some(merged) = self.place(pages)? else { return Ok(None) };
        loop {
            match merged.next(pages, payload)? {
                Some((_, true)) => {}
                found => return Ok(found.map(|(key, _)| key)),
            }
        }
    }

    fn previous(&mut self, pages: &dyn Pages, payload: &mut [u8]) -> Result<Option<W>> {
        let Some(merged) = self.place(pages)? else { return Ok(None) };
        loop {
            match merged.previous(pages, payload)? {
                Some((_, true)) => {}
                found => return Ok(found.map(|(key, _)| key)),
            }
        }
    }
}
