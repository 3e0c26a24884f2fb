//! Bulk load: writes leaves to consecutive pages while entries stream in; the router chooses where each leaf ends.

use super::chain::{ChainState, below};
use super::leaf::{LeafHeader, LeafShape, NO_PAGE, RunFlags};
use super::pending::PendingEntries;
use super::tree::LeafTree;
use crate::error::{Error, Result};
use crate::index::entries::word::Word;
use crate::index::tree::router::{Gap, Router, RouterBuilder};
use crate::index::tree::structure::Entries;
use crate::io::Purpose;
use crate::page::{PageNumber, Pages, Transaction};

/// The router may end a leaf earlier or later by 1/16 of its fill: by 12 entries of 203.
const SLACK_DIVISOR: usize = 16;
/// In total, leaves may lack 1/256 of their fill, so that there are at most 0.4 % more of them.
const SHORTAGE_DIVISOR: u64 = 256;
/// Most pages allocated at a time.
const EXTENT_PAGES_MAX: u32 = 64;
/// Least number of entries that a leaf must hold.
const CAPACITY_MIN: usize = 4;

pub(super) fn bulk_load<W: Word, R: Router<W>>(
    tree: &LeafTree<R>,
    tx: &mut Transaction,
    entries: &mut dyn Entries<W>,
) -> Result<Vec<u8>> {
    let shape = tree.shape::<W>(tx);
    if shape.capacity < CAPACITY_MIN {
        return Err(Error::input(format!(
            "payloads of {} bytes are too long for pages of {} bytes: a leaf would hold {} entries; take larger pages",
            tree.layout.payload_bytes,
            tx.payload_bytes(),
            shape.capacity
        )));
    }
    let builder = tree.router.builder(tx)?;
    let pending = PendingEntries::new(entries, shape.stride, tree.layout.duplicates);
    LeafLoader::new(tx, shape, builder, pending, tree.layout.fill_percent)?.load()
}

/// Allocator of leaf pages, which are consecutive within extents of doubling size.
#[derive(Debug, Default)]
struct LeafPages {
    next: PageNumber,
    left: u32,
    extent: u32,
}

impl LeafPages {
    fn take(&mut self, tx: &mut Transaction) -> Result<PageNumber> {
        if self.left == 0 {
            self.extent = (self.extent * 2).clamp(1, EXTENT_PAGES_MAX);
            self.next = tx.allocate_extent(self.extent)?;
            self.left = self.extent;
        }
        let page = self.next;
        self.next += 1;
        self.left -= 1;
        Ok(page)
    }

    fn free_rest(&self, tx: &mut Transaction) {
        if self.left > 0 {
            tx.free(self.next, self.left);
        }
    }
}

/// The state of a bulk load.
struct LeafLoader<'a, W> {
    tx: &'a mut Transaction,
    shape: LeafShape,
    builder: Box<dyn RouterBuilder<W>>,
    pending: PendingEntries<'a, W>,
    leaf_pages: LeafPages,
    /// Number of entries of a leaf by the fill of the layout.
    fill: usize,
    /// Number of entries in the leaves written.
    written: u64,
    /// The pages of the next leaf and of the one before it.
    page: PageNumber,
    previous: PageNumber,
    /// The head of the current group, and its key if it is a run that continues.
    head: PageNumber,
    run: Option<W>,
    chain: ChainState<W>,
}

impl<'a, W: Word> LeafLoader<'a, W> {
    fn new(
        tx: &'a mut Transaction,
        shape: LeafShape,
        builder: Box<dyn RouterBuilder<W>>,
        pending: PendingEntries<'a, W>,
        fill_percent: u8,
    ) -> Result<Self> {
        let mut leaf_pages = LeafPages::default();
        let page = leaf_pages.take(tx)?;
        let fill = (shape.capacity * usize::from(fill_percent) / 100).clamp(2, shape.capacity);
        let chain = ChainState { first: page, last: page, tail: page, leaves: 0, low: W::MIN };
        Ok(Self {
            tx,
            shape,
            builder,
            pending,
            leaf_pages,
            fill,
            written: 0,
            page,
            previous: NO_PAGE,
            head: page,
            run: None,
            chain,
        })
    }

    fn load(mut self) -> Result<Vec<u8>> {
        loop {
            // Two leaves and one entry ahead, so that the last two leaves can share the rest evenly.
            self.pending.look_ahead(2 * self.shape.capacity + 1)?;
            let ahead = self.pending.keys().len();
            let count = self.next_count();
            self.write_leaf(count)?;
            if count == ahead {
                break;
            }
        }
        self.leaf_pages.free_rest(self.tx);
        (self.chain.last, self.chain.tail) = (self.head, self.previous);
        let mut state = self.builder.finish(self.tx)?;
        self.chain.append(&mut state);
        Ok(state)
    }

    /// The number of entries of the next leaf.
    fn next_count(&mut self) -> usize {
        let ahead = self.pending.keys();
        if let Some(run) = self.run {
            return run_leaf_count(ahead, run, self.fill);
        }
        let slack = self.fill / SLACK_DIVISOR;
        let mut near = self.fill;
        if self.pending.is_end() {
            if ahead.len() <= (near + slack).min(self.shape.capacity) {
                return ahead.len();
            }
            if ahead.len() <= 2 * near {
                near = ahead.len().div_ceil(2);
            }
        }
        // The number of entries that this leaf may lack.
        let missing = (u64::from(self.chain.leaves) * self.fill as u64).saturating_sub(self.written);
        let shortage =
            (self.written / SHORTAGE_DIVISOR + slack as u64).saturating_sub(missing).min(slack as u64) as usize;
        let least = (near - shortage.min(near - 1)).max(1);
        let most = (near + slack).min(self.shape.capacity).min(ahead.len() - 1);
        let count = self.builder.choose_end(ahead, least, near, most).clamp(least, most);
        if ahead[count - 1] < ahead[count] {
            return count;
        }
        self.boundary_near(near)
    }

    /// The boundary between distinct keys that is nearest to `near`; for a run that exceeds a leaf, the length of its
    /// next leaf.
    fn boundary_near(&self, near: usize) -> usize {
        let ahead = self.pending.keys();
        let distinct = |&count: &usize| ahead.get(count).map_or(self.pending.is_end(), |next| ahead[count - 1] < *next);
        let counts = (1..=self.shape.capacity.min(ahead.len())).filter(distinct);
        let nearest = counts.min_by_key(|count| count.abs_diff(near));
        nearest.unwrap_or_else(|| run_leaf_count(ahead, ahead[0], self.fill))
    }

    fn write_leaf(&mut self, count: usize) -> Result<()> {
        let (page, ahead) = (self.page, self.pending.keys());
        let edge = count.checked_sub(1).and_then(|last| ahead.get(last)).zip(ahead.get(count)).map(|(a, b)| (*a, *b));
        let continuation = self.run.is_some();
        let continues = edge.is_some_and(|(last, next)| last == next);
        let next = if edge.is_some() { self.leaf_pages.take(self.tx)? } else { NO_PAGE };
        let run_flags = RunFlags { continues, continuation };
        let image = LeafHeader { run_flags, count, previous: self.previous, next }.image(self.pending.entries(count));
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
                self.chain.low = high;
            }
            None => {}
        }
        self.chain.leaves = self.chain.leaves.saturating_add(1);
        self.written += count as u64;
        (self.previous, self.page) = (page, next);
        self.pending.take(count);
        Ok(())
    }
}

/// The number of entries of the next leaf of a run: its fill, or half of the rest for the last two.
fn run_leaf_count<W: Word>(ahead: &[W], run: W, fill: usize) -> usize {
    let length = ahead.partition_point(|&key| key <= run);
    match length.div_ceil(fill) {
        0 | 1 => length,
        2 => length.div_ceil(2),
        _ => fill,
    }
}
