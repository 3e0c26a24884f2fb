//! `OGIVE` as a format that `COPY` writes.

use super::options::CopyOptions;
use super::request::WriteRequest;
use super::sink::RowSink;
use super::target::WriteTarget;
use crate::source::{Conditions, OgiveSource};
use crate::transaction::refuse_within;
use arrow_schema::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::{GetExt, Statistics, not_impl_err};
use datafusion::datasource::file_format::file_compression_type::FileCompressionType;
use datafusion::datasource::file_format::{FileFormat, FileFormatFactory};
use datafusion::datasource::physical_plan::{FileScanConfig, FileSinkConfig, FileSource};
use datafusion::datasource::table_schema::TableSchema;
use datafusion::error::Result;
use datafusion::object_store::{ObjectMeta, ObjectStore};
use datafusion::physical_expr::LexRequirement;
use datafusion::physical_plan::ExecutionPlan;
use std::collections::HashMap;
use std::sync::Arc;

/// The suffix of table files, without its dot.
const SUFFIX: &str = "ogive";

/// Makes [`OgiveFormat`]s of the options of `COPY`.
#[derive(Debug, Default)]
pub(crate) struct OgiveFormatFactory;

/// A table file or a keyspace that is written.
#[derive(Clone, Debug, Default)]
struct OgiveFormat {
    options: CopyOptions,
}

impl GetExt for OgiveFormatFactory {
    fn get_ext(&self) -> String {
        SUFFIX.to_owned()
    }
}

impl FileFormatFactory for OgiveFormatFactory {
    fn create(&self, _: &dyn Session, options: &HashMap<String, String>) -> Result<Arc<dyn FileFormat>> {
        Ok(Arc::new(OgiveFormat { options: CopyOptions::of(options)? }))
    }

    fn default(&self) -> Arc<dyn FileFormat> {
        Arc::new(OgiveFormat::default())
    }
}

#[async_trait]
impl FileFormat for OgiveFormat {
    fn get_ext(&self) -> String {
        SUFFIX.to_owned()
    }

    fn get_ext_with_compression(&self, _: &FileCompressionType) -> Result<String> {
        Ok(SUFFIX.to_owned())
    }

    fn compression_type(&self) -> Option<FileCompressionType> {
        None
    }

    async fn infer_schema(&self, _: &dyn Session, _: &Arc<dyn ObjectStore>, _: &[ObjectMeta]) -> Result<SchemaRef> {
        not_impl_err!("Ogive tables are read by CREATE EXTERNAL TABLE ... STORED AS OGIVE, and by their paths")
    }

    async fn infer_stats(
        &self,
        _: &dyn Session,
        _: &Arc<dyn ObjectStore>,
        schema: SchemaRef,
        _: &ObjectMeta,
    ) -> Result<Statistics> {
        Ok(Statistics::new_unknown(&schema))
    }

    async fn create_physical_plan(&self, _: &dyn Session, _: FileScanConfig) -> Result<Arc<dyn ExecutionPlan>> {
        not_impl_err!("Ogive tables are read by CREATE EXTERNAL TABLE ... STORED AS OGIVE, and by their paths")
    }

    async fn create_writer_physical_plan(
        &self,
        input: Arc<dyn ExecutionPlan>,
        session: &dyn Session,
        config: FileSinkConfig,
        _: Option<LexRequirement>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let is_partitioned = !config.table_partition_cols.is_empty();
        let schema = config.output_schema();
        let request = WriteRequest::of_copy(&config.original_url, schema, &self.options, is_partitioned)?;
        if matches!(request.target(), WriteTarget::Keyspace { .. }) {
            refuse_within(session, "COPY TO a keyspace")?;
        }
        Ok(RowSink::plan(request, schema.clone(), input, None))
    }

    fn file_source(&self, schema: TableSchema) -> Arc<dyn FileSource> {
        Arc::new(OgiveSource::new(Arc::new([]), schema.table_schema().clone(), Conditions::Told(Arc::new([]))))
    }
}
