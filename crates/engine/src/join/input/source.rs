//! The relations of a join as callers give them.

use super::records::{CallerRelation, FileRelation, IteratorReader, JoinRecords, RecordReader, RecordShape};
use super::scan::TableRelation;
use super::stored::{IndexRelation, SnapshotRelation};
use crate::error::Result;
use crate::index::{AnyIndex, Index, Key, Payload};
use crate::io::{LocatedFile, Place};
use crate::join::keys::ComparedSides;
use crate::join::rows::joined_records::JoinedRecords;
use crate::join::rows::options::JoinKind;
use crate::join::rows::relation::Relation;
use crate::join::rows::text_hints::{InputHints, ParsedText};
use crate::lsm::{DbSnapshot, Keyspace};
use crate::table::Table;
use crate::table::external::RecordFile;
use crate::types::{KeyType, RecordType};
use std::ops::RangeBounds;
use std::sync::Arc;

/// An input relation of a join. Cheap to clone. A join reads a fixed state of each relation: tables never change, and
/// an index or store is read through a snapshot.
#[derive(Clone, Debug)]
pub struct JoinSource {
    pub(in crate::join) relation: Arc<dyn Relation>,
    types: Arc<RecordType>,
    longest_bytes: Option<u64>,
    hints: InputHints,
    /// Rows that match nothing, whose keys have a null.
    unmatched: Vec<Arc<dyn Relation>>,
    /// Whether its numbers are text.
    is_written: bool,
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
    /// The join fails with [`Cause::KeyLength`](crate::Cause::KeyLength) on a key of another width, as handles without
    /// types can write it: [`Self::snapshot_of`] with [`KeyType::Bytes`] takes any key.
    ///
    /// [`Cause::KeyLength`](crate::Cause::KeyLength): crate::Cause::KeyLength
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
    /// `is_sorted` declares that the file is in key order, which avoids a sort. The join fails with
    /// [`Cause::Unsorted`](crate::Cause::Unsorted) if it is not.
    ///
    /// # Errors
    /// [`Cause::NotRecords`](crate::Cause::NotRecords) if the file does not consist of whole records, or not of as many
    /// as its header states; [`Cause::Input`](crate::Cause::Input) for keys of another width than 8 or 16 bytes; errors
    /// of the storage.
    ///
    /// [`Cause::Unsorted`](crate::Cause::Unsorted): crate::Cause::Unsorted
    /// [`Cause::NotRecords`](crate::Cause::NotRecords): crate::Cause::NotRecords
    /// [`Cause::Input`](crate::Cause::Input): crate::Cause::Input
    pub fn records(place: impl Into<Place>, records: RecordFile, is_sorted: bool) -> Result<Self> {
        let LocatedFile { storage, name } = place.into().file()?;
        Ok(Self::of(FileRelation::open(&*storage, &name, records, is_sorted)?))
    }

    /// Records supplied by the caller, in any order. `records` must return the same records each time it is called,
    /// since a join may read them more than once. Values are held in memory, so a record must fit in a part of the
    /// join's memory limit.
    #[must_use]
    pub fn unsorted(shape: RecordShape, records: impl Fn() -> JoinRecords + Send + Sync + 'static) -> Self {
        Self::read_by(shape, move || Box::new(IteratorReader::new(records())))
    }

    /// As [`Self::unsorted`], for records that a reader lends: none is copied before the join needs it.
    #[must_use]
    pub fn read_by(shape: RecordShape, records: impl Fn() -> Box<dyn RecordReader> + Send + Sync + 'static) -> Self {
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

    /// The same relation, which is parsed from text: the planner prices that.
    #[must_use]
    pub fn parsed_from(mut self, text: ParsedText) -> Self {
        self.hints.text = Some(text);
        self
    }

    /// The same relation, with an estimate of the number of its different keys, by which the planner expects rows of
    /// the output. Affects the plan, never the result.
    #[must_use]
    pub fn with_distinct_keys(mut self, keys: u64) -> Self {
        self.hints.distinct_keys = Some(keys);
        self
    }

    /// The same relation, which is on a local disk, though the profile of the join is of another storage: the planner
    /// prices that.
    #[doc(hidden)]
    #[must_use]
    pub fn stored_locally(mut self) -> Self {
        self.hints.is_local = true;
        self
    }

    /// The same relation with rows whose keys have a null, which match nothing. They are not among its other records,
    /// and their keys are of the type of its keys [with nulls](KeyType::with_nulls). A join that keeps
    /// rows of this side without partner returns them, and the keys of its output have that type then; another one does
    /// not read them.
    ///
    /// # Errors
    /// As [`KeyType::with_nulls`].
    #[doc(hidden)]
    pub fn with_null_rows(self, records: impl Fn() -> Box<dyn RecordReader> + Send + Sync + 'static) -> Result<Self> {
        let facts = self.relation.facts();
        let shape = RecordShape {
            name: facts.name.clone(),
            key_type: facts.key_type.with_nulls()?,
            value_bytes: facts.value_bytes,
            rows: 0,
            bytes: 0,
        };
        let relation = CallerRelation::new(shape, Arc::new(records));
        // Keys of one component that are null are equal.
        let are_equal = matches!(facts.key_type.with_nulls()?, KeyType::Tuple(tuple) if tuple.components().len() == 1);
        let relation = if are_equal { relation.of_one_key() } else { relation };
        Ok(Self { unmatched: vec![Arc::new(relation)], ..self })
    }

    /// As [`Self::with_null_rows`], for records of an iterator.
    ///
    /// # Errors
    /// As [`Self::with_null_rows`].
    #[doc(hidden)]
    pub fn with_null_records(self, records: impl Fn() -> JoinRecords + Send + Sync + 'static) -> Result<Self> {
        self.with_null_rows(move || Box::new(IteratorReader::new(records())))
    }

    /// Its rows that match nothing.
    pub(in crate::join) fn unmatched(&self) -> &[Arc<dyn Relation>] {
        &self.unmatched
    }

    /// The same relation, whose numbers are text: `0.1` in it means the float that is written so, and is equal to it.
    #[doc(hidden)]
    #[must_use]
    pub fn written_as_text(self) -> Self {
        Self { is_written: true, ..self }
    }

    pub(in crate::join) fn is_written(&self) -> bool {
        self.is_written
    }

    /// The type of the keys by which it is joined, whatever is stated of its records.
    #[doc(hidden)]
    #[must_use]
    pub fn key_type(&self) -> KeyType {
        self.relation.facts().key_type
    }

    /// The same records with keys of another type, as those of a relation.
    pub(in crate::join) fn with_keys(self, relation: Arc<dyn Relation>, keys: KeyType) -> Self {
        let width = |key_type: KeyType| key_type.width().unwrap_or(0) as u64;
        let more_bytes = width(keys).saturating_sub(width(self.key_type()));
        let longest_bytes = self.longest_bytes.map(|bytes| bytes.saturating_add(more_bytes));
        let types = Arc::new(RecordType { keys, ..self.types.as_ref().clone() });
        Self { relation, types, longest_bytes, ..self }
    }

    pub(in crate::join) fn hints(&self) -> InputHints {
        self.hints
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
        Self {
            relation: Arc::new(relation),
            types: Arc::new(types),
            longest_bytes: None,
            hints: InputHints::default(),
            unmatched: Vec::new(),
            is_written: false,
        }
    }
}

impl JoinedRecords {
    /// The records of a join of this kind.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) for more fields than a row has, and for keys that cannot be compared.
    pub fn of(left: &JoinSource, right: &JoinSource, kind: JoinKind) -> Result<Self> {
        Self::with_keys([left, right], kind, ComparedSides::of(left, right, kind)?.returned)
    }

    /// The records of a right join, which is a left join of these relations in the other order.
    ///
    /// # Errors
    /// As [`Self::of`].
    pub fn of_right_join(left: &JoinSource, right: &JoinSource) -> Result<Self> {
        // Of a full join, the fields of either side may be null.
        Self::with_keys([left, right], JoinKind::Full, ComparedSides::of(right, left, JoinKind::Left)?.returned)
    }

    fn with_keys(sources: [&JoinSource; 2], kind: JoinKind, keys: KeyType) -> Result<Self> {
        let types = sources.map(JoinSource::record_type);
        let records = Self::new(kind, keys, types, sources.map(JoinSource::value_bytes))?;
        Ok(records.named(sources.map(|source| source.name().to_owned())))
    }
}
