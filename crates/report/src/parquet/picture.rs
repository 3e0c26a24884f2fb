//! The content of the page, as data: also the answer of `ogive report --json`.

use crate::table::TablePicture;
use serde::Serialize;

/// What the report of an index beside Parquet files shows.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ParquetPicture {
    /// Name of the index file.
    pub name: String,
    /// Columns of the key.
    pub key: Vec<String>,
    /// Type of the key.
    pub key_type: String,
    /// Whether the files are sorted by the key.
    pub is_sorted: bool,
    /// Rows of all files.
    pub rows: u64,
    /// Bytes of the index file.
    pub index_bytes: u64,
    /// Bytes that opening the index reads.
    pub opening_bytes: u64,
    /// Bytes of the catalog: schemas, files, places of pages, separators.
    pub catalog_bytes: u64,
    /// Bytes of the schemas in it.
    pub schema_bytes: u64,
    /// Bytes of the places of pages.
    pub place_bytes: u64,
    /// Bytes of the separators of sorted files.
    pub separator_bytes: u64,
    /// The files.
    pub files: Vec<DataFile>,
    /// The runs of sorted row groups.
    pub runs: Vec<SortedRun>,
    /// Keys of some rows, ascending; of files that are not sorted, `table` has the curve.
    pub curve: Vec<CurveKey>,
    /// Lookups that were made for the report.
    pub lookups: Vec<FileLookup>,
    /// The table with a record for each row, of files that are not sorted.
    pub table: Option<Box<TablePicture>>,
}

/// A Parquet file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DataFile {
    /// Path.
    pub path: String,
    /// Bytes.
    pub bytes: u64,
    /// Rows.
    pub rows: u64,
    /// Row groups.
    pub groups: u64,
    /// Data pages.
    pub pages: u64,
    /// Bytes of data pages and dictionary pages.
    pub page_bytes: u64,
}

/// Row groups that follow each other in key order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SortedRun {
    /// Row groups.
    pub groups: u64,
    /// Rows.
    pub rows: u64,
    /// Intervals of rows with a separator each.
    pub intervals: u64,
    /// Bytes of the separators.
    pub separator_bytes: u64,
}

/// A point of the key curve.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CurveKey {
    /// The key as text.
    pub text: String,
    /// Its bytes.
    #[serde(skip)]
    pub key: Vec<u8>,
    /// Number of rows with smaller keys.
    pub rows: u64,
}

/// A lookup that was made for the report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FileLookup {
    /// The key as text.
    pub key: String,
    /// Rows that were found.
    pub rows: u64,
    /// The requests in order, with the one that opened the index.
    pub requests: Vec<FileRequest>,
}

/// A request of a lookup.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FileRequest {
    /// The round, counted from 1: requests of one round are under way at the same time.
    pub round: u32,
    /// Name of the file.
    pub file: String,
    /// Whether it is the index file.
    pub is_index: bool,
    /// Offset in bytes.
    pub offset: u64,
    /// Bytes.
    pub bytes: u64,
    /// What it brings.
    pub parts: Vec<String>,
}
