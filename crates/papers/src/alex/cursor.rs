//! The ALEX cursor: scans over data nodes in both directions.

use super::leaf::DataPage;
use super::node::find_page;
use super::search::data_node;
use super::shape::Shape;
use super::state::State;
use ogive::Result;
use ogive::index::extend::{Cursor, Word};
use ogive::io::Purpose;
use ogive::page::{PageNumber, Pages};

/// A place between two entries: before slot `slot` of a page.
#[derive(Debug)]
struct Place<W> {
    page: DataPage<W>,
    slot: usize,
}

/// Walks along the links of data nodes.
#[derive(Debug)]
pub(super) struct AlexCursor<W> {
    value_bytes: usize,
    state: Vec<u8>,
    place: Option<Place<W>>,
    /// The key passed last, and whether forwards: the next one must lie beyond, or links lead in a circle.
    passed: Option<(W, bool)>,
}

impl<W: Word> AlexCursor<W> {
    pub(super) fn new(value_bytes: usize, state: &[u8]) -> Self {
        Self { value_bytes, state: state.to_vec(), place: None, passed: None }
    }

    fn shape(&self, pages: &dyn Pages) -> Result<Shape> {
        Shape::new::<W>(pages, self.value_bytes)
    }

    /// Goes to the page of a key, and there before the first entry that is not below it, or, where `behind` says so,
    /// behind the entry of that key.
    fn go(&mut self, pages: &dyn Pages, key: W, behind: bool) -> Result<()> {
        let shape = self.shape(pages)?;
        (self.place, self.passed) = (None, None);
        let Some(root) = State::<W>::load(pages, &shape, &self.state)?.root else { return Ok(()) };
        let node = data_node(pages, &shape, &root, key)?;
        let page = find_page(pages, &shape, &node, key)?;
        let slot = page.lower_bound(key, &node.line).unwrap_or(shape.slots);
        let equal = behind && slot < shape.slots && page.key(slot) == key;
        self.place = Some(Place { page, slot: slot + usize::from(equal) });
        Ok(())
    }

    /// An entry on the way, checked against the one before.
    fn pass(&mut self, pages: &dyn Pages, forward: bool, payload: &mut [u8], slot: usize) -> Result<Option<W>> {
        let Some(place) = &mut self.place else { return Ok(None) };
        let key = place.page.key(slot);
        let falls = |last: W| if forward { key <= last } else { key >= last };
        if self.passed.is_some_and(|(last, came)| came == forward && falls(last)) {
            return Err(pages.damaged(place.page.number, "keys of a scan do not ascend"));
        }
        payload.copy_from_slice(place.page.value(slot));
        place.slot = if forward { slot + 1 } else { slot };
        self.passed = Some((key, forward));
        Ok(Some(key))
    }

    /// Reads the page that a scan goes on to.
    fn turn(&mut self, pages: &dyn Pages, number: PageNumber, forward: bool) -> Result<()> {
        let shape = self.shape(pages)?;
        let page = DataPage::read(pages, &shape, number, Purpose::Leaf)?;
        self.place = Some(Place { page, slot: if forward { 0 } else { shape.slots } });
        Ok(())
    }
}

impl<W: Word> Cursor<W> for AlexCursor<W> {
    fn seek(&mut self, pages: &dyn Pages, key: W) -> Result<()> {
        self.go(pages, key, false)
    }

    fn seek_back(&mut self, pages: &dyn Pages, key: W) -> Result<()> {
        self.go(pages, key, true)
    }

    fn next(&mut self, pages: &dyn Pages, payload: &mut [u8]) -> Result<Option<W>> {
        if self.place.is_none() {
            self.go(pages, W::MIN, false)?;
        }
        for _ in 0..pages.page_count() {
            let Some(place) = &self.place else { return Ok(None) };
            if let Some(slot) = place.page.next_occupied(place.slot) {
                return self.pass(pages, true, payload, slot);
            }
            let header = &place.page.header;
            let left = u32::from(header.pages - 1 - header.index);
            let target = match left {
                0 => header.next,
                // Nothing but vacant pages up to the one that knows the next node.
                _ if header.last => place.page.number.saturating_add(left),
                _ => place.page.number.saturating_add(1),
            };
            if target == 0 {
                return Ok(None);
            }
            self.turn(pages, target, true)?;
        }
        Err(pages.damaged(0, "data nodes are linked in a circle"))
    }

    fn previous(&mut self, pages: &dyn Pages, payload: &mut [u8]) -> Result<Option<W>> {
        if self.place.is_none() {
            self.go(pages, W::MAX, true)?;
        }
        for _ in 0..pages.page_count() {
            let Some(place) = &self.place else { return Ok(None) };
            if let Some(slot) = place.page.previous_occupied(place.slot) {
                return self.pass(pages, false, payload, slot);
            }
            let header = &place.page.header;
            let target = if header.index == 0 { header.previous } else { place.page.number.saturating_sub(1) };
            if target == 0 {
                return Ok(None);
            }
            self.turn(pages, target, false)?;
        }
        Err(pages.damaged(0, "data nodes are linked in a circle"))
    }
}
