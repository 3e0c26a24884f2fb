//! The merging cursor: many sorted cursors read as one, in both directions.

use super::cursor::EntryCursor;
use super::entry::{Entry, Sequence};
use super::memtable::prefix_u64;
use crate::block::Slice;
use crate::error::{Error, Result};
use std::cmp::Ordering;

/// The entries of all sources in order. An entry that two sources have is shown twice, that of the earlier source
/// first.
///
/// The sources that have an entry are in a heap with the next one on top. Each is positioned at its first entry from
/// the current one on or, while moving backward, at its last entry up to it. A single source is passed through.
#[derive(Debug)]
pub(crate) struct MergeCursor {
    sources: Vec<Box<dyn EntryCursor>>,
    heads: Vec<SourceHead>,
    is_backward: bool,
    /// The source that failed.
    failed: Option<usize>,
}

/// The cached key of a source's entry, so that most comparisons do not access the source.
#[derive(Clone, Copy, Debug)]
struct SourceHead {
    /// The first eight bytes of the key.
    number: u64,
    sequence: Sequence,
    source: usize,
}

impl MergeCursor {
    /// Merges cursors; of equal entries, that of the earlier source comes first.
    pub(crate) fn new(sources: Vec<Box<dyn EntryCursor>>) -> Self {
        let heads = Vec::with_capacity(sources.len());
        Self { sources, heads, is_backward: false, failed: None }
    }

    /// The source of the current entry.
    #[cfg(test)]
    pub(crate) fn source(&self) -> Option<usize> {
        self.heads.first().map(|head| head.source)
    }

    /// Moves a source, and remembers a failure.
    fn step_source(&mut self, source: usize, step: impl FnOnce(&mut dyn EntryCursor) -> Result<()>) -> Result<()> {
        let moved = self.sources.get_mut(source).map_or(Ok(()), |cursor| step(&mut **cursor));
        if moved.is_err() {
            self.failed = Some(source);
            self.heads.clear();
        }
        moved
    }

    /// Returns an error if there was one before.
    fn check(&mut self) -> Result<()> {
        let Some(source) = self.failed else { return Ok(()) };
        self.sources.get_mut(source).map_or(Ok(()), |cursor| cursor.next())?;
        Err(Error::InvalidArgument("the cursor has failed before; create a new one".to_owned()))
    }

    /// Moves every source, and rebuilds the heap.
    fn seek_all(&mut self, is_backward: bool, step: impl Fn(&mut dyn EntryCursor) -> Result<()>) -> Result<()> {
        self.check()?;
        self.is_backward = is_backward;
        for source in 0..self.sources.len() {
            self.step_source(source, &step)?;
        }
        self.build_heap();
        Ok(())
    }

    /// Builds the heap of all sources that have an entry.
    fn build_heap(&mut self) {
        self.heads.clear();
        let sources = self.sources.iter().enumerate();
        self.heads.extend(sources.filter_map(|(source, cursor)| Some(head_of(source, &cursor.entry()?))));
        for index in (0..self.heads.len() / 2).rev() {
            self.sift_down(index);
        }
    }

    /// Moves the source on top by a step in the current direction.
    fn advance(&mut self) -> Result<()> {
        let (Some(top), is_backward) = (self.heads.first(), self.is_backward) else { return Ok(()) };
        let source = top.source;
        self.step_source(source, |cursor| if is_backward { cursor.prev() } else { cursor.next() })?;
        match self.sources[source].entry() {
            Some(entry) => self.heads[0] = head_of(source, &entry),
            None => {
                self.heads.swap_remove(0);
            }
        }
        self.sift_down(0);
        Ok(())
    }

    /// Reverses direction: moves all other sources to the other side of the current entry.
    fn reverse(&mut self) -> Result<()> {
        let Some(top) = self.heads.first().copied() else { return Ok(()) };
        self.is_backward = !self.is_backward;
        if self.sources.len() > 1 {
            let key = self.sources[top.source].entry().map(|entry| entry.key.to_vec()).unwrap_or_default();
            for source in (0..self.sources.len()).filter(|&source| source != top.source) {
                let to_backward = self.is_backward;
                self.step_source(source, |cursor| cross(cursor, &key, &top, source, to_backward))?;
            }
            self.build_heap();
        }
        Ok(())
    }

    fn sift_down(&mut self, mut index: usize) {
        loop {
            let (left, right) = (2 * index + 1, 2 * index + 2);
            if left >= self.heads.len() {
                return;
            }
            let child = if right < self.heads.len() && self.precedes(right, left) { right } else { left };
            if !self.precedes(child, index) {
                return;
            }
            self.heads.swap(index, child);
            index = child;
        }
    }

    /// Whether one head precedes another, in the current direction.
    fn precedes(&self, one: usize, other: usize) -> bool {
        let (one, other) = (&self.heads[one], &self.heads[other]);
        let order = one.number.cmp(&other.number).then_with(|| self.order(one, other));
        order == if self.is_backward { Ordering::Greater } else { Ordering::Less }
    }

    fn order(&self, one: &SourceHead, other: &SourceHead) -> Ordering {
        let key = |head: &SourceHead| self.sources[head.source].entry().map_or(&[][..], |entry| entry.key);
        key(one).cmp(key(other)).then(other.sequence.cmp(&one.sequence)).then(one.source.cmp(&other.source))
    }
}

fn head_of(source: usize, entry: &Entry<'_>) -> SourceHead {
    SourceHead { number: prefix_u64(entry.key), sequence: entry.sequence, source }
}

/// Moves a source to the other side of the entry at `top`: to its first entry after it, or its last before it.
fn cross(cursor: &mut dyn EntryCursor, key: &[u8], top: &SourceHead, source: usize, to_backward: bool) -> Result<()> {
    cursor.seek(key, top.sequence)?;
    let is_same = cursor.entry().is_some_and(|entry| entry.key == key && entry.sequence == top.sequence);
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
        self.sources[self.heads.first()?.source].entry()
    }

    fn value_slice(&self) -> Option<Slice> {
        self.sources[self.heads.first()?.source].value_slice()
    }

    fn seek(&mut self, key: &[u8], sequence: Sequence) -> Result<()> {
        self.seek_all(false, |cursor| cursor.seek(key, sequence))
    }

    fn seek_before(&mut self, key: &[u8]) -> Result<()> {
        self.seek_all(true, |cursor| cursor.seek_before(key))
    }

    fn first(&mut self) -> Result<()> {
        self.seek_all(false, |cursor| cursor.first())
    }

    fn last(&mut self) -> Result<()> {
        self.seek_all(true, |cursor| cursor.last())
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
