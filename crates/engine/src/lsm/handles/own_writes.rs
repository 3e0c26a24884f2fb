//! The writes of a transaction that is not committed yet: in their order, and what they make of each key.

use super::keyspace::Keyspace;
use crate::block::Slice;
use crate::error::{Error, Result};
use crate::lsm::state::entry::{Action, KeyspaceId, ValueKind};
use crate::lsm::state::operations::{Operations, check_ends, check_key, half_open};
use crate::lsm::state::transactions::key_intervals::KeyIntervals;
use crate::lsm::state::transactions::read_set::ReadSet;
use std::collections::{BTreeMap, VecDeque};
use std::ops::{Bound, RangeBounds};

/// Approximate memory of a write beside its key, which is there twice, and its value, in bytes.
const WRITE_BYTES: u64 = 192;

#[derive(Clone, Debug)]
struct OwnWrite {
    keyspace: Keyspace,
    /// The form in which the handle writes values.
    form: u64,
    /// The key, or the first one of a range.
    key: Vec<u8>,
    change: OwnChange,
}

/// A change of a key, or of a range of keys.
#[derive(Clone, Debug)]
pub(super) enum OwnChange {
    Set(Slice),
    /// A value that expires, and whether it had when the transaction began.
    SetExpiring(Slice, u64, bool),
    Remove,
    /// The keys from the one of the write up to this one, or all from there on.
    RemoveRange(Option<Vec<u8>>),
}

impl OwnWrite {
    fn bytes(&self) -> u64 {
        let of_change = match &self.change {
            OwnChange::Set(value) | OwnChange::SetExpiring(value, ..) => value.len(),
            OwnChange::Remove | OwnChange::RemoveRange(None) => 0,
            OwnChange::RemoveRange(Some(end)) => 2 * end.len(),
        };
        WRITE_BYTES + (2 * self.key.len() + of_change) as u64
    }
}

/// A key with its new value, or none if it was removed.
pub(super) type OwnRecord = (Slice, Option<Slice>);

/// The writes of a transaction.
#[derive(Debug, Default)]
pub(super) struct OwnWrites {
    all: Vec<OwnWrite>,
    outcomes: BTreeMap<KeyspaceId, OwnOutcome>,
    bytes: u64,
}

/// What the writes make of a keyspace.
#[derive(Debug, Default)]
struct OwnOutcome {
    /// Where the newest write of each key is among all, unless its range was removed after it.
    newest: BTreeMap<Vec<u8>, usize>,
    /// The ranges that were removed; keys that were written afterwards are in `newest`.
    removed: KeyIntervals,
}

impl OwnOutcome {
    fn add(&mut self, write: &OwnWrite, at: usize) {
        let OwnChange::RemoveRange(end) = &write.change else {
            self.newest.insert(write.key.clone(), at);
            return;
        };
        let mut behind = self.newest.split_off(&write.key);
        if let Some(end) = end {
            self.newest.append(&mut behind.split_off(end));
        }
        self.removed.add_range(&write.key, end.as_deref());
    }
}

impl OwnWrites {
    /// Number of writes.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Approximate memory in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Adds the new value of a key, or its removal, unless all writes then take more than `limit_bytes`.
    ///
    /// # Errors
    /// [`Cause::KeyLength`](crate::Cause::KeyLength); [`Cause::Input`](crate::Cause::Input) beyond the limit, and for
    /// values where keys are alone.
    pub(super) fn add(
        &mut self,
        keyspace: &Keyspace,
        key: &[u8],
        value: Option<&[u8]>,
        limit_bytes: u64,
    ) -> Result<()> {
        check_key(keyspace.written(), key)?;
        keyspace.written().check_value_bytes(value.map_or(0, <[u8]>::len) as u64)?;
        let change = value.map_or(OwnChange::Remove, |value| OwnChange::Set(Slice::from(value)));
        self.add_change(keyspace, key.to_vec(), change, limit_bytes)
    }

    /// As [`Self::add`], of a value that expires; at `now_ms` the transaction has begun.
    pub(super) fn add_expiring(
        &mut self,
        keyspace: &Keyspace,
        (key, value): (&[u8], &[u8]),
        (expires_ms, now_ms): (u64, u64),
        limit_bytes: u64,
    ) -> Result<()> {
        check_key(keyspace.written(), key)?;
        keyspace.written().check_value_bytes(value.len() as u64)?;
        let change = OwnChange::SetExpiring(Slice::from(value), expires_ms, expires_ms <= now_ms);
        self.add_change(keyspace, key.to_vec(), change, limit_bytes)
    }

    /// Adds the removal of a range, as [`Self::add`] does.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub(super) fn add_removal<K: AsRef<[u8]>>(
        &mut self,
        keyspace: &Keyspace,
        range: &impl RangeBounds<K>,
        limit_bytes: u64,
    ) -> Result<()> {
        check_ends(keyspace.written(), range)?;
        let (start, end) = half_open(range);
        match end.as_ref().is_none_or(|end| start < *end) {
            true => self.add_change(keyspace, start, OwnChange::RemoveRange(end), limit_bytes),
            false => Ok(()),
        }
    }

    fn add_change(&mut self, keyspace: &Keyspace, key: Vec<u8>, change: OwnChange, limit_bytes: u64) -> Result<()> {
        let write = OwnWrite { keyspace: keyspace.clone(), form: keyspace.written().form(), key, change };
        let bytes = self.bytes + write.bytes();
        if bytes > limit_bytes {
            return Err(Error::input(format!(
                "the writes of a transaction take at most {limit_bytes} bytes of memory, a part of that of the store; \
                 commit what was written, and go on in another transaction"
            )));
        }
        self.bytes = bytes;
        self.outcomes.entry(keyspace.id()).or_default().add(&write, self.all.len());
        self.all.push(write);
        Ok(())
    }

    /// The writes behind the first ones, each with its keyspace and its key.
    pub(super) fn since(&self, first: usize) -> impl Iterator<Item = (KeyspaceId, &[u8], &OwnChange)> {
        let writes = self.all.iter().skip(first);
        writes.map(|write| (write.keyspace.id(), &write.key[..], &write.change))
    }

    /// What the writes make of a key: its value, or none if it was removed.
    pub(super) fn get(&self, id: KeyspaceId, key: &[u8]) -> Option<Option<Slice>> {
        let OwnOutcome { newest, removed } = self.outcomes.get(&id)?;
        match newest.get(key) {
            Some(at) => self.value(*at),
            None => removed.contains(key).then_some(None),
        }
    }

    fn value(&self, at: usize) -> Option<Option<Slice>> {
        match &self.all.get(at)?.change {
            OwnChange::Set(value) | OwnChange::SetExpiring(value, _, false) => Some(Some(value.clone())),
            OwnChange::SetExpiring(_, _, true) | OwnChange::Remove | OwnChange::RemoveRange(_) => Some(None),
        }
    }

    /// The newest writes of the keys from `start` up to `end`, in key order.
    pub(super) fn within(&self, id: KeyspaceId, start: &[u8], end: Option<&[u8]>) -> VecDeque<OwnRecord> {
        let Some(outcome) = self.outcomes.get(&id).filter(|_| end.is_none_or(|end| start < end)) else {
            return VecDeque::new();
        };
        let end = end.map_or(Bound::Unbounded, Bound::Excluded);
        let within = outcome.newest.range::<[u8], _>((Bound::Included(start), end));
        within.filter_map(|(key, at)| Some((Slice::from(&key[..]), self.value(*at)?))).collect()
    }

    /// The ranges of a keyspace that were removed.
    pub(super) fn removed(&self, id: KeyspaceId) -> KeyIntervals {
        self.outcomes.get(&id).map(|outcome| outcome.removed.clone()).unwrap_or_default()
    }

    /// Forgets all writes but the first ones.
    pub(super) fn truncate(&mut self, len: usize) {
        self.all.truncate(len);
        self.outcomes.clear();
        for (at, write) in self.all.iter().enumerate() {
            self.outcomes.entry(write.keyspace.id()).or_default().add(write, at);
        }
        self.bytes = self.all.iter().map(OwnWrite::bytes).sum();
    }

    /// Adds the keys that are written to what was read.
    pub(super) fn add_to(&self, reads: &mut ReadSet) {
        for OwnWrite { keyspace, key, change, .. } in &self.all {
            match change {
                OwnChange::Set(_) | OwnChange::SetExpiring(..) | OwnChange::Remove => {
                    reads.add_point(keyspace.tree(), key)
                }
                OwnChange::RemoveRange(end) => reads.add_range(keyspace.tree(), key, end.as_deref()),
            }
        }
    }

    /// The newest write of each key, and all removals of ranges, as operations of a batch.
    ///
    /// # Errors
    /// [`Cause::WrongType`](crate::Cause::WrongType) and [`Cause::Conflict`](crate::Cause::Conflict) if a keyspace was
    /// altered since it was written.
    pub(super) fn into_operations(self) -> Result<Operations> {
        let mut operations = Operations::default();
        for (at, OwnWrite { keyspace, form, key, change }) in self.all.iter().enumerate() {
            let written = keyspace.written();
            let newest = self.outcomes.get(&keyspace.id()).and_then(|outcome| outcome.newest.get(key));
            if newest != Some(&at) && !matches!(change, OwnChange::RemoveRange(_)) {
                continue;
            }
            written.check_types()?;
            if written.form() != *form {
                let detail = "it has other types since the transaction wrote it";
                return Err(Error::conflict(keyspace.path(), keyspace.name(), detail));
            }
            match change {
                OwnChange::Set(value) => operations.push(written, Action::Put(ValueKind::Value), key, value),
                OwnChange::SetExpiring(value, expires_ms, _) => {
                    operations.push_value(written, key, value, Some(*expires_ms));
                }
                OwnChange::Remove => operations.push(written, Action::Put(ValueKind::Remove), key, &[]),
                OwnChange::RemoveRange(end) => {
                    let end = end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
                    operations.push_range::<&[u8]>(written, &(Bound::Included(&key[..]), end));
                }
            }
        }
        operations.take_error().map(|()| operations)
    }
}
