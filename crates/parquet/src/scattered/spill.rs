//! Rows that memory does not hold, brought from the order of the files into the order in which they are wanted.
//!
//! The places of all rows are known. So the order is cut into *chunks* of equally many rows, each of which memory
//! holds. Rows of a chunk are pieces in the stream format of Arrow, and an external sort brings the pieces of each
//! chunk together. A chunk whose rows are far longer than others is cut again, into smaller ones.

use super::gather::Gather;
use super::memory::Shares;
use crate::data::Projection;
use crate::error::{ParquetIndexError, Result};
use crate::index::{Inner, row_number};
use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::ArrowError;
use ogive::Storage;
use ogive::table::sort::{Sorted, Sorter};
use std::collections::BTreeMap;
use std::io::Cursor;
use std::sync::Arc;

/// Bytes of a number.
const NUMBER_BYTES: usize = 8;

/// Rows on their way to the disk.
#[derive(Debug)]
pub(super) struct Spill {
    scratch: Arc<dyn Storage>,
    sorter: Sorter,
    /// Memory for the rows of a chunk.
    chunk_bytes: u64,
    /// Places of a chunk.
    chunk_rows: u64,
    /// Bytes of each chunk.
    bytes: BTreeMap<u64, u64>,
    pieces: u64,
}

/// Rows that come back, chunk by chunk.
#[derive(Debug)]
pub(super) struct Spilled {
    scratch: Arc<dyn Storage>,
    /// The chunks, and behind them those of a chunk that was cut again.
    levels: Vec<SpillLevel>,
}

#[derive(Debug)]
struct SpillLevel {
    sorted: Sorted,
    chunk_bytes: u64,
    chunk_rows: u64,
    /// Bytes of each chunk that is left.
    bytes: BTreeMap<u64, u64>,
    /// The first piece of the next chunk.
    ahead: Option<(u64, Vec<u8>)>,
}

impl Spill {
    /// Rows of this size, with files in `scratch`; this memory for sorting, and as much for the rows of a chunk.
    ///
    /// # Errors
    /// Those of [`Sorter::new`].
    pub(super) fn new(scratch: Arc<dyn Storage>, memory_bytes: u64, row_bytes: u64) -> Result<Self> {
        Self::at_depth(scratch, memory_bytes, row_bytes, 0)
    }

    fn at_depth(scratch: Arc<dyn Storage>, memory_bytes: u64, row_bytes: u64, depth: usize) -> Result<Self> {
        let sorter = Sorter::new(scratch.clone(), Shares::of_sort(memory_bytes), &format!("parts-{depth}"))?;
        // Pieces are in memory, and with them the rows that are put together of them.
        let chunk_bytes = memory_bytes / 2;
        // Half of it is for chunks with longer rows.
        let chunk_rows = (chunk_bytes / 2 / row_bytes.max(1)).max(1);
        Ok(Self { scratch, sorter, chunk_bytes, chunk_rows, bytes: BTreeMap::new(), pieces: 0 })
    }

    /// Adds rows.
    ///
    /// # Errors
    /// Those of the sort.
    pub(super) fn add(&mut self, inner: &Inner, projection: &Projection, mut rows: Gather) -> Result<()> {
        let failed = |error: ArrowError| inner.data.malformed(format!("rows cannot be sorted: {error}"));
        let chunk_rows = self.chunk_rows;
        let of_chunk = |left: &[(u64, u32, u32)]| {
            let chunk = left.first().map_or(0, |&(place, ..)| place / chunk_rows);
            left.partition_point(|&(place, ..)| place / chunk_rows == chunk)
        };
        while let Some((batch, places)) = rows.next_rows(inner, projection, of_chunk)? {
            let Some(chunk) = places.first().map(|place| place / chunk_rows) else { break };
            self.push(chunk, &encode(&batch, &places).map_err(failed)?)?;
        }
        Ok(())
    }

    /// Adds a piece, in records that the sort holds. The first states the length of all.
    fn push(&mut self, chunk: u64, piece: &[u8]) -> Result<()> {
        let mut key = [chunk.to_be_bytes(), self.pieces.to_be_bytes(), [0; NUMBER_BYTES]].concat();
        self.pieces += 1;
        *self.bytes.entry(chunk).or_default() += piece.len() as u64;
        let stored = [&(piece.len() as u64).to_be_bytes(), piece].concat();
        let most = (self.sorter.record_bytes_max() as usize).saturating_sub(key.len()).max(1);
        for (number, part) in (0_u64..).zip(stored.chunks(most)) {
            key[2 * NUMBER_BYTES..].copy_from_slice(&number.to_be_bytes());
            self.sorter.push(&key, part)?;
        }
        Ok(())
    }

    /// Ends the input.
    ///
    /// # Errors
    /// Those of the sort.
    pub(super) fn finish(self) -> Result<Spilled> {
        let (scratch, level) = self.level()?;
        Ok(Spilled { scratch, levels: vec![level] })
    }

    fn level(self) -> Result<(Arc<dyn Storage>, SpillLevel)> {
        let Self { scratch, sorter, chunk_bytes, chunk_rows, bytes, .. } = self;
        let sorted = sorter.finish()?;
        Ok((scratch, SpillLevel { sorted, chunk_bytes, chunk_rows, bytes, ahead: None }))
    }
}

impl Spilled {
    /// The rows of the next chunk.
    ///
    /// # Errors
    /// Those of the sort.
    pub(super) fn next_chunk(&mut self, inner: &Inner, projection: &Projection) -> Result<Option<Gather>> {
        let damaged = |error: ArrowError| inner.data.malformed(format!("sorted rows cannot be read: {error}"));
        loop {
            let depth = self.levels.len();
            let Some(level) = self.levels.last_mut() else { return Ok(None) };
            let Some((chunk, bytes)) = level.bytes.pop_first() else {
                self.levels.pop();
                continue;
            };
            let mut again = match bytes > level.chunk_bytes && level.chunk_rows > 1 {
                true => {
                    let row_bytes = (bytes / level.chunk_rows).max(1) * 2;
                    Some(Spill::at_depth(self.scratch.clone(), level.chunk_bytes / 2, row_bytes, depth)?)
                }
                false => None,
            };
            let mut rows = Gather::default();
            while let Some(piece) = level.piece(chunk, inner)? {
                let (batch, places) = decode(&piece).map_err(damaged)?;
                rows.add(batch, places.into_iter());
                if let Some(again) = &mut again {
                    again.add(inner, projection, std::mem::take(&mut rows))?;
                }
            }
            match again {
                Some(again) => self.levels.push(again.level()?.1),
                None => return Ok(Some(rows)),
            }
        }
    }
}

impl SpillLevel {
    /// The next piece of a chunk.
    fn piece(&mut self, chunk: u64, inner: &Inner) -> Result<Option<Vec<u8>>> {
        if self.ahead.is_none() {
            self.ahead = self.read(inner)?;
        }
        Ok(self.ahead.take_if(|(of, _)| *of == chunk).map(|(_, piece)| piece))
    }

    /// The next piece and its chunk.
    fn read(&mut self, inner: &Inner) -> Result<Option<(u64, Vec<u8>)>> {
        let Some((key, part)) = self.sorted.next_record()? else { return Ok(None) };
        let (chunk, length) = (row_number(key), row_number(part) as usize);
        let mut piece = part.get(NUMBER_BYTES..).unwrap_or_default().to_vec();
        while piece.len() < length {
            let Some((_, part)) = self.sorted.next_record()? else {
                return Err(cut_short(inner));
            };
            piece.extend_from_slice(part);
        }
        Ok(Some((chunk, piece)))
    }
}

fn cut_short(inner: &Inner) -> ParquetIndexError {
    inner.data.malformed("sorted rows are cut short".to_owned())
}

/// The stored form of rows: their number and places, then a stream of Arrow.
fn encode(batch: &RecordBatch, places: &[u64]) -> Result<Vec<u8>, ArrowError> {
    let mut out = (places.len() as u64).to_be_bytes().to_vec();
    places.iter().for_each(|place| out.extend_from_slice(&place.to_be_bytes()));
    let mut stream = StreamWriter::try_new(out, &batch.schema())?;
    stream.write(batch)?;
    stream.into_inner()
}

fn decode(piece: &[u8]) -> Result<(RecordBatch, Vec<u64>), ArrowError> {
    let short = || ArrowError::IpcError("a piece is cut short".to_owned());
    let (head, rest) = piece.split_at_checked(NUMBER_BYTES).ok_or_else(short)?;
    let count = row_number(head) as usize;
    let (places, stream) = rest.split_at_checked(count.saturating_mul(NUMBER_BYTES)).ok_or_else(short)?;
    let batch = StreamReader::try_new(Cursor::new(stream), None)?.next().ok_or_else(short)??;
    Ok((batch, places.chunks(NUMBER_BYTES).map(row_number).collect()))
}
