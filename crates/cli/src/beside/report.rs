//! The page of an index beside Parquet files for `ogive report`.

use crate::failure::Result;
use crate::values::key;
use ogive::io::Profile;
use ogive::table::{Table, TableOptions};
use ogive_parquet::{ParquetIndex, PathFolder, Trace, TracedRequest};
use ogive_report::parquet::{CurveKey, DataFile, FileLookup, FileRequest, ParquetPicture, SortedRun};
use ogive_report::table::TablePicture;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

/// Keys that are looked up if none are asked for.
const DEFAULT_KEYS: usize = 3;

/// What to look at.
#[derive(Debug)]
pub(crate) struct BesideReport<'a> {
    pub(crate) path: &'a Path,
    pub(crate) name: String,
    /// The keys to look up.
    pub(crate) keys: &'a [OsString],
    /// Rows to read for the curve of sorted files.
    pub(crate) samples: u64,
    pub(crate) profile: Profile,
}

/// What the report of an index shows; `of_table` makes the picture of the table that holds it, with these keys.
///
/// # Errors
/// Errors of the index and of its files, and of `of_table`.
pub(crate) fn picture(
    report: &BesideReport<'_>,
    table: Table,
    of_table: impl FnOnce(&Table, Vec<Vec<u8>>) -> Result<TablePicture>,
) -> Result<ParquetPicture> {
    let folder = PathFolder::of_index(report.path)?;
    let options = TableOptions::default().profile(report.profile.clone());
    let index = ParquetIndex::of_table(table, Arc::new(folder), &options)?;
    let key_type = index.key_type();
    let is_sorted = index.is_sorted();
    let asked = report.keys.iter().map(|key| key::from_argument(key_type, key)).collect::<Result<Vec<_>>>()?;
    let curve = match (is_sorted, asked.is_empty()) {
        (false, false) => Vec::new(),
        (false, true) => index.curve(2 * DEFAULT_KEYS as u64 + 1)?,
        (true, _) => index.curve(report.samples)?,
    };
    let keys = if asked.is_empty() { defaults(&curve) } else { asked };
    let lookups = keys.iter().map(|key| lookup(&index, key)).collect::<Result<Vec<_>>>()?;
    let structure = index.structure()?;
    let files = structure.files.iter().map(|file| DataFile {
        path: file.path.display().to_string(),
        bytes: file.bytes,
        rows: file.rows,
        groups: file.groups,
        pages: file.pages,
        page_bytes: file.page_bytes,
    });
    let runs = structure.runs.iter().map(|run| SortedRun {
        groups: run.groups,
        rows: run.rows,
        intervals: run.intervals,
        separator_bytes: run.separator_bytes,
    });
    let shown = |(key, rows): (Vec<u8>, u64)| CurveKey { text: key_type.display(&key), key, rows };
    Ok(ParquetPicture {
        name: report.name.clone(),
        key: index.key_columns().map(str::to_owned).collect(),
        key_type: key_type.to_string(),
        is_sorted,
        rows: index.rows(),
        index_bytes: index.table().explain().file_bytes,
        opening_bytes: index.table().opening().bytes,
        catalog_bytes: structure.catalog_bytes,
        schema_bytes: structure.schema_bytes,
        place_bytes: structure.place_bytes,
        separator_bytes: structure.separator_bytes,
        files: files.collect(),
        runs: runs.collect(),
        curve: if is_sorted { curve.into_iter().map(shown).collect() } else { Vec::new() },
        lookups,
        table: if is_sorted { None } else { Some(Box::new(of_table(index.table(), keys)?)) },
    })
}

/// Keys of the curve, evenly apart.
fn defaults(curve: &[(Vec<u8>, u64)]) -> Vec<Vec<u8>> {
    let at = |number: usize| curve.len() * (2 * number + 1) / (2 * DEFAULT_KEYS);
    let mut keys: Vec<Vec<u8>> =
        (0..DEFAULT_KEYS).filter_map(|number| Some(curve.get(at(number))?.0.clone())).collect();
    keys.dedup();
    keys
}

/// Looks a key up, and notes the requests.
fn lookup(index: &ParquetIndex, key: &[u8]) -> Result<FileLookup> {
    let path = index.table().path().to_owned();
    let mut trace = Trace::new();
    trace.add_index_reads(&path, &[index.table().opening()], false);
    let rows = index.get_traced(key, None, Some(&mut trace))?;
    let request = |request: TracedRequest| FileRequest {
        round: request.round,
        file: request.path.file_name().unwrap_or(request.path.as_os_str()).to_string_lossy().into_owned(),
        is_index: request.path == path,
        offset: request.offset,
        bytes: request.bytes,
        parts: request.parts,
    };
    Ok(FileLookup {
        key: index.key_type().display(key),
        rows: rows.num_rows() as u64,
        requests: trace.requests.into_iter().map(request).collect(),
    })
}
