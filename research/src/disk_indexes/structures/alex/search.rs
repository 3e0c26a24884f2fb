//! Searches from the root to the data node of a key.

use super::child::{AlexNodeKind, ChildPointer};
use super::inner::step;
use super::shape::AlexLayout;
use ogive::Result;
use ogive::index::extend::Word;
use ogive::page::Pages;

/// Most nodes on a path: a deeper one is a cycle, since a tree of 2^32 pages has far fewer levels.
pub(super) const DEPTH_MAX: u8 = 48;

/// A node on the path to a key, and the position of its pointer.
#[derive(Clone, Copy, Debug)]
pub(super) struct AlexStep<W> {
    pub(super) node: ChildPointer<W>,
    /// The slot or entry of the parent that points to the node; 0 for the root.
    pub(super) index: u32,
    /// 0 for the root.
    pub(super) depth: u8,
}

/// All nodes from the root to the data node of a key.
///
/// # Errors
/// Those of the pages; [`ogive::Cause::Damaged`].
pub(super) fn path_to<W: Word>(
    pages: &dyn Pages,
    shape: &AlexLayout,
    root: &ChildPointer<W>,
    key: W,
) -> Result<Vec<AlexStep<W>>> {
    let mut path = vec![AlexStep { node: *root, index: 0, depth: 0 }];
    while let Some(&AlexStep { node, depth, .. }) = path.last()
        && node.kind != AlexNodeKind::Data
    {
        check_depth(pages, &node, depth)?;
        let (index, child) = step(pages, shape, &node, depth, key)?;
        path.push(AlexStep { node: child, index, depth: depth + 1 });
    }
    Ok(path)
}

/// The data node of a key.
///
/// # Errors
/// Those of the pages; [`ogive::Cause::Damaged`].
pub(super) fn data_node<W: Word>(
    pages: &dyn Pages,
    shape: &AlexLayout,
    root: &ChildPointer<W>,
    key: W,
) -> Result<ChildPointer<W>> {
    let (mut node, mut depth) = (*root, 0);
    while node.kind != AlexNodeKind::Data {
        check_depth(pages, &node, depth)?;
        node = step(pages, shape, &node, depth, key)?.1;
        depth += 1;
    }
    Ok(node)
}

/// # Errors
/// [`ogive::Cause::Damaged`] if the depth exceeds that of any tree.
pub(super) fn check_depth<W: Word>(pages: &dyn Pages, node: &ChildPointer<W>, depth: u8) -> Result<()> {
    if depth >= DEPTH_MAX {
        return Err(pages.damaged(node.first, "inner nodes form a cycle"));
    }
    Ok(())
}
