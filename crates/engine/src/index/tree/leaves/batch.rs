//! Inserts of sorted entries, leaf by leaf: each leaf is found once, takes all its entries at once, and splits into as
//! many leaves as it then needs.
//!
//! ```text
//! batch     3 4 7 | 21 22 23 24 25 26 27 28 29 |        the entries up to the separator of each leaf
//! leaf      [1 5 9]  [20 30 40]
//! becomes   [1 3 4 5 7 9]   [20 .. 24] [25 .. 29] [30 40 ..]
//!            in place         new leaves           in place: its separator stays valid
//! ```
//!
//! Entries are merged in parts of a bounded number, so a leaf that takes millions of them splits again and again. New
//! leaves of a large batch are written to the page file directly, as in a bulk load; all else is logged.

use super::chain::{ChainState, below};
use super::change::LeafChange;
use super::leaf::{Leaf, LeafEdit, LeafHeader, NO_PAGE, RunFlags};
use super::pending::PendingEntries;
use super::tree::LeafTree;
use crate::error::Result;
use crate::index::entries::word::Word;
use crate::index::tree::router::{Gap, Router};
use crate::index::tree::structure::Entries;
use crate::io::Purpose;
use crate::page::{PageNumber, PagePhase, Pages, Transaction};

/// Entries are merged when at least this many leaves of them are buffered, or all the rest. The last part of each merge
/// is merged again with the next entries, if they belong to the same leaf, which is thus at most 1/8 of the work.
const LEAVES_AHEAD: usize = 8;
/// Up to this many entries are inserted into a leaf by edits, each logged in about 30 bytes, which is less than the
/// half page that merging them logs; moving the entries behind each is cheaper than the merge, too.
const EDITED_ENTRIES_MAX: usize = 8;
/// A leaf may end 1/16 earlier or later than the fill asks for, so that the router can choose its separator.
const SLACK_DIVISOR: usize = 16;

/// A batch of sorted entries on its way into the leaves.
pub(super) struct LeafBatch<'a, W, R> {
    tree: &'a LeafTree<R>,
    tx: &'a mut Transaction,
    state: &'a mut Vec<u8>,
    pending: PendingEntries<'a, W>,
    /// Whether new leaves are written directly: a batch of few entries is not worth a second file to sync.
    direct: bool,
    /// The number of entries by which the tree grew.
    grown: u64,
}

/// The entries of a leaf with those of a batch merged in.
#[derive(Debug)]
struct MergedEntries<W> {
    keys: Vec<W>,
    /// Keys and payloads in the layout of leaves.
    bytes: Vec<u8>,
}

/// A part of merged entries that becomes a new leaf.
#[derive(Clone, Copy, Debug)]
struct LeafPart<W> {
    /// The end of the part.
    end: usize,
    run_flags: RunFlags,
    /// The gap for the separator; none for a continuation of a run.
    gap: Option<Gap<W>>,
}

impl<'a, W: Word, R: Router<W>> LeafBatch<'a, W, R> {
    pub(super) fn new(
        tree: &'a LeafTree<R>,
        tx: &'a mut Transaction,
        state: &'a mut Vec<u8>,
        entries: &'a mut dyn Entries<W>,
    ) -> Self {
        let stride = tree.shape::<W>(tx).stride;
        let pending = PendingEntries::new(entries, stride, tree.layout.duplicates);
        Self { tree, tx, state, pending, direct: false, grown: 0 }
    }

    /// Inserts all entries; returns the number of entries by which the tree grew.
    pub(super) fn insert(mut self) -> Result<u64> {
        let ahead = LEAVES_AHEAD * self.tree.shape::<W>(self.tx).capacity;
        self.pending.look_ahead(ahead)?;
        self.direct = !self.pending.is_end();
        while let Some(&first) = self.pending.keys().first() {
            self.tx.begin_operation();
            self.insert_into_leaf(first)?;
            self.pending.look_ahead(ahead)?;
        }
        Ok(self.grown)
    }

    /// Inserts the pending entries of the leaf of the first one, or some of them.
    fn insert_into_leaf(&mut self, first: W) -> Result<()> {
        let (chain, router) = ChainState::parse(self.tx, self.state)?;
        let leaf = self.tree.read::<W>(self.tx, self.tree.route(self.tx, &chain, router, first)?)?;
        if leaf.header.run_flags.continues {
            return match leaf.key::<W>(0) == first {
                true => self.extend_run(&leaf, chain, first),
                // The entry begins a leaf, which takes the entries after it.
                false => self.insert_singly(1),
            };
        }
        let mut count = self.count_in(&leaf, &chain, router)?;
        self.tx.enter(PagePhase::Insert);
        if count <= EDITED_ENTRIES_MAX && leaf.count() + count <= leaf.shape.capacity {
            return self.edit_leaf(&leaf, count);
        }
        // Behind all other keys, leaves are filled, as appends of single entries fill them.
        let is_append = leaf.number == chain.last && (leaf.count() == 0 || leaf.greatest::<W>() < first);
        loop {
            let merged = self.merge(&leaf, count);
            if let Some(parts) = self.cut(&merged.keys, leaf.shape.capacity, is_append)? {
                self.grown += (merged.keys.len() - leaf.count()) as u64;
                self.pending.take(count);
                return self.write_leaves(&leaf, &chain, &merged, &parts);
            }
            // The last key has more entries than fit into a leaf: it becomes a run, with no other key behind it.
            let Some(&last) = merged.keys.last() else { return Ok(()) };
            let before = self.pending.keys().partition_point(|&key| key < last);
            if before == 0 {
                return self.insert_singly(count.min(leaf.shape.capacity + 1));
            }
            count = before;
        }
    }

    /// Inserts the pending entries of a run into its head and its first continuation, and into new leaves between the
    /// two. Of these, only the first is not full, so that no later insert walks along the run.
    fn extend_run(&mut self, head: &Leaf, chain: ChainState<W>, key: W) -> Result<()> {
        let (capacity, stride) = (head.shape.capacity, head.shape.stride);
        let second = self.tree.read::<W>(self.tx, head.header.next)?;
        if !second.header.run_flags.continuation || second.number == head.number {
            return Err(self.tx.damaged(second.number, "a run of equal keys does not go on in the next leaf"));
        }
        let count = self.pending.keys().partition_point(|&pending| pending <= key);
        let mut entries = self.pending.entries(count);
        self.tx.enter(PagePhase::Insert);
        for leaf in [head, &second] {
            let room = (capacity - leaf.count()).min(entries.len() / stride);
            let (taken, rest) = entries.split_at(room * stride);
            if room > 0 {
                LeafEdit::new(self.tx, leaf.number, leaf.shape)?.append_entries(leaf.count(), room, taken);
            }
            entries = rest;
        }
        let left = entries.len() / stride;
        let pages = allocate(self.tx, self.direct, left.div_ceil(capacity))?;
        let mut previous = head.number;
        for (index, &page) in pages.iter().enumerate() {
            let next = pages.get(index + 1).copied().unwrap_or(second.number);
            let count = if index == 0 { left - (pages.len() - 1) * capacity } else { capacity };
            let run_flags = RunFlags { continues: true, continuation: true };
            let (taken, rest) = entries.split_at(count * stride);
            write_leaf(self.tx, self.direct, page, LeafHeader { run_flags, count, previous, next }, taken)?;
            (entries, previous) = (rest, page);
        }
        self.grown += count as u64;
        self.pending.take(count);
        let Some(&first) = pages.first() else { return Ok(()) };
        LeafEdit::new(self.tx, head.number, head.shape)?.set_next(first);
        LeafEdit::new(self.tx, second.number, head.shape)?.set_previous(previous);
        let mut change = LeafChange { tree: self.tree, tx: self.tx, state: self.state, chain };
        change.chain.leaves = change.chain.leaves.saturating_add(pages.len() as u32);
        change.store();
        Ok(())
    }

    /// Inserts the first entries one by one.
    fn insert_singly(&mut self, count: usize) -> Result<()> {
        for (&key, entry) in self.pending.keys().iter().zip(self.pending.entries_of(count)) {
            self.tx.begin_operation();
            let payload = entry.get(W::BYTES..).unwrap_or_default();
            self.grown += u64::from(self.tree.insert_entry(self.tx, self.state, key, payload)?);
        }
        self.pending.take(count);
        Ok(())
    }

    /// The number of pending entries that belong to `leaf`; the first one does.
    fn count_in(&self, leaf: &Leaf, chain: &ChainState<W>, router: &[u8]) -> Result<usize> {
        let keys = self.pending.keys();
        if leaf.number == chain.last {
            return Ok(keys.len());
        }
        // Those above its greatest key may be below its separator, which only the router knows.
        let greatest: W = leaf.greatest();
        let mut inside = keys.partition_point(|&key| key <= greatest).max(1);
        let (mut outside, mut step) = (keys.len(), 1);
        while inside < outside {
            let probe = if step > 0 { (inside + step - 1).min(outside - 1) } else { inside + (outside - inside) / 2 };
            let Some(&key) = keys.get(probe) else { break };
            if self.tree.route(self.tx, chain, router, key)? == leaf.number {
                inside = probe + 1;
                step *= 2;
            } else {
                outside = probe;
                step = 0;
            }
        }
        Ok(inside)
    }

    /// Inserts the first entries into a leaf that has room, by edits.
    fn edit_leaf(&mut self, leaf: &Leaf, count: usize) -> Result<()> {
        let may_repeat = self.tree.layout.duplicates;
        let mut edit = LeafEdit::new(self.tx, leaf.number, leaf.shape)?;
        let mut inserted = 0;
        for (&key, entry) in self.pending.keys().iter().zip(self.pending.entries_of(count)) {
            let payload = entry.get(W::BYTES..).unwrap_or_default();
            // Keys ascend: those inserted before all lie in front.
            match leaf.position(key).filter(|_| !may_repeat) {
                Some(index) => edit.set_payload::<W>(index + inserted, payload),
                None => {
                    edit.insert(leaf.upper_bound(key) + inserted, leaf.count() + inserted, key, payload);
                    inserted += 1;
                }
            }
        }
        drop(edit);
        self.grown += inserted as u64;
        self.pending.take(count);
        Ok(())
    }

    /// Merges the first entries with those of a leaf: behind equal keys, or in their place if keys are unique.
    fn merge(&self, leaf: &Leaf, count: usize) -> MergedEntries<W> {
        let (stride, entries) = (leaf.shape.stride, leaf.entries());
        let most = leaf.count() + count;
        let mut merged = MergedEntries { keys: Vec::with_capacity(most), bytes: Vec::with_capacity(most * stride) };
        let mut next = 0;
        let mut copy = |merged: &mut MergedEntries<W>, end: usize| {
            merged.keys.extend((next..end).map(|index| leaf.key::<W>(index)));
            merged.bytes.extend_from_slice(entries.get(next * stride..end * stride).unwrap_or_default());
            next = end;
        };
        for (&key, entry) in self.pending.keys().iter().zip(self.pending.entries_of(count)) {
            copy(&mut merged, leaf.upper_bound(key));
            if !self.tree.layout.duplicates && merged.keys.last() == Some(&key) {
                merged.keys.pop();
                merged.bytes.truncate(merged.keys.len() * stride);
            }
            merged.keys.push(key);
            merged.bytes.extend_from_slice(entry);
        }
        copy(&mut merged, leaf.count());
        merged
    }

    /// Divides entries among leaves: returns all parts but the last. `None` if the last key has more entries than fit
    /// into a leaf.
    fn cut(&self, keys: &[W], capacity: usize, is_append: bool) -> Result<Option<Vec<LeafPart<W>>>> {
        let fill = (capacity * usize::from(self.tree.layout.fill_percent) / 100).clamp(2, capacity);
        let mut parts = Vec::new();
        let mut start = 0;
        while keys.len() - start > capacity {
            let rest = keys.len() - start;
            // The number of leaves whose fill is nearest to that of a bulk load.
            let leaves = ((rest + fill / 2) / fill).max(rest.div_ceil(capacity));
            let near = if is_append { capacity } else { rest.div_ceil(leaves) };
            let slack = if is_append { 0 } else { near / SLACK_DIVISOR };
            match self.boundary(keys, start, near, slack, capacity)? {
                Some((end, gap)) => {
                    parts.push(LeafPart { end, run_flags: RunFlags::default(), gap: Some(gap) });
                    start = end;
                }
                None => {
                    let run = keys.get(start).copied().unwrap_or(W::MAX);
                    let end = keys.partition_point(|&key| key <= run);
                    if end == keys.len() {
                        return Ok(None);
                    }
                    push_run(&mut parts, run, start, end, capacity);
                    start = end;
                }
            }
        }
        Ok(Some(parts))
    }

    /// The end of the leaf that begins at `start`, between different keys: near `start + near`, where the router
    /// chooses, or else anywhere. `None` if the keys of a whole leaf are equal.
    fn boundary(
        &self,
        keys: &[W],
        start: usize,
        near: usize,
        slack: usize,
        capacity: usize,
    ) -> Result<Option<(usize, Gap<W>)>> {
        let gap_at = |end: usize| {
            let (low, next) = (*keys.get(end.checked_sub(1)?)?, *keys.get(end)?);
            (low < next).then(|| (end, Gap { low, high: below(next) }))
        };
        let most = (near + slack).min(capacity);
        let central: Vec<_> = (start + near - slack..=start + most).filter_map(gap_at).collect();
        if central.is_empty() {
            let possible = (start + 1..=start + capacity).filter_map(gap_at);
            return Ok(possible.min_by_key(|&(end, _)| end.abs_diff(start + near)));
        }
        let gaps: Vec<Gap<W>> = central.iter().map(|&(_, gap)| gap).collect();
        let (_, router) = ChainState::<W>::parse(self.tx, self.state)?;
        let chosen = self.tree.router.choose_split(self.tx, router, &gaps)?;
        Ok(central.get(chosen.min(central.len() - 1)).copied())
    }

    /// Writes merged entries: the last part to the leaf itself, whose separator stays valid, the others to new leaves
    /// in front of it.
    fn write_leaves(
        &mut self,
        leaf: &Leaf,
        chain: &ChainState<W>,
        merged: &MergedEntries<W>,
        parts: &[LeafPart<W>],
    ) -> Result<()> {
        let stride = leaf.shape.stride;
        let pages = allocate(self.tx, self.direct, parts.len())?;
        let (mut start, mut previous) = (0, leaf.header.previous);
        for (index, (&page, part)) in pages.iter().zip(parts).enumerate() {
            let next = pages.get(index + 1).copied().unwrap_or(leaf.number);
            let header = LeafHeader { run_flags: part.run_flags, count: part.end - start, previous, next };
            let entries = merged.bytes.get(start * stride..part.end * stride).unwrap_or_default();
            write_leaf(self.tx, self.direct, page, header, entries)?;
            (start, previous) = (part.end, page);
        }
        let header = LeafHeader { count: merged.keys.len() - start, previous, ..leaf.header };
        let image = header.image(merged.bytes.get(start * stride..).unwrap_or_default());
        LeafEdit::new(self.tx, leaf.number, leaf.shape)?.rewrite(&image);
        let Some(&first) = pages.first() else { return Ok(()) };
        self.tx.enter(PagePhase::Structure);
        if leaf.header.previous != NO_PAGE {
            LeafEdit::new(self.tx, leaf.header.previous, leaf.shape)?.set_next(first);
        }
        let mut change = LeafChange { tree: self.tree, tx: self.tx, state: self.state, chain: *chain };
        for (&page, part) in pages.iter().zip(parts) {
            match part.gap {
                Some(gap) => {
                    change.tx.count("leaf split");
                    change.chain.insert_before(leaf.number, page, gap.high);
                    change.change_router(|router, tx, state| router.insert(tx, state, gap, page))?;
                }
                None => {
                    change.tx.count("leaf of a run");
                    change.chain.leaves = change.chain.leaves.saturating_add(1);
                    change.store();
                }
            }
        }
        Ok(())
    }
}

/// Adds the leaves of a run: a full head, a first continuation with the rest, and full ones behind it.
fn push_run<W: Word>(parts: &mut Vec<LeafPart<W>>, run: W, start: usize, end: usize, capacity: usize) {
    let run_flags = RunFlags { continues: true, continuation: false };
    let mut at = start + capacity;
    parts.push(LeafPart { end: at, run_flags, gap: Some(Gap { low: run, high: run }) });
    while at < end {
        // Of as many leaves as are needed, the first takes what is over.
        at += (end - at - 1) % capacity + 1;
        let run_flags = RunFlags { continues: at < end, continuation: true };
        parts.push(LeafPart { end: at, run_flags, gap: None });
    }
}

/// Writes a new leaf, directly if its page is one of an extent.
fn write_leaf(tx: &mut Transaction, direct: bool, page: PageNumber, header: LeafHeader, entries: &[u8]) -> Result<()> {
    let image = header.image(entries);
    if direct {
        return tx.write_fresh(page, Purpose::Leaf, &image);
    }
    tx.edit(page, Purpose::Leaf)?.write(0, &image);
    Ok(())
}

/// Allocates pages for new leaves: one by one, so that no free page is too lonely to be reused; those at the end of the
/// file are consecutive.
fn allocate(tx: &mut Transaction, direct: bool, count: usize) -> Result<Vec<PageNumber>> {
    (0..count).map(|_| if direct { tx.allocate_extent(1) } else { tx.allocate() }).collect()
}
