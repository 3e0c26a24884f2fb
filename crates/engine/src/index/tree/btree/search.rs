//! Searches from the root to a leaf.

use super::node::{HEIGHT_MAX, Node, Root};
use crate::error::Result;
use crate::index::entries::word::Word;
use crate::index::tree::structure::IndexVisit;
use crate::io::Purpose;
use crate::page::{PageNumber, Pages};

/// A path: the node of each depth, and the index taken in it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Path {
    steps: [(PageNumber, u16); HEIGHT_MAX],
    length: usize,
}

impl Path {
    fn push(&mut self, page: PageNumber, index: usize) {
        if let Some(step) = self.steps.get_mut(self.length) {
            *step = (page, index as u16);
            self.length += 1;
        }
    }

    pub(super) fn step(&self, depth: usize) -> (PageNumber, usize) {
        self.steps.get(depth).map_or((0, 0), |&(page, index)| (page, usize::from(index)))
    }
}

/// Descends to level 0: returns the node, the index of the first separator not below `key`, and the path. The index is
/// that after the last if all separators of the tree are below `key`. The tree must not be empty.
pub(super) fn descend<W: Word>(pages: &dyn Pages, root: Root, key: W) -> Result<(Node<W>, usize, Path)> {
    let mut path = Path::default();
    let (mut page, mut above) = (root.page, W::MAX);
    for depth in 0.. {
        let node = Node::read(pages, page, root, depth)?;
        let index = node.lower_bound(key);
        path.push(page, index);
        if index == node.count && (above != W::MAX || root.level(depth) > 0) {
            return Err(pages.damaged(page, "the separators of an inner node end before those of its parent say"));
        }
        if root.level(depth) == 0 {
            return Ok((node, index, path));
        }
        (page, above) = (node.child(index), node.separator(index));
    }
    Err(pages.damaged(page, "a path without end"))
}

/// The leaf of the first separator not below `key`.
pub(super) fn find<W: Word>(pages: &dyn Pages, root: Root, key: W) -> Result<Option<PageNumber>> {
    if root.height == 0 {
        return Ok(None);
    }
    let (node, index, _) = descend(pages, root, key)?;
    Ok((index < node.count).then(|| node.child(index)))
}

/// The leaves of ascending keys: level by level, with concurrent reads of each level.
pub(super) fn find_many<W: Word>(pages: &dyn Pages, root: Root, keys: &[W]) -> Result<Vec<Option<PageNumber>>> {
    let mut positions: Vec<Option<PageNumber>> = vec![(root.height > 0).then_some(root.page); keys.len()];
    for depth in 0..usize::from(root.height) {
        let mut wanted: Vec<PageNumber> = positions.iter().copied().flatten().collect();
        wanted.dedup();
        // One batch reads all nodes of the level.
        let read = pages.read_many(&wanted, Purpose::Inner(depth as u8))?;
        let mut nodes = wanted.iter().zip(read);
        let mut current: Option<(PageNumber, Node<W>)> = None;
        for (position, &key) in positions.iter_mut().zip(keys) {
            let Some(number) = *position else { continue };
            if current.as_ref().is_none_or(|(read, _)| *read != number) {
                let next = nodes.find(|(wanted, _)| **wanted == number);
                let page = next.ok_or_else(|| pages.damaged(number, "children of ascending keys are out of order"))?.1;
                current = Some((number, Node::parse(pages, number, page, root, depth)?));
            }
            if let Some((_, node)) = &current {
                let index = node.lower_bound(key);
                *position = (index < node.count).then(|| node.child(index));
            }
        }
    }
    Ok(positions)
}

/// The nodes on the path, with explanations.
pub(super) fn explain<W: Word>(pages: &dyn Pages, root: Root, key: W) -> Result<Vec<IndexVisit>> {
    let mut visits = Vec::new();
    if root.height == 0 {
        return Ok(visits);
    }
    let (_, _, path) = descend(pages, root, key)?;
    for depth in 0..usize::from(root.height) {
        let (page, index) = path.step(depth);
        let node = Node::<W>::read(pages, page, root, depth)?;
        let detail = if index < node.count {
            format!("child {index} of {}: separator {}, page {}", node.count, node.separator(index), node.child(index))
        } else {
            format!("behind all {} separators: the last leaf", node.count)
        };
        visits.push(IndexVisit { node: "inner node", page, depth: depth as u8, entries: node.count as u64, detail });
    }
    Ok(visits)
}
