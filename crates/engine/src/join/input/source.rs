//! The relations of a join: the public `JoinSource`, and the trait that the methods see.

use super::records::{CallerRelation, FileRelation, JoinRecords, RecordShape};
use super::scan::TableRelation;
use super::stored::{IndexRelation, SnapshotRelation};
use crate::error::Result;
use crate::index::{AnyIndex, Index, Key, Payload};
use crate::io::{LocatedFile, Place};
use crate::join::rows::stream::RowStream;
use crate::join::rows::task::{MemoryGrant, Task};
use crate::lsm::{DbSnapshot, Keyspace};
use crate::table::Table;
use crate::table::external::RecordFile;
use crate::types::{KeyType, RecordType};
use std::fmt::Debug;
use std::ops::RangeBounds;
use std::sync::Arc;

/// Properties of a relation that are known before it is read.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RelationFacts {
    /// Name for messages.
    pub name: String,
    /// Number of rows; an estimate unless `is_exact`.
    pub rows: u64,
    /// Whether the number of rows is exact.
    pub is_exact: bool,
    /// Bytes read by a full scan.
    pub bytes: u64,
    /// Estimated bytes of all keys and values in memory: more than are read if they are stored coded or compressed.
    pub decoded_bytes: u64,
    /// The type of the keys.
    pub key_type: KeyType,
    /// Width of all keys, if fixed.
    pub key_bytes: Option<usize>,
    /// Width of all values, if fixed.
    pub value_bytes: Option<usize>,
    /// Whether rows come in key order.
    pub is_sorted: bool,
    /// Whether keys are known to be distinct.
    pub is_distinct: bool,
}

impl RelationFacts {
    /// Bytes of all keys and values in memory; estimated unless all rows have one width.
    pub(crate) fn memory_bytes(&self) -> u64 {
        match self.key_bytes.zip(self.value_bytes) {
            Some((key, value)) if key + value > 0 => self.rows.saturating_mul((key + value) as u64),
            _ => self.decoded_bytes,
        }
    }
}

/// The keys from `from` (inclusive) to `to` (exclusive).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeyRange {
    pub(crate) from: Option<Vec<u8>>,
    pub(crate) to: Option<Vec<u8>>,
}

impl KeyRange {
    /// Every key.
    pub(crate) fn all() -> Self {
        Self::default()
    }

    pub(crate) fn bounds(&self) -> (std::ops::Bound<&[u8]>, std::ops::Bound<&[u8]>) {
        use std::ops::Bound::{Excluded, Included, Unbounded};
        (self.from.as_deref().map_or(Unbounded, Included), self.to.as_deref().map_or(Unbounded, Excluded))
    }

    pub(crate) fn holds(&self, key: &[u8]) -> bool {
        self.from.as_deref().is_none_or(|from| key >= from) && self.to.as_deref().is_none_or(|to| key < to)
    }
}

/// A relation, as the join methods see it.
pub(crate) trait Relation: Debug + Send + Sync {
    fn facts(&self) -> &RelationFacts;

    /// Streams the rows within a range of keys: in key order if the relation is sorted, otherwise in order of arrival.
    /// May be called any number of times. The stream takes all its memory from `memory`.
    fn scan(&self, range: &KeyRange, task: &Arc<Task>, memory: MemoryGrant) -> Result<Box<dyn RowStream>>;

    /// Whether a scan of a range reads hardly more than its rows, so that ranges can be scanned one by one.
    fn scans_ranges(&self) -> bool {
        self.facts().is_sorted
    }

    /// Visits the keys of about `rows` rows spread over the relation, without a full scan. Returns `false`, having
    /// visited nothing, if the relation cannot be sampled. Takes little memory: that of a few dozen blocks.
    fn sample(&self, rows: usize, seed: u64, task: &Arc<Task>, visit: &mut dyn FnMut(&[u8])) -> Result<bool> {
        let _ = (rows, seed, task, visit);
        Ok(false)
    }

    /// Ascending keys that cut the relation into about `parts` parts of similar size; empty if they cannot be told
    /// without a scan.
    fn cuts(&self, parts: usize) -> Vec<Vec<u8>> {
        let _ = parts;
        Vec::new()
    }

    /// The table, if the relation is one: its blocks can be read individually.
    fn table(&self) -> Option<&Table> {
        None
    }

    /// A prober for one thread, if the relation is an index or store that can look keys up.
    fn prober(&self) -> Option<Result<Box<dyn Prober>>> {
        None
    }
}

/// Point lookups in an index, in key order.
pub(crate) trait Prober {
    /// Visits the values of all rows with this key, until `visit` returns `false`.
    fn probe(&mut self, key: &[u8], visit: &mut dyn FnMut(&[u8]) -> Result<bool>) -> Result<()>;
}

/// An input relation of a join. Cheap to clone. A join reads a fixed state of each relation: tables never change, and
/// an index or store is read through a snapshot.
#[derive(Clone, Debug)]
pub struct JoinSource {
    pub(in crate::join) relation: Arc<dyn Relation>,
    types: Arc<RecordType>,
    longest_bytes: Option<u64>,
}

impl JoinSource {
    /// All records of a table.
    #[must_use]
    pub fn table(table: &Table) -> Self {
        Self::of(TableRelation::new(table.clone())).with_types(table.record_type().clone())
    }

    /// The entries of an index as of its last commit. Keys become the order-preserving bytes of their type.
    ///
    /// # Errors
    /// Errors of the storage, and damage.
    pub fn index<K: Key, V: Payload>(index: &Index<K, V>) -> Result<Self> {
        Ok(Self::of(IndexRelation::new(index)?).with_types(index.record_type().clone()))
    }

    /// As [`Self::index`], for an index of any types.
    ///
    /// # Errors
    /// As [`Self::index`].
    pub fn any_index(index: &AnyIndex) -> Result<Self> {
        match index {
            AnyIndex::Short(index) => Self::index(index),
            AnyIndex::Long(index) => Self::index(index),
        }
    }

    /// The records in a range of a keyspace, as of the snapshot. Its keys have the type that the keyspace states, and
    /// those of the output then have it, too.
    ///
    /// The join fails with [`Error::KeyLength`] on a key of another width, as handles without types can write it:
    /// [`Self::snapshot_of`] with [`KeyType::Bytes`] takes any key.
    ///
    /// [`Error::KeyLength`]: crate::Error::KeyLength
    #[must_use]
    pub fn snapshot<T: AsRef<[u8]>>(snapshot: &DbSnapshot, keyspace: &Keyspace, range: impl RangeBounds<T>) -> Self {
        Self::snapshot_of(snapshot, keyspace, keyspace.record_type().keys, range)
    }

    /// As [`Self::snapshot`], for a keyspace whose keys are all order-preserving bytes of this type, whatever the
    /// keyspace states.
    #[must_use]
    pub fn snapshot_of<T: AsRef<[u8]>>(
        snapshot: &DbSnapshot,
        keyspace: &Keyspace,
        key_type: KeyType,
        range: impl RangeBounds<T>,
    ) -> Self {
        let types = keyspace.record_type().as_ref().clone();
        Self::of(SnapshotRelation::new(snapshot.clone(), keyspace.clone(), key_type, range)).with_types(types)
    }

    /// The records of a file of fixed-width records, in file order. They carry no checksums.
    ///
    /// `is_sorted` declares that the file is in key order, which avoids a sort. The join fails with [`Error::Unsorted`]
    /// if it is not.
    ///
    /// # Errors
    /// [`Error::NotRecords`] if the file does not consist of whole records, or not of as many as its header states;
    /// [`Error::InvalidArgument`] for keys of another width than 8 or 16 bytes; errors of the storage.
    ///
    /// [`Error::Unsorted`]: crate::Error::Unsorted
    /// [`Error::NotRecords`]: crate::Error::NotRecords
    /// [`Error::InvalidArgument`]: crate::Error::InvalidArgument
    pub fn records(place: impl Into<Place>, records: RecordFile, is_sorted: bool) -> Result<Self> {
        let LocatedFile { storage, name } = place.into().file()?;
        Ok(Self::of(FileRelation::open(&*storage, &name, records, is_sorted)?))
    }

    /// Records supplied by the caller, in any order. `records` must return the same records each time it is called,
    /// since a join may read them more than once. Values are held in memory, so a record must fit in a part of the
    /// join's memory limit.
    #[must_use]
    pub fn unsorted(shape: RecordShape, records: impl Fn() -> JoinRecords + Send + Sync + 'static) -> Self {
        Self::of(CallerRelation::new(shape, Arc::new(records)))
    }

    /// The same relation, with the types of its values and the names of its columns, which those of the output of a
    /// join follow. Values must be of that type.
    #[must_use]
    pub fn with_types(self, types: RecordType) -> Self {
        Self { types: Arc::new(types), ..self }
    }

    /// The same relation, no record of which is longer than this, key and value together, in bytes. If the memory of a
    /// join is short and this is known of both sides, the error names at once an amount that suffices for such records;
    /// else one that suffices for the longest record so far. It is known of records of fixed width.
    #[must_use]
    pub fn with_longest_record(self, bytes: u64) -> Self {
        Self { longest_bytes: Some(bytes), ..self }
    }

    /// The length of its longest record in bytes, if it is known.
    pub(in crate::join) fn longest_record_bytes(&self) -> Option<u64> {
        let facts = self.relation.facts();
        let width = || Some((facts.key_bytes? + facts.value_bytes?) as u64);
        self.longest_bytes.or_else(width)
    }

    /// The types of keys and values, as far as they are stated.
    #[must_use]
    pub fn record_type(&self) -> &RecordType {
        &self.types
    }

    /// Whether it is known to have no records.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let facts = self.relation.facts();
        facts.is_exact && facts.rows == 0
    }

    /// Width of all values in bytes, if it is known. [Keys alone](RecordType::keys_only) have values of no bytes.
    #[must_use]
    pub fn value_bytes(&self) -> Option<usize> {
        self.relation.facts().value_bytes.or(self.types.is_keys_only().then_some(0))
    }

    /// The name, for messages.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.relation.facts().name
    }

    pub(in crate::join) fn of(relation: impl Relation + 'static) -> Self {
        let types = RecordType::new(relation.facts().key_type, KeyType::Bytes);
        Self { relation: Arc::new(relation), types: Arc::new(types), longest_bytes: None }
    }
}
