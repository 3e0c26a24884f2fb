//! An open index: lookups, ranks and counts.

use crate::build::{BuildOptions, BuildReport};
use crate::catalog::{Catalog, PROPERTY};
use crate::data::{Data, GroupRows, Projection};
use crate::error::{ParquetIndexError, Result};
use crate::file::decode::row_at;
use crate::folder::Folder;
use crate::place::Place;
use crate::router::RunSearch;
use crate::trace::Trace;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use ogive::table::{ReadTrace, Table, TableOptions};
use ogive::{KeyType, Storage};
use std::collections::BTreeMap;
use std::ops::{Bound, Range, RangeBounds};
use std::path::PathBuf;
use std::sync::Arc;

/// An index beside Parquet files: from a key to its rows in one round of reads, or two where files are not sorted.
///
/// Keys are the bytes of [`KeyType`]; [`KeyType::parse`] and [`KeyType::encode`] make them. Where the key column has
/// nulls, or has several columns, keys are tuples.
#[derive(Clone, Debug)]
pub struct ParquetIndex {
    pub(crate) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) table: Table,
    pub(crate) data: Data,
    /// The runs of sorted files; none if the records of the table lead to rows.
    pub(crate) runs: Option<Vec<OpenRun>>,
    /// The number of the first row of each group among all rows, and that of all rows.
    pub(crate) first_rows: Vec<u64>,
    /// The upper limit of memory, in bytes.
    pub(crate) memory_bytes: u64,
}

/// A run with what locates its intervals.
#[derive(Debug)]
pub(crate) struct OpenRun {
    pub(crate) search: RunSearch,
    /// The number of the first interval of each of its groups, and that of all.
    first_intervals: Vec<u64>,
    /// The number of the first row of each of its groups in the run, and that of all.
    first_rows: Vec<u64>,
}

impl ParquetIndex {
    /// Builds an index in a new file `name` of `storage`, for the data that `folder`, the folder of the index, leads
    /// to. The data are left untouched.
    ///
    /// Of files whose rows ascend by the key, within row groups and from each to another, the index has the separators
    /// of pages; of others, a record for each row.
    ///
    /// # Errors
    /// [`ParquetIndexError`]: unreadable files, unfit columns, folders of table formats; errors of the engine;
    /// [`ogive::Cause::Locked`] while another writer is at work on an index of that name.
    pub fn build(
        storage: Arc<dyn Storage>,
        name: &str,
        folder: Arc<dyn Folder>,
        options: BuildOptions,
    ) -> Result<BuildReport> {
        let place = Place::claim(storage, name)?;
        crate::build::build(&place, folder, options)
    }

    /// Opens an index, with one read of its file. No data file is opened yet.
    ///
    /// # Errors
    /// [`ParquetIndexError::NotAnIndex`] for another table; those of [`Table::open`].
    pub fn open(
        storage: Arc<dyn Storage>,
        name: &str,
        folder: Arc<dyn Folder>,
        options: &TableOptions,
    ) -> Result<Self> {
        let table = Table::open((storage, name), options)?;
        Self::of_table(table, folder, options)
    }

    /// Whether a table is an index beside Parquet files.
    #[must_use]
    pub fn is_one(table: &Table) -> bool {
        table.property(PROPERTY).is_some()
    }

    /// The index that an open table holds.
    ///
    /// # Errors
    /// [`ParquetIndexError::NotAnIndex`], [`ParquetIndexError::NewerVersion`].
    pub fn of_table(table: Table, folder: Arc<dyn Folder>, options: &TableOptions) -> Result<Self> {
        let catalog = Catalog::of_table(&table)?;
        Self::of_catalog(table, catalog, folder, options)
    }

    /// The index of a table that holds one of this catalog.
    pub(crate) fn of_catalog(
        table: Table,
        mut catalog: Catalog,
        folder: Arc<dyn Folder>,
        options: &TableOptions,
    ) -> Result<Self> {
        let path = table.path().to_owned();
        let wrong = |detail: &str| ParquetIndexError::NotAnIndex { path: path.clone(), detail: detail.to_owned() };
        let key_type = table.key_type();
        let runs = match catalog.runs.take() {
            None => None,
            Some(runs) => {
                let open =
                    |run| OpenRun::open(run, &catalog, key_type).ok_or_else(|| wrong("its separators are malformed"));
                Some(runs.into_iter().map(open).collect::<Result<Vec<_>>>()?)
            }
        };
        let first_rows = sums(catalog.groups.iter().map(|group| group.rows));
        let rows = first_rows.last().copied().unwrap_or(0);
        if runs.is_none() && table.len() != rows {
            return Err(wrong("it has records for other rows"));
        }
        let data = Data::new(catalog, key_type, path, folder, &options.profile, None)?;
        let memory_bytes = options.memory_bytes;
        Ok(Self { inner: Arc::new(Inner { table, data, runs, first_rows, memory_bytes }) })
    }

    /// The type of the keys.
    #[must_use]
    pub fn key_type(&self) -> KeyType {
        self.inner.data.key_type
    }

    /// The names of the columns of the key.
    pub fn key_columns(&self) -> impl Iterator<Item = &str> {
        self.inner.data.catalog.key_columns.iter().map(|column| column.name.as_str())
    }

    /// The columns of the data files, and those that their paths state.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        self.inner.data.schema.clone()
    }

    /// The columns of these names, in their order, or all.
    ///
    /// # Errors
    /// [`ParquetIndexError::NoColumn`].
    pub fn schema_of(&self, columns: Option<&[&str]>) -> Result<SchemaRef> {
        Ok(self.inner.data.project(columns)?.schema)
    }

    /// The number of different schemas of the data files; [`SCHEMA_COLUMN`](crate::SCHEMA_COLUMN) has that of a row.
    #[must_use]
    pub fn schema_count(&self) -> usize {
        self.inner.data.catalog.schemas.len()
    }

    /// Whether files of a schema, by its number, have a column of a name, or their paths state it.
    #[must_use]
    pub fn has_column(&self, schema: u32, name: &str) -> bool {
        let catalog = &self.inner.data.catalog;
        let of_file = catalog.schemas.get(schema as usize).is_some_and(|schema| schema.column(name).is_some());
        of_file || catalog.path_columns.iter().any(|column| column.name == name)
    }

    /// Whether a column holds UUIDs.
    #[must_use]
    pub fn is_uuid(&self, name: &str) -> bool {
        let schemas = &self.inner.data.catalog.schemas;
        schemas.iter().any(|schema| schema.column(name).is_some_and(|column| schema.is_uuid(column)))
    }

    /// The table that holds the index.
    #[must_use]
    pub fn table(&self) -> &Table {
        &self.inner.table
    }

    /// Whether files are sorted by the key, so that separators lead to pages.
    #[must_use]
    pub fn is_sorted(&self) -> bool {
        self.inner.runs.is_some()
    }

    /// The number of rows of all data files.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.inner.first_rows.last().copied().unwrap_or(0)
    }

    /// The paths of the data files, with their lengths in bytes.
    pub fn files(&self) -> impl Iterator<Item = (std::path::PathBuf, u64)> {
        let files = self.inner.data.catalog.files.iter().enumerate();
        files.map(|(number, file)| (self.inner.data.path_of(number), file.bytes))
    }

    /// The rows of a key, in the order of the files; of all columns without `columns`.
    ///
    /// # Errors
    /// [`ParquetIndexError::Changed`] and [`ParquetIndexError::Gone`] for data files that are not those that were
    /// indexed; [`ParquetIndexError::NoColumn`]; storage errors.
    pub fn get(&self, key: &[u8], columns: Option<&[&str]>) -> Result<RecordBatch> {
        self.get_traced(key, columns, None)
    }

    /// As [`Self::get`], with its requests added to a trace.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn get_traced(&self, key: &[u8], columns: Option<&[&str]>, trace: Option<&mut Trace>) -> Result<RecordBatch> {
        let mut found = self.multi_get_traced(&[key], columns, trace)?;
        Ok(found.pop().unwrap_or_else(|| RecordBatch::new_empty(self.schema())))
    }

    /// The rows of several keys, read together.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn multi_get(&self, keys: &[&[u8]], columns: Option<&[&str]>) -> Result<Vec<RecordBatch>> {
        self.multi_get_traced(keys, columns, None)
    }

    /// As [`Self::multi_get`], with its requests added to a trace.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn multi_get_traced(
        &self,
        keys: &[&[u8]],
        columns: Option<&[&str]>,
        trace: Option<&mut Trace>,
    ) -> Result<Vec<RecordBatch>> {
        self.multi_get_within(keys, columns, u64::MAX, trace)
    }

    /// As [`Self::multi_get_traced`], the rows of the first of several keys: of as many as have pages of `most_bytes`,
    /// or, where files are not sorted, rows of about as many; and of one in any case.
    ///
    /// # Errors
    /// As [`Self::get`].
    #[doc(hidden)]
    pub fn multi_get_within(
        &self,
        keys: &[&[u8]],
        columns: Option<&[&str]>,
        most_bytes: u64,
        trace: Option<&mut Trace>,
    ) -> Result<Vec<RecordBatch>> {
        let projection = self.inner.data.project(columns)?;
        let found = match &self.inner.runs {
            Some(runs) => self.inner.get_sorted(runs, keys, &projection, most_bytes, trace)?,
            None => self.inner.get_unsorted(keys, &projection, most_bytes, trace)?,
        };
        if self.inner.data.key.columns.iter().all(|column| projection.columns.contains(column)) {
            keys.iter().zip(&found).try_for_each(|(key, rows)| self.inner.check_keys(key, rows))?;
        }
        Ok(found)
    }

    /// The number of rows with smaller keys.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn rank(&self, key: &[u8]) -> Result<u64> {
        self.rank_traced(key, None)
    }

    /// As [`Self::rank`], with its requests added to a trace.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn rank_traced(&self, key: &[u8], trace: Option<&mut Trace>) -> Result<u64> {
        let bounds = self.asked_for((Bound::Unbounded, Bound::Excluded(key.to_vec())))?;
        self.count_traced(bounds, trace)
    }

    /// The number of rows with keys in a range, by reading its two ends.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn count<K: AsRef<[u8]>>(&self, bounds: impl RangeBounds<K>) -> Result<u64> {
        self.count_traced(bounds, None)
    }

    /// As [`Self::count`], with its requests added to a trace.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn count_traced<K: AsRef<[u8]>>(&self, bounds: impl RangeBounds<K>, trace: Option<&mut Trace>) -> Result<u64> {
        let (start, end) = ends(&bounds);
        let asked: Vec<RangeEnd<'_>> = start.into_iter().chain(end).collect();
        let mut ranks = self.inner.ranks(&asked, trace)?.into_iter();
        let first = start.map_or(Some(0), |_| ranks.next()).unwrap_or(0);
        let last = end.map_or(Some(self.rows()), |_| ranks.next()).unwrap_or(0);
        Ok(last.saturating_sub(first))
    }
}

/// An end of a range: a key, and whether rows of that key are before the end.
pub(crate) type RangeEnd<'a> = (&'a [u8], bool);

/// The ends of a range, where it has any.
pub(crate) fn ends<'a, K: AsRef<[u8]> + 'a>(
    bounds: &'a impl RangeBounds<K>,
) -> (Option<RangeEnd<'a>>, Option<RangeEnd<'a>>) {
    let start = match bounds.start_bound() {
        Bound::Included(key) => Some((key.as_ref(), false)),
        Bound::Excluded(key) => Some((key.as_ref(), true)),
        Bound::Unbounded => None,
    };
    let end = match bounds.end_bound() {
        Bound::Included(key) => Some((key.as_ref(), true)),
        Bound::Excluded(key) => Some((key.as_ref(), false)),
        Bound::Unbounded => None,
    };
    (start, end)
}

/// Sums of all numbers before each, and of all.
fn sums(numbers: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut total = 0;
    let ends = numbers.map(|number| {
        total += number;
        total
    });
    std::iter::once(0).chain(ends.collect::<Vec<_>>()).collect()
}

impl OpenRun {
    fn open(run: crate::router::Run, catalog: &Catalog, key_type: KeyType) -> Option<Self> {
        let of = |group: &usize| catalog.groups.get(*group);
        let first_intervals = sums(run.groups.iter().filter_map(of).map(|group| group.intervals));
        let first_rows = sums(run.groups.iter().filter_map(of).map(|group| group.rows));
        let search = run.search(key_type).ok()?;
        (first_intervals.last() == Some(&search.intervals())).then_some(Self { search, first_intervals, first_rows })
    }

    /// The number of rows of the run.
    pub(crate) fn rows(&self) -> u64 {
        self.first_rows.last().copied().unwrap_or(0)
    }

    /// The number of the first interval of a group, if it is one of the run.
    pub(crate) fn place_of(&self, group: usize) -> Option<u64> {
        let position = self.search.groups.iter().position(|&known| known == group)?;
        self.first_intervals.get(position).copied()
    }

    /// The position in the run of the group with an interval.
    fn position(&self, interval: u64) -> usize {
        self.first_intervals.partition_point(|&first| first <= interval).saturating_sub(1)
    }

    /// The group with an interval, the number of its first row in the run, and the rows of the interval in the group.
    fn interval_rows(&self, data: &Data, interval: u64) -> Result<(usize, u64, Range<u64>)> {
        let position = self.position(interval);
        let group = self.search.groups.get(position).copied();
        let group = group.ok_or_else(|| data.malformed(format!("there is no interval {interval}")))?;
        let cuts = data.pages(group)?.cuts();
        let local = (interval - self.first_intervals[position]) as usize;
        let rows = data.catalog.groups[group].rows;
        let range = match (cuts.get(local), cuts.get(local + 1)) {
            (Some(&start), Some(&end)) => start..end,
            (Some(&start), None) => start..rows,
            (None, _) => return Err(data.malformed(format!("row group {group} has fewer intervals than stated"))),
        };
        Ok((group, self.first_rows[position], range))
    }

    /// The rows that may have a key, by group.
    pub(crate) fn candidates(
        &self,
        data: &Data,
        key: &[u8],
        found: &mut BTreeMap<usize, Vec<Range<u64>>>,
    ) -> Result<()> {
        if self.rows() == 0 {
            return Ok(());
        }
        for interval in self.search.first(key)..=self.search.last(key) {
            let (group, _, rows) = self.interval_rows(data, interval)?;
            found.entry(group).or_default().push(rows);
        }
        Ok(())
    }

    /// The groups of the run with the rows of each from one row of the run to another.
    pub(crate) fn group_rows(&self, rows: Range<u64>) -> impl Iterator<Item = (usize, Range<u64>)> {
        rows_of_groups(&self.first_rows, self.search.groups.iter().copied(), rows)
    }

    /// Where the rank of a key in the run is decided: a group, its first row in the run, and rows of it.
    fn rank_interval(&self, data: &Data, key: &[u8], after: bool) -> Result<(usize, u64, Range<u64>)> {
        self.interval_rows(data, if after { self.search.last(key) } else { self.search.first(key) })
    }
}

/// The groups with rows of a range, and which rows of theirs these are. `first_rows` has the first row of each.
fn rows_of_groups(
    first_rows: &[u64],
    groups: impl Iterator<Item = usize>,
    rows: Range<u64>,
) -> impl Iterator<Item = (usize, Range<u64>)> {
    first_rows.windows(2).zip(groups).filter_map(move |(ends, group)| {
        let (start, end) = (rows.start.max(ends[0]), rows.end.min(ends[1]));
        (start < end).then(|| (group, start - ends[0]..end - ends[0]))
    })
}

/// Sorts ranges, and joins those that touch.
pub(crate) fn normalise(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_by_key(|range| range.start);
    let mut joined: Vec<Range<u64>> = Vec::with_capacity(ranges.len());
    for range in ranges.into_iter().filter(|range| !range.is_empty()) {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

/// Ascending ranges of rows, with the number of rows before each.
struct Places<'a> {
    ranges: &'a [Range<u64>],
    before: Vec<u64>,
}

impl<'a> Places<'a> {
    fn new(ranges: &'a [Range<u64>]) -> Self {
        Self { ranges, before: sums(ranges.iter().map(|range| range.end - range.start)) }
    }

    /// The place of a row among those of the ranges.
    fn of(&self, row: u64) -> Option<usize> {
        let at = self.ranges.partition_point(|range| range.end <= row);
        let range = self.ranges.get(at).filter(|range| range.contains(&row))?;
        Some((self.before.get(at)? + row - range.start) as usize)
    }
}

/// Columns of both projections, each once.
pub(crate) fn both(left: &Projection, right: &Projection) -> Vec<usize> {
    let mut columns: Vec<usize> = left.columns.iter().chain(&right.columns).copied().collect();
    columns.sort_unstable();
    columns.dedup();
    columns
}

impl Inner {
    /// The groups of all files with the rows of each from one row to another, in the order of the files.
    pub(crate) fn group_rows(&self, rows: Range<u64>) -> impl Iterator<Item = (usize, Range<u64>)> {
        rows_of_groups(&self.first_rows, 0..self.data.catalog.groups.len(), rows)
    }

    /// The rows of groups that may have some of the keys.
    fn candidates(&self, runs: &[OpenRun], keys: &[&[u8]]) -> Result<Vec<GroupRows>> {
        let mut candidates = BTreeMap::new();
        for run in runs {
            for key in keys {
                run.candidates(&self.data, key, &mut candidates)?;
            }
        }
        Ok(candidates.into_iter().map(|(group, ranges)| GroupRows { group, ranges: normalise(ranges) }).collect())
    }

    /// The number of the first of keys whose pages take `most_bytes`; at least one.
    fn keys_within(&self, runs: &[OpenRun], keys: &[&[u8]], columns: &[usize], most_bytes: u64) -> Result<usize> {
        let mut count = keys.len();
        while most_bytes < u64::MAX
            && count > 1
            && self.data.round_bytes(&self.candidates(runs, &keys[..count])?, columns)? > most_bytes
        {
            count = count.div_ceil(2);
        }
        Ok(count)
    }

    fn get_sorted(
        &self,
        runs: &[OpenRun],
        keys: &[&[u8]],
        projection: &Projection,
        most_bytes: u64,
        trace: Option<&mut Trace>,
    ) -> Result<Vec<RecordBatch>> {
        let columns = both(&self.data.key, projection);
        let keys = &keys[..self.keys_within(runs, keys, &columns, most_bytes)?];
        let parts = self.candidates(runs, keys)?;
        let fetched = self.data.fetch(&parts, &columns, trace)?;
        // The rows of each key in each group, and all of them.
        let mut found: Vec<Vec<(usize, Range<u64>)>> = vec![Vec::new(); keys.len()];
        let mut of_keys = Vec::new();
        for part in &parts {
            let batch = self.data.decode(part, &self.data.key, &fetched)?;
            let row_keys = self.data.keys(&batch)?;
            let mut ranges = Vec::new();
            for (key, found) in keys.iter().zip(&mut found) {
                let start = row_keys.partition(batch.num_rows(), key, false)? as u64;
                let end = row_keys.partition(batch.num_rows(), key, true)? as u64;
                if start < end {
                    let rows = row_at(&part.ranges, start)..row_at(&part.ranges, end - 1) + 1;
                    ranges.push(rows.clone());
                    found.push((of_keys.len(), rows));
                }
            }
            of_keys.push(GroupRows { group: part.group, ranges: normalise(ranges) });
        }
        let mut batches = Vec::with_capacity(of_keys.len());
        for part in &of_keys {
            batches.push(self.data.decode(part, projection, &fetched)?);
        }
        let of_parts: Vec<Places<'_>> = of_keys.iter().map(|part| Places::new(&part.ranges)).collect();
        let answer = |found: &Vec<(usize, Range<u64>)>| {
            let pieces = found.iter().filter_map(|(part, rows)| {
                let place = of_parts[*part].of(rows.start)?;
                Some(batches[*part].slice(place, (rows.end - rows.start) as usize))
            });
            self.concat(projection, &pieces.collect::<Vec<_>>())
        };
        found.iter().map(answer).collect()
    }

    /// Checks that rows have the key by which they were found: pages of Parquet need not have checksums.
    ///
    /// # Errors
    /// [`ParquetIndexError::Changed`].
    fn check_keys(&self, key: &[u8], rows: &RecordBatch) -> Result<()> {
        let keys = self.data.keys(rows)?;
        for row in 0..rows.num_rows() {
            if keys.key(row)? != key {
                let path = match &self.data.catalog.files[..] {
                    [_] => self.data.path_of(0),
                    _ => PathBuf::from(&self.data.catalog.root),
                };
                let detail = "a row has another key than the one that was indexed".to_owned();
                return Err(ParquetIndexError::Changed { path, detail, may_be_copy: false });
            }
        }
        Ok(())
    }

    fn get_unsorted(
        &self,
        keys: &[&[u8]],
        projection: &Projection,
        most_bytes: u64,
        mut trace: Option<&mut Trace>,
    ) -> Result<Vec<RecordBatch>> {
        let mut reads = ReadTrace::new();
        let mut rows: Vec<Vec<u64>> = Vec::with_capacity(keys.len());
        let mut table = self.table.traced(&mut reads);
        if keys.len() > 1 {
            // One round for all: what follows finds the blocks in the cache.
            table.multi_get(keys)?;
        }
        for key in keys {
            let mut of_key: Vec<u64> = table.get_all(key)?.iter().map(|value| row_number(value)).collect();
            of_key.sort_unstable();
            rows.push(of_key);
        }
        if let Some(trace) = trace.as_deref_mut() {
            trace.add_index_reads(self.table.path(), &reads.reads, keys.len() > 1);
        }
        if let Some(&first) = rows.iter().flatten().next() {
            let most_rows = (most_bytes as f64 / self.decoded_row_bytes(first, projection)?) as usize;
            let mut total = 0;
            let ends = rows.iter().map(|of_key| {
                total += of_key.len();
                total
            });
            let count = ends.take_while(|&end| end <= most_rows).count();
            rows.truncate(count.max(1));
        }
        let all: Vec<u64> = rows.iter().flatten().copied().collect();
        let batch = self.rows(&all, projection, trace)?;
        let mut start = 0;
        Ok(rows
            .iter()
            .map(|of_key| {
                let piece = batch.slice(start, of_key.len());
                start += of_key.len();
                piece
            })
            .collect())
    }

    /// The group of a row, and its number there.
    pub(crate) fn place_of(&self, row: u64) -> Result<(usize, u64)> {
        let group = self.first_rows.partition_point(|&first| first <= row).saturating_sub(1);
        if group >= self.data.catalog.groups.len() {
            return Err(self.data.malformed(format!("there is no row {row}")));
        }
        Ok((group, row - self.first_rows[group]))
    }

    /// Rows of batches as one batch.
    pub(crate) fn interleave(
        &self,
        projection: &Projection,
        batches: &[RecordBatch],
        indices: &[(usize, usize)],
    ) -> Result<RecordBatch> {
        if projection.columns.is_empty() || indices.is_empty() {
            return self.without_columns(projection, indices.len());
        }
        let batches: Vec<&RecordBatch> = batches.iter().collect();
        arrow_select::interleave::interleave_record_batch(&batches, indices)
            .map_err(|error| self.data.malformed(format!("rows cannot be put together: {error}")))
    }

    /// Batches as one batch.
    pub(crate) fn concat(&self, projection: &Projection, pieces: &[RecordBatch]) -> Result<RecordBatch> {
        if let [piece] = pieces {
            return Ok(piece.clone());
        }
        if projection.columns.is_empty() {
            return self.without_columns(projection, pieces.iter().map(RecordBatch::num_rows).sum());
        }
        arrow_select::concat::concat_batches(&projection.schema, pieces)
            .map_err(|error| self.data.malformed(format!("rows cannot be put together: {error}")))
    }

    /// Rows of which only their number is asked for.
    pub(crate) fn without_columns(&self, projection: &Projection, rows: usize) -> Result<RecordBatch> {
        if !projection.columns.is_empty() {
            return Ok(RecordBatch::new_empty(projection.schema.clone()));
        }
        let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(projection.schema.clone(), Vec::new(), &options)
            .map_err(|error| self.data.malformed(error.to_string()))
    }

    /// The numbers of rows below keys, or up to them where `after` is set, in one round.
    pub(crate) fn ranks(&self, asked: &[RangeEnd<'_>], trace: Option<&mut Trace>) -> Result<Vec<u64>> {
        let Some(runs) = &self.runs else { return self.ranks_unsorted(asked, trace) };
        let of_runs = self.ranks_in_runs(runs, asked, trace)?;
        Ok((0..asked.len()).map(|number| of_runs.iter().map(|ranks| ranks[number]).sum()).collect())
    }

    /// The ranks of keys in each run, in one round.
    pub(crate) fn ranks_in_runs(
        &self,
        runs: &[OpenRun],
        asked: &[RangeEnd<'_>],
        trace: Option<&mut Trace>,
    ) -> Result<Vec<Vec<u64>>> {
        let mut ranks = vec![vec![0; asked.len()]; runs.len()];
        let (mut parts, mut places) = (Vec::new(), Vec::new());
        for (of, run) in runs.iter().enumerate().filter(|(_, run)| run.rows() > 0) {
            for (number, (key, after)) in asked.iter().enumerate() {
                let (group, before, rows) = run.rank_interval(&self.data, key, *after)?;
                ranks[of][number] = before + rows.start;
                parts.push(GroupRows { group, ranges: std::iter::once(rows).collect() });
                places.push((of, number));
            }
        }
        let fetched = self.data.fetch(&parts, &self.data.key.columns, trace)?;
        for ((of, number), part) in places.into_iter().zip(&parts) {
            let (key, after) = asked[number];
            let batch = self.data.decode(part, &self.data.key, &fetched)?;
            ranks[of][number] += self.data.keys(&batch)?.partition(batch.num_rows(), key, after)? as u64;
        }
        Ok(ranks)
    }

    fn ranks_unsorted(&self, asked: &[RangeEnd<'_>], trace: Option<&mut Trace>) -> Result<Vec<u64>> {
        let mut reads = ReadTrace::new();
        let mut table = self.table.traced(&mut reads);
        let rank = |&(key, after): &RangeEnd<'_>| match after {
            false => table.rank(key),
            true => table.count::<&[u8]>((Bound::Unbounded, Bound::Included(key))),
        };
        let ranks = asked.iter().map(rank).collect::<ogive::Result<Vec<_>>>()?;
        if let Some(trace) = trace {
            trace.add_index_reads(self.table.path(), &reads.reads, false);
        }
        Ok(ranks)
    }
}

/// The row of the value of a record.
pub(crate) fn row_number(value: &[u8]) -> u64 {
    value.iter().take(8).fold(0, |number, &byte| number << 8 | u64::from(byte))
}
