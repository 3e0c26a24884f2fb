//! Range scans over the entries of an index in key order, from both ends.
//!
//! A scan has a cursor for each end, opened on first use; it ends where the two meet. An end that is moved opens a new
//! one.

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

/// One end of a scan.
#[derive(Debug)]
struct ScanEnd<W: Word> {
    /// Where it begins.
    start: W,
    /// Open from the first step on, until the scan ends.
    cursor: Option<Box<dyn Cursor<W>>>,
    /// The entry returned last, as word and id.
    last: Option<(W, u64)>,
}

impl<W: Word> ScanEnd<W> {
    fn at(start: W) -> Self {
        Self { start, cursor: None, last: None }
    }
}

/// A scan of a range from both ends, until they meet.
#[derive(Debug)]
pub(in crate::index) struct RangeScan<W: Word> {
    whole: Bounds<W>,
    front: ScanEnd<W>,
    back: ScanEnd<W>,
    payload: PayloadBuffer,
    is_done: bool,
    has_failed: bool,
}

impl<W: Word> RangeScan<W> {
    pub(in crate::index) fn new(whole: Bounds<W>) -> Self {
        let (low, high) = whole.0.unwrap_or((W::MAX, W::MIN));
        let (front, back) = (ScanEnd::at(low), ScanEnd::at(high));
        Self { whole, front, back, payload: PayloadBuffer::new(0), is_done: false, has_failed: false }
    }

    /// Moves one end to a word, or to the end of the range that is nearest.
    fn move_end(&mut self, forward: bool, word: W) {
        let Some((low, high)) = self.whole.0.filter(|_| !self.has_failed) else { return };
        match forward {
            true => self.front = ScanEnd::at(word.max(low)),
            false => self.back = ScanEnd::at(word.min(high)),
        }
        self.is_done = false;
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

    /// The word of the next entry from one end. After the last entry `None`, until an end is moved; after an error,
    /// always `None`.
    pub(in crate::index) fn step<K: Key<Word = W>>(
        &mut self,
        view: &IndexView<'_, K>,
        forward: bool,
    ) -> Result<Option<W>> {
        if self.is_done {
            return Ok(None);
        }
        let step = self.try_step(view, forward);
        if !matches!(step, Ok(Some(_))) {
            (self.is_done, self.has_failed) = (true, step.is_err());
            (self.front.cursor, self.back.cursor) = (None, None);
        }
        step
    }

    fn try_step<K: Key<Word = W>>(&mut self, view: &IndexView<'_, K>, forward: bool) -> Result<Option<W>> {
        let (Some(_), Some(state)) = (self.whole.0, view.state) else { return Ok(None) };
        let words = self.front.start..=self.back.start;
        let (own, other) = if forward { (&mut self.front, &self.back) } else { (&mut self.back, &self.front) };
        // A cursor that goes on after the end of the scan passes the entry returned last again.
        let mut passed = own.last.filter(|_| own.cursor.is_none());
        let cursor = match &mut own.cursor {
            Some(cursor) => cursor,
            none => {
                let mut cursor = view.shared.structure.cursor(state.structure)?;
                let start = passed.map_or(own.start, |(last, _)| last);
                match forward {
                    true => cursor.seek(view.pages, start)?,
                    false => cursor.seek_back(view.pages, start)?,
                }
                self.payload = view.shared.payload();
                none.insert(cursor)
            }
        };
        let payload = self.payload.as_mut_slice();
        let word = loop {
            let word = match forward {
                true => cursor.next(view.pages, payload)?,
                false => cursor.previous(view.pages, payload)?,
            };
            match (word, passed) {
                (Some(word), Some((last, _))) if word == last => {
                    passed = passed.filter(|entry| *entry != (word, cursor.entry_id()));
                }
                _ => break word,
            }
        };
        let Some(word) = word.filter(|word| words.contains(word)) else { return Ok(None) };
        let entry = (word, cursor.entry_id());
        // The ends have met if this is the last entry of the other one, or lies beyond it.
        let met = other.last.is_some_and(|(last, id)| {
            let beyond = if forward { word > last } else { word < last };
            beyond || entry == (last, id)
        });
        if met {
            return Ok(None);
        }
        own.last = Some(entry);
        Ok(Some(word))
    }
}

/// A double-ended iterator over the entries of a range of an index, in key order.
///
/// It ends after an error, and retains its snapshot until it is dropped. [`Self::seek`] and [`Self::seek_for_prev`]
/// move its ends.
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

    /// Moves the front to the first entry whose key is at or behind `key` and in the range, ahead or back:
    /// [`Self::next`] then returns it. Entries are returned again if the front moves back; those that the back has
    /// returned are not. A range that was read to its end goes on. After an error it stays ended. Nothing is read
    /// before the next step.
    ///
    /// ```
    /// # use ogive::index::{Index, IndexOptions};
    /// # let storage = std::sync::Arc::new(ogive::io::MemoryStorage::new());
    /// # let index = Index::<u64, u64>::create((storage, "i"), &IndexOptions::default())?;
    /// # index.bulk_load([10, 20, 30, 40].map(|key| (key, key)))?;
    /// let mut range = index.iter()?;
    /// range.seek(11);
    /// assert_eq!(range.next().unwrap()?.0, 20);
    /// range.seek_for_prev(39);
    /// assert_eq!(range.next_back().unwrap()?.0, 30);
    /// assert!(range.next().is_none());
    /// range.seek(0);
    /// assert_eq!(range.next().unwrap()?.0, 10);
    /// # Ok::<(), ogive::Error>(())
    /// ```
    pub fn seek(&mut self, key: K) {
        self.scan.move_end(true, key.to_word());
    }

    /// Moves the back to the last entry whose key is at or before `key` and in the range, as [`Self::seek`] moves the
    /// front: [`next_back`](DoubleEndedIterator::next_back) then returns it.
    pub fn seek_for_prev(&mut self, key: K) {
        self.scan.move_end(false, key.to_word());
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

    /// Moves the front to the first entry whose key is at or behind `key`, as [`IndexRange::seek`] does.
    pub fn seek(&mut self, key: K) {
        self.scan.move_end(true, key.to_word());
    }

    /// Moves the back to the last entry whose key is at or before `key`, likewise.
    pub fn seek_for_prev(&mut self, key: K) {
        self.scan.move_end(false, key.to_word());
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
