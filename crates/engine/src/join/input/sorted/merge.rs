//! The merge of sorted runs of rows of one width.

use super::dense::SortKey;
use crate::error::Result;
use crate::join::rows::spill::{ByteReader, SpilledBytes};
use crate::table::sort::LoserTree;

/// Largest chunk of merged rows, in bytes: it stays in a core's cache.
const CHUNK_BYTES_MAX: usize = 64 << 10;
/// Largest read buffer of a run, in bytes.
const BUFFER_BYTES_MAX: usize = 1 << 20;
/// Memory of a run that is read, in addition to its buffer.
const CURSOR_BYTES: usize = 256;
/// Most runs merged at once: the heads of more would not fit the first-level cache.
const FAN_IN_MAX: usize = 512;

/// A cursor over a run.
#[derive(Debug)]
struct RowRunCursor {
    reader: ByteReader,
    /// Key prefix of the current row; `u64::MAX` at the end.
    key_prefix: u64,
    is_done: bool,
}

impl RowRunCursor {
    fn row<const N: usize>(&self) -> &[u8; N] {
        self.reader.rest().first_chunk().unwrap_or(&[0; N])
    }

    /// Loads the current row, moving to the next chunk if necessary.
    #[inline]
    fn look<const N: usize>(&mut self, sort_key: SortKey) -> Result<()> {
        while self.reader.rest().len() < N {
            if !self.reader.advance()? {
                (self.key_prefix, self.is_done) = (u64::MAX, true);
                return Ok(());
            }
        }
        self.key_prefix = sort_key.key_prefix(self.row::<N>());
        Ok(())
    }
}

/// A merge of several runs, chunk by chunk.
#[derive(Debug)]
pub(crate) struct RowRunMerge<const N: usize> {
    cursors: Vec<RowRunCursor>,
    tree: LoserTree,
    sort_key: SortKey,
    chunk: Vec<[u8; N]>,
}

impl<const N: usize> RowRunMerge<N> {
    /// Number of these runs that can be merged at once within `memory_bytes`; at least 2.
    pub(crate) fn fan_in(runs: &[SpilledBytes], memory_bytes: usize) -> usize {
        let each = runs.first().map_or(1, |run| run.buffer_bytes(0) + CURSOR_BYTES);
        (memory_bytes.saturating_sub(chunk_bytes(memory_bytes)) / each).clamp(2, FAN_IN_MAX)
    }

    /// Opens runs, which are no more than [`Self::fan_in`].
    pub(crate) fn open(runs: &[SpilledBytes], sort_key: SortKey, memory_bytes: usize) -> Result<Self> {
        let chunk_bytes = chunk_bytes(memory_bytes);
        let each = (memory_bytes - chunk_bytes) / runs.len().max(1);
        let buffer_bytes = each.saturating_sub(CURSOR_BYTES).min(BUFFER_BYTES_MAX);
        let mut cursors = Vec::with_capacity(runs.len());
        for run in runs {
            let mut cursor = RowRunCursor { reader: run.reader(buffer_bytes), key_prefix: 0, is_done: false };
            cursor.look::<N>(sort_key)?;
            cursors.push(cursor);
        }
        let tree = LoserTree::new(cursors.len(), |a, b| is_before::<N>(&cursors, sort_key, a, b));
        Ok(Self { cursors, tree, sort_key, chunk: Vec::with_capacity((chunk_bytes / N).max(1)) })
    }

    /// The rows of the chunk.
    pub(crate) fn rows(&self) -> &[[u8; N]] {
        &self.chunk
    }

    /// Goes to the next chunk; `false` at the end.
    pub(crate) fn fill(&mut self) -> Result<bool> {
        self.chunk.clear();
        let Some(mut winner) = self.tree.winner() else { return Ok(false) };
        while self.chunk.len() < self.chunk.capacity() {
            let cursor = &mut self.cursors[winner];
            if cursor.is_done {
                break;
            }
            self.chunk.push(*cursor.row());
            cursor.reader.consume(N);
            cursor.look::<N>(self.sort_key)?;
            winner = self.tree.replay(winner, |a, b| is_before::<N>(&self.cursors, self.sort_key, a, b));
        }
        Ok(!self.chunk.is_empty())
    }
}

/// Whether the row of run `a` may come before that of run `b`; runs at their end come last.
#[inline]
fn is_before<const N: usize>(cursors: &[RowRunCursor], sort_key: SortKey, a: usize, b: usize) -> bool {
    let (left, right) = (&cursors[a], &cursors[b]);
    if left.key_prefix != right.key_prefix {
        return left.key_prefix < right.key_prefix;
    }
    if left.is_done || right.is_done {
        return right.is_done;
    }
    sort_key.compare(left.row::<N>(), right.row::<N>()).is_lt()
}

fn chunk_bytes(memory_bytes: usize) -> usize {
    (memory_bytes / 8).min(CHUNK_BYTES_MAX)
}
