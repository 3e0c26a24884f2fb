//! Keeping nodes full: what overflows shares with its neighbours, what has lost much gives way.
//!
//! ```text
//! five siblings, the middle one overflows       all nearly full: six share what five had, each is 5/6 full
//!   |#########|#######  |##########+|######### |######## |   ->   |####### |####### |####### |...
//! if there is room in two, three, four or five of them, they share it, and no node comes in
//! ```

use super::node::key_width;
use super::search::Step;
use super::state::Tree;
use super::{node, state::State};
use crate::error::Result;
use crate::index::word::Word;
use crate::page::{PageNumber, Phase};
use ogive_model::inner::{Children, coded_bytes, encode, spread};

/// Most nodes that share children at a time: each more makes nodes fuller, and an overflow dearer.
const FAMILY: usize = 5;

/// Neighbouring children of one node, and what they hold together.
#[derive(Debug)]
struct Family {
    /// Index of the first of them.
    first: usize,
    /// Their pages.
    pages: Vec<PageNumber>,
    row: Children,
    /// Bytes that they take now.
    bytes: usize,
}

impl<W: Word> Tree<'_, W> {
    /// Writes the changed children of the node at a depth of `path`, in as many nodes as that takes. `changed` is the
    /// index of the child that came in last.
    pub(super) fn settle(&mut self, path: &[Step], depth: usize, children: Children, changed: usize) -> Result<()> {
        self.tx.enter(Phase::Structure);
        let Some(step) = depth.checked_sub(1).and_then(|index| path.get(index)) else {
            return self.settle_top(children);
        };
        if depth == 1 && self.state.top.pages.is_empty() && self.takes_the_place_of_the_top(&children) {
            self.tx.free(step.page, 1);
            return self.lower_top(children);
        }
        let Some(bytes) = self.encode(&children) else { return self.overflow(path, depth, children, changed) };
        let before = self.view(step, children.level)?.stored_bytes();
        if self.is_worth_a_merge(before, bytes.len()) && self.merge(path, depth, &children)? {
            return Ok(());
        }
        self.write(step.page, children.level, &bytes)
    }

    /// The topmost node stays in the state while it is small; else it gets a page, below a new one.
    fn settle_top(&mut self, children: Children) -> Result<()> {
        if children.pages.len() < State::most_children::<W>() {
            return self.lower_top(children);
        }
        self.tx.count("inner root");
        let bytes = self.encode(&children).ok_or_else(|| self.nonsense(0))?;
        let root = self.tx.allocate()?;
        self.state = State::of_root(root, children.level + 1);
        self.write(root, children.level, &bytes)
    }

    /// Whether the only page of its level, with these children, is needed no more: it has few, or none.
    fn takes_the_place_of_the_top(&self, children: &Children) -> bool {
        if children.level == 0 {
            return children.separators.is_empty();
        }
        // One fewer than may be there, so that a tree that grows and shrinks does not make a page and free it by turns.
        children.pages.len() + 1 < State::most_children::<W>()
    }

    /// Makes a node the topmost one, or its only child's children where that will do.
    fn lower_top(&mut self, children: Children) -> Result<()> {
        let mut top = children;
        while top.pages.is_empty()
            && let Some(level) = top.level.checked_sub(1)
            && let Some(page) = top.last
        {
            let content = node::read(self.tx, &State::of_root(page, top.level), page, level)?;
            let view = node::view::<W>(self.tx, page, &content, level)?;
            if view.separators() + 1 >= State::most_children::<W>() {
                break;
            }
            let children = view.children().ok_or_else(|| self.nonsense(page))?;
            if !self.takes_the_place_of_the_top(&children) {
                break;
            }
            self.tx.free(page, 1);
            top = children;
        }
        let is_empty = top.level == 0;
        self.state = if is_empty { State::default() } else { State::of_top(top) };
        Ok(())
    }

    /// The stored form of a node; `None` where it does not fit or would be full again after the next change.
    fn encode(&self, children: &Children) -> Option<Vec<u8>> {
        let (width, room) = (key_width::<W>(), self.room());
        let plain = children.separators.len() <= ogive_model::inner::plain_capacity(width, room);
        encode(children, width, if plain { room } else { room - room / 32 })
    }

    /// Whether a node that shrank should look for neighbours with room: at each eighth of a page that it loses below
    /// three quarters, so that neighbours without room are not read again and again.
    pub(super) fn is_worth_a_merge(&self, before: usize, now: usize) -> bool {
        let eighths = |bytes: usize| bytes * 8 / self.room();
        now < before && eighths(now) < 6 && eighths(now) < eighths(before)
    }

    fn overflow(&mut self, path: &[Step], depth: usize, children: Children, changed: usize) -> Result<()> {
        let (parent, mut family) = self.family(path, depth, children)?;
        let index = family.first;
        if self.is_at_the_end(path, depth - 1)? && changed + 1 >= family.row.separators.len() {
            let parts = append(&family.row, key_width::<W>(), self.room());
            if let Some((nodes, between)) = parts {
                self.tx.count("inner node appended");
                return self.resettle((path, depth - 1), parent, family, nodes, between);
            }
        }
        while family.pages.len() < FAMILY && self.join_neighbour(&parent, &mut family, index)? {
            if family.bytes <= self.room_of(family.pages.len(), 15) {
                break;
            }
        }
        let shared = family.bytes <= self.room_of(family.pages.len(), 15) && family.pages.len() > 1;
        self.tx.count(if shared { "inner nodes share" } else { "inner node split" });
        let least = family.pages.len() + usize::from(!shared);
        let (nodes, between) = self.spread(&family.row, least)?;
        self.resettle((path, depth - 1), parent, family, nodes, between)
    }

    /// The children of the node above that at a depth of `path`, and the family that this one begins with the children
    /// that it has now.
    fn family(&self, path: &[Step], depth: usize, row: Children) -> Result<(Children, Family)> {
        let Some(above) = depth.checked_sub(1) else { return Err(self.nonsense(0)) };
        let Some(step) = path.get(above) else { return Err(self.nonsense(0)) };
        let (parent, first) = self.children(path, above)?;
        let bytes = coded_bytes(&row, key_width::<W>());
        Ok((parent, Family { first, pages: vec![step.page], row, bytes }))
    }

    /// `sixteenths` of the room of some nodes.
    fn room_of(&self, nodes: usize, sixteenths: usize) -> usize {
        nodes * self.room() * sixteenths / 16
    }

    /// Spreads a row over `least` nodes, or over more where it does not fit.
    fn spread(&self, row: &Children, least: usize) -> Result<(Vec<Vec<u8>>, Vec<u128>)> {
        (least..=row.separators.len())
            .find_map(|nodes| spread(row, nodes, key_width::<W>(), self.room()))
            .ok_or_else(|| self.nonsense(0))
    }

    /// Whether a path leads to the last child from the topmost node down to that at a depth.
    fn is_at_the_end(&self, path: &[Step], depth: usize) -> Result<bool> {
        for depth in 0..=depth {
            let (children, index) = self.children(path, depth)?;
            if index < children.separators.len() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Takes one more sibling in: the next one, by turns right and left of node `index`; false where there is none.
    fn join_neighbour(&mut self, parent: &Children, family: &mut Family, index: usize) -> Result<bool> {
        let (left, right) = (index - family.first, family.first + family.pages.len() - 1 - index);
        let next = family.first + family.pages.len();
        let goes_right = next <= parent.pages.len() && (right <= left || family.first == 0);
        let joined = if goes_right { Some(next) } else { family.first.checked_sub(1) };
        let Some(joined) = joined else { return Ok(false) };
        let page = parent.pages.get(joined).copied().or(parent.last).unwrap_or_default();
        let content = node::read(self.tx, &self.state, page, family.row.level)?;
        let view = node::view::<W>(self.tx, page, &content, family.row.level)?;
        let children = view.children().ok_or_else(|| self.nonsense(page))?;
        family.bytes += view.stored_bytes();
        let row = std::mem::take(&mut family.row);
        let (left, right) = if goes_right { (row, children) } else { (children, row) };
        let between = parent.separators.get(if goes_right { joined - 1 } else { joined });
        family.row =
            between.and_then(|&between| concatenate(left, between, right)).ok_or_else(|| self.nonsense(page))?;
        if goes_right {
            family.pages.push(page);
        } else {
            family.pages.insert(0, page);
            family.first = joined;
        }
        Ok(true)
    }

    /// Writes the nodes that a family has become, and their parent, which stands at the depth `above` of `path`.
    fn resettle(
        &mut self,
        (path, above): (&[Step], usize),
        mut parent: Children,
        family: Family,
        nodes: Vec<Vec<u8>>,
        between: Vec<u128>,
    ) -> Result<()> {
        let pages = self.write_nodes(&family.pages, family.row.level, &nodes)?;
        let before = family.first..family.first + family.pages.len();
        let changed = family.first + pages.len() - 1;
        let Some(last) = parent.last else { return Err(self.nonsense(0)) };
        parent.pages.push(last);
        if before.end > parent.pages.len() {
            return Err(self.nonsense(0));
        }
        parent.separators.splice(before.start..before.end - 1, between);
        parent.pages.splice(before, pages);
        parent.last = parent.pages.pop();
        self.settle(path, above, parent, changed.saturating_sub(1))
    }

    /// Writes nodes into the pages of others, new ones where there are too few; the rest is freed. Returns their pages.
    fn write_nodes(&mut self, old: &[PageNumber], level: u8, nodes: &[Vec<u8>]) -> Result<Vec<PageNumber>> {
        let mut pages = Vec::with_capacity(nodes.len());
        for (place, bytes) in nodes.iter().enumerate() {
            let page = match old.get(place) {
                Some(&page) => page,
                None => self.tx.allocate()?,
            };
            self.write(page, level, bytes)?;
            pages.push(page);
        }
        for &page in old.get(nodes.len()..).unwrap_or(&[]) {
            self.tx.free(page, 1);
        }
        Ok(pages)
    }

    /// Lays a node out among siblings in fewer nodes, if they have room; false where they have not.
    fn merge(&mut self, path: &[Step], depth: usize, children: &Children) -> Result<bool> {
        let (parent, mut family) = self.family(path, depth, children.clone())?;
        let index = family.first;
        while family.pages.len() < FAMILY && self.join_neighbour(&parent, &mut family, index)? {
            let fewer = family.pages.len() - 1;
            if family.bytes > self.room_of(fewer, 14) {
                continue;
            }
            if let Some((nodes, between)) = spread(&family.row, fewer, key_width::<W>(), self.room()) {
                self.tx.count("inner nodes merge");
                self.resettle((path, depth - 1), parent, family, nodes, between)?;
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Two neighbours as one; `None` where the left one has no last child.
fn concatenate(mut left: Children, between: u128, right: Children) -> Option<Children> {
    left.separators.push(between);
    left.pages.push(left.last?);
    left.separators.extend(right.separators);
    left.pages.extend(right.pages);
    left.last = right.last;
    Some(left)
}

/// All children but the last few in one node, which stays full: how nodes grow at the end of the tree.
fn append(row: &Children, width: ogive_model::inner::KeyWidth, room: usize) -> Option<(Vec<Vec<u8>>, Vec<u128>)> {
    let end = row.separators.len().checked_sub(2)?;
    let left = Children {
        level: row.level,
        separators: row.separators.get(..end)?.to_vec(),
        pages: row.pages.get(..end)?.to_vec(),
        last: row.pages.get(end).copied(),
    };
    let right = Children {
        level: row.level,
        separators: row.separators.get(end + 1..)?.to_vec(),
        pages: row.pages.get(end + 1..)?.to_vec(),
        last: row.last,
    };
    let between = *row.separators.get(end)?;
    Some((vec![encode(&left, width, room)?, encode(&right, width, room)?], vec![between]))
}
