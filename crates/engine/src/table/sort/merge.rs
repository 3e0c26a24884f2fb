//! The merge of sorted runs by a loser tree.

use super::buffer::key_prefix;
use super::run::{RunReader, SortedRun};
use crate::error::Result;

/// A run and its current record.
#[derive(Debug)]
struct RunCursor {
    /// `None` after its last record, when the file has been removed.
    reader: Option<RunReader>,
    prefix: u64,
}

impl RunCursor {
    fn advance(&mut self) -> Result<()> {
        let Some(reader) = &mut self.reader else { return Ok(()) };
        if reader.advance()? {
            self.prefix = key_prefix(reader.key());
        } else {
            self.reader = None;
        }
        Ok(())
    }
}

/// The merged stream of several runs. Of records with equal keys, those of earlier runs come first.
///
/// A loser tree: the runs are leaves `n..2n` of a binary tree; inner node i keeps the loser of the match between its
/// two subtrees, node 0 the overall winner. After the winner advances, only the matches on its way to the root are
/// replayed.
#[derive(Debug)]
pub(super) struct RunMerge {
    cursors: Vec<RunCursor>,
    tree: Vec<usize>,
    /// The winner was returned, and must advance first.
    is_taken: bool,
}

impl RunMerge {
    /// Opens the runs, each read `buffer_chunks` chunks at a time. On an error the runs are removed.
    pub(super) fn open(runs: Vec<SortedRun>, buffer_chunks: usize) -> Result<Self> {
        let mut cursors = Vec::with_capacity(runs.len());
        for run in runs {
            let mut cursor = RunCursor { reader: Some(RunReader::open(run, buffer_chunks)?), prefix: 0 };
            cursor.advance()?;
            cursors.push(cursor);
        }
        let mut merge = Self { tree: vec![0; cursors.len()], cursors, is_taken: false };
        merge.play_all();
        Ok(merge)
    }

    /// Moves to the next record; `false` after the last.
    pub(super) fn advance(&mut self) -> Result<bool> {
        let Some(&winner) = self.tree.first() else { return Ok(false) };
        if self.is_taken {
            if let Some(cursor) = self.cursors.get_mut(winner) {
                cursor.advance()?;
            }
            self.play_again(winner);
        }
        self.is_taken = true;
        Ok(self.winner().is_some())
    }

    /// Key and value of the current record.
    pub(super) fn current(&self) -> Option<(&[u8], &[u8])> {
        self.winner().map(|reader| (reader.key(), reader.value()))
    }

    fn winner(&self) -> Option<&RunReader> {
        self.cursors.get(*self.tree.first()?)?.reader.as_ref()
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

    fn play_again(&mut self, leaf: usize) {
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
    }

    /// Whether the record of run `a` comes before that of run `b`; exhausted runs come last.
    fn is_before(&self, a: usize, b: usize) -> bool {
        let (left, right) = (&self.cursors[a], &self.cursors[b]);
        match (&left.reader, &right.reader) {
            (Some(left_reader), Some(right_reader)) => {
                let by_key = left.prefix.cmp(&right.prefix).then_with(|| left_reader.key().cmp(right_reader.key()));
                by_key.then(a.cmp(&b)).is_lt()
            }
            (left_reader, _) => left_reader.is_some(),
        }
    }

    #[cfg(test)]
    pub(super) fn allocated_bytes(&self) -> usize {
        self.cursors.iter().filter_map(|cursor| cursor.reader.as_ref()).map(RunReader::allocated_bytes).sum()
    }
}
