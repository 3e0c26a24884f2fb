//! Walks over all leaves: verification, statistics, release.

use super::chain::ChainState;
use super::leaf::{Leaf, NO_PAGE};
use super::tree::LeafTree;
use crate::error::Result;
use crate::index::entries::word::Word;
use crate::index::tree::router::Router;
use crate::index::tree::structure::{IndexLevelStatistics, IndexStatistics, Visitor};
use crate::page::{PageNumber, Pages, Transaction};
use std::cell::RefCell;

/// A walk along the chain of leaves, which checks each leaf against the separators of the router.
struct ChainVerifier<'a, W, R> {
    tree: &'a LeafTree<R>,
    pages: &'a dyn Pages,
    chain: ChainState<W>,
    router: &'a [u8],
    visitor: &'a mut dyn Visitor<W>,
    /// The next leaf, and the one before it.
    next: PageNumber,
    previous: PageNumber,
    leaves: u32,
    /// The greatest key so far.
    greatest: Option<W>,
    /// The last separator of the router.
    separator: Option<W>,
}

impl<W: Word, R: Router<W>> ChainVerifier<'_, W, R> {
    fn damaged<T>(&self, page: PageNumber, detail: &str) -> Result<T> {
        Err(self.pages.damaged(page, detail))
    }

    /// Checks the group under `separator`, or the last one.
    fn group(&mut self, separator: Option<W>, head: PageNumber) -> Result<()> {
        if self.next != head {
            return self.damaged(head, "the inner nodes lead to another leaf than the links of the leaves");
        }
        let mut leaf = self.leaf(false)?;
        let run = leaf.header.run_flags.continues.then(|| leaf.key::<W>(0));
        let (first, last): (W, W) = (leaf.key(0), leaf.greatest());
        if leaf.count() > 0 && self.separator.is_some_and(|separator| first <= separator) {
            return self.damaged(head, "a key of a leaf is not above the separator before it");
        }
        if separator.is_some_and(|separator| last > separator || run.is_some_and(|run| run != separator)) {
            return self.damaged(head, "the separator of a leaf is not where its keys ask for it");
        }
        for key in [first, last] {
            if leaf.count() > 0 && self.tree.route(self.pages, &self.chain, self.router, key)? != head {
                return self.damaged(head, "a lookup of a key does not lead to its leaf");
            }
        }
        while leaf.header.run_flags.continues {
            leaf = self.leaf(true)?;
        }
        self.separator = separator;
        Ok(())
    }

    /// Reads and checks the next leaf of the chain.
    fn leaf(&mut self, continuation: bool) -> Result<Leaf> {
        let number = self.next;
        self.leaves += 1;
        if self.leaves > self.chain.leaves {
            return self.damaged(number, "there are more leaves than were counted");
        }
        self.visitor.pages(number, 1)?;
        let leaf = self.tree.read::<W>(self.pages, number)?;
        if leaf.header.previous != self.previous || leaf.header.run_flags.continuation != continuation {
            return self.damaged(number, "a leaf is not linked to the one before it");
        }
        if leaf.count() == 0 && !(self.chain.is_single() && self.chain.leaves == 1) {
            return self.damaged(number, "a leaf is empty");
        }
        let (may_repeat, is_run) = (self.tree.layout.duplicates, continuation || leaf.header.run_flags.continues);
        if is_run && !may_repeat {
            return self.damaged(number, "keys repeat where they must not");
        }
        for (index, key) in leaf.keys::<W>().enumerate() {
            let repeats = self.greatest == Some(key);
            let equal_allowed = may_repeat && (index > 0 || continuation);
            let must_equal = is_run && (index > 0 || continuation);
            let ascends = self.greatest.is_none_or(|greatest| greatest < key);
            if !(repeats && equal_allowed || ascends && !must_equal) {
                return self.damaged(number, "the keys of leaves are out of order");
            }
            self.greatest = Some(key);
            self.visitor.entry(key)?;
        }
        (self.previous, self.next) = (number, leaf.header.next);
        Ok(leaf)
    }

    /// Checks the last group, and the state of the chain.
    fn end(&mut self) -> Result<()> {
        let chain = self.chain;
        if !chain.is_single() && self.separator.is_none_or(|separator| separator > chain.low) {
            return self.damaged(chain.last, "keys of other leaves would be looked for in the last leaf");
        }
        self.group(None, chain.last)?;
        if self.next != NO_PAGE || self.previous != chain.tail || self.leaves != chain.leaves {
            return self.damaged(chain.tail, "the chain of leaves does not end where it should");
        }
        Ok(())
    }
}

pub(super) fn verify<W: Word, R: Router<W>>(
    tree: &LeafTree<R>,
    pages: &dyn Pages,
    state: &[u8],
    visitor: &mut dyn Visitor<W>,
) -> Result<()> {
    let (chain, router) = ChainState::<W>::parse(pages, state)?;
    let verifier = RefCell::new(ChainVerifier {
        tree,
        pages,
        chain,
        router,
        visitor,
        next: chain.first,
        previous: NO_PAGE,
        leaves: 0,
        greatest: None,
        separator: None,
    });
    tree.router.walk(
        pages,
        router,
        &mut |first, count| verifier.borrow_mut().visitor.pages(first, count),
        &mut |separator, head| verifier.borrow_mut().group(Some(separator), head),
    )?;
    verifier.into_inner().end()
}

/// Calls `call` for each leaf in order; fails if there are more than the state counts.
fn for_each_leaf<W: Word, R>(
    tree: &LeafTree<R>,
    pages: &dyn Pages,
    chain: &ChainState<W>,
    mut call: impl FnMut(&Leaf),
) -> Result<()> {
    let mut number = chain.first;
    for _ in 0..chain.leaves.min(pages.page_count()) {
        let leaf = tree.read::<W>(pages, number)?;
        call(&leaf);
        number = leaf.header.next;
        if number == NO_PAGE {
            return Ok(());
        }
    }
    Err(pages.damaged(number, "there are more leaves than were counted"))
}

pub(super) fn statistics<W: Word, R: Router<W>>(
    tree: &LeafTree<R>,
    pages: &dyn Pages,
    state: &[u8],
) -> Result<IndexStatistics> {
    let (chain, router) = ChainState::<W>::parse(pages, state)?;
    let mut statistics = tree.router.statistics(pages, router)?;
    let (mut leaves, mut entries, mut continuations) = (0, 0, 0);
    for_each_leaf(tree, pages, &chain, |leaf| {
        leaves += 1;
        entries += leaf.count() as u64;
        continuations += u64::from(leaf.header.run_flags.continuation);
    })?;
    statistics.entries = entries;
    statistics.leaves = leaves;
    statistics.leaf_pages = leaves;
    statistics.height += 1;
    statistics.mean_height += 1.0;
    statistics.levels.push(IndexLevelStatistics { nodes: leaves, pages: leaves, entries });
    if tree.layout.duplicates {
        statistics.details.push(("continuation leaves", continuations));
    }
    Ok(statistics)
}

/// Frees all pages, after checking that none occurs twice.
pub(super) fn free<W: Word, R: Router<W>>(tree: &LeafTree<R>, tx: &mut Transaction, state: &[u8]) -> Result<()> {
    let (chain, router) = ChainState::<W>::parse(tx, state)?;
    let mut extents: Vec<(PageNumber, u32)> = Vec::new();
    tree.router.walk(
        tx,
        router,
        &mut |first, count| {
            extents.push((first, count));
            Ok(())
        },
        &mut |_, _| Ok(()),
    )?;
    for_each_leaf(tree, tx, &chain, |leaf| extents.push((leaf.number, 1)))?;
    extents.sort_unstable();
    for pair in extents.windows(2) {
        if let [(first, count), (next, _)] = *pair
            && first.saturating_add(count) > next
        {
            return Err(tx.damaged(next, "a page belongs to two nodes"));
        }
    }
    for extent in extents.chunk_by(|a, b| a.0 + a.1 == b.0) {
        if let Some(&(first, _)) = extent.first() {
            tx.free(first, extent.iter().map(|&(_, count)| count).sum());
        }
    }
    Ok(())
}
