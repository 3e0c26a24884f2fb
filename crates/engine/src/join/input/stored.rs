//! Indexes and stores as relations.

use crate::error::{Error, Result};
use crate::index::{self, Index, IndexReader, Key, Payload, ValueForm, Word};
use crate::join::rows::joined_records::wrong_value;
use crate::join::rows::relation::{KeyRange, Prober, Relation, RelationFacts};
use crate::join::rows::stream::{RowChunk, RowStream, RowsView};
use crate::join::rows::task::{MemoryGrant, Task};
use crate::lsm::{self, DbSnapshot, Keyspace};
use crate::types::{KeyType, RecordType};
use std::ops::{Bound, ControlFlow, RangeBounds};
use std::path::PathBuf;
use std::sync::Arc;

/// Approximate size of a chunk of copied rows, in bytes, at most a quarter of the memory: it fits a core's cache.
const CHUNK_BYTES: usize = 64 << 10;
/// Longest key of an index, in bytes.
const KEY_BYTES_MAX: usize = 16;

/// A snapshot of an index as a relation.
#[derive(Debug)]
pub(crate) struct IndexRelation<K: Key, V: Payload> {
    reader: IndexReader<K, V>,
    key_bytes: usize,
    values: IndexValues,
    facts: RelationFacts,
}

/// How the values of an index are read from its payloads.
#[derive(Clone, Debug)]
struct IndexValues {
    form: ValueForm,
    payload_bytes: usize,
    types: RecordType,
    path: PathBuf,
}

impl IndexValues {
    /// The bytes of the value of a key.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) if the payload is no value of the type.
    fn read<'a>(&self, key: &[u8], payload: &'a mut [u8]) -> Result<&'a [u8]> {
        let value = self.form.value_in_place(payload).filter(|value| self.types.values.accepts(value));
        value.ok_or_else(|| wrong_value(&self.path.display().to_string(), &self.types, key))
    }
}

impl<K: Key, V: Payload> IndexRelation<K, V> {
    pub(crate) fn new(index: &Index<K, V>) -> Result<Self> {
        let reader = index.reader()?;
        let (layout, rows) = (index.layout(), reader.len()?);
        let key_bytes = index.key_type().width().unwrap_or(0);
        let payload_bytes = layout.payload_bytes;
        let (form, types, path) = (index.value_form(), index.record_type().clone(), index.path().to_owned());
        let values = IndexValues { form, payload_bytes, types, path };
        let facts = RelationFacts {
            name: index.path().display().to_string(),
            rows,
            is_exact: true,
            bytes: rows.saturating_mul((key_bytes + payload_bytes) as u64),
            decoded_bytes: rows.saturating_mul((key_bytes + payload_bytes) as u64),
            key_type: index.key_type(),
            key_bytes: Some(key_bytes),
            value_bytes: values.form.width(payload_bytes),
            is_sorted: true,
            is_distinct: !layout.duplicates,
        };
        Ok(Self { reader, key_bytes, values, facts })
    }

    fn bounds(&self, range: &KeyRange) -> (Bound<K>, Bound<K>) {
        let key = |bytes: &Option<Vec<u8>>, width| bytes.as_deref().map(|bytes| decode::<K>(bytes, width));
        // A bound shorter than a key precedes all keys that begin with it; a longer one follows the key that it begins
        // with.
        let bound = |bytes: &Option<Vec<u8>>, inside: fn(K) -> Bound<K>, outside: fn(K) -> Bound<K>| {
            let is_longer = bytes.as_ref().is_some_and(|bytes| bytes.len() > self.key_bytes);
            key(bytes, self.key_bytes)
                .map_or(Bound::Unbounded, |key| if is_longer { outside(key) } else { inside(key) })
        };
        (bound(&range.from, Bound::Included, Bound::Excluded), bound(&range.to, Bound::Excluded, Bound::Included))
    }
}

/// Encodes a key as order-preserving bytes, at the end of the buffer.
fn encode<K: Key>(key: K, width: usize, buffer: &mut [u8; KEY_BYTES_MAX]) -> &[u8] {
    *buffer = key.to_word().to_u128().to_be_bytes();
    &buffer[KEY_BYTES_MAX - width.min(KEY_BYTES_MAX)..]
}

/// Decodes a key from order-preserving bytes, truncated or zero-padded to its width.
fn decode<K: Key>(bytes: &[u8], width: usize) -> K {
    let width = width.min(KEY_BYTES_MAX);
    let mut buffer = [0; KEY_BYTES_MAX];
    let taken = bytes.len().min(width);
    let start = KEY_BYTES_MAX - width;
    buffer[start..start + taken].copy_from_slice(&bytes[..taken]);
    K::from_word(K::Word::from_u128(u128::from_be_bytes(buffer)))
}

impl<K: Key, V: Payload> Relation for IndexRelation<K, V> {
    fn facts(&self) -> &RelationFacts {
        &self.facts
    }

    fn scan(&self, range: &KeyRange, task: &Arc<Task>, memory: MemoryGrant) -> Result<Box<dyn RowStream>> {
        let capacity = (memory.bytes() as usize / 4).min(CHUNK_BYTES);
        Ok(Box::new(IndexScan {
            entries: self.reader.range(self.bounds(range)),
            chunk: RowChunk::new(Some(self.key_bytes), self.facts.value_bytes, capacity),
            rows: capacity / (self.key_bytes + self.values.payload_bytes).max(1),
            key_bytes: self.key_bytes,
            values: self.values.clone(),
            task: task.clone(),
            _memory: memory,
        }))
    }

    fn prober(&self) -> Option<Result<Box<dyn Prober>>> {
        let reader = self.reader.clone();
        let payload = vec![0; self.values.payload_bytes];
        let values = self.values.clone();
        Some(Ok(Box::new(IndexProber { reader, key_bytes: self.key_bytes, values, payload })))
    }
}

struct IndexScan<K: Key, V: Payload> {
    entries: index::IndexRange<K, V>,
    chunk: RowChunk,
    /// Rows per chunk.
    rows: usize,
    key_bytes: usize,
    values: IndexValues,
    task: Arc<Task>,
    _memory: MemoryGrant,
}

impl<K: Key, V: Payload> RowStream for IndexScan<K, V> {
    fn advance(&mut self, from: Option<&[u8]>) -> Result<bool> {
        self.task.check()?;
        self.chunk.clear();
        let mut payload = vec![0; self.values.payload_bytes];
        let mut buffer = [0; KEY_BYTES_MAX];
        let mut taken = 0;
        while taken < self.rows.max(1) {
            let Some(entry) = self.entries.next() else { break };
            let (key, value) = entry?;
            let key = encode(key, self.key_bytes, &mut buffer);
            if from.is_none_or(|from| key >= from) {
                value.store(&mut payload);
                self.chunk.push(key, self.values.read(key, &mut payload)?);
                taken += 1;
            }
        }
        Ok(taken > 0)
    }

    fn rows(&self) -> RowsView<'_> {
        self.chunk.rows()
    }
}

struct IndexProber<K: Key, V: Payload> {
    reader: IndexReader<K, V>,
    key_bytes: usize,
    values: IndexValues,
    payload: Vec<u8>,
}

impl<K: Key, V: Payload> Prober for IndexProber<K, V> {
    fn probe(&mut self, key: &[u8], visit: &mut dyn FnMut(&[u8]) -> Result<bool>) -> Result<()> {
        if key.len() != self.key_bytes {
            return Ok(());
        }
        let found = decode::<K>(key, self.key_bytes);
        for entry in self.reader.range(found..=found) {
            entry?.1.store(&mut self.payload);
            if !visit(self.values.read(key, &mut self.payload)?)? {
                break;
            }
        }
        Ok(())
    }
}

/// A range of a keyspace, in a snapshot.
#[derive(Debug)]
pub(crate) struct SnapshotRelation {
    snapshot: DbSnapshot,
    keyspace: Keyspace,
    bounds: (Bound<Vec<u8>>, Bound<Vec<u8>>),
    facts: RelationFacts,
}

impl SnapshotRelation {
    /// A range of a keyspace whose keys all have one type.
    pub(crate) fn new<T: AsRef<[u8]>>(
        snapshot: DbSnapshot,
        keyspace: Keyspace,
        key_type: KeyType,
        range: impl RangeBounds<T>,
    ) -> Self {
        let own = |bound: Bound<&T>| bound.map(|key| key.as_ref().to_vec());
        let bounds = (own(range.start_bound()), own(range.end_bound()));
        let (rows, bytes) = keyspace.estimate();
        let facts = RelationFacts {
            name: format!("the keyspace {:?}", keyspace.name()),
            rows,
            is_exact: false,
            bytes,
            decoded_bytes: bytes,
            key_type,
            key_bytes: key_type.width(),
            value_bytes: None,
            is_sorted: true,
            is_distinct: true,
        };
        Self { snapshot, keyspace, bounds, facts }
    }

    /// The intersection of both ranges.
    fn within<'a>(&'a self, range: &'a KeyRange) -> (Bound<&'a [u8]>, Bound<&'a [u8]>) {
        let (from, to) = range.bounds();
        let own = (self.bounds.0.as_ref().map(Vec::as_slice), self.bounds.1.as_ref().map(Vec::as_slice));
        let low = match (own.0, from) {
            (Bound::Included(own) | Bound::Excluded(own), Bound::Included(other)) if other > own => from,
            (Bound::Unbounded, _) => from,
            (kept, _) => kept,
        };
        let high = match (own.1, to) {
            (Bound::Included(own), Bound::Excluded(other)) if other <= own => to,
            (Bound::Excluded(own), Bound::Excluded(other)) if other < own => to,
            (Bound::Unbounded, _) => to,
            (kept, _) => kept,
        };
        (low, high)
    }
}

impl Relation for SnapshotRelation {
    fn facts(&self) -> &RelationFacts {
        &self.facts
    }

    fn scan(&self, range: &KeyRange, task: &Arc<Task>, memory: MemoryGrant) -> Result<Box<dyn RowStream>> {
        let records = self.snapshot.range::<&[u8]>(&self.keyspace, self.within(range));
        let capacity = (memory.bytes() as usize / 4).min(CHUNK_BYTES);
        Ok(Box::new(SnapshotScan {
            records,
            chunk: RowChunk::new(None, None, capacity),
            capacity,
            name: self.facts.name.clone(),
            key_type: self.facts.key_type,
            task: task.clone(),
            memory,
        }))
    }

    fn prober(&self) -> Option<Result<Box<dyn Prober>>> {
        let bounds = self.bounds.clone();
        Some(Ok(Box::new(SnapshotProber { snapshot: self.snapshot.clone(), keyspace: self.keyspace.clone(), bounds })))
    }
}

struct SnapshotScan {
    records: lsm::DbRange,
    chunk: RowChunk,
    capacity: usize,
    name: String,
    key_type: KeyType,
    task: Arc<Task>,
    memory: MemoryGrant,
}

impl SnapshotScan {
    /// The error for a key of the wrong width.
    fn misfit(&self, length: u64) -> Error {
        let detail = format!(
            "its keys should be {} keys of {} bytes; join it as bytes, or restrict the range",
            self.key_type,
            self.key_type.width().unwrap_or(0)
        );
        Error::key_length(self.name.as_str(), length, detail)
    }
}

impl RowStream for SnapshotScan {
    fn advance(&mut self, from: Option<&[u8]>) -> Result<bool> {
        self.task.check()?;
        self.chunk.clear();
        let (chunk, capacity) = (&mut self.chunk, self.capacity);
        let width = self.key_type.width();
        let (mut too_large, mut misfit) = (None, None);
        let (memory, name) = (&mut self.memory, &self.name);
        self.records.visit(|key, value| {
            let bytes = (key.len() + value.len()) as u64;
            if let Err(error) = memory.hold_record(bytes, name) {
                too_large = Some(error);
                return ControlFlow::Break(());
            }
            if width.is_some_and(|width| width != key.len()) {
                misfit = Some(key.len() as u64);
                return ControlFlow::Break(());
            }
            if from.is_none_or(|from| key >= from) {
                chunk.push(key, value);
            }
            if chunk.taken_bytes() < capacity { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        if let Some(length) = misfit {
            return Err(self.misfit(length));
        }
        if let Some(error) = too_large {
            return Err(error);
        }
        Ok(!self.chunk.is_empty())
    }

    fn rows(&self) -> RowsView<'_> {
        self.chunk.rows()
    }
}

struct SnapshotProber {
    snapshot: DbSnapshot,
    keyspace: Keyspace,
    bounds: (Bound<Vec<u8>>, Bound<Vec<u8>>),
}

impl Prober for SnapshotProber {
    fn probe(&mut self, key: &[u8], visit: &mut dyn FnMut(&[u8]) -> Result<bool>) -> Result<()> {
        let bounds = (self.bounds.0.as_ref().map(Vec::as_slice), self.bounds.1.as_ref().map(Vec::as_slice));
        if <(Bound<&[u8]>, Bound<&[u8]>) as RangeBounds<[u8]>>::contains(&bounds, key)
            && let Some(value) = self.snapshot.get(&self.keyspace, key)?
        {
            visit(&value)?;
        }
        Ok(())
    }
}
