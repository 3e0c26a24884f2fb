//! Rebuilds of LIPP nodes, and walks over subtrees.

use super::build::LippBuilder;
use super::cells::free_cell;
use super::change::LippChange;
use super::link::Link;
use super::mixed::LippSlot;
use super::node::LippNode;
use super::recent::RecentPages;
use super::search::{LippStep, check_depth};
use super::shape::{CLASSES, LippLayout};
use super::state::LippState;
use super::tree::Lipp;
use crate::kinds::batch::Batch;
use ogive::Result;
use ogive::index::extend::Word;
use ogive::page::{Pages, Transaction};
use std::collections::BTreeSet;

/// A node or an entry visited by a walk over a subtree.
pub(super) enum Visited<'a, W> {
    /// A node, before its content, and its depth.
    Node(&'a Link<W>, &'a LippNode<W>, u8),
    /// An entry, and the depth of its node.
    Entry(W, &'a [u8], u8),
}

/// A walk over a subtree in key order. It ends even in damaged trees, because it opens at most as many nodes as the
/// file can have.
pub(super) struct LippWalk<'a> {
    pages: &'a dyn Pages,
    shape: LippLayout,
    nodes_left: u64,
}

impl<'a> LippWalk<'a> {
    pub(super) fn new(pages: &'a dyn Pages, shape: &LippLayout) -> Self {
        let nodes_left = u64::from(pages.page_count()) * shape.cells_in_page(0) as u64;
        Self { pages, shape: *shape, nodes_left }
    }

    pub(super) fn run<W: Word>(
        &mut self,
        link: &Link<W>,
        depth: u8,
        visit: &mut dyn FnMut(Visited<'_, W>) -> Result<()>,
    ) -> Result<()> {
        check_depth(self.pages, link, depth)?;
        let left = self.nodes_left.checked_sub(1);
        self.nodes_left = left.ok_or_else(|| self.pages.damaged(link.page(), "nodes share cells"))?;
        let node = LippNode::open(self.pages, &self.shape, link, depth)?;
        visit(Visited::Node(link, &node, depth))?;
        match &node {
            LippNode::Packed(packed) => (0..packed.count)
                .try_for_each(|index| visit(Visited::Entry(packed.key(index), packed.value(index), depth))),
            LippNode::Fence(fence) => {
                (0..fence.count).try_for_each(|index| self.run(&fence.link(self.pages, index)?, depth + 1, visit))
            }
            LippNode::Mixed(mixed) => {
                let mut start = 0;
                while start < mixed.slots {
                    let page = mixed.read_page(self.pages, mixed.page_of(start))?;
                    let end = start.saturating_add(mixed.slots_per_page).min(mixed.slots);
                    for slot in start..end {
                        match mixed.slot_in(self.pages, &page, slot)? {
                            LippSlot::Null => {}
                            LippSlot::Data(key, value) => visit(Visited::Entry(key, &value, depth))?,
                            LippSlot::Node(next) => self.run(&next, depth + 1, visit)?,
                        }
                    }
                    start = end;
                }
                Ok(())
            }
        }
    }
}

impl Lipp {
    /// Collects the entries and nodes of a subtree.
    fn collect<W: Word>(
        &self,
        pages: &dyn Pages,
        shape: &LippLayout,
        link: &Link<W>,
        depth: u8,
    ) -> Result<(Batch<W>, Vec<Link<W>>)> {
        let (mut batch, mut nodes) = (Batch::new(self.value_bytes), Vec::new());
        LippWalk::new(&RecentPages::new(pages), shape).run(link, depth, &mut |visited| {
            match visited {
                Visited::Node(link, ..) => nodes.push(*link),
                Visited::Entry(key, ..) if batch.keys.last().is_some_and(|&last| key <= last) => {
                    return Err(pages.damaged(link.page(), "keys below a node do not ascend"));
                }
                Visited::Entry(key, value, _) => batch.push(key, value),
            }
            Ok(())
        })?;
        Ok((batch, nodes))
    }

    /// Frees all nodes, and clears the lists of free cells.
    pub(super) fn free_all<W: Word>(
        tx: &mut Transaction,
        shape: &LippLayout,
        state: &mut LippState<W>,
        nodes: &[Link<W>],
    ) {
        let mut cell_pages = BTreeSet::new();
        for node in nodes {
            match *node {
                Link::Cell { page, .. } => {
                    cell_pages.insert(page);
                }
                Link::Wide { first, size, .. } => tx.free(first, shape.wide_extent_pages(size).unwrap_or(1)),
            }
        }
        cell_pages.into_iter().for_each(|page| tx.free(page, 1));
        state.free_cells = [0; CLASSES];
    }

    /// All nodes below the root.
    pub(super) fn all_nodes<W: Word>(pages: &dyn Pages, shape: &LippLayout, root: &Link<W>) -> Result<Vec<Link<W>>> {
        let mut nodes = Vec::new();
        LippWalk::new(&RecentPages::new(pages), shape).run(root, 0, &mut |visited| {
            if let Visited::Node(link, ..) = visited {
                nodes.push(*link);
            }
            Ok(())
        })?;
        Ok(nodes)
    }
}

impl<W: Word> LippChange<'_, W> {
    /// Frees the nodes of a subtree.
    pub(super) fn free_nodes(&mut self, nodes: &[Link<W>]) -> Result<()> {
        for node in nodes {
            match *node {
                Link::Cell { page, cell } => free_cell(self.tx, self.shape, &mut self.state.free_cells, page, cell)?,
                Link::Wide { first, size, .. } => self.tx.free(first, self.shape.wide_extent_pages(size).unwrap_or(1)),
            }
        }
        Ok(())
    }

    /// Rebuilds the subtree of step `level` of the path. A single entry moves to the slot of the parent, if that has
    /// slots; an empty subtree is removed.
    pub(super) fn rebuild(&mut self, level: usize) -> Result<()> {
        // The root may have changed since the path was read; below it, only the changed node.
        let link = if level == 0 { self.state.root } else { self.path.get(level).map(|step| step.link) };
        let Some(link) = link else { return Ok(()) };
        let (batch, nodes) = self.tree.collect(self.tx, self.shape, &link, level as u8)?;
        if level == 0 {
            Lipp::free_all(self.tx, self.shape, self.state, &nodes);
        } else {
            self.free_nodes(&nodes)?;
        }
        match (batch.keys.first(), self.above(level)) {
            (None, None) => *self.state = LippState::EMPTY,
            (None, Some(_)) => return self.drop_child(level),
            (Some(&key), Some(LippStep { node: LippNode::Mixed(mixed), index, .. })) if batch.keys.len() == 1 => {
                return mixed.set(self.tx, *index, &LippSlot::Data(key, batch.value(0).to_vec()));
            }
            (Some(_), _) => {
                let link = LippBuilder::new(self.shape, &self.tree.options, &batch, &mut self.state.free_cells)
                    .build(self.tx, level as u8)?;
                if level == 0 {
                    self.state.built = batch.keys.len() as u64;
                    self.state.conflicts = 0;
                }
                self.set_link(level, &link)?;
            }
        }
        Ok(())
    }
}
