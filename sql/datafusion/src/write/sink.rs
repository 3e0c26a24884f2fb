//! Sinks: a table file, and a keyspace of a store.

use super::records::write_all;
use crate::error::external;
use crate::relation::RelationIdentity;
use arrow_schema::SchemaRef;
use async_trait::async_trait;
use datafusion::common::{not_impl_err, plan_err};
use datafusion::datasource::sink::{DataSink, DataSinkExec};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryLimit};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::dml::InsertOp;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan};
use ogive::io::{Place, locate, locate_folder};
use ogive::types::RecordType;
use ogive::{Db, DbOptions, LocalStorage, SortingWriter, Storage, TableWriteOptions};
use ogive_arrow::RecordEncoder;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Memory of the sort of what is written, where memory is not limited.
const SORT_MEMORY_BYTES: usize = 64 << 20;
/// The least memory of the sort.
const SORT_MEMORY_BYTES_MIN: usize = 2 << 20;

/// The memory of a sort: a quarter of what there is, at most.
fn sort_memory(context: &TaskContext) -> usize {
    match context.memory_pool().memory_limit() {
        MemoryLimit::Finite(limit) => (limit / 4).clamp(SORT_MEMORY_BYTES_MIN, SORT_MEMORY_BYTES),
        _ => SORT_MEMORY_BYTES,
    }
}
/// The name of the table that an insert is sorted to before the store takes it in.
const INSERT_NAME: &str = "insert.ogive";

/// Writes rows to a new table file, sorted by the key; it has its name when it is complete.
#[derive(Debug)]
pub(super) struct TableSink {
    path: String,
    schema: SchemaRef,
    encoder: RecordEncoder,
    replace: bool,
}

impl TableSink {
    pub(super) fn new(path: String, schema: SchemaRef, encoder: RecordEncoder, replace: bool) -> Self {
        Self { path, schema, encoder, replace }
    }
}

impl DisplayAs for TableSink {
    fn fmt_as(&self, _: DisplayFormatType, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "OgiveTable(path={}, key={})", self.path, self.encoder.types().keys)
    }
}

fn writer(place: Place, types: &RecordType, replace: bool, memory: usize) -> ogive::Result<SortingWriter> {
    let profile = place.storage.profile().cloned().unwrap_or_default();
    let options = TableWriteOptions::default().record_type(types.clone()).profile(profile).replace(replace);
    let scratch: Arc<dyn Storage> = match place.storage.is_object_store() {
        true => Arc::new(LocalStorage::new(std::env::temp_dir())),
        false => place.storage.clone(),
    };
    SortingWriter::create_with_scratch(place.storage, &place.name, options, memory as u64, scratch)
}

#[async_trait]
impl DataSink for TableSink {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    async fn write_all(&self, rows: SendableRecordBatchStream, context: &Arc<TaskContext>) -> Result<u64> {
        let (memory, bytes) = (MemoryConsumer::new("OgiveTable").register(context.memory_pool()), sort_memory(context));
        memory.try_grow(bytes)?;
        let (path, types, replace) = (self.path.clone(), self.encoder.types().clone(), self.replace);
        let create = move || writer(locate(&path)?, &types, replace, bytes);
        let finish = |writer: SortingWriter| {
            let rows = writer.len();
            writer.finish().map_err(external)?;
            Ok(rows)
        };
        write_all(rows, self.encoder.clone(), create, finish).await
    }
}

/// A keyspace that takes rows.
#[derive(Clone, Debug)]
pub(crate) struct InsertTarget {
    pub(crate) identity: RelationIdentity,
    pub(crate) schema: SchemaRef,
    /// The columns of the key.
    pub(crate) key: Vec<String>,
    pub(crate) types: RecordType,
    /// Becomes true when the rows are there.
    pub(crate) is_stale: Arc<AtomicBool>,
}

impl InsertTarget {
    /// The plan that inserts the rows of another one; a row replaces the one that has its key.
    ///
    /// # Errors
    /// Relations that are not keyspaces of stores, columns that are not made of Arrow types, and `INSERT OVERWRITE`.
    pub(crate) fn plan(self, input: Arc<dyn ExecutionPlan>, operation: InsertOp) -> Result<Arc<dyn ExecutionPlan>> {
        let location = &self.identity.location;
        if operation == InsertOp::Overwrite {
            return not_impl_err!("INSERT OVERWRITE of a keyspace; by INSERT INTO rows replace those of the same key");
        }
        let encoder = RecordEncoder::new(&self.schema, &self.key, None);
        let encoder = encoder.map_err(|error| DataFusionError::External(Box::new(error)))?;
        let made = encoder.types();
        if made.keys != self.types.keys || made.values != self.types.values {
            return plan_err!("rows for {location} cannot be made of columns: its records are {}", self.types);
        }
        let sink = KeyspaceSink { target: self, encoder };
        Ok(Arc::new(DataSinkExec::new(input, Arc::new(sink), None)))
    }
}

/// Puts rows into a keyspace, all or none: they are sorted to a table, which the store takes in at once.
#[derive(Debug)]
struct KeyspaceSink {
    target: InsertTarget,
    encoder: RecordEncoder,
}

impl DisplayAs for KeyspaceSink {
    fn fmt_as(&self, _: DisplayFormatType, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RelationIdentity { location, keyspace, .. } = &self.target.identity;
        write!(formatter, "OgiveKeyspace(store={location}, keyspace={keyspace})")
    }
}

#[async_trait]
impl DataSink for KeyspaceSink {
    fn schema(&self) -> &SchemaRef {
        &self.target.schema
    }

    async fn write_all(&self, rows: SendableRecordBatchStream, context: &Arc<TaskContext>) -> Result<u64> {
        let (memory, bytes) =
            (MemoryConsumer::new("OgiveKeyspace").register(context.memory_pool()), sort_memory(context));
        memory.try_grow(bytes)?;
        let folder = tempfile::tempdir()?;
        let scratch: Arc<dyn Storage> = Arc::new(LocalStorage::new(folder.path()));
        let place = Place { storage: scratch.clone(), name: INSERT_NAME.to_owned() };
        let (types, target) = (self.encoder.types().clone(), self.target.clone());
        let finish = move |writer: SortingWriter| {
            let rows = writer.len();
            writer.finish().map_err(external)?;
            let RelationIdentity { location, keyspace, .. } = &target.identity;
            let storage = locate_folder(location).map_err(external)?;
            let store = Db::open_in(storage, &DbOptions::default()).map_err(external)?;
            let keyspace = store.keyspace(keyspace).map_err(external)?;
            keyspace.ingest_from(&[(scratch, INSERT_NAME.to_owned())]).map_err(external)?;
            store.close().map_err(external)?;
            target.is_stale.store(true, Ordering::Release);
            Ok(rows)
        };
        write_all(rows, self.encoder.clone(), move || writer(place, &types, false, bytes), finish).await
    }
}
