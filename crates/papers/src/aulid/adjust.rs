//! AULID's Adjust: rebuilding mixed nodes (Algorithm 2), and taking subtrees apart.

use super::edit::Editor;
use super::layers::Layers;
use super::node::{ArrayPlace, Content, Item, NULL, Node, RawSlot, Side, Slot, raw_at};
use super::search::Step;
use super::view::{DEEPEST, Found};
use ogive::Result;
use ogive::index::extend::Word;
use ogive::page::{PageNumber, Pages, Phase};

/// What a subtree is made of.
#[derive(Debug, Default)]
pub(super) struct Parts<W> {
    pub(super) items: Vec<Item<W>>,
    layers: Layers,
    /// Runs of pages that are its own.
    pages: Vec<(PageNumber, u32)>,
    /// Arrays, and the depth of the mixed node above each.
    arrays: Vec<(ArrayPlace, usize)>,
}

impl<W: Word> Editor<'_, W> {
    /// Rebuilds the topmost node of a path that meets both criteria.
    pub(super) fn adjust(&mut self, path: &mut [Step<W>]) -> Result<()> {
        let too_deep = |step: &Step<W>| {
            let counts = step.node.counts;
            let size = f64::from(counts.size);
            size >= self.options.beta * f64::from(counts.initial_size)
                && f64::from(counts.deep) >= self.options.alpha * size
                && counts.deep > 0
        };
        match path.iter().position(too_deep) {
            Some(depth) => self.rebuild(path, depth, "adjust"),
            None => Ok(()),
        }
    }

    /// Rebuilds the node at a depth of a path: all separators in its subtree are collected, and it is made anew of
    /// them. `reason` is what the modification is counted as.
    pub(super) fn rebuild(&mut self, path: &mut [Step<W>], depth: usize, reason: &'static str) -> Result<()> {
        self.tx.enter(Phase::Structure);
        self.tx.count(reason);
        let parts = self.take_apart(&path[depth].node, depth)?;
        let slots_per_leaf = self.options.slots_per_leaf_rebuilt;
        let Some((above, parent)) = depth.checked_sub(1).map(|above| (above, path[above])) else {
            let root = match parts.items.is_empty() {
                true => None,
                false => Some(self.build_mixed(&parts.items, 0, slots_per_leaf)?.0),
            };
            self.meta.root = root;
            return Ok(());
        };
        let (slot, mut change) = self.make(&parts.items, above, slots_per_leaf)?;
        self.write_slot(&parent.node, above, parent.slot_number, &slot)?;
        change -= parts.layers;
        if self.options.statistics {
            self.tx.enter(Phase::Statistics);
            self.update_counts(&mut path[..depth], change)?;
        }
        Ok(())
    }

    /// Collects what lies under a mixed node, and gives its pages back.
    fn take_apart(&mut self, node: &Node<W>, depth: usize) -> Result<Parts<W>> {
        let mut parts = Parts::default();
        self.collect(node, depth, &mut parts)?;
        if !parts.items.is_sorted_by(|a, b| a.0 < b.0) {
            return Err(self.tx.damaged(node.first_page, "separators out of order"));
        }
        self.free_arrays(&parts.arrays)?;
        for &(first, pages) in &parts.pages {
            self.free(first, pages)?;
        }
        Ok(parts)
    }

    fn collect(&self, node: &Node<W>, depth: usize, parts: &mut Parts<W>) -> Result<()> {
        let view = self.view();
        parts.pages.push((node.first_page, node.pages(self.shape)));
        if depth >= DEEPEST || parts.items.len() as u64 > view.most_items() {
            return Err(self.tx.damaged(node.first_page, "mixed nodes without end"));
        }
        for index in 0..node.slot_pages(self.shape) {
            let page = view.node_page(node, depth, index)?;
            for number in node.slots_of_page(self.shape, index) {
                let raw: RawSlot<W> = raw_at(&page, node.locate(self.shape, number).1);
                if raw.kind == NULL {
                    continue;
                }
                if let Side::Elsewhere(other) = raw.side() {
                    parts.pages.push((other, 1));
                }
                let found = view.understand(node, depth, (node.first_page + index, &page), number, &raw)?;
                self.collect_slot(&found, depth, parts)?;
            }
        }
        Ok(())
    }

    fn collect_slot(&self, found: &Found<W>, depth: usize, parts: &mut Parts<W>) -> Result<()> {
        let before = parts.items.len();
        let layer = match found.slot.content {
            Content::Null | Content::Fill(_) => return Ok(()),
            Content::Mixed(node) => return self.collect(&node, depth + 1, parts),
            Content::Data(leaf) => {
                parts.items.push((found.slot.separator, leaf));
                depth
            }
            Content::Array(array) => {
                parts.items.extend(self.view().array(array, depth)?.items::<W>());
                parts.arrays.push((array, depth));
                depth + 1
            }
            Content::Children(children) => {
                parts.items.extend(self.children_items(&children, depth)?);
                parts.pages.extend(children.pages[..children.count].iter().map(|&page| (page, 1)));
                depth + 1
            }
        };
        parts.layers += Layers::of(layer, (parts.items.len() - before) as i64);
        Ok(())
    }

    /// Empties the slot of a mixed node that has nothing left in it.
    pub(super) fn drop_empty(&mut self, parent: &Step<W>, above: usize, node: &Node<W>) -> Result<()> {
        self.free(node.first_page, node.pages(self.shape))?;
        self.write_slot(&parent.node, above, parent.slot_number, &Slot::empty())
    }
}
