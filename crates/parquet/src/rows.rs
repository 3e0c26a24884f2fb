//! The rows of one file, without an index.

use crate::build::{add_file, open};
use crate::catalog::Catalog;
use crate::data::{Data, GroupRows, Pace, Projection};
use crate::error::{ParquetIndexError, Result};
use crate::fetched::{Fetched, Joining};
use crate::folder::{Folder, PathFolder, split};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use ogive::KeyType;
use ogive::io::{LocalStorage, remote_url};
use std::path::Path;
use std::sync::Arc;

/// Bytes of a row group that are read at a time, about.
const PART_BYTES: u64 = 64 << 20;

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
        let name = match remote_url(path).and_then(|url| url.rsplit_once('/')) {
            Some((_, name)) => name.to_owned(),
            None => LocalStorage::split_path(path)?.1,
        };
        Self::in_folder(Arc::new(PathFolder::of_index(path)?), &name, columns)
    }

    /// The rows of the file at a path in a folder.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn in_folder(folder: Arc<dyn Folder>, path: &str, columns: Option<&[&str]>) -> Result<Self> {
        let found = open(&*folder, "", path)?;
        let mut catalog = Catalog::default();
        add_file(&mut catalog, path, &found)?;
        let profile = folder.storage(split(path).0)?.profile().cloned().unwrap_or_default();
        // There is no index, so nothing has keys.
        let shown = found.file.path().to_owned();
        let data = Data::new(catalog, KeyType::Bytes, shown, folder, Joining::of(&profile))?;
        let projection = data.project(columns)?;
        Ok(Self { data, projection, group: 0, row: 0, fetched: None, pace: Pace::new() })
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

/// Runs a reader of the crate `parquet`, which panics on some damaged pages.
pub(crate) fn caught<T>(path: &Path, read: impl FnOnce() -> Result<T>) -> Result<T> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(read)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        let detail = format!("its pages contradict themselves ({})", text.unwrap_or("the decoder gave up"));
        Err(ParquetIndexError::Malformed { path: path.to_owned(), detail })
    })
}
