//! Inserts into leaves and runs of equal keys.

use super::chain::{ChainState, below};
use super::leaf::{Leaf, LeafEdit, LeafHeader, NO_PAGE, RunFlags, entry_bytes, link_new_leaf};
use super::tree::LeafTree;
use crate::error::Result;
use crate::index::router::{Gap, Router};
use crate::index::word::Word;
use crate::page::{Pages, Phase, Transaction};
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
        tx.enter(Phase::Search);
        let (chain, router) = ChainState::parse(tx, state)?;
        let leaf = self.read::<W>(tx, self.route(tx, &chain, router, key)?)?;
        tx.enter(Phase::Insert);
        if !self.layout.duplicates
            && let Some(index) = leaf.position(key)
        {
            LeafEdit::new(tx, leaf.number, leaf.shape)?.set_payload::<W>(index, payload);
            return Ok(false);
        }
        let entry = NewEntry { key, payload };
        if leaf.header.run_flags.continues {
            self.insert_at_run(tx, state, chain, &leaf, entry)?;
        } else if leaf.count() < leaf.shape.capacity {
            // After equal keys, so that entries stay in insertion order.
            let index = leaf.upper_bound(key);
            LeafEdit::new(tx, leaf.number, leaf.shape)?.insert(index, leaf.count(), key, payload);
        } else {
            tx.enter(Phase::Structure);
            self.insert_into_full(tx, state, chain, &leaf, entry)?;
        }
        Ok(true)
    }

    /// Changes the router, and replaces the state of the chain.
    pub(super) fn change_router<W: Word, T>(
        &self,
        tx: &mut Transaction,
        state: &mut Vec<u8>,
        chain: &ChainState<W>,
        change: impl FnOnce(&R, &mut Transaction, &mut Vec<u8>) -> Result<T>,
    ) -> Result<T> {
        ChainState::<W>::strip(state);
        let changed = change(&self.router, tx, state);
        chain.append(state);
        changed
    }

    /// Inserts at the head of a run: into the run, or into a new leaf next to it.
    fn insert_at_run<W: Word>(
        &self,
        tx: &mut Transaction,
        state: &mut Vec<u8>,
        chain: ChainState<W>,
        head: &Leaf,
        entry: NewEntry<'_, W>,
    ) -> Result<()>
    where
        R: Router<W>,
    {
        match entry.key.cmp(&head.key::<W>(0)) {
            Ordering::Less => {
                tx.enter(Phase::Structure);
                self.begin_leaf_before(tx, state, chain, head, entry)
            }
            Ordering::Equal => self.insert_in_run(tx, state, chain, head, entry),
            Ordering::Greater if head.number == chain.last => {
                tx.enter(Phase::Structure);
                self.append_leaf(tx, state, chain, head, entry)
            }
            Ordering::Greater => Err(tx.damaged(head.number, "a run of equal keys was reached by a greater key")),
        }
    }

    /// Inserts into the head of a run or its first continuation. Only these two ever have room, so that no insert walks
    /// along the run.
    fn insert_in_run<W: Word>(
        &self,
        tx: &mut Transaction,
        state: &mut Vec<u8>,
        mut chain: ChainState<W>,
        head: &Leaf,
        entry: NewEntry<'_, W>,
    ) -> Result<()> {
        let shape = head.shape;
        if head.count() < shape.capacity {
            LeafEdit::new(tx, head.number, shape)?.insert(head.count(), head.count(), entry.key, entry.payload);
            return Ok(());
        }
        let second = self.read::<W>(tx, head.header.next)?;
        if !second.header.run_flags.continuation || second.number == head.number {
            return Err(tx.damaged(second.number, "a run of equal keys does not go on in the next leaf"));
        }
        if second.count() < shape.capacity {
            LeafEdit::new(tx, second.number, shape)?.insert(second.count(), second.count(), entry.key, entry.payload);
            return Ok(());
        }
        tx.enter(Phase::Structure);
        tx.count("leaf of a run");
        let run_flags = RunFlags { continues: true, continuation: true };
        let header = LeafHeader { run_flags, count: 1, previous: head.number, next: second.number };
        link_new_leaf(tx, shape, header, &entry_bytes(entry.key, entry.payload))?;
        chain.leaves = chain.leaves.saturating_add(1);
        self.store(state, &chain);
        Ok(())
    }

    /// Turns a full leaf that holds only the key of the entry into the head of a run.
    pub(super) fn begin_run<W: Word>(
        &self,
        tx: &mut Transaction,
        state: &mut Vec<u8>,
        mut chain: ChainState<W>,
        head: &Leaf,
        entry: NewEntry<'_, W>,
    ) -> Result<()>
    where
        R: Router<W>,
    {
        tx.count("leaf of a run");
        let run_flags = RunFlags { continues: false, continuation: true };
        let header = LeafHeader { run_flags, count: 1, previous: head.number, next: head.header.next };
        let number = link_new_leaf(tx, head.shape, header, &entry_bytes(entry.key, entry.payload))?;
        LeafEdit::new(tx, head.number, head.shape)?.set_run_flags(RunFlags { continues: true, continuation: false });
        if chain.tail == head.number {
            chain.tail = number;
        }
        chain.leaves = chain.leaves.saturating_add(1);
        if head.number == chain.last {
            self.store(state, &chain);
            return Ok(());
        }
        // The separator may lie above the key, but keys in between belong past the run.
        let gap = Gap { low: entry.key, high: entry.key };
        self.change_router(tx, state, &chain, |router, tx, state| {
            if router.remove(tx, state, entry.key)? != Some(head.number) {
                return Err(tx.damaged(head.number, "the inner nodes do not lead to this leaf"));
            }
            router.insert(tx, state, gap, head.number)
        })
    }

    /// Inserts a leaf of one entry before a leaf that the entry cannot join.
    fn begin_leaf_before<W: Word>(
        &self,
        tx: &mut Transaction,
        state: &mut Vec<u8>,
        mut chain: ChainState<W>,
        next: &Leaf,
        entry: NewEntry<'_, W>,
    ) -> Result<()>
    where
        R: Router<W>,
    {
        tx.count("leaf split");
        let header =
            LeafHeader { run_flags: RunFlags::default(), count: 1, previous: next.header.previous, next: next.number };
        let number = link_new_leaf(tx, next.shape, header, &entry_bytes(entry.key, entry.payload))?;
        let gap = Gap { low: entry.key, high: below(next.key::<W>(0)) };
        chain.insert_before(next.number, number, gap.high);
        self.change_router(tx, state, &chain, |router, tx, state| router.insert(tx, state, gap, number))
    }

    /// Appends a new last leaf, for a key above all others.
    pub(super) fn append_leaf<W: Word>(
        &self,
        tx: &mut Transaction,
        state: &mut Vec<u8>,
        mut chain: ChainState<W>,
        last: &Leaf,
        entry: NewEntry<'_, W>,
    ) -> Result<()>
    where
        R: Router<W>,
    {
        tx.count("leaf append");
        let header = LeafHeader { run_flags: RunFlags::default(), count: 1, previous: chain.tail, next: NO_PAGE };
        let number = link_new_leaf(tx, last.shape, header, &entry_bytes(entry.key, entry.payload))?;
        let low: W = last.greatest();
        let high = if last.header.run_flags.continues { low } else { below(entry.key) };
        chain.low = below(entry.key);
        (chain.last, chain.tail) = (number, number);
        chain.leaves = chain.leaves.saturating_add(1);
        self.change_router(tx, state, &chain, |router, tx, state| {
            router.insert(tx, state, Gap { low, high }, last.number)
        })
    }

    /// Stores the state of the chain, with the router unchanged.
    pub(super) fn store<W: Word>(&self, state: &mut Vec<u8>, chain: &ChainState<W>) {
        ChainState::<W>::strip(state);
        chain.append(state);
    }
}
