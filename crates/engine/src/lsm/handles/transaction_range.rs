//! Ranges of a transaction: the records of its snapshot with its own writes, from either end.
//!
//! What a range has passed is added to what its transaction has read, step by step: from its start to the last record
//! that was taken from there, and from its end likewise; all of it, once there is no further record. What an end skips
//! by moving to a key was not read.

use super::own_writes::OwnRecord;
use super::range::DbRange;
use super::range::seek::MoveEnds;
use super::transaction::SharedTransaction;
use crate::block::Slice;
use crate::error::Result;
use crate::lsm::read::scan::successor;
use crate::lsm::state::keyspace_tree::KeyspaceTree;
use crate::lsm::state::transactions::key_intervals::KeyIntervals;
use crate::lsm::state::transactions::newer::ConflictCheck;
use std::cmp::Ordering;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// The records of a key range as a transaction sees them, in key order, from either end: see
/// [`DbTransaction::range`](crate::lsm::DbTransaction::range). After an error it ends.
#[derive(Debug)]
pub struct DbTransactionRange(WithOwnWrites<DbRange, Slice, KeyIntervals>);

/// Records of a snapshot with the own writes of a transaction, in the order of their keys or of an index, from either
/// end.
#[derive(Debug)]
pub(super) struct WithOwnWrites<S, V, H> {
    stored: S,
    /// The next record of the snapshot at each end, once it was read.
    next: [Option<(Slice, V)>; 2],
    /// The own writes in the range, in order, and the places of those that were not passed.
    own: VecDeque<(Slice, Option<V>)>,
    left: Range<usize>,
    /// What hides records of the snapshot.
    hidden: H,
    passed: PassedKeys,
    is_done: bool,
    has_failed: bool,
}

/// What a transaction has written, as it hides records of its snapshot.
pub(super) trait Hides<V> {
    /// Whether a record is hidden.
    fn hides(&self, key: &Slice, value: &V) -> bool;
}

/// Ranges that the transaction has removed.
impl Hides<Slice> for KeyIntervals {
    fn hides(&self, key: &Slice, _: &Slice) -> bool {
        self.contains(key)
    }
}

/// What the ends of a range have passed.
#[derive(Debug)]
pub(super) struct PassedKeys {
    transaction: Arc<SharedTransaction>,
    tree: Arc<KeyspaceTree>,
    /// The range: its first key, and the first one behind it, if there is one.
    whole: (Vec<u8>, Option<Vec<u8>>),
    /// The key at which the front began, and the first one that it has not passed.
    start: Vec<u8>,
    front: Vec<u8>,
    /// The first key behind what the back has not passed, if there is one.
    end: Option<Vec<u8>>,
}

impl PassedKeys {
    pub(super) fn new(
        transaction: &Arc<SharedTransaction>,
        tree: &Arc<KeyspaceTree>,
        (start, end): (Vec<u8>, Option<Vec<u8>>),
    ) -> Self {
        let (whole, front) = ((start.clone(), end.clone()), start.clone());
        Self { transaction: Arc::clone(transaction), tree: Arc::clone(tree), whole, start, front, end }
    }

    /// Adds what one end passes by moving to a key; the whole rest, if there is no further one.
    fn pass(&mut self, forward: bool, key: Option<&[u8]>) {
        let checks = self.transaction.checks();
        match (key, forward) {
            (Some(key), true) => {
                let behind = [key, &[0]].concat();
                self.transaction.add_range(&self.tree, &self.start, Some(&behind));
                self.front = behind;
            }
            (Some(key), false) => {
                self.transaction.add_range(&self.tree, key, self.end.as_deref());
                self.end = Some(key.to_vec());
            }
            (None, _) if checks.has(ConflictCheck::EmptyIntervals) => {
                self.transaction.add_range(&self.tree, &self.start, self.end.as_deref());
            }
            (None, _) => {}
        }
    }

    /// Moves the front to a key, or to the beginning of the range. What it skips is not read.
    fn move_front(&mut self, start: &[u8]) {
        self.start = start.max(&self.whole.0).to_vec();
        self.front.clone_from(&self.start);
    }

    /// Moves the back before a key, or to the end of the range, likewise.
    fn move_back(&mut self, end: Option<&[u8]>) {
        let whole = self.whole.1.as_deref();
        self.end = whole.into_iter().chain(end).min().map(<[u8]>::to_vec);
    }
}

impl DbTransactionRange {
    pub(super) fn new(
        stored: DbRange,
        (own, removed): (VecDeque<OwnRecord>, KeyIntervals),
        passed: PassedKeys,
    ) -> Self {
        Self(WithOwnWrites::new(stored, (own, removed), passed))
    }

    /// Moves the front to the first record at or behind `key` that is in the range, as [`DbRange::seek`] does. The
    /// transaction has not read what was skipped.
    pub fn seek(&mut self, key: impl AsRef<[u8]>) {
        self.0.move_front(key.as_ref());
    }

    /// Moves the back to the last record at or before `key` that is in the range, likewise.
    pub fn seek_for_prev(&mut self, key: impl AsRef<[u8]>) {
        self.0.move_back(Some(&successor(key.as_ref())));
    }
}

impl MoveEnds for DbTransactionRange {
    fn move_front(&mut self, start: &[u8]) {
        self.0.move_front(start);
    }

    fn move_back(&mut self, end: Option<&[u8]>) {
        self.0.move_back(end);
    }
}

impl<S: MoveEnds, V, H> MoveEnds for WithOwnWrites<S, V, H> {
    fn move_front(&mut self, start: &[u8]) {
        if !self.has_failed {
            self.passed.move_front(start);
            self.place();
        }
    }

    fn move_back(&mut self, end: Option<&[u8]>) {
        if !self.has_failed {
            self.passed.move_back(end);
            self.place();
        }
    }
}

impl<S: MoveEnds, V, H> WithOwnWrites<S, V, H> {
    /// Goes on from where the ends stand, one of which was moved.
    fn place(&mut self) {
        let PassedKeys { front, end, .. } = &self.passed;
        // Either end may have read a record that it has not returned, or returned one that the other had read.
        self.next = [None, None];
        self.stored.move_front(front);
        if let Some(end) = end {
            self.stored.move_back(Some(end));
        }
        let first = self.own.partition_point(|(own, _)| own.as_ref() < front.as_slice());
        let last = self.own.partition_point(|(own, _)| end.as_ref().is_none_or(|end| own.as_ref() < end.as_slice()));
        self.left = first..last;
        self.is_done = false;
    }
}

impl<S, V, H> WithOwnWrites<S, V, H>
where
    S: DoubleEndedIterator<Item = Result<(Slice, V)>>,
    V: Clone,
    H: Hides<V>,
{
    pub(super) fn new(stored: S, (own, hidden): (VecDeque<(Slice, Option<V>)>, H), passed: PassedKeys) -> Self {
        let left = 0..own.len();
        Self { stored, next: [None, None], own, left, hidden, passed, is_done: false, has_failed: false }
    }

    /// The records of the snapshot.
    pub(super) fn stored(&self) -> &S {
        &self.stored
    }

    /// What hides records of the snapshot.
    pub(super) fn hidden(&self) -> &H {
        &self.hidden
    }

    /// The next record of one end.
    fn step(&mut self, forward: bool) -> Result<Option<(Slice, V)>> {
        loop {
            self.read_next(forward)?;
            let next = &mut self.next[usize::from(!forward)];
            let at = if forward { Some(self.left.start) } else { self.left.end.checked_sub(1) };
            let own = at.filter(|at| self.left.contains(at)).and_then(|at| self.own.get(at));
            let order = match (own, &next) {
                (None, None) => {
                    self.passed.pass(forward, None);
                    return Ok(None);
                }
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some((own, _)), Some((stored, _))) if forward => own.as_ref().cmp(stored.as_ref()),
                (Some((own, _)), Some((stored, _))) => stored.as_ref().cmp(own.as_ref()),
            };
            let stored = if order.is_ge() { next.take() } else { None };
            // An own write hides the record of the snapshot.
            let record = match own.filter(|_| order.is_le()) {
                Some((key, value)) => {
                    let record = value.clone().map(|value| (key.clone(), value));
                    match forward {
                        true => self.left.start += 1,
                        false => self.left.end -= 1,
                    }
                    record
                }
                None => stored,
            };
            if let Some(record) = record {
                self.passed.pass(forward, Some(&record.0));
                return Ok(Some(record));
            }
        }
    }

    /// Reads the next record of the snapshot at one end that is not hidden, if it was not read: at last the one that
    /// the other end has.
    fn read_next(&mut self, forward: bool) -> Result<()> {
        let [front, back] = &mut self.next;
        let (here, there) = if forward { (front, back) } else { (back, front) };
        while here.is_none() {
            let Some((key, value)) = if forward { self.stored.next() } else { self.stored.next_back() }.transpose()?
            else {
                break;
            };
            *here = (!self.hidden.hides(&key, &value)).then_some((key, value));
        }
        if here.is_none() {
            *here = there.take();
        }
        Ok(())
    }

    /// The next record of one end; none after the last one, and after an error.
    pub(super) fn guarded_step(&mut self, forward: bool) -> Option<Result<(Slice, V)>> {
        if self.is_done {
            return None;
        }
        let step = self.step(forward);
        self.is_done = !matches!(step, Ok(Some(_)));
        self.has_failed |= step.is_err();
        step.transpose()
    }
}

impl Iterator for DbTransactionRange {
    type Item = Result<(Slice, Slice)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.guarded_step(true)
    }
}

impl DoubleEndedIterator for DbTransactionRange {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.0.guarded_step(false)
    }
}
