//! Entries, and the encoding of operations in write groups.

pub(crate) use crate::block::varint::{put_varint, take_varint};
use std::ops::Range;

/// The sequence number of an operation, increasing by one. A reader sees operations up to its own number.
pub(crate) type Sequence = u64;

/// The largest sequence number: tables use the other eight bits of the word.
pub(crate) const SEQUENCE_MAX: Sequence = (1 << 56) - 1;

/// The number of a keyspace, never reused.
pub(crate) type KeyspaceId = u32;

/// The kind of an entry: a value, a pointer to one, or a removal. The code 3 is that of a range removal in groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(crate) enum ValueKind {
    /// The key was removed.
    Remove = 0,
    /// The value is stored inline.
    Value = 1,
    /// The value is in a value file, and a pointer is stored.
    Pointer = 2,
    /// As [`Self::Value`], behind the time at which it expires.
    ExpiringValue = 4,
    /// As [`Self::Pointer`], behind the time at which it expires.
    ExpiringPointer = 5,
}

/// Length of the time at which an entry expires, in front of its value or pointer: milliseconds since the start of
/// 1970, little-endian.
pub(crate) const EXPIRY_BYTES: usize = 8;

/// Splits a stored value of an expiring entry into its time and the value or pointer; `None` if it has no time.
#[inline]
pub(crate) fn split_expiry(stored: &[u8]) -> Option<(u64, &[u8])> {
    let (time, rest) = stored.split_first_chunk::<EXPIRY_BYTES>()?;
    Some((u64::from_le_bytes(*time), rest))
}

impl ValueKind {
    #[inline]
    pub(crate) fn from_code(code: u8) -> Option<Self> {
        // A load, where a match of codes with a gap takes several steps; it is made for every entry that is read.
        const KINDS: [Option<ValueKind>; 6] = [
            Some(ValueKind::Remove),
            Some(ValueKind::Value),
            Some(ValueKind::Pointer),
            None,
            Some(ValueKind::ExpiringValue),
            Some(ValueKind::ExpiringPointer),
        ];
        *KINDS.get(usize::from(code))?
    }

    /// Whether a time is stored in front of the value or pointer.
    #[inline]
    pub(crate) fn expires(self) -> bool {
        matches!(self, Self::ExpiringValue | Self::ExpiringPointer)
    }

    /// Whether there is a value, or a pointer to one, that does not expire.
    #[inline]
    pub(crate) fn is_plain(self) -> bool {
        matches!(self, Self::Value | Self::Pointer)
    }

    /// Whether a pointer is stored.
    #[inline]
    pub(crate) fn is_pointer(self) -> bool {
        matches!(self, Self::Pointer | Self::ExpiringPointer)
    }

    /// The kind of the value without its time.
    pub(crate) fn without_expiry(self) -> Self {
        match self {
            Self::ExpiringValue => Self::Value,
            Self::ExpiringPointer => Self::Pointer,
            other => other,
        }
    }

    /// The kind of a pointer to a value of this kind.
    pub(crate) fn separated(self) -> Self {
        if self.expires() { Self::ExpiringPointer } else { Self::Pointer }
    }
}

/// An entry, as shown by cursors of memtables, tables and merges of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry<'a> {
    pub(crate) key: &'a [u8],
    pub(crate) sequence: Sequence,
    pub(crate) kind: ValueKind,
    /// The value; for [`ValueKind::Pointer`], the encoded pointer. Those of expiring entries are behind their time.
    pub(crate) value: &'a [u8],
}

impl<'a> Entry<'a> {
    /// The time at which it expires, in milliseconds since the start of 1970; `None` if it does not. One that is
    /// malformed has expired at any time.
    #[inline]
    pub(crate) fn expires_ms(&self) -> Option<u64> {
        self.kind.expires().then(|| split_expiry(self.value).map_or(0, |(time_ms, _)| time_ms))
    }

    /// The value or the encoded pointer, without the time.
    #[inline]
    pub(crate) fn stored(&self) -> &'a [u8] {
        if self.kind.expires() { split_expiry(self.value).map_or(&[], |(_, stored)| stored) } else { self.value }
    }

    /// The encoded pointer, if its value is in a value file.
    #[inline]
    pub(crate) fn pointer(&self) -> Option<&'a [u8]> {
        self.kind.is_pointer().then(|| self.stored())
    }

    /// The same entry without its time.
    pub(crate) fn without_expiry(self) -> Self {
        Self { kind: self.kind.without_expiry(), value: self.stored(), ..self }
    }
}

/// The code of a range removal in groups; other operations have the codes of [`ValueKind`].
const REMOVE_RANGE_CODE: u8 = 3;

/// Added to the code of the first operation of each batch behind the first one of a group.
const NEXT_BATCH_FLAG: u8 = 0x80;

/// The effect of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Adds an entry.
    Put(ValueKind),
    /// Removes the keys from `key` up to `value`, exclusively; without an end if `value` is empty.
    RemoveRange,
}

/// One operation of a group, as ranges of the group's bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Operation {
    pub(crate) action: Action,
    pub(crate) keyspace: KeyspaceId,
    pub(crate) sequence: Sequence,
    pub(crate) key: Range<u32>,
    /// The value, the pointer to it, or the end of a range.
    pub(crate) value: Range<u32>,
    /// Length of the encoded operation in bytes.
    pub(crate) encoded_bytes: u32,
    /// Whether it is the first of a batch behind the first one of its group.
    pub(crate) begins_batch: bool,
}

impl Operation {
    /// The key and the value.
    pub(crate) fn parts<'a>(&self, bytes: &'a [u8]) -> (&'a [u8], &'a [u8]) {
        let part = |range: &Range<u32>| bytes.get(range.start as usize..range.end as usize).unwrap_or_default();
        (part(&self.key), part(&self.value))
    }

    /// The key and the encoded pointer, if it puts one.
    pub(crate) fn pointer<'a>(&self, bytes: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
        let Action::Put(kind) = self.action else { return None };
        let (key, value) = self.parts(bytes);
        Entry { key, sequence: self.sequence, kind, value }.pointer().map(|pointer| (key, pointer))
    }
}

/// Length of a group's header: the sequence number of the first operation.
pub(crate) const GROUP_HEAD_BYTES: usize = 8;

/// Appends an operation to `out`: `code | keyspace | length of key | key | length of value | value`, with varint
/// lengths. A removal has no value.
pub(crate) fn encode_operation(out: &mut Vec<u8>, action: Action, keyspace: KeyspaceId, key: &[u8], value: &[u8]) {
    encode_operation_of(out, action, keyspace, key, &[], value);
}

/// As [`encode_operation`], of a value in two parts.
pub(crate) fn encode_operation_of(
    out: &mut Vec<u8>,
    action: Action,
    keyspace: KeyspaceId,
    key: &[u8],
    mark: &[u8],
    value: &[u8],
) {
    out.push(match action {
        Action::Put(kind) => kind as u8,
        Action::RemoveRange => REMOVE_RANGE_CODE,
    });
    put_varint(out, u64::from(keyspace));
    put_varint(out, key.len() as u64);
    out.extend_from_slice(key);
    if action != Action::Put(ValueKind::Remove) {
        put_varint(out, (mark.len() + value.len()) as u64);
        out.extend_from_slice(mark);
        out.extend_from_slice(value);
    }
}

/// Marks the operation at `at`, if there is one, as the first of a batch behind the first one of its group.
pub(crate) fn mark_batch(group: &mut [u8], at: usize) {
    if let Some(code) = group.get_mut(at).filter(|_| at > GROUP_HEAD_BYTES) {
        *code |= NEXT_BATCH_FLAG;
    }
}

/// Decodes a group; `None` if it is malformed, which no crash can cause.
pub(crate) fn decode_group(group: &[u8]) -> Option<Vec<Operation>> {
    let mut operations = Vec::new();
    decode_group_into(group, &mut operations).map(|()| operations)
}

/// As [`decode_group`], into a reusable vector, replacing its contents.
pub(crate) fn decode_group_into(group: &[u8], operations: &mut Vec<Operation>) -> Option<()> {
    operations.clear();
    let first = u64::from_le_bytes(*group.first_chunk::<GROUP_HEAD_BYTES>()?);
    let mut at = GROUP_HEAD_BYTES;
    u32::try_from(group.len()).ok()?;
    while at < group.len() {
        let sequence = first.checked_add(operations.len() as u64).filter(|&sequence| sequence <= SEQUENCE_MAX)?;
        let operation = decode_operation(group, at, sequence)?;
        at += operation.encoded_bytes as usize;
        operations.push(operation);
    }
    Some(())
}

/// Decodes the operation at `at`.
pub(crate) fn decode_operation(bytes: &[u8], at: usize, sequence: Sequence) -> Option<Operation> {
    let mut next = at;
    let code = *bytes.get(next)?;
    next += 1;
    let begins_batch = code & NEXT_BATCH_FLAG != 0;
    let action = match code & !NEXT_BATCH_FLAG {
        REMOVE_RANGE_CODE => Action::RemoveRange,
        code => Action::Put(ValueKind::from_code(code)?),
    };
    let keyspace = KeyspaceId::try_from(take_varint(bytes, &mut next)?).ok()?;
    let key = take_part(bytes, &mut next)?;
    let value = match action {
        Action::Put(ValueKind::Remove) => key.end..key.end,
        _ => take_part(bytes, &mut next)?,
    };
    if matches!(action, Action::Put(kind) if kind.expires()) && value.len() < EXPIRY_BYTES {
        return None;
    }
    Some(Operation { action, keyspace, sequence, key, value, encoded_bytes: (next - at) as u32, begins_batch })
}

fn take_part(bytes: &[u8], at: &mut usize) -> Option<Range<u32>> {
    let length = usize::try_from(take_varint(bytes, at)?).ok()?;
    let end = at.checked_add(length).filter(|&end| end <= bytes.len())?;
    let part = u32::try_from(*at).ok()?..u32::try_from(end).ok()?;
    *at = end;
    Some(part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Values that are long enough for a time.
    fn values() -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(any::<u8>(), EXPIRY_BYTES..40)
    }

    proptest! {
        #[test]
        fn groups_come_back(
            first in 0..1_u64 << 50,
            puts in proptest::collection::vec((0..6_u8, any::<u32>(), any::<Vec<u8>>(), values()), 0..40),
        ) {
            let mut group = first.to_le_bytes().to_vec();
            for (code, keyspace, key, value) in &puts {
                let action = ValueKind::from_code(*code).map_or(Action::RemoveRange, Action::Put);
                encode_operation(&mut group, action, *keyspace, key, value);
            }
            let operations = decode_group(&group).unwrap();
            prop_assert_eq!(operations.len(), puts.len());
            for (i, (operation, (code, keyspace, key, value))) in operations.iter().zip(&puts).enumerate() {
                prop_assert_eq!(operation.sequence, first + i as u64);
                prop_assert_eq!(operation.keyspace, *keyspace);
                prop_assert_eq!(&group[operation.key.start as usize..operation.key.end as usize], &key[..]);
                let expected: &[u8] = if *code == 0 { &[] } else { value };
                prop_assert_eq!(&group[operation.value.start as usize..operation.value.end as usize], expected);
            }
        }

        #[test]
        fn any_bytes_are_taken_apart_or_refused(group: Vec<u8>) {
            if let Some(operations) = decode_group(&group) {
                let bytes: usize = operations.iter().map(|operation| operation.encoded_bytes as usize).sum();
                prop_assert_eq!(bytes + GROUP_HEAD_BYTES, group.len());
            }
        }
    }
}
