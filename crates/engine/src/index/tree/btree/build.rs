//! Bulk load of inner nodes: each level writes a node as soon as it has its fill.

use super::node::{NodeShape, Root, write_node};
use crate::error::Result;
use crate::index::entries::word::Word;
use crate::index::tree::router::{Gap, RouterBuilder};
use crate::io::Purpose;
use crate::page::{PageNumber, Pages, Transaction};

/// The entries not yet in a node, by level. A node is written once more than a full node waits, so that the last two of
/// a level can share the rest, and a level that fits into one node becomes the root.
#[derive(Debug)]
pub(super) struct BtreeBuilder<W> {
    levels: Vec<Vec<(W, PageNumber)>>,
    capacity: usize,
    fill: usize,
}

impl<W: Word> BtreeBuilder<W> {
    pub(super) fn new(payload_bytes: usize, fill_percent: u8) -> Self {
        let capacity = NodeShape::<W>::new(payload_bytes).capacity;
        let fill = (capacity * usize::from(fill_percent) / 100).clamp(2, capacity);
        Self { levels: Vec::new(), capacity, fill }
    }

    fn add(&mut self, tx: &mut Transaction, level: usize, entry: (W, PageNumber)) -> Result<()> {
        if self.levels.len() <= level {
            self.levels.push(Vec::new());
        }
        let Some(waiting) = self.levels.get_mut(level) else { return Ok(()) };
        waiting.push(entry);
        if waiting.len() <= self.capacity {
            return Ok(());
        }
        let node: Vec<_> = waiting.drain(..self.fill).collect();
        self.write(tx, level, &node)
    }

    /// Writes a node, and adds it to the level above.
    fn write(&mut self, tx: &mut Transaction, level: usize, node: &[(W, PageNumber)]) -> Result<()> {
        let page = tx.allocate_extent(1)?;
        let image = NodeShape::new(tx.payload_bytes()).image(level as u8, node);
        // The height is not known yet, so the purpose has no depth; written pages are not cached by depth.
        tx.write_fresh(page, Purpose::Inner(0), &image)?;
        let greatest = node.last().map_or(W::MAX, |&(separator, _)| separator);
        self.add(tx, level + 1, (greatest, page))
    }
}

impl<W: Word> RouterBuilder<W> for BtreeBuilder<W> {
    fn push(&mut self, tx: &mut Transaction, gap: Gap<W>, leaf: PageNumber) -> Result<()> {
        self.add(tx, 0, (gap.low, leaf))
    }

    fn finish(mut self: Box<Self>, tx: &mut Transaction) -> Result<Vec<u8>> {
        let mut root = Root::EMPTY;
        let mut level = 0;
        while let Some(mut waiting) = self.levels.get_mut(level).map(std::mem::take) {
            if level > 0
                && let Some(last) = waiting.last_mut()
            {
                last.0 = W::MAX;
            }
            if self.levels.len() == level + 1 {
                root = Root { page: write_node(tx, level as u8, 0, &waiting)?, height: level as u8 + 1 };
                break;
            }
            let half = waiting.len() / 2;
            let (first, second) =
                if waiting.len() > self.fill { waiting.split_at(half) } else { (&[][..], &waiting[..]) };
            if !first.is_empty() {
                self.write(tx, level, first)?;
            }
            if !second.is_empty() {
                self.write(tx, level, second)?;
            }
            level += 1;
        }
        let mut state = Vec::new();
        root.store(&mut state);
        Ok(state)
    }
}
