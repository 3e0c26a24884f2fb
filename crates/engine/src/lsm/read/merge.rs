//! The merging cursor: many sorted cursors read as one, in both directions.

use crate::block::{Slice, key_prefix};
use crate::error::{Error, Result};
use crate::lsm::state::cursor::{EntryCursor, SeekGoal};
use crate::lsm::state::entry::{Entry, Sequence};
use crate::table::sort::LoserTree;
use std::cmp::Ordering;

/// The entries of all sources in order. An entry that two sources have is shown twice, that of the earlier source
/// first.
///
/// Each source is positioned at its first entry from the current one on or, while moving backward, at its last entry
/// up to it; a loser tree finds the next one. A single source is passed through.
#[derive(Debug)]
pub(crate) struct MergeCursor {
    sources: Vec<Box<dyn EntryCursor>>,
    /// One for each source.
    heads: Vec<SourceHead>,
    /// Without sources before the first seek and after a failure.
    tree: LoserTree,
    is_backward: bool,
    /// The source that failed.
    failed: Option<usize>,
}

/// The cached key of a source's entry, so that most comparisons do not access the source.
#[derive(Clone, Copy, Debug)]
struct SourceHead {
    /// The first eight bytes of the key; at the end, a number that comes last in the current direction.
    number: u64,
    sequence: Sequence,
    is_done: bool,
}

impl MergeCursor {
    /// Merges cursors; of equal entries, that of the earlier source comes first.
    pub(crate) fn new(sources: Vec<Box<dyn EntryCursor>>) -> Self {
        let heads = Vec::with_capacity(sources.len());
        Self { sources, heads, tree: LoserTree::default(), is_backward: false, failed: None }
    }

    /// The source of the current entry.
    #[cfg(test)]
    pub(crate) fn source(&self) -> Option<usize> {
        self.winner()
    }

    /// The source of the current entry, if there is one.
    fn winner(&self) -> Option<usize> {
        self.tree.winner().filter(|&source| !self.heads[source].is_done)
    }

    /// Moves a source, and remembers a failure.
    fn step_source(&mut self, source: usize, step: impl FnOnce(&mut dyn EntryCursor) -> Result<()>) -> Result<()> {
        let moved = self.sources.get_mut(source).map_or(Ok(()), |cursor| step(&mut **cursor));
        if moved.is_err() {
            self.failed = Some(source);
            self.tree.clear();
        }
        moved
    }

    /// Returns an error if there was one before.
    fn check(&mut self) -> Result<()> {
        let Some(source) = self.failed else { return Ok(()) };
        self.sources.get_mut(source).map_or(Ok(()), |cursor| cursor.next())?;
        Err(Error::input("the cursor has failed before; create a new one"))
    }

    /// Moves every source, and rebuilds the tree. Several sources read what they need at the same time.
    fn seek_all(&mut self, goal: SeekGoal<'_>, step: impl Fn(&mut dyn EntryCursor) -> Result<()>) -> Result<()> {
        self.check()?;
        self.is_backward = matches!(goal, SeekGoal::Last | SeekGoal::Before(_));
        if self.sources.len() > 1 {
            self.sources.iter_mut().for_each(|source| source.start(goal));
        }
        for source in 0..self.sources.len() {
            self.step_source(source, &step)?;
        }
        self.build_tree();
        Ok(())
    }

    fn build_tree(&mut self) {
        let is_backward = self.is_backward;
        self.heads.clear();
        self.heads.extend(self.sources.iter().map(|cursor| head_of(cursor.entry(), is_backward)));
        let (heads, sources) = (&self.heads, &self.sources);
        self.tree.rebuild(sources.len(), |one, other| precedes(heads, sources, is_backward, one, other));
    }

    /// Moves the source of the current entry by a step in the current direction.
    fn advance(&mut self) -> Result<()> {
        let (Some(source), is_backward) = (self.winner(), self.is_backward) else { return Ok(()) };
        self.step_source(source, |cursor| if is_backward { cursor.prev() } else { cursor.next() })?;
        self.heads[source] = head_of(self.sources[source].entry(), is_backward);
        let (heads, sources) = (&self.heads, &self.sources);
        self.tree.replay(source, |one, other| precedes(heads, sources, is_backward, one, other));
        Ok(())
    }

    /// Reverses direction: moves all other sources to the other side of the current entry.
    fn reverse(&mut self) -> Result<()> {
        let Some(winner) = self.winner() else { return Ok(()) };
        self.is_backward = !self.is_backward;
        if self.sources.len() > 1 {
            let key = self.sources[winner].entry().map(|entry| entry.key.to_vec()).unwrap_or_default();
            let top = SourcedKey { key: &key, sequence: self.heads[winner].sequence, source: winner };
            for source in (0..self.sources.len()).filter(|&source| source != winner) {
                let to_backward = self.is_backward;
                self.step_source(source, |cursor| cross(cursor, top, source, to_backward))?;
            }
            self.build_tree();
        }
        Ok(())
    }
}

/// Whether the head of source `one` precedes that of `other`, in the current direction; exhausted sources come last.
#[inline]
fn precedes(
    heads: &[SourceHead],
    sources: &[Box<dyn EntryCursor>],
    is_backward: bool,
    one: usize,
    other: usize,
) -> bool {
    let (left, right) = (&heads[one], &heads[other]);
    if left.number != right.number {
        return (left.number < right.number) != is_backward;
    }
    if left.is_done || right.is_done {
        return !left.is_done;
    }
    let key = |source: usize| sources[source].entry().map_or(&[][..], |entry| entry.key);
    let order = key(one).cmp(key(other)).then(right.sequence.cmp(&left.sequence)).then(one.cmp(&other));
    order == if is_backward { Ordering::Greater } else { Ordering::Less }
}

fn head_of(entry: Option<Entry<'_>>, is_backward: bool) -> SourceHead {
    match entry {
        Some(entry) => SourceHead { number: key_prefix(entry.key), sequence: entry.sequence, is_done: false },
        None => SourceHead { number: if is_backward { 0 } else { u64::MAX }, sequence: 0, is_done: true },
    }
}

/// The current entry of a merge when it reverses.
#[derive(Clone, Copy, Debug)]
struct SourcedKey<'a> {
    key: &'a [u8],
    sequence: Sequence,
    source: usize,
}

/// Moves a source to the other side of the entry at `top`: to its first entry after it, or its last before it.
fn cross(cursor: &mut dyn EntryCursor, top: SourcedKey<'_>, source: usize, to_backward: bool) -> Result<()> {
    cursor.seek(top.key, top.sequence)?;
    let is_same = cursor.entry().is_some_and(|entry| entry.key == top.key && entry.sequence == top.sequence);
    // Of equal entries, that of the earlier source comes first.
    let has_passed = is_same && source < top.source;
    match (to_backward, has_passed) {
        (false, true) => cursor.next(),
        (true, false) if cursor.entry().is_none() => cursor.last(),
        (true, false) => cursor.prev(),
        _ => Ok(()),
    }
}

impl EntryCursor for MergeCursor {
    fn entry(&self) -> Option<Entry<'_>> {
        self.sources[self.tree.winner()?].entry()
    }

    fn value_slice(&self) -> Option<Slice> {
        self.sources[self.tree.winner()?].value_slice()
    }

    fn seek(&mut self, key: &[u8], sequence: Sequence) -> Result<()> {
        self.seek_all(SeekGoal::From(key, sequence), |cursor| cursor.seek(key, sequence))
    }

    fn seek_before(&mut self, key: &[u8]) -> Result<()> {
        self.seek_all(SeekGoal::Before(key), |cursor| cursor.seek_before(key))
    }

    fn first(&mut self) -> Result<()> {
        self.seek_all(SeekGoal::First, |cursor| cursor.first())
    }

    fn last(&mut self) -> Result<()> {
        self.seek_all(SeekGoal::Last, |cursor| cursor.last())
    }

    fn next(&mut self) -> Result<()> {
        self.check()?;
        if self.is_backward {
            self.reverse()?;
        }
        self.advance()
    }

    fn prev(&mut self) -> Result<()> {
        self.check()?;
        if !self.is_backward {
            self.reverse()?;
        }
        self.advance()
    }
}
