//! Rows in the order of an index, from either end: entries are read from a snapshot, their rows in waves, and each is
//! compared with the entry that led to it.

use crate::block::Slice;
use crate::error::{Error, Result};
use crate::lsm::handles::keyspace::Keyspace;
use crate::lsm::handles::pinned_types::PinnedTypes;
use crate::lsm::handles::range::DbRange;
use crate::lsm::handles::range::seek::MoveEnds;
use crate::lsm::handles::snapshot::DbSnapshot;
use crate::lsm::state::indexes::kept::KeptIndex;
use crate::types::{KeyType, Value};
use std::collections::VecDeque;
use std::ops::Bound;
use std::sync::Arc;

/// Rows that are read in the first wave of a lookup, and at most in a later one.
const WAVE_MIN: usize = 16;
const WAVE_MAX: usize = 256;

/// The key of a row, and the row.
pub(in crate::lsm) type KeyWithRow = (Slice, Slice);

/// Rows in the order of an index, each with the entry that led to it. After an error it ends.
#[derive(Debug)]
pub(in crate::lsm) struct IndexRows {
    of: RowsOfIndex,
    snapshot: DbSnapshot,
    entries: DbRange,
    /// Rows that were read from each end, in the order in which that end returns them.
    front: VecDeque<(Slice, KeyWithRow)>,
    back: VecDeque<(Slice, KeyWithRow)>,
    wave: usize,
    is_done: bool,
    has_failed: bool,
    /// Where the front and the back stand, once they have returned a row or were moved.
    stands: [Option<Bound<Slice>>; 2],
}

/// An index, and the keyspace of its rows.
#[derive(Clone, Debug)]
pub(in crate::lsm) struct RowsOfIndex {
    pub(in crate::lsm) index: KeptIndex,
    pub(in crate::lsm) rows: Keyspace,
    /// Keeps the types by which a typed handle reads the rows: they may get fields, which it does not see.
    pub(in crate::lsm) _pinned: Option<PinnedTypes>,
}

impl IndexRows {
    pub(in crate::lsm) fn new(of: RowsOfIndex, snapshot: DbSnapshot, entries: DbRange) -> Self {
        let (front, back) = Default::default();
        let (wave, stands) = (WAVE_MIN, [None, None]);
        Self { of, snapshot, entries, front, back, wave, is_done: false, has_failed: false, stands }
    }

    /// Values as entries of the index begin with them.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) for values of other types.
    pub(in crate::lsm) fn encode(&self, values: &[Value]) -> Result<Vec<u8>> {
        let tuple = self.of.index.resolved(self.of.rows.tree())?.tuple();
        KeyType::Tuple(tuple).encode_prefix(values)
    }

    /// Moves one end to a bound. Rows that either end has read and not returned are read again.
    fn move_end(&mut self, forward: bool, to: Bound<&[u8]>) {
        if self.has_failed {
            return;
        }
        self.stands[usize::from(!forward)] = Some(to.map(Slice::from));
        for forward in [true, false] {
            let stands = &self.stands[usize::from(!forward)];
            let to = stands.as_ref().map_or(Bound::Unbounded, |bound| bound.as_ref().map(Slice::as_ref));
            self.entries.move_end(forward, to);
        }
        (self.front, self.back) = Default::default();
        (self.wave, self.is_done) = (WAVE_MIN, false);
    }

    fn ready(&mut self, forward: bool) -> &mut VecDeque<(Slice, KeyWithRow)> {
        if forward { &mut self.front } else { &mut self.back }
    }

    /// The next row of an end.
    fn step(&mut self, forward: bool) -> Option<Result<(Slice, KeyWithRow)>> {
        let step = self.try_step(forward);
        if let Some(Ok((entry, _))) = &step {
            self.stands[usize::from(!forward)] = Some(Bound::Excluded(entry.clone()));
        }
        step
    }

    fn try_step(&mut self, forward: bool) -> Option<Result<(Slice, KeyWithRow)>> {
        loop {
            if let Some(row) = self.ready(forward).pop_front() {
                return Some(Ok(row));
            }
            if self.is_done {
                return self.ready(!forward).pop_back().map(Ok);
            }
            if let Err(error) = self.read(forward) {
                (self.is_done, self.has_failed) = (true, true);
                (self.front, self.back) = Default::default();
                return Some(Err(error));
            }
        }
    }

    /// Reads the rows of the next entries of an end.
    fn read(&mut self, forward: bool) -> Result<()> {
        let mut entries = Vec::with_capacity(self.wave);
        while entries.len() < self.wave {
            let next = if forward { self.entries.next() } else { self.entries.next_back() };
            match next {
                Some(entry) => entries.push(entry?.0),
                None => break,
            }
        }
        self.is_done = entries.len() < self.wave;
        self.wave = (self.wave * 2).min(WAVE_MAX);
        let found = self.rows_of(entries)?;
        self.ready(forward).extend(found);
        Ok(())
    }

    /// The rows of entries, without those that have other values than their entry.
    fn rows_of(&self, entries: Vec<Slice>) -> Result<Vec<(Slice, KeyWithRow)>> {
        let RowsOfIndex { index, rows: keyspace, .. } = &self.of;
        loop {
            let resolved = index.resolved(keyspace.tree())?;
            let no_entry = || Error::input(format!("an entry of the index {:?} is none", index.name()));
            let key = |entry: &Slice| resolved.key_of(entry).map(Slice::from).ok_or_else(no_entry);
            let keys = entries.iter().map(key).collect::<Result<Vec<_>>>()?;
            let rows = self.snapshot.multi_get(keyspace, &keys)?;
            // Rows are read in the types of now.
            if !Arc::ptr_eq(&resolved, &index.resolved(keyspace.tree())?) {
                continue;
            }
            let mut found = Vec::with_capacity(entries.len());
            for ((entry, key), row) in entries.into_iter().zip(keys).zip(rows) {
                let Some(row) = row else { continue };
                let values = resolved.values_of(&key, &row)?;
                if values.is_some_and(|values| entry.get(..entry.len() - key.len()) == Some(&values.bytes[..])) {
                    found.push((entry, (key, row)));
                }
            }
            return Ok(found);
        }
    }
}

impl MoveEnds for IndexRows {
    fn move_front(&mut self, start: &[u8]) {
        self.move_end(true, Bound::Included(start));
    }

    fn move_back(&mut self, end: Option<&[u8]>) {
        self.move_end(false, end.map_or(Bound::Unbounded, Bound::Excluded));
    }
}

impl Iterator for IndexRows {
    type Item = Result<(Slice, KeyWithRow)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step(true)
    }
}

impl DoubleEndedIterator for IndexRows {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.step(false)
    }
}
