//! Line segments stored in a table, as an index over its blocks.

use super::search::upper_bound_near;
use super::window::{BlockFinger, BlockIndex, BlockWindow, key_prefix_of};
use crate::error::Result;
use ogive_model::line::LineNode;

/// Line segments stored in a table. Their windows are approximate: nothing proves that they match the data.
#[derive(Debug)]
pub(super) struct StoredLines {
    starts: Vec<u64>,
    nodes: Vec<LineNode>,
    blocks: u64,
}

impl StoredLines {
    pub(super) fn new(nodes: Vec<LineNode>, blocks: u64) -> Self {
        Self { starts: nodes.iter().map(|node| node.start).collect(), nodes, blocks }
    }
}

impl BlockIndex for StoredLines {
    #[inline]
    fn find(&self, key: &[u8], finger: &mut BlockFinger) -> Result<BlockWindow> {
        let last_block = self.blocks.saturating_sub(1);
        let Some(start) = self.starts.first() else {
            return Ok(BlockWindow { first: 0, last: last_block, is_exact: true });
        };
        let x = key_prefix_of(key).max(*start);
        finger.at = upper_bound_near(&self.starts, x, finger.at).saturating_sub(1);
        let last_child = self.nodes.get(finger.at + 1).map_or(last_block, |next| next.first_child.min(last_block));
        let window = self.nodes[finger.at].window(x, last_child);
        let first = (*window.start()).min(last_block);
        Ok(BlockWindow { first, last: (*window.end()).clamp(first, last_block), is_exact: false })
    }

    fn bytes(&self) -> u64 {
        (8 * self.starts.capacity() + size_of::<LineNode>() * self.nodes.capacity()) as u64
    }
}
