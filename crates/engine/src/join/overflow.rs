//! A spilled run of equal keys: rows that exceed memory, in a spill file.

use super::group::Overflow;
use super::rows::{Chunk, RowsView};
use super::spill::{ByteReader, ByteWriter, Bytes, Spill};
use super::task::Share;
use crate::error::Result;
use std::ops::Range;
use std::sync::Arc;

/// Rows are written and read in pieces of so many bytes, or an eighth of the memory that the group has.
const PIECE_BYTES: u64 = 64 << 10;
/// In front of each row: lengths of key and value.
const HEAD_BYTES: usize = 8;

/// The run, once it is there: written row by row, then read as often as wanted.
pub(super) struct SpilledRun {
    spill: Arc<Spill>,
    widths: (Option<usize>, Option<usize>),
    piece_bytes: usize,
    state: State,
}

enum State {
    Empty,
    Written(ByteWriter, Share),
    Whole(Bytes, Share),
}

impl SpilledRun {
    /// A run of rows whose keys and values have these widths, where they are fixed. It takes memory when the first row comes, an eighth of `memory_bytes`
    /// three times over.
    pub(super) fn new(spill: &Arc<Spill>, widths: (Option<usize>, Option<usize>), memory_bytes: u64) -> Self {
        let piece_bytes = (memory_bytes / 8).min(PIECE_BYTES) as usize;
        Self { spill: spill.clone(), widths, piece_bytes, state: State::Empty }
    }
}

impl Overflow for SpilledRun {
    fn put(&mut self, rows: RowsView<'_>, range: Range<usize>) -> Result<()> {
        if let State::Empty = self.state {
            let share = self.spill.task().budget.take(3 * self.piece_bytes as u64, "a run of equal keys")?;
            self.state = State::Written(ByteWriter::create(&self.spill, self.piece_bytes)?, share);
        }
        let State::Written(writer, _) = &mut self.state else { return Ok(()) };
        range.into_iter().try_for_each(|row| {
            let (key, value) = (rows.key(row), rows.value(row));
            let mut head = [0; HEAD_BYTES];
            head[..4].copy_from_slice(&(key.len() as u32).to_le_bytes());
            head[4..].copy_from_slice(&(value.len() as u32).to_le_bytes());
            writer.write(&head)?;
            writer.write(key)?;
            writer.write(value)
        })
    }

    fn visit(&mut self, see: &mut dyn FnMut(RowsView<'_>) -> Result<()>) -> Result<()> {
        self.state = match std::mem::replace(&mut self.state, State::Empty) {
            State::Written(writer, share) => State::Whole(writer.finish()?, share),
            other => other,
        };
        let State::Whole(bytes, share) = &mut self.state else { return Ok(()) };
        let mut reader = bytes.reader(self.piece_bytes);
        let mut chunk = Chunk::new(self.widths.0, self.widths.1, self.piece_bytes);
        let mut row = Vec::new();
        while let Some((key_bytes, value_bytes)) = next_head(&mut reader, &mut row)? {
            row.clear();
            reader.read(key_bytes + value_bytes, &mut row)?;
            let (key, value) = row.split_at(key_bytes.min(row.len()));
            if !chunk.is_empty() && chunk.taken_bytes() + row.len() > self.piece_bytes / 2 {
                see(chunk.rows())?;
                chunk.clear();
            }
            let long = (row.len() as u64).saturating_sub(self.piece_bytes as u64 / 2);
            if long > 0 && !share.try_grow(2 * long) {
                self.spill.task().budget.take(2 * long, "a long row")?;
            }
            chunk.push(key, value);
            share.shrink_to(3 * self.piece_bytes as u64 + 2 * long);
        }
        if chunk.is_empty() { Ok(()) } else { see(chunk.rows()) }
    }

    fn clear(&mut self) -> Result<()> {
        self.state = State::Empty;
        Ok(())
    }
}

/// Lengths of key and value of the next row; `None` at the end.
fn next_head(reader: &mut ByteReader, row: &mut Vec<u8>) -> Result<Option<(usize, usize)>> {
    row.clear();
    if !reader.read(HEAD_BYTES, row)? {
        return Ok(None);
    }
    let length = |at: usize| row.get(at..at + 4).and_then(|word| word.try_into().ok()).map(u32::from_le_bytes);
    Ok(length(0).zip(length(4)).map(|(key, value)| (key as usize, value as usize)))
}
