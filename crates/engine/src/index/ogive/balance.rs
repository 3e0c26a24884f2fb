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
    /// Writes the changed children of the last node of `path`, in as many nodes as that takes. `changed` is the index of the child that
    /// came in last.
    pub(super) fn settle(&mut self, path: &[Step], children: Children, changed: usize) -> Result<()> {
        let Some(step) = path.last() else { return Ok(()) };
        self.tx.enter(Phase::Structure);
        let Some(bytes) = self.encode(&children) else { return self.overflow(path, children, changed) };
        if path.len() == 1 && children.separators.is_empty() {
            return self.lower_root(step.page, &children);
        }
        let before = self.view(step, children.level)?.stored_bytes();
        if path.len() > 1 && self.is_worth_a_merge(before, bytes.len()) && self.merge(path, &children)? {
            return Ok(());
        }
        self.write(step.page, children.level, &bytes)
    }

    /// The stored form of a node; `None` where it does not fit or would be full again after the next change.
    fn encode(&self, children: &Children) -> Option<Vec<u8>> {
        let (width, room) = (key_width::<W>(), self.room());
        let plain = children.separators.len() <= ogive_model::inner::plain_capacity(width, room);
        encode(children, width, if plain { room } else { room - room / 32 })
    }

    /// Whether a node that shrank should look for neighbours with room: at each eighth of a page that it loses below three quarters, so
    /// that neighbours without room are not read again and again.
    pub(super) fn is_worth_a_merge(&self, before: usize, now: usize) -> bool {
        let eighths = |bytes: usize| bytes * 8 / self.room();
        now < before && eighths(now) < 6 && eighths(now) < eighths(before)
    }

    /// Without a separator, the root gives way to its only child, and that to its own.
    fn lower_root(&mut self, root: PageNumber, children: &Children) -> Result<()> {
        self.tx.free(root, 1);
        let Some(mut child) = children.last else {
            self.state = State::default();
            return Ok(());
        };
        self.state = State { root: child, height: children.level };
        while self.state.height > 1 {
            let level = self.state.height - 1;
            let content = node::read(self.tx, &self.state, child, level)?;
            let view = node::view::<W>(self.tx, child, &content, level)?;
            let (0, Some(below)) = (view.separators(), view.last()) else { break };
            self.tx.free(child, 1);
            child = below;
            self.state = State { root: child, height: level };
        }
        Ok(())
    }

    fn overflow(&mut self, path: &[Step], children: Children, changed: usize) -> Result<()> {
        let Some((step, above)) = path.split_last() else { return Ok(()) };
        let Some(parent) = above.last() else { return self.raise_root(step.page, &children, changed) };
        let index = self.index(parent, children.level + 1)?;
        let bytes = coded_bytes(&children, key_width::<W>());
        let mut family = Family { first: index, pages: vec![step.page], row: children, bytes };
        let parent_children = self.children(parent, family.row.level + 1)?;
        if self.is_at_the_end(above)? && changed + 1 >= family.row.separators.len() {
            let parts = append(&family.row, key_width::<W>(), self.room());
            if let Some((nodes, between)) = parts {
                return self.resettle(above, parent_children, family, nodes, between);
            }
        }
        while family.pages.len() < FAMILY && self.join_neighbour(&parent_children, &mut family, index)? {
            if family.bytes <= self.room_of(family.pages.len(), 15) {
                break;
            }
        }
        let shared = family.bytes <= self.room_of(family.pages.len(), 15) && family.pages.len() > 1;
        self.tx.count(if shared { "inner nodes share" } else { "inner node split" });
        let least = family.pages.len() + usize::from(!shared);
        let (nodes, between) = self.spread(&family.row, least)?;
        self.resettle(above, parent_children, family, nodes, between)
    }

    /// `sixteenths` of the room of some nodes.
    fn room_of(&self, nodes: usize, sixteenths: usize) -> usize {
        nodes * self.room() * sixteenths / 16
    }

    /// Spreads a row over `least` nodes, or over more where it does not fit.
    fn spread(&self, row: &Children, least: usize) -> Result<(Vec<Vec<u8>>, Vec<u128>)> {
        (least..=row.separators.len())
            .find_map(|nodes| spread(row, nodes, key_width::<W>(), self.room()))
            .ok_or_else(|| self.nonsense(self.state.root))
    }

    /// Whether a path leads to the last child at every node.
    fn is_at_the_end(&self, path: &[Step]) -> Result<bool> {
        for (step, level) in path.iter().zip((0..self.state.height).rev()) {
            if self.index(step, level)? < self.view(step, level)?.separators() {
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

    /// Writes the nodes that a family has become, and their parent.
    fn resettle(
        &mut self,
        above: &[Step],
        mut parent: Children,
        family: Family,
        nodes: Vec<Vec<u8>>,
        between: Vec<u128>,
    ) -> Result<()> {
        let pages = self.write_nodes(&family.pages, family.row.level, &nodes)?;
        let before = family.first..family.first + family.pages.len();
        let changed = family.first + pages.len() - 1;
        let Some(last) = parent.last else { return Err(self.nonsense(self.state.root)) };
        parent.pages.push(last);
        if before.end > parent.pages.len() {
            return Err(self.nonsense(self.state.root));
        }
        parent.separators.splice(before.start..before.end - 1, between);
        parent.pages.splice(before, pages);
        parent.last = parent.pages.pop();
        self.settle(above, parent, changed.saturating_sub(1))
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

    /// A root that overflows becomes the first of the nodes below a new one.
    fn raise_root(&mut self, root: PageNumber, children: &Children, changed: usize) -> Result<()> {
        self.tx.count("inner root split");
        let width = key_width::<W>();
        let at_end = changed + 1 >= children.separators.len();
        let appended = if at_end { append(children, width, self.room()) } else { None };
        let (nodes, between) = match appended {
            Some(parts) => parts,
            None => self.spread(children, 2)?,
        };
        let mut pages = self.write_nodes(&[root], children.level, &nodes)?;
        let last = pages.pop();
        let above = Children { level: children.level + 1, separators: between, pages, last };
        let bytes = encode(&above, width, self.room()).ok_or_else(|| self.nonsense(root))?;
        self.state = State { root: self.tx.allocate()?, height: self.state.height + 1 };
        self.write(self.state.root, above.level, &bytes)
    }

    /// Lays a node out among siblings in fewer nodes, if they have room; false where they have not.
    fn merge(&mut self, path: &[Step], children: &Children) -> Result<bool> {
        let Some((step, above)) = path.split_last() else { return Ok(false) };
        let Some(parent) = above.last() else { return Ok(false) };
        let index = self.index(parent, children.level + 1)?;
        let parent_children = self.children(parent, children.level + 1)?;
        let bytes = coded_bytes(children, key_width::<W>());
        let mut family = Family { first: index, pages: vec![step.page], row: children.clone(), bytes };
        while family.pages.len() < FAMILY && self.join_neighbour(&parent_children, &mut family, index)? {
            let fewer = family.pages.len() - 1;
            if family.bytes > self.room_of(fewer, 14) {
                continue;
            }
            if let Some((nodes, between)) = spread(&family.row, fewer, key_width::<W>(), self.room()) {
                self.tx.count("inner nodes merge");
                self.resettle(above, parent_children, family, nodes, between)?;
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
