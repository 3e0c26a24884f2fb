//! Range scans over the entries of an index in key order, from both ends.
//!
//! A scan has a cursor for each end, opened on first use; it ends where the two meet.

use super::shared::{IndexShared, PayloadBuffer};
use super::view::{IndexState, IndexView};
use crate::error::Result;
use crate::index::entries::key::Key;
use crate::index::entries::payload::Payload;
use crate::index::entries::word::Word;
use crate::index::tree::structure::Cursor;
use crate::page::PageSnapshot;
use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

/// The least and the greatest word of a range, inclusive; `None` for an empty range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::index) struct Bounds<W>(Option<(W, W)>);

impl<W: Word> Bounds<W> {
    /// Every word.
    pub(in crate::index) fn all() -> Self {
        Self(Some((W::MIN, W::MAX)))
    }

    /// One word.
    pub(in crate::index) fn only(word: W) -> Self {
        Self(Some((word, word)))
    }

    /// The words of a range of keys; empty if the bounds cross.
    pub(in crate::index) fn of<K: Key<Word = W>>(range: &impl RangeBounds<K>) -> Self {
        let low = match range.start_bound() {
            Bound::Unbounded => Some(W::MIN),
            Bound::Included(key) => Some(key.to_word()),
            Bound::Excluded(key) => above(key.to_word()),
        };
        let high = match range.end_bound() {
            Bound::Unbounded => Some(W::MAX),
            Bound::Included(key) => Some(key.to_word()),
            Bound::Excluded(key) => below(key.to_word()),
        };
        Self(low.zip(high).filter(|(low, high)| low <= high))
    }
}

fn above<W: Word>(word: W) -> Option<W> {
    (word < W::MAX).then(|| W::from_u128(word.to_u128() + 1))
}

fn below<W: Word>(word: W) -> Option<W> {
    (word > W::MIN).then(|| W::from_u128(word.to_u128() - 1))
}

/// One end of a scan: its cursor, and the entry returned last, as word and id.
#[derive(Debug)]
struct ScanEnd<W: Word> {
    cursor: Box<dyn Cursor<W>>,
    last: Option<(W, u64)>,
}

/// A scan of a range from both ends, until they meet.
#[derive(Debug)]
pub(in crate::index) struct RangeScan<W: Word> {
    bounds: Bounds<W>,
    front: Option<ScanEnd<W>>,
    back: Option<ScanEnd<W>>,
    payload: PayloadBuffer,
}

impl<W: Word> RangeScan<W> {
    pub(in crate::index) fn new(bounds: Bounds<W>) -> Self {
        Self { bounds, front: None, back: None, payload: PayloadBuffer::new(0) }
    }

    /// The payload of the entry returned last.
    pub(in crate::index) fn payload(&self) -> &[u8] {
        self.payload.as_slice()
    }

    /// The next entry from one end, of a range that reads nothing else.
    fn entry<K: Key<Word = W>, V: Payload>(
        &mut self,
        view: &IndexView<'_, K>,
        forward: bool,
    ) -> Option<Result<(K, V)>> {
        let word = self.step(view, forward).transpose()?;
        Some(word.map(|word| (K::from_word(word), V::load(self.payload()))))
    }

    /// The word of the next entry from one end. After the last entry or an error, always `None`.
    pub(in crate::index) fn step<K: Key<Word = W>>(
        &mut self,
        view: &IndexView<'_, K>,
        forward: bool,
    ) -> Result<Option<W>> {
        let step = self.try_step(view, forward);
        if !matches!(step, Ok(Some(_))) {
            self.bounds = Bounds(None);
            (self.front, self.back) = (None, None);
        }
        step
    }

    fn try_step<K: Key<Word = W>>(&mut self, view: &IndexView<'_, K>, forward: bool) -> Result<Option<W>> {
        let (Some((low, high)), Some(state)) = (self.bounds.0, view.state) else { return Ok(None) };
        let (own, other) = if forward { (&mut self.front, &self.back) } else { (&mut self.back, &self.front) };
        let end = match own {
            Some(end) => end,
            None => {
                let mut cursor = view.shared.structure.cursor(state.structure)?;
                match forward {
                    true => cursor.seek(view.pages, low)?,
                    false => cursor.seek_back(view.pages, high)?,
                }
                self.payload = view.shared.payload();
                own.insert(ScanEnd { cursor, last: None })
            }
        };
        let payload = self.payload.as_mut_slice();
        let word = match forward {
            true => end.cursor.next(view.pages, payload)?,
            false => end.cursor.previous(view.pages, payload)?,
        };
        let Some(word) = word.filter(|word| (low..=high).contains(word)) else { return Ok(None) };
        let entry = (word, end.cursor.entry_id());
        // The ends have met if this is the last entry of the other one, or lies beyond it.
        let met = other.as_ref().and_then(|other| other.last).is_some_and(|(last, id)| {
            let beyond = if forward { word > last } else { word < last };
            beyond || entry == (last, id)
        });
        end.last = Some(entry);
        Ok((!met).then_some(word))
    }
}

/// A double-ended iterator over the entries of a range of an index, in key order.
///
/// It ends after an error, and retains its snapshot until it is dropped.
#[derive(Debug)]
pub struct IndexRange<K: Key, V: Payload> {
    shared: Arc<IndexShared<K>>,
    snapshot: PageSnapshot,
    scan: RangeScan<K::Word>,
    payload: PhantomData<fn() -> V>,
}

impl<K: Key, V: Payload> IndexRange<K, V> {
    pub(in crate::index) fn new(
        shared: Arc<IndexShared<K>>,
        snapshot: PageSnapshot,
        range: &impl RangeBounds<K>,
    ) -> Self {
        Self { shared, snapshot, scan: RangeScan::new(Bounds::of(range)), payload: PhantomData }
    }

    fn step(&mut self, forward: bool) -> Option<Result<(K, V)>> {
        let state = match IndexState::parse(&self.snapshot, self.snapshot.state()) {
            Ok(state) => state,
            Err(error) => return Some(Err(error)),
        };
        self.scan.entry(&IndexView { shared: &self.shared, pages: &self.snapshot, state }, forward)
    }
}

/// A double-ended iterator over the entries of a range as a transaction sees them, in key order. It ends after an
/// error.
#[derive(Debug)]
pub struct TransactionRange<'a, K: Key, V: Payload> {
    view: IndexView<'a, K>,
    scan: RangeScan<K::Word>,
    payload: PhantomData<fn() -> V>,
}

impl<'a, K: Key, V: Payload> TransactionRange<'a, K, V> {
    pub(in crate::index) fn new(view: IndexView<'a, K>, range: &impl RangeBounds<K>) -> Self {
        Self { view, scan: RangeScan::new(Bounds::of(range)), payload: PhantomData }
    }
}

impl<K: Key, V: Payload> Iterator for IndexRange<K, V> {
    type Item = Result<(K, V)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step(true)
    }
}

impl<K: Key, V: Payload> DoubleEndedIterator for IndexRange<K, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.step(false)
    }
}

impl<K: Key, V: Payload> std::iter::FusedIterator for IndexRange<K, V> {}

impl<K: Key, V: Payload> Iterator for TransactionRange<'_, K, V> {
    type Item = Result<(K, V)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.scan.entry(&self.view, true)
    }
}

impl<K: Key, V: Payload> DoubleEndedIterator for TransactionRange<'_, K, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.scan.entry(&self.view, false)
    }
}

impl<K: Key, V: Payload> std::iter::FusedIterator for TransactionRange<'_, K, V> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_match_those_of_a_map_range_and_are_empty_if_they_cross() {
        assert_eq!(Bounds::of(&(3_u64..5)), Bounds(Some((3, 4))));
        assert_eq!(Bounds::of(&(3_u64..=5)), Bounds(Some((3, 5))));
        assert_eq!(Bounds::of::<u64>(&..), Bounds(Some((0, u64::MAX))));
        assert_eq!(Bounds::of(&(..0_u64)), Bounds(None));
        assert_eq!(Bounds::of(&(Bound::Included(5_u64), Bound::Excluded(3))), Bounds(None));
        assert_eq!(Bounds::of(&(5_u64..5)), Bounds(None));
        assert_eq!(Bounds::of(&(Bound::Excluded(u64::MAX), Bound::Unbounded)), Bounds(None));
        assert_eq!(Bounds::of(&(Bound::Excluded(0_u64), Bound::Included(u64::MAX))), Bounds(Some((1, u64::MAX))));
        assert_eq!(Bounds::of(&(i64::MIN..0)), Bounds(Some((0, (1 << 63) - 1))));
    }
}
