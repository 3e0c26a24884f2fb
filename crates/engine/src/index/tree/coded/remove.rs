//! Removals of leaves.

use super::search::{self, Step};
use super::state::CodedTree;
use crate::error::Result;
use crate::index::entries::word::Word;
use crate::page::{PageNumber, PagePhase};
use ogive_model::inner::replace_group;

impl<W: Word> CodedTree<'_, W> {
    /// See [`crate::index::extend::Router::remove`].
    pub(super) fn remove(&mut self, key: W) -> Result<Option<PageNumber>> {
        let path = search::path(self.tx, &self.state, key)?;
        let Some(step) = path.last() else { return Ok(None) };
        let Some(leaf) = step.found.page else { return Ok(None) };
        if !self.remove_in_place(step)? {
            self.remove_child(&path, path.len())?;
        }
        Ok(Some(leaf))
    }

    /// Removes a child from its group in place; false if that would empty the group, if the node should merge, or if
    /// the group cannot be recoded.
    fn remove_in_place(&mut self, step: &Step) -> Result<bool> {
        let node = self.view(step, 0)?;
        let position = step.found.position;
        if position.group >= node.groups() {
            return Ok(false);
        }
        let change = replace_group(&node, position.group, self.room(), |separators, pages| {
            if position.place < separators.len() {
                separators.remove(position.place);
                pages.remove(position.place);
            }
        });
        let Some(change) = change else { return Ok(false) };
        if node.separators() < 2 || self.is_worth_a_merge(node.stored_bytes(), change.stored_bytes) {
            return Ok(false);
        }
        self.apply(step.page, 0, &change)?;
        Ok(true)
    }

    /// Removes the child on the path from the node at a depth of `path`; the next child takes over its range.
    fn remove_child(&mut self, path: &[Step], depth: usize) -> Result<()> {
        let (mut children, index) = self.children(path, depth)?;
        if index < children.separators.len() {
            children.separators.remove(index);
            children.pages.remove(index);
            return self.store_children(path, depth, children, 0);
        }
        let Some(step) = depth.checked_sub(1).and_then(|index| path.get(index)) else {
            return Err(self.invalid_node(0));
        };
        // The separator of a last child is in a node above. It is lowered to that of the previous child, which becomes
        // the last one.
        self.tx.enter(PagePhase::Structure);
        let level = self.level(depth);
        let Some(&separator) = children.separators.last() else {
            self.tx.free(step.page, 1);
            return self.remove_child(path, depth - 1);
        };
        self.lower_separator(path, depth - 1, separator)?;
        // That may have moved nodes, but the separator still leads to this node.
        let path = search::path(self.tx, &self.state, W::from_u128(separator))?;
        let depth = usize::from(self.state.height.saturating_sub(level));
        let (mut children, _) = self.children(&path, depth)?;
        if children.level != level || children.separators.pop() != Some(separator) {
            return Err(self.invalid_node(0));
        }
        children.last = children.pages.pop();
        self.store_children(&path, depth, children, 0)
    }

    /// Changes the separator above the last child of the node below a depth of `path`: it is in the lowest ancestor
    /// whose last child is not on the path.
    fn lower_separator(&mut self, path: &[Step], depth: usize, separator: u128) -> Result<()> {
        let (mut children, index) = self.children(path, depth)?;
        if let Some(old) = children.separators.get_mut(index) {
            *old = separator;
            return self.store_children(path, depth, children, index);
        }
        match depth.checked_sub(1) {
            Some(above) => self.lower_separator(path, above, separator),
            None => Err(self.invalid_node(0)),
        }
    }
}
