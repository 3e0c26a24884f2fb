//! Bulk load: leaves in consecutive pages, written as entries stream by, each of which ends where the router likes it.

use super::frame::{Frame, below};
use super::leaf::{Header, NO_PAGE, Part, Shape};
use super::pending::Pending;
use super::tree::LeafTree;
use crate::error::{Error, Result};
use crate::index::router::{Gap, Router, RouterBuilder};
use crate::index::structure::Entries;
use crate::index::word::Word;
use crate::io::Purpose;
use crate::page::{PageNumber, Pages, Transaction};

/// A leaf may end this part of its fill earlier or later, where the router likes it better: 12 entries of 203.
const SLACK_PART: usize = 16;
/// Over all, leaves may hold less than their fill by this part: so there are at most 0.4 % more of them.
const SHORTAGE_PART: u64 = 256;
/// Pages are taken from the file this many at a time, once there are many.
const MOST_EXTENT_PAGES: u32 = 64;
/// A leaf of fewer entries would make a tree of no use.
const LEAST_CAPACITY: usize = 4;

pub(super) fn bulk_load<W: Word, R: Router<W>>(
    tree: &LeafTree<R>,
    tx: &mut Transaction,
    entries: &mut dyn Entries<W>,
) -> Result<Vec<u8>> {
    let shape = tree.shape::<W>(tx);
    if shape.capacity < LEAST_CAPACITY {
        return Err(Error::InvalidArgument(format!(
            "payloads of {} bytes are too long for pages of {} bytes: a leaf would hold {} entries; take larger pages",
            tree.layout.payload_bytes,
            tx.payload_bytes(),
            shape.capacity
        )));
    }
    let builder = tree.router.builder(tx)?;
    let pending = Pending::new(entries, shape.stride, tree.layout.duplicates);
    Loader::new(tx, shape, builder, pending, tree.layout.fill_percent)?.load()
}

/// Pages for leaves, consecutive as far as the file has them.
#[derive(Debug, Default)]
struct Supply {
    next: PageNumber,
    left: u32,
    extent: u32,
}

impl Supply {
    fn take(&mut self, tx: &mut Transaction) -> Result<PageNumber> {
        if self.left == 0 {
            self.extent = (self.extent * 2).clamp(1, MOST_EXTENT_PAGES);
            self.next = tx.allocate_extent(self.extent)?;
            self.left = self.extent;
        }
        let page = self.next;
        self.next += 1;
        self.left -= 1;
        Ok(page)
    }

    fn give_back(&self, tx: &mut Transaction) {
        if self.left > 0 {
            tx.free(self.next, self.left);
        }
    }
}

/// The state of a bulk load.
struct Loader<'a, W> {
    tx: &'a mut Transaction,
    shape: Shape,
    builder: Box<dyn RouterBuilder<W>>,
    pending: Pending<'a, W>,
    supply: Supply,
    /// Entries that the fill asks a leaf to hold.
    fill: usize,
    /// Entries in the leaves written.
    written: u64,
    /// The page of the leaf to be written next, and of the one before it.
    page: PageNumber,
    previous: PageNumber,
    /// The head of the current group, and its key if it is a run that continues.
    head: PageNumber,
    run: Option<W>,
    frame: Frame<W>,
}

impl<'a, W: Word> Loader<'a, W> {
    fn new(
        tx: &'a mut Transaction,
        shape: Shape,
        builder: Box<dyn RouterBuilder<W>>,
        pending: Pending<'a, W>,
        fill_percent: u8,
    ) -> Result<Self> {
        let mut supply = Supply::default();
        let page = supply.take(tx)?;
        let fill = (shape.capacity * usize::from(fill_percent) / 100).clamp(2, shape.capacity);
        let frame = Frame { first: page, last: page, tail: page, leaves: 0, low: W::MIN };
        Ok(Self {
            tx,
            shape,
            builder,
            pending,
            supply,
            fill,
            written: 0,
            page,
            previous: NO_PAGE,
            head: page,
            run: None,
            frame,
        })
    }

    fn load(mut self) -> Result<Vec<u8>> {
        loop {
            // Two leaves ahead, and one entry: so the last two can share what is left.
            self.pending.look_ahead(2 * self.shape.capacity + 1)?;
            let ahead = self.pending.keys().len();
            let count = self.next_count();
            self.write_leaf(count)?;
            if count == ahead {
                break;
            }
        }
        self.supply.give_back(self.tx);
        (self.frame.last, self.frame.tail) = (self.head, self.previous);
        let mut state = self.builder.finish(self.tx)?;
        self.frame.append(&mut state);
        Ok(state)
    }

    /// How many entries the next leaf gets.
    fn next_count(&mut self) -> usize {
        let ahead = self.pending.keys();
        if let Some(run) = self.run {
            return run_part(ahead, run, self.fill);
        }
        let slack = self.fill / SLACK_PART;
        let mut near = self.fill;
        if self.pending.is_end() {
            if ahead.len() <= (near + slack).min(self.shape.capacity) {
                return ahead.len();
            }
            if ahead.len() <= 2 * near {
                near = ahead.len().div_ceil(2);
            }
        }
        // What leaves may still lack, over all.
        let owed = (u64::from(self.frame.leaves) * self.fill as u64).saturating_sub(self.written);
        let lacking = (self.written / SHORTAGE_PART + slack as u64).saturating_sub(owed).min(slack as u64) as usize;
        let least = (near - lacking.min(near - 1)).max(1);
        let most = (near + slack).min(self.shape.capacity).min(ahead.len() - 1);
        let count = self.builder.choose_end(ahead, least, near, most).clamp(least, most);
        if ahead[count - 1] < ahead[count] {
            return count;
        }
        self.boundary_near(near)
    }

    /// The boundary between distinct keys next to `near`, for a leaf that a router would end amidst equal ones; or a
    /// part of a run.
    fn boundary_near(&self, near: usize) -> usize {
        let ahead = self.pending.keys();
        let distinct = |&count: &usize| ahead.get(count).map_or(self.pending.is_end(), |next| ahead[count - 1] < *next);
        let counts = (1..=self.shape.capacity.min(ahead.len())).filter(distinct);
        let nearest = counts.min_by_key(|count| count.abs_diff(near));
        nearest.unwrap_or_else(|| run_part(ahead, ahead[0], self.fill))
    }

    fn write_leaf(&mut self, count: usize) -> Result<()> {
        let (page, ahead) = (self.page, self.pending.keys());
        let edge = count.checked_sub(1).and_then(|last| ahead.get(last)).zip(ahead.get(count)).map(|(a, b)| (*a, *b));
        let continuation = self.run.is_some();
        let continues = edge.is_some_and(|(last, next)| last == next);
        let next = if edge.is_some() { self.supply.take(self.tx)? } else { NO_PAGE };
        let part = Part { continues, continuation };
        let image = Header { part, count, previous: self.previous, next }.image(self.pending.entries(count));
        self.tx.write_fresh(page, Purpose::Leaf, &image)?;
        if !continuation {
            self.head = page;
        }
        self.run = None;
        match edge {
            Some((last, _)) if continues => self.run = Some(last),
            Some((low, next)) => {
                let high = if continuation { low } else { below(next) };
                self.builder.push(self.tx, Gap { low, high }, self.head)?;
                self.frame.low = high;
            }
            None => {}
        }
        self.frame.leaves = self.frame.leaves.saturating_add(1);
        self.written += count as u64;
        (self.previous, self.page) = (page, next);
        self.pending.take(count);
        Ok(())
    }
}

/// The next leaf's part of a run of equal keys: its fill, or an even share of what is left for the last two.
fn run_part<W: Word>(ahead: &[W], run: W, fill: usize) -> usize {
    let length = ahead.partition_point(|&key| key <= run);
    match length.div_ceil(fill) {
        0 | 1 => length,
        2 => length.div_ceil(2),
        _ => fill,
    }
}
