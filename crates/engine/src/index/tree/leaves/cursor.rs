//! The leaf cursor: scans in both directions along the links.

use super::chain::ChainState;
use super::leaf::{Leaf, NO_PAGE};
use super::tree::LeafTree;
use crate::error::Result;
use crate::index::entries::word::Word;
use crate::index::tree::router::Router;
use crate::index::tree::structure::Cursor;
use crate::page::{PageNumber, Pages};

/// A position in a leaf, before entry `index`.
#[derive(Debug)]
pub(super) struct LeafCursor<W, R> {
    tree: LeafTree<R>,
    state: Vec<u8>,
    leaf: Option<Leaf>,
    index: usize,
    /// The key returned last, and whether forwards.
    last: Option<(W, bool)>,
    /// The entry returned last: page and index.
    entry_id: u64,
    /// Links followed since the key last changed, to detect a cycle of leaves of one key.
    links: u32,
}

impl<W: Word, R: Router<W>> LeafCursor<W, R> {
    pub(super) fn new(tree: LeafTree<R>, state: &[u8]) -> Self {
        Self { tree, state: state.to_vec(), leaf: None, index: 0, last: None, entry_id: 0, links: 0 }
    }

    fn set_position(&mut self, leaf: Leaf, index: usize) {
        self.leaf = Some(leaf);
        self.index = index;
        self.last = None;
        self.links = 0;
    }

    /// Moves to the next leaf, or to the previous one.
    fn follow(&mut self, pages: &dyn Pages, from: PageNumber, to: PageNumber, forward: bool) -> Result<()> {
        let leaf = self.tree.read::<W>(pages, to)?;
        let back = if forward { leaf.header.previous } else { leaf.header.next };
        self.links += 1;
        if back != from || leaf.count() == 0 || self.links > pages.page_count() {
            return Err(pages.damaged(to, "leaves are not linked as they should be"));
        }
        self.index = if forward { 0 } else { leaf.count() };
        self.leaf = Some(leaf);
        Ok(())
    }

    /// Moves past an entry of the current leaf and returns it.
    fn read_entry(&mut self, pages: &dyn Pages, index: usize, forward: bool, payload: &mut [u8]) -> Result<Option<W>> {
        let Some(leaf) = &self.leaf else { return Ok(None) };
        let key: W = leaf.key(index);
        if let Some((last, true)) = self.last.map(|(last, before)| (last, before == forward)) {
            if if forward { key < last } else { key > last } {
                return Err(pages.damaged(leaf.number, "the keys of leaves are out of order"));
            }
            if key != last {
                self.links = 0;
            }
        } else {
            self.links = 0;
        }
        leaf.copy_payload::<W>(index, payload);
        self.entry_id = u64::from(leaf.number) << 32 | index as u64;
        self.last = Some((key, forward));
        self.index = if forward { index + 1 } else { index };
        Ok(Some(key))
    }
}

impl<W: Word, R: Router<W>> Cursor<W> for LeafCursor<W, R> {
    fn seek(&mut self, pages: &dyn Pages, key: W) -> Result<()> {
        let (chain, router) = ChainState::parse(pages, &self.state)?;
        let leaf = self.tree.read::<W>(pages, self.tree.route(pages, &chain, router, key)?)?;
        let index = leaf.lower_bound(key);
        self.set_position(leaf, index);
        Ok(())
    }

    fn seek_back(&mut self, pages: &dyn Pages, key: W) -> Result<()> {
        let (chain, router) = ChainState::parse(pages, &self.state)?;
        let leaf = self.tree.read::<W>(pages, self.tree.route(pages, &chain, router, key)?)?;
        let in_run = leaf.header.run_flags.continues && leaf.key::<W>(0) <= key;
        let (leaf, index) = if !in_run {
            let index = leaf.upper_bound(key);
            (leaf, index)
        } else if leaf.number == chain.last {
            let tail = self.tree.read::<W>(pages, chain.tail)?;
            let index = tail.count();
            (tail, index)
        } else {
            // The end of a run is the start of the next group.
            let above = W::from_u128(key.to_u128().saturating_add(1).min(W::MAX.to_u128()));
            (self.tree.read::<W>(pages, self.tree.route(pages, &chain, router, above)?)?, 0)
        };
        self.set_position(leaf, index);
        Ok(())
    }

    fn next(&mut self, pages: &dyn Pages, payload: &mut [u8]) -> Result<Option<W>> {
        let Some(leaf) = &self.leaf else { return Ok(None) };
        if self.index >= leaf.count() {
            let (from, to) = (leaf.number, leaf.header.next);
            if to == NO_PAGE {
                return Ok(None);
            }
            self.follow(pages, from, to, true)?;
        }
        self.read_entry(pages, self.index, true, payload)
    }

    fn previous(&mut self, pages: &dyn Pages, payload: &mut [u8]) -> Result<Option<W>> {
        let Some(leaf) = &self.leaf else { return Ok(None) };
        if self.index == 0 {
            let (from, to) = (leaf.number, leaf.header.previous);
            if to == NO_PAGE {
                return Ok(None);
            }
            self.follow(pages, from, to, false)?;
        }
        self.read_entry(pages, self.index - 1, false, payload)
    }

    fn entry_id(&self) -> u64 {
        self.entry_id
    }
}
