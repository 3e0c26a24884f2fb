//! Table metadata: the facts about a table that the manifest records.

use super::object_names::is_object_of_store;
use super::span::{self, KeyBounds, SpanEnd};
use crate::lsm::state::entry::{SEQUENCE_MAX, Sequence, put_varint, take_varint};
use crate::lsm::state::range_tombstones::known_end;
use std::sync::Arc;

/// Maximum number of value files that a table may name; a table of 64 MiB has a few hundred at most.
const VALUE_FILES_MAX: u64 = 1 << 20;

/// `largest` is the excluded end of a range tombstone; if empty, there is no end.
const LARGEST_EXCLUDED_FLAG: u64 = 1;
/// The table has range tombstones.
const RANGE_TOMBSTONES_FLAG: u64 = 2;
/// All entries have the sequence number that follows.
const GLOBAL_SEQUENCE_FLAG: u64 = 4;
/// The identity of the file follows.
const FILE_ID_FLAG: u64 = 8;
/// The last bytes of the file follow the value files.
const TAIL_FLAG: u64 = 16;
/// The name of the object follows at the end.
const OBJECT_FLAG: u64 = 32;
/// The records that expire follow at the very end.
const EXPIRING_FLAG: u64 = 64;
/// Longer names of objects are not taken; that of S3 has at most 1,024 bytes, with the URL.
const OBJECT_NAME_BYTES_MAX: usize = 1024;

/// Metadata of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TableFileMeta {
    pub(crate) number: u64,
    /// Length of the file in bytes.
    pub(crate) bytes: u64,
    /// Number of entries, including tombstones and shadowed ones, but not range tombstones.
    pub(crate) records: u64,
    /// Number of tombstones of single keys.
    pub(crate) tombstones: u64,
    /// Entries shadowed by a newer version in this table, kept for a snapshot.
    pub(crate) shadowed: u64,
    /// Lower bound of all keys and starts of range tombstones.
    pub(crate) smallest: Vec<u8>,
    /// Upper bound of all keys and ends of range tombstones.
    pub(crate) largest: Vec<u8>,
    /// Whether `largest` is excluded, as the end of a range tombstone; if it is also empty, a range tombstone has no
    /// end.
    pub(crate) largest_excluded: bool,
    pub(crate) smallest_sequence: Sequence,
    pub(crate) largest_sequence: Sequence,
    /// For an ingested table, the sequence number of all its entries.
    pub(crate) global_sequence: Option<Sequence>,
    pub(crate) has_range_tombstones: bool,
    /// The value files that entries point into, by number, with the bytes pointed at.
    pub(crate) values: Vec<(u64, u64)>,
    /// Random identity of the file, unique to this file; absent if it is not known.
    pub(crate) file_id: Option<u64>,
    /// On an object store: the last bytes of the file, with which it is opened without a request, if they are few.
    pub(crate) tail: Option<Arc<[u8]>>,
    /// On an object store: the name of a table that was ingested by reference, which it keeps.
    pub(crate) object: Option<Arc<str>>,
    /// The entries that expire, if there are any.
    pub(crate) expiring: Option<ExpiringEntries>,
}

/// The entries of a table that expire: their number, and the times of the first and the last one of them, in
/// milliseconds since the start of 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ExpiringEntries {
    pub(crate) entries: u64,
    pub(crate) first_ms: u64,
    pub(crate) last_ms: u64,
}

/// Whether a table of this name may be ingested by reference: no file of a store ever has it.
pub(crate) fn is_object_name(name: &str) -> bool {
    (1..=OBJECT_NAME_BYTES_MAX).contains(&name.len()) && !name.contains('/') && !is_object_of_store(name)
}

impl TableFileMeta {
    /// The range of its keys and range tombstones.
    pub(crate) fn bounds(&self) -> KeyBounds<'_> {
        span::bounds(&self.smallest, &self.largest, self.largest_excluded)
    }

    /// Whether a range tombstone has no end.
    pub(crate) fn is_endless(&self) -> bool {
        span::is_endless(&self.largest, self.largest_excluded)
    }

    /// Its comparable end.
    pub(crate) fn end(&self) -> SpanEnd<'_> {
        span::end(&self.largest, self.largest_excluded)
    }

    pub(crate) fn overlaps(&self, range: KeyBounds<'_>) -> bool {
        span::overlap(self.bounds(), range)
    }

    /// Whether the key is in its range.
    #[inline]
    pub(crate) fn may_hold(&self, key: &[u8]) -> bool {
        self.smallest.as_slice() <= key && !self.ends_before(key)
    }

    /// Whether all its keys are smaller than `key`.
    pub(crate) fn ends_before(&self, key: &[u8]) -> bool {
        match self.largest_excluded {
            true => !self.is_endless() && self.largest.as_slice() <= key,
            false => self.largest.as_slice() < key,
        }
    }

    /// Whether a compaction to the bottom may drop entries or range tombstones of it.
    pub(crate) fn is_dropped_at_the_bottom(&self) -> bool {
        self.tombstones > 0 || self.shadowed > 0 || self.has_range_tombstones
    }

    /// Counts an entry that expires.
    pub(crate) fn note_expiring(&mut self, expires_ms: u64) {
        let one = ExpiringEntries { entries: 0, first_ms: expires_ms, last_ms: expires_ms };
        let all = self.expiring.get_or_insert(one);
        all.entries += 1;
        (all.first_ms, all.last_ms) = (all.first_ms.min(expires_ms), all.last_ms.max(expires_ms));
    }

    /// Whether nothing else is in it than entries that expire up to a time.
    pub(crate) fn has_expired_by(&self, time_ms: u64) -> bool {
        let all = self.expiring.filter(|all| all.entries == self.records && !self.has_range_tombstones);
        all.is_some_and(|all| all.last_ms <= time_ms)
    }

    /// An estimate of the entries that expire up to a time: at least one, if there is any. Times in between are taken
    /// for evenly distributed.
    pub(crate) fn expired_by(&self, time_ms: u64) -> u64 {
        let Some(all) = self.expiring.filter(|all| all.first_ms <= time_ms) else { return 0 };
        if all.last_ms <= time_ms {
            return all.entries;
        }
        let (past, whole) = (u128::from(time_ms - all.first_ms), u128::from(all.last_ms - all.first_ms));
        ((u128::from(all.entries) * past / whole) as u64).max(1)
    }

    /// Whether it was written for an ingestion, and removes its keys: entries of the rows that the ingestion replaces.
    pub(crate) fn is_of_removals(&self) -> bool {
        self.global_sequence.is_some() && self.tombstones > 0
    }

    /// Bytes that it points at in all value files.
    pub(crate) fn value_bytes(&self) -> u64 {
        self.values.iter().map(|(_, bytes)| bytes).sum()
    }

    /// Bytes that it points at in value file `file`.
    pub(crate) fn bytes_in(&self, file: u64) -> u64 {
        self.values.iter().filter(|(number, _)| *number == file).map(|(_, bytes)| bytes).sum()
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.number);
        put_varint(out, self.bytes);
        put_varint(out, self.records);
        put_varint(out, self.tombstones);
        put_varint(out, self.shadowed);
        put_bytes(out, &self.smallest);
        put_bytes(out, &self.largest);
        let flag = |set: bool, bit| if set { bit } else { 0 };
        let flags = flag(self.largest_excluded, LARGEST_EXCLUDED_FLAG)
            | flag(self.has_range_tombstones, RANGE_TOMBSTONES_FLAG)
            | flag(self.global_sequence.is_some(), GLOBAL_SEQUENCE_FLAG)
            | flag(self.file_id.is_some(), FILE_ID_FLAG)
            | flag(self.tail.is_some(), TAIL_FLAG)
            | flag(self.object.is_some(), OBJECT_FLAG)
            | flag(self.expiring.is_some(), EXPIRING_FLAG);
        put_varint(out, flags);
        put_varint(out, self.smallest_sequence);
        put_varint(out, self.largest_sequence);
        if let Some(sequence) = self.global_sequence {
            put_varint(out, sequence);
        }
        if let Some(file_id) = self.file_id {
            out.extend_from_slice(&file_id.to_le_bytes());
        }
        put_varint(out, self.values.len() as u64);
        for &(number, bytes) in &self.values {
            put_varint(out, number);
            put_varint(out, bytes);
        }
        if let Some(tail) = &self.tail {
            put_bytes(out, tail);
        }
        if let Some(object) = &self.object {
            put_bytes(out, object.as_bytes());
        }
        if let Some(ExpiringEntries { entries, first_ms, last_ms }) = self.expiring {
            [entries, first_ms, last_ms].into_iter().for_each(|number| put_varint(out, number));
        }
    }

    /// Decodes metadata; `None` if it is malformed or inconsistent.
    pub(super) fn decode(bytes: &[u8], at: &mut usize) -> Option<Self> {
        let mut meta = Self {
            number: take_varint(bytes, at)?,
            bytes: take_varint(bytes, at)?,
            records: take_varint(bytes, at)?,
            tombstones: take_varint(bytes, at)?,
            shadowed: take_varint(bytes, at)?,
            smallest: take_bytes(bytes, at)?.to_vec(),
            largest: take_bytes(bytes, at)?.to_vec(),
            ..Self::default()
        };
        let flags = take_varint(bytes, at).filter(|&flags| flags < 2 * EXPIRING_FLAG)?;
        meta.largest_excluded = flags & LARGEST_EXCLUDED_FLAG != 0;
        if meta.largest_excluded && known_end(&meta.largest).is_empty() {
            meta.largest = Vec::new();
        }
        meta.has_range_tombstones = flags & RANGE_TOMBSTONES_FLAG != 0;
        meta.smallest_sequence = take_sequence(bytes, at)?;
        meta.largest_sequence = take_sequence(bytes, at)?;
        if flags & GLOBAL_SEQUENCE_FLAG != 0 {
            meta.global_sequence = Some(take_sequence(bytes, at)?);
        }
        if flags & FILE_ID_FLAG != 0 {
            let file_id = bytes.get(*at..)?.first_chunk()?;
            meta.file_id = Some(u64::from_le_bytes(*file_id));
            *at += file_id.len();
        }
        for _ in 0..take_varint(bytes, at).filter(|&count| count <= VALUE_FILES_MAX)? {
            meta.values.push((take_varint(bytes, at)?, take_varint(bytes, at)?));
        }
        if flags & TAIL_FLAG != 0 {
            meta.tail = Some(take_bytes(bytes, at)?.into());
        }
        if flags & OBJECT_FLAG != 0 {
            meta.object = Some(std::str::from_utf8(take_bytes(bytes, at)?).ok()?.into());
        }
        if flags & EXPIRING_FLAG != 0 {
            let (entries, first_ms) = (take_varint(bytes, at)?, take_varint(bytes, at)?);
            meta.expiring = Some(ExpiringEntries { entries, first_ms, last_ms: take_varint(bytes, at)? });
        }
        meta.is_sensible().then_some(meta)
    }

    /// Whether the fields are consistent.
    pub(super) fn is_sensible(&self) -> bool {
        (self.is_endless() || self.smallest.as_slice() <= self.largest.as_slice())
            && (!self.largest_excluded
                || (self.has_range_tombstones && (self.is_endless() || self.smallest != self.largest)))
            && self.smallest_sequence <= self.largest_sequence
            && self.largest_sequence <= SEQUENCE_MAX
            && self.tombstones <= self.records
            && (!self.is_of_removals() || self.tombstones == self.records)
            && self.shadowed <= self.records
            && (self.records > 0 || self.has_range_tombstones)
            && self.tail.as_ref().is_none_or(|tail| tail.len() as u64 <= self.bytes)
            && self.object.as_ref().is_none_or(|object| is_object_name(object))
            && self.expiring.is_none_or(|all| {
                (1..=self.records - self.tombstones).contains(&all.entries) && all.first_ms <= all.last_ms
            })
            && self.values.is_sorted_by(|one, next| one.0 < next.0)
    }
}

pub(super) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Decodes the byte string at `at`, and moves `at` behind it.
pub(super) fn take_bytes<'a>(bytes: &'a [u8], at: &mut usize) -> Option<&'a [u8]> {
    let length = usize::try_from(take_varint(bytes, at)?).ok()?;
    let taken = bytes.get(*at..at.checked_add(length)?)?;
    *at += length;
    Some(taken)
}

pub(super) fn take_sequence(bytes: &[u8], at: &mut usize) -> Option<Sequence> {
    take_varint(bytes, at).filter(|&sequence| sequence <= SEQUENCE_MAX)
}
