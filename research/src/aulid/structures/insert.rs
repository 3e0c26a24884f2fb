//! Inserts of separators (AULID, Algorithm 1).

use super::edit::Editor;
use super::layers::Layers;
use super::node::{ArrayLocation, AulidSlot, Children, NodeContent, NodeItem};
use super::reader::{DEPTH_MAX, FoundSlot, NodeReader, inner};
use super::run::{self, ItemRun};
use super::search::MixedStep;
use super::shape::{AulidLayout, CHILDREN_MAX};
use ogive::Result;
use ogive::index::extend::Word;
use ogive::page::{PageNumber, PagePhase, Pages};

/// Most mixed nodes on a path; with more, the root is rebuilt regardless of its statistics. Adversarial inserts into
/// one slot after another create a node per thousand leaves, and Adjust may be disabled. A rebuilt tree has at most 20
/// levels, since no slot gets more than 1/3 of a node's leaves.
const MIXED_NODES_MAX: usize = 24;

impl<W: Word> Editor<'_, W> {
    /// Inserts a leaf under a new separator.
    pub(super) fn insert(&mut self, separator: W, leaf: PageNumber) -> Result<()> {
        let item = (separator, leaf);
        let Some(root) = self.meta.root else {
            self.tx.enter(PagePhase::Structure);
            let (root, _) = self.build_mixed(&[item], 0, self.options.slots_per_leaf_rebuilt)?;
            self.meta.root = Some(root);
            return Ok(());
        };
        let mut path = vec![MixedStep::into(root, None)];
        let found = self.find_entry(&mut path, separator)?;
        let depth = path.len() - 1;
        self.tx.enter(PagePhase::Insert);
        let change = self.insert_under(&path[depth], depth, &found, item)?;
        for (depth, step) in path[..depth].iter().enumerate() {
            if step.separator < separator {
                self.write_separator(step, depth, separator)?;
            }
        }
        self.update_after_insert(&mut path, change)
    }

    /// The predicted slot of a separator, in the first mixed node where it contains no other one.
    fn find_entry(&self, path: &mut Vec<MixedStep<W>>, separator: W) -> Result<FoundSlot<W>> {
        let reader = self.reader();
        loop {
            let depth = path.len() - 1;
            let Some(step) = path.last_mut().filter(|_| depth < DEPTH_MAX) else {
                return Err(self.tx.damaged(0, "mixed nodes form a cycle"));
            };
            let found = reader.slot(&step.node, depth, step.node.slot_of(separator))?;
            (step.slot_number, step.separator) = (found.slot_number, found.slot.separator);
            match NodeReader::mixed(&found) {
                Some((node, location)) => path.push(MixedStep::into(node, Some(location))),
                None => return Ok(found),
            }
        }
    }

    /// Inserts an item into a slot or under it; returns the change of the layers.
    fn insert_under(
        &mut self,
        step: &MixedStep<W>,
        depth: usize,
        found: &FoundSlot<W>,
        item: NodeItem<W>,
    ) -> Result<Layers> {
        match found.slot.content {
            NodeContent::Null | NodeContent::Fill(_) => {
                let slot = AulidSlot { separator: item.0, content: NodeContent::Data(item.1) };
                self.write_slot(&step.node, depth, step.slot_number, &slot)?;
                Ok(Layers::of(depth, 1))
            }
            NodeContent::Data(leaf) => {
                let mut items = [(found.slot.separator, leaf), item];
                items.sort_unstable_by_key(|item| item.0);
                self.rebuild_slot(step, depth, &items, Layers::of(depth, 1))
            }
            NodeContent::Array(array) => self.insert_into_array(step, depth, array, item),
            NodeContent::Children(children) => self.insert_into_children(step, depth, found, children, item),
            NodeContent::Mixed(_) => Err(self.tx.damaged(step.node.first_page, "a mixed node at the end of a path")),
        }
    }

    /// Rebuilds the content of a slot from items; `before` are the layers of its old items.
    pub(super) fn rebuild_slot(
        &mut self,
        step: &MixedStep<W>,
        depth: usize,
        items: &[NodeItem<W>],
        before: Layers,
    ) -> Result<Layers> {
        if !items.is_sorted_by(|a, b| a.0 < b.0) {
            return Err(self.tx.damaged(step.node.first_page, "a separator is repeated or out of order"));
        }
        self.tx.enter(PagePhase::Structure);
        let (slot, mut layers) = self.build_slot(items, depth, self.options.slots_per_leaf_rebuilt)?;
        self.write_slot(&step.node, depth, step.slot_number, &slot)?;
        layers -= before;
        Ok(layers)
    }

    /// Raises the separator of a slot to that of an inserted item.
    fn raise_separator(&mut self, step: &MixedStep<W>, depth: usize, item: NodeItem<W>) -> Result<()> {
        if step.separator < item.0 { self.write_separator(step, depth, item.0) } else { Ok(()) }
    }

    fn insert_into_array(
        &mut self,
        step: &MixedStep<W>,
        depth: usize,
        array: ArrayLocation,
        item: NodeItem<W>,
    ) -> Result<Layers> {
        let run = self.reader().array(array, depth)?;
        let (index, count) = (self.rank(array.page, &run, item.0)?, run.len());
        if count < AulidLayout::array_capacity(usize::from(array.class)) {
            let start = self.reader().array_offset(array);
            run::insert(&mut self.tx.edit(array.page, inner(depth + 1))?, start, count, index, item);
            self.raise_separator(step, depth, item)?;
            return Ok(Layers::of(depth + 1, 1));
        }
        let mut items: Vec<NodeItem<W>> = run.items().collect();
        items.insert(index, item);
        self.tx.enter(PagePhase::Structure);
        self.free_array(array, depth)?;
        self.rebuild_slot(step, depth, &items, Layers::of(depth + 1, count as i64))
    }

    /// The index for a new separator in a run.
    fn rank(&self, page: PageNumber, run: &ItemRun, separator: W) -> Result<usize> {
        let index = run.rank(separator);
        if index < run.len() && run.item::<W>(index).0 == separator {
            return Err(self.tx.damaged(page, "a separator is repeated"));
        }
        Ok(index)
    }

    fn insert_into_children(
        &mut self,
        step: &MixedStep<W>,
        depth: usize,
        found: &FoundSlot<W>,
        children: Children<W>,
        item: NodeItem<W>,
    ) -> Result<Layers> {
        let child = children.child_of(item.0);
        let page = children.pages[child];
        let run = self.reader().child(page, depth)?;
        let (index, count) = (self.rank(page, &run, item.0)?, run.len());
        if count < self.shape.child_capacity() {
            run::insert(&mut self.tx.edit(page, inner(depth + 1))?, 0, count, index, item);
            self.raise_separator(step, depth, item)?;
            return Ok(Layers::of(depth + 1, 1));
        }
        self.tx.enter(PagePhase::Structure);
        if children.count < CHILDREN_MAX {
            let mut items: Vec<NodeItem<W>> = run.items().collect();
            items.insert(index, item);
            self.split_child(step, depth, found, children, child, &items)?;
            return Ok(Layers::of(depth + 1, 1));
        }
        let mut items = self.children_items(&children, depth)?;
        let before = Layers::of(depth + 1, items.len() as i64);
        let index = items.partition_point(|other| other.0 < item.0);
        items.insert(index, item);
        for page in children.pages {
            self.free(page, 1)?;
        }
        self.rebuild_slot(step, depth, &items, before)
    }

    /// All items of a two-layer node.
    pub(super) fn children_items(&self, children: &Children<W>, depth: usize) -> Result<Vec<NodeItem<W>>> {
        let mut items = Vec::new();
        for &page in &children.pages[..children.count] {
            items.extend(self.reader().child(page, depth)?.items::<W>());
        }
        if !items.is_sorted_by(|a, b| a.0 < b.0) {
            return Err(self.tx.damaged(children.pages[0], "children out of order"));
        }
        Ok(items)
    }

    /// Splits a child with the given items in two.
    fn split_child(
        &mut self,
        step: &MixedStep<W>,
        depth: usize,
        found: &FoundSlot<W>,
        mut children: Children<W>,
        child: usize,
        items: &[NodeItem<W>],
    ) -> Result<()> {
        self.tx.count("two-layer node split");
        let (left, right) = items.split_at(items.len() / 2);
        let new = self.new_child(left, depth)?;
        self.tx.edit(children.pages[child], inner(depth + 1))?.write(0, &run::encode(right));
        children.pages[child..=children.count].rotate_right(1);
        children.pages[child] = new;
        children.pivots[child..children.count].rotate_right(1);
        children.pivots[child] = left[left.len() - 1].0;
        children.count += 1;
        let separator = found.slot.separator.max(items[items.len() - 1].0);
        self.write_slot(
            &step.node,
            depth,
            step.slot_number,
            &AulidSlot { separator, content: NodeContent::Children(children) },
        )
    }

    /// Updates the statistics of a path, and rebuilds a node that has become too deep.
    pub(super) fn update_after_insert(&mut self, path: &mut [MixedStep<W>], change: Layers) -> Result<()> {
        if self.options.statistics {
            self.tx.enter(PagePhase::Statistics);
            self.update_counts(path, change)?;
            if self.options.adjust {
                self.adjust(path)?;
            }
        }
        if path.len() > MIXED_NODES_MAX { self.rebuild(path, 0, "too high a root rebuilt") } else { Ok(()) }
    }

    /// Adds a change of the layers to the statistics of the nodes of a path.
    pub(super) fn update_counts(&mut self, path: &mut [MixedStep<W>], change: Layers) -> Result<()> {
        for (depth, step) in path.iter_mut().enumerate() {
            let counts = &mut step.node.counts;
            let before = *counts;
            counts.size = counts.size.saturating_add_signed(change.total() as i32);
            counts.deep = counts.deep.saturating_add_signed(change.deep(depth) as i32);
            if *counts != before {
                self.write_counts(step.location, depth, step.node.counts)?;
            }
        }
        Ok(())
    }
}
