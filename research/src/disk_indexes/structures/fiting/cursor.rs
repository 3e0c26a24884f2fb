//! The FITing-tree cursor: scans the first buffer, then each segment merged with its buffer.

use super::directory::{DirectoryPath, EntryChoice};
use super::node::{FitingGeometry, FitingState, SegmentRecord, buffer};
use super::search::{KeyLocation, find_in_buffer, locate};
use super::tree::Fiting;
use crate::disk_indexes::structures::pgm::packed::PackedReader;
use ogive::Result;
use ogive::index::extend::{Cursor, Word};
use ogive::io::Purpose;
use ogive::page::Pages;

/// A cursor over a FITing-tree.
#[derive(Debug)]
pub(super) struct FitingCursor<W> {
    tree: Fiting,
    state: Vec<u8>,
    position: Option<FitingPosition<W>>,
}

/// A position in a segment merged with its buffer: readers, and the number of entries of each before the position.
#[derive(Debug)]
struct FitingPosition<W> {
    /// The path to the segment; `None` in the first buffer, which is then the only source.
    path: Option<DirectoryPath<W>>,
    data: Option<PackedReader>,
    data_before: u64,
    delta: PackedReader,
    delta_before: u64,
}

impl<W: Word> FitingPosition<W> {
    fn head(pages: &dyn Pages, state: &FitingState, geometry: &FitingGeometry) -> Result<Self> {
        let head = buffer(state.head, state.head_count, geometry, pages, 0)?;
        let delta = PackedReader::new(head, Purpose::Leaf);
        Ok(Self { path: None, data: None, data_before: 0, delta, delta_before: 0 })
    }

    /// The start of the segment at `path`.
    fn segment(pages: &dyn Pages, path: DirectoryPath<W>) -> Result<Self> {
        let record = path.record();
        let data = PackedReader::new(record.data(&path.geometry, pages, path.page())?, Purpose::Leaf);
        let delta = PackedReader::new(record.delta(&path.geometry, pages, path.page())?, Purpose::Leaf);
        Ok(Self { path: Some(path), data: Some(data), data_before: 0, delta, delta_before: 0 })
    }

    /// Moves to just before the first entry not below `key`, or if `after`, to after an equal one.
    fn search(&mut self, pages: &dyn Pages, record: Option<SegmentRecord<W>>, key: W, after: bool) -> Result<()> {
        if let (Some(reader), Some(record)) = (&mut self.data, record) {
            let data = *reader.packed();
            let predicted = record.line.position(record.first, key, data.count);
            let found = data.find(pages, key, predicted, Purpose::Leaf)?;
            self.data_before = found.position + u64::from(found.exact && after);
            reader.keep(found.page);
        }
        let found = find_in_buffer(pages, self.delta.packed(), key)?;
        self.delta_before = found.position + u64::from(found.exact && after);
        self.delta.keep(found.page);
        Ok(())
    }

    fn move_to_end(&mut self) {
        self.data_before = self.data.as_ref().map_or(0, |data| data.packed().count);
        self.delta_before = self.delta.packed().count;
    }

    /// Moves past the next entry of this segment and returns it.
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

    /// Moves back before the previous entry of this segment and returns it.
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
        Self { tree, state: state.to_vec(), position: None }
    }

    fn seek_to(&mut self, pages: &dyn Pages, key: W, after: bool) -> Result<()> {
        self.position = None;
        let state = FitingState::load(&self.state, pages)?;
        let geometry = self.tree.geometry::<W>(pages);
        let (mut position, record) = match locate(&geometry, pages, &state, key)? {
            KeyLocation::Head => (FitingPosition::head(pages, &state, &geometry)?, None),
            KeyLocation::Segment(path, record) => (FitingPosition::segment(pages, path)?, Some(record)),
        };
        position.search(pages, record, key, after)?;
        self.position = Some(position);
        Ok(())
    }

    /// Moves to before the first entry, unless there is a position.
    fn begin(&mut self, pages: &dyn Pages) -> Result<()> {
        if self.position.is_none() { self.seek_to(pages, W::MIN, false) } else { Ok(()) }
    }

    /// Moves to the next segment; false at the end.
    fn forward(&mut self, pages: &dyn Pages) -> Result<bool> {
        let Some(position) = &mut self.position else { return Ok(false) };
        let next = match &position.path {
            Some(path) => {
                let mut path = path.clone();
                path.forward(pages)?.then_some(path)
            }
            None => {
                let state = FitingState::load(&self.state, pages)?;
                DirectoryPath::find(pages, &self.tree.geometry::<W>(pages), &state, EntryChoice::First)?
            }
        };
        let Some(path) = next else { return Ok(false) };
        *position = FitingPosition::segment(pages, path)?;
        Ok(true)
    }

    /// Moves to the end of the previous segment; false at the start.
    fn backward(&mut self, pages: &dyn Pages) -> Result<bool> {
        let Some(position) = &mut self.position else { return Ok(false) };
        let Some(path) = &position.path else { return Ok(false) };
        let mut path = path.clone();
        *position = if path.backward(pages)? {
            FitingPosition::segment(pages, path)?
        } else {
            let state = FitingState::load(&self.state, pages)?;
            FitingPosition::head(pages, &state, &self.tree.geometry::<W>(pages))?
        };
        position.move_to_end();
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
        self.begin(pages)?;
        while let Some(position) = &mut self.position {
            if let Some(key) = position.next(pages, payload)? {
                return Ok(Some(key));
            }
            if !self.forward(pages)? {
                break;
            }
        }
        Ok(None)
    }

    fn previous(&mut self, pages: &dyn Pages, payload: &mut [u8]) -> Result<Option<W>> {
        self.begin(pages)?;
        while let Some(position) = &mut self.position {
            if let Some(key) = position.previous(pages, payload)? {
                return Ok(Some(key));
            }
            if !self.backward(pages)? {
                break;
            }
        }
        Ok(None)
    }
}
