//! Inserts, and the runs of equal keys that they start.

use super::frame::{Frame, below};
use super::leaf::{Header, Leaf, LeafEdit, NO_PAGE, Part, entry_bytes, link_new_leaf};
use super::tree::LeafTree;
use crate::error::Result;
use crate::index::router::{Gap, Router};
use crate::index::word::Word;
use crate::page::{Pages, Phase, Transaction};
use std::cmp::Ordering;

/// An entry on its way into the tree.
#[derive(Clone, Copy, Debug)]
pub(super) struct Incoming<'a, W> {
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
        let (frame, router) = Frame::parse(tx, state)?;
        let leaf = self.read::<W>(tx, self.route(tx, &frame, router, key)?)?;
        tx.enter(Phase::Insert);
        if !self.layout.duplicates
            && let Some(index) = leaf.position(key)
        {
            LeafEdit::new(tx, leaf.number, leaf.shape)?.set_payload::<W>(index, payload);
            return Ok(false);
        }
        let entry = Incoming { key, payload };
        if leaf.header.part.continues {
            self.insert_at_run(tx, state, frame, &leaf, entry)?;
        } else if leaf.count() < leaf.shape.capacity {
            // Behind equal keys, so that they keep the order in which they came.
            let index = leaf.upper_bound(key);
            LeafEdit::new(tx, leaf.number, leaf.shape)?.insert(index, leaf.count(), key, payload);
        } else {
            tx.enter(Phase::Structure);
            self.make_room(tx, state, frame, &leaf, entry)?;
        }
        Ok(true)
    }

    /// Changes the router and the frame together.
    pub(super) fn change_router<W: Word, T>(
        &self,
        tx: &mut Transaction,
        state: &mut Vec<u8>,
        frame: &Frame<W>,
        change: impl FnOnce(&R, &mut Transaction, &mut Vec<u8>) -> Result<T>,
    ) -> Result<T> {
        Frame::<W>::take(state);
        let changed = change(&self.router, tx, state);
        frame.append(state);
        changed
    }

    /// The router leads to the head of a run: the entry belongs to the run, or into a leaf of its own beside it.
    fn insert_at_run<W: Word>(
        &self,
        tx: &mut Transaction,
        state: &mut Vec<u8>,
        frame: Frame<W>,
        head: &Leaf,
        entry: Incoming<'_, W>,
    ) -> Result<()>
    where
        R: Router<W>,
    {
        match entry.key.cmp(&head.key::<W>(0)) {
            Ordering::Less => {
                tx.enter(Phase::Structure);
                self.begin_leaf_before(tx, state, frame, head, entry)
            }
            Ordering::Equal => self.insert_in_run(tx, state, frame, head, entry),
            Ordering::Greater if head.number == frame.last => {
                tx.enter(Phase::Structure);
                self.append_leaf(tx, state, frame, head, entry)
            }
            Ordering::Greater => Err(tx.damaged(head.number, "a run of equal keys was reached by a greater key")),
        }
    }

    /// Into the head of a run or its first continuation; only those two ever have room, so that it takes no walk along
    /// the run.
    fn insert_in_run<W: Word>(
        &self,
        tx: &mut Transaction,
        state: &mut Vec<u8>,
        mut frame: Frame<W>,
        head: &Leaf,
        entry: Incoming<'_, W>,
    ) -> Result<()> {
        let shape = head.shape;
        if head.count() < shape.capacity {
            LeafEdit::new(tx, head.number, shape)?.insert(head.count(), head.count(), entry.key, entry.payload);
            return Ok(());
        }
        let second = self.read::<W>(tx, head.header.next)?;
        if !second.header.part.continuation || second.number == head.number {
            return Err(tx.damaged(second.number, "a run of equal keys does not go on in the next leaf"));
        }
        if second.count() < shape.capacity {
            LeafEdit::new(tx, second.number, shape)?.insert(second.count(), second.count(), entry.key, entry.payload);
            return Ok(());
        }
        tx.enter(Phase::Structure);
        tx.count("leaf of a run");
        let part = Part { continues: true, continuation: true };
        let header = Header { part, count: 1, previous: head.number, next: second.number };
        link_new_leaf(tx, shape, header, &entry_bytes(entry.key, entry.payload))?;
        frame.leaves = frame.leaves.saturating_add(1);
        self.store(state, &frame);
        Ok(())
    }

    /// A full leaf of nothing but the key of the entry becomes the head of a run.
    pub(super) fn begin_run<W: Word>(
        &self,
        tx: &mut Transaction,
        state: &mut Vec<u8>,
        mut frame: Frame<W>,
        head: &Leaf,
        entry: Incoming<'_, W>,
    ) -> Result<()>
    where
        R: Router<W>,
    {
        tx.count("leaf of a run");
        let part = Part { continues: false, continuation: true };
        let header = Header { part, count: 1, previous: head.number, next: head.header.next };
        let number = link_new_leaf(tx, head.shape, header, &entry_bytes(entry.key, entry.payload))?;
        LeafEdit::new(tx, head.number, head.shape)?.set_part(Part { continues: true, continuation: false });
        if frame.tail == head.number {
            frame.tail = number;
        }
        frame.leaves = frame.leaves.saturating_add(1);
        if head.number == frame.last {
            self.store(state, &frame);
            return Ok(());
        }
        // The separator may lie above the key: what is put in between must go past the run.
        let gap = Gap { low: entry.key, high: entry.key };
        self.change_router(tx, state, &frame, |router, tx, state| {
            if router.remove(tx, state, entry.key)? != Some(head.number) {
                return Err(tx.damaged(head.number, "the inner nodes do not lead to this leaf"));
            }
            router.insert(tx, state, gap, head.number)
        })
    }

    /// A leaf of one entry, in front of a leaf that it cannot join.
    fn begin_leaf_before<W: Word>(
        &self,
        tx: &mut Transaction,
        state: &mut Vec<u8>,
        mut frame: Frame<W>,
        next: &Leaf,
        entry: Incoming<'_, W>,
    ) -> Result<()>
    where
        R: Router<W>,
    {
        tx.count("leaf split");
        let header = Header { part: Part::default(), count: 1, previous: next.header.previous, next: next.number };
        let number = link_new_leaf(tx, next.shape, header, &entry_bytes(entry.key, entry.payload))?;
        let gap = Gap { low: entry.key, high: below(next.key::<W>(0)) };
        frame.put_before(next.number, number, gap.high);
        self.change_router(tx, state, &frame, |router, tx, state| router.insert(tx, state, gap, number))
    }

    /// A new last leaf, for a key above all others.
    pub(super) fn append_leaf<W: Word>(
        &self,
        tx: &mut Transaction,
        state: &mut Vec<u8>,
        mut frame: Frame<W>,
        last: &Leaf,
        entry: Incoming<'_, W>,
    ) -> Result<()>
    where
        R: Router<W>,
    {
        tx.count("leaf append");
        let header = Header { part: Part::default(), count: 1, previous: frame.tail, next: NO_PAGE };
        let number = link_new_leaf(tx, last.shape, header, &entry_bytes(entry.key, entry.payload))?;
        let low: W = last.greatest();
        let high = if last.header.part.continues { low } else { below(entry.key) };
        frame.low = below(entry.key);
        (frame.last, frame.tail) = (number, number);
        frame.leaves = frame.leaves.saturating_add(1);
        self.change_router(tx, state, &frame, |router, tx, state| {
            router.insert(tx, state, Gap { low, high }, last.number)
        })
    }

    /// Stores a frame whose router has not changed.
    pub(super) fn store<W: Word>(&self, state: &mut Vec<u8>, frame: &Frame<W>) {
        Frame::<W>::take(state);
        frame.append(state);
    }
}
