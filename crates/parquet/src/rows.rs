//! The rows of one file, without an index.

use crate::catalog::Catalog;
use crate::data::{Data, GroupRows, Pace, Projection};
use crate::error::{ParquetIndexError, Result};
use crate::file::fetched::Fetched;
use crate::file::int96::Reading;
use crate::folder::{Folder, PathFolder, split, split_query};
use crate::open_data::{add_file, open, refuse_other_than_int96};
use crate::schema::FileSchema;
use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use ogive::KeyType;
use ogive::io::{LocalStorage, remote_url};
use parquet::schema::types::TypePtr;
use std::path::Path;
use std::sync::Arc;

/// Bytes of a row group that are read at a time, about.
const PART_BYTES: u64 = 64 << 20;

/// How the rows of a file are read.
#[derive(Clone, Debug, Default)]
pub struct RowsOptions {
    columns: Option<Vec<String>>,
    reading: Reading,
}

impl RowsOptions {
    /// Reads columns as an index does.
    pub(crate) fn reading(reading: Reading) -> Self {
        Self { columns: None, reading }
    }

    /// Reads these columns only, in this order.
    #[must_use]
    pub fn columns(self, columns: Vec<String>) -> Self {
        Self { columns: Some(columns), ..self }
    }

    /// Reads these columns of timestamps of the type INT96 in nanoseconds, which have the years 1677 to 2262; others
    /// are read in microseconds.
    #[must_use]
    pub fn nanoseconds(self, columns: Vec<String>) -> Self {
        Self { reading: Reading { nanoseconds: columns, ..self.reading }, ..self }
    }

    /// Reads types as Parquet states them, without the hints of writers that know Arrow; intervals are bytes.
    #[must_use]
    pub fn plain_types(self) -> Self {
        Self { reading: Reading { is_plain: true, ..self.reading }, ..self }
    }
}

/// The rows of a Parquet file in the order of the file, read as they are used.
///
/// A file is read with distrust: one that is damaged gives an error that names it.
///
/// ```no_run
/// use ogive_parquet::ParquetRows;
///
/// let rows = ParquetRows::open("events.parquet".as_ref(), Some(&["user_id", "ts"]))?;
/// println!("{} rows of {:?}", rows.len(), rows.schema());
/// for batch in rows {
///     println!("{} rows", batch?.num_rows());
/// }
/// # Ok::<(), ogive_parquet::ParquetIndexError>(())
/// ```
#[derive(Debug)]
pub struct ParquetRows {
    data: Data,
    projection: Projection,
    group: usize,
    /// The next row of the group.
    row: u64,
    /// What was read of the group, and the first row behind it.
    fetched: Option<(Fetched, u64)>,
    pace: Pace,
}

impl ParquetRows {
    /// The rows of the file at a path or URL, with these columns, or all of them.
    ///
    /// # Errors
    /// [`ParquetIndexError::Malformed`] for what is no readable Parquet file; [`ParquetIndexError::NoColumn`]; those of
    /// its storage.
    pub fn open(path: &Path, columns: Option<&[&str]>) -> Result<Self> {
        Self::open_with(path, &named(columns))
    }

    /// The rows of the file at a path or URL.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_with(path: &Path, options: &RowsOptions) -> Result<Self> {
        let name = match remote_url(path).and_then(|url| split_query(url).0.rsplit_once('/')) {
            Some((_, name)) => name.to_owned(),
            None => LocalStorage::split_path(path)?.1,
        };
        Self::in_folder_with(Arc::new(PathFolder::of_index(path)?), &name, options)
    }

    /// The rows of the file at a path in a folder, with these columns, or all of them.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn in_folder(folder: Arc<dyn Folder>, path: &str, columns: Option<&[&str]>) -> Result<Self> {
        Self::in_folder_with(folder, path, &named(columns))
    }

    /// The rows of the file at a path in a folder.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn in_folder_with(folder: Arc<dyn Folder>, path: &str, options: &RowsOptions) -> Result<Self> {
        let found = open(&*folder, "", path)?;
        let mut catalog = Catalog { reading: options.reading.clone(), ..Catalog::default() };
        add_file(&mut catalog, path, &found)?;
        // There is no index, so nothing has keys.
        let shown = found.file.path().to_owned();
        refuse_other_than_int96(&catalog, &|_| shown.clone())?;
        let profile = folder.storage(split(path).0)?.profile().cloned().unwrap_or_default();
        let columns: Option<Vec<&str>> =
            options.columns.as_ref().map(|columns| columns.iter().map(String::as_str).collect());
        let columns = columns.as_deref();
        let names: Vec<&str> =
            catalog.schemas.iter().flat_map(FileSchema::columns).map(|column| column.name()).collect();
        if let Some(column) = columns.into_iter().flatten().find(|column| !names.contains(column)) {
            let (column, known) = ((*column).to_owned(), names.join(", "));
            return Err(ParquetIndexError::NoColumn { path: shown, column, known });
        }
        let data = Data::new(catalog, KeyType::Bytes, shown, folder, &profile, columns)?;
        let projection = data.project(columns)?;
        Ok(Self { data, projection, group: 0, row: 0, fetched: None, pace: Pace::new() })
    }

    /// All columns of the file, as Parquet states them.
    #[must_use]
    pub fn file_columns(&self) -> &[TypePtr] {
        self.data.catalog.schemas.first().map_or(&[], FileSchema::columns)
    }

    /// All columns of the file with the types that its writer hints at, whether or not they are read so.
    #[must_use]
    pub fn hinted_columns(&self) -> SchemaRef {
        self.data.catalog.schemas.first().map_or_else(|| Arc::new(Schema::empty()), |schema| schema.hinted.clone())
    }

    /// The number of rows of the file.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.data.catalog.groups.iter().map(|group| group.rows).sum()
    }

    /// Whether the file has no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The columns of the batches.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        self.projection.schema.clone()
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let Self { data, projection, group, row, fetched, pace } = self;
        let Some(rows) = data.catalog.groups.get(*group).map(|group| group.rows) else { return Ok(None) };
        let of = |rows: std::ops::Range<u64>| GroupRows { group: *group, ranges: std::iter::once(rows).collect() };
        if fetched.is_none() {
            let end = part_end(data, &of(*row..rows), &projection.columns)?;
            *fetched = Some((data.fetch(&[of(*row..end)], &projection.columns, None)?, end));
        }
        let Some((bytes, part_end)) = fetched else { return Ok(None) };
        let end = (*row + pace.rows()).min(*part_end);
        let batch = data.decode(&of(*row..end), projection, bytes)?;
        pace.follow(&batch);
        *row = end;
        if end == *part_end {
            *fetched = None;
        }
        if end == rows {
            (*group, *row) = (*group + 1, 0);
        }
        Ok(Some(batch))
    }
}

/// Options for columns of these names, or for all.
fn named(columns: Option<&[&str]>) -> RowsOptions {
    let columns = columns.map(|columns| columns.iter().map(|name| (*name).to_owned()).collect());
    RowsOptions { columns, ..RowsOptions::default() }
}

/// The end of the rows to be read next: all that are left, unless they are many and can be read in parts.
fn part_end(data: &Data, left: &GroupRows, columns: &[usize]) -> Result<u64> {
    let Some(rows) = left.ranges.first().cloned() else { return Ok(0) };
    let all_bytes = data.round_bytes(std::slice::from_ref(left), columns)?;
    if all_bytes <= PART_BYTES {
        return Ok(rows.end);
    }
    let count = ((rows.end - rows.start) as f64 * (PART_BYTES as f64 / all_bytes as f64)) as u64;
    let end = rows.start + count.max(1);
    let part = GroupRows { group: left.group, ranges: std::iter::once(rows.start..end).collect() };
    // Columns whose pages are not known are read as a whole, again for each part.
    let is_apart = data.round_bytes(&[part], columns)? <= all_bytes / 2;
    Ok(if is_apart { end } else { rows.end })
}

impl Iterator for ParquetRows {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.next_batch().transpose();
        if matches!(next, Some(Err(_))) {
            self.group = self.data.catalog.groups.len();
        }
        next
    }
}
