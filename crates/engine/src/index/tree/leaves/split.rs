//! Splits of full leaves.

use super::chain::{ChainState, below};
use super::change::LeafChange;
use super::insert::NewEntry;
use super::leaf::{Leaf, LeafEdit, LeafHeader, RunFlags, entry_bytes, link_new_leaf};
use crate::error::Result;
use crate::index::entries::word::Word;
use crate::index::tree::router::{Gap, Router};
use crate::page::PageNumber;

/// The router chooses among the boundaries within 1/16 of a leaf on either side of its middle, so that the smaller half
/// has at least 7/16.
const MIDDLE_DIVISOR: usize = 16;

impl<W: Word> ChainState<W> {
    /// Records a new leaf before leaf `next`, both heads; separators between the two are at most `high`.
    pub(super) fn insert_before(&mut self, next: PageNumber, number: PageNumber, high: W) {
        if self.first == next {
            self.first = number;
        }
        if self.last == next {
            self.low = high;
        }
        self.leaves = self.leaves.saturating_add(1);
    }
}

/// The keys of a full leaf together with the key of an entry to insert.
struct OverfullLeaf<'a, W> {
    leaf: &'a Leaf,
    key: W,
    /// The index of the new key.
    index: usize,
}

impl<W: Word> OverfullLeaf<'_, W> {
    fn len(&self) -> usize {
        self.leaf.count() + 1
    }

    fn key(&self, index: usize) -> W {
        match index.cmp(&self.index) {
            std::cmp::Ordering::Less => self.leaf.key(index),
            std::cmp::Ordering::Equal => self.key,
            std::cmp::Ordering::Greater => self.leaf.key(index - 1),
        }
    }

    /// The gap for a separator after the first `boundary` keys; `None` between equal keys.
    fn gap(&self, boundary: usize) -> Option<Gap<W>> {
        let (low, next) = (self.key(boundary - 1), self.key(boundary));
        (low < next).then(|| Gap { low, high: below(next) })
    }

    /// The boundaries to choose from, in order: those around the middle, or else the one nearest to it.
    fn boundaries(&self) -> Vec<(usize, Gap<W>)> {
        let middle = self.len() / 2;
        let slack = self.len() / MIDDLE_DIVISOR;
        let with_gap = |boundary: usize| self.gap(boundary).map(|gap| (boundary, gap));
        let central: Vec<_> = (middle.saturating_sub(slack).max(1)..=middle + slack).filter_map(with_gap).collect();
        if !central.is_empty() {
            return central;
        }
        let nearest = (1..self.len()).filter_map(with_gap).min_by_key(|&(boundary, _)| boundary.abs_diff(middle));
        nearest.into_iter().collect()
    }
}

impl<W: Word, R: Router<W>> LeafChange<'_, W, R> {
    /// Inserts an entry into a full leaf.
    pub(super) fn insert_into_full(self, leaf: &Leaf, entry: NewEntry<'_, W>) -> Result<()> {
        if leaf.number == self.chain.last && entry.key > leaf.greatest() {
            return self.append_leaf(leaf, entry);
        }
        let overfull = OverfullLeaf { leaf, key: entry.key, index: leaf.upper_bound(entry.key) };
        let boundaries = overfull.boundaries();
        let gaps: Vec<Gap<W>> = boundaries.iter().map(|&(_, gap)| gap).collect();
        if gaps.is_empty() {
            return self.begin_run(leaf, entry);
        }
        let (_, router) = ChainState::<W>::parse(self.tx, self.state)?;
        let chosen = self.tree.router.choose_split(self.tx, router, &gaps)?.min(gaps.len() - 1);
        self.split(leaf, entry, boundaries[chosen])
    }

    /// Moves the first `boundary` entries, counting the new one, to a new leaf on the left; the others stay, so that
    /// the old separator stays valid.
    fn split(mut self, leaf: &Leaf, entry: NewEntry<'_, W>, (boundary, gap): (usize, Gap<W>)) -> Result<()> {
        self.tx.count("leaf split");
        let (shape, index) = (leaf.shape, leaf.upper_bound(entry.key));
        let goes_left = index < boundary;
        let moved = boundary - usize::from(goes_left);
        let mut left = leaf.entries()[..moved * shape.stride].to_vec();
        if goes_left {
            let offset = index * shape.stride;
            left.splice(offset..offset, entry_bytes(entry.key, entry.payload));
        }
        let header = LeafHeader {
            run_flags: RunFlags::default(),
            count: boundary,
            previous: leaf.header.previous,
            next: leaf.number,
        };
        let number = link_new_leaf(self.tx, shape, header, &left)?;
        let mut edit = LeafEdit::new(self.tx, leaf.number, shape)?;
        edit.move_entries(moved, 0, leaf.count());
        if !goes_left {
            edit.insert(index - moved, leaf.count() - moved, entry.key, entry.payload);
        }
        drop(edit);
        self.chain.insert_before(leaf.number, number, gap.high);
        self.change_router(|router, tx, state| router.insert(tx, state, gap, number))
    }
}
