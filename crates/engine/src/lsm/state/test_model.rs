//! A reference model for tests: versions of keys as a sorted list, to compare cursors and compactions with.

use crate::block::Slice;
use crate::error::{Error, Result};
use crate::lsm::state::cursor::EntryCursor;
use crate::lsm::state::entry::{Entry, Sequence, ValueKind};
use crate::lsm::state::range_tombstones::RangeTombstones;
use proptest::prelude::*;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A version of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OwnedEntry {
    pub(crate) key: Vec<u8>,
    pub(crate) sequence: Sequence,
    pub(crate) kind: ValueKind,
    pub(crate) value: Vec<u8>,
}

impl OwnedEntry {
    pub(crate) fn entry(&self) -> Entry<'_> {
        Entry { key: &self.key, sequence: self.sequence, kind: self.kind, value: &self.value }
    }
}

/// All versions and range tombstones of a store, or of a part of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    /// In cursor order.
    pub(crate) versions: Vec<OwnedEntry>,
    pub(crate) tombstones: RangeTombstones,
}

impl History {
    /// Applies operations; the first has the sequence number `first`.
    pub(crate) fn of(operations: &[TestOperation], first: Sequence) -> Self {
        let mut history = Self::default();
        for (operation, sequence) in operations.iter().zip(first..) {
            match operation {
                TestOperation::Put(key, kind, value) => {
                    let value = if *kind == ValueKind::Remove { Vec::new() } else { value.clone() };
                    history.versions.push(OwnedEntry { key: key.clone(), sequence, kind: *kind, value });
                }
                TestOperation::RemoveRange(start, end) => history.tombstones.add(start, end, sequence),
            }
        }
        history.sort();
        history
    }

    pub(crate) fn sort(&mut self) {
        self.versions
            .sort_by(|one, other| (&one.key, Reverse(one.sequence)).cmp(&(&other.key, Reverse(other.sequence))));
    }

    /// The union with an older history.
    pub(crate) fn with(&self, older: &Self) -> Self {
        let mut joined = self.clone();
        joined.versions.extend(older.versions.iter().cloned());
        joined.tombstones.extend(&older.tombstones);
        joined.sort();
        joined
    }

    /// The records visible at `at` before any has expired.
    pub(crate) fn seen(&self, at: Sequence) -> BTreeMap<Vec<u8>, (ValueKind, Vec<u8>)> {
        self.seen_by(at, 0)
    }

    /// The records visible at `at` and a time, without their own times.
    pub(crate) fn seen_by(&self, at: Sequence, now_ms: u64) -> BTreeMap<Vec<u8>, (ValueKind, Vec<u8>)> {
        let mut newest: BTreeMap<&[u8], &OwnedEntry> = BTreeMap::new();
        for version in self.versions.iter().filter(|version| version.sequence <= at) {
            newest.entry(&version.key).or_insert(version);
        }
        let shown = newest.into_values().filter(|version| {
            let hidden = self.tombstones.iter().any(|removal| {
                removal.sequence <= at && removal.sequence > version.sequence && removal.covers(&version.key)
            });
            let is_alive = version.entry().expires_ms().is_none_or(|expires_ms| expires_ms > now_ms);
            version.kind != ValueKind::Remove && is_alive && !hidden
        });
        let record = |version: &OwnedEntry| (version.kind.without_expiry(), version.entry().stored().to_vec());
        shown.map(|version| (version.key.clone(), record(version))).collect()
    }

    pub(crate) fn cursor(&self) -> Box<dyn EntryCursor> {
        Box::new(ListCursor { versions: self.versions.clone().into(), at: None, fails_after: usize::MAX })
    }

    /// A cursor that fails after some moves.
    pub(crate) fn failing_cursor(&self, moves: usize) -> Box<dyn EntryCursor> {
        Box::new(ListCursor { versions: self.versions.clone().into(), at: None, fails_after: moves })
    }
}

/// A generated operation.
#[derive(Clone, Debug)]
pub(crate) enum TestOperation {
    Put(Vec<u8>, ValueKind, Vec<u8>),
    RemoveRange(Vec<u8>, Vec<u8>),
}

/// Keys that are often equal, prefixes of each other, or empty.
pub(crate) fn keys() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        proptest::collection::vec(0..3_u8, 0..3),
        (0..40_u8).prop_map(|byte| vec![b'k', byte]),
        Just(vec![255; 9]),
    ]
}

/// Times at which entries expire, at most, in tests.
pub(crate) const TIME_MAX_MS: u64 = 9;

/// Operations, one in fifteen of which removes a range, and three put entries that expire.
pub(crate) fn steps(most: usize) -> impl Strategy<Value = Vec<TestOperation>> {
    let value = proptest::collection::vec(any::<u8>(), 0..6);
    let expiring = (keys(), value.clone(), 1..=TIME_MAX_MS).prop_map(|(key, value, expires_ms)| {
        let stored = [&expires_ms.to_le_bytes()[..], &value].concat();
        TestOperation::Put(key, ValueKind::ExpiringValue, stored)
    });
    let put = (keys(), value).prop_map(|(key, value)| TestOperation::Put(key, ValueKind::Value, value));
    let remove = keys().prop_map(|key| TestOperation::Put(key, ValueKind::Remove, Vec::new()));
    let range = (keys(), keys())
        .prop_map(|(one, other)| TestOperation::RemoveRange(one.clone().min(other.clone()), one.max(other)));
    proptest::collection::vec(prop_oneof![8 => put, 3 => expiring, 3 => remove, 1 => range], 0..most)
}

#[derive(Debug)]
struct ListCursor {
    versions: Arc<[OwnedEntry]>,
    at: Option<usize>,
    fails_after: usize,
}

impl ListCursor {
    fn go(&mut self, at: Option<usize>) -> Result<()> {
        if self.fails_after == 0 {
            self.at = None;
            return Err(Error::input("made to fail"));
        }
        self.fails_after -= 1;
        self.at = at.filter(|&at| at < self.versions.len());
        Ok(())
    }
}

impl EntryCursor for ListCursor {
    fn entry(&self) -> Option<Entry<'_>> {
        let version = &self.versions[self.at?];
        Some(Entry { key: &version.key, sequence: version.sequence, kind: version.kind, value: &version.value })
    }

    fn value_slice(&self) -> Option<Slice> {
        self.entry().map(|entry| entry.value.into())
    }

    fn seek(&mut self, key: &[u8], sequence: Sequence) -> Result<()> {
        let before =
            |version: &OwnedEntry| (version.key.as_slice(), Reverse(version.sequence)) < (key, Reverse(sequence));
        self.go(Some(self.versions.partition_point(before)))
    }

    fn seek_before(&mut self, key: &[u8]) -> Result<()> {
        self.go(self.versions.partition_point(|version| version.key.as_slice() < key).checked_sub(1))
    }

    fn first(&mut self) -> Result<()> {
        self.go(Some(0))
    }

    fn last(&mut self) -> Result<()> {
        self.go(self.versions.len().checked_sub(1))
    }

    fn next(&mut self) -> Result<()> {
        self.go(self.at.map(|at| at + 1))
    }

    fn prev(&mut self) -> Result<()> {
        self.go(self.at.and_then(|at| at.checked_sub(1)))
    }
}
