//! Tables on disk, each written twice: an Ogive table, and a Parquet file that is sorted by the same key.

use crate::error::{engine, failed, file};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::compute::{SortColumn, lexsort_to_indices, take_record_batch};
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::error::{DataFusionError, Result};
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::file::metadata::SortingColumn;
use datafusion::parquet::file::properties::{EnabledStatistics, WriterProperties};
use datafusion::parquet::schema::types::ColumnPath;
use ogive::{LocalStorage, Profile, Storage, TableWriteOptions, TableWriter};
use ogive_arrow::{RecordEncoder, RecordError};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows of a page of a Parquet file. Smaller pages make point queries read less, and scans hardly slower.
pub const PARQUET_PAGE_ROWS: usize = 4_096;
/// Rows of a row group: as many as DataFusion writes.
pub const PARQUET_GROUP_ROWS: usize = 1 << 20;

/// A table: its name, and the columns of its key.
#[derive(Clone, Debug)]
pub struct TableName {
    /// Its name in queries; files are called so, with `.ogive` and `.parquet` behind.
    pub name: String,
    /// The columns of the key, most significant first.
    pub key: Vec<String>,
    /// Whether rows come sorted by the key.
    pub is_sorted: bool,
}

impl TableName {
    /// A table whose rows are sorted by these columns.
    #[must_use]
    pub fn new(name: &str, key: &[&str]) -> Self {
        Self { name: name.to_owned(), key: key.iter().map(|&column| column.to_owned()).collect(), is_sorted: true }
    }

    /// The file of the Ogive table.
    #[must_use]
    pub fn ogive(&self) -> String {
        format!("{}.ogive", self.name)
    }

    /// The Parquet file.
    #[must_use]
    pub fn parquet(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{}.parquet", self.name))
    }
}

/// Writes batches to both files of a table. Existing files are replaced.
pub struct FilesWriter {
    ogive: Option<(TableWriter, RecordEncoder)>,
    parquet: Option<ArrowWriter<File>>,
    key: Vec<usize>,
}

impl std::fmt::Debug for FilesWriter {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("FilesWriter").field("key", &self.key).finish_non_exhaustive()
    }
}

impl FilesWriter {
    /// A writer of both files in a folder; of the Parquet file alone, if rows do not come sorted.
    ///
    /// # Errors
    /// Failed writes, and columns that Ogive does not store.
    pub fn create(folder: &Path, table: &TableName, schema: &SchemaRef) -> Result<Self> {
        Self::create_for(&Profile::default(), folder, table, schema)
    }

    /// The same with an Ogive table that is tuned for the storage of this profile.
    ///
    /// # Errors
    /// As [`Self::create`].
    pub fn create_for(profile: &Profile, folder: &Path, table: &TableName, schema: &SchemaRef) -> Result<Self> {
        let storage: Arc<dyn Storage> = Arc::new(LocalStorage::new(folder));
        let mut writer = Self::ogive_for(profile, storage, table, schema)?;
        if !table.is_sorted {
            writer = Self { ogive: None, ..writer };
        }
        let path = table.parquet(folder);
        let target = File::create(&path).map_err(file("create", &path))?;
        let properties = parquet_properties(schema, table)?;
        writer.parquet = Some(ArrowWriter::try_new(target, schema.clone(), Some(properties))?);
        Ok(writer)
    }

    /// A writer of the Ogive table alone.
    ///
    /// # Errors
    /// As [`Self::create`].
    pub fn ogive(storage: Arc<dyn Storage>, table: &TableName, schema: &SchemaRef) -> Result<Self> {
        Self::ogive_for(&Profile::default(), storage, table, schema)
    }

    fn ogive_for(profile: &Profile, storage: Arc<dyn Storage>, table: &TableName, schema: &SchemaRef) -> Result<Self> {
        let key = table.key.iter().map(|name| Ok(schema.index_of(name)?)).collect::<Result<Vec<_>>>()?;
        let records = RecordEncoder::new(schema, &table.key, None).map_err(records_error)?;
        let options = TableWriteOptions::default().record_type(records.types().clone());
        let options = options.profile(profile.clone()).replace(true);
        let writer = TableWriter::create((storage, &table.ogive()), options).map_err(engine)?;
        Ok(Self { ogive: Some((writer, records)), parquet: None, key })
    }

    /// Writes a batch. Rows are sorted within the batch; batches must be in order.
    ///
    /// # Errors
    /// Failed writes, and rows out of order.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        if let Some((writer, records)) = &mut self.ogive {
            let sorted = sorted(batch, &self.key)?;
            records.visit(&sorted, |key, value| writer.append(key, value)).map_err(records_error)?;
            if let Some(parquet) = &mut self.parquet {
                parquet.write(&sorted)?;
            }
        } else if let Some(parquet) = &mut self.parquet {
            parquet.write(batch)?;
        }
        Ok(())
    }

    /// Completes the files.
    ///
    /// # Errors
    /// Failed writes.
    pub fn finish(self) -> Result<()> {
        if let Some((writer, _)) = self.ogive {
            writer.finish().map_err(engine)?;
        }
        if let Some(parquet) = self.parquet {
            parquet.close()?;
        }
        Ok(())
    }
}

fn records_error(error: RecordError) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

/// The rows of a batch by these columns, which contain no nulls.
pub(crate) fn sorted(batch: &RecordBatch, key: &[usize]) -> Result<RecordBatch> {
    let column = |&column: &usize| SortColumn { values: batch.column(column).clone(), options: None };
    let columns: Vec<SortColumn> = key.iter().map(column).collect();
    let order = lexsort_to_indices(&columns, None)?;
    match order.values().is_sorted() {
        true => Ok(batch.clone()),
        false => Ok(take_record_batch(batch, &order)?),
    }
}

/// All that helps DataFusion to skip: statistics of pages, Bloom filters of the key, and the order.
fn parquet_properties(schema: &Schema, table: &TableName) -> Result<WriterProperties> {
    let mut properties = WriterProperties::builder()
        .set_statistics_enabled(EnabledStatistics::Page)
        .set_max_row_group_row_count(Some(PARQUET_GROUP_ROWS))
        .set_data_page_row_count_limit(PARQUET_PAGE_ROWS)
        .set_write_batch_size(PARQUET_PAGE_ROWS.min(1024));
    let mut order = Vec::new();
    for name in &table.key {
        let column = i32::try_from(schema.index_of(name)?).map_err(|_| failed("there are too many columns"))?;
        order.push(SortingColumn { column_idx: column, descending: false, nulls_first: false });
        properties = properties.set_column_bloom_filter_enabled(ColumnPath::from(name.as_str()), true);
    }
    Ok(properties.set_sorting_columns(table.is_sorted.then_some(order)).build())
}
