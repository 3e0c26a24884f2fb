//! Insertion of a separator (AULID, Algorithm 1).

use super::edit::Editor;
use super::layers::Layers;
use super::node::{ArrayPlace, Children, Content, Item, Slot};
use super::run::{self, Run};
use super::search::Step;
use super::shape::{MOST_CHILDREN, Shape};
use super::view::{DEEPEST, Found, View, inner};
use ogive::Result;
use ogive::index::extend::Word;
use ogive::page::{PageNumber, Pages, Phase};

/// With more mixed nodes above each other, the root is rebuilt, whatever its statistics say: keys that an adversary
/// puts in one place after the other make a new node for each thousand leaves, and Adjust may be off. A rebuilt tree
/// has fewer, as no slot gets more than a third of a node's leaves: 3^20 are more than there can be.
const MOST_MIXED: usize = 24;

impl<W: Word> Editor<'_, W> {
    /// Puts a leaf in under a separator that is not there yet.
    pub(super) fn insert(&mut self, separator: W, leaf: PageNumber) -> Result<()> {
        let item = (separator, leaf);
        let Some(root) = self.meta.root else {
            self.tx.enter(Phase::Structure);
            let (root, _) = self.build_mixed(&[item], 0, self.options.slots_per_leaf_rebuilt)?;
            self.meta.root = Some(root);
            return Ok(());
        };
        let mut path = vec![Step::into(root, None)];
        let found = self.find_entry(&mut path, separator)?;
        let depth = path.len() - 1;
        self.tx.enter(Phase::Insert);
        let change = self.insert_under(&path[depth], depth, &found, item)?;
        for (depth, step) in path[..depth].iter().enumerate() {
            if step.separator < separator {
                self.write_separator(step, depth, separator)?;
            }
        }
        self.settle(&mut path, change)
    }

    /// The slot that the models predict for a separator, on the first mixed node where it leads to no other one.
    fn find_entry(&self, path: &mut Vec<Step<W>>, separator: W) -> Result<Found<W>> {
        let view = self.view();
        loop {
            let depth = path.len() - 1;
            let Some(step) = path.last_mut().filter(|_| depth < DEEPEST) else {
                return Err(self.tx.damaged(0, "mixed nodes without end"));
            };
            let found = view.slot(&step.node, depth, step.node.slot_of(separator))?;
            (step.slot_number, step.separator) = (found.slot_number, found.slot.separator);
            match View::mixed(&found) {
                Some((node, home)) => path.push(Step::into(node, Some(home))),
                None => return Ok(found),
            }
        }
    }

    /// Puts an item in or under a slot; returns by how much the layers have grown.
    fn insert_under(&mut self, step: &Step<W>, depth: usize, found: &Found<W>, item: Item<W>) -> Result<Layers> {
        match found.slot.content {
            Content::Null | Content::Fill(_) => {
                let slot = Slot { separator: item.0, content: Content::Data(item.1) };
                self.write_slot(&step.node, depth, step.slot_number, &slot)?;
                Ok(Layers::of(depth, 1))
            }
            Content::Data(leaf) => {
                let mut items = [(found.slot.separator, leaf), item];
                items.sort_unstable_by_key(|item| item.0);
                self.rebuild_slot(step, depth, &items, Layers::of(depth, 1))
            }
            Content::Array(array) => self.insert_into_array(step, depth, array, item),
            Content::Children(children) => self.insert_into_children(step, depth, found, children, item),
            Content::Mixed(_) => Err(self.tx.damaged(step.node.first_page, "a mixed node at the end of a path")),
        }
    }

    /// Makes anew what a slot holds, of items of which there were `before`.
    pub(super) fn rebuild_slot(
        &mut self,
        step: &Step<W>,
        depth: usize,
        items: &[Item<W>],
        before: Layers,
    ) -> Result<Layers> {
        if !items.is_sorted_by(|a, b| a.0 < b.0) {
            return Err(self.tx.damaged(step.node.first_page, "a separator twice, or out of order"));
        }
        self.tx.enter(Phase::Structure);
        let (slot, mut layers) = self.make(items, depth, self.options.slots_per_leaf_rebuilt)?;
        self.write_slot(&step.node, depth, step.slot_number, &slot)?;
        layers -= before;
        Ok(layers)
    }

    /// Raises the separator of a slot to that of an item put in under it.
    fn raise(&mut self, step: &Step<W>, depth: usize, item: Item<W>) -> Result<()> {
        if step.separator < item.0 { self.write_separator(step, depth, item.0) } else { Ok(()) }
    }

    fn insert_into_array(&mut self, step: &Step<W>, depth: usize, array: ArrayPlace, item: Item<W>) -> Result<Layers> {
        let run = self.view().array(array, depth)?;
        let (index, count) = (self.rank(array.page, &run, item.0)?, run.len());
        if count < Shape::array_capacity(usize::from(array.class)) {
            let start = self.view().array_offset(array);
            run::insert(&mut self.tx.edit(array.page, inner(depth + 1))?, start, count, index, item);
            self.raise(step, depth, item)?;
            return Ok(Layers::of(depth + 1, 1));
        }
        let mut items: Vec<Item<W>> = run.items().collect();
        items.insert(index, item);
        self.tx.enter(Phase::Structure);
        self.free_array(array, depth)?;
        self.rebuild_slot(step, depth, &items, Layers::of(depth + 1, count as i64))
    }

    /// The place for a separator in a run that must not hold it yet.
    fn rank(&self, page: PageNumber, run: &Run, separator: W) -> Result<usize> {
        let index = run.rank(separator);
        if index < run.len() && run.item::<W>(index).0 == separator {
            return Err(self.tx.damaged(page, "a separator twice"));
        }
        Ok(index)
    }

    fn insert_into_children(
        &mut self,
        step: &Step<W>,
        depth: usize,
        found: &Found<W>,
        children: Children<W>,
        item: Item<W>,
    ) -> Result<Layers> {
        let child = children.child_of(item.0);
        let page = children.pages[child];
        let run = self.view().child(page, depth)?;
        let (index, count) = (self.rank(page, &run, item.0)?, run.len());
        if count < self.shape.child_capacity() {
            run::insert(&mut self.tx.edit(page, inner(depth + 1))?, 0, count, index, item);
            self.raise(step, depth, item)?;
            return Ok(Layers::of(depth + 1, 1));
        }
        self.tx.enter(Phase::Structure);
        if children.count < MOST_CHILDREN {
            let mut items: Vec<Item<W>> = run.items().collect();
            items.insert(index, item);
            self.split_child(step, depth, found, children, child, &items)?;
            return Ok(Layers::of(depth + 1, 1));
        }
        let mut items = self.children_items(&children, depth)?;
        let before = Layers::of(depth + 1, items.len() as i64);
        let place = items.partition_point(|other| other.0 < item.0);
        items.insert(place, item);
        for page in children.pages {
            self.free(page, 1)?;
        }
        self.rebuild_slot(step, depth, &items, before)
    }

    /// All items of a two-layer node.
    pub(super) fn children_items(&self, children: &Children<W>, depth: usize) -> Result<Vec<Item<W>>> {
        let mut items = Vec::new();
        for &page in &children.pages[..children.count] {
            items.extend(self.view().child(page, depth)?.items::<W>());
        }
        if !items.is_sorted_by(|a, b| a.0 < b.0) {
            return Err(self.tx.damaged(children.pages[0], "children out of order"));
        }
        Ok(items)
    }

    /// Splits a child, of which `items` are the items, in two.
    fn split_child(
        &mut self,
        step: &Step<W>,
        depth: usize,
        found: &Found<W>,
        mut children: Children<W>,
        child: usize,
        items: &[Item<W>],
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
        self.write_slot(&step.node, depth, step.slot_number, &Slot { separator, content: Content::Children(children) })
    }

    /// Brings the statistics of a path up to date, and rebuilds what has become too deep.
    pub(super) fn settle(&mut self, path: &mut [Step<W>], change: Layers) -> Result<()> {
        if self.options.statistics {
            self.tx.enter(Phase::Statistics);
            self.update_counts(path, change)?;
            if self.options.adjust {
                self.adjust(path)?;
            }
        }
        if path.len() > MOST_MIXED { self.rebuild(path, 0, "too high a root rebuilt") } else { Ok(()) }
    }

    /// Adds a change of the layers to the statistics of the nodes above it.
    pub(super) fn update_counts(&mut self, path: &mut [Step<W>], change: Layers) -> Result<()> {
        for (depth, step) in path.iter_mut().enumerate() {
            let counts = &mut step.node.counts;
            let before = *counts;
            counts.size = counts.size.saturating_add_signed(change.total() as i32);
            counts.deep = counts.deep.saturating_add_signed(change.deep(depth) as i32);
            if *counts != before {
                self.write_counts(step.home, depth, step.node.counts)?;
            }
        }
        Ok(())
    }
}
