//! The cursor over a memtable.

use super::handle::Memtable;
use super::list::{HEAD, List};
use crate::block::Slice;
use crate::error::Result;
use crate::lsm::state::cursor::EntryCursor;
use crate::lsm::state::entry::{Entry, SEQUENCE_MAX, Sequence};
use std::sync::Arc;

/// A position in a memtable; entries inserted later appear in order. Nodes have no backward links, so each backward
/// step is a search.
#[derive(Debug)]
pub(crate) struct MemtableCursor {
    memtable: Arc<Memtable>,
    /// The current node, or the head if unpositioned.
    node: u32,
    /// The list of the node; a newer one may have replaced it.
    generation: usize,
}

impl MemtableCursor {
    pub(super) fn new(memtable: Arc<Memtable>) -> Self {
        Self { memtable, node: HEAD, generation: 0 }
    }
}

impl MemtableCursor {
    /// Moves to the node that `lead` finds.
    fn go(&mut self, lead: impl FnOnce(&List) -> u32) -> Result<()> {
        (self.generation, self.node) =
            self.memtable.list().map_or((0, HEAD), |(generation, list)| (generation, lead(list)));
        Ok(())
    }

    /// Moves to the node that `lead` finds from the current one, if there is one.
    fn step(&mut self, lead: impl FnOnce(&List, u32) -> u32) -> Result<()> {
        let Some(entry) = self.entry() else { return self.go(|_| HEAD) };
        let (generation, node) = match self.memtable.list() {
            Some((generation, list)) if generation == self.generation => (generation, lead(list, self.node)),
            // The same entry is in the newer list, at another place.
            Some((generation, list)) => (generation, lead(list, list.find(&list.target(entry.key, entry.sequence)).1)),
            None => (0, HEAD),
        };
        (self.generation, self.node) = (generation, node);
        Ok(())
    }

    fn list(&self) -> Option<&List> {
        self.memtable.list_of(self.generation)
    }
}

impl EntryCursor for MemtableCursor {
    fn entry(&self) -> Option<Entry<'_>> {
        self.list()?.entry(self.node)
    }

    fn value_slice(&self) -> Option<Slice> {
        self.list()?.value_slice(self.node)
    }

    fn seek(&mut self, key: &[u8], sequence: Sequence) -> Result<()> {
        self.go(|list| list.find(&list.target(key, sequence)).1)
    }

    fn seek_before(&mut self, key: &[u8]) -> Result<()> {
        // The position before all versions of the key.
        self.go(|list| list.find(&list.target(key, SEQUENCE_MAX)).0)
    }

    fn first(&mut self) -> Result<()> {
        self.go(|list| list.after(HEAD))
    }

    fn last(&mut self) -> Result<()> {
        self.go(List::last)
    }

    fn next(&mut self) -> Result<()> {
        self.step(List::after)
    }

    fn prev(&mut self) -> Result<()> {
        self.step(|list, node| match list.entry(node) {
            Some(entry) => list.find(&list.target(entry.key, entry.sequence)).0,
            None => HEAD,
        })
    }
}
