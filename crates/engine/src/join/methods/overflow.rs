//! A spilled run of equal keys: rows that exceed memory, in a spill file.

use super::group::Overflow;
use crate::error::Result;
use crate::join::rows::spill::{ByteReader, ByteWriter, Spill, SpilledBytes};
use crate::join::rows::stream::{RowChunk, RowsView};
use crate::join::rows::task::MemoryGrant;
use std::ops::Range;
use std::sync::Arc;

/// Largest chunk of a spilled run, in bytes; at most an eighth of the group's memory.
const CHUNK_BYTES_MAX: u64 = 64 << 10;
/// Header of each row: lengths of key and value.
const ROW_HEADER_BYTES: usize = 8;

/// A spilled run: written row by row, then read any number of times.
pub(in crate::join) struct SpilledRun {
    spill: Arc<Spill>,
    widths: (Option<usize>, Option<usize>),
    chunk_bytes: usize,
    state: SpilledRunState,
}

enum SpilledRunState {
    Empty,
    Written(ByteWriter, MemoryGrant),
    Whole(SpilledBytes, MemoryGrant),
}

impl SpilledRun {
    /// A run of rows with these widths of key and value, if fixed. With its first row it takes three eighths of
    /// `memory_bytes`.
    pub(in crate::join) fn new(spill: &Arc<Spill>, widths: (Option<usize>, Option<usize>), memory_bytes: u64) -> Self {
        let chunk_bytes = (memory_bytes / 8).min(CHUNK_BYTES_MAX) as usize;
        Self { spill: spill.clone(), widths, chunk_bytes, state: SpilledRunState::Empty }
    }
}

impl Overflow for SpilledRun {
    fn put(&mut self, rows: RowsView<'_>, range: Range<usize>) -> Result<()> {
        if let SpilledRunState::Empty = self.state {
            let grant = self.spill.task().budget.take(3 * self.chunk_bytes as u64, "a run of equal keys")?;
            self.state = SpilledRunState::Written(ByteWriter::create(self.spill.name()?, self.chunk_bytes)?, grant);
        }
        let SpilledRunState::Written(writer, _) = &mut self.state else { return Ok(()) };
        range.into_iter().try_for_each(|row| {
            let (key, value) = (rows.key(row), rows.value(row));
            let mut head = [0; ROW_HEADER_BYTES];
            head[..4].copy_from_slice(&(key.len() as u32).to_le_bytes());
            head[4..].copy_from_slice(&(value.len() as u32).to_le_bytes());
            writer.write(&head)?;
            writer.write(key)?;
            writer.write(value)
        })
    }

    fn visit(&mut self, visit_rows: &mut dyn FnMut(RowsView<'_>) -> Result<()>) -> Result<()> {
        self.state = match std::mem::replace(&mut self.state, SpilledRunState::Empty) {
            SpilledRunState::Written(writer, grant) => SpilledRunState::Whole(writer.finish()?, grant),
            other => other,
        };
        let SpilledRunState::Whole(bytes, grant) = &mut self.state else { return Ok(()) };
        let mut reader = bytes.reader(self.chunk_bytes);
        let mut chunk = RowChunk::new(self.widths.0, self.widths.1, self.chunk_bytes);
        let mut row = Vec::new();
        while let Some((key_bytes, value_bytes)) = next_lengths(&mut reader, &mut row)? {
            row.clear();
            reader.read(key_bytes + value_bytes, &mut row)?;
            let (key, value) = row.split_at(key_bytes.min(row.len()));
            if !chunk.is_empty() && chunk.taken_bytes() + row.len() > self.chunk_bytes / 2 {
                visit_rows(chunk.rows())?;
                chunk.clear();
            }
            let long = (row.len() as u64).saturating_sub(self.chunk_bytes as u64 / 2);
            if long > 0 && !grant.try_grow(2 * long) {
                self.spill.task().budget.take(2 * long, "a long row")?;
            }
            chunk.push(key, value);
            grant.shrink_to(3 * self.chunk_bytes as u64 + 2 * long);
        }
        if chunk.is_empty() { Ok(()) } else { visit_rows(chunk.rows()) }
    }

    fn clear(&mut self) -> Result<()> {
        self.state = SpilledRunState::Empty;
        Ok(())
    }
}

/// Lengths of key and value of the next row; `None` at the end.
fn next_lengths(reader: &mut ByteReader, row: &mut Vec<u8>) -> Result<Option<(usize, usize)>> {
    row.clear();
    if !reader.read(ROW_HEADER_BYTES, row)? {
        return Ok(None);
    }
    let length = |at: usize| row.get(at..at + 4).and_then(|word| word.try_into().ok()).map(u32::from_le_bytes);
    Ok(length(0).zip(length(4)).map(|(key, value)| (key as usize, value as usize)))
}
