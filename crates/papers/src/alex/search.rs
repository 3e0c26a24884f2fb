//! The ALEX descent: from a key to its data node.

use super::child::{Child, Kind};
use super::inner::step;
use super::shape::Shape;
use ogive::Result;
use ogive::index::extend::Word;
use ogive::page::Pages;

/// Nodes on a path, at most; what is deeper leads in a circle. A tree of 2^32 pages has far fewer levels.
pub(super) const MAX_DEPTH: u8 = 48;

/// A node on the path to a key, and where the pointer to it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step<W> {
    pub(super) node: Child<W>,
    /// The slot or the entry of the node before that leads here; 0 for the root.
    pub(super) place: u32,
    /// 0 for the root.
    pub(super) depth: u8,
}

/// All nodes from the root to the data node of a key.
///
/// # Errors
/// Those of the pages; [`ogive::Error::Damaged`].
pub(super) fn path_to<W: Word>(pages: &dyn Pages, shape: &Shape, root: &Child<W>, key: W) -> Result<Vec<Step<W>>> {
    let mut path = vec![Step { node: *root, place: 0, depth: 0 }];
    while let Some(&Step { node, depth, .. }) = path.last()
        && node.kind != Kind::Data
    {
        check_depth(pages, &node, depth)?;
        let (place, child) = step(pages, shape, &node, depth, key)?;
        path.push(Step { node: child, place, depth: depth + 1 });
    }
    Ok(path)
}

/// The data node of a key.
///
/// # Errors
/// Those of the pages; [`ogive::Error::Damaged`].
pub(super) fn data_node<W: Word>(pages: &dyn Pages, shape: &Shape, root: &Child<W>, key: W) -> Result<Child<W>> {
    let (mut node, mut depth) = (*root, 0);
    while node.kind != Kind::Data {
        check_depth(pages, &node, depth)?;
        node = step(pages, shape, &node, depth, key)?.1;
        depth += 1;
    }
    Ok(node)
}

/// # Errors
/// [`ogive::Error::Damaged`] at a depth that no tree has.
pub(super) fn check_depth<W: Word>(pages: &dyn Pages, node: &Child<W>, depth: u8) -> Result<()> {
    if depth >= MAX_DEPTH {
        return Err(pages.damaged(node.first, "inner nodes lead in a circle"));
    }
    Ok(())
}
