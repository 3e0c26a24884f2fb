//! The LIPP cursor: scans in both directions.

use super::link::Link;
use super::mixed::{LippSlot, Mixed, NULL};
use super::node::LippNode;
use super::search::check_depth;
use super::shape::LippLayout;
use super::state::LippState;
use super::wide::nearest_used_page;
use ogive::Result;
use ogive::index::extend::{Cursor, Word};
use ogive::page::{Page, PageNumber, Pages};

/// A node on the path to the cursor's position.
#[derive(Debug)]
struct CursorLevel<W> {
    node: LippNode<W>,
    /// On the last level, the position: before this slot or entry. On others, the slot or child of the next level.
    index: u32,
    /// Whether the cursor has entered the node and not yet returned an entry of it, to detect an empty node.
    fresh: bool,
    /// The last page of slots.
    page: Option<(PageNumber, Page)>,
}

/// A cursor: the stack of nodes on the path to its position.
#[derive(Debug)]
pub(super) struct LippCursor<W> {
    value_bytes: usize,
    state: Vec<u8>,
    levels: Vec<CursorLevel<W>>,
    /// The key returned last, and whether forwards: keys must be monotone, or nodes form a cycle.
    last: Option<(W, bool)>,
}

/// The next item of a node in a direction.
enum NextItem<W> {
    Entry(u32, W),
    Node(u32, Link<W>),
    End,
}

impl<W: Word> LippCursor<W> {
    pub(super) fn new(value_bytes: usize, state: &[u8]) -> Self {
        Self { value_bytes, state: state.to_vec(), levels: Vec::new(), last: None }
    }

    fn shape(&self, pages: &dyn Pages) -> Result<LippLayout> {
        LippLayout::new::<W>(pages, self.value_bytes)
    }

    /// Moves to just before the first entry not below a key, or if `after`, to after an entry of that key.
    fn seek_to(&mut self, pages: &dyn Pages, key: W, after: bool) -> Result<()> {
        let shape = self.shape(pages)?;
        self.levels.clear();
        self.last = None;
        let mut next = LippState::<W>::load(pages, &shape, &self.state)?.root;
        while let Some(link) = next.take() {
            let mut level = self.open(pages, &shape, &link)?;
            let is_before = |other: W| other < key || after && other == key;
            match &level.node {
                LippNode::Packed(packed) => {
                    let index = packed.lower_bound(key);
                    let equal = index < packed.count && is_before(packed.key(index));
                    level.index = index as u32 + u32::from(equal);
                }
                LippNode::Fence(fence) => {
                    let index = fence.find(key);
                    level.index = index as u32;
                    next = Some(fence.link(pages, index)?);
                }
                LippNode::Mixed(mixed) => {
                    let mixed = *mixed;
                    let slot = mixed.slot_of(key);
                    level.index = slot;
                    match mixed.slot_in(pages, level.page(pages, &mixed, slot)?, slot)? {
                        LippSlot::Data(other, _) => level.index += u32::from(is_before(other)),
                        LippSlot::Node(link) => next = Some(link),
                        LippSlot::Null => {}
                    }
                }
            }
            self.levels.push(level);
        }
        Ok(())
    }

    fn open(&self, pages: &dyn Pages, shape: &LippLayout, link: &Link<W>) -> Result<CursorLevel<W>> {
        let depth = self.levels.len() as u8;
        check_depth(pages, link, depth)?;
        Ok(CursorLevel { node: LippNode::open(pages, shape, link, depth)?, index: 0, fresh: false, page: None })
    }

    fn advance(&mut self, pages: &dyn Pages, forward: bool, payload: &mut [u8]) -> Result<Option<W>> {
        let shape = self.shape(pages)?;
        loop {
            let is_root = self.levels.len() == 1;
            let Some(level) = self.levels.last_mut() else { return Ok(None) };
            match level.find(pages, &shape, forward, payload)? {
                NextItem::Entry(index, key) => {
                    level.index = if forward { index + 1 } else { index };
                    self.levels.iter_mut().for_each(|level| level.fresh = false);
                    return self.check_order(pages, key, forward);
                }
                NextItem::Node(index, link) => {
                    level.index = index;
                    let mut next = self.open(pages, &shape, &link)?;
                    next.fresh = true;
                    next.index = if forward { 0 } else { next.length() };
                    self.levels.push(next);
                }
                NextItem::End if is_root => return Ok(None),
                NextItem::End => {
                    if level.fresh {
                        return Err(pages.damaged(0, "a node is empty"));
                    }
                    self.levels.pop();
                    if let Some(above) = self.levels.last_mut() {
                        above.index += u32::from(forward);
                    }
                }
            }
        }
    }

    /// Returns a key, after checking the order.
    fn check_order(&mut self, pages: &dyn Pages, key: W, forward: bool) -> Result<Option<W>> {
        let is_out_of_order = |last: W| if forward { key <= last } else { key >= last };
        if self.last.is_some_and(|(last, was_forward)| was_forward == forward && is_out_of_order(last)) {
            return Err(pages.damaged(0, "keys of a scan do not ascend"));
        }
        self.last = Some((key, forward));
        Ok(Some(key))
    }
}

impl<W: Word> CursorLevel<W> {
    /// Number of slots, entries or children.
    fn length(&self) -> u32 {
        match &self.node {
            LippNode::Mixed(mixed) => mixed.slots,
            LippNode::Packed(packed) => packed.count as u32,
            LippNode::Fence(fence) => fence.count as u32,
        }
    }

    /// The page of a slot.
    fn page(&mut self, pages: &dyn Pages, mixed: &Mixed<W>, slot: u32) -> Result<&Page> {
        let number = mixed.page_of(slot);
        let page = match self.page.take() {
            Some((held, page)) if held == number => page,
            _ => mixed.read_page(pages, number)?,
        };
        Ok(&self.page.insert((number, page)).1)
    }

    /// The next item in a direction; writes the payload of an entry to `payload`.
    fn find(
        &mut self,
        pages: &dyn Pages,
        shape: &LippLayout,
        forward: bool,
        payload: &mut [u8],
    ) -> Result<NextItem<W>> {
        let index = if forward { Some(self.index) } else { self.index.checked_sub(1) };
        let Some(index) = index.filter(|&index| index < self.length()) else { return Ok(NextItem::End) };
        match &self.node {
            LippNode::Packed(packed) => {
                payload.copy_from_slice(packed.value(index as usize));
                Ok(NextItem::Entry(index, packed.key(index as usize)))
            }
            LippNode::Fence(fence) => Ok(NextItem::Node(index, fence.link(pages, index as usize)?)),
            LippNode::Mixed(mixed) => {
                let mixed = *mixed;
                let Some(slot) = self.occupied(pages, shape, &mixed, index, forward)? else { return Ok(NextItem::End) };
                match mixed.slot_in(pages, self.page(pages, &mixed, slot)?, slot)? {
                    LippSlot::Data(key, value) => {
                        payload.copy_from_slice(&value);
                        Ok(NextItem::Entry(slot, key))
                    }
                    LippSlot::Node(link) => Ok(NextItem::Node(slot, link)),
                    LippSlot::Null => Ok(NextItem::End),
                }
            }
        }
    }

    /// The nearest occupied slot from `slot` on in a direction: in its page, in the next page, or in the next page in
    /// use by the summary of the node.
    fn occupied(
        &mut self,
        pages: &dyn Pages,
        shape: &LippLayout,
        mixed: &Mixed<W>,
        slot: u32,
        forward: bool,
    ) -> Result<Option<u32>> {
        if let Some(found) = self.occupied_in_page(pages, mixed, slot, forward)? {
            return Ok(Some(found));
        }
        let slots_per_page = mixed.slots_per_page.max(1);
        let adjacent = |index: u32| if forward { index.checked_add(1) } else { index.checked_sub(1) };
        let in_node = |index: &u32| *index < mixed.wide.unwrap_or(1);
        let first =
            |index: u32| if forward { index * slots_per_page } else { index * slots_per_page + (slots_per_page - 1) };
        let Some(next) = adjacent(slot / slots_per_page).filter(in_node) else { return Ok(None) };
        if let Some(found) = self.occupied_in_page(pages, mixed, first(next), forward)? {
            return Ok(Some(found));
        }
        match nearest_used_page(pages, shape, mixed, adjacent(next).filter(in_node), forward)? {
            Some(index) => self.occupied_in_page(pages, mixed, first(index), forward),
            None => Ok(None),
        }
    }

    fn occupied_in_page(
        &mut self,
        pages: &dyn Pages,
        mixed: &Mixed<W>,
        slot: u32,
        forward: bool,
    ) -> Result<Option<u32>> {
        let start = slot - slot % mixed.slots_per_page.max(1);
        let end = start.saturating_add(mixed.slots_per_page).min(mixed.slots);
        let page = self.page(pages, mixed, slot)?;
        let is_used = |slot: &u32| mixed.kind(page, *slot) != NULL;
        Ok(if forward {
            (slot..end).find(is_used)
        } else {
            (start..slot.saturating_add(1).min(end)).rev().find(is_used)
        })
    }
}

impl<W: Word> Cursor<W> for LippCursor<W> {
    fn seek(&mut self, pages: &dyn Pages, key: W) -> Result<()> {
        self.seek_to(pages, key, false)
    }

    fn seek_back(&mut self, pages: &dyn Pages, key: W) -> Result<()> {
        self.seek_to(pages, key, true)
    }

    fn next(&mut self, pages: &dyn Pages, payload: &mut [u8]) -> Result<Option<W>> {
        if self.levels.is_empty() {
            self.seek_to(pages, W::MIN, false)?;
        }
        self.advance(pages, true, payload)
    }

    fn previous(&mut self, pages: &dyn Pages, payload: &mut [u8]) -> Result<Option<W>> {
        if self.levels.is_empty() {
            self.seek_to(pages, W::MAX, true)?;
        }
        self.advance(pages, false, payload)
    }
}
