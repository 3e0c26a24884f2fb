//! The cost of an ALEX data node, in blocks.
//!
//! The paper adds expected iterations of the exponential search and expected shifts (Section 4.3). On disk both are
//! free within a page, and only pages count: each page by which a prediction misses is one more block of a lookup.
//! Inserts move entries to other pages in the same dense ranges. Therefore the cost of a node is the total distance, in
//! pages, between its keys and their predictions, plus its weighted number of pages.

use super::line::AlexLine;
use super::options::AlexOptions;
use super::shape::AlexLayout;
use ogive::index::extend::Word;

/// Inner levels that one more node among `n` costs all lookups, divided by the keys per node: with a fan-out of 100, a
/// tree of `n` nodes has `ln n / ln 100` levels, whose derivative is `1 / (n ln 100)`.
const LEVELS_PER_NODE: f64 = 0.22;

/// The distribution of a data node's entries over its pages.
#[derive(Clone, Debug)]
pub(super) struct NodeFit<W> {
    pub(super) line: AlexLine<W>,
    /// For each page, the number of entries in it and the pages before it.
    pub(super) ends: Vec<usize>,
    /// Number of extra pages read if each entry is looked up once, plus the weighted pages of the node.
    pub(super) cost: f64,
}

/// The planner of nodes: page layout and options.
#[derive(Clone, Copy, Debug)]
pub(super) struct Planner {
    pub(super) shape: AlexLayout,
    pub(super) options: AlexOptions,
}

impl Planner {
    /// Most entries of a page when it is written.
    pub(super) fn page_entries(&self) -> usize {
        (self.shape.slots * usize::from(self.options.max_percent) / 100).max(1)
    }

    /// Most entries of a data node when it is written.
    pub(super) fn node_entries(&self) -> usize {
        self.page_entries() * usize::from(self.options.max_node_pages)
    }

    /// The number of pages for entries at a density in percent, rounded, but within the greatest density.
    pub(super) fn pages_for(&self, entries: usize, percent: u8) -> usize {
        let wanted = (self.shape.slots * usize::from(percent) / 100).max(1);
        let rounded = (entries + wanted / 2) / wanted;
        rounded.max(entries.div_ceil(self.page_entries())).max(1)
    }

    pub(super) fn page_weight(&self) -> f64 {
        f64::from(self.options.page_weight)
    }

    /// The cost to lookups of dividing a data node of `entries` entries by count.
    pub(super) fn division_cost(&self, entries: usize) -> f64 {
        LEVELS_PER_NODE * entries as f64
    }

    /// Distributes keys over `pages` pages.
    pub(super) fn fit<W: Word>(&self, keys: &[W], pages: usize) -> NodeFit<W> {
        let weight = self.page_weight() * pages as f64;
        let line = AlexLine::fit(keys, pages * self.shape.slots);
        if pages == 1 {
            return NodeFit { line, ends: vec![keys.len()], cost: weight };
        }
        let node_slots = pages * self.shape.slots;
        let mut ends = Vec::with_capacity(pages);
        let (mut predicted, mut actual, mut missed) = (0, 0, 0);
        for page in 1..=pages {
            let left = keys.get(predicted..).unwrap_or_default();
            predicted += left.partition_point(|&key| line.slot(key, node_slots) < page * self.shape.slots);
            actual = self.page_end(keys.len(), pages - page, actual, predicted);
            missed += predicted.abs_diff(actual);
            ends.push(actual);
        }
        // A search for a distant entry reads at most twice the logarithm of the number of pages.
        let bound = keys.len() as f64 * (2.0 * (pages as f64).log2() + 1.0);
        NodeFit { line, ends, cost: (missed as f64).min(bound) + weight }
    }

    /// The end of a page: as near to `wanted` as its capacity and that of the `left` pages after it allow. No page
    /// stays empty if there are enough entries.
    fn page_end(&self, entries: usize, left: usize, start: usize, wanted: usize) -> usize {
        let room = self.page_entries();
        let most = (start + room).min(entries.saturating_sub(left).max(start));
        let least = entries.saturating_sub(left * room).max((start + 1).min(most));
        if left == 0 { entries } else { wanted.clamp(least.min(most), most) }
    }
}
