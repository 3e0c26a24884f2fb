//! The cursor over a memtable.

use super::handle::Memtable;
use super::list::{HEAD, List};
use crate::block::Slice;
use crate::error::Result;
use crate::lsm::cursor::Cursor;
use crate::lsm::entry::{Entry, SEQUENCE_MAX, Sequence};
use std::sync::Arc;

/// A position in a memtable; what is inserted meanwhile appears in its place. Nodes have no links backwards, so each step that way is a
/// search.
#[derive(Debug)]
pub(crate) struct MemtableCursor {
    memtable: Arc<Memtable>,
    /// Where it stands; the head for nowhere.
    node: u32,
}

impl MemtableCursor {
    pub(super) fn new(memtable: Arc<Memtable>) -> Self {
        Self { memtable, node: HEAD }
    }
}

impl MemtableCursor {
    /// Goes to the node that the list leads to.
    fn go(&mut self, lead: impl FnOnce(&List) -> u32) -> Result<()> {
        self.node = self.memtable.list().map_or(HEAD, lead);
        Ok(())
    }
}

impl Cursor for MemtableCursor {
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
        // The place ahead of all entries of the key.
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
