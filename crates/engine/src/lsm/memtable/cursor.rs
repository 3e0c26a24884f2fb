//! The cursor over a memtable.

use super::handle::Memtable;
use super::list::{HEAD, List};
use crate::block::Slice;
use crate::error::Result;
use crate::lsm::cursor::EntryCursor;
use crate::lsm::entry::{Entry, SEQUENCE_MAX, Sequence};
use std::sync::Arc;

/// A position in a memtable; entries inserted later appear in order. Nodes have no backward links, so each backward
/// step is a search.
#[derive(Debug)]
pub(crate) struct MemtableCursor {
    memtable: Arc<Memtable>,
    /// The current node, or the head if unpositioned.
    node: u32,
}

impl MemtableCursor {
    pub(super) fn new(memtable: Arc<Memtable>) -> Self {
        Self { memtable, node: HEAD }
    }
}

impl MemtableCursor {
    /// Moves to the node that `lead` finds.
    fn go(&mut self, lead: impl FnOnce(&List) -> u32) -> Result<()> {
        self.node = self.memtable.list().map_or(HEAD, lead);
        Ok(())
    }
}

impl EntryCursor for MemtableCursor {
    fn entry(&self) -> Option<Entry<'_>> {
        self.memtable.list()?.entry(self.node)
    }

    fn value_slice(&self) -> Option<Slice> {
        self.memtable.list()?.value_slice(self.node)
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
        let node = self.node;
        self.go(|list| if node == HEAD { HEAD } else { list.after(node) })
    }

    fn prev(&mut self) -> Result<()> {
        let node = self.node;
        self.go(|list| match list.entry(node) {
            Some(entry) => list.find(&list.target(entry.key, entry.sequence)).0,
            None => HEAD,
        })
    }
}
