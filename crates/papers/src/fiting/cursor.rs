//! The FITing-tree cursor: the first buffer, then each segment merged with its buffer.

use super::directory::{Path, Which};
use super::node::{Geometry, Record, State, buffer};
use super::search::{Home, find_in_buffer, home};
use super::tree::Fiting;
use crate::pgm::packed::Reader;
use ogive::Result;
use ogive::index::extend::{Cursor, Word};
use ogive::io::Purpose;
use ogive::page::Pages;

/// A place in a FITing-tree.
#[derive(Debug)]
pub(super) struct FitingCursor<W> {
    tree: Fiting,
    state: Vec<u8>,
    place: Option<Place<W>>,
}

/// Entries that are merged, and how many of each lie before the place.
#[derive(Debug)]
struct Place<W> {
    /// The way to the segment; `None` at the first buffer, which is then the only part.
    path: Option<Path<W>>,
    data: Option<Reader>,
    data_before: u64,
    delta: Reader,
    delta_before: u64,
}

impl<W: Word> Place<W> {
    fn head(pages: &dyn Pages, state: &State, geometry: &Geometry) -> Result<Self> {
        let head = buffer(state.head, state.head_count, geometry, pages, 0)?;
        let delta = Reader::new(head, Purpose::Leaf);
        Ok(Self { path: None, data: None, data_before: 0, delta, delta_before: 0 })
    }

    /// At the begin of the segment that a path leads to.
    fn segment(pages: &dyn Pages, path: Path<W>) -> Result<Self> {
        let record = path.record();
        let data = Reader::new(record.data(&path.geometry, pages, path.page())?, Purpose::Leaf);
        let delta = Reader::new(record.delta(&path.geometry, pages, path.page())?, Purpose::Leaf);
        Ok(Self { path: Some(path), data: Some(data), data_before: 0, delta, delta_before: 0 })
    }

    /// Moves before the first entry not below `key`, or behind those equal to it, too.
    fn search(&mut self, pages: &dyn Pages, record: Option<Record<W>>, key: W, behind: bool) -> Result<()> {
        if let (Some(reader), Some(record)) = (&mut self.data, record) {
            let data = *reader.packed();
            let predicted = record.line.position(record.first, key, data.count);
            let found = data.find(pages, key, predicted, Purpose::Leaf)?;
            self.data_before = found.position + u64::from(found.exact && behind);
            reader.keep(found.page);
        }
        let found = find_in_buffer(pages, self.delta.packed(), key)?;
        self.delta_before = found.position + u64::from(found.exact && behind);
        self.delta.keep(found.page);
        Ok(())
    }

    fn pass_all(&mut self) {
        self.data_before = self.data.as_ref().map_or(0, |data| data.packed().count);
        self.delta_before = self.delta.packed().count;
    }

    /// Passes the next entry of this part.
    fn next(&mut self, pages: &dyn Pages, payload: &mut [u8]) -> Result<Option<W>> {
        let delta = self.delta.key(pages, self.delta_before)?;
        if let Some(data) = &mut self.data {
            while let Some(key) = data.key::<W>(pages, self.data_before)? {
                if delta.is_some_and(|delta| delta < key) {
                    break;
                }
                self.data_before += 1;
                if !data.flag(pages, self.data_before - 1)? {
                    data.payload::<W>(pages, self.data_before - 1, payload)?;
                    return Ok(Some(key));
                }
            }
        }
        if delta.is_some() {
            self.delta.payload::<W>(pages, self.delta_before, payload)?;
            self.delta_before += 1;
        }
        Ok(delta)
    }

    /// Passes the previous entry of this part.
    fn previous(&mut self, pages: &dyn Pages, payload: &mut [u8]) -> Result<Option<W>> {
        let delta = match self.delta_before.checked_sub(1) {
            Some(position) => self.delta.key(pages, position)?,
            None => None,
        };
        if let Some(data) = &mut self.data {
            while let Some(position) = self.data_before.checked_sub(1) {
                let Some(key) = data.key::<W>(pages, position)? else { break };
                if delta.is_some_and(|delta| delta > key) {
                    break;
                }
                self.data_before = position;
                if !data.flag(pages, position)? {
                    data.payload::<W>(pages, position, payload)?;
                    return Ok(Some(key));
                }
            }
        }
        if delta.is_some() {
            self.delta_before -= 1;
            self.delta.payload::<W>(pages, self.delta_before, payload)?;
        }
        Ok(delta)
    }
}

impl<W: Word> FitingCursor<W> {
    pub(super) fn new(tree: Fiting, state: &[u8]) -> Self {
        Self { tree, state: state.to_vec(), place: None }
    }

    fn seek_to(&mut self, pages: &dyn Pages, key: W, behind: bool) -> Result<()> {
        self.place = None;
        let state = State::load(&self.state, pages)?;
        let geometry = self.tree.geometry::<W>(pages);
        let (mut place, record) = match home(&geometry, pages, &state, key)? {
            Home::Head => (Place::head(pages, &state, &geometry)?, None),
            Home::Segment(path, record) => (Place::segment(pages, path)?, Some(record)),
        };
        place.search(pages, record, key, behind)?;
        self.place = Some(place);
        Ok(())
    }

    /// The next part of the tree; false at the end.
    fn forward(&mut self, pages: &dyn Pages) -> Result<bool> {
        let Some(place) = &mut self.place else { return Ok(false) };
        let next = match &place.path {
            Some(path) => {
                let mut path = path.clone();
                path.forward(pages)?.then_some(path)
            }
            None => {
                let state = State::load(&self.state, pages)?;
                Path::find(pages, &self.tree.geometry::<W>(pages), &state, Which::First)?
            }
        };
        let Some(path) = next else { return Ok(false) };
        *place = Place::segment(pages, path)?;
        Ok(true)
    }

    /// The previous part of the tree, to stand at its end; false at the begin.
    fn backward(&mut self, pages: &dyn Pages) -> Result<bool> {
        let Some(place) = &mut self.place else { return Ok(false) };
        let Some(path) = &place.path else { return Ok(false) };
        let mut path = path.clone();
        *place = if path.backward(pages)? {
            Place::segment(pages, path)?
        } else {
            let state = State::load(&self.state, pages)?;
            Place::head(pages, &state, &self.tree.geometry::<W>(pages))?
        };
        place.pass_all();
        Ok(true)
    }
}

impl<W: Word> Cursor<W> for FitingCursor<W> {
    fn seek(&mut self, pages: &dyn Pages, key: W) -> Result<()> {
        self.seek_to(pages, key, false)
    }

    fn seek_back(&mut self, pages: &dyn Pages, key: W) -> Result<()> {
        self.seek_to(pages, key, true)
    }

    fn next(&mut self, pages: &dyn Pages, payload: &mut [u8]) -> Result<Option<W>> {
        if self.place.is_none() {
            self.seek_to(pages, W::MIN, false)?;
        }
        while let Some(place) = &mut self.place {
            if let Some(key) = place.next(pages, payload)? {
                return Ok(Some(key));
            }
            if !self.forward(pages)? {
                break;
            }
        }
        Ok(None)
    }

    fn previous(&mut self, pages: &dyn Pages, payload: &mut [u8]) -> Result<Option<W>> {
        if self.place.is_none() {
            self.seek_to(pages, W::MIN, false)?;
        }
        while let Some(place) = &mut self.place {
            if let Some(key) = place.previous(pages, payload)? {
                return Ok(Some(key));
            }
            if !self.backward(pages)? {
                break;
            }
        }
        Ok(None)
    }
}
