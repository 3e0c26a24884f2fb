//! Moves of the ends of an open range.
//!
//! What is left of a range lies between two bounds: behind the last record of the front, before the last one of the
//! back. While it is read, the cursors tell them, and steps copy no key. Where cursors have read more than was
//! returned, or have met, the bounds are noted; that is seldom. A move sets one bound to any key of the range, and
//! *parks* the cursor there: it seeks with the next step, so that moves that are not followed by one read nothing.

use super::DbRange;
use crate::lsm::read::scan::{ScanBounds, successor};
use crate::lsm::read::value_ahead::ValueQueue;
use crate::lsm::read::visible::VisibleCursor;
use std::cmp::Ordering;
use std::ops::Bound;

/// Where an end of a range stands.
#[derive(Clone, Debug)]
pub(super) enum ReachedEnd {
    Bound(Bound<Vec<u8>>),
    /// Behind all keys.
    All,
}

/// Ranges of bytes whose ends move to keys.
pub(crate) trait MoveEnds {
    /// Moves the front to the first record at or behind a key, or at the beginning of the range.
    fn move_front(&mut self, start: &[u8]);

    /// Moves the back to the last record before a key, or at the end of the range.
    fn move_back(&mut self, end: Option<&[u8]>);
}

impl MoveEnds for DbRange {
    fn move_front(&mut self, start: &[u8]) {
        self.move_end(true, Bound::Included(start));
    }

    fn move_back(&mut self, end: Option<&[u8]>) {
        self.move_end(false, end.map_or(Bound::Unbounded, Bound::Excluded));
    }
}

impl DbRange {
    /// Moves the front to the first record at or behind `key` that is in the range, ahead or back: [`Self::next`] then
    /// returns it. Records are returned again if the front moves back; those that the back has returned are not. A
    /// range that was read to its end goes on. After an error it stays ended.
    ///
    /// The iterator stays open: to a near key it moves by some steps. Nothing is read before the next step.
    ///
    /// ```
    /// # let storage = std::sync::Arc::new(ogive::io::MemoryStorage::new());
    /// # let db = ogive::Db::open(storage, &ogive::DbOptions::default())?;
    /// for key in ["ant", "bee", "cat", "dog"] { db.insert(key, "")?; }
    /// let mut range = db.range("ant".."dog");
    /// range.seek("b");
    /// assert_eq!(range.next().unwrap()?.0, *b"bee");
    /// range.seek_for_prev("cow");
    /// assert_eq!(range.next_back().unwrap()?.0, *b"cat");
    /// assert!(range.next().is_none());
    /// range.seek("");
    /// assert_eq!(range.next().unwrap()?.0, *b"ant");
    /// # Ok::<(), ogive::Error>(())
    /// ```
    pub fn seek(&mut self, key: impl AsRef<[u8]>) {
        self.move_end(true, Bound::Included(key.as_ref()));
    }

    /// Moves the back to the last record at or before `key` that is in the range, as [`Self::seek`] moves the front:
    /// [`next_back`](DoubleEndedIterator::next_back) then returns it.
    pub fn seek_for_prev(&mut self, key: impl AsRef<[u8]>) {
        self.move_end(false, Bound::Included(key.as_ref()));
    }

    /// Moves one end to a bound.
    pub(in crate::lsm::handles) fn move_end(&mut self, forward: bool, to: Bound<&[u8]>) {
        if self.has_failed {
            return;
        }
        if self.front_ahead.failure.is_some() || self.back_ahead.failure.is_some() {
            // The next step reports it.
            self.front_ahead.records.clear();
            self.back_ahead.records.clear();
            return;
        }
        if self.skip_queued(forward, to) {
            return;
        }
        let whole = self.whole.get_or_insert_with(|| Box::new(self.bounds.clone()));
        let start = bound_of(whole, forward);
        let to = if is_behind(start.as_ref().map(Vec::as_slice), to, forward) {
            start.clone()
        } else {
            to.map(<[u8]>::to_vec)
        };
        self.settle(!forward, &to);
        self.place(forward, to);
        self.is_done = matches!(self.reached_at(!forward), Some(ReachedEnd::All));
    }

    /// Skips records whose values were read ahead; returns whether some of them are left.
    fn skip_queued(&mut self, forward: bool, to: Bound<&[u8]>) -> bool {
        let (records, mut is_ahead) = (&mut self.ahead(forward).records, false);
        while let Some(first) = records.front() {
            if !is_behind(to, Bound::Included(&first.key), forward) {
                // A first one that the move does not skip may not be the next one behind the bound.
                return is_ahead || matches!(to, Bound::Included(key) if *key == *first.key);
            }
            is_ahead = true;
            records.pop_front();
        }
        false
    }

    /// Lets the bounds alone tell where an end stands, unless its cursor will tell: it stands at the record that was
    /// returned, and the other end moves `to` a place before it.
    fn settle(&mut self, forward: bool, to: &Bound<Vec<u8>>) {
        let queued = self.ahead(forward).records.front().map(|queued| queued.key.to_vec());
        let returned = if forward { &self.front } else { &self.back };
        let returned = returned.as_ref().and_then(VisibleCursor::key).filter(|key| match to {
            Bound::Unbounded => false,
            Bound::Included(to) | Bound::Excluded(to) if forward => *key >= to.as_slice(),
            Bound::Included(to) | Bound::Excluded(to) => *key <= to.as_slice(),
        });
        let returned = returned.map(|key| Bound::Excluded(key.to_vec()));
        let reached = match (queued, self.reached_at(forward)) {
            (Some(key), _) => Bound::Included(key),
            (None, Some(ReachedEnd::Bound(bound))) => bound.clone(),
            (None, Some(ReachedEnd::All)) => return,
            (None, None) => match returned {
                Some(bound) => bound,
                None => return,
            },
        };
        self.place(forward, reached);
    }

    fn place(&mut self, forward: bool, bound: Bound<Vec<u8>>) {
        *self.reached_at(forward) = None;
        *self.ahead(forward) = ValueQueue::default();
        let key = match (&bound, forward) {
            (Bound::Included(key), true) | (Bound::Excluded(key), false) => Some(key.clone()),
            (Bound::Excluded(key), true) | (Bound::Included(key), false) => Some(successor(key)),
            (Bound::Unbounded, _) => None,
        };
        let end = if forward { &mut self.front } else { &mut self.back };
        match (end.as_mut(), key) {
            (Some(cursor), Some(key)) => cursor.park(&key),
            _ => *end = None,
        }
        let begin = if forward { &mut self.bounds.0 } else { &mut self.bounds.1 };
        *begin = bound;
    }

    fn reached_at(&mut self, forward: bool) -> &mut Option<ReachedEnd> {
        &mut self.reached[usize::from(!forward)]
    }

    /// Notes where an end stands that has found no further record: at what the other one has returned or read, or at
    /// the far bound.
    #[cold]
    pub(super) fn note_end(&mut self, forward: bool) {
        let (other, far) = match forward {
            true => (&self.back, &self.bounds.1),
            false => (&self.front, &self.bounds.0),
        };
        let reached = match (other.as_ref().and_then(VisibleCursor::key), far) {
            (Some(given), _) => Bound::Included(given),
            (None, Bound::Included(end)) => Bound::Excluded(end.as_slice()),
            (None, Bound::Excluded(end)) => Bound::Included(end.as_slice()),
            (None, Bound::Unbounded) => {
                *self.reached_at(forward) = Some(ReachedEnd::All);
                return;
            }
        };
        // An end that began behind the other one stays there.
        let start = bound_of(&self.bounds, forward);
        let reached = match is_behind(start.as_ref().map(Vec::as_slice), reached, forward) {
            true => start.clone(),
            false => reached.map(<[u8]>::to_vec),
        };
        *self.reached_at(forward) = Some(ReachedEnd::Bound(reached));
    }

    /// Notes that one end has returned a record which the other one had read ahead: both stand at it.
    #[cold]
    pub(super) fn note_taken(&mut self, forward: bool, key: &[u8]) {
        *self.reached_at(forward) = Some(ReachedEnd::Bound(Bound::Excluded(key.to_vec())));
        *self.reached_at(!forward) = Some(ReachedEnd::Bound(Bound::Included(key.to_vec())));
    }
}

/// The bound at which an end begins.
fn bound_of(bounds: &ScanBounds, forward: bool) -> &Bound<Vec<u8>> {
    if forward { &bounds.0 } else { &bounds.1 }
}

/// Whether a bound of one end is further than another, as this end goes.
fn is_behind(one: Bound<&[u8]>, other: Bound<&[u8]>, forward: bool) -> bool {
    let (key, is_excluded, its_key, its_excluded) = match (one, other) {
        (Bound::Unbounded, _) => return false,
        (_, Bound::Unbounded) => return true,
        (Bound::Included(key), Bound::Included(its_key)) => (key, false, its_key, false),
        (Bound::Included(key), Bound::Excluded(its_key)) => (key, false, its_key, true),
        (Bound::Excluded(key), Bound::Included(its_key)) => (key, true, its_key, false),
        (Bound::Excluded(key), Bound::Excluded(its_key)) => (key, true, its_key, true),
    };
    let order = if forward { key.cmp(its_key) } else { its_key.cmp(key) };
    order.then(is_excluded.cmp(&its_excluded)) == Ordering::Greater
}
