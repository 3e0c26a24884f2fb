//! Pieces of a table: blocks that were read together, checked, and kept as they were read.

use crate::error::{Error, Result};
use crate::io::{Purpose, ReadRequest};
use crate::join::task::Task;
use crate::table::Table;
use std::ops::Range;
use std::sync::Arc;

/// A block of a piece.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) number: u64,
    /// Where it lies in the piece.
    begin: usize,
    rows: Rows,
}

#[derive(Debug)]
enum Rows {
    /// Rows of one width, up to here.
    Dense { end: usize },
    /// In another form, with first and last key.
    Unpacked { bytes: Arc<[u8]>, first: Vec<u8>, last: Vec<u8> },
}

/// Memory that a block takes in a piece beside its bytes.
pub(super) const BLOCK_OVERHEAD_BYTES: u64 = size_of::<Block>() as u64;

/// Blocks that were read together, in order.
#[derive(Debug, Default)]
pub(super) struct Piece {
    bytes: Vec<u8>,
    pub(super) blocks: Vec<Block>,
    widths: (usize, usize),
}

/// How the rows of a block lie.
pub(super) enum BlockRows<'a> {
    Dense(&'a [u8]),
    Unpacked(&'a [u8]),
}

impl Piece {
    /// First key of a block.
    pub(super) fn first_key(&self, block: usize) -> &[u8] {
        let Some(block) = self.blocks.get(block) else { return &[] };
        match &block.rows {
            Rows::Dense { .. } => self.bytes.get(block.begin..block.begin + self.widths.0).unwrap_or_default(),
            Rows::Unpacked { first, .. } => first,
        }
    }

    /// Last key of a block.
    pub(super) fn last_key(&self, block: usize) -> &[u8] {
        let Some(block) = self.blocks.get(block) else { return &[] };
        match &block.rows {
            Rows::Dense { end } => {
                let begin = end - (self.widths.0 + self.widths.1);
                self.bytes.get(begin..begin + self.widths.0).unwrap_or_default()
            }
            Rows::Unpacked { last, .. } => last,
        }
    }

    /// The rows of a block.
    pub(super) fn rows(&self, block: usize) -> BlockRows<'_> {
        match self.blocks.get(block) {
            Some(Block { begin, rows: Rows::Dense { end }, .. }) => {
                BlockRows::Dense(self.bytes.get(*begin..*end).unwrap_or_default())
            }
            Some(Block { rows: Rows::Unpacked { bytes, .. }, .. }) => BlockRows::Unpacked(bytes),
            None => BlockRows::Dense(&[]),
        }
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.blocks.clear();
    }

    /// Reads the blocks of sorted, disjoint ranges in place of what the piece holds: one request for each range, but for what lies
    /// between blocks, and for the longest request.
    ///
    /// # Errors
    /// What the storage reports, and damage.
    pub(super) fn read(&mut self, table: &Table, task: &Task, ranges: &[Range<u64>], request_bytes: u64) -> Result<()> {
        self.clear();
        self.widths = table.dense_widths().unwrap_or((0, 0));
        let requests = requests_of(table, ranges, request_bytes)?;
        let total: u64 = requests.iter().map(|(place, _)| place.end - place.start).sum();
        // What is left of an earlier piece needs no zeros.
        self.bytes.resize(usize::try_from(total).map_err(|_| too_large(total))?, 0);
        let mut rest = self.bytes.as_mut_slice();
        let mut reads = Vec::with_capacity(requests.len());
        for (place, _) in &requests {
            let (buffer, behind) = rest.split_at_mut((place.end - place.start) as usize);
            rest = behind;
            reads.push(ReadRequest { offset: place.start, buffer, purpose: Purpose::Data });
        }
        task.count_reads(reads.len() as u64, total);
        table.read_data(reads)?;
        let mut begin = 0;
        for (place, blocks) in &requests {
            for number in blocks.clone() {
                let at = table.block_place(number)?;
                let from = begin + (at.start - place.start) as usize;
                self.push(table, number, &at, from)?;
            }
            begin += (place.end - place.start) as usize;
        }
        Ok(())
    }

    /// Checks a block that was read, and notes it, unless it has no rows.
    fn push(&mut self, table: &Table, number: u64, place: &Range<u64>, begin: usize) -> Result<()> {
        let end = begin + (place.end - place.start) as usize;
        let Some(bytes) = self.bytes.get_mut(begin..end) else { return Ok(()) };
        let rows = match table.check_dense(number, place, bytes)? {
            Some(0) => return Ok(()),
            Some(rows) => Rows::Dense { end: begin + rows * (self.widths.0 + self.widths.1) },
            None => {
                let bytes = table.unpack_block(number, place, bytes)?;
                let Some((first, last)) = table.edge_keys(number, &bytes)? else { return Ok(()) };
                Rows::Unpacked { bytes, first, last }
            }
        };
        self.blocks.push(Block { number, begin, rows });
        Ok(())
    }
}

fn too_large(bytes: u64) -> Error {
    Error::InvalidArgument(format!("{bytes} bytes of a table cannot be held in memory at once"))
}

/// The file ranges that bring these blocks, and which blocks each brings.
fn requests_of(table: &Table, ranges: &[Range<u64>], request_bytes: u64) -> Result<Vec<(Range<u64>, Range<u64>)>> {
    let mut requests: Vec<(Range<u64>, Range<u64>)> = Vec::with_capacity(ranges.len());
    for range in ranges {
        let mut open = false;
        for number in range.clone() {
            let place = table.block_place(number)?;
            match requests.last_mut() {
                Some((whole, blocks))
                    if open && whole.end == place.start && place.end - whole.start <= request_bytes =>
                {
                    whole.end = place.end;
                    blocks.end = number + 1;
                }
                _ => requests.push((place, number..number + 1)),
            }
            open = true;
        }
    }
    Ok(requests)
}
