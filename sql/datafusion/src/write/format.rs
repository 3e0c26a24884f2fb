//! `OGIVE` as a format that `COPY` writes.

use super::sink::TableSink;
use crate::source::OgiveSource;
use arrow_schema::{Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::{GetExt, Statistics, not_impl_err, plan_err};
use datafusion::datasource::file_format::file_compression_type::FileCompressionType;
use datafusion::datasource::file_format::{FileFormat, FileFormatFactory};
use datafusion::datasource::physical_plan::{FileScanConfig, FileSinkConfig, FileSource};
use datafusion::datasource::sink::DataSinkExec;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::error::{DataFusionError, Result};
use datafusion::object_store::{ObjectMeta, ObjectStore};
use datafusion::physical_expr::LexRequirement;
use datafusion::physical_plan::ExecutionPlan;
use ogive::io::remote_url;
use ogive_arrow::RecordEncoder;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// The suffix of table files, without its dot.
const SUFFIX: &str = "ogive";

/// The folder of a path of this machine, if it is not there.
fn missing_folder(path: &str) -> Option<String> {
    let folder = Path::new(path).parent().filter(|folder| !folder.as_os_str().is_empty())?;
    let is_missing = remote_url(Path::new(path)).is_none() && !path.contains("://") && !folder.exists();
    is_missing.then(|| folder.display().to_string())
}

/// The column of a value that is no row.
const EMPTY_VALUE: &str = "value";

/// Makes [`OgiveFormat`]s of the options of `COPY`.
#[derive(Debug, Default)]
pub(crate) struct OgiveFormatFactory;

/// A table file that is written: `COPY ... TO 'x.ogive' STORED AS OGIVE OPTIONS (key 'a,b', replace true)`.
#[derive(Clone, Debug, Default)]
struct OgiveFormat {
    /// The columns of the key; the first column without any.
    key: Option<Vec<String>>,
    /// Whether a table of the same name is replaced.
    replace: bool,
}

impl GetExt for OgiveFormatFactory {
    fn get_ext(&self) -> String {
        SUFFIX.to_owned()
    }
}

impl FileFormatFactory for OgiveFormatFactory {
    fn create(&self, _: &dyn Session, options: &HashMap<String, String>) -> Result<Arc<dyn FileFormat>> {
        let mut format = OgiveFormat::default();
        for (name, value) in options {
            match name.trim_start_matches("format.") {
                "key" => format.key = Some(value.split(',').map(|column| column.trim().to_owned()).collect()),
                "replace" => {
                    format.replace = value.parse().map_err(|_| {
                        DataFusionError::Plan(format!("the option 'replace' is true or false, not '{value}'"))
                    })?;
                }
                other => return plan_err!("Ogive tables have no option '{other}'; there are 'key' and 'replace'"),
            }
        }
        Ok(Arc::new(format))
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
        _: &dyn Session,
        config: FileSinkConfig,
        _: Option<LexRequirement>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let place = &config.original_url;
        if !config.table_partition_cols.is_empty() {
            return plan_err!("{place} is one table, which has no PARTITIONED BY");
        }
        if place.ends_with('/') {
            return plan_err!("{place} is a folder; give the name of a table, such as {place}part.ogive");
        }
        if let Some(folder) = missing_folder(place) {
            return plan_err!("there is no folder {folder} for {place}; create it, or check the path");
        }
        let schema: &Schema = config.output_schema();
        let first = || schema.fields().first().map(|field| vec![field.name().clone()]);
        let Some(key) = self.key.clone().or_else(first) else {
            return plan_err!("there are no columns to write to {place}");
        };
        if let Some((_, twice)) = key.iter().enumerate().find(|(at, name)| key[..*at].contains(name)) {
            return plan_err!("the key of {place} names '{twice}' twice");
        }
        // A table whose columns are all of the key has an empty value, which is a column, too.
        if key.len() == schema.fields().len() && key.iter().any(|name| name == EMPTY_VALUE) {
            return plan_err!("{place} cannot have a key '{EMPTY_VALUE}' and no other column; rename it by AS");
        }
        let encoder =
            RecordEncoder::new(schema, &key, None).map_err(|error| DataFusionError::External(Box::new(error)))?;
        let sink = TableSink::new(place.clone(), config.output_schema().clone(), encoder, self.replace);
        Ok(Arc::new(DataSinkExec::new(input, Arc::new(sink), None)))
    }

    fn file_source(&self, schema: TableSchema) -> Arc<dyn FileSource> {
        Arc::new(OgiveSource::new(Arc::new([]), schema.table_schema().clone(), Vec::new()))
    }
}
