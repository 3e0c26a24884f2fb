//! The merge of sorted runs of rows of one width, by a loser tree.

use super::dense::KeyShape;
use super::runs::CURSOR_BYTES;
use crate::error::Result;
use crate::join::spill::{ByteReader, Bytes};

/// Merged rows are handed out in chunks of at most so many bytes: they stay in the cache of a core.
const CHUNK_BYTES_MAX: usize = 64 << 10;
/// A run is read at most so many bytes at a time.
const BUFFER_BYTES_MAX: usize = 1 << 20;
/// More runs than these are not merged at one time: their heads would not fit the first-level cache.
const FAN_IN_MAX: usize = 512;

/// A run, and the row that it stands at.
#[derive(Debug)]
struct Cursor {
    reader: ByteReader,
    /// Of the row; `u64::MAX` behind the last one.
    coordinate: u64,
    is_done: bool,
}

impl Cursor {
    fn row<const N: usize>(&self) -> &[u8; N] {
        self.reader.rest().first_chunk().unwrap_or(&[0; N])
    }

    /// Takes note of the row at hand, going to the next chunk where there is none.
    #[inline]
    fn look<const N: usize>(&mut self, shape: KeyShape) -> Result<()> {
        while self.reader.rest().len() < N {
            if !self.reader.advance()? {
                (self.coordinate, self.is_done) = (u64::MAX, true);
                return Ok(());
            }
        }
        self.coordinate = shape.coordinate(self.row::<N>());
        Ok(())
    }
}

/// The merged rows of several runs, chunk by chunk.
///
/// The runs are the leaves `n..2n` of a binary tree. Inner node i keeps the loser of the game between its two subtrees, node 0 the winner
/// of all; when the winner moves on, only the games on its way to the root are played again (Knuth, The Art of Computer
/// Programming, volume 3, section 5.4.1).
#[derive(Debug)]
pub(crate) struct RunMerge<const N: usize> {
    cursors: Vec<Cursor>,
    tree: Vec<usize>,
    shape: KeyShape,
    chunk: Vec<[u8; N]>,
}

impl<const N: usize> RunMerge<N> {
    /// How many of these runs can be merged at one time within `memory_bytes`; at least 2.
    pub(crate) fn fan_in(runs: &[Bytes], memory_bytes: usize) -> usize {
        let each = runs.first().map_or(1, |run| run.buffer_bytes(0) + CURSOR_BYTES);
        (memory_bytes.saturating_sub(chunk_bytes(memory_bytes)) / each).clamp(2, FAN_IN_MAX)
    }

    /// Opens runs, which are no more than [`Self::fan_in`].
    pub(crate) fn open(runs: &[Bytes], shape: KeyShape, memory_bytes: usize) -> Result<Self> {
        let chunk_bytes = chunk_bytes(memory_bytes);
        let each = (memory_bytes - chunk_bytes) / runs.len().max(1);
        let buffer_bytes = each.saturating_sub(CURSOR_BYTES).min(BUFFER_BYTES_MAX);
        let mut cursors = Vec::with_capacity(runs.len());
        for run in runs {
            let mut cursor = Cursor { reader: run.reader(buffer_bytes), coordinate: 0, is_done: false };
            cursor.look::<N>(shape)?;
            cursors.push(cursor);
        }
        let tree = vec![0; cursors.len()];
        let mut merge = Self { cursors, tree, shape, chunk: Vec::with_capacity((chunk_bytes / N).max(1)) };
        merge.play_all();
        Ok(merge)
    }

    /// The rows of the chunk.
    pub(crate) fn rows(&self) -> &[[u8; N]] {
        &self.chunk
    }

    /// Goes to the next chunk; `false` at the end.
    pub(crate) fn fill(&mut self) -> Result<bool> {
        self.chunk.clear();
        let Some(&first) = self.tree.first() else { return Ok(false) };
        let mut winner = first;
        while self.chunk.len() < self.chunk.capacity() {
            let cursor = &mut self.cursors[winner];
            if cursor.is_done {
                break;
            }
            self.chunk.push(*cursor.row());
            cursor.reader.consume(N);
            cursor.look::<N>(self.shape)?;
            winner = self.play_again(winner);
        }
        Ok(!self.chunk.is_empty())
    }

    fn play_all(&mut self) {
        let count = self.cursors.len();
        // Winners of all nodes; leaves win their own.
        let mut winners: Vec<usize> = (0..2 * count).map(|node| node.saturating_sub(count)).collect();
        for node in (1..count).rev() {
            let (left, right) = (winners[2 * node], winners[2 * node + 1]);
            let (winner, loser) = if self.is_before(left, right) { (left, right) } else { (right, left) };
            winners[node] = winner;
            self.tree[node] = loser;
        }
        if count > 1 {
            self.tree[0] = winners[1];
        }
    }

    #[inline]
    fn play_again(&mut self, leaf: usize) -> usize {
        let mut winner = leaf;
        let mut node = (leaf + self.cursors.len()) / 2;
        while node > 0 {
            let rival = self.tree[node];
            if self.is_before(rival, winner) {
                self.tree[node] = winner;
                winner = rival;
            }
            node /= 2;
        }
        self.tree[0] = winner;
        winner
    }

    /// Whether the row of run `a` may come before that of run `b`; runs at their end come last.
    #[inline]
    fn is_before(&self, a: usize, b: usize) -> bool {
        let (left, right) = (&self.cursors[a], &self.cursors[b]);
        if left.coordinate != right.coordinate {
            return left.coordinate < right.coordinate;
        }
        if left.is_done || right.is_done {
            return right.is_done;
        }
        self.shape.compare(left.row::<N>(), right.row::<N>()).is_lt()
    }
}

fn chunk_bytes(memory_bytes: usize) -> usize {
    (memory_bytes / 8).min(CHUNK_BYTES_MAX)
}
