//! The ALEX cursor: scans over data nodes in both directions.

use super::leaf::DataPage;
use super::node::find_page;
use super::search::data_node;
use super::shape::AlexLayout;
use super::state::AlexState;
use ogive::Result;
use ogive::index::extend::{Cursor, Word};
use ogive::io::Purpose;
use ogive::page::{PageNumber, Pages};

/// A position between two entries: before slot `slot` of a page.
#[derive(Debug)]
struct AlexPosition<W> {
    page: DataPage<W>,
    slot: usize,
}

/// A cursor along the links of data nodes.
#[derive(Debug)]
pub(super) struct AlexCursor<W> {
    value_bytes: usize,
    state: Vec<u8>,
    position: Option<AlexPosition<W>>,
    /// The key returned last, and whether forwards: keys must be monotone, or the links form a cycle.
    last: Option<(W, bool)>,
}

impl<W: Word> AlexCursor<W> {
    pub(super) fn new(value_bytes: usize, state: &[u8]) -> Self {
        Self { value_bytes, state: state.to_vec(), position: None, last: None }
    }

    fn shape(&self, pages: &dyn Pages) -> Result<AlexLayout> {
        AlexLayout::new::<W>(pages, self.value_bytes)
    }

    /// Moves to just before the first entry not below a key, or if `after`, to after an entry of that key.
    fn seek_to(&mut self, pages: &dyn Pages, key: W, after: bool) -> Result<()> {
        let shape = self.shape(pages)?;
        (self.position, self.last) = (None, None);
        let Some(root) = AlexState::<W>::load(pages, &shape, &self.state)?.root else { return Ok(()) };
        let node = data_node(pages, &shape, &root, key)?;
        let page = find_page(pages, &shape, &node, key)?;
        let slot = page.lower_bound(key, &node.line).unwrap_or(shape.slots);
        let equal = after && slot < shape.slots && page.key(slot) == key;
        self.position = Some(AlexPosition { page, slot: slot + usize::from(equal) });
        Ok(())
    }

    /// Moves past the entry in a slot and returns it, after checking the order.
    fn read_entry(&mut self, pages: &dyn Pages, forward: bool, payload: &mut [u8], slot: usize) -> Result<Option<W>> {
        let Some(position) = &mut self.position else { return Ok(None) };
        let key = position.page.key(slot);
        let is_out_of_order = |last: W| if forward { key <= last } else { key >= last };
        if self.last.is_some_and(|(last, was_forward)| was_forward == forward && is_out_of_order(last)) {
            return Err(pages.damaged(position.page.number, "keys of a scan do not ascend"));
        }
        payload.copy_from_slice(position.page.value(slot));
        position.slot = if forward { slot + 1 } else { slot };
        self.last = Some((key, forward));
        Ok(Some(key))
    }

    /// Moves to another page of the scan.
    fn move_to_page(&mut self, pages: &dyn Pages, number: PageNumber, forward: bool) -> Result<()> {
        let shape = self.shape(pages)?;
        let page = DataPage::read(pages, &shape, number, Purpose::Leaf)?;
        self.position = Some(AlexPosition { page, slot: if forward { 0 } else { shape.slots } });
        Ok(())
    }
}

impl<W: Word> Cursor<W> for AlexCursor<W> {
    fn seek(&mut self, pages: &dyn Pages, key: W) -> Result<()> {
        self.seek_to(pages, key, false)
    }

    fn seek_back(&mut self, pages: &dyn Pages, key: W) -> Result<()> {
        self.seek_to(pages, key, true)
    }

    fn next(&mut self, pages: &dyn Pages, payload: &mut [u8]) -> Result<Option<W>> {
        if self.position.is_none() {
            self.seek_to(pages, W::MIN, false)?;
        }
        for _ in 0..pages.page_count() {
            let Some(position) = &self.position else { return Ok(None) };
            if let Some(slot) = position.page.next_occupied(position.slot) {
                return self.read_entry(pages, true, payload, slot);
            }
            let header = &position.page.header;
            let left = u32::from(header.pages - 1 - header.index);
            let target = match left {
                0 => header.next,
                // Only vacant pages follow, up to the last one, which has the link.
                _ if header.last => position.page.number.saturating_add(left),
                _ => position.page.number.saturating_add(1),
            };
            if target == 0 {
                return Ok(None);
            }
            self.move_to_page(pages, target, true)?;
        }
        Err(pages.damaged(0, "data nodes form a cycle"))
    }

    fn previous(&mut self, pages: &dyn Pages, payload: &mut [u8]) -> Result<Option<W>> {
        if self.position.is_none() {
            self.seek_to(pages, W::MAX, true)?;
        }
        for _ in 0..pages.page_count() {
            let Some(position) = &self.position else { return Ok(None) };
            if let Some(slot) = position.page.previous_occupied(position.slot) {
                return self.read_entry(pages, false, payload, slot);
            }
            let header = &position.page.header;
            let target = if header.index == 0 { header.previous } else { position.page.number.saturating_sub(1) };
            if target == 0 {
                return Ok(None);
            }
            self.move_to_page(pages, target, false)?;
        }
        Err(pages.damaged(0, "data nodes form a cycle"))
    }
}
