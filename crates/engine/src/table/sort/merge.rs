//! The merge of sorted runs.

use super::loser_tree::LoserTree;
use super::run::{RunReader, SortedRun};
use crate::block::key_prefix;
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
#[derive(Debug)]
pub(super) struct RunMerge {
    cursors: Vec<RunCursor>,
    tree: LoserTree,
    /// The winner was returned, and must advance first.
    is_taken: bool,
}

impl RunMerge {
    /// Opens the runs, each read `buffer_bytes` at a time. On an error the runs are removed.
    pub(super) fn open(runs: Vec<SortedRun>, buffer_bytes: usize) -> Result<Self> {
        let mut cursors = Vec::with_capacity(runs.len());
        for run in runs {
            let mut cursor = RunCursor { reader: Some(RunReader::open(run, buffer_bytes)?), prefix: 0 };
            cursor.advance()?;
            cursors.push(cursor);
        }
        let tree = LoserTree::new(cursors.len(), |a, b| is_before(&cursors, a, b));
        Ok(Self { cursors, tree, is_taken: false })
    }

    /// Moves to the next record; `false` after the last.
    pub(super) fn advance(&mut self) -> Result<bool> {
        let Some(winner) = self.tree.winner() else { return Ok(false) };
        if self.is_taken {
            self.cursors[winner].advance()?;
            self.tree.replay(winner, |a, b| is_before(&self.cursors, a, b));
        }
        self.is_taken = true;
        Ok(self.winner().is_some())
    }

    /// Key and value of the current record.
    pub(super) fn current(&self) -> Option<(&[u8], &[u8])> {
        self.winner().map(|reader| (reader.key(), reader.value()))
    }

    fn winner(&self) -> Option<&RunReader> {
        self.cursors.get(self.tree.winner()?)?.reader.as_ref()
    }

    #[cfg(test)]
    pub(super) fn allocated_bytes(&self) -> usize {
        self.cursors.iter().filter_map(|cursor| cursor.reader.as_ref()).map(RunReader::allocated_bytes).sum()
    }
}

/// Whether the record of run `a` comes before that of run `b`; exhausted runs come last.
fn is_before(cursors: &[RunCursor], a: usize, b: usize) -> bool {
    let (left, right) = (&cursors[a], &cursors[b]);
    match (&left.reader, &right.reader) {
        (Some(left_reader), Some(right_reader)) => {
            let by_key = left.prefix.cmp(&right.prefix).then_with(|| left_reader.key().cmp(right_reader.key()));
            by_key.then(a.cmp(&b)).is_lt()
        }
        (left_reader, _) => left_reader.is_some(),
    }
}
