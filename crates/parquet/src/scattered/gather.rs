//! Rows that come in the order of the files, and leave in the order in which they are wanted.

use super::memory::Shares;
use super::reading::{FileReading, WantedRow};
use crate::data::Projection;
use crate::error::Result;
use crate::index::Inner;
use arrow_array::RecordBatch;

/// Most rows of a batch that is passed on.
const BATCH_ROWS: usize = 8192;
/// Bytes of a decoded row for each stored one, about, and for each column.
const DECODED_EXPANSION: f64 = 2.0;
const DECODED_BYTES_PER_COLUMN: f64 = 8.0;
/// Bytes of a row's place, its batch and its place there.
const ENTRY_BYTES: u64 = 16;

/// Rows in memory, and the order in which they are wanted.
#[derive(Debug, Default)]
pub(crate) struct Gather {
    batches: Vec<RecordBatch>,
    /// The place of each row, and where it is: the number of the batch, and of the row in it.
    entries: Vec<(u64, u32, u32)>,
    bytes: u64,
    is_ordered: bool,
    next: usize,
}

impl Gather {
    /// Adds the rows of a batch, and their places.
    pub(crate) fn add(&mut self, batch: RecordBatch, places: impl Iterator<Item = u64>) {
        let number = self.batches.len() as u32;
        self.entries.extend((0..batch.num_rows() as u32).zip(places).map(|(row, place)| (place, number, row)));
        self.bytes += batch.get_array_memory_size() as u64 + ENTRY_BYTES * batch.num_rows() as u64;
        self.batches.push(batch);
        self.is_ordered = false;
    }

    /// Memory of the rows, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The number of rows.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Memory of a row, on average.
    pub(crate) fn row_bytes(&self) -> u64 {
        (self.bytes / (self.len() as u64).max(1)).max(1)
    }

    fn order(&mut self) {
        if !std::mem::replace(&mut self.is_ordered, true) {
            self.entries.sort_unstable();
        }
    }

    /// The next rows, of about `most_bytes`.
    ///
    /// # Errors
    /// Arrays that Arrow cannot put together.
    pub(crate) fn next_batch(
        &mut self,
        inner: &Inner,
        projection: &Projection,
        most_bytes: u64,
    ) -> Result<Option<RecordBatch>> {
        let rows = (most_bytes / self.row_bytes()).clamp(1, BATCH_ROWS as u64) as usize;
        let next = self.next_rows(inner, projection, |entries| rows.min(entries.len()))?;
        Ok(next.map(|(batch, _)| batch))
    }

    /// The next rows with their places: as many as `count` says of those that are left.
    ///
    /// # Errors
    /// As [`Self::next_batch`].
    pub(crate) fn next_rows(
        &mut self,
        inner: &Inner,
        projection: &Projection,
        count: impl FnOnce(&[(u64, u32, u32)]) -> usize,
    ) -> Result<Option<(RecordBatch, Vec<u64>)>> {
        self.order();
        let left = &self.entries[self.next..];
        if left.is_empty() {
            return Ok(None);
        }
        let of_batch = &left[..count(left)];
        let indices: Vec<(usize, usize)> =
            of_batch.iter().map(|&(_, batch, row)| (batch as usize, row as usize)).collect();
        let places = of_batch.iter().map(|&(place, ..)| place).collect();
        self.next += of_batch.len();
        Ok(Some((inner.interleave(projection, &self.batches, &indices)?, places)))
    }
}

impl Inner {
    /// Memory of a decoded row, in bytes, by what is stored of its row group: at least 1.
    pub(crate) fn decoded_row_bytes(&self, row: u64, projection: &Projection) -> Result<f64> {
        let (group, _) = self.place_of(row)?;
        let stored = self.data.bytes_per_row(group, &projection.columns)?;
        Ok(DECODED_BYTES_PER_COLUMN * projection.columns.len() as f64 + DECODED_EXPANSION * stored + 1.0)
    }

    /// Rows by their numbers, in the given order, as one batch. Their pages are read in the order of the files.
    pub(crate) fn rows(
        &self,
        rows: &[u64],
        projection: &Projection,
        trace: Option<&mut crate::trace::Trace>,
    ) -> Result<RecordBatch> {
        let wanted = WantedRow::ascending(rows.iter().copied(), 0);
        let mut gather = Gather::default();
        let mut reading = FileReading::new(&Shares::of(self.memory_bytes));
        self.read_ascending(&wanted, projection, &mut reading, trace, &mut |batch, rows| {
            gather.add(batch, rows.iter().map(|wanted| wanted.place));
            Ok(())
        })?;
        let all = gather.next_rows(self, projection, <[_]>::len)?;
        all.map_or_else(|| self.without_columns(projection, 0), |(batch, _)| Ok(batch))
    }
}
