//! The operations of a batch, encoded.

use super::entry::{Action, GROUP_HEAD_BYTES, KeyspaceId, Sequence, ValueKind, encode_operation_of};
use super::keyspace_tree::KeyspaceTree;
use super::transactions::read_set::ReadSet;
use super::value_forms::mark_of;
use super::written_keyspace::{WrittenKeyspace, wrong};
use crate::block::stream::VALUE_BYTES_MAX;
use crate::error::{Error, Result};
use crate::table::KEY_BYTES_MAX;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

/// Typical length of what an encoded operation has besides key and value: its code, and three short varints.
const OPERATION_HEAD_BYTES: usize = 6;

/// Encoded operations, with space for a group header in front if there are any.
#[derive(Debug, Default)]
pub(in crate::lsm) struct Operations {
    pub(in crate::lsm) bytes: Vec<u8>,
    pub(in crate::lsm) count: u64,
    /// Length of the longest value, if there is one.
    pub(in crate::lsm) longest_value_bytes: Option<u64>,
    /// The keyspaces that the operations change.
    pub(in crate::lsm) keyspaces: Vec<Arc<KeyspaceTree>>,
    /// Behind a pointer, because each write moves its operations several times.
    exceptions: Option<Box<Exceptions>>,
}

/// What few batches have beside their operations.
#[derive(Debug, Default)]
struct Exceptions {
    /// The handles that state types with the operations, one for each keyspace.
    stating: Vec<WrittenKeyspace>,
    /// The error of the first operation that was refused, and how many were.
    error: Option<Error>,
    refused: u64,
    condition: Option<ReadCondition>,
    upkeep: Option<Upkeep>,
    /// Whether the batch was not admitted because it lacks the changes of indexes, or they are out of date.
    is_stale: bool,
    /// Whether the caller states that the keys are absent.
    are_absent: bool,
    /// Whether any record expires.
    expire: bool,
}

/// The changes of the entries of indexes, which are the last operations of a batch.
#[derive(Debug)]
pub(in crate::lsm) struct Upkeep {
    /// The rows and entries that they were computed from.
    pub(in crate::lsm) condition: ReadCondition,
    /// How often the indexes of each keyspace that the batch changes had changed then.
    pub(in crate::lsm) seen: Vec<(KeyspaceId, u64)>,
    /// The length of the batch without them, in operations, bytes and keyspaces, and its longest value.
    without: (u64, usize, usize, Option<u64>),
}

/// The condition of a transaction: no other write has met what it has read.
#[derive(Debug)]
pub(in crate::lsm) struct ReadCondition {
    pub(in crate::lsm) reads: ReadSet,
    /// The newest operation that it has seen, or that was found to be no conflict.
    pub(in crate::lsm) after: Sequence,
}

impl Operations {
    /// The handles that state types with the operations, one for each keyspace.
    pub(in crate::lsm) fn stating(&self) -> &[WrittenKeyspace] {
        self.exceptions.as_ref().map_or(&[], |exceptions| &exceptions.stating)
    }

    /// The condition under which the operations are committed, if there is one.
    pub(in crate::lsm) fn condition(&self) -> Option<&ReadCondition> {
        self.exceptions.as_ref()?.condition.as_ref()
    }

    /// As [`Self::condition`], to be changed.
    pub(in crate::lsm) fn condition_mut(&mut self) -> Option<&mut ReadCondition> {
        self.exceptions.as_mut()?.condition.as_mut()
    }

    /// Sets the condition under which the operations are committed, unless nothing was read.
    pub(in crate::lsm) fn set_condition(&mut self, condition: ReadCondition) {
        if !condition.reads.is_empty() {
            self.exceptions.get_or_insert_default().condition = Some(condition);
        }
    }

    /// Whether indexes must be kept: one atomic load for each keyspace.
    #[inline]
    pub(in crate::lsm) fn have_indexes(&self) -> bool {
        self.keyspaces.iter().any(|tree| tree.indexes.changes() > 0)
    }

    /// Whether the indexes that the batch keeps are those that there are.
    #[inline]
    pub(in crate::lsm) fn keep_all_indexes(&self) -> bool {
        let seen = self.upkeep().map_or(&[][..], |upkeep| &upkeep.seen);
        self.keyspaces.iter().all(|tree| {
            let of_tree = seen.iter().find(|(id, _)| *id == tree.id);
            tree.indexes.changes() == of_tree.map_or(0, |(_, changes)| *changes)
        })
    }

    /// Notes that the caller states that the keys are absent: the rows that they had are not read.
    pub(in crate::lsm) fn trust_absence(&mut self) {
        self.exceptions.get_or_insert_default().are_absent = true;
    }

    /// Whether the caller states that the keys are absent.
    pub(in crate::lsm) fn are_absent(&self) -> bool {
        self.exceptions.as_ref().is_some_and(|exceptions| exceptions.are_absent)
    }

    /// Whether any record expires.
    #[inline]
    pub(in crate::lsm) fn expire(&self) -> bool {
        self.exceptions.as_ref().is_some_and(|exceptions| exceptions.expire)
    }

    /// The changes of indexes, if they were added.
    pub(in crate::lsm) fn upkeep(&self) -> Option<&Upkeep> {
        self.exceptions.as_ref()?.upkeep.as_ref()
    }

    /// Adds changes of `entries` as the last operations.
    pub(in crate::lsm) fn add_upkeep(&mut self, condition: ReadCondition, seen: Vec<(KeyspaceId, u64)>, entries: Self) {
        let without = (self.count, self.bytes.len(), self.keyspaces.len(), self.longest_value_bytes);
        self.bytes.extend_from_slice(entries.bytes.get(GROUP_HEAD_BYTES..).unwrap_or_default());
        self.count += entries.count;
        self.longest_value_bytes = self.longest_value_bytes.max(entries.longest_value_bytes);
        self.keyspaces.extend(entries.keyspaces);
        self.exceptions.get_or_insert_default().upkeep = Some(Upkeep { condition, seen, without });
    }

    /// Takes the changes of indexes out again.
    pub(in crate::lsm) fn drop_upkeep(&mut self) {
        let Some(upkeep) = self.exceptions.as_mut().and_then(|exceptions| exceptions.upkeep.take()) else { return };
        let (count, bytes, keyspaces, longest) = upkeep.without;
        self.bytes.truncate(bytes);
        self.keyspaces.truncate(keyspaces);
        (self.count, self.longest_value_bytes) = (count, longest);
    }

    /// Notes that the changes of indexes must be computed again.
    #[cold]
    pub(in crate::lsm) fn set_stale(&mut self) {
        self.exceptions.get_or_insert_default().is_stale = true;
    }

    /// Whether the changes of indexes must be computed again; they count as new from now on.
    pub(in crate::lsm) fn take_stale(&mut self) -> bool {
        self.exceptions.as_mut().is_some_and(|exceptions| std::mem::take(&mut exceptions.is_stale))
    }

    /// The same operations without their condition and errors, to try again.
    pub(in crate::lsm) fn again(&self) -> Self {
        let stating = self.stating().to_vec();
        let expire = self.expire();
        let exceptions =
            (expire || !stating.is_empty()).then(|| Box::new(Exceptions { stating, expire, ..Exceptions::default() }));
        let (bytes, keyspaces) = (self.bytes.clone(), self.keyspaces.clone());
        Self { bytes, keyspaces, exceptions, ..*self }
    }

    /// Number of operations that were refused.
    pub(in crate::lsm) fn refused(&self) -> u64 {
        self.exceptions.as_ref().map_or(0, |exceptions| exceptions.refused)
    }

    /// Adds an operation; a key or value that is too long is recorded as an error.
    pub(in crate::lsm) fn push(&mut self, keyspace: &WrittenKeyspace, action: Action, key: &[u8], value: &[u8]) {
        if action == Action::Put(ValueKind::Value) && keyspace.tree().has_expiry_rule() {
            return self.push_by_rule(keyspace, key, value);
        }
        self.push_checked(keyspace, check_key(keyspace, key), (action, None), key, value);
    }

    /// Adds a value that expires by the rule of its keyspace.
    #[cold]
    fn push_by_rule(&mut self, keyspace: &WrittenKeyspace, key: &[u8], value: &[u8]) {
        match keyspace.expires_ms(value) {
            Ok(expires_ms) => self.push_value(keyspace, key, value, expires_ms),
            Err(error) => self.refuse(error),
        }
    }

    /// As [`Self::push`], of a value that expires at a time, in milliseconds since the start of 1970, if there is
    /// one, whatever the rule of its keyspace.
    pub(in crate::lsm) fn push_value(
        &mut self,
        keyspace: &WrittenKeyspace,
        key: &[u8],
        value: &[u8],
        expires_ms: Option<u64>,
    ) {
        let kind = if expires_ms.is_some() { ValueKind::ExpiringValue } else { ValueKind::Value };
        self.push_checked(keyspace, check_key(keyspace, key), (Action::Put(kind), expires_ms), key, value);
        if expires_ms.is_some() {
            self.exceptions.get_or_insert_default().expire = true;
        }
    }

    /// As [`Self::push`], for a key that was checked already.
    fn push_checked(
        &mut self,
        keyspace: &WrittenKeyspace,
        checked: Result<()>,
        (action, expires_ms): (Action, Option<u64>),
        key: &[u8],
        value: &[u8],
    ) {
        let is_value = matches!(action, Action::Put(ValueKind::Value | ValueKind::ExpiringValue));
        let form = if is_value { keyspace.form() } else { 0 };
        let mark = match expires_ms {
            None => mark_of(form),
            Some(expires_ms) => [&expires_ms.to_le_bytes()[..], &mark_of(form)].concat(),
        };
        let checked = checked.and_then(|()| match (mark.len() + value.len()) as u64 {
            length if length > VALUE_BYTES_MAX => Err(Error::value_too_large(keyspace.path(), length, VALUE_BYTES_MAX)),
            length if is_value => {
                self.longest_value_bytes = self.longest_value_bytes.max(Some(length));
                keyspace.check_value_bytes(value.len() as u64)
            }
            _ => Ok(()),
        });
        let checked = match keyspace.statement() {
            Some(_) => checked.and_then(|()| self.note_statement(keyspace)),
            None => checked,
        };
        match checked {
            Ok(()) => {
                if self.keyspaces.last().is_none_or(|tree| tree.id != keyspace.id()) {
                    self.note(keyspace);
                }
                if self.bytes.is_empty() {
                    // One operation is all that most batches have.
                    self.bytes.reserve_exact(GROUP_HEAD_BYTES + OPERATION_HEAD_BYTES + key.len() + value.len());
                    self.bytes.resize(GROUP_HEAD_BYTES, 0);
                }
                encode_operation_of(&mut self.bytes, action, keyspace.id(), key, &mark, value);
                self.count += 1;
            }
            Err(error) => self.refuse(error),
        }
    }

    /// Keeps the first error of operations that are refused.
    #[cold]
    pub(in crate::lsm) fn refuse(&mut self, error: Error) {
        let exceptions = self.exceptions.get_or_insert_default();
        exceptions.refused += 1;
        exceptions.error.get_or_insert(error);
    }

    fn note(&mut self, keyspace: &WrittenKeyspace) {
        if self.keyspaces.iter().all(|tree| tree.id != keyspace.id()) {
            self.keyspaces.push(Arc::clone(keyspace.tree()));
        }
    }

    /// Keeps what a handle states; types other than those of an earlier operation are an error.
    #[cold]
    fn note_statement(&mut self, keyspace: &WrittenKeyspace) -> Result<()> {
        let stating = &mut self.exceptions.get_or_insert_default().stating;
        let known = stating.iter().find(|known| *known == keyspace);
        match (known.and_then(WrittenKeyspace::statement), keyspace.statement()) {
            (None, _) => stating.push(keyspace.clone().in_form_of_now()),
            (Some(known), Some(stated)) if known.types != stated.types => {
                return Err(wrong(keyspace, &known.types, &stated.types, 0));
            }
            _ => {}
        }
        Ok(())
    }

    /// Adds a range removal.
    pub(in crate::lsm) fn push_range<K: AsRef<[u8]>>(
        &mut self,
        keyspace: &WrittenKeyspace,
        range: &impl RangeBounds<K>,
    ) {
        let checked = check_ends(keyspace, range);
        let (start, end) = half_open(range);
        if end.as_ref().is_none_or(|end| start < *end) || checked.is_err() {
            self.push_checked(keyspace, checked, (Action::RemoveRange, None), &start, &end.unwrap_or_default());
        }
    }

    /// Size of the operations in bytes.
    pub(in crate::lsm) fn byte_len(&self) -> usize {
        self.bytes.len().saturating_sub(GROUP_HEAD_BYTES)
    }

    /// Returns the first error, if any.
    pub(in crate::lsm) fn take_error(&mut self) -> Result<()> {
        self.exceptions.as_mut().and_then(|exceptions| exceptions.error.take()).map_or(Ok(()), Err)
    }
}

/// Checks the length of a key.
pub(in crate::lsm) fn check_key(keyspace: &WrittenKeyspace, key: &[u8]) -> Result<()> {
    if key.len() > KEY_BYTES_MAX {
        let detail = format!("keys have at most {KEY_BYTES_MAX} bytes");
        return Err(Error::key_length(keyspace.path(), key.len() as u64, detail));
    }
    Ok(())
}

/// Checks the lengths of the keys that bound a range.
pub(in crate::lsm) fn check_ends<K: AsRef<[u8]>>(
    keyspace: &WrittenKeyspace,
    range: &impl RangeBounds<K>,
) -> Result<()> {
    [range.start_bound(), range.end_bound()].into_iter().try_for_each(|end| match end {
        Bound::Included(key) | Bound::Excluded(key) => check_key(keyspace, key.as_ref()),
        Bound::Unbounded => Ok(()),
    })
}

/// A key range as its first key, and the first key behind it if the range has an end.
pub(in crate::lsm) fn half_open<K: AsRef<[u8]>>(range: &impl RangeBounds<K>) -> (Vec<u8>, Option<Vec<u8>>) {
    let behind = |key: &[u8]| [key, &[0]].concat();
    let start = match range.start_bound() {
        Bound::Unbounded => Vec::new(),
        Bound::Included(key) => key.as_ref().to_vec(),
        Bound::Excluded(key) => behind(key.as_ref()),
    };
    let end = match range.end_bound() {
        Bound::Unbounded => None,
        Bound::Included(key) => Some(behind(key.as_ref())),
        Bound::Excluded(key) => Some(key.as_ref().to_vec()),
    };
    (start, end)
}
