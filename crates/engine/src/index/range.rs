//! Entries in order, from either end.

use super::key::Key;
use super::payload::Payload;
use super::shared::{PayloadBuffer, Shared};
use super::structure::Cursor;
use super::view::{State, View};
use super::word::Word;
use crate::error::Result;
use crate::page::{Snapshot, Transaction};
use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

/// The first and the last word of a range, both included; `None` where no word lies in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bounds<W>(Option<(W, W)>);

impl<W: Word> Bounds<W> {
    /// Every word.
    pub(super) fn all() -> Self {
        Self(Some((W::MIN, W::MAX)))
    }

    /// One word.
    pub(super) fn only(word: W) -> Self {
        Self(Some((word, word)))
    }

    /// The words of the keys of a range; bounds that cross hold none.
    pub(super) fn of<K: Key<Word = W>>(range: &impl RangeBounds<K>) -> Self {
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

/// One end of a walk: its cursor, and the entry that it passed last.
#[derive(Debug)]
struct End<W: Word> {
    cursor: Box<dyn Cursor<W>>,
    passed: Option<(W, u64)>,
}

/// A walk over a range from both ends, until they meet.
#[derive(Debug)]
pub(super) struct Walk<W: Word> {
    bounds: Bounds<W>,
    front: Option<End<W>>,
    back: Option<End<W>>,
    payload: PayloadBuffer,
}

impl<W: Word> Walk<W> {
    pub(super) fn new(bounds: Bounds<W>) -> Self {
        Self { bounds, front: None, back: None, payload: PayloadBuffer::new(0) }
    }

    /// The payload of the entry passed last.
    pub(super) fn payload(&self) -> &[u8] {
        self.payload.as_slice()
    }

    /// Passes one entry more from one end. Behind the last entry, and after an error, it stays at the end.
    pub(super) fn step<K: Key<Word = W>>(&mut self, view: &View<'_, K>, forward: bool) -> Result<Option<W>> {
        let step = self.try_step(view, forward);
        if !matches!(step, Ok(Some(_))) {
            self.bounds = Bounds(None);
            (self.front, self.back) = (None, None);
        }
        step
    }

    fn try_step<K: Key<Word = W>>(&mut self, view: &View<'_, K>, forward: bool) -> Result<Option<W>> {
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
                own.insert(End { cursor, passed: None })
            }
        };
        let payload = self.payload.as_mut_slice();
        let word = match forward {
            true => end.cursor.next(view.pages, payload)?,
            false => end.cursor.previous(view.pages, payload)?,
        };
        let Some(word) = word.filter(|word| (low..=high).contains(word)) else { return Ok(None) };
        let entry = (word, end.cursor.place());
        // The ends have met where this is the entry that the other one passed last, or lies beyond it.
        let met = other.as_ref().and_then(|other| other.passed).is_some_and(|(passed, place)| {
            let beyond = if forward { word > passed } else { word < passed };
            beyond || entry == (passed, place)
        });
        end.passed = Some(entry);
        Ok((!met).then_some(word))
    }
}

/// Whose pages a range reads.
#[derive(Debug)]
enum Source<'a, K: Key> {
    Snapshot(Arc<Shared<K>>, Snapshot),
    Transaction(&'a Shared<K>, &'a Transaction, Option<State<'a>>),
}

/// An iterator over the entries of a range, in key order; `rev` turns it around, and both ends may be used.
///
/// After an error it stays failed: it ends. That of an index or of a reader keeps its snapshot until it is dropped.
#[derive(Debug)]
pub struct Range<'a, K: Key, V: Payload> {
    source: Source<'a, K>,
    walk: Walk<K::Word>,
    payload: PhantomData<fn() -> V>,
}

impl<K: Key, V: Payload> Range<'static, K, V> {
    pub(super) fn of_snapshot(shared: Arc<Shared<K>>, snapshot: Snapshot, range: &impl RangeBounds<K>) -> Self {
        let source = Source::Snapshot(shared, snapshot);
        Self { source, walk: Walk::new(Bounds::of(range)), payload: PhantomData }
    }
}

impl<'a, K: Key, V: Payload> Range<'a, K, V> {
    pub(super) fn of_transaction(
        shared: &'a Shared<K>,
        transaction: &'a Transaction,
        state: Option<State<'a>>,
        range: &impl RangeBounds<K>,
    ) -> Self {
        let source = Source::Transaction(shared, transaction, state);
        Self { source, walk: Walk::new(Bounds::of(range)), payload: PhantomData }
    }

    fn step(&mut self, forward: bool) -> Result<Option<(K, V)>> {
        let view = match &self.source {
            Source::Snapshot(shared, snapshot) => {
                let state = State::parse(snapshot, snapshot.state())?;
                View { shared, pages: snapshot, state }
            }
            &Source::Transaction(shared, pages, state) => View { shared, pages, state },
        };
        let word = self.walk.step(&view, forward)?;
        Ok(word.map(|word| (K::from_word(word), V::load(self.walk.payload()))))
    }
}

impl<K: Key, V: Payload> Iterator for Range<'_, K, V> {
    type Item = Result<(K, V)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step(true).transpose()
    }
}

impl<K: Key, V: Payload> DoubleEndedIterator for Range<'_, K, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.step(false).transpose()
    }
}

impl<K: Key, V: Payload> std::iter::FusedIterator for Range<'_, K, V> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_hold_what_the_range_of_a_map_holds_and_nothing_where_they_cross() {
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
