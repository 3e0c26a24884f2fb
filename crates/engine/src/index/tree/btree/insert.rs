//! Inserts of separators, and splits of full nodes.

use super::node::{Node, NodeEdit, Root, write_node};
use super::search::{Path, descend};
use crate::error::Result;
use crate::index::entries::word::Word;
use crate::page::{PageNumber, PagePhase, Transaction};

/// A separator to insert into a node, with the child on its left.
#[derive(Clone, Copy, Debug)]
struct NewSeparator<W> {
    separator: W,
    left: PageNumber,
    /// The new child on its right, if it replaces the old one.
    right: Option<PageNumber>,
}

/// Inserts a leaf under a new separator.
pub(super) fn insert<W: Word>(tx: &mut Transaction, root: &mut Root, separator: W, leaf: PageNumber) -> Result<()> {
    if root.height == 0 {
        *root = Root { page: write_node(tx, 0, 0, &[(separator, leaf)])?, height: 1 };
        return Ok(());
    }
    let (_, _, path) = descend(tx, *root, separator)?;
    let mut entry = NewSeparator { separator, left: leaf, right: None };
    for depth in (0..usize::from(root.height)).rev() {
        match insert_in_node(tx, *root, &path, depth, entry)? {
            Some(above) => entry = above,
            None => return Ok(()),
        }
    }
    let right = entry.right.unwrap_or(root.page);
    let page = write_node(tx, root.height, 0, &[(entry.separator, entry.left), (W::MAX, right)])?;
    *root = Root { page, height: root.height + 1 };
    Ok(())
}

/// Inserts an entry into the node at a depth of `path`; returns the entry for the parent if the node was split.
fn insert_in_node<W: Word>(
    tx: &mut Transaction,
    root: Root,
    path: &Path,
    depth: usize,
    entry: NewSeparator<W>,
) -> Result<Option<NewSeparator<W>>> {
    let (page, index) = path.step(depth);
    let node = Node::read(tx, page, root, depth)?;
    if node.count == node.shape.capacity {
        return split(tx, root, &node, (page, index), depth, entry).map(Some);
    }
    let mut edit = NodeEdit::new(tx, page, depth)?;
    if let Some(right) = entry.right {
        edit.set_child(index, right);
    }
    edit.move_entries(index, index + 1, node.count);
    edit.set_separator(index, entry.separator);
    edit.set_child(index, entry.left);
    Ok(None)
}

/// Splits a full node. The larger half stays in its page, so that the separator above stays valid, and the rest moves
/// to a new page on its left. At the right edge, where entries are appended, the node stays full and a new one starts
/// on its right.
fn split<W: Word>(
    tx: &mut Transaction,
    root: Root,
    node: &Node<W>,
    (page, index): (PageNumber, usize),
    depth: usize,
    entry: NewSeparator<W>,
) -> Result<NewSeparator<W>> {
    tx.enter(PagePhase::Structure);
    tx.count("inner split");
    let level = root.level(depth);
    let mut entries: Vec<_> = node.entries().collect();
    if let (Some(right), Some(old)) = (entry.right, entries.get_mut(index)) {
        old.1 = right;
    }
    entries.insert(index, (entry.separator, entry.left));
    // Above level 0, the entry of the greatest key moves too.
    let appended = 1 + usize::from(level > 0);
    if index + appended > node.count && (level == 0 || node.is_open()) {
        let (left, right) = entries.split_at(entries.len() - appended);
        let new = write_node(tx, level, depth, right)?;
        if left.len() < node.count {
            NodeEdit::<W>::new(tx, page, depth)?.set_count(left.len());
        }
        return Ok(NewSeparator { separator: greatest(left), left: page, right: Some(new) });
    }
    let (left, right) = entries.split_at(entries.len() / 2);
    let new = write_node(tx, level, depth, left)?;
    let image = node.shape.image(level, right);
    NodeEdit::<W>::new(tx, page, depth)?.rewrite(&image);
    Ok(NewSeparator { separator: greatest(left), left: new, right: None })
}

fn greatest<W: Word>(entries: &[(W, PageNumber)]) -> W {
    entries.last().map_or(W::MIN, |&(separator, _)| separator)
}
