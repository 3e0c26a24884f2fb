//! The sequential scan of a table: reads many blocks with one batch of requests, prefetches the next ones, and checks
//! each block in the buffer it was read into.
//!
//! ```text
//! worker   | read blocks 0..512 | read blocks 512..1024 | ...   the first batch is short: joining begins soon
//! stream                        | block 0 | block 1 | ...       a chunk is a block, or a part of one that is copied
//! ```

use super::block_run::{BlockRun, BlockRunReader, LOCATION_BYTES, RUN_OVERHEAD_BYTES};
use super::prefetch::Prefetcher;
use super::read_shape::StreamShape;
use crate::error::{Error, Result};
use crate::join::rows::relation::{KeyRange, Relation, RelationFacts};
use crate::join::rows::stream::{RowSpan, RowStream, RowsView};
use crate::join::rows::task::{MemoryGrant, Task};
use crate::table::format::value::ValuePointer;
use crate::table::{FrontKeys, HistogramPoint, ScanBlock, ScanValue, Table};
use std::ops::Range;
use std::sync::Arc;

/// Copied rows get this fraction of a scan's memory, 1/4, if rows must be copied.
const COPY_DIVISOR: u64 = 4;
/// Bytes of copied rows per span.
const BYTES_PER_SPAN: usize = 32;
/// Histogram points per part into which a table is cut.
const HISTOGRAM_POINTS_PER_PART: usize = 16;
/// Smallest size of a buffer in bytes, unless a block is larger.
const BUFFER_BYTES_MIN: u64 = 16 << 10;

/// A table as a relation.
#[derive(Debug)]
pub(crate) struct TableRelation {
    table: Table,
    facts: RelationFacts,
}

impl TableRelation {
    pub(crate) fn new(table: Table) -> Self {
        let report = table.explain();
        let facts = RelationFacts {
            name: table.path().display().to_string(),
            rows: table.len(),
            is_exact: true,
            bytes: report.data_bytes,
            decoded_bytes: table.decoded_bytes(),
            key_type: table.key_type(),
            key_bytes: table.key_type().width(),
            // The header in front of the values of a versioned table is not returned.
            value_bytes: table.value_width().filter(|_| !table.is_versioned()).map(|width| width as usize),
            is_sorted: true,
            is_distinct: table.is_distinct(),
        };
        Self { table, facts }
    }
}

impl Relation for TableRelation {
    fn facts(&self) -> &RelationFacts {
        &self.facts
    }

    fn scan(&self, range: &KeyRange, task: &Arc<Task>, memory: MemoryGrant) -> Result<Box<dyn RowStream>> {
        Ok(Box::new(TableScan::new(&self.table, range, task, memory)?))
    }

    fn cuts(&self, parts: usize) -> Vec<Vec<u8>> {
        cuts_from_histogram(
            &self.table.key_histogram(parts.saturating_mul(HISTOGRAM_POINTS_PER_PART)),
            self.table.blocks() as f64,
            parts,
        )
    }

    fn table(&self) -> Option<&Table> {
        Some(&self.table)
    }
}

/// The histogram points nearest to the ends of equal parts.
fn cuts_from_histogram(histogram: &[HistogramPoint], blocks: f64, parts: usize) -> Vec<Vec<u8>> {
    let mut cuts: Vec<Vec<u8>> = Vec::new();
    for part in 1..parts {
        let wanted = blocks * part as f64 / parts as f64;
        let at = histogram.partition_point(|(_, block)| *block < wanted);
        if let Some((key, block)) = histogram.get(at)
            && *block > 0.0
            && cuts.last().is_none_or(|last| last < key)
        {
            cuts.push(key.clone());
        }
    }
    cuts
}

/// Position of a record: block, and record number in it.
type ScanPosition = (u64, usize);

/// A scan of the rows in a range of a table.
struct TableScan {
    table: Table,
    prefetch: Prefetcher<BlockRun>,
    /// The unread blocks of the current run.
    blocks: Range<usize>,
    /// Positions of the first record and after the last one.
    ends: (ScanPosition, ScanPosition),
    unpacked: Vec<u8>,
    at: CurrentChunk,
    copied: CopiedRows,
    task: Arc<Task>,
    long_bytes_max: u64,
    memory: MemoryGrant,
}

/// The source of the current chunk.
#[derive(Debug)]
enum CurrentChunk {
    Nothing,
    /// Dense rows in the run, or in the unpacked block.
    Dense {
        range: Range<usize>,
        is_unpacked: bool,
    },
    /// Copied rows; `rest` is the block (by its number in the run) and record at which copying continues.
    CopiedRows {
        rest: Option<(usize, usize)>,
    },
}

/// Copied rows.
#[derive(Debug, Default)]
struct CopiedRows {
    bytes: Vec<u8>,
    spans: Vec<RowSpan>,
}

impl TableScan {
    fn new(table: &Table, range: &KeyRange, task: &Arc<Task>, mut memory: MemoryGrant) -> Result<Self> {
        let location = |key: &Option<Vec<u8>>, else_block: u64| match key {
            Some(key) => table.seek(key),
            None => Ok((else_block, 0)),
        };
        let ends = (location(&range.from, 0)?, location(&range.to, table.blocks())?);
        let copies = table.dense_widths().is_none();
        let block_bytes = table.largest_block_bytes();
        // Compressed blocks are stored shorter, but rarely below a quarter. Lists grow by doubling.
        let shortest = if table.is_compressed() { table.usual_block_bytes() / 4 } else { table.usual_block_bytes() };
        // Never more than the table has, however short blocks are.
        let locations = |bytes: u64| (bytes / shortest.max(128)).min(table.blocks()) * LOCATION_BYTES * 2;
        let unpacked_bytes = if table.is_compressed() || table.is_coded() { 2 * block_bytes } else { 0 };
        let least_bytes = BUFFER_BYTES_MIN.max(block_bytes);
        let sizes = |bytes: u64| {
            let copied_bytes = if copies { bytes / COPY_DIVISOR } else { 0 };
            let fixed_bytes = copied_bytes + unpacked_bytes + 2 * RUN_OVERHEAD_BYTES + locations(bytes);
            let buffer_bytes = (bytes.saturating_sub(fixed_bytes) / 2).max(least_bytes);
            (copied_bytes, buffer_bytes, 2 * buffer_bytes + fixed_bytes)
        };
        let given = memory.bytes();
        let needed = sizes(given).2;
        // The grant did not consider block sizes. Copies and locations take up to 5/8 of an increase.
        if needed > given && !memory.try_grow(4 * (needed - given)) {
            let path = table.path().display();
            let what =
                format!("reading {path} block by block takes {needed} bytes of memory, and {given} are left for it");
            return Err(memory.short((needed, given), what));
        }
        let (copied_bytes, buffer_bytes, _) = sizes(memory.bytes());
        let shape = StreamShape::within(&task.profile, 2 * buffer_bytes, least_bytes);
        let last_block = ends.1.0 + u64::from(ends.1.1 > 0);
        let mut reader = BlockRunReader::new(table, task, ends.0.0..last_block, shape, buffer_bytes);
        let buffers = vec![BlockRun::default(), BlockRun::default()];
        let prefetch = Prefetcher::start(task, table.path(), buffers, move |run| reader.fill(run))?;
        let span_share = copied_bytes as usize * BYTES_PER_SPAN / (BYTES_PER_SPAN + size_of::<RowSpan>());
        Ok(Self {
            table: table.clone(),
            prefetch,
            blocks: 0..0,
            ends,
            unpacked: Vec::new(),
            at: CurrentChunk::Nothing,
            copied: CopiedRows {
                bytes: Vec::with_capacity(span_share),
                spans: Vec::with_capacity(span_share / BYTES_PER_SPAN),
            },
            task: task.clone(),
            long_bytes_max: memory.bytes() / COPY_DIVISOR,
            memory,
        })
    }

    /// Opens a block of the current run, from a record on; `false` if it has no rows in the range.
    fn open(&mut self, number: usize, from_record: usize) -> Result<bool> {
        self.unpacked.clear();
        let Some(run) = self.prefetch.current() else { return Ok(false) };
        let block_at = run.block_at(number);
        let Some((block, offset, bytes)) = run.block(number) else { return Ok(false) };
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
                self.at =
                    CurrentChunk::Dense { range: base + range.start..base + range.end.max(range.start), is_unpacked };
                Ok(!is_empty)
            }
            ScanBlock::Other(records) => {
                self.copied.bytes.clear();
                self.copied.spans.clear();
                let end = end.min(records.count());
                let (mut record, mut front) = (first, FrontKeys::default());
                while record < end {
                    let needed = records.record_bytes(record, &mut front)?;
                    if !self.copied.has_room(needed) && record > first {
                        break;
                    }
                    if let Some(more) = needed.checked_sub(self.copied.bytes.capacity()).filter(|more| *more > 0) {
                        let name = self.table.path().display().to_string();
                        self.memory.grow_for_record(more as u64, needed as u64, &name)?;
                        self.copied.bytes.reserve_exact(needed);
                    }
                    let key_at = self.copied.bytes.len();
                    let value = records.push_key(record, &mut front, &mut self.copied.bytes)?;
                    self.copied.push_value(key_at, value);
                    record += 1;
                }
                self.at = CurrentChunk::CopiedRows { rest: (record < end).then_some((number, record)) };
                Ok(!self.copied.spans.is_empty())
            }
        }
    }
}

impl CopiedRows {
    fn has_room(&self, bytes: usize) -> bool {
        self.bytes.capacity() - self.bytes.len() >= bytes && self.spans.len() < self.spans.capacity()
    }

    /// Appends the value after the key that begins at `key_at`.
    fn push_value(&mut self, key_at: usize, value: ScanValue<'_>) {
        let span = RowSpan::push_value(&mut self.bytes, key_at, value);
        self.spans.push(span);
    }
}

impl RowStream for TableScan {
    fn advance(&mut self, _from: Option<&[u8]>) -> Result<bool> {
        if let CurrentChunk::CopiedRows { rest: Some((number, record)) } = self.at
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
            self.at = CurrentChunk::Nothing;
            if !self.prefetch.next()? {
                return Ok(false);
            }
            self.blocks = 0..self.prefetch.current().map_or(0, BlockRun::blocks);
        }
    }

    fn rows(&self) -> RowsView<'_> {
        match &self.at {
            CurrentChunk::Nothing => RowsView::EMPTY,
            CurrentChunk::Dense { range, is_unpacked } => {
                let bytes = if *is_unpacked {
                    &self.unpacked
                } else {
                    self.prefetch.current().map_or(&[][..], BlockRun::bytes)
                };
                let (key, value) = self.table.dense_widths().unwrap_or((1, 0));
                RowsView::Dense { bytes: bytes.get(range.clone()).unwrap_or_default(), key, value }
            }
            CurrentChunk::CopiedRows { .. } => RowsView::Spans { bytes: &self.copied.bytes, spans: &self.copied.spans },
        }
    }

    fn long_value(&mut self, row: usize, value: &mut Vec<u8>) -> Result<()> {
        let pointer = match self.rows() {
            rows if rows.is_long(row) => ValuePointer::decode(rows.value(row)),
            _ => None,
        };
        let pointer = pointer.ok_or_else(|| Error::input("this row has no long value"))?;
        value.clear();
        if let Some(more) = pointer.length.checked_sub(self.long_bytes_max).filter(|more| *more > 0) {
            let name = self.table.path().display().to_string();
            self.memory.grow_for_record(more, pointer.length, &name)?;
            self.long_bytes_max = pointer.length;
        }
        *value = self.table.long_value(pointer, self.long_bytes_max)?;
        Ok(())
    }
}
