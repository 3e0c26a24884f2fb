//! Removals from leaves and runs, and merges of sparse leaves.

use super::chain::{ChainState, below};
use super::change::LeafChange;
use super::leaf::{Leaf, LeafEdit, LeafHeader, NO_PAGE, RunFlags, link};
use super::tree::LeafTree;
use crate::error::Result;
use crate::index::entries::word::Word;
use crate::index::tree::router::Router;
use crate::index::tree::structure::Amount;
use crate::page::{PageNumber, PagePhase, Pages, Transaction};

/// A leaf with less than 1/2 of its capacity tries to merge with a neighbour ...
const SPARSE_DIVISOR: usize = 2;
/// ... each time it has lost 1/32 of its capacity, so that not every removal reads a neighbour that is too full ...
const MERGE_STRIDE_DIVISOR: usize = 32;
/// ... and leaves at least 1/8 free, so that merges and splits of a leaf do not alternate.
const MERGED_MARGIN_DIVISOR: usize = 8;

impl<R> LeafTree<R> {
    pub(super) fn remove_entries<W: Word>(
        &self,
        tx: &mut Transaction,
        state: &mut Vec<u8>,
        key: W,
        amount: Amount,
    ) -> Result<u64>
    where
        R: Router<W>,
    {
        tx.enter(PagePhase::Search);
        let (chain, router) = ChainState::parse(tx, state)?;
        let leaf = self.read::<W>(tx, self.route(tx, &chain, router, key)?)?;
        let Some(first) = leaf.position(key) else { return Ok(0) };
        tx.enter(PagePhase::Insert);
        if leaf.header.run_flags.continues {
            let change = LeafChange { tree: self, tx, state, chain };
            return match amount {
                Amount::One => change.remove_one_of_run(&leaf),
                Amount::All => change.remove_run(&leaf),
            };
        }
        let end = leaf.upper_bound(key);
        let from = if amount == Amount::One { end - 1 } else { first };
        if end - from == leaf.count() {
            tx.enter(PagePhase::Structure);
            LeafChange { tree: self, tx, state, chain }.drop_group(&leaf, leaf.header.next, 1)?;
            return Ok((end - from) as u64);
        }
        LeafEdit::new(tx, leaf.number, leaf.shape)?.move_entries(end, from, leaf.count());
        let (before, count, capacity) = (leaf.count(), leaf.count() - (end - from), leaf.shape.capacity);
        let stride = (capacity / MERGE_STRIDE_DIVISOR).max(1);
        if count < capacity / SPARSE_DIVISOR && count / stride != before / stride {
            tx.enter(PagePhase::Structure);
            LeafChange { tree: self, tx, state, chain }.try_merge(leaf.number)?;
        }
        Ok((end - from) as u64)
    }
}

impl<W: Word, R: Router<W>> LeafChange<'_, W, R> {
    /// Removes an entry from the first continuation, so that the leaves of the run after it stay full.
    fn remove_one_of_run(mut self, head: &Leaf) -> Result<u64> {
        let second = self.read_continuation(head)?;
        if second.count() > 1 {
            LeafEdit::new(self.tx, second.number, head.shape)?.set_count(second.count() - 1);
            return Ok(1);
        }
        self.tx.enter(PagePhase::Structure);
        self.tx.count("leaf merge");
        link(self.tx, head.shape, head.number, second.header.next)?;
        if !second.header.run_flags.continues {
            LeafEdit::new(self.tx, head.number, head.shape)?.set_run_flags(RunFlags::default());
        }
        if self.chain.tail == second.number {
            self.chain.tail = head.number;
        }
        self.tx.free(second.number, 1);
        self.chain.leaves = self.chain.leaves.saturating_sub(1);
        self.store();
        Ok(1)
    }

    /// The leaf in which the run of `leaf` continues.
    fn read_continuation(&self, leaf: &Leaf) -> Result<Leaf> {
        let next = self.tree.read::<W>(self.tx, leaf.header.next)?;
        if !next.header.run_flags.continuation || next.header.previous != leaf.number {
            return Err(self.tx.damaged(next.number, "a run of equal keys does not go on in the next leaf"));
        }
        Ok(next)
    }

    fn remove_run(self, head: &Leaf) -> Result<u64> {
        self.tx.enter(PagePhase::Structure);
        let mut leaf = head.clone();
        let (mut entries, mut leaves) = (head.count() as u64, 1);
        while leaf.header.run_flags.continues {
            leaf = self.read_continuation(&leaf)?;
            entries += leaf.count() as u64;
            leaves += 1;
            if leaves > self.chain.leaves {
                return Err(self.tx.damaged(leaf.number, "leaves form a circle"));
            }
            self.tx.free(leaf.number, 1);
        }
        self.drop_group(head, leaf.header.next, leaves)?;
        Ok(entries)
    }

    /// Removes a group of leaves without entries, whose continuations are freed already; `next` is the leaf after them.
    /// The only leaf of a tree stays, empty.
    fn drop_group(mut self, head: &Leaf, next: PageNumber, leaves: u32) -> Result<()> {
        if self.chain.is_single() {
            let header = LeafHeader { run_flags: RunFlags::default(), count: 0, previous: NO_PAGE, next: NO_PAGE };
            LeafEdit::new(self.tx, head.number, head.shape)?.rewrite(&header.image(&[]));
            self.chain.tail = head.number;
            self.chain.leaves = 1;
            self.store();
            return Ok(());
        }
        self.tx.count("leaf merge");
        let previous = head.header.previous;
        let mut key: W = head.key(0);
        let mut expected = Some(head.number);
        if head.number == self.chain.last {
            // The previous group becomes the last one, so that the router no longer maps its head.
            let tail = self.tree.read::<W>(self.tx, previous)?;
            (key, expected) = (tail.greatest(), None);
            self.chain.tail = previous;
            self.chain.low = below(tail.key(0));
        }
        link(self.tx, head.shape, previous, next)?;
        self.tx.free(head.number, 1);
        if self.chain.first == head.number {
            self.chain.first = next;
        }
        self.chain.leaves = self.chain.leaves.saturating_sub(leaves);
        let removed = self.change_router(|router, tx, state| router.remove(tx, state, key))?;
        match (removed, expected) {
            (Some(last), None) => self.chain.last = last,
            (Some(removed), Some(expected)) if removed == expected => {}
            _ => return Err(self.tx.damaged(head.number, "the inner nodes do not lead to this leaf")),
        }
        self.store();
        Ok(())
    }

    /// Merges a leaf with the next or the previous one, if both fit into one with some space to spare.
    fn try_merge(self, number: PageNumber) -> Result<()> {
        let leaf = self.tree.read::<W>(self.tx, number)?;
        let merged_max = leaf.shape.capacity - leaf.shape.capacity / MERGED_MARGIN_DIVISOR;
        let fits =
            |other: &Leaf| other.header.run_flags == RunFlags::default() && other.count() + leaf.count() <= merged_max;
        if leaf.header.next != NO_PAGE {
            let next = self.tree.read::<W>(self.tx, leaf.header.next)?;
            if fits(&next) && next.number != number {
                return self.merge(&leaf, &next);
            }
        }
        if leaf.header.previous != NO_PAGE {
            let previous = self.tree.read::<W>(self.tx, leaf.header.previous)?;
            if fits(&previous) && previous.number != number {
                return self.merge(&previous, &leaf);
            }
        }
        Ok(())
    }

    /// Moves all entries of `left` to the front of `right`, whose separator stays valid.
    fn merge(mut self, left: &Leaf, right: &Leaf) -> Result<()> {
        self.tx.count("leaf merge");
        let mut edit = LeafEdit::new(self.tx, right.number, right.shape)?;
        edit.move_entries(0, left.count(), right.count());
        edit.fill_front(left.entries());
        drop(edit);
        link(self.tx, right.shape, left.header.previous, right.number)?;
        self.tx.free(left.number, 1);
        if self.chain.first == left.number {
            self.chain.first = right.number;
        }
        if self.chain.last == right.number {
            self.chain.low = below(left.key(0));
        }
        self.chain.leaves = self.chain.leaves.saturating_sub(1);
        let key: W = left.greatest();
        let removed = self.change_router(|router, tx, state| router.remove(tx, state, key))?;
        if removed != Some(left.number) {
            return Err(self.tx.damaged(left.number, "the inner nodes do not lead to this leaf"));
        }
        Ok(())
    }
}
