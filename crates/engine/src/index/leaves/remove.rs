//! Removals, and the merges that they cause.

use super::frame::{Frame, below};
use super::leaf::{Header, Leaf, LeafEdit, NO_PAGE, Part, link};
use super::tree::LeafTree;
use crate::error::Result;
use crate::index::router::Router;
use crate::index::structure::Amount;
use crate::index::word::Word;
use crate::page::{PageNumber, Pages, Phase, Transaction};

/// A leaf less than half full looks for a neighbour to merge with ...
const SPARSE_PART: usize = 2;
/// ... whenever a 32nd of a page more has become free: a neighbour that is too full is not read again at each removal
/// ...
const MERGE_STRIDE_PART: usize = 32;
/// ... and an eighth stays free, so that between a merge and the next split, or the other way round, there are that
/// many operations.
const MERGED_MARGIN_PART: usize = 8;

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
        tx.enter(Phase::Search);
        let (frame, router) = Frame::parse(tx, state)?;
        let leaf = self.read::<W>(tx, self.route(tx, &frame, router, key)?)?;
        let Some(first) = leaf.position(key) else { return Ok(0) };
        tx.enter(Phase::Insert);
        if leaf.header.part.continues {
            return match amount {
                Amount::One => self.remove_one_of_run(tx, state, frame, &leaf),
                Amount::All => self.remove_run(tx, state, frame, &leaf),
            };
        }
        let end = leaf.upper_bound(key);
        let from = if amount == Amount::One { end - 1 } else { first };
        if end - from == leaf.count() {
            tx.enter(Phase::Structure);
            self.drop_group(tx, state, frame, &leaf, leaf.header.next, 1)?;
            return Ok((end - from) as u64);
        }
        LeafEdit::new(tx, leaf.number, leaf.shape)?.move_entries(end, from, leaf.count());
        let (before, count, capacity) = (leaf.count(), leaf.count() - (end - from), leaf.shape.capacity);
        let stride = (capacity / MERGE_STRIDE_PART).max(1);
        if count < capacity / SPARSE_PART && count / stride != before / stride {
            tx.enter(Phase::Structure);
            self.try_merge(tx, state, frame, leaf.number)?;
        }
        Ok((end - from) as u64)
    }

    /// Takes the entry out of the first continuation, so that all leaves of the run but this and the head stay full.
    fn remove_one_of_run<W: Word>(
        &self,
        tx: &mut Transaction,
        state: &mut Vec<u8>,
        mut frame: Frame<W>,
        head: &Leaf,
    ) -> Result<u64> {
        let second = self.read_continuation::<W>(tx, head)?;
        if second.count() > 1 {
            LeafEdit::new(tx, second.number, head.shape)?.set_count(second.count() - 1);
            return Ok(1);
        }
        tx.enter(Phase::Structure);
        tx.count("leaf merge");
        link(tx, head.shape, head.number, second.header.next)?;
        if !second.header.part.continues {
            LeafEdit::new(tx, head.number, head.shape)?.set_part(Part::default());
        }
        if frame.tail == second.number {
            frame.tail = head.number;
        }
        tx.free(second.number, 1);
        frame.leaves = frame.leaves.saturating_sub(1);
        self.store(state, &frame);
        Ok(1)
    }

    /// The leaf in which the run of `leaf` goes on.
    fn read_continuation<W: Word>(&self, tx: &Transaction, leaf: &Leaf) -> Result<Leaf> {
        let next = self.read::<W>(tx, leaf.header.next)?;
        if !next.header.part.continuation || next.header.previous != leaf.number {
            return Err(tx.damaged(next.number, "a run of equal keys does not go on in the next leaf"));
        }
        Ok(next)
    }

    fn remove_run<W: Word>(
        &self,
        tx: &mut Transaction,
        state: &mut Vec<u8>,
        frame: Frame<W>,
        head: &Leaf,
    ) -> Result<u64>
    where
        R: Router<W>,
    {
        tx.enter(Phase::Structure);
        let mut leaf = head.clone();
        let (mut entries, mut leaves) = (head.count() as u64, 1);
        while leaf.header.part.continues {
            leaf = self.read_continuation::<W>(tx, &leaf)?;
            entries += leaf.count() as u64;
            leaves += 1;
            if leaves > frame.leaves {
                return Err(tx.damaged(leaf.number, "leaves form a circle"));
            }
            tx.free(leaf.number, 1);
        }
        self.drop_group(tx, state, frame, head, leaf.header.next, leaves)?;
        Ok(entries)
    }

    /// A group of leaves has no entry left: its continuations are freed already, `next` is the leaf behind them. The
    /// only leaf of a tree stays, empty.
    fn drop_group<W: Word>(
        &self,
        tx: &mut Transaction,
        state: &mut Vec<u8>,
        mut frame: Frame<W>,
        head: &Leaf,
        next: PageNumber,
        leaves: u32,
    ) -> Result<()>
    where
        R: Router<W>,
    {
        if frame.is_single() {
            let header = Header { part: Part::default(), count: 0, previous: NO_PAGE, next: NO_PAGE };
            LeafEdit::new(tx, head.number, head.shape)?.rewrite(&header.image(&[]));
            frame.tail = head.number;
            frame.leaves = 1;
            self.store(state, &frame);
            return Ok(());
        }
        tx.count("leaf merge");
        let previous = head.header.previous;
        let mut key: W = head.key(0);
        let mut expected = Some(head.number);
        if head.number == frame.last {
            // The group before becomes the last one: the router gives its head away.
            let tail = self.read::<W>(tx, previous)?;
            (key, expected) = (tail.greatest(), None);
            frame.tail = previous;
            frame.low = below(tail.key(0));
        }
        link(tx, head.shape, previous, next)?;
        tx.free(head.number, 1);
        if frame.first == head.number {
            frame.first = next;
        }
        frame.leaves = frame.leaves.saturating_sub(leaves);
        let removed = self.change_router(tx, state, &frame, |router, tx, state| router.remove(tx, state, key))?;
        match (removed, expected) {
            (Some(last), None) => frame.last = last,
            (Some(removed), Some(expected)) if removed == expected => {}
            _ => return Err(tx.damaged(head.number, "the inner nodes do not lead to this leaf")),
        }
        self.store(state, &frame);
        Ok(())
    }

    /// Merges a leaf with the next or the previous one, if the two fit a page with some room to spare.
    fn try_merge<W: Word>(
        &self,
        tx: &mut Transaction,
        state: &mut Vec<u8>,
        frame: Frame<W>,
        number: PageNumber,
    ) -> Result<()>
    where
        R: Router<W>,
    {
        let leaf = self.read::<W>(tx, number)?;
        let most = leaf.shape.capacity - leaf.shape.capacity / MERGED_MARGIN_PART;
        let fits = |other: &Leaf| other.header.part == Part::default() && other.count() + leaf.count() <= most;
        if leaf.header.next != NO_PAGE {
            let next = self.read::<W>(tx, leaf.header.next)?;
            if fits(&next) && next.number != number {
                return self.merge(tx, state, frame, &leaf, &next);
            }
        }
        if leaf.header.previous != NO_PAGE {
            let previous = self.read::<W>(tx, leaf.header.previous)?;
            if fits(&previous) && previous.number != number {
                return self.merge(tx, state, frame, &previous, &leaf);
            }
        }
        Ok(())
    }

    /// Moves all of `left` to the front of `right`, whose separator stays true.
    fn merge<W: Word>(
        &self,
        tx: &mut Transaction,
        state: &mut Vec<u8>,
        mut frame: Frame<W>,
        left: &Leaf,
        right: &Leaf,
    ) -> Result<()>
    where
        R: Router<W>,
    {
        tx.count("leaf merge");
        let mut edit = LeafEdit::new(tx, right.number, right.shape)?;
        edit.move_entries(0, left.count(), right.count());
        edit.fill_front(left.entries());
        drop(edit);
        link(tx, right.shape, left.header.previous, right.number)?;
        tx.free(left.number, 1);
        if frame.first == left.number {
            frame.first = right.number;
        }
        if frame.last == right.number {
            frame.low = below(left.key(0));
        }
        frame.leaves = frame.leaves.saturating_sub(1);
        let key: W = left.greatest();
        let removed = self.change_router(tx, state, &frame, |router, tx, state| router.remove(tx, state, key))?;
        if removed != Some(left.number) {
            return Err(tx.damaged(left.number, "the inner nodes do not lead to this leaf"));
        }
        Ok(())
    }
}
