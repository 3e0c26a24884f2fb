//! Inserts into leaves and runs of equal keys.

use super::chain::{ChainState, below};
use super::change::LeafChange;
use super::leaf::{Leaf, LeafEdit, LeafHeader, NO_PAGE, RunFlags, entry_bytes, link_new_leaf};
use super::tree::LeafTree;
use crate::error::Result;
use crate::index::entries::word::Word;
use crate::index::tree::router::{Gap, Router};
use crate::page::{PageNumber, PagePhase, Pages, Transaction};
use std::cmp::Ordering;

/// An entry to insert.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewEntry<'a, W> {
    pub(super) key: W,
    pub(super) payload: &'a [u8],
}

impl<R> LeafTree<R> {
    pub(super) fn insert_entry<W: Word>(
        &self,
        tx: &mut Transaction,
        state: &mut Vec<u8>,
        key: W,
        payload: &[u8],
    ) -> Result<bool>
    where
        R: Router<W>,
    {
        tx.enter(PagePhase::Search);
        let (chain, router) = ChainState::parse(tx, state)?;
        let leaf = self.read::<W>(tx, self.route(tx, &chain, router, key)?)?;
        tx.enter(PagePhase::Insert);
        if !self.layout.duplicates
            && let Some(index) = leaf.position(key)
        {
            LeafEdit::new(tx, leaf.number, leaf.shape)?.set_payload::<W>(index, payload);
            return Ok(false);
        }
        let entry = NewEntry { key, payload };
        if leaf.header.run_flags.continues {
            LeafChange { tree: self, tx, state, chain }.insert_at_run(&leaf, entry)?;
        } else if leaf.count() < leaf.shape.capacity {
            // After equal keys, so that entries stay in insertion order.
            let index = leaf.upper_bound(key);
            LeafEdit::new(tx, leaf.number, leaf.shape)?.insert(index, leaf.count(), key, payload);
        } else {
            tx.enter(PagePhase::Structure);
            LeafChange { tree: self, tx, state, chain }.insert_into_full(&leaf, entry)?;
        }
        Ok(true)
    }
}

impl<W: Word, R: Router<W>> LeafChange<'_, W, R> {
    /// Inserts at the head of a run: into the run, or into a new leaf next to it.
    fn insert_at_run(self, head: &Leaf, entry: NewEntry<'_, W>) -> Result<()> {
        match entry.key.cmp(&head.key::<W>(0)) {
            Ordering::Less => {
                self.tx.enter(PagePhase::Structure);
                self.begin_leaf_before(head, entry)
            }
            Ordering::Equal => self.insert_in_run(head, entry),
            Ordering::Greater if head.number == self.chain.last => {
                self.tx.enter(PagePhase::Structure);
                self.append_leaf(head, entry)
            }
            Ordering::Greater => Err(self.tx.damaged(head.number, "a run of equal keys was reached by a greater key")),
        }
    }

    /// Inserts into the head of a run or its first continuation. Only these two ever have room, so that no insert walks
    /// along the run.
    fn insert_in_run(mut self, head: &Leaf, entry: NewEntry<'_, W>) -> Result<()> {
        if self.put_last(head, entry)? {
            return Ok(());
        }
        let second = self.tree.read::<W>(self.tx, head.header.next)?;
        if !second.header.run_flags.continuation || second.number == head.number {
            return Err(self.tx.damaged(second.number, "a run of equal keys does not go on in the next leaf"));
        }
        if self.put_last(&second, entry)? {
            return Ok(());
        }
        self.tx.enter(PagePhase::Structure);
        self.tx.count("leaf of a run");
        let run_flags = RunFlags { continues: true, continuation: true };
        let header = LeafHeader { run_flags, count: 1, previous: head.number, next: second.number };
        self.add_leaf(head, header, entry)?;
        self.chain.leaves = self.chain.leaves.saturating_add(1);
        self.store();
        Ok(())
    }

    /// Inserts an entry after all others of a leaf; false if the leaf is full.
    fn put_last(&mut self, leaf: &Leaf, entry: NewEntry<'_, W>) -> Result<bool> {
        let has_room = leaf.count() < leaf.shape.capacity;
        if has_room {
            let mut edit = LeafEdit::new(self.tx, leaf.number, leaf.shape)?;
            edit.insert(leaf.count(), leaf.count(), entry.key, entry.payload);
        }
        Ok(has_room)
    }

    /// Adds a leaf of one entry, of the shape of a neighbour.
    fn add_leaf(&mut self, neighbour: &Leaf, header: LeafHeader, entry: NewEntry<'_, W>) -> Result<PageNumber> {
        link_new_leaf(self.tx, neighbour.shape, header, &entry_bytes(entry.key, entry.payload))
    }

    /// Turns a full leaf that holds only the key of the entry into the head of a run.
    pub(super) fn begin_run(mut self, head: &Leaf, entry: NewEntry<'_, W>) -> Result<()> {
        self.tx.count("leaf of a run");
        let run_flags = RunFlags { continues: false, continuation: true };
        let header = LeafHeader { run_flags, count: 1, previous: head.number, next: head.header.next };
        let number = self.add_leaf(head, header, entry)?;
        let run_flags = RunFlags { continues: true, continuation: false };
        LeafEdit::new(self.tx, head.number, head.shape)?.set_run_flags(run_flags);
        if self.chain.tail == head.number {
            self.chain.tail = number;
        }
        self.chain.leaves = self.chain.leaves.saturating_add(1);
        if head.number == self.chain.last {
            self.store();
            return Ok(());
        }
        // The separator may lie above the key, but keys in between belong past the run.
        let gap = Gap { low: entry.key, high: entry.key };
        self.change_router(|router, tx, state| {
            if router.remove(tx, state, entry.key)? != Some(head.number) {
                return Err(tx.damaged(head.number, "the inner nodes do not lead to this leaf"));
            }
            router.insert(tx, state, gap, head.number)
        })
    }

    /// Inserts a leaf of one entry before a leaf that the entry cannot join.
    fn begin_leaf_before(mut self, next: &Leaf, entry: NewEntry<'_, W>) -> Result<()> {
        self.tx.count("leaf split");
        let header =
            LeafHeader { run_flags: RunFlags::default(), count: 1, previous: next.header.previous, next: next.number };
        let number = self.add_leaf(next, header, entry)?;
        let gap = Gap { low: entry.key, high: below(next.key::<W>(0)) };
        self.chain.insert_before(next.number, number, gap.high);
        self.change_router(|router, tx, state| router.insert(tx, state, gap, number))
    }

    /// Appends a new last leaf, for a key above all others.
    pub(super) fn append_leaf(mut self, last: &Leaf, entry: NewEntry<'_, W>) -> Result<()> {
        self.tx.count("leaf append");
        let header = LeafHeader { run_flags: RunFlags::default(), count: 1, previous: self.chain.tail, next: NO_PAGE };
        let number = self.add_leaf(last, header, entry)?;
        let low: W = last.greatest();
        let high = if last.header.run_flags.continues { low } else { below(entry.key) };
        self.chain.low = below(entry.key);
        (self.chain.last, self.chain.tail) = (number, number);
        self.chain.leaves = self.chain.leaves.saturating_add(1);
        self.change_router(|router, tx, state| router.insert(tx, state, Gap { low, high }, last.number))
    }
}
