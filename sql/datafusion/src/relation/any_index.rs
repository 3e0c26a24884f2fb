//! Updatable indexes, at a commit.

use super::records::{RecordRange, RecordScan, Records, VisitFound};
use super::{Relation, RelationIdentity, RowCount, Scan, ScanRequest, key_positions};
use crate::error::external;
use crate::key_columns::KeyColumns;
use crate::key_set::{KeyRange, single};
use crate::metrics::ScanMetrics;
use arrow_schema::SchemaRef;
use datafusion::error::Result;
use ogive::Profile;
use ogive::index::extend::FactoryWord;
use ogive::index::{AnyIndex, IndexReader, RawKey};
use ogive::types::{KeyType, RecordType};
use std::fmt;
use std::ops::Bound;
use std::sync::Arc;

/// The entries of an index as of one commit.
pub(crate) struct IndexRelation {
    index: Arc<AnyIndex>,
    reader: Arc<AnyReader>,
    rows: u64,
    bytes: u64,
    record_type: RecordType,
    identity: RelationIdentity,
    schema: SchemaRef,
    key: KeyColumns,
    profile: Profile,
}

enum AnyReader {
    Short(IndexReader<RawKey<u64>, Vec<u8>>),
    Long(IndexReader<RawKey<u128>, Vec<u8>>),
}

/// Applies an expression to a reader of either width.
macro_rules! either {
    ($reader:expr, $it:ident => $do:expr) => {
        match $reader {
            AnyReader::Short($it) => $do,
            AnyReader::Long($it) => $do,
        }
    };
}

impl IndexRelation {
    /// An index at this path or URL, at its last commit.
    ///
    /// # Errors
    /// [`ogive::Cause::Io`], [`ogive::Cause::Damaged`].
    pub(crate) fn new(index: AnyIndex, location: String, profile: Profile) -> ogive::Result<Self> {
        let (reader, statistics) = match &index {
            AnyIndex::Short(index) => (AnyReader::Short(index.reader()?), index.page_statistics()),
            AnyIndex::Long(index) => (AnyReader::Long(index.reader()?), index.page_statistics()),
        };
        let rows = either!(&reader, reader => reader.len())?;
        let record_type = index.record_type().clone();
        let version = statistics.sequence.to_string();
        let identity = RelationIdentity { location, keyspace: String::new(), version, types: None };
        let schema = ogive_arrow::schema_of(&record_type, false);
        let key = KeyColumns::new(record_type.keys, &schema, &key_positions(&record_type), false);
        let (index, reader) = (Arc::new(index), Arc::new(reader));
        Ok(Self { index, reader, rows, bytes: statistics.file_bytes, record_type, identity, schema, key, profile })
    }
}

impl fmt::Debug for IndexRelation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("IndexRelation").field("identity", &self.identity).finish_non_exhaustive()
    }
}

impl Relation for IndexRelation {
    fn identity(&self) -> &RelationIdentity {
        &self.identity
    }

    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn key(&self) -> &KeyColumns {
        &self.key
    }

    fn rows(&self) -> RowCount {
        RowCount::exact(self.rows)
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn profile(&self) -> &Profile {
        &self.profile
    }

    fn is_distinct(&self) -> bool {
        !self.index.layout().duplicates
    }

    fn count(&self, range: &KeyRange) -> Result<RowCount> {
        Ok(match range {
            (Bound::Unbounded, Bound::Unbounded) => self.rows(),
            range if single(range).is_some() => RowCount::about(1),
            _ => RowCount::about(self.rows),
        })
    }

    fn ends(&self, range: &KeyRange) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        let records = self.records(ScanMetrics::default());
        let end = |is_descending| -> Result<Option<Vec<u8>>> {
            let mut entries = records.entries(range, is_descending);
            Ok(entries.next().transpose().map_err(external)?.map(|(key, _)| key))
        };
        Ok(end(false)?.zip(end(true)?))
    }

    /// Nodes do not count the entries below them, so that there is one part.
    fn cuts(&self, _: &KeyRange, _: u64) -> Result<Vec<Vec<u8>>> {
        Ok(Vec::new())
    }

    fn scan(&self, request: ScanRequest) -> Result<Box<dyn Scan>> {
        let records = self.records(request.metrics.clone());
        Ok(Box::new(RecordScan::new(records, &self.record_type, &request)))
    }
}

impl IndexRelation {
    fn records(&self, metrics: ScanMetrics) -> IndexRecords {
        IndexRecords { index: self.index.clone(), reader: self.reader.clone(), metrics }
    }
}

struct IndexRecords {
    index: Arc<AnyIndex>,
    reader: Arc<AnyReader>,
    metrics: ScanMetrics,
}

type Entries = Box<dyn Iterator<Item = ogive::Result<(Vec<u8>, Option<Vec<u8>>)>> + Send>;

impl IndexRecords {
    fn entries(&self, (start, end): &KeyRange, is_descending: bool) -> Entries {
        let word = |bound: &Bound<Vec<u8>>| bound.as_ref().map(|key| self.index.word_of_bound(key.clone()));
        let bounds = (word(start), word(end));
        match &*self.reader {
            AnyReader::Short(reader) => entries(&self.index, reader, bounds, is_descending),
            AnyReader::Long(reader) => entries(&self.index, reader, bounds, is_descending),
        }
    }
}

/// The entries of a range, as keys and values.
fn entries<W: FactoryWord>(
    index: &Arc<AnyIndex>,
    reader: &IndexReader<RawKey<W>, Vec<u8>>,
    (start, end): (Bound<u128>, Bound<u128>),
    is_descending: bool,
) -> Entries {
    let range = reader.range((start.map(AnyIndex::raw::<W>), end.map(AnyIndex::raw::<W>)));
    let (index, key_type): (_, KeyType) = (index.clone(), index.key_type());
    let record = move |entry: ogive::Result<(RawKey<W>, Vec<u8>)>| {
        let (key, payload) = entry?;
        let value = index.decode_value(&payload)?.into_owned();
        Ok((AnyIndex::key_bytes(key_type, key.0.to_u128()), Some(value)))
    };
    match is_descending {
        true => Box::new(range.rev().map(record)),
        false => Box::new(range.map(record)),
    }
}

impl Records for IndexRecords {
    fn is_distinct(&self) -> bool {
        !self.index.layout().duplicates
    }

    fn look_up(&self, keys: &[&[u8]], visit: &mut VisitFound<'_>) -> ogive::Result<()> {
        self.metrics.add_keys(keys.len());
        let words = keys.iter().map(|key| AnyIndex::word_of(key));
        let found = match &*self.reader {
            AnyReader::Short(reader) => reader.multi_get(&words.map(AnyIndex::raw).collect::<Vec<_>>()),
            AnyReader::Long(reader) => reader.multi_get(&words.map(AnyIndex::raw).collect::<Vec<_>>()),
        }?;
        let mut found = found.into_iter().enumerate().filter_map(|(at, payload)| Some((at, payload?)));
        found.try_for_each(|(at, payload)| visit(at, &self.index.decode_value(&payload)?))
    }

    fn range(&self, range: KeyRange, _: bool, is_descending: bool) -> ogive::Result<Box<dyn RecordRange>> {
        Ok(Box::new(self.entries(&range, is_descending)))
    }
}
