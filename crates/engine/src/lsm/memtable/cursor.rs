//! A cursor over a memtable.

use super::handle::Memtable;
use super::list::HEAD;
use crate::block::Slice;
use crate::error::Result;
use crate::lsm::cursor::Cursor;
use crate::lsm::entry::{Entry, Sequence};
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

impl Cursor for MemtableCursor {
    fn entry(&self) -> Option<Entry<'_>> {
        self.memtable.list().entry(self.node)
    }

    fn value_slice(&self) -> Option<Slice> {
        self.memtable.list().value_slice(self.node)
    }

    fn seek(&mut self, key: &[u8], sequence: Sequence) -> Result<()> {
        let list = self.memtable.list();
        self.node = list.find(&list.target(key, sequence)).1;
        Ok(())
    }

    fn seek_before(&mut self, key: &[u8]) -> Result<()> {
        self.node = self.memtable.node_before(key);
        Ok(())
    }

    fn first(&mut self) -> Result<()> {
        self.node = self.memtable.list().behind(HEAD);
        Ok(())
    }

    fn last(&mut self) -> Result<()> {
        self.node = self.memtable.list().last();
        Ok(())
    }

    fn next(&mut self) -> Result<()> {
        if self.node != HEAD {
            self.node = self.memtable.list().behind(self.node);
        }
        Ok(())
    }

    fn prev(&mut self) -> Result<()> {
        let list = self.memtable.list();
        self.node = match list.entry(self.node) {
            Some(entry) => list.find(&list.target(entry.key, entry.sequence)).0,
            None => HEAD,
        };
        Ok(())
    }
}
