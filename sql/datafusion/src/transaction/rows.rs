//! The rows of a keyspace as a transaction sees them: those of its snapshot with its own writes. What is read is what
//! the commit validates.

use super::session::OpenTransaction;
use crate::error::external;
use crate::key_columns::KeyColumns;
use crate::key_set::KeyRange;
use crate::metrics::ScanMetrics;
use crate::relation::{
    KeyspaceRelation, RecordRange, RecordScan, Records, Relation, RelationIdentity, RowCount, Scan, ScanRequest,
    VisitFound, profile_of,
};
use arrow_schema::SchemaRef;
use datafusion::error::Result;
use ogive::lsm::DbTransactionRange;
use ogive::types::RecordType;
use ogive::{Db, Keyspace, Profile, Slice};
use std::fmt;
use std::sync::Arc;

/// A keyspace in a transaction.
pub(crate) struct TransactionRelation {
    open: Arc<OpenTransaction>,
    keyspace: Keyspace,
    /// The same without the transaction, for what does not depend on its rows.
    stored: KeyspaceRelation,
}

impl TransactionRelation {
    pub(super) fn new(open: &Arc<OpenTransaction>, db: &Db, keyspace: Keyspace, location: &str) -> ogive::Result<Self> {
        let profile = profile_of(location);
        let stored = KeyspaceRelation::new(db, keyspace.clone(), None, location.to_owned(), profile)?;
        Ok(Self { open: open.clone(), keyspace, stored })
    }

    fn range(&self, range: &KeyRange) -> ogive::Result<DbTransactionRange> {
        self.open.with(|transaction| Ok(transaction.range::<Vec<u8>>(&self.keyspace, range.clone())))
    }
}

impl fmt::Debug for TransactionRelation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("TransactionRelation").field("stored", &self.stored).finish_non_exhaustive()
    }
}

impl Relation for TransactionRelation {
    fn identity(&self) -> &RelationIdentity {
        self.stored.identity()
    }

    fn schema(&self) -> &SchemaRef {
        self.stored.schema()
    }

    fn record_type(&self) -> Option<&RecordType> {
        self.stored.record_type()
    }

    fn key(&self) -> &KeyColumns {
        self.stored.key()
    }

    /// Own writes are not counted: the number is not exact anyway.
    fn rows(&self) -> RowCount {
        self.stored.rows()
    }

    fn bytes(&self) -> u64 {
        self.stored.bytes()
    }

    fn profile(&self) -> &Profile {
        self.stored.profile()
    }

    fn is_distinct(&self) -> bool {
        true
    }

    fn count(&self, range: &KeyRange) -> Result<RowCount> {
        self.stored.count(range)
    }

    fn ends(&self, range: &KeyRange) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        let mut rows = self.range(range).map_err(external)?;
        let first = rows.next().transpose().map_err(external)?;
        let last = rows.next_back().transpose().map_err(external)?;
        let last = last.or_else(|| first.clone());
        Ok(first.zip(last).map(|((first, _), (last, _))| (first.to_vec(), last.to_vec())))
    }

    fn cuts(&self, range: &KeyRange, parts: u64) -> Result<Vec<Vec<u8>>> {
        self.stored.cuts(range, parts)
    }

    fn scan(&self, request: ScanRequest) -> Result<Box<dyn Scan>> {
        let records = TransactionRecords {
            open: self.open.clone(),
            keyspace: self.keyspace.clone(),
            metrics: request.metrics.clone(),
        };
        let types = self.keyspace.record_type();
        Ok(Box::new(RecordScan::new(records, &types, &request)))
    }
}

struct TransactionRecords {
    open: Arc<OpenTransaction>,
    keyspace: Keyspace,
    metrics: ScanMetrics,
}

impl Records for TransactionRecords {
    fn is_distinct(&self) -> bool {
        true
    }

    fn look_up(&self, keys: &[&[u8]], visit: &mut VisitFound<'_>) -> ogive::Result<()> {
        self.metrics.add_keys(keys.len());
        let found = self.open.with(|transaction| transaction.multi_get(&self.keyspace, keys))?;
        let mut found = found.into_iter().enumerate().filter_map(|(at, value)| Some((at, value?)));
        found.try_for_each(|(at, value)| visit(at, &value))
    }

    fn range(&self, range: KeyRange, _: bool, is_descending: bool) -> ogive::Result<Box<dyn RecordRange>> {
        let rows = self.open.with(|transaction| Ok(transaction.range::<Vec<u8>>(&self.keyspace, range)))?;
        let owned = |row: ogive::Result<(Slice, Slice)>| row.map(|(key, value)| (key.to_vec(), Some(value.to_vec())));
        Ok(match is_descending {
            false => Box::new(rows.map(owned)),
            true => Box::new(rows.rev().map(owned)),
        })
    }
}
