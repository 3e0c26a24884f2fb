//! Removals of separators, and replacements of leaves (AULID, Section 4.5).

use super::edit::Editor;
use super::layers::Layers;
use super::node::{ArrayLocation, AulidSlot, Children, NodeContent, NodeItem};
use super::reader::inner;
use super::run;
use super::search::{MixedStep, PathEnd};
use super::shape::{AulidLayout, CHILDREN_MAX};
use ogive::Result;
use ogive::index::extend::Word;
use ogive::page::{PageNumber, PagePhase};

/// A node with less than 1/4 of its size when it was built is rebuilt. In the paper, nodes never shrink.
const SHRUNK_DIVISOR: u32 = 4;
/// Least size when built of a node that is rebuilt after shrinking: smaller ones take few pages.
const SHRINKING_SIZE_MIN: u32 = 64;

impl<W: Word> Editor<'_, W> {
    /// Removes the first separator not below `key`, and returns its leaf.
    pub(super) fn remove(&mut self, key: W) -> Result<Option<PageNumber>> {
        let mut path = Vec::new();
        let Some(end) = self.reader().find(&self.meta, key, &mut path)? else { return Ok(None) };
        let depth = path.len() - 1;
        self.tx.enter(PagePhase::Insert);
        let last = end.item.0 == end.found.slot.separator;
        let change = match end.found.slot.content {
            NodeContent::Array(array) => self.remove_from_array(&path[depth], depth, &end, array)?,
            NodeContent::Children(children) => self.remove_from_children(&path[depth], depth, &end, children)?,
            _ => {
                // The slot may be a copy of a DATA slot after it.
                let number = self.original(&path[depth], depth, &end)?;
                path[depth].slot_number = number;
                self.write_slot(&path[depth].node, depth, number, &AulidSlot::empty())?;
                Layers::of(depth, -1)
            }
        };
        if last {
            self.lower_separators(&mut path, end.item.0)?;
        }
        if !(last && path.len() == 1 && self.drop_empty_root(&path[0])?) {
            self.update_after_removal(&mut path, change)?;
        }
        Ok(Some(end.item.1))
    }

    /// Replaces the leaf of the first separator not below `key`; false if there is none.
    pub(super) fn replace(&mut self, key: W, leaf: PageNumber) -> Result<bool> {
        let mut path = Vec::new();
        let Some(end) = self.reader().find(&self.meta, key, &mut path)? else { return Ok(false) };
        let depth = path.len() - 1;
        self.tx.enter(PagePhase::Insert);
        match end.found.slot.content {
            NodeContent::Array(array) => {
                let start = self.reader().array_offset(array);
                run::replace::<W>(&mut self.tx.edit(array.page, inner(depth + 1))?, start, end.index, leaf);
            }
            NodeContent::Children(children) => {
                let page = children.pages[end.child];
                run::replace::<W>(&mut self.tx.edit(page, inner(depth + 1))?, 0, end.index, leaf);
            }
            _ => {
                let number = self.original(&path[depth], depth, &end)?;
                let slot = AulidSlot { separator: end.item.0, content: NodeContent::Data(leaf) };
                self.write_slot(&path[depth].node, depth, number, &slot)?;
            }
        }
        Ok(true)
    }

    /// The DATA slot of which the found slot may be a copy.
    fn original(&self, step: &MixedStep<W>, depth: usize, end: &PathEnd<W>) -> Result<u32> {
        match end.found.slot.content {
            NodeContent::Fill(_) => Ok(step.node.slot_of(end.item.0)),
            _ => {
                debug_assert!(depth < super::reader::DEPTH_MAX, "a path that was found");
                Ok(step.slot_number)
            }
        }
    }

    fn remove_from_array(
        &mut self,
        step: &MixedStep<W>,
        depth: usize,
        end: &PathEnd<W>,
        array: ArrayLocation,
    ) -> Result<Layers> {
        let left = end.count - 1;
        let capacity = AulidLayout::array_capacity(usize::from(array.class));
        let shrinks = left <= 1 || (array.class > 0 && left <= capacity / 4);
        if !shrinks {
            let start = self.reader().array_offset(array);
            let mut edit = self.tx.edit(array.page, inner(depth + 1))?;
            run::remove::<W>(&mut edit, start, end.count, end.index);
            drop(edit);
            if end.index == left {
                let new_last = self.reader().array(array, depth)?.item::<W>(left - 1).0;
                self.write_separator(step, depth, new_last)?;
            }
            return Ok(Layers::of(depth + 1, -1));
        }
        let mut items: Vec<NodeItem<W>> = self.reader().array(array, depth)?.items().collect();
        items.remove(end.index);
        self.tx.enter(PagePhase::Structure);
        self.free_array(array, depth)?;
        self.rebuild_slot(step, depth, &items, Layers::of(depth + 1, end.count as i64))
    }

    fn remove_from_children(
        &mut self,
        step: &MixedStep<W>,
        depth: usize,
        end: &PathEnd<W>,
        mut children: Children<W>,
    ) -> Result<Layers> {
        let (child, left) = (end.child, end.count - 1);
        let few = if self.options.packed_arrays { self.shape.array_items_max() / 2 } else { 1 };
        if left <= few {
            let mut items = self.children_items(&children, depth)?;
            if items.len() <= few + 1 {
                let before = Layers::of(depth + 1, items.len() as i64);
                items.retain(|item| item.0 != end.item.0);
                self.tx.enter(PagePhase::Structure);
                for &page in &children.pages[..children.count] {
                    self.free(page, 1)?;
                }
                return self.rebuild_slot(step, depth, &items, before);
            }
        }
        if left == 0 {
            self.tx.enter(PagePhase::Structure);
            self.free(children.pages[child], 1)?;
            children.pages[child..children.count].rotate_left(1);
            if child + 1 < children.count {
                children.pivots[child..children.count - 1].rotate_left(1);
            }
            children.count -= 1;
        } else {
            let page = children.pages[child];
            run::remove::<W>(&mut self.tx.edit(page, inner(depth + 1))?, 0, end.count, end.index);
            if end.index < left {
                return Ok(Layers::of(depth + 1, -1));
            }
            let new_last = self.reader().child(page, depth)?.item::<W>(left - 1).0;
            if child + 1 < children.count {
                children.pivots[child] = new_last;
            }
        }
        let separator = self.last_of_children(&children, depth, end)?;
        self.write_slot(
            &step.node,
            depth,
            step.slot_number,
            &AulidSlot { separator, content: NodeContent::Children(children) },
        )?;
        Ok(Layers::of(depth + 1, -1))
    }

    /// The greatest separator of a two-layer node after a removal.
    fn last_of_children(&self, children: &Children<W>, depth: usize, end: &PathEnd<W>) -> Result<W> {
        let old = end.found.slot.separator;
        if end.item.0 != old {
            return Ok(old);
        }
        debug_assert!((1..=CHILDREN_MAX).contains(&children.count), "a node that is not empty");
        let run = self.reader().child(children.pages[children.count - 1], depth)?;
        Ok(run.len().checked_sub(1).map_or(old, |last| run.item(last).0))
    }

    /// Lowers the separators of the slots above that equal `removed`; removes nodes that have become empty.
    fn lower_separators(&mut self, path: &mut Vec<MixedStep<W>>, removed: W) -> Result<()> {
        for depth in (1..path.len()).rev() {
            let (step, parent) = (path[depth], path[depth - 1]);
            if parent.separator != removed {
                return Ok(());
            }
            match self.reader().last_slot(&step.node, depth)? {
                Some(found) => self.write_separator(&parent, depth - 1, found.slot.separator)?,
                None => {
                    self.tx.enter(PagePhase::Structure);
                    self.drop_empty(&parent, depth - 1, &step.node)?;
                    path.truncate(depth);
                }
            }
        }
        Ok(())
    }

    /// Updates the statistics after a removal, and rebuilds a node that has shrunk.
    fn update_after_removal(&mut self, path: &mut [MixedStep<W>], change: Layers) -> Result<()> {
        if !self.options.statistics {
            return Ok(());
        }
        self.tx.enter(PagePhase::Statistics);
        self.update_counts(path, change)?;
        let shrunk = |step: &MixedStep<W>| {
            let counts = step.node.counts;
            counts.initial_size >= SHRINKING_SIZE_MIN && counts.size < counts.initial_size / SHRUNK_DIVISOR
        };
        match path.iter().position(shrunk) {
            Some(depth) => self.rebuild(path, depth, "shrunken mixed node rebuilt"),
            None => Ok(()),
        }
    }

    /// Frees the root if the last separator was removed from it.
    fn drop_empty_root(&mut self, root: &MixedStep<W>) -> Result<bool> {
        let counts = root.node.counts;
        if (self.options.statistics && counts.size > 1) || self.reader().last_slot(&root.node, 0)?.is_some() {
            return Ok(false);
        }
        self.meta.root = None;
        self.free(root.node.first_page, root.node.pages(self.shape))?;
        Ok(true)
    }
}
