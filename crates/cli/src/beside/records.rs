//! Rows of Parquet files as records, with the keys of an index beside them: exports, and inputs of joins.

use super::BesideIndex;
use crate::commands::ordered_map::RangeOptions;
use crate::export::{RecordSource, RecordVisitor};
use crate::failure::{Failure, Result};
use crate::reading::bounds::Bounds;
use arrow_array::RecordBatch;
use arrow_schema::extension::EXTENSION_TYPE_NAME_KEY;
use arrow_schema::{Field, Schema};
use ogive::io::Profile;
use ogive::join::{JoinSource, RecordShape};
use ogive::table::{Record, Table, TableOptions};
use ogive::types::RecordType;
use ogive::{Error, KeyType};
use ogive_arrow::{RecordEncoder, RecordError};
use ogive_parquet::{ParquetIndex, ParquetScan, PathFolder};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// The name by which Arrow tells UUIDs from other bytes.
const UUID_EXTENSION: &str = "arrow.uuid";

/// The rows of a range of an index, as records with its keys.
#[derive(Debug)]
pub(crate) struct BesideRecords {
    rows: EncodedRows,
    bounds: Bounds<Vec<u8>>,
    is_whole: bool,
}

/// Rows of some columns, and what makes records of them.
#[derive(Clone, Debug)]
struct EncodedRows {
    index: ParquetIndex,
    /// The columns that are read: all without any.
    columns: Option<Vec<String>>,
    encoder: RecordEncoder,
}

impl EncodedRows {
    /// The rows with these columns behind those of the key, or with all.
    fn new(index: ParquetIndex, chosen: &[String]) -> Result<Self> {
        let key: Vec<String> = index.key_columns().map(str::to_owned).collect();
        let chosen: Vec<String> = chosen.iter().filter(|name| !key.contains(name)).cloned().collect();
        let columns = (!chosen.is_empty()).then(|| [&key[..], &chosen].concat());
        let schema = index.schema_of(columns.as_ref().map(|names| as_strs(names)).as_deref())?;
        let field = |field: &Arc<Field>| {
            let mut metadata = field.metadata().clone();
            if index.is_uuid(field.name()) {
                metadata.insert(EXTENSION_TYPE_NAME_KEY.to_owned(), UUID_EXTENSION.to_owned());
            }
            field.as_ref().clone().with_metadata(metadata)
        };
        let schema = Schema::new(schema.fields().iter().map(field).collect::<Vec<_>>());
        let encoder = RecordEncoder::new(&schema, &key, columns.is_some().then_some(&chosen[..]));
        let encoder = encoder.map_err(|error| refused(&error.to_string()))?.with_key_type(index.key_type());
        Ok(Self { index, columns, encoder })
    }

    fn names(&self) -> Option<Vec<&str>> {
        self.columns.as_deref().map(as_strs)
    }

    /// All rows in the order of the files.
    fn in_files(&self) -> Result<ParquetScan> {
        Ok(self.index.scan_files(self.names().as_deref())?)
    }
}

fn as_strs(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}

fn refused(detail: &str) -> Failure {
    Failure::refused(format!("rows of Parquet files are no records: {detail}"), "choose other columns with --columns")
}

impl BesideRecords {
    /// The rows of a range with these columns behind those of the key, or with all.
    ///
    /// # Errors
    /// [`Failure::Refused`] for columns of types that no record has.
    pub(crate) fn of(open: &BesideIndex, range: &RangeOptions, columns: &[String]) -> Result<Self> {
        let is_whole = range.from.is_none() && range.to.is_none() && range.prefix.is_none();
        Ok(Self { bounds: open.range(range)?, is_whole, rows: EncodedRows::new(open.index.clone(), columns)? })
    }
}

impl RecordSource for BesideRecords {
    fn record_type(&self) -> RecordType {
        self.rows.encoder.types().clone()
    }

    fn expected(&self) -> Option<u64> {
        self.is_whole.then(|| self.rows.index.rows())
    }

    fn visit(&self, visit: &mut RecordVisitor<'_>) -> Result<()> {
        let EncodedRows { index, encoder, .. } = &self.rows;
        // All rows are wanted.
        for batch in index.scan(self.bounds.clone(), self.rows.names().as_deref())?.limit(u64::MAX) {
            for (key, value) in records_of(encoder, &batch?).map_err(|error| refused(&error.to_string()))? {
                visit(&key, &value)?;
            }
        }
        Ok(())
    }
}

/// The records of the rows of a batch.
fn records_of(encoder: &RecordEncoder, batch: &RecordBatch) -> Result<Vec<Record>, RecordError> {
    let mut records = Vec::with_capacity(batch.num_rows());
    encoder.visit(batch, |key, value| {
        records.push((key.to_vec(), value.to_vec()));
        Ok(())
    })?;
    Ok(records)
}

/// The rows of the index that a table holds as an input of a join, with these columns or all, and the type of the keys.
///
/// # Errors
/// [`Failure::Refused`] for columns of types that no record has; those of the index.
pub(crate) fn relation(
    path: &Path,
    table: Table,
    columns: &[String],
    profile: Profile,
) -> Result<(JoinSource, KeyType)> {
    let folder = PathFolder::of_index(path)?;
    let index = ParquetIndex::of_table(table, Arc::new(folder), &TableOptions::default().profile(profile))?;
    let rows = EncodedRows::new(index, columns)?;
    let types = rows.encoder.types().clone();
    let key_type = types.keys;
    let shape = RecordShape {
        name: path.display().to_string(),
        key_type,
        value_bytes: types.values.width(),
        rows: rows.index.rows(),
        bytes: mean_bytes(&rows)?.saturating_mul(rows.index.rows()),
    };
    let path = path.to_owned();
    let records = move || -> Box<dyn Iterator<Item = ogive::Result<Record>> + Send> {
        let failed = |detail: String| Error::io("read", &path, io::Error::other(detail));
        let scan = match rows.in_files() {
            Ok(scan) => scan,
            Err(failure) => return Box::new(std::iter::once(Err(failed(failure.to_string())))),
        };
        let (encoder, path) = (rows.encoder.clone(), path.clone());
        let of_batch = move |batch: ogive_parquet::Result<RecordBatch>| {
            let records = batch.map_err(|error| error.to_string());
            let records = records.and_then(|it| records_of(&encoder, &it).map_err(|error| error.to_string()));
            let records = records.map_err(|detail| Error::io("read", &path, io::Error::other(detail)));
            let (records, error) = match records {
                Ok(records) => (records, None),
                Err(error) => (Vec::new(), Some(Err(error))),
            };
            records.into_iter().map(Ok).chain(error)
        };
        Box::new(scan.flat_map(of_batch))
    };
    Ok((JoinSource::unsorted(shape, records).with_types(types), key_type))
}

/// The mean length of the first records, key and value together.
fn mean_bytes(rows: &EncodedRows) -> Result<u64> {
    let Some(batch) = rows.in_files()?.next() else { return Ok(0) };
    let records = records_of(&rows.encoder, &batch?).map_err(|error| refused(&error.to_string()))?;
    let bytes: usize = records.iter().map(|(key, value)| key.len() + value.len()).sum();
    Ok((bytes / records.len().max(1)) as u64)
}
