//! Keyspaces of stores, at a snapshot.

use super::condition_index::{ByIndexes, ConditionIndex, by_indexes};
use super::index_order::{IndexOrder, OrderedPart, OrderedScan};
use super::records::{RecordRange, RecordScan, Records, Visit, VisitFound};
use super::{Relation, RelationIdentity, RowCount, Scan, ScanRequest, key_positions};
use crate::error::external;
use crate::key_columns::KeyColumns;
use crate::key_set::{KeyRange, single};
use crate::metrics::ScanMetrics;
use crate::source::ROWS_PER_LOOKUP;
use arrow_schema::SchemaRef;
use datafusion::error::Result;
use datafusion::logical_expr::Expr;
use ogive::lsm::PinnedTypes;
use ogive::types::RecordType;
use ogive::{Db, DbRange, DbSnapshot, Keyspace, Profile};
use std::fmt;
use std::ops::RangeBounds;
use std::sync::Arc;

/// Keys of an index that are looked up, whatever the number of rows, and at most: they are held in memory.
const INDEX_KEYS_MIN: u64 = 16;
const INDEX_KEYS_MAX: u64 = 1 << 20;

/// The records of a keyspace as of one time. The store is open as long as the relation is there.
pub(crate) struct KeyspaceRelation {
    snapshot: DbSnapshot,
    keyspace: Keyspace,
    record_type: Arc<RecordType>,
    /// Keeps the types of rows, if those of the keyspace are others.
    pinned: Option<PinnedTypes>,
    identity: RelationIdentity,
    schema: SchemaRef,
    key: KeyColumns,
    indexes: Vec<ConditionIndex>,
    profile: Profile,
}

impl KeyspaceRelation {
    /// A keyspace of a store at this path or URL, as it is now. Its rows are read by its own types, or by those of a
    /// table that is older or newer than some of its fields.
    ///
    /// # Errors
    /// [`ogive::Cause::WrongType`]
    pub(crate) fn new(
        db: &Db,
        keyspace: Keyspace,
        types: Option<&RecordType>,
        location: String,
        profile: Profile,
    ) -> ogive::Result<Self> {
        let snapshot = db.snapshot();
        let own = keyspace.record_type();
        let pinned = types.filter(|types| **types != *own).map(|types| keyspace.declare(types)).transpose()?;
        let record_type = pinned.as_ref().map_or(own, |pinned| pinned.types().clone());
        // An alteration while the relation is there changes no schema.
        let keyspace = keyspace.reading_as(&record_type);
        let version = db.version().map_or_else(|| snapshot.sequence().to_string(), |version| version.to_string());
        // A store that is made anew at the same place counts from one again.
        let version = format!("{:016x}-{version}", db.identity());
        let types = Some(record_type.as_ref().clone());
        let identity = RelationIdentity { location, keyspace: keyspace.name().to_owned(), version, types };
        let schema = ogive_arrow::schema_of(&record_type, false);
        let key = KeyColumns::new(record_type.keys, &schema, &key_positions(&record_type), false);
        let indexes = ConditionIndex::of(db, &keyspace, &record_type, &schema, &key)?;
        Ok(Self { snapshot, keyspace, record_type, pinned, identity, schema, key, indexes, profile })
    }
}

impl fmt::Debug for KeyspaceRelation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("KeyspaceRelation").field("identity", &self.identity).finish_non_exhaustive()
    }
}

impl Relation for KeyspaceRelation {
    fn identity(&self) -> &RelationIdentity {
        &self.identity
    }

    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn record_type(&self) -> Option<&RecordType> {
        Some(&self.record_type)
    }

    fn key(&self) -> &KeyColumns {
        &self.key
    }

    fn sequence(&self) -> Option<u64> {
        Some(self.snapshot.sequence())
    }

    /// Versions and removals count, and so the number is not exact.
    fn rows(&self) -> RowCount {
        RowCount::about(self.keyspace.estimate().0)
    }

    fn bytes(&self) -> u64 {
        self.keyspace.estimate().1
    }

    fn profile(&self) -> &Profile {
        &self.profile
    }

    fn is_distinct(&self) -> bool {
        true
    }

    fn count(&self, range: &KeyRange) -> Result<RowCount> {
        Ok(if single(range).is_some() { RowCount::about(1) } else { self.rows() })
    }

    fn ends(&self, range: &KeyRange) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        let mut keys = self.snapshot.range::<Vec<u8>>(&self.keyspace, range.clone()).keys();
        let first = keys.next().transpose().map_err(external)?;
        let last = keys.next_back().transpose().map_err(external)?;
        let last = last.or_else(|| first.clone());
        Ok(first.zip(last).map(|(first, last)| (first.to_vec(), last.to_vec())))
    }

    fn cuts(&self, range: &KeyRange, parts: u64) -> Result<Vec<Vec<u8>>> {
        let mut keys = self.keyspace.split_keys(usize::try_from(parts).unwrap_or(usize::MAX));
        keys.retain(|key| RangeBounds::<Vec<u8>>::contains(range, key));
        Ok(keys)
    }

    fn has_indexes(&self) -> bool {
        !self.indexes.is_empty()
    }

    fn by_indexes(&self, conditions: &[&Expr]) -> Result<ByIndexes> {
        let most = (self.rows().rows / ROWS_PER_LOOKUP).clamp(INDEX_KEYS_MIN, INDEX_KEYS_MAX);
        let mut by = by_indexes(&self.indexes, &self.snapshot, conditions, most as usize)?;
        // An index compares its entries with rows of the types that the keyspace has.
        if self.pinned.is_some() {
            by.orders.clear();
        }
        Ok(by)
    }

    fn has_index_for(&self, condition: &Expr) -> bool {
        self.indexes.iter().any(|index| index.is_about(condition))
    }

    fn scan_in_order(&self, order: &IndexOrder, part: OrderedPart, request: ScanRequest) -> Result<Box<dyn Scan>> {
        Ok(Box::new(OrderedScan::new(order, part, self.snapshot.clone(), &self.record_type, request)))
    }

    fn scan(&self, request: ScanRequest) -> Result<Box<dyn Scan>> {
        let records = KeyspaceRecords {
            snapshot: self.snapshot.clone(),
            keyspace: self.keyspace.clone(),
            metrics: request.metrics.clone(),
        };
        Ok(Box::new(RecordScan::new(records, &self.record_type, &request)))
    }
}

struct KeyspaceRecords {
    snapshot: DbSnapshot,
    /// Reads values as those of the types of rows.
    keyspace: Keyspace,
    metrics: ScanMetrics,
}

impl Records for KeyspaceRecords {
    fn is_distinct(&self) -> bool {
        true
    }

    fn look_up(&self, keys: &[&[u8]], visit: &mut VisitFound<'_>) -> ogive::Result<()> {
        self.metrics.add_keys(keys.len());
        let found = self.snapshot.multi_get(&self.keyspace, keys)?;
        let mut found = found.into_iter().enumerate().filter_map(|(at, value)| Some((at, value?)));
        found.try_for_each(|(at, value)| visit(at, &value))
    }

    fn range(&self, range: KeyRange, with_values: bool, is_descending: bool) -> ogive::Result<Box<dyn RecordRange>> {
        let range = self.snapshot.range::<Vec<u8>>(&self.keyspace, range);
        Ok(match (with_values, is_descending) {
            (true, false) => Box::new(ForwardRange(range)),
            (true, true) => {
                Box::new(range.rev().map(|record| record.map(|(key, value)| (key.to_vec(), Some(value.to_vec())))))
            }
            (false, false) => Box::new(range.keys().map(|key| key.map(|key| (key.to_vec(), None)))),
            (false, true) => Box::new(range.keys().rev().map(|key| key.map(|key| (key.to_vec(), None)))),
        })
    }
}

struct ForwardRange(DbRange);

impl RecordRange for ForwardRange {
    fn visit(&mut self, visit: &mut Visit<'_>) -> ogive::Result<()> {
        self.0.visit(|key, value| visit(key, Some(value)))
    }
}
