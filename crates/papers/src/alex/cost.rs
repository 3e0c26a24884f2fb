//! The cost of an ALEX data node, in blocks.
//!
//! The paper adds up expected iterations of the exponential search and expected shifts (Section 4.3). On disk both are
//! free within a page; what counts is the page: each page by which a look-up misses is one more block, and so is each
//! that an insert has to move entries to, which happens where keys crowd: in the same places. So a node costs the pages
//! by which its keys lie beside where the line predicts them, and its own pages, by weight.

use super::line::Line;
use super::options::AlexOptions;
use super::shape::Shape;
use ogive::index::extend::Word;

/// Inner levels that one node more among `n` costs each look-up, times the keys of the node: with a fan-out of a
/// hundred, a tree of `n` nodes has `ln n / ln 100` levels, and the derivative of that is `1 / (n ln 100)`.
const LEVELS_A_NODE: f64 = 0.22;

/// How the entries of a data node lie in its pages.
#[derive(Clone, Debug)]
pub(super) struct Fit<W> {
    pub(super) line: Line<W>,
    /// For each page, how many entries lie in it and in those before it.
    pub(super) ends: Vec<usize>,
    /// Extra pages read if each entry is looked up once, and the node's pages by weight.
    pub(super) cost: f64,
}

/// Sizes and options together: what plans are made by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) shape: Shape,
    pub(super) options: AlexOptions,
}

impl Rules {
    /// Entries that a page is given when it is written, at most.
    pub(super) fn page_entries(&self) -> usize {
        (self.shape.slots * usize::from(self.options.max_percent) / 100).max(1)
    }

    /// Entries of the largest data node that is written.
    pub(super) fn node_entries(&self) -> usize {
        self.page_entries() * usize::from(self.options.max_node_pages)
    }

    /// Pages for so many entries at a density, in percent: the nearest whole number that keeps below the greatest
    /// density.
    pub(super) fn pages_for(&self, entries: usize, percent: u8) -> usize {
        let wanted = (self.shape.slots * usize::from(percent) / 100).max(1);
        let rounded = (entries + wanted / 2) / wanted;
        rounded.max(entries.div_ceil(self.page_entries())).max(1)
    }

    pub(super) fn page_weight(&self) -> f64 {
        f64::from(self.options.page_weight)
    }

    /// What dividing a data node of so many entries by count costs those who look them up.
    pub(super) fn division_cost(&self, entries: usize) -> f64 {
        LEVELS_A_NODE * entries as f64
    }

    /// Lays keys out in so many pages.
    pub(super) fn fit<W: Word>(&self, keys: &[W], pages: usize) -> Fit<W> {
        let weight = self.page_weight() * pages as f64;
        let line = Line::fit(keys, pages * self.shape.slots);
        if pages == 1 {
            return Fit { line, ends: vec![keys.len()], cost: weight };
        }
        let places = pages * self.shape.slots;
        let mut ends = Vec::with_capacity(pages);
        let (mut predicted, mut actual, mut missed) = (0, 0, 0);
        for page in 1..=pages {
            let left = keys.get(predicted..).unwrap_or_default();
            predicted += left.partition_point(|&key| line.place(key, places) < page * self.shape.slots);
            actual = self.page_end(keys.len(), pages - page, actual, predicted);
            missed += predicted.abs_diff(actual);
            ends.push(actual);
        }
        // An entry that lies far away costs its search no more than twice the logarithm of the pages.
        let most = keys.len() as f64 * (2.0 * (pages as f64).log2() + 1.0);
        Fit { line, ends, cost: (missed as f64).min(most) + weight }
    }

    /// Where a page ends, as near to `wanted` as its room and that of the `left` pages behind it allow; no page stays
    /// empty if there are entries for each.
    fn page_end(&self, entries: usize, left: usize, start: usize, wanted: usize) -> usize {
        let room = self.page_entries();
        let most = (start + room).min(entries.saturating_sub(left).max(start));
        let least = entries.saturating_sub(left * room).max((start + 1).min(most));
        if left == 0 { entries } else { wanted.clamp(least.min(most), most) }
    }
}
