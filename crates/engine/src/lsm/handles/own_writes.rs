//! The writes of a transaction that is not committed yet: in their order, and the newest of each key.

use super::keyspace::Keyspace;
use crate::block::Slice;
use crate::error::{Error, Result};
use crate::lsm::state::entry::{Action, KeyspaceId, ValueKind};
use crate::lsm::state::operations::{Operations, check_key};
use crate::lsm::state::transactions::read_set::ReadSet;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;

/// Approximate memory of a write beside its key, which is there twice, and its value, in bytes.
const WRITE_BYTES: u64 = 192;

/// A write: the new value of a key, or none if it was removed.
#[derive(Clone, Debug)]
struct OwnWrite {
    keyspace: Keyspace,
    /// The form in which the handle writes values.
    form: u64,
    key: Vec<u8>,
    value: Option<Slice>,
}

impl OwnWrite {
    fn bytes(&self) -> u64 {
        WRITE_BYTES + 2 * self.key.len() as u64 + self.value.as_ref().map_or(0, |value| value.len() as u64)
    }
}

/// A key with its new value, or none if it was removed.
pub(super) type OwnRecord = (Slice, Option<Slice>);

/// The writes of a transaction.
#[derive(Debug, Default)]
pub(super) struct OwnWrites {
    all: Vec<OwnWrite>,
    /// Where the newest write of each key is among them.
    newest: BTreeMap<KeyspaceId, BTreeMap<Vec<u8>, usize>>,
    bytes: u64,
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

    /// Adds a write, unless all of them then take more than `limit_bytes`.
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
        let written = keyspace.written();
        check_key(written, key)?;
        written.check_value_bytes(value.map_or(0, <[u8]>::len) as u64)?;
        let (form, value) = (written.form(), value.map(Slice::from));
        let write = OwnWrite { keyspace: keyspace.clone(), form, key: key.to_vec(), value };
        let bytes = self.bytes + write.bytes();
        if bytes > limit_bytes {
            return Err(Error::input(format!(
                "the writes of a transaction take at most {limit_bytes} bytes of memory, a part of that of the store; \
                 commit what was written, and go on in another transaction"
            )));
        }
        self.bytes = bytes;
        self.newest.entry(keyspace.id()).or_default().insert(write.key.clone(), self.all.len());
        self.all.push(write);
        Ok(())
    }

    /// The newest write of a key: its value, or none if it was removed.
    pub(super) fn get(&self, id: KeyspaceId, key: &[u8]) -> Option<Option<Slice>> {
        let at = *self.newest.get(&id)?.get(key)?;
        self.all.get(at).map(|write| write.value.clone())
    }

    /// The newest writes of the keys from `start` up to `end`, in key order.
    pub(super) fn within(&self, id: KeyspaceId, start: &[u8], end: Option<&[u8]>) -> VecDeque<OwnRecord> {
        let Some(of_keyspace) = self.newest.get(&id).filter(|_| end.is_none_or(|end| start < end)) else {
            return VecDeque::new();
        };
        let end = end.map_or(Bound::Unbounded, Bound::Excluded);
        let within = of_keyspace.range::<[u8], _>((Bound::Included(start), end));
        within.filter_map(|(key, at)| Some((Slice::from(&key[..]), self.all.get(*at)?.value.clone()))).collect()
    }

    /// Forgets all writes but the first ones.
    pub(super) fn truncate(&mut self, len: usize) {
        self.all.truncate(len);
        self.newest.clear();
        for (at, write) in self.all.iter().enumerate() {
            self.newest.entry(write.keyspace.id()).or_default().insert(write.key.clone(), at);
        }
        self.bytes = self.all.iter().map(OwnWrite::bytes).sum();
    }

    /// Adds the keys that are written to what was read.
    pub(super) fn add_to(&self, reads: &mut ReadSet) {
        self.all.iter().for_each(|write| reads.add_point(write.keyspace.tree(), &write.key));
    }

    /// The newest write of each key as operations of a batch.
    ///
    /// # Errors
    /// [`Cause::WrongType`](crate::Cause::WrongType) and [`Cause::Conflict`](crate::Cause::Conflict) if a keyspace was
    /// altered since it was written.
    pub(super) fn into_operations(self) -> Result<Operations> {
        let mut operations = Operations::default();
        for (at, write) in self.all.iter().enumerate() {
            let written = write.keyspace.written();
            if self.newest.get(&write.keyspace.id()).and_then(|keys| keys.get(&write.key)) != Some(&at) {
                continue;
            }
            written.check_types()?;
            if written.form() != write.form {
                let detail = "it has other types since the transaction wrote it";
                return Err(Error::conflict(write.keyspace.path(), write.keyspace.name(), detail));
            }
            let kind = if write.value.is_some() { ValueKind::Value } else { ValueKind::Remove };
            operations.push(written, Action::Put(kind), &write.key, write.value.as_deref().unwrap_or_default());
        }
        operations.take_error().map(|()| operations)
    }
}
