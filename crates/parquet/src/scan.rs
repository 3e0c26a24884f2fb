//! Scans: the rows of a range in key order, read a part at a time.

use crate::data::{GroupRows, Pace, Projection};
use crate::error::Result;
use crate::file::fetched::Fetched;
use crate::index::{Inner, OpenRun, ParquetIndex, RangeEnd, both, ends};
use crate::keys::RowKeys;
use crate::scattered::windows::KeyOrder;
use crate::trace::Trace;
use arrow_array::{RecordBatch, UInt64Array};
use ogive::KeyType;
use ogive::types::{NullOrder, Value};
use std::ops::{Bound, Range, RangeBounds};
use std::sync::Arc;

/// Most rows of a batch.
const BATCH_ROWS: usize = 8192;
/// Bytes of pages that are read at a time, about.
const PART_BYTES: u64 = 16 << 20;

/// The rows of a range in an order, as batches. After an error nothing follows.
#[derive(Debug)]
pub struct ParquetScan {
    inner: Arc<Inner>,
    projection: Projection,
    state: State,
    is_reversed: bool,
    /// Rows that are still wanted.
    left: u64,
    trace: Option<Trace>,
}

#[derive(Debug)]
enum State {
    Sorted(Vec<RunCursor>),
    Unsorted(Box<KeyOrder>),
    Done,
}

/// A run of sorted files, or all files in their order, as far as they are read.
#[derive(Debug)]
struct RunCursor {
    /// The number of the run; none for all files.
    run: Option<usize>,
    /// The rows that are not read yet.
    rows: Range<u64>,
    /// Whether the last rows come first.
    is_reversed: bool,
    /// The rows that were fetched, as far as they are not decoded yet.
    fetched: Option<(GroupRows, Fetched)>,
    part: Option<ReadRows>,
    /// Whether a part was read before.
    is_under_way: bool,
    pace: Pace,
}

/// Rows that were decoded.
#[derive(Debug)]
struct ReadRows {
    batch: RecordBatch,
    /// Their keys, if there are several runs.
    keys: Option<RowKeys>,
    /// The next row.
    next: usize,
}

/// The bounds of a range of keys.
pub type KeyBounds = (Bound<Vec<u8>>, Bound<Vec<u8>>);

impl ParquetIndex {
    /// A range without the rows whose key, or its first column, is null, unless they are asked for: by a bound that is
    /// null, or by a range without bounds. So a range has the same rows whether nulls are first or last in the files.
    ///
    /// # Errors
    /// Those of the type of the keys.
    pub fn asked_for(&self, (start, end): KeyBounds) -> Result<KeyBounds> {
        let key_type = self.key_type();
        let nulls = match key_type {
            KeyType::Tuple(tuple) => tuple.components().next().map_or(NullOrder::Never, |first| first.nulls),
            _ => NullOrder::Never,
        };
        let given = match (&start, &end) {
            (Bound::Unbounded, Bound::Included(key) | Bound::Excluded(key)) if nulls == NullOrder::First => key,
            (Bound::Included(key) | Bound::Excluded(key), Bound::Unbounded) if nulls == NullOrder::Last => key,
            _ => return Ok((start, end)),
        };
        let (first, behind) = key_type.prefix_range(&key_type.encode_prefix(&[Value::Null])?);
        let is_behind = match &behind {
            Bound::Excluded(behind) => given >= behind,
            _ => false,
        };
        let is_null = matches!(&first, Bound::Included(first) if given >= first) && !is_behind;
        Ok(match (first, behind) {
            _ if is_null => (start, end),
            (_, Bound::Excluded(behind)) if nulls == NullOrder::First => (Bound::Included(behind), end),
            (Bound::Included(first), _) if nulls == NullOrder::Last => (start, Bound::Excluded(first)),
            _ => (start, end),
        })
    }

    /// The rows of a range in key order; of all columns without `columns`. The ends are found by one round of reads.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn scan<K: AsRef<[u8]>>(&self, bounds: impl RangeBounds<K>, columns: Option<&[&str]>) -> Result<ParquetScan> {
        self.scan_traced(bounds, columns, None)
    }

    /// As [`Self::scan`], with its requests added to a trace, which [`ParquetScan::into_trace`] returns.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn scan_traced<K: AsRef<[u8]>>(
        &self,
        bounds: impl RangeBounds<K>,
        columns: Option<&[&str]>,
        trace: Option<Trace>,
    ) -> Result<ParquetScan> {
        self.scan_from(bounds, columns, trace, false)
    }

    /// As [`Self::scan_traced`], in descending order: exactly the other way round, also among rows of one key.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn scan_reversed<K: AsRef<[u8]>>(
        &self,
        bounds: impl RangeBounds<K>,
        columns: Option<&[&str]>,
        trace: Option<Trace>,
    ) -> Result<ParquetScan> {
        self.scan_from(bounds, columns, trace, true)
    }

    /// All rows in the order of the files, which reads each page once, whatever the order of the keys.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn scan_files(&self, columns: Option<&[&str]>) -> Result<ParquetScan> {
        let inner = self.inner.clone();
        let projection = inner.data.project(columns)?;
        let state = State::Sorted(vec![RunCursor::new(None, 0..self.rows(), false)]);
        Ok(ParquetScan { inner, projection, state, is_reversed: false, left: u64::MAX, trace: None })
    }

    fn scan_from<K: AsRef<[u8]>>(
        &self,
        bounds: impl RangeBounds<K>,
        columns: Option<&[&str]>,
        mut trace: Option<Trace>,
        is_reversed: bool,
    ) -> Result<ParquetScan> {
        let inner = self.inner.clone();
        let projection = inner.data.project(columns)?;
        let state = match &inner.runs {
            None => {
                let owned = |bound: Bound<&K>| bound.map(|key| key.as_ref().to_vec());
                let range = inner.table.range((owned(bounds.start_bound()), owned(bounds.end_bound())));
                State::Unsorted(Box::new(KeyOrder::new(range.traced(), is_reversed)))
            }
            Some(runs) => {
                let (start, end) = ends(&bounds);
                let asked: Vec<RangeEnd<'_>> = start.into_iter().chain(end).collect();
                let ranks = inner.ranks_in_runs(runs, &asked, trace.as_mut())?;
                let cursor = |(run, ranks): (usize, &Vec<u64>)| {
                    let first = if start.is_some() { ranks[0] } else { 0 };
                    let last = if end.is_some() { ranks[ranks.len() - 1] } else { runs[run].rows() };
                    RunCursor::new(Some(run), first..last.max(first), is_reversed)
                };
                State::Sorted(ranks.iter().enumerate().map(cursor).collect())
            }
        };
        Ok(ParquetScan { inner, projection, state, is_reversed, left: u64::MAX, trace })
    }
}

impl ParquetScan {
    /// Ends the scan after this number of rows, all of which are wanted: those of files that are not sorted are then
    /// read at once, in the order of the files. Without it such a scan begins with few rows, and reads more as it is
    /// followed.
    #[must_use]
    pub fn limit(mut self, rows: u64) -> Self {
        self.left = rows;
        if let State::Unsorted(order) = &mut self.state {
            order.limit(rows);
        }
        self
    }

    /// The columns of the batches.
    #[must_use]
    pub fn schema(&self) -> arrow_schema::SchemaRef {
        self.projection.schema.clone()
    }

    /// The requests so far, if they are traced.
    #[must_use]
    pub fn into_trace(self) -> Option<Trace> {
        let Self { inner, state, mut trace, .. } = self;
        if let (State::Unsorted(rows), Some(trace)) = (&state, &mut trace)
            && let Some(reads) = rows.trace()
        {
            trace.add_index_reads(inner.table.path(), &reads.reads, true);
        }
        trace
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let Self { inner, projection, state, is_reversed, trace, .. } = self;
        match state {
            State::Done => Ok(None),
            State::Unsorted(rows) => rows.next_batch(inner, projection, trace.as_mut()),
            State::Sorted(cursors) => {
                let runs = inner.runs.as_deref().unwrap_or_default();
                let is_merge = cursors.len() > 1;
                for cursor in cursors.iter_mut().filter(|cursor| cursor.part.is_none()) {
                    cursor.fill(inner, runs, projection, is_merge, trace.as_mut())?;
                }
                cursors.retain(|cursor| cursor.part.is_some());
                merge(inner, projection, cursors, *is_reversed)
            }
        }
    }
}

impl Iterator for ParquetScan {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            return None;
        }
        let next = self.next_batch().transpose();
        if matches!(next, Some(Err(_))) {
            self.state = State::Done;
        }
        Some(next?.map(|batch| {
            let rows = (batch.num_rows() as u64).min(self.left);
            self.left -= rows;
            batch.slice(0, rows as usize)
        }))
    }
}

/// The next rows of several cursors in order, up to the end of one of their parts.
fn merge(
    inner: &Inner,
    projection: &Projection,
    cursors: &mut [RunCursor],
    is_reversed: bool,
) -> Result<Option<RecordBatch>> {
    if let [cursor] = cursors {
        let Some(part) = &mut cursor.part else { return Ok(None) };
        let rows = (part.batch.num_rows() - part.next).min(BATCH_ROWS);
        let batch = part.batch.slice(part.next, rows);
        part.next += rows;
        if part.next == part.batch.num_rows() {
            cursor.part = None;
        }
        return Ok(Some(batch));
    }
    let mut heads = cursors.iter().map(RunCursor::head).collect::<Result<Vec<_>>>()?;
    let mut indices = Vec::new();
    while indices.len() < BATCH_ROWS {
        let order = |left: &usize, right: &usize| heads[*left].cmp(&heads[*right]);
        // Of equal keys, the first run comes first, or last.
        let first = if is_reversed { (0..heads.len()).max_by(order) } else { (0..heads.len()).min_by(order) };
        let Some(first) = first else { break };
        let Some(part) = &mut cursors[first].part else { break };
        indices.push((first, part.next));
        part.next += 1;
        if part.next == part.batch.num_rows() {
            break;
        }
        heads[first] = cursors[first].head()?;
    }
    if indices.is_empty() {
        return Ok(None);
    }
    let batches: Vec<RecordBatch> =
        cursors.iter().filter_map(|cursor| cursor.part.as_ref()).map(|part| part.batch.clone()).collect();
    let merged = inner.interleave(projection, &batches, &indices)?;
    for cursor in cursors {
        if cursor.part.as_ref().is_some_and(|part| part.next == part.batch.num_rows()) {
            cursor.part = None;
        }
    }
    Ok(Some(merged))
}

/// The same rows, the last first.
fn reversed(inner: &Inner, batch: &RecordBatch) -> Result<RecordBatch> {
    if batch.num_columns() == 0 {
        return Ok(batch.clone());
    }
    let rows: UInt64Array = (0..batch.num_rows() as u64).rev().collect();
    arrow_select::take::take_record_batch(batch, &rows)
        .map_err(|error| inner.data.malformed(format!("rows cannot be put in order: {error}")))
}

impl RunCursor {
    fn new(run: Option<usize>, rows: Range<u64>, is_reversed: bool) -> Self {
        Self { run, rows, is_reversed, fetched: None, part: None, is_under_way: false, pace: Pace::new() }
    }

    /// The key of the next row.
    fn head(&self) -> Result<Vec<u8>> {
        match &self.part {
            Some(ReadRows { keys: Some(keys), next, .. }) => keys.key(*next),
            _ => Ok(Vec::new()),
        }
    }

    /// Decodes the next rows, if there are any, and reads their pages before if they are not there.
    fn fill(
        &mut self,
        inner: &Inner,
        runs: &[OpenRun],
        projection: &Projection,
        with_keys: bool,
        trace: Option<&mut Trace>,
    ) -> Result<()> {
        if self.fetched.is_none() {
            let columns = if with_keys { both(&inner.data.key, projection) } else { projection.columns.clone() };
            self.fetched = self.fetch(inner, runs, &columns, trace)?;
        }
        let Some((left, fetched)) = &mut self.fetched else { return Ok(()) };
        let rows = left.ranges.first().cloned().unwrap_or_default();
        let count = self.pace.rows().min(rows.end - rows.start);
        let (taken, rest) = split_off(rows, count, self.is_reversed);
        let part = GroupRows { group: left.group, ranges: std::iter::once(taken).collect() };
        let in_order = |batch: RecordBatch| if self.is_reversed { reversed(inner, &batch) } else { Ok(batch) };
        let batch = in_order(inner.data.decode(&part, projection, fetched)?)?;
        self.pace.follow(&batch);
        let keys = match with_keys {
            true => Some(inner.data.keys(&in_order(inner.data.decode(&part, &inner.data.key, fetched)?)?)?),
            false => None,
        };
        match rest.is_empty() {
            false => left.ranges = std::iter::once(rest).collect(),
            true => self.fetched = None,
        }
        self.part = Some(ReadRows { batch, keys, next: 0 });
        Ok(())
    }

    /// Reads the pages of the next rows, if there are any.
    fn fetch(
        &mut self,
        inner: &Inner,
        runs: &[OpenRun],
        columns: &[usize],
        trace: Option<&mut Trace>,
    ) -> Result<Option<(GroupRows, Fetched)>> {
        let mut groups: Box<dyn Iterator<Item = (usize, Range<u64>)>> = match self.run {
            Some(run) => Box::new(runs[run].group_rows(self.rows.clone())),
            None => Box::new(inner.group_rows(self.rows.clone())),
        };
        let next = if self.is_reversed { groups.last() } else { groups.next() };
        let Some((group, rows)) = next else { return Ok(None) };
        let bytes_per_row = inner.data.bytes_per_row(group, columns)?;
        // The first part is small, since a caller may want the first rows only.
        let most = if self.is_under_way { u64::MAX } else { BATCH_ROWS as u64 };
        let count = ((PART_BYTES as f64 / bytes_per_row.max(1e-3)) as u64).clamp(1, most).min(rows.end - rows.start);
        let (taken, _) = split_off(rows, count, self.is_reversed);
        let part = GroupRows { group, ranges: std::iter::once(taken).collect() };
        let fetched = inner.data.fetch(std::slice::from_ref(&part), columns, trace)?;
        self.rows = split_off(self.rows.clone(), count, self.is_reversed).1;
        self.is_under_way = true;
        Ok(Some((part, fetched)))
    }
}

/// The first `count` rows of a range, or the last, and the others.
fn split_off(rows: Range<u64>, count: u64, is_reversed: bool) -> (Range<u64>, Range<u64>) {
    match is_reversed {
        false => (rows.start..rows.start + count, rows.start + count..rows.end),
        true => (rows.end - count..rows.end, rows.start..rows.end - count),
    }
}
