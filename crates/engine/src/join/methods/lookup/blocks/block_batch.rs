//! Batches of blocks of a table: read together, checked, and kept as stored.

use crate::error::{Error, Result};
use crate::io::LargeBuffer;
use crate::join::input::block_run::{Piece, pieces_of, read_pieces, request_bytes_of};
use crate::join::input::read_shape::worthwhile_gap_bytes;
use crate::join::rows::read_lanes::StartedRead;
use crate::join::rows::task::Task;
use crate::table::{FrontKeys, ScanBlock, ScanRecords, Table};
use std::ops::Range;

/// Alignment of direct reads, in the file and in memory, in bytes: suits every device in use.
const ALIGNMENT: usize = 4096;

/// A block of a batch.
#[derive(Debug)]
pub(in crate::join::methods::lookup) struct BatchBlock {
    pub(in crate::join::methods::lookup) number: u64,
    /// Its position in the batch.
    location: Range<usize>,
    rows: BatchBlockRows,
}

#[derive(Debug)]
enum BatchBlockRows {
    /// Dense rows: this many bytes at the beginning of the block.
    Dense(usize),
    /// Dense rows, unpacked.
    DenseUnpacked(Vec<u8>),
    /// Rows in another encoding, unpacked if necessary, with first and last key.
    Other { unpacked: Option<Vec<u8>>, first: Vec<u8>, last: Vec<u8> },
}

/// Memory overhead of a block in a batch, in bytes.
pub(in crate::join::methods::lookup) const BLOCK_OVERHEAD_BYTES: u64 = size_of::<BatchBlock>() as u64;
/// Memory overhead of a batch, in bytes.
pub(in crate::join::methods::lookup) const BATCH_OVERHEAD_BYTES: u64 = 2 * ALIGNMENT as u64;

/// A batch of blocks read together, in order.
#[derive(Debug, Default)]
pub(in crate::join::methods::lookup) struct BlockBatch {
    buffer: LargeBuffer,
    pub(in crate::join::methods::lookup) blocks: Vec<BatchBlock>,
    widths: (usize, usize),
}

/// The encoding of the rows of a block.
pub(in crate::join::methods::lookup) enum BlockRows<'a> {
    Dense(&'a [u8]),
    /// The whole unpacked block.
    Other(&'a [u8]),
}

impl BlockBatch {
    #[inline]
    fn bytes(&self, location: Range<usize>) -> &[u8] {
        self.buffer.get(location).unwrap_or_default()
    }

    /// The rows of a block.
    #[inline]
    pub(in crate::join::methods::lookup) fn rows(&self, block: usize) -> BlockRows<'_> {
        let Some(BatchBlock { location, rows, .. }) = self.blocks.get(block) else { return BlockRows::Dense(&[]) };
        match rows {
            BatchBlockRows::Dense(bytes) => BlockRows::Dense(self.bytes(location.start..location.start + bytes)),
            BatchBlockRows::DenseUnpacked(rows) => BlockRows::Dense(rows),
            BatchBlockRows::Other { unpacked: Some(unpacked), .. } => BlockRows::Other(unpacked),
            BatchBlockRows::Other { unpacked: None, .. } => BlockRows::Other(self.bytes(location.clone())),
        }
    }

    /// First key of a block.
    #[inline]
    pub(in crate::join::methods::lookup) fn first_key(&self, block: usize) -> &[u8] {
        match (self.blocks.get(block), self.rows(block)) {
            (Some(BatchBlock { rows: BatchBlockRows::Other { first, .. }, .. }), _) => first,
            (_, BlockRows::Dense(rows)) => rows.get(..self.widths.0).unwrap_or_default(),
            _ => &[],
        }
    }

    /// Last key of a block.
    #[inline]
    pub(in crate::join::methods::lookup) fn last_key(&self, block: usize) -> &[u8] {
        match (self.blocks.get(block), self.rows(block)) {
            (Some(BatchBlock { rows: BatchBlockRows::Other { last, .. }, .. }), _) => last,
            (_, BlockRows::Dense(rows)) => {
                let begin = rows.len().saturating_sub(self.widths.0 + self.widths.1);
                rows.get(begin..begin + self.widths.0).unwrap_or_default()
            }
            _ => &[],
        }
    }

    /// Reads the blocks of sorted, disjoint ranges, replacing the content of the batch: one request per range, more if
    /// a range is longer than `request_bytes` or has wide gaps between its blocks.
    ///
    /// # Errors
    /// Errors of the storage, and damage.
    pub(in crate::join::methods::lookup) fn read(
        &mut self,
        table: &Table,
        task: &Task,
        ranges: &[Range<u64>],
        request_bytes: u64,
    ) -> Result<()> {
        let batch = std::mem::take(self);
        *self = batch.start(table, task, ranges, request_bytes, false)?.wait()?;
        Ok(())
    }

    /// Starts such a read, in flight with others if `is_ahead`.
    ///
    /// # Errors
    /// Damage of the table's offsets.
    pub(in crate::join::methods::lookup) fn start(
        mut self,
        table: &Table,
        task: &Task,
        ranges: &[Range<u64>],
        request_bytes: u64,
        is_ahead: bool,
    ) -> Result<StartedRead<Self>> {
        let layout = BatchLayout::of(table, task, ranges)?;
        let needed = usize::try_from(layout.bytes).map_err(|_| too_large(layout.bytes))?;
        let each = request_bytes_of(task, table.is_direct(), request_bytes).min(layout.bytes.max(1));
        let pieces = pieces_of(&layout.ranges, each, false);
        task.count_reads(pieces.len() as u64, layout.bytes);
        let (table, in_turn) = (table.clone(), is_ahead && task.reads_in_turn());
        let large_pages = task.fast_paths.large_pages && table.is_direct();
        let path = table.path().to_owned();
        let read = move || {
            self.buffer.make_room(needed, 0, large_pages);
            self.fill(&table, layout.blocks, &pieces, in_turn)?;
            Ok(self)
        };
        Ok(if is_ahead { task.start_read(&path, read) } else { StartedRead::later(&path, read) })
    }

    fn fill(
        &mut self,
        table: &Table,
        blocks: Vec<(u64, u64, Range<usize>)>,
        pieces: &[Piece],
        in_turn: bool,
    ) -> Result<()> {
        self.blocks.clear();
        self.widths = table.dense_widths().unwrap_or((0, 0));
        read_pieces(&**table.data_file(), pieces, &mut self.buffer, in_turn)?;
        blocks.into_iter().try_for_each(|(number, offset, location)| self.push(table, number, offset, location))
    }

    /// Checks a block, and adds it to the batch unless it has no rows.
    fn push(&mut self, table: &Table, number: u64, offset: u64, location: Range<usize>) -> Result<()> {
        let bytes = self.buffer.get_mut(location.clone()).unwrap_or_default();
        table.check_block(number, offset, bytes)?;
        let mut unpacked = Vec::new();
        let rows = match table.open_block(number, offset, bytes, &mut unpacked)? {
            ScanBlock::Dense([]) => return Ok(()),
            ScanBlock::Dense(rows) => Ok(rows.len()),
            ScanBlock::Other(records) => match edges(&records)? {
                Some(edges) => Err(edges),
                None => return Ok(()),
            },
        };
        let rows = match rows {
            Ok(bytes) if unpacked.is_empty() => BatchBlockRows::Dense(bytes),
            Ok(bytes) => {
                unpacked.truncate(bytes);
                BatchBlockRows::DenseUnpacked(unpacked)
            }
            Err((first, last)) => {
                BatchBlockRows::Other { unpacked: (!unpacked.is_empty()).then_some(unpacked), first, last }
            }
        };
        self.blocks.push(BatchBlock { number, location, rows });
        Ok(())
    }
}

/// First and last key of records; `None` if there are none.
fn edges(records: &ScanRecords<'_>) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
    let Some(last) = records.count().checked_sub(1) else { return Ok(None) };
    let (mut edges, mut front) = ((Vec::new(), Vec::new()), FrontKeys::default());
    records.push_key(0, &mut front, &mut edges.0)?;
    records.push_key(last, &mut front, &mut edges.1)?;
    Ok(Some(edges))
}

fn too_large(bytes: u64) -> Error {
    Error::input(format!("{bytes} bytes of a table cannot be held in memory at once"))
}

/// The layout of the blocks in the file and in the buffer.
struct BatchLayout {
    /// The file ranges to read.
    ranges: Vec<Range<u64>>,
    /// Number and file offset of each block, and its position in the buffer.
    blocks: Vec<(u64, u64, Range<usize>)>,
    bytes: u64,
}

impl BatchLayout {
    fn of(table: &Table, task: &Task, wanted: &[Range<u64>]) -> Result<Self> {
        let file = table.data_file();
        let (file_bytes, is_direct) = (file.len(), file.is_direct());
        let gap_bytes = worthwhile_gap_bytes(&task.profile, table.largest_stored_block_bytes());
        // Whole units of the device, as far as the file has them.
        let outer = |begin: u64, end: u64| match is_direct {
            true => begin - begin % ALIGNMENT as u64..end.next_multiple_of(ALIGNMENT as u64).min(file_bytes),
            false => begin..end,
        };
        let mut layout = Self { ranges: Vec::with_capacity(wanted.len()), blocks: Vec::new(), bytes: 0 };
        for range in wanted {
            for number in range.clone() {
                let (offset, bytes) = table.block_place(number)?;
                let own = outer(offset, offset + bytes);
                // Between blocks of one range may lie long values; two ranges are apart on purpose.
                let allowed = if number == range.start { 0 } else { gap_bytes };
                match layout.ranges.last_mut() {
                    Some(last) if own.start >= last.start && own.start <= last.end + allowed => {
                        layout.bytes += own.end.saturating_sub(last.end);
                        last.end = last.end.max(own.end);
                    }
                    _ => {
                        layout.bytes += own.end - own.start;
                        layout.ranges.push(own);
                    }
                }
                let last = layout.ranges.last().cloned().unwrap_or_default();
                let at = (layout.bytes - (last.end - offset)) as usize;
                layout.blocks.push((number, offset, at..at + bytes as usize));
            }
        }
        Ok(layout)
    }
}
