//! Removal of a separator, and replacement of its leaf (AULID, Section 4.5).

use super::edit::Editor;
use super::layers::Layers;
use super::node::{ArrayPlace, Children, Content, Item, Slot};
use super::run;
use super::search::{Landing, Step};
use super::shape::{MOST_CHILDREN, Shape};
use super::view::inner;
use ogive::Result;
use ogive::index::extend::Word;
use ogive::page::{PageNumber, Phase};

/// A node that has shrunk to this part of the size with which it was built is made anew, or into something smaller. The
/// paper leaves the space of removed separators to the nodes for ever.
const SHRUNK: u32 = 4;
/// Nodes that were built of fewer leaves stay: they take a few pages at most.
const LEAST_SHRINKING: u32 = 64;

impl<W: Word> Editor<'_, W> {
    /// Removes the first separator not below `key`, and returns its leaf.
    pub(super) fn remove(&mut self, key: W) -> Result<Option<PageNumber>> {
        let mut path = Vec::new();
        let Some(landing) = self.view().find(&self.meta, key, &mut path)? else { return Ok(None) };
        let depth = path.len() - 1;
        self.tx.enter(Phase::Insert);
        let last = landing.item.0 == landing.found.slot.separator;
        let change = match landing.found.slot.content {
            Content::Array(array) => self.remove_from_array(&path[depth], depth, &landing, array)?,
            Content::Children(children) => self.remove_from_children(&path[depth], depth, &landing, children)?,
            _ => {
                // A copy of a DATA slot is no separator of its own: the slot itself comes after it.
                let number = self.original(&path[depth], depth, &landing)?;
                path[depth].slot_number = number;
                self.write_slot(&path[depth].node, depth, number, &Slot::empty())?;
                Layers::of(depth, -1)
            }
        };
        if last {
            self.lower_separators(&mut path, landing.item.0)?;
        }
        if !(last && path.len() == 1 && self.drop_empty_root(&path[0])?) {
            self.settle_removal(&mut path, change)?;
        }
        Ok(Some(landing.item.1))
    }

    /// Gives the first separator not below `key` another leaf; false if there is none.
    pub(super) fn replace(&mut self, key: W, leaf: PageNumber) -> Result<bool> {
        let mut path = Vec::new();
        let Some(landing) = self.view().find(&self.meta, key, &mut path)? else { return Ok(false) };
        let depth = path.len() - 1;
        self.tx.enter(Phase::Insert);
        match landing.found.slot.content {
            Content::Array(array) => {
                let start = self.view().array_offset(array);
                run::replace::<W>(&mut self.tx.edit(array.page, inner(depth + 1))?, start, landing.index, leaf);
            }
            Content::Children(children) => {
                let page = children.pages[landing.child];
                run::replace::<W>(&mut self.tx.edit(page, inner(depth + 1))?, 0, landing.index, leaf);
            }
            _ => {
                let number = self.original(&path[depth], depth, &landing)?;
                let slot = Slot { separator: landing.item.0, content: Content::Data(leaf) };
                self.write_slot(&path[depth].node, depth, number, &slot)?;
            }
        }
        Ok(true)
    }

    /// The DATA slot of which the slot found may be a copy.
    fn original(&self, step: &Step<W>, depth: usize, landing: &Landing<W>) -> Result<u32> {
        match landing.found.slot.content {
            Content::Fill(_) => Ok(step.node.slot_of(landing.item.0)),
            _ => {
                debug_assert!(depth < super::view::DEEPEST, "a path that was found");
                Ok(step.slot_number)
            }
        }
    }

    fn remove_from_array(
        &mut self,
        step: &Step<W>,
        depth: usize,
        landing: &Landing<W>,
        array: ArrayPlace,
    ) -> Result<Layers> {
        let left = landing.count - 1;
        let capacity = Shape::array_capacity(usize::from(array.class));
        let shrinks = left <= 1 || (array.class > 0 && left <= capacity / 4);
        if !shrinks {
            let start = self.view().array_offset(array);
            let mut edit = self.tx.edit(array.page, inner(depth + 1))?;
            run::remove::<W>(&mut edit, start, landing.count, landing.index);
            drop(edit);
            if landing.index == left {
                let new_last = self.view().array(array, depth)?.item::<W>(left - 1).0;
                self.write_separator(step, depth, new_last)?;
            }
            return Ok(Layers::of(depth + 1, -1));
        }
        let mut items: Vec<Item<W>> = self.view().array(array, depth)?.items().collect();
        items.remove(landing.index);
        self.tx.enter(Phase::Structure);
        self.free_array(array, depth)?;
        self.rebuild_slot(step, depth, &items, Layers::of(depth + 1, landing.count as i64))
    }

    fn remove_from_children(
        &mut self,
        step: &Step<W>,
        depth: usize,
        landing: &Landing<W>,
        mut children: Children<W>,
    ) -> Result<Layers> {
        let (child, left) = (landing.child, landing.count - 1);
        let few = if self.options.packed_arrays { self.shape.largest_array() / 2 } else { 1 };
        if left <= few {
            let mut items = self.children_items(&children, depth)?;
            if items.len() <= few + 1 {
                let before = Layers::of(depth + 1, items.len() as i64);
                items.retain(|item| item.0 != landing.item.0);
                self.tx.enter(Phase::Structure);
                for &page in &children.pages[..children.count] {
                    self.free(page, 1)?;
                }
                return self.rebuild_slot(step, depth, &items, before);
            }
        }
        if left == 0 {
            self.tx.enter(Phase::Structure);
            self.free(children.pages[child], 1)?;
            children.pages[child..children.count].rotate_left(1);
            if child + 1 < children.count {
                children.pivots[child..children.count - 1].rotate_left(1);
            }
            children.count -= 1;
        } else {
            let page = children.pages[child];
            run::remove::<W>(&mut self.tx.edit(page, inner(depth + 1))?, 0, landing.count, landing.index);
            if landing.index < left {
                return Ok(Layers::of(depth + 1, -1));
            }
            let new_last = self.view().child(page, depth)?.item::<W>(left - 1).0;
            if child + 1 < children.count {
                children.pivots[child] = new_last;
            }
        }
        let separator = self.last_of_children(&children, depth, landing)?;
        self.write_slot(
            &step.node,
            depth,
            step.slot_number,
            &Slot { separator, content: Content::Children(children) },
        )?;
        Ok(Layers::of(depth + 1, -1))
    }

    /// The greatest separator of a two-layer node from which one was removed.
    fn last_of_children(&self, children: &Children<W>, depth: usize, landing: &Landing<W>) -> Result<W> {
        let old = landing.found.slot.separator;
        if landing.item.0 != old {
            return Ok(old);
        }
        debug_assert!((1..=MOST_CHILDREN).contains(&children.count), "a node that is not empty");
        let run = self.view().child(children.pages[children.count - 1], depth)?;
        Ok(run.len().checked_sub(1).map_or(old, |last| run.item(last).0))
    }

    /// Lowers the separators of the slots above, where `removed` was their greatest; takes out nodes that have become
    /// empty.
    fn lower_separators(&mut self, path: &mut Vec<Step<W>>, removed: W) -> Result<()> {
        for depth in (1..path.len()).rev() {
            let (step, parent) = (path[depth], path[depth - 1]);
            if parent.separator != removed {
                return Ok(());
            }
            match self.view().last_slot(&step.node, depth)? {
                Some(found) => self.write_separator(&parent, depth - 1, found.slot.separator)?,
                None => {
                    self.tx.enter(Phase::Structure);
                    self.drop_empty(&parent, depth - 1, &step.node)?;
                    path.truncate(depth);
                }
            }
        }
        Ok(())
    }

    /// Brings the statistics up to date after a removal, and rebuilds what has shrunk.
    fn settle_removal(&mut self, path: &mut [Step<W>], change: Layers) -> Result<()> {
        if !self.options.statistics {
            return Ok(());
        }
        self.tx.enter(Phase::Statistics);
        self.update_counts(path, change)?;
        let shrunk = |step: &Step<W>| {
            let counts = step.node.counts;
            counts.initial_size >= LEAST_SHRINKING && counts.size < counts.initial_size / SHRUNK
        };
        match path.iter().position(shrunk) {
            Some(depth) => self.rebuild(path, depth, "shrunken mixed node rebuilt"),
            None => Ok(()),
        }
    }

    /// Gives the root back if the removal, which emptied a slot of it, was that of the last separator.
    fn drop_empty_root(&mut self, root: &Step<W>) -> Result<bool> {
        let counts = root.node.counts;
        if (self.options.statistics && counts.size > 1) || self.view().last_slot(&root.node, 0)?.is_some() {
            return Ok(false);
        }
        self.meta.root = None;
        self.free(root.node.first_page, root.node.pages(self.shape))?;
        Ok(true)
    }
}
