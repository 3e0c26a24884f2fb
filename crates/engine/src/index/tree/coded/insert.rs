//! Inserts and replacements of leaves.

use super::node;
use super::search::{self, Step};
use super::state::{CodedState, CodedTree};
use super::{choose, node::key_width};
use crate::error::{Error, Result};
use crate::index::entries::word::Word;
use crate::index::tree::router::Gap;
use crate::io::Purpose;
use crate::page::{PageNumber, PagePhase, Pages};
use ogive_model::inner::{ChildPosition, Children, NodeChange, NodeForm, NodeView, encode, replace_group};

impl<W: Word> CodedTree<'_, W> {
    /// See [`crate::index::extend::Router::insert`].
    pub(super) fn insert(&mut self, gap: Gap<W>, leaf: PageNumber) -> Result<()> {
        let separator = choose::separator(gap);
        if self.state.height == 0 {
            return self.create_root(separator, leaf);
        }
        let path = search::path(self.tx, &self.state, W::from_u128(separator))?;
        let Some(step) = path.last() else { return Ok(()) };
        let node = self.view(step, 0)?;
        if let Some(change) = insert_into_group(&node, step.found.position, separator, leaf, self.room()) {
            return self.apply(step.page, 0, &change);
        }
        let (mut children, index) = self.children(&path, path.len())?;
        children.separators.insert(index, separator);
        children.pages.insert(index, leaf);
        self.store_children(&path, path.len(), children, index)
    }

    /// Creates a tree of one node.
    fn create_root(&mut self, separator: u128, leaf: PageNumber) -> Result<()> {
        let root = self.tx.allocate()?;
        self.state = CodedState::of_root(root, 1);
        let children = Children { level: 0, separators: vec![separator], pages: vec![leaf], last: None };
        let bytes = encode(&children, key_width::<W>(), self.room());
        self.write(root, 0, &bytes.unwrap_or_default())
    }

    /// See [`crate::index::extend::Router::replace`].
    pub(super) fn replace(&mut self, key: W, leaf: PageNumber) -> Result<bool> {
        let path = search::path(self.tx, &self.state, key)?;
        let Some(step) = path.last().filter(|step| step.found.page.is_some()) else { return Ok(false) };
        let node = self.view(step, 0)?;
        let ChildPosition { group, place: index } = step.found.position;
        if group < node.groups() {
            let change = replace_group(&node, group, self.room(), |_, pages| {
                if let Some(page) = pages.get_mut(index) {
                    *page = leaf;
                }
            });
            if let Some(change) = change {
                self.apply(step.page, 0, &change)?;
                return Ok(true);
            }
        }
        let (mut children, index) = self.children(&path, path.len())?;
        match children.pages.get_mut(index) {
            Some(page) => *page = leaf,
            None => children.last = Some(leaf),
        }
        self.store_children(&path, path.len(), children, index)?;
        Ok(true)
    }

    /// Most bytes of a node.
    pub(super) fn room(&self) -> usize {
        self.tx.payload_bytes()
    }

    pub(super) fn view<'s>(&self, step: &'s Step, level: u8) -> Result<NodeView<'s>> {
        node::view::<W>(self.tx, step.page, &step.content, level)
    }

    /// The validated children of the node at a depth of `path`, and the index of the one on the path. Depth 0 is the
    /// topmost node, in the state; depth `d` is the page `d - 1` of the path.
    pub(super) fn children(&self, path: &[Step], depth: usize) -> Result<(Children, usize)> {
        let Some(step) = depth.checked_sub(1).and_then(|index| path.get(index)) else {
            let top = &self.state.top;
            let root = path.first().map_or(0, |step| step.page);
            let index = top.pages.iter().position(|&page| page == root).unwrap_or(top.pages.len());
            return Ok((top.clone(), index));
        };
        let view = self.view(step, self.level(depth))?;
        view.children().zip(view.index_of(step.found.position)).ok_or_else(|| self.invalid_node(step.page))
    }

    /// The level of the nodes at a depth of a path.
    pub(super) fn level(&self, depth: usize) -> u8 {
        self.state.height.saturating_sub(depth as u8)
    }

    pub(super) fn invalid_node(&self, page: PageNumber) -> Error {
        self.tx.damaged(page, "an invalid coded inner node")
    }

    /// Applies a change to a node in place.
    pub(super) fn apply(&mut self, page: PageNumber, level: u8, change: &NodeChange) -> Result<()> {
        self.tx.enter(PagePhase::Structure);
        let mut edit = self.tx.edit(page, Purpose::Inner(self.state.depth(level)))?;
        if let Some((range, to)) = &change.shift {
            edit.shift(range.clone(), *to);
        }
        for (at, bytes) in &change.writes {
            edit.write(*at, bytes);
        }
        Ok(())
    }

    /// Writes a whole node.
    pub(super) fn write(&mut self, page: PageNumber, level: u8, bytes: &[u8]) -> Result<()> {
        self.apply(
            page,
            level,
            &NodeChange { shift: None, writes: vec![(0, bytes.to_vec())], stored_bytes: bytes.len() },
        )
    }
}

/// Inserts a separator and its child before the child at `position`, into its group or, as the last one, into the
/// previous group.
fn insert_into_group(
    node: &NodeView<'_>,
    position: ChildPosition,
    separator: u128,
    leaf: PageNumber,
    room: usize,
) -> Option<NodeChange> {
    if node.kind() == NodeForm::Plain {
        return None;
    }
    let at_end = position.place == 0 && position.group > 0;
    let group = if at_end { position.group - 1 } else { position.group };
    replace_group(node, group, room, |separators, pages| {
        let index = if at_end { separators.len() } else { position.place.min(separators.len()) };
        separators.insert(index, separator);
        pages.insert(index, leaf);
    })
}
