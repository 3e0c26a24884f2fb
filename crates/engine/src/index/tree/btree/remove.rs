//! Removals of separators, and merges of sparse nodes.

use super::node::{Node, NodeEdit, Root};
use super::search::{Path, descend};
use crate::error::Result;
use crate::index::entries::word::Word;
use crate::page::{PageNumber, PagePhase, Pages, Transaction};

/// A node with less than 1/4 of its capacity tries to merge with a neighbour ...
const SPARSE_DIVISOR: usize = 4;
/// ... at each fourth removal, so that not every removal reads a neighbour that is too full ...
const MERGE_STRIDE: usize = 4;
/// ... and leaves at least 1/8 free, so that the next insert does not split the merged node.
const MERGED_MARGIN_DIVISOR: usize = 8;

/// Removes the first separator not below `key`, and returns its leaf.
pub(super) fn remove<W: Word>(tx: &mut Transaction, root: &mut Root, key: W) -> Result<Option<PageNumber>> {
    if root.height == 0 {
        return Ok(None);
    }
    let (node, index, path) = descend(tx, *root, key)?;
    if index == node.count {
        return Ok(None);
    }
    let leaf = node.child(index);
    drop(node);
    let mut removed = Some(index);
    for depth in (0..usize::from(root.height)).rev() {
        let Some(index) = removed else { break };
        removed = remove_from_node::<W>(tx, root, &path, depth, index)?;
    }
    collapse::<W>(tx, root)?;
    Ok(Some(leaf))
}

/// Replaces the leaf of the first separator not below `key`.
pub(super) fn replace<W: Word>(tx: &mut Transaction, root: Root, key: W, leaf: PageNumber) -> Result<bool> {
    if root.height == 0 {
        return Ok(false);
    }
    let (node, index, path) = descend(tx, root, key)?;
    if index == node.count {
        return Ok(false);
    }
    let depth = usize::from(root.height) - 1;
    NodeEdit::<W>::new(tx, path.step(depth).0, depth)?.set_child(index, leaf);
    Ok(true)
}

/// Removes an entry from the node at a depth of `path`; returns the index of the entry to remove from the parent, if
/// any.
fn remove_from_node<W: Word>(
    tx: &mut Transaction,
    root: &mut Root,
    path: &Path,
    depth: usize,
    index: usize,
) -> Result<Option<usize>> {
    let (page, _) = path.step(depth);
    let node = Node::<W>::read(tx, page, *root, depth)?;
    let above = depth.checked_sub(1).map(|depth| path.step(depth).1);
    if index >= node.count {
        return Err(tx.damaged(page, "an inner node has fewer children than were found in it"));
    }
    if node.count == 1 {
        tx.free(page, 1);
        if depth == 0 {
            *root = Root::EMPTY;
        }
        return Ok(above);
    }
    let count = node.count - 1;
    NodeEdit::<W>::new(tx, page, depth)?.move_entries(index + 1, index, node.count);
    if index == count {
        let greatest = node.separator(count - 1);
        if root.level(depth) > 0 && node.is_open() {
            open_right_edge::<W>(tx, *root, page, depth)?;
        } else {
            lower_separators_above(tx, *root, path, depth, greatest)?;
        }
    }
    let Some(above) = above else { return Ok(None) };
    if count < node.shape.capacity / SPARSE_DIVISOR && count.is_multiple_of(MERGE_STRIDE) {
        return merge::<W>(tx, *root, path, depth, above);
    }
    Ok(None)
}

/// Lowers the separators above a node whose last entry was removed, up to the first ancestor where it is not the last.
fn lower_separators_above<W: Word>(
    tx: &mut Transaction,
    root: Root,
    path: &Path,
    depth: usize,
    greatest: W,
) -> Result<()> {
    for depth in (0..depth).rev() {
        let (page, index) = path.step(depth);
        let node = Node::<W>::read(tx, page, root, depth)?;
        if index >= node.count {
            return Err(tx.damaged(page, "an inner node has fewer children than were found in it"));
        }
        if node.separator(index) == W::MAX {
            return Ok(());
        }
        NodeEdit::new(tx, page, depth)?.set_separator(index, greatest);
        if index + 1 < node.count {
            return Ok(());
        }
    }
    Ok(())
}

/// After a node at the right edge lost its last child, marks its new last child and all below it as the right edge.
fn open_right_edge<W: Word>(tx: &mut Transaction, root: Root, mut page: PageNumber, depth: usize) -> Result<()> {
    for depth in depth..usize::from(root.height) - 1 {
        let node = Node::<W>::read(tx, page, root, depth)?;
        NodeEdit::new(tx, page, depth)?.set_separator(node.count - 1, W::MAX);
        page = node.child(node.count - 1);
    }
    Ok(())
}

/// Merges a sparse node with a neighbour under the same parent, if both fit into one page; returns the index in the
/// parent of the freed page.
fn merge<W: Word>(tx: &mut Transaction, root: Root, path: &Path, depth: usize, above: usize) -> Result<Option<usize>> {
    let (parent_page, _) = path.step(depth - 1);
    let parent = Node::<W>::read(tx, parent_page, root, depth - 1)?;
    let left_index = if above + 1 < parent.count { above } else { above.saturating_sub(1) };
    if left_index + 1 >= parent.count {
        return Ok(None);
    }
    let (left_page, right_page) = (parent.child(left_index), parent.child(left_index + 1));
    let left = Node::<W>::read(tx, left_page, root, depth)?;
    let right = Node::<W>::read(tx, right_page, root, depth)?;
    let merged_max = left.shape.capacity - left.shape.capacity / MERGED_MARGIN_DIVISOR;
    if left.count + right.count > merged_max || left_page == right_page {
        return Ok(None);
    }
    tx.enter(PagePhase::Structure);
    tx.count("inner merge");
    let entries: Vec<_> = left.entries().collect();
    let mut edit = NodeEdit::<W>::new(tx, right_page, depth)?;
    edit.move_entries(0, entries.len(), right.count);
    edit.fill(0, &entries);
    drop(edit);
    tx.free(left_page, 1);
    Ok(Some(left_index))
}

/// Replaces a root of one child by that child.
fn collapse<W: Word>(tx: &mut Transaction, root: &mut Root) -> Result<()> {
    while root.height > 1 {
        let node = Node::<W>::read(tx, root.page, *root, 0)?;
        if node.count > 1 {
            break;
        }
        tx.free(root.page, 1);
        *root = Root { page: node.child(0), height: root.height - 1 };
    }
    Ok(())
}
