//! Batches of outer rows, copied so that their keys can be looked up ahead of the join.

use crate::error::Result;
use crate::join::rows::stream::{RowSpan, RowStream, RowsView};
use crate::join::rows::task::MemoryBudget;

/// A batch of outer rows, in key order.
#[derive(Debug, Default)]
pub(super) struct OuterBatch {
    bytes: Vec<u8>,
    spans: Vec<RowSpan>,
    /// Widths of key and value, if all rows have the same.
    widths: Option<(usize, usize)>,
}

impl OuterBatch {
    pub(super) fn rows(&self) -> RowsView<'_> {
        match self.widths {
            Some((key, value)) => RowsView::Dense { bytes: &self.bytes, key, value },
            None => RowsView::Spans { bytes: &self.bytes, spans: &self.spans },
        }
    }

    pub(super) fn len(&self) -> usize {
        self.rows().len()
    }

    fn taken_bytes(&self) -> usize {
        self.bytes.len() + self.spans.len() * size_of::<RowSpan>()
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.spans.clear();
        self.widths = None;
    }
}

/// Cuts the outer relation into batches.
pub(super) struct OuterBatcher {
    stream: Box<dyn RowStream>,
    /// The first row of the stream's chunk that is not in a batch yet.
    next: usize,
    /// Size in bytes of the next batch, and of the largest.
    next_bytes: usize,
    batch_bytes: usize,
    long: Vec<u8>,
    /// The budget to which the batches belong.
    budget: MemoryBudget,
}

impl OuterBatcher {
    /// With the sizes of the first and of the largest batch: each is twice as large as the one before, so that reading
    /// begins soon.
    pub(super) fn new(stream: Box<dyn RowStream>, [next_bytes, batch_bytes]: [usize; 2], budget: MemoryBudget) -> Self {
        Self { stream, next: 0, next_bytes, batch_bytes, long: Vec::new(), budget }
    }

    /// Fills a batch with the next rows; with none at the end.
    ///
    /// # Errors
    /// Errors of the stream; [`Cause::JoinMemory`](crate::Cause::JoinMemory) for a row larger than a batch.
    pub(super) fn fill(&mut self, batch: &mut OuterBatch) -> Result<()> {
        batch.clear();
        let filled = self.fill_up(batch);
        self.next_bytes = (self.next_bytes * 2).clamp(1, self.batch_bytes);
        filled
    }

    fn fill_up(&mut self, batch: &mut OuterBatch) -> Result<()> {
        loop {
            if self.next >= self.stream.rows().len() {
                self.next = 0;
                if !self.stream.advance(None)? {
                    return Ok(());
                }
            }
            if !self.take(batch)? {
                return Ok(());
            }
        }
    }

    /// Copies rows of the chunk; returns whether the batch has room for more.
    fn take(&mut self, batch: &mut OuterBatch) -> Result<bool> {
        match self.stream.rows() {
            RowsView::Dense { bytes, key, value } => {
                if batch.len() == 0 {
                    batch.widths = Some((key, value));
                }
                if batch.widths != Some((key, value)) {
                    return Ok(false);
                }
                let width = (key + value).max(1);
                let room =
                    (self.next_bytes.saturating_sub(batch.bytes.len()) / width).max(usize::from(batch.len() == 0));
                let end = (self.next + room).min(bytes.len() / width);
                batch.bytes.extend_from_slice(bytes.get(self.next * width..end * width).unwrap_or_default());
                let has_room = end == bytes.len() / width;
                self.next = end;
                Ok(has_room)
            }
            RowsView::Spans { .. } if batch.widths.is_some() => Ok(false),
            RowsView::Spans { .. } => self.take_spans(batch),
        }
    }

    fn take_spans(&mut self, batch: &mut OuterBatch) -> Result<bool> {
        let count = self.stream.rows().len();
        while self.next < count {
            let is_long = self.stream.rows().is_long(self.next);
            if is_long {
                self.stream.long_value(self.next, &mut self.long)?;
            }
            let rows = self.stream.rows();
            let (key, value) = (rows.key(self.next), if is_long { &self.long } else { rows.value(self.next) });
            let taken = batch.taken_bytes() + key.len() + value.len() + size_of::<RowSpan>();
            if taken > self.next_bytes && batch.len() > 0 {
                return Ok(false);
            }
            if taken > self.batch_bytes {
                let most = self.batch_bytes;
                let what =
                    format!("a row of {taken} bytes exceeds the {most} bytes that this join has for a batch of rows");
                return Err(self.budget.short((taken as u64, most as u64), what));
            }
            let key_at = batch.bytes.len();
            batch.bytes.extend_from_slice(key);
            batch.bytes.extend_from_slice(value);
            batch.spans.push(RowSpan::of_row(key_at, key, value));
            self.next += 1;
        }
        Ok(true)
    }
}
