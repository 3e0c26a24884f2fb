//! The LIPP cursor: scans in both directions.

use super::link::Link;
use super::mixed::{Mixed, NULL, Slot};
use super::node::Node;
use super::search::check_depth;
use super::shape::Shape;
use super::state::State;
use super::wide::nearest;
use ogive::Result;
use ogive::index::extend::{Cursor, Word};
use ogive::page::{Page, PageNumber, Pages};

/// A node on the path to the cursor's place.
#[derive(Debug)]
struct Frame<W> {
    node: Node<W>,
    /// Of the last frame: the place, before this slot or entry. Of the others: the slot or child that the next frame is
    /// in.
    place: u32,
    /// No entry was passed in the node since the cursor came to its end from outside: if there is none, the node is
    /// empty, which no node is.
    fresh: bool,
    /// The page of slots read last.
    page: Option<(PageNumber, Page)>,
}

/// A stack of nodes.
#[derive(Debug)]
pub(super) struct LippCursor<W> {
    value_bytes: usize,
    state: Vec<u8>,
    frames: Vec<Frame<W>>,
    /// The key passed last, and whether forwards: the next one must lie beyond, or nodes lead in a circle.
    passed: Option<(W, bool)>,
}

/// What lies next in a direction within a node.
enum Found<W> {
    Entry(u32, W),
    Node(u32, Link<W>),
    End,
}

impl<W: Word> LippCursor<W> {
    pub(super) fn new(value_bytes: usize, state: &[u8]) -> Self {
        Self { value_bytes, state: state.to_vec(), frames: Vec::new(), passed: None }
    }

    fn shape(&self, pages: &dyn Pages) -> Result<Shape> {
        Shape::new::<W>(pages, self.value_bytes)
    }

    /// Goes to a key: before the first entry that is not below it, or, where `behind` says so, behind the entry of that
    /// key.
    fn go(&mut self, pages: &dyn Pages, key: W, behind: bool) -> Result<()> {
        let shape = self.shape(pages)?;
        self.frames.clear();
        self.passed = None;
        let mut next = State::<W>::load(pages, &shape, &self.state)?.root;
        while let Some(link) = next.take() {
            let mut frame = self.open(pages, &shape, &link)?;
            let passes = |other: W| other < key || behind && other == key;
            match &frame.node {
                Node::Packed(packed) => {
                    let index = packed.lower_bound(key);
                    let equal = index < packed.count && passes(packed.key(index));
                    frame.place = index as u32 + u32::from(equal);
                }
                Node::Fence(fence) => {
                    let index = fence.find(key);
                    frame.place = index as u32;
                    next = Some(fence.link(pages, index)?);
                }
                Node::Mixed(mixed) => {
                    let mixed = *mixed;
                    let slot = mixed.slot_of(key);
                    frame.place = slot;
                    match mixed.slot_in(pages, frame.page(pages, &mixed, slot)?, slot)? {
                        Slot::Data(other, _) => frame.place += u32::from(passes(other)),
                        Slot::Node(link) => next = Some(link),
                        Slot::Null => {}
                    }
                }
            }
            self.frames.push(frame);
        }
        Ok(())
    }

    fn open(&self, pages: &dyn Pages, shape: &Shape, link: &Link<W>) -> Result<Frame<W>> {
        let depth = self.frames.len() as u8;
        check_depth(pages, link, depth)?;
        Ok(Frame { node: Node::open(pages, shape, link, depth)?, place: 0, fresh: false, page: None })
    }

    fn advance(&mut self, pages: &dyn Pages, forward: bool, payload: &mut [u8]) -> Result<Option<W>> {
        let shape = self.shape(pages)?;
        loop {
            let is_root = self.frames.len() == 1;
            let Some(frame) = self.frames.last_mut() else { return Ok(None) };
            match frame.find(pages, &shape, forward, payload)? {
                Found::Entry(place, key) => {
                    frame.place = if forward { place + 1 } else { place };
                    self.frames.iter_mut().for_each(|frame| frame.fresh = false);
                    return self.pass(pages, key, forward);
                }
                Found::Node(place, link) => {
                    frame.place = place;
                    let mut next = self.open(pages, &shape, &link)?;
                    next.fresh = true;
                    next.place = if forward { 0 } else { next.length() };
                    self.frames.push(next);
                }
                Found::End if is_root => return Ok(None),
                Found::End => {
                    if frame.fresh {
                        return Err(pages.damaged(0, "a node is empty"));
                    }
                    self.frames.pop();
                    if let Some(above) = self.frames.last_mut() {
                        above.place += u32::from(forward);
                    }
                }
            }
        }
    }

    fn pass(&mut self, pages: &dyn Pages, key: W, forward: bool) -> Result<Option<W>> {
        let falls = |last: W| if forward { key <= last } else { key >= last };
        if self.passed.is_some_and(|(last, came)| came == forward && falls(last)) {
            return Err(pages.damaged(0, "keys of a scan do not ascend"));
        }
        self.passed = Some((key, forward));
        Ok(Some(key))
    }
}

impl<W: Word> Frame<W> {
    /// Slots, entries or children.
    fn length(&self) -> u32 {
        match &self.node {
            Node::Mixed(mixed) => mixed.slots,
            Node::Packed(packed) => packed.count as u32,
            Node::Fence(fence) => fence.count as u32,
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

    /// What lies next in a direction; the payload of an entry goes to `payload`.
    fn find(&mut self, pages: &dyn Pages, shape: &Shape, forward: bool, payload: &mut [u8]) -> Result<Found<W>> {
        let index = if forward { Some(self.place) } else { self.place.checked_sub(1) };
        let Some(index) = index.filter(|&index| index < self.length()) else { return Ok(Found::End) };
        match &self.node {
            Node::Packed(packed) => {
                payload.copy_from_slice(packed.value(index as usize));
                Ok(Found::Entry(index, packed.key(index as usize)))
            }
            Node::Fence(fence) => Ok(Found::Node(index, fence.link(pages, index as usize)?)),
            Node::Mixed(mixed) => {
                let mixed = *mixed;
                let Some(slot) = self.occupied(pages, shape, &mixed, index, forward)? else { return Ok(Found::End) };
                match mixed.slot_in(pages, self.page(pages, &mixed, slot)?, slot)? {
                    Slot::Data(key, value) => {
                        payload.copy_from_slice(&value);
                        Ok(Found::Entry(slot, key))
                    }
                    Slot::Node(link) => Ok(Found::Node(slot, link)),
                    Slot::Null => Ok(Found::End),
                }
            }
        }
    }

    /// The nearest slot, from `slot` on in a direction, that holds anything: in its page, in the next page, or in the
    /// one that the summary of the node names.
    fn occupied(
        &mut self,
        pages: &dyn Pages,
        shape: &Shape,
        mixed: &Mixed<W>,
        slot: u32,
        forward: bool,
    ) -> Result<Option<u32>> {
        if let Some(found) = self.occupied_in_page(pages, mixed, slot, forward)? {
            return Ok(Some(found));
        }
        let a_page = mixed.a_page.max(1);
        let beside = |index: u32| if forward { index.checked_add(1) } else { index.checked_sub(1) };
        let in_node = |index: &u32| *index < mixed.wide.unwrap_or(1);
        let first = |index: u32| if forward { index * a_page } else { index * a_page + (a_page - 1) };
        let Some(next) = beside(slot / a_page).filter(in_node) else { return Ok(None) };
        if let Some(found) = self.occupied_in_page(pages, mixed, first(next), forward)? {
            return Ok(Some(found));
        }
        match nearest(pages, shape, mixed, beside(next).filter(in_node), forward)? {
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
        let start = slot - slot % mixed.a_page.max(1);
        let end = start.saturating_add(mixed.a_page).min(mixed.slots);
        let page = self.page(pages, mixed, slot)?;
        let holds = |slot: &u32| mixed.kind(page, *slot) != NULL;
        Ok(if forward { (slot..end).find(holds) } else { (start..slot.saturating_add(1).min(end)).rev().find(holds) })
    }
}

impl<W: Word> Cursor<W> for LippCursor<W> {
    fn seek(&mut self, pages: &dyn Pages, key: W) -> Result<()> {
        self.go(pages, key, false)
    }

    fn seek_back(&mut self, pages: &dyn Pages, key: W) -> Result<()> {
        self.go(pages, key, true)
    }

    fn next(&mut self, pages: &dyn Pages, payload: &mut [u8]) -> Result<Option<W>> {
        if self.frames.is_empty() {
            self.go(pages, W::MIN, false)?;
        }
        self.advance(pages, true, payload)
    }

    fn previous(&mut self, pages: &dyn Pages, payload: &mut [u8]) -> Result<Option<W>> {
        if self.frames.is_empty() {
            self.go(pages, W::MAX, true)?;
        }
        self.advance(pages, false, payload)
    }
}
