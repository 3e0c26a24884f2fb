//! Rebalancing of inner nodes: an overflowing node shares its children with siblings, and a sparse one merges.
//!
//! ```text
//! five siblings, the middle one overflows       all nearly full: six nodes share the children, each is 5/6 full
//!   |#########|#######  |##########+|######### |######## |   ->   |####### |####### |####### |...
//! if two, three, four or five of them have room, they share the children, and no node is added
//! ```

use super::node::key_width;
use super::search::Step;
use super::state::CodedTree;
use super::{node, state::CodedState};
use crate::error::Result;
use crate::index::entries::word::Word;
use crate::page::{PageNumber, PagePhase};
use ogive_model::inner::{Children, coded_bytes, encode, spread};

/// Most nodes that share children: more siblings mean fuller nodes, but more expensive overflows.
const SIBLINGS_MAX: usize = 5;

/// Adjacent siblings under one parent, and their children.
#[derive(Debug)]
struct SiblingGroup {
    /// Index of the first of them in the parent.
    first: usize,
    /// Their pages.
    pages: Vec<PageNumber>,
    row: Children,
    /// Their stored bytes.
    bytes: usize,
}

impl<W: Word> CodedTree<'_, W> {
    /// Writes the changed children of the node at a depth of `path`, and rebalances it with its siblings if it
    /// overflows or is sparse. `changed` is the index of the last inserted child.
    pub(super) fn store_children(
        &mut self,
        path: &[Step],
        depth: usize,
        children: Children,
        changed: usize,
    ) -> Result<()> {
        self.tx.enter(PagePhase::Structure);
        let Some(step) = depth.checked_sub(1).and_then(|index| path.get(index)) else {
            return self.store_top(children);
        };
        if depth == 1 && self.state.top.pages.is_empty() && self.fits_into_the_top(&children) {
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

    /// Keeps the topmost node in the state while it is small; else writes it to a page under a new one.
    fn store_top(&mut self, children: Children) -> Result<()> {
        if children.pages.len() < CodedState::children_max::<W>() {
            return self.lower_top(children);
        }
        self.tx.count("inner root");
        let bytes = self.encode(&children).ok_or_else(|| self.invalid_node(0))?;
        let root = self.tx.allocate()?;
        self.state = CodedState::of_root(root, children.level + 1);
        self.write(root, children.level, &bytes)
    }

    /// Whether the only page of its level has so few children that they fit into the state.
    fn fits_into_the_top(&self, children: &Children) -> bool {
        if children.level == 0 {
            return children.separators.is_empty();
        }
        // One fewer than the maximum, so that a tree that grows and shrinks does not allocate and free a page each
        // time.
        children.pages.len() + 1 < CodedState::children_max::<W>()
    }

    /// Makes a node the topmost one, or the children of its only child if they fit.
    fn lower_top(&mut self, children: Children) -> Result<()> {
        let mut top = children;
        while top.pages.is_empty()
            && let Some(level) = top.level.checked_sub(1)
            && let Some(page) = top.last
        {
            let content = node::read(self.tx, &CodedState::of_root(page, top.level), page, level)?;
            let view = node::view::<W>(self.tx, page, &content, level)?;
            if view.separators() + 1 >= CodedState::children_max::<W>() {
                break;
            }
            let children = view.children().ok_or_else(|| self.invalid_node(page))?;
            if !self.fits_into_the_top(&children) {
                break;
            }
            self.tx.free(page, 1);
            top = children;
        }
        let is_empty = top.level == 0;
        self.state = if is_empty { CodedState::default() } else { CodedState::of_top(top) };
        Ok(())
    }

    /// The stored form of a node; `None` if it does not fit, or would overflow at the next change.
    fn encode(&self, children: &Children) -> Option<Vec<u8>> {
        let (width, room) = (key_width::<W>(), self.room());
        let plain = children.separators.len() <= ogive_model::inner::plain_capacity(width, room);
        encode(children, width, if plain { room } else { room - room / 32 })
    }

    /// Whether a node that shrank should try to merge: at each 1/8 of a page that it loses below 3/4, so that not every
    /// removal reads neighbours that are too full.
    pub(super) fn is_worth_a_merge(&self, before: usize, now: usize) -> bool {
        let eighths = |bytes: usize| bytes * 8 / self.room();
        now < before && eighths(now) < 6 && eighths(now) < eighths(before)
    }

    fn overflow(&mut self, path: &[Step], depth: usize, children: Children, changed: usize) -> Result<()> {
        let (parent, mut group) = self.sibling_group(path, depth, children)?;
        let index = group.first;
        if self.is_at_the_end(path, depth - 1)? && changed + 1 >= group.row.separators.len() {
            let parts = append(&group.row, key_width::<W>(), self.room());
            if let Some((nodes, between)) = parts {
                self.tx.count("inner node appended");
                return self.replace_siblings((path, depth - 1), parent, group, nodes, between);
            }
        }
        while group.pages.len() < SIBLINGS_MAX && self.add_sibling(&parent, &mut group, index)? {
            if group.bytes <= self.room_of(group.pages.len(), 15) {
                break;
            }
        }
        let shared = group.bytes <= self.room_of(group.pages.len(), 15) && group.pages.len() > 1;
        self.tx.count(if shared { "inner nodes share" } else { "inner node split" });
        let least = group.pages.len() + usize::from(!shared);
        let (nodes, between) = self.spread(&group.row, least)?;
        self.replace_siblings((path, depth - 1), parent, group, nodes, between)
    }

    /// The children of the parent of the node at a depth of `path`, and a sibling group of that node alone, with the
    /// children `row`.
    fn sibling_group(&self, path: &[Step], depth: usize, row: Children) -> Result<(Children, SiblingGroup)> {
        let Some(above) = depth.checked_sub(1) else { return Err(self.invalid_node(0)) };
        let Some(step) = path.get(above) else { return Err(self.invalid_node(0)) };
        let (parent, first) = self.children(path, above)?;
        let bytes = coded_bytes(&row, key_width::<W>());
        Ok((parent, SiblingGroup { first, pages: vec![step.page], row, bytes }))
    }

    /// The given sixteenths of the capacity of some nodes, in bytes.
    fn room_of(&self, nodes: usize, sixteenths: usize) -> usize {
        nodes * self.room() * sixteenths / 16
    }

    /// Spreads a row over `least` nodes, or more if it does not fit.
    fn spread(&self, row: &Children, least: usize) -> Result<(Vec<Vec<u8>>, Vec<u128>)> {
        (least..=row.separators.len())
            .find_map(|nodes| spread(row, nodes, key_width::<W>(), self.room()))
            .ok_or_else(|| self.invalid_node(0))
    }

    /// Whether a path takes the last child at every depth up to the given one.
    fn is_at_the_end(&self, path: &[Step], depth: usize) -> Result<bool> {
        for depth in 0..=depth {
            let (children, index) = self.children(path, depth)?;
            if index < children.separators.len() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Adds a sibling to the group, alternately on the right and on the left of node `index`; false if there is none.
    fn add_sibling(&mut self, parent: &Children, group: &mut SiblingGroup, index: usize) -> Result<bool> {
        let (left, right) = (index - group.first, group.first + group.pages.len() - 1 - index);
        let next = group.first + group.pages.len();
        let goes_right = next <= parent.pages.len() && (right <= left || group.first == 0);
        let added = if goes_right { Some(next) } else { group.first.checked_sub(1) };
        let Some(added) = added else { return Ok(false) };
        let page = parent.pages.get(added).copied().or(parent.last).unwrap_or_default();
        let content = node::read(self.tx, &self.state, page, group.row.level)?;
        let view = node::view::<W>(self.tx, page, &content, group.row.level)?;
        let children = view.children().ok_or_else(|| self.invalid_node(page))?;
        group.bytes += view.stored_bytes();
        let row = std::mem::take(&mut group.row);
        let (left, right) = if goes_right { (row, children) } else { (children, row) };
        let between = parent.separators.get(if goes_right { added - 1 } else { added });
        group.row =
            between.and_then(|&between| concatenate(left, between, right)).ok_or_else(|| self.invalid_node(page))?;
        if goes_right {
            group.pages.push(page);
        } else {
            group.pages.insert(0, page);
            group.first = added;
        }
        Ok(true)
    }

    /// Writes the new nodes of a sibling group, and its parent at the depth `above` of `path`.
    fn replace_siblings(
        &mut self,
        (path, above): (&[Step], usize),
        mut parent: Children,
        group: SiblingGroup,
        nodes: Vec<Vec<u8>>,
        between: Vec<u128>,
    ) -> Result<()> {
        let pages = self.write_nodes(&group.pages, group.row.level, &nodes)?;
        let before = group.first..group.first + group.pages.len();
        let changed = group.first + pages.len() - 1;
        let Some(last) = parent.last else { return Err(self.invalid_node(0)) };
        parent.pages.push(last);
        if before.end > parent.pages.len() {
            return Err(self.invalid_node(0));
        }
        parent.separators.splice(before.start..before.end - 1, between);
        parent.pages.splice(before, pages);
        parent.last = parent.pages.pop();
        self.store_children(path, above, parent, changed.saturating_sub(1))
    }

    /// Writes nodes to the pages `old`, allocates pages for more, and frees unused ones. Returns the pages of the
    /// nodes.
    fn write_nodes(&mut self, old: &[PageNumber], level: u8, nodes: &[Vec<u8>]) -> Result<Vec<PageNumber>> {
        let mut pages = Vec::with_capacity(nodes.len());
        for (index, bytes) in nodes.iter().enumerate() {
            let page = match old.get(index) {
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

    /// Merges a node with siblings into fewer nodes, if they have room; false if they have not.
    fn merge(&mut self, path: &[Step], depth: usize, children: &Children) -> Result<bool> {
        let (parent, mut group) = self.sibling_group(path, depth, children.clone())?;
        let index = group.first;
        while group.pages.len() < SIBLINGS_MAX && self.add_sibling(&parent, &mut group, index)? {
            let fewer = group.pages.len() - 1;
            if group.bytes > self.room_of(fewer, 14) {
                continue;
            }
            if let Some((nodes, between)) = spread(&group.row, fewer, key_width::<W>(), self.room()) {
                self.tx.count("inner nodes merge");
                self.replace_siblings((path, depth - 1), parent, group, nodes, between)?;
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Two adjacent nodes as one; `None` if the left one has no last child.
fn concatenate(mut left: Children, between: u128, right: Children) -> Option<Children> {
    left.separators.push(between);
    left.pages.push(left.last?);
    left.separators.extend(right.separators);
    left.pages.extend(right.pages);
    left.last = right.last;
    Some(left)
}

/// Splits off the last children, so that the left node stays full: for appends at the end of the tree.
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
