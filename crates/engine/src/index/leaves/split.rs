//! A full leaf and one entry more.

use super::frame::{Frame, below};
use super::insert::Incoming;
use super::leaf::{Header, Leaf, LeafEdit, Part, entry_bytes, link_new_leaf};
use super::tree::LeafTree;
use crate::error::Result;
use crate::index::router::{Gap, Router};
use crate::index::word::Word;
use crate::page::{PageNumber, Transaction};

/// The router chooses among the boundaries in the middle eighth of a leaf: this part of its entries on either side of
/// the middle. The smaller half then has at least seven sixteenths.
const MIDDLE_PART: usize = 16;

impl<W: Word> Frame<W> {
    /// A new leaf was put before that of page `next`, both heads; separators between the two go up to `high`.
    pub(super) fn put_before(&mut self, next: PageNumber, number: PageNumber, high: W) {
        if self.first == next {
            self.first = number;
        }
        if self.last == next {
            self.low = high;
        }
        self.leaves = self.leaves.saturating_add(1);
    }
}

/// The keys of a full leaf, and among them that of an entry to be put in.
struct Crowd<'a, W> {
    leaf: &'a Leaf,
    key: W,
    /// Place of the new key.
    index: usize,
}

impl<W: Word> Crowd<'_, W> {
    fn len(&self) -> usize {
        self.leaf.count() + 1
    }

    fn key(&self, place: usize) -> W {
        match place.cmp(&self.index) {
            std::cmp::Ordering::Less => self.leaf.key(place),
            std::cmp::Ordering::Equal => self.key,
            std::cmp::Ordering::Greater => self.leaf.key(place - 1),
        }
    }

    /// Where a separator between the first `boundary` keys and the others may lie, if it may.
    fn gap(&self, boundary: usize) -> Option<Gap<W>> {
        let (low, next) = (self.key(boundary - 1), self.key(boundary));
        (low < next).then(|| Gap { low, high: below(next) })
    }

    /// The boundaries to choose from, in order: those about the middle, or else the one next to it.
    fn boundaries(&self) -> Vec<(usize, Gap<W>)> {
        let middle = self.len() / 2;
        let slack = self.len() / MIDDLE_PART;
        let with_gap = |boundary: usize| self.gap(boundary).map(|gap| (boundary, gap));
        let central: Vec<_> = (middle.saturating_sub(slack).max(1)..=middle + slack).filter_map(with_gap).collect();
        if !central.is_empty() {
            return central;
        }
        let nearest = (1..self.len()).filter_map(with_gap).min_by_key(|&(boundary, _)| boundary.abs_diff(middle));
        nearest.into_iter().collect()
    }
}

impl<R> LeafTree<R> {
    /// Puts an entry into a full leaf.
    pub(super) fn make_room<W: Word>(
        &self,
        tx: &mut Transaction,
        state: &mut Vec<u8>,
        frame: Frame<W>,
        leaf: &Leaf,
        entry: Incoming<'_, W>,
    ) -> Result<()>
    where
        R: Router<W>,
    {
        if leaf.number == frame.last && entry.key > leaf.greatest() {
            return self.append_leaf(tx, state, frame, leaf, entry);
        }
        let crowd = Crowd { leaf, key: entry.key, index: leaf.upper_bound(entry.key) };
        let boundaries = crowd.boundaries();
        let gaps: Vec<Gap<W>> = boundaries.iter().map(|&(_, gap)| gap).collect();
        if gaps.is_empty() {
            return self.begin_run(tx, state, frame, leaf, entry);
        }
        let (_, router) = Frame::<W>::parse(tx, state)?;
        let chosen = self.router.choose_split(tx, router, &gaps)?.min(gaps.len() - 1);
        let (boundary, gap) = boundaries[chosen];
        self.split(tx, state, frame, leaf, entry, boundary, gap)
    }

    /// The first `boundary` entries, the new one counted, go to a new leaf on the left; the others stay, so that the
    /// old separator stays true.
    #[expect(clippy::too_many_arguments, reason = "a split has these parts")]
    fn split<W: Word>(
        &self,
        tx: &mut Transaction,
        state: &mut Vec<u8>,
        mut frame: Frame<W>,
        leaf: &Leaf,
        entry: Incoming<'_, W>,
        boundary: usize,
        gap: Gap<W>,
    ) -> Result<()>
    where
        R: Router<W>,
    {
        tx.count("leaf split");
        let (shape, index) = (leaf.shape, leaf.upper_bound(entry.key));
        let goes_left = index < boundary;
        let moved = boundary - usize::from(goes_left);
        let mut left = leaf.entries()[..moved * shape.stride].to_vec();
        if goes_left {
            let place = index * shape.stride;
            left.splice(place..place, entry_bytes(entry.key, entry.payload));
        }
        let header =
            Header { part: Part::default(), count: boundary, previous: leaf.header.previous, next: leaf.number };
        let number = link_new_leaf(tx, shape, header, &left)?;
        let mut edit = LeafEdit::new(tx, leaf.number, shape)?;
        edit.move_entries(moved, 0, leaf.count());
        if !goes_left {
            edit.insert(index - moved, leaf.count() - moved, entry.key, entry.payload);
        }
        drop(edit);
        frame.put_before(leaf.number, number, gap.high);
        self.change_router(tx, state, &frame, |router, tx, state| router.insert(tx, state, gap, number))
    }
}
