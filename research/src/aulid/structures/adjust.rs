//! AULID's Adjust: rebuilds of mixed nodes (Algorithm 2) from the items of their subtrees.

use super::edit::Editor;
use super::layers::Layers;
use super::node::{ArrayLocation, AulidSlot, MixedNode, NULL, NodeContent, NodeItem, RawSlot, Side, raw_at};
use super::reader::{DEPTH_MAX, FoundSlot};
use super::search::MixedStep;
use ogive::Result;
use ogive::index::extend::Word;
use ogive::page::{PageNumber, PagePhase, Pages};

/// The items and pages of a subtree.
#[derive(Debug, Default)]
pub(super) struct SubtreeParts<W> {
    pub(super) items: Vec<NodeItem<W>>,
    layers: Layers,
    /// Extents of its pages.
    pages: Vec<(PageNumber, u32)>,
    /// Arrays, each with the depth of its mixed node.
    arrays: Vec<(ArrayLocation, usize)>,
}

impl<W: Word> Editor<'_, W> {
    /// Rebuilds the topmost node of a path that meets both criteria of Adjust.
    pub(super) fn adjust(&mut self, path: &mut [MixedStep<W>]) -> Result<()> {
        let too_deep = |step: &MixedStep<W>| {
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

    /// Rebuilds the node at a depth of a path from all separators of its subtree. `reason` is the name under which the
    /// modification is counted.
    pub(super) fn rebuild(&mut self, path: &mut [MixedStep<W>], depth: usize, reason: &'static str) -> Result<()> {
        self.tx.enter(PagePhase::Structure);
        self.tx.count(reason);
        let parts = self.collect_and_free(&path[depth].node, depth)?;
        let slots_per_leaf = self.options.slots_per_leaf_rebuilt;
        let Some((above, parent)) = depth.checked_sub(1).map(|above| (above, path[above])) else {
            let root = match parts.items.is_empty() {
                true => None,
                false => Some(self.build_mixed(&parts.items, 0, slots_per_leaf)?.0),
            };
            self.meta.root = root;
            return Ok(());
        };
        let (slot, mut change) = self.build_slot(&parts.items, above, slots_per_leaf)?;
        self.write_slot(&parent.node, above, parent.slot_number, &slot)?;
        change -= parts.layers;
        if self.options.statistics {
            self.tx.enter(PagePhase::Statistics);
            self.update_counts(&mut path[..depth], change)?;
        }
        Ok(())
    }

    /// Collects the items under a mixed node, and frees its pages.
    fn collect_and_free(&mut self, node: &MixedNode<W>, depth: usize) -> Result<SubtreeParts<W>> {
        let mut parts = SubtreeParts::default();
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

    fn collect(&self, node: &MixedNode<W>, depth: usize, parts: &mut SubtreeParts<W>) -> Result<()> {
        let reader = self.reader();
        parts.pages.push((node.first_page, node.pages(self.shape)));
        if depth >= DEPTH_MAX || parts.items.len() as u64 > reader.items_max() {
            return Err(self.tx.damaged(node.first_page, "mixed nodes form a cycle"));
        }
        for index in 0..node.slot_pages(self.shape) {
            let page = reader.node_page(node, depth, index)?;
            for number in node.slots_of_page(self.shape, index) {
                let raw: RawSlot<W> = raw_at(&page, node.locate(self.shape, number).1);
                if raw.kind == NULL {
                    continue;
                }
                if let Side::OwnPage(other) = raw.side() {
                    parts.pages.push((other, 1));
                }
                let found = reader.decode_slot(node, depth, (node.first_page + index, &page), number, &raw)?;
                self.collect_slot(&found, depth, parts)?;
            }
        }
        Ok(())
    }

    fn collect_slot(&self, found: &FoundSlot<W>, depth: usize, parts: &mut SubtreeParts<W>) -> Result<()> {
        let before = parts.items.len();
        let layer = match found.slot.content {
            NodeContent::Null | NodeContent::Fill(_) => return Ok(()),
            NodeContent::Mixed(node) => return self.collect(&node, depth + 1, parts),
            NodeContent::Data(leaf) => {
                parts.items.push((found.slot.separator, leaf));
                depth
            }
            NodeContent::Array(array) => {
                parts.items.extend(self.reader().array(array, depth)?.items::<W>());
                parts.arrays.push((array, depth));
                depth + 1
            }
            NodeContent::Children(children) => {
                parts.items.extend(self.children_items(&children, depth)?);
                parts.pages.extend(children.pages[..children.count].iter().map(|&page| (page, 1)));
                depth + 1
            }
        };
        parts.layers += Layers::of(layer, (parts.items.len() - before) as i64);
        Ok(())
    }

    /// Removes an empty mixed node, and empties its slot.
    pub(super) fn drop_empty(&mut self, parent: &MixedStep<W>, above: usize, node: &MixedNode<W>) -> Result<()> {
        self.free(node.first_page, node.pages(self.shape))?;
        self.write_slot(&parent.node, above, parent.slot_number, &AulidSlot::empty())
    }
}
