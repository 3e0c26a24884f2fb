//! The sequential scan of a table: reads many blocks with one batch of requests, prefetches the next ones, and checks
//! each block in the buffer it was read into.
//!
//! ```text
//! worker   | read blocks 0..512 | read blocks 512..1024 | ...   the first batch is short: joining begins soon
//! stream                        | block 0 | block 1 | ...       a chunk is a block, or a part of one that is copied
//! ```

use super::ahead::Ahead;
use super::plan::ReadShape;
use super::rows::{RowStream, RowsView, Span};
use super::source::{Facts, KeyRange, Relation};
use super::stretch::{PLACE_BYTES, STRETCH_OVERHEAD_BYTES, Stretch, StretchReader};
use super::task::{Share, Task};
use crate::error::{Error, Result};
use crate::table::value::ValuePointer;
use crate::table::{HistogramPoint, ScanBlock, ScanValue, Table};
use std::ops::Range;
use std::sync::Arc;

/// Of a scan's memory, this part holds copied rows, where rows must be copied.
const COPIED_PART: u64 = 4;
/// Room for a span to so many bytes of copied rows.
const BYTES_A_SPAN: usize = 32;
/// Points of the outline that are looked at for each part that a table is cut into.
const POINTS_A_PART: usize = 16;
/// A buffer is at least so long, in bytes, where a block is not longer.
const BUFFER_BYTES_MIN: u64 = 16 << 10;

/// A table as a relation.
#[derive(Debug)]
pub(crate) struct TableRelation {
    table: Table,
    facts: Facts,
}

impl TableRelation {
    pub(crate) fn new(table: Table) -> Self {
        let report = table.explain();
        let facts = Facts {
            name: table.path().display().to_string(),
            rows: table.len(),
            is_exact: true,
            bytes: report.data_bytes,
            key_type: table.key_type(),
            key_bytes: table.key_type().width(),
            // What stands in front of the values of a tagged table is not given.
            value_bytes: table.value_width().filter(|_| !table.is_versioned()).map(|width| width as usize),
            is_sorted: true,
            is_distinct: table.is_distinct(),
        };
        Self { table, facts }
    }
}

impl Relation for TableRelation {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn scan(&self, range: &KeyRange, task: &Arc<Task>, memory: Share) -> Result<Box<dyn RowStream>> {
        Ok(Box::new(TableScan::new(&self.table, range, task, memory)?))
    }

    fn cuts(&self, parts: usize) -> Vec<Vec<u8>> {
        cuts_of(&self.table.key_histogram(parts.saturating_mul(POINTS_A_PART)), self.table.blocks() as f64, parts)
    }

    fn table(&self) -> Option<&Table> {
        Some(&self.table)
    }
}

/// Of the points of an outline, those nearest to the ends of equal parts.
fn cuts_of(outline: &[HistogramPoint], blocks: f64, parts: usize) -> Vec<Vec<u8>> {
    let mut cuts: Vec<Vec<u8>> = Vec::new();
    for part in 1..parts {
        let wanted = blocks * part as f64 / parts as f64;
        let at = outline.partition_point(|(_, block)| *block < wanted);
        if let Some((key, block)) = outline.get(at)
            && *block > 0.0
            && cuts.last().is_none_or(|last| last < key)
        {
            cuts.push(key.clone());
        }
    }
    cuts
}

/// Where a record lies: block, and number in it.
type Place = (u64, usize);

/// The rows of a range of a table.
struct TableScan {
    table: Table,
    ahead: Ahead<Stretch>,
    /// The blocks of the stretch at hand that were not looked at yet.
    blocks: Range<usize>,
    /// Of the first and behind the last record.
    ends: (Place, Place),
    unpacked: Vec<u8>,
    at: At,
    copied: Copied,
    task: Arc<Task>,
    long_bytes_max: u64,
    _memory: Share,
}

/// What the chunk at hand is.
#[derive(Debug)]
enum At {
    Nothing,
    /// Dense rows in the stretch, or in what was unpacked.
    Dense {
        range: Range<usize>,
        is_unpacked: bool,
    },
    /// Copied rows; the block, by its number in the stretch, goes on with a further record.
    Copied {
        rest: Option<(usize, usize)>,
    },
}

/// Rows that had to be copied.
#[derive(Debug, Default)]
struct Copied {
    bytes: Vec<u8>,
    spans: Vec<Span>,
}

impl TableScan {
    fn new(table: &Table, range: &KeyRange, task: &Arc<Task>, mut memory: Share) -> Result<Self> {
        let place = |key: &Option<Vec<u8>>, else_block: u64| match key {
            Some(key) => table.seek(key),
            None => Ok((else_block, 0)),
        };
        let ends = (place(&range.from, 0)?, place(&range.to, table.blocks())?);
        let copies = table.dense_widths().is_none();
        let block_bytes = table.largest_block_bytes();
        // Packed blocks are stored shorter than they are, but hardly shorter than a quarter. Lists grow by doubling.
        let shortest = if table.is_compressed() { table.usual_block_bytes() / 4 } else { table.usual_block_bytes() };
        // There are no more of them than the table has, however short.
        let places = |bytes: u64| (bytes / shortest.max(128)).min(table.blocks()) * PLACE_BYTES * 2;
        let unpacked_bytes = if table.is_compressed() { 2 * block_bytes } else { 0 };
        let least_bytes = BUFFER_BYTES_MIN.max(block_bytes);
        let sizes = |bytes: u64| {
            let copied_bytes = if copies { bytes / COPIED_PART } else { 0 };
            let fixed_bytes = copied_bytes + unpacked_bytes + 2 * STRETCH_OVERHEAD_BYTES + places(bytes);
            let buffer_bytes = (bytes.saturating_sub(fixed_bytes) / 2).max(least_bytes);
            (copied_bytes, buffer_bytes, 2 * buffer_bytes + fixed_bytes)
        };
        let given = memory.bytes();
        let needed = sizes(given).2;
        // The share was measured without regard to blocks. Copies and places take up to 5/8 of what is added to it.
        if needed > given && !memory.try_grow(4 * (needed - given)) {
            let path = table.path().display();
            let what =
                format!("reading {path} block by block takes {needed} bytes of memory, and {given} are left for it");
            return Err(memory.short((needed, given), what));
        }
        let (copied_bytes, buffer_bytes, _) = sizes(memory.bytes());
        let shape = ReadShape::sequential(&task.profile, buffer_bytes);
        let last_block = ends.1.0 + u64::from(ends.1.1 > 0);
        let mut reader = StretchReader::new(table, task, ends.0.0..last_block, shape, buffer_bytes);
        let buffers = vec![reader.buffer(), reader.buffer()];
        let ahead = Ahead::start(task, table.path(), buffers, move |stretch| reader.fill(stretch))?;
        let span_share = copied_bytes as usize * BYTES_A_SPAN / (BYTES_A_SPAN + size_of::<Span>());
        Ok(Self {
            table: table.clone(),
            ahead,
            blocks: 0..0,
            ends,
            unpacked: Vec::new(),
            at: At::Nothing,
            copied: Copied {
                bytes: Vec::with_capacity(span_share),
                spans: Vec::with_capacity(span_share / BYTES_A_SPAN),
            },
            task: task.clone(),
            long_bytes_max: memory.bytes() / COPIED_PART,
            _memory: memory,
        })
    }

    /// Opens a block of the stretch at hand, from a record on; `false` where it has no rows of the range.
    fn open(&mut self, number: usize, from_record: usize) -> Result<bool> {
        self.unpacked.clear();
        let Some(stretch) = self.ahead.at_hand() else { return Ok(false) };
        let block_at = stretch.block_at(number);
        let Some((block, offset, bytes)) = stretch.block(number) else { return Ok(false) };
        let first = if block == self.ends.0.0 { self.ends.0.1.max(from_record) } else { from_record };
        let end = if block == self.ends.1.0 { self.ends.1.1 } else { usize::MAX };
        match self.table.open_block(block, offset, bytes, &mut self.unpacked)? {
            ScanBlock::Dense(rows) => {
                let (key, value) = self.table.dense_widths().unwrap_or((1, 0));
                let (width, length) = (key + value, rows.len());
                let range = (first * width).min(length)..end.saturating_mul(width).min(length);
                let is_empty = range.is_empty();
                let is_unpacked = !self.unpacked.is_empty();
                let base = if is_unpacked { 0 } else { block_at };
                self.at = At::Dense { range: base + range.start..base + range.end.max(range.start), is_unpacked };
                Ok(!is_empty)
            }
            ScanBlock::Other(records) => {
                self.copied.bytes.clear();
                self.copied.spans.clear();
                let end = end.min(records.count());
                let mut record = first;
                while record < end {
                    let needed = records.record_bytes(record)?;
                    if !self.copied.has_room(needed) && record > first {
                        break;
                    }
                    if needed > self.copied.bytes.capacity() {
                        let (length, limit) = (needed as u64, self.copied.bytes.capacity() as u64);
                        return Err(Error::ValueTooLarge { path: self.table.path().to_owned(), length, limit });
                    }
                    let key_at = self.copied.bytes.len();
                    let value = records.push_key(record, &mut self.copied.bytes)?;
                    self.copied.push_value(key_at, value);
                    record += 1;
                }
                self.at = At::Copied { rest: (record < end).then_some((number, record)) };
                Ok(!self.copied.spans.is_empty())
            }
        }
    }
}

impl Copied {
    fn has_room(&self, bytes: usize) -> bool {
        self.bytes.capacity() - self.bytes.len() >= bytes && self.spans.len() < self.spans.capacity()
    }

    /// Appends the value behind the key that begins at `key_at`.
    fn push_value(&mut self, key_at: usize, value: ScanValue<'_>) {
        let span = Span::push_value(&mut self.bytes, key_at, value);
        self.spans.push(span);
    }
}

impl RowStream for TableScan {
    fn advance(&mut self, _from: Option<&[u8]>) -> Result<bool> {
        if let At::Copied { rest: Some((number, record)) } = self.at
            && self.open(number, record)?
        {
            return Ok(true);
        }
        loop {
            while let Some(number) = self.blocks.next() {
                if self.open(number, 0)? {
                    return Ok(true);
                }
            }
            self.task.check()?;
            self.at = At::Nothing;
            if !self.ahead.next()? {
                return Ok(false);
            }
            self.blocks = 0..self.ahead.at_hand().map_or(0, Stretch::blocks);
        }
    }

    fn rows(&self) -> RowsView<'_> {
        match &self.at {
            At::Nothing => RowsView::EMPTY,
            At::Dense { range, is_unpacked } => {
                let bytes =
                    if *is_unpacked { &self.unpacked } else { self.ahead.at_hand().map_or(&[][..], Stretch::bytes) };
                let (key, value) = self.table.dense_widths().unwrap_or((1, 0));
                RowsView::Dense { bytes: bytes.get(range.clone()).unwrap_or_default(), key, value }
            }
            At::Copied { .. } => RowsView::Spans { bytes: &self.copied.bytes, spans: &self.copied.spans },
        }
    }

    fn long_value(&mut self, row: usize, value: &mut Vec<u8>) -> Result<()> {
        let pointer = match self.rows() {
            rows if rows.is_long(row) => ValuePointer::decode(rows.value(row)),
            _ => None,
        };
        let pointer = pointer.ok_or_else(|| Error::InvalidArgument("this row has no long value".into()))?;
        value.clear();
        *value = self.table.long_value(pointer, self.long_bytes_max)?;
        Ok(())
    }
}
