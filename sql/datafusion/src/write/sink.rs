//! The sink that writes rows within one process.

use super::records::{KEYSPACE_VALUE_BYTES_MAX, check_nulls, nullable_columns, write_all};
use super::request::WriteRequest;
use super::target::WriteTarget;
use crate::blocking::blocking;
use crate::error::{external, external_record};
use crate::transaction::OpenTransaction;
use arrow_schema::{Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::common::{exec_err, internal_err};
use datafusion::datasource::sink::{DataSink, DataSinkExec};
use datafusion::error::Result;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryLimit};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan};
use futures::StreamExt;
use ogive::io::{LocatedFile, locate};
use ogive::types::RecordType;
use ogive::{LocalStorage, SortingWriter, Storage, Table, TableOptions, TableWriteOptions};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Memory of the sort of what is written, where memory is not limited.
const SORT_MEMORY_BYTES: usize = 64 << 20;
/// The least memory of the sort.
const SORT_MEMORY_BYTES_MIN: usize = 2 << 20;

/// The memory of a sort: a quarter of what there is, at most.
pub(super) fn sort_memory(context: &TaskContext) -> usize {
    match context.memory_pool().memory_limit() {
        MemoryLimit::Finite(limit) => (limit / 4).clamp(SORT_MEMORY_BYTES_MIN, SORT_MEMORY_BYTES),
        _ => SORT_MEMORY_BYTES,
    }
}

/// The name of the table that rows for a keyspace are sorted to before the store takes it in.
const SORTED_NAME: &str = "rows.ogive";

/// Writes rows to their target: sorted by the key, all or none.
#[derive(Debug)]
pub(crate) struct RowSink {
    request: WriteRequest,
    /// That of the rows, with nulls anywhere: DataFusion would refuse them without the name of their column.
    schema: SchemaRef,
    /// The transaction that takes the rows.
    transaction: Option<Arc<OpenTransaction>>,
}

impl RowSink {
    /// The plan that writes the rows of another one.
    pub(crate) fn plan(
        request: WriteRequest,
        schema: SchemaRef,
        input: Arc<dyn ExecutionPlan>,
        transaction: Option<Arc<OpenTransaction>>,
    ) -> Arc<dyn ExecutionPlan> {
        let fields = schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        Arc::new(DataSinkExec::new(input, Arc::new(Self { request, schema, transaction }), None))
    }
}

impl RowSink {
    /// Writes the rows in a transaction, all or none.
    async fn write_in(
        &self,
        transaction: &OpenTransaction,
        mut rows: SendableRecordBatchStream,
        context: &TaskContext,
    ) -> Result<u64> {
        let WriteTarget::Keyspace { location, keyspace, .. } = self.request.target() else {
            return internal_err!("a transaction writes to keyspaces");
        };
        let memory = MemoryConsumer::new("OgiveTable").register(context.memory_pool());
        let (types, mut changes, mut bytes) = (self.request.types(), BTreeMap::new(), 0);
        let nullable = nullable_columns(&self.schema, types, false);
        while let Some(batch) = rows.next().await.transpose()? {
            check_nulls(&batch, &self.schema, &nullable)?;
            let mut is_distinct = true;
            let encoded = self.request.encoder().visit(&batch, |key, value| {
                bytes += key.len() + value.len();
                is_distinct &= changes.insert(key.to_vec(), Some(value.to_vec())).is_none();
                Ok(())
            });
            encoded.map_err(external_record)?;
            if !is_distinct {
                return several_of_a_key(location);
            }
            memory.try_resize(bytes)?;
        }
        let count = changes.len() as u64;
        transaction.change(keyspace, Some(types), changes, self.request.is_stale())?;
        Ok(count)
    }
}

impl DisplayAs for RowSink {
    fn fmt_as(&self, _: DisplayFormatType, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.request.target() {
            WriteTarget::Table { path, .. } => {
                write!(formatter, "OgiveTable(path={path}, key={})", self.request.types().keys)
            }
            WriteTarget::Keyspace { location, keyspace, .. } => {
                write!(formatter, "OgiveKeyspace(store={location}, keyspace={keyspace})")
            }
        }
    }
}

/// A writer that sorts records to a table.
pub(super) fn writer(
    place: LocatedFile,
    types: &RecordType,
    replace: bool,
    memory: usize,
) -> ogive::Result<SortingWriter> {
    let profile = place.storage.profile().cloned().unwrap_or_default();
    let options = TableWriteOptions::default().record_type(types.clone()).profile(profile).replace(replace);
    let scratch: Arc<dyn Storage> = match place.storage.is_object_store() {
        true => Arc::new(LocalStorage::new(std::env::temp_dir())),
        false => place.storage.clone(),
    };
    SortingWriter::create_with_scratch((place.storage, &place.name), options, memory as u64, scratch)
}

/// Completes a table; returns its number of rows.
pub(super) fn finished(writer: SortingWriter) -> Result<u64> {
    let rows = writer.len();
    writer.finish().map_err(external)?;
    Ok(rows)
}

/// Fails if several records of a table for a keyspace have one key.
pub(super) fn check_distinct(place: &LocatedFile, location: &str) -> Result<()> {
    let table = Table::open((place.storage.clone(), &place.name), &TableOptions::default()).map_err(external)?;
    if table.is_distinct() {
        return Ok(());
    }
    several_of_a_key(location)
}

fn several_of_a_key<T>(location: &str) -> Result<T> {
    exec_err!("several of the rows for {location} have the same key, and a keyspace keeps one row a key; group them")
}

#[async_trait]
impl DataSink for RowSink {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    async fn write_all(&self, rows: SendableRecordBatchStream, context: &Arc<TaskContext>) -> Result<u64> {
        if let Some(transaction) = &self.transaction {
            return self.write_in(transaction, rows, context).await;
        }
        let (memory, bytes) = (MemoryConsumer::new("OgiveTable").register(context.memory_pool()), sort_memory(context));
        memory.try_grow(bytes)?;
        let request = self.request.clone();
        let request = blocking(move || request.checked()).await?;
        let is_insert = matches!(request.target(), WriteTarget::Keyspace { create: false, .. });
        let (encoder, types) = (request.encoder().clone(), request.types().clone());
        let (schema, nullable) = (self.schema.clone(), nullable_columns(&self.schema, &types, !is_insert));
        let rows =
            rows.map(move |batch| batch.and_then(|batch| check_nulls(&batch, &schema, &nullable).map(|()| batch)));
        let rows: SendableRecordBatchStream = Box::pin(RecordBatchStreamAdapter::new(self.schema.clone(), rows));
        match request.target().clone() {
            WriteTarget::Table { path, replace } => {
                let create = move || writer(locate(&path)?, &types, replace, bytes);
                write_all(rows, encoder, u64::MAX, create, finished).await
            }
            WriteTarget::Keyspace { location, .. } => {
                let folder = tempfile::tempdir()?;
                let scratch: Arc<dyn Storage> = Arc::new(LocalStorage::new(folder.path()));
                let sorted = LocatedFile { storage: scratch, name: SORTED_NAME.to_owned() };
                let create = {
                    let sorted = sorted.clone();
                    move || writer(sorted, &types, false, bytes)
                };
                let finish = move |writer| {
                    let rows = finished(writer)?;
                    check_distinct(&sorted, &location)?;
                    request.ingest(&[(sorted.storage, sorted.name)]).map_err(external)?;
                    Ok(rows)
                };
                write_all(rows, encoder, KEYSPACE_VALUE_BYTES_MAX, create, finish).await
            }
        }
    }
}
