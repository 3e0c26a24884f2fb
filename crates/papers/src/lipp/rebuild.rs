//! LIPP nodes built anew, and the walks over a subtree that this takes.

use super::build::Builder;
use super::cells::free_cell;
use super::link::Link;
use super::mixed::Slot;
use super::node::Node;
use super::recent::RecentPages;
use super::search::{Step, check_depth};
use super::shape::{CLASSES, Shape};
use super::state::State;
use super::tree::Lipp;
use crate::batch::Batch;
use ogive::Result;
use ogive::index::extend::Word;
use ogive::page::{Pages, Transaction};
use std::collections::BTreeSet;

/// What a walk over a subtree meets.
pub(super) enum Met<'a, W> {
    /// A node, before what is in it; and its depth.
    Node(&'a Link<W>, &'a Node<W>, u8),
    /// An entry; and the nodes above it.
    Entry(W, &'a [u8], u8),
}

/// A walk over a subtree in order of keys. It ends however nodes are linked: it opens no more nodes than the file may
/// have.
pub(super) struct Walk<'a> {
    pages: &'a dyn Pages,
    shape: Shape,
    nodes_left: u64,
}

impl<'a> Walk<'a> {
    pub(super) fn new(pages: &'a dyn Pages, shape: &Shape) -> Self {
        let most = u64::from(pages.page_count()) * shape.cells_in_page(0) as u64;
        Self { pages, shape: *shape, nodes_left: most }
    }

    pub(super) fn run<W: Word>(
        &mut self,
        link: &Link<W>,
        depth: u8,
        visit: &mut dyn FnMut(Met<'_, W>) -> Result<()>,
    ) -> Result<()> {
        check_depth(self.pages, link, depth)?;
        let left = self.nodes_left.checked_sub(1);
        self.nodes_left = left.ok_or_else(|| self.pages.damaged(link.page(), "nodes share cells"))?;
        let node = Node::open(self.pages, &self.shape, link, depth)?;
        visit(Met::Node(link, &node, depth))?;
        match &node {
            Node::Packed(packed) => {
                (0..packed.count).try_for_each(|index| visit(Met::Entry(packed.key(index), packed.value(index), depth)))
            }
            Node::Fence(fence) => {
                (0..fence.count).try_for_each(|index| self.run(&fence.link(self.pages, index)?, depth + 1, visit))
            }
            Node::Mixed(mixed) => {
                let mut start = 0;
                while start < mixed.slots {
                    let page = mixed.read_page(self.pages, mixed.page_of(start))?;
                    let end = start.saturating_add(mixed.a_page).min(mixed.slots);
                    for slot in start..end {
                        match mixed.slot_in(self.pages, &page, slot)? {
                            Slot::Null => {}
                            Slot::Data(key, value) => visit(Met::Entry(key, &value, depth))?,
                            Slot::Node(next) => self.run(&next, depth + 1, visit)?,
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
    /// Entries and nodes of a subtree.
    fn gather<W: Word>(
        &self,
        pages: &dyn Pages,
        shape: &Shape,
        link: &Link<W>,
        depth: u8,
    ) -> Result<(Batch<W>, Vec<Link<W>>)> {
        let (mut batch, mut nodes) = (Batch::new(self.value_bytes), Vec::new());
        Walk::new(&RecentPages::new(pages), shape).run(link, depth, &mut |met| {
            match met {
                Met::Node(link, ..) => nodes.push(*link),
                Met::Entry(key, ..) if batch.keys.last().is_some_and(|&last| key <= last) => {
                    return Err(pages.damaged(link.page(), "keys below a node do not ascend"));
                }
                Met::Entry(key, value, _) => batch.push(key, value),
            }
            Ok(())
        })?;
        Ok((batch, nodes))
    }

    /// Frees all nodes, and forgets the lists of free cells.
    pub(super) fn free_all<W: Word>(tx: &mut Transaction, shape: &Shape, state: &mut State<W>, nodes: &[Link<W>]) {
        let mut cell_pages = BTreeSet::new();
        for node in nodes {
            match *node {
                Link::Cell { page, .. } => {
                    cell_pages.insert(page);
                }
                Link::Wide { first, size, .. } => tx.free(first, shape.wide_pages_in_all(size).unwrap_or(1)),
            }
        }
        cell_pages.into_iter().for_each(|page| tx.free(page, 1));
        state.free_cells = [0; CLASSES];
    }

    /// Frees the nodes of a subtree.
    pub(super) fn free_nodes<W: Word>(
        tx: &mut Transaction,
        shape: &Shape,
        state: &mut State<W>,
        nodes: &[Link<W>],
    ) -> Result<()> {
        for node in nodes {
            match *node {
                Link::Cell { page, cell } => free_cell(tx, shape, &mut state.free_cells, page, cell)?,
                Link::Wide { first, size, .. } => tx.free(first, shape.wide_pages_in_all(size).unwrap_or(1)),
            }
        }
        Ok(())
    }

    /// All nodes below the root.
    pub(super) fn all_nodes<W: Word>(pages: &dyn Pages, shape: &Shape, root: &Link<W>) -> Result<Vec<Link<W>>> {
        let mut nodes = Vec::new();
        Walk::new(&RecentPages::new(pages), shape).run(root, 0, &mut |met| {
            if let Met::Node(link, ..) = met {
                nodes.push(*link);
            }
            Ok(())
        })?;
        Ok(nodes)
    }

    /// Builds the subtree of step `level` of a path anew; a single entry goes into the slot of the node above, if that
    /// has slots, and of no entry nothing is left.
    pub(super) fn rebuild<W: Word>(
        &self,
        tx: &mut Transaction,
        shape: &Shape,
        state: &mut State<W>,
        path: &[Step<W>],
        level: usize,
    ) -> Result<()> {
        // The root may have changed since the path was read; what is below it only where the change was.
        let link = if level == 0 { state.root } else { path.get(level).map(|step| step.link) };
        let Some(link) = link else { return Ok(()) };
        let (batch, nodes) = self.gather(tx, shape, &link, level as u8)?;
        if level == 0 {
            Self::free_all(tx, shape, state, &nodes);
        } else {
            Self::free_nodes(tx, shape, state, &nodes)?;
        }
        let above = level.checked_sub(1).and_then(|above| path.get(above));
        match (batch.keys.first(), above) {
            (None, None) => *state = State::EMPTY,
            (None, Some(_)) => return self.drop_child(tx, shape, state, path, level),
            (Some(&key), Some(Step { node: Node::Mixed(mixed), place, .. })) if batch.keys.len() == 1 => {
                return mixed.set(tx, *place, &Slot::Data(key, batch.value(0).to_vec()));
            }
            (Some(_), _) => {
                let link = Builder::new(shape, &self.options, &batch, &mut state.free_cells).build(tx, level as u8)?;
                if level == 0 {
                    state.built = batch.keys.len() as u64;
                    state.conflicts = 0;
                }
                set_link(tx, state, path, level, &link)?;
            }
        }
        Ok(())
    }
}

/// Leads the pointer to step `level` of a path to another node.
pub(super) fn set_link<W: Word>(
    tx: &mut Transaction,
    state: &mut State<W>,
    path: &[Step<W>],
    level: usize,
    link: &Link<W>,
) -> Result<()> {
    let Some(above) = level.checked_sub(1).and_then(|above| path.get(above)) else {
        state.root = Some(*link);
        return Ok(());
    };
    match &above.node {
        Node::Mixed(mixed) => mixed.set(tx, above.place, &Slot::Node(*link)),
        Node::Fence(fence) => fence.set_link(tx, above.place as usize, link),
        Node::Packed(_) => Ok(()),
    }
}
