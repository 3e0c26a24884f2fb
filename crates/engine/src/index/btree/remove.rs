//! A separator less, and the merges that it causes.

use super::node::{Node, NodeEdit, Root};
use super::search::{Path, descend};
use crate::error::Result;
use crate::index::word::Word;
use crate::page::{PageNumber, Pages, Phase, Transaction};

/// Below this part of its capacity a node looks for a neighbour to merge with ...
const SPARSE_PART: usize = 4;
/// ... at each fourth removal, so that a neighbour too full is not read each time ...
const MERGE_STRIDE: usize = 4;
/// ... and leaves an eighth of the page free, so that the next insert does not split what was merged.
const MERGED_MARGIN_PART: usize = 8;

/// Removes the first separator that is not below `key`; its leaf.
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
    let mut doomed = Some(index);
    for depth in (0..usize::from(root.height)).rev() {
        let Some(index) = doomed else { break };
        doomed = remove_from_node::<W>(tx, root, &path, depth, index)?;
    }
    collapse::<W>(tx, root)?;
    Ok(Some(leaf))
}

/// Gives the first separator that is not below `key` another leaf.
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

/// Removes one entry of the node of a path; the place of the entry to be removed above, if any.
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
    if count < node.shape.capacity / SPARSE_PART && count.is_multiple_of(MERGE_STRIDE) {
        return merge::<W>(tx, *root, path, depth, above);
    }
    Ok(None)
}

/// The last entry of a node is gone: says so in the nodes above, up to the first in which it is not the last, too.
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

/// A node at the right edge has lost its last child: its new last one, and all below that on the edge, are open now.
fn open_right_edge<W: Word>(tx: &mut Transaction, root: Root, mut page: PageNumber, depth: usize) -> Result<()> {
    for depth in depth..usize::from(root.height) - 1 {
        let node = Node::<W>::read(tx, page, root, depth)?;
        NodeEdit::new(tx, page, depth)?.set_separator(node.count - 1, W::MAX);
        page = node.child(node.count - 1);
    }
    Ok(())
}

/// Merges a sparse node with a neighbour under the same parent, if the two fit a page; the place in the parent of the
/// page freed.
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
    let most = left.shape.capacity - left.shape.capacity / MERGED_MARGIN_PART;
    if left.count + right.count > most || left_page == right_page {
        return Ok(None);
    }
    tx.enter(Phase::Structure);
    tx.count("inner merge");
    let entries: Vec<_> = left.entries().collect();
    let mut edit = NodeEdit::<W>::new(tx, right_page, depth)?;
    edit.move_entries(0, entries.len(), right.count);
    edit.fill(0, &entries);
    drop(edit);
    tx.free(left_page, 1);
    Ok(Some(left_index))
}

/// A root of one child gives way to it.
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
