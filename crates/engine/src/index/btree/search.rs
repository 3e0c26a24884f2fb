//! From the root to a leaf.

use super::node::{MOST_HEIGHT, Node, Root};
use crate::error::Result;
use crate::index::structure::Visit;
use crate::index::word::Word;
use crate::io::Purpose;
use crate::page::{PageNumber, Pages};

/// The node of each depth, and the place chosen in it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Path {
    steps: [(PageNumber, u16); MOST_HEIGHT],
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

/// The node at level 0, the place in it of the first separator that is not below `key`, and how it was reached.
/// The place is one behind the last where all separators of the tree are below `key`. The tree is not empty.
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

/// The leaf of the first separator that is not below `key`.
pub(super) fn find<W: Word>(pages: &dyn Pages, root: Root, key: W) -> Result<Option<PageNumber>> {
    if root.height == 0 {
        return Ok(None);
    }
    let (node, index, _) = descend(pages, root, key)?;
    Ok((index < node.count).then(|| node.child(index)))
}

/// The leaves of ascending keys, level by level, each level with as many reads at a time as the storage likes.
pub(super) fn find_many<W: Word>(pages: &dyn Pages, root: Root, keys: &[W]) -> Result<Vec<Option<PageNumber>>> {
    let mut places: Vec<Option<PageNumber>> = vec![(root.height > 0).then_some(root.page); keys.len()];
    for depth in 0..usize::from(root.height) {
        let mut wanted: Vec<PageNumber> = places.iter().copied().flatten().collect();
        wanted.dedup();
        // Brings them in together; each is then taken from what was read.
        let read = pages.read_many(&wanted, Purpose::Inner(depth as u8))?;
        let mut nodes = wanted.iter().zip(read);
        let mut current: Option<(PageNumber, Node<W>)> = None;
        for (place, &key) in places.iter_mut().zip(keys) {
            let Some(number) = *place else { continue };
            if current.as_ref().is_none_or(|(held, _)| *held != number) {
                let next = nodes.find(|(wanted, _)| **wanted == number);
                let page = next.ok_or_else(|| pages.damaged(number, "keys lead back and forth"))?.1;
                current = Some((number, Node::parse(pages, number, page, root, depth)?));
            }
            if let Some((_, node)) = &current {
                let index = node.lower_bound(key);
                *place = (index < node.count).then(|| node.child(index));
            }
        }
    }
    Ok(places)
}

/// The nodes on the way, for people.
pub(super) fn explain<W: Word>(pages: &dyn Pages, root: Root, key: W) -> Result<Vec<Visit>> {
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
        visits.push(Visit { node: "inner node", page, depth: depth as u8, entries: node.count as u64, detail });
    }
    Ok(visits)
}
