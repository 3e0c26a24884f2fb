//! Walks over all nodes: validation and statistics.

use super::node::{Node, Root};
use crate::error::Result;
use crate::index::entries::word::Word;
use crate::index::tree::router::{LeafVisit, PageVisit};
use crate::index::tree::structure::{IndexLevelStatistics, IndexStatistics};
use crate::page::{PageNumber, Pages};

/// The state of a walk.
struct NodeWalker<'a, W> {
    pages: &'a dyn Pages,
    root: Root,
    /// The greatest separator so far.
    last: Option<W>,
    /// Number of nodes that may still be read: more than the file has pages means a cycle.
    left: u32,
    levels: Vec<IndexLevelStatistics>,
    claim: PageVisit<'a>,
    leaf: LeafVisit<'a, W>,
}

impl<W: Word> NodeWalker<'_, W> {
    /// Checks a node whose separators must end at `above`; `None` at the right edge.
    fn node(&mut self, page: PageNumber, depth: usize, above: Option<W>) -> Result<()> {
        let damaged = |detail: &str| Err(self.pages.damaged(page, detail));
        let Some(left) = self.left.checked_sub(1) else { return damaged("inner nodes form a circle") };
        self.left = left;
        (self.claim)(page, 1)?;
        let node = Node::<W>::read(self.pages, page, self.root, depth)?;
        let bottom = self.root.level(depth) == 0;
        let greatest = node.separator(node.count - 1);
        let expected = if bottom { above.unwrap_or(greatest) } else { above.unwrap_or(W::MAX) };
        if greatest != expected || (bottom && greatest == W::MAX) {
            return damaged("the separators of an inner node do not end where its parent says");
        }
        if let Some(level) = self.levels.get_mut(depth) {
            *level = IndexLevelStatistics {
                nodes: level.nodes + 1,
                pages: level.pages + 1,
                entries: level.entries + node.count as u64,
            };
        }
        for (index, (separator, child)) in node.entries().enumerate() {
            if index > 0 && node.separator(index - 1) >= separator {
                return damaged("the separators of an inner node do not ascend");
            }
            if child >= self.pages.page_count() {
                return damaged("a child lies beyond the end of the file");
            }
            if bottom {
                self.leaf(page, separator, child)?;
            } else {
                let is_last = above.is_none() && index + 1 == node.count;
                self.node(child, depth + 1, (!is_last).then_some(separator))?;
            }
        }
        Ok(())
    }

    fn leaf(&mut self, page: PageNumber, separator: W, leaf: PageNumber) -> Result<()> {
        if self.last.is_some_and(|last| last >= separator) {
            return Err(self.pages.damaged(page, "separators do not ascend from one inner node to the next"));
        }
        self.last = Some(separator);
        (self.leaf)(separator, leaf)
    }
}

/// Walks over all nodes; returns statistics by depth.
pub(super) fn walk<W: Word>(
    pages: &dyn Pages,
    root: Root,
    claim: PageVisit<'_>,
    leaf: LeafVisit<'_, W>,
) -> Result<Vec<IndexLevelStatistics>> {
    let levels = vec![IndexLevelStatistics::default(); usize::from(root.height)];
    let mut walk = NodeWalker { pages, root, last: None, left: pages.page_count(), levels, claim, leaf };
    if root.height > 0 {
        walk.node(root.page, 0, None)?;
    }
    Ok(walk.levels)
}

/// Statistics of the nodes.
pub(super) fn statistics<W: Word>(pages: &dyn Pages, root: Root) -> Result<IndexStatistics> {
    let levels = walk::<W>(pages, root, &mut |_, _| Ok(()), &mut |_, _| Ok(()))?;
    Ok(IndexStatistics {
        entries: levels.last().map_or(0, |level| level.entries),
        inner_pages: levels.iter().map(|level| level.pages).sum(),
        height: u32::from(root.height),
        mean_height: f64::from(root.height),
        levels,
        ..IndexStatistics::default()
    })
}
