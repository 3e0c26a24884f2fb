//! Rescue: finds the leaves of a damaged tree that are intact, in key order, and the gaps between them.
//!
//! A page is read only through its checksum and its epoch, so a leaf that the state, the router or an intact leaf leads
//! to is the leaf that was committed last. Where damage hides leaves from all of these, the pages in use are searched:
//! a page is taken for a leaf if it has the form of one, and if both of its links lead to a leaf that leads back, or to
//! a damaged page. A page of a router does not pass this: it would have to name two such pages at the place of the
//! links.

use super::chain::ChainState;
use super::leaf::{Leaf, NO_PAGE};
use super::tree::LeafTree;
use crate::error::{Cause, Error, Result};
use crate::index::entries::word::Word;
use crate::index::tree::router::Router;
use crate::index::tree::structure::{Rescued, RescuedEntries};
use crate::io::Purpose;
use crate::page::{PageNumber, Pages};
use std::collections::{BTreeMap, BTreeSet};

/// An intact leaf.
#[derive(Clone, Copy, Debug)]
struct FoundLeaf<W> {
    previous: PageNumber,
    next: PageNumber,
    least: W,
    greatest: W,
    is_continuation: bool,
    /// Whether the state, the router or a leaf that they lead to leads here.
    is_reached: bool,
}

/// The search for intact leaves.
struct LeafSearch<'a, W, R> {
    tree: &'a LeafTree<R>,
    pages: &'a dyn Pages,
    found: BTreeMap<PageNumber, FoundLeaf<W>>,
    /// Pages that cannot be read, or to which something leads although they are no leaves.
    damaged: BTreeSet<PageNumber>,
    /// Pages of the router, as far as it can be read.
    inner: BTreeSet<PageNumber>,
}

/// A chain of intact leaves that lead to each other.
#[derive(Debug)]
struct LeafRun<W> {
    leaves: Vec<PageNumber>,
    least: W,
    greatest: W,
    is_reached: bool,
}

/// A part of the plan.
#[derive(Clone, Copy, Debug)]
enum RescueStep {
    Leaf(PageNumber),
    /// At least this number of leaves is lost.
    Gap(u64),
}

/// The entries of the leaves found.
#[derive(Debug)]
struct RescueCursor<R> {
    tree: LeafTree<R>,
    steps: std::vec::IntoIter<RescueStep>,
    leaf: Option<(Leaf, usize)>,
}

pub(super) fn rescue<W: Word, R: Router<W> + 'static>(
    tree: &LeafTree<R>,
    pages: &dyn Pages,
    state: &[u8],
    in_use: Option<&[PageNumber]>,
) -> Result<Box<dyn RescuedEntries<W>>> {
    let (chain, router) = ChainState::<W>::parse(pages, state)?;
    let mut search =
        LeafSearch { tree, pages, found: BTreeMap::new(), damaged: BTreeSet::new(), inner: BTreeSet::new() };
    let heads = search.heads(router)?;
    let is_router_whole = heads.is_some();
    search.reach([chain.first, chain.last, chain.tail].into_iter().chain(heads.unwrap_or_default()).collect())?;
    if let Some(in_use) = in_use.filter(|_| search.found.len() < chain.leaves as usize) {
        search.look_through(in_use, is_router_whole)?;
    }
    let steps = search.steps(&chain)?.into_iter();
    Ok(Box::new(RescueCursor { tree: tree.clone(), steps, leaf: None }))
}

impl<W: Word, R: Router<W>> LeafSearch<'_, W, R> {
    /// The leaves in a whole router. In a damaged one, the leaves up to the damage are reached at once, and there is no
    /// result.
    fn heads(&mut self, router: &[u8]) -> Result<Option<Vec<PageNumber>>> {
        let (mut heads, mut inner) = (Vec::new(), BTreeSet::new());
        let walked = self.tree.router.walk(
            self.pages,
            router,
            &mut |first, count| {
                inner.extend(first..first.saturating_add(count.min(self.pages.page_count())));
                Ok(())
            },
            &mut |_, head| {
                heads.push(head);
                Ok(())
            },
        );
        match walked {
            Ok(()) => {
                self.inner = inner;
                Ok(Some(heads))
            }
            // What the walk claimed may include the page that is damaged, but no leaf.
            Err(error) if is_damage(&error) => {
                self.inner = inner;
                self.reach(heads)?;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Reads leaves, and all that they lead to.
    fn reach(&mut self, mut wanted: Vec<PageNumber>) -> Result<()> {
        while let Some(page) = wanted.pop() {
            if page == NO_PAGE || self.found.contains_key(&page) || self.damaged.contains(&page) {
                continue;
            }
            match self.read(page)? {
                Some(leaf) => {
                    wanted.extend([leaf.previous, leaf.next]);
                    self.found.insert(page, FoundLeaf { is_reached: true, ..leaf });
                }
                None => _ = self.damaged.insert(page),
            }
        }
        Ok(())
    }

    /// The leaf in a page, not marked as reached; `None` if the page is damaged or is no leaf.
    fn read(&self, page: PageNumber) -> Result<Option<FoundLeaf<W>>> {
        let leaf = match self.tree.read::<W>(self.pages, page) {
            Ok(leaf) => leaf,
            Err(error) if is_damage(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        let flags = leaf.header.run_flags;
        let is_run = flags.continues || flags.continuation;
        let (least, greatest) = (leaf.key::<W>(0), leaf.greatest());
        let duplicates = self.tree.layout.duplicates;
        let ascends = leaf.keys::<W>().is_sorted_by(|a, b| a < b || duplicates && a == b);
        // Only the single leaf of an empty tree has no entries.
        let is_single = leaf.header.previous == NO_PAGE && leaf.header.next == NO_PAGE;
        let is_valid = (leaf.count() > 0 || is_single) && ascends && (!is_run || duplicates && least == greatest);
        Ok(is_valid.then_some(FoundLeaf {
            previous: leaf.header.previous,
            next: leaf.header.next,
            least,
            greatest,
            is_continuation: flags.continuation,
            is_reached: false,
        }))
    }

    /// Searches pages for leaves to which nothing intact leads. If the router is whole, these continue runs.
    fn look_through(&mut self, in_use: &[PageNumber], is_router_whole: bool) -> Result<()> {
        let mut candidates = BTreeMap::new();
        for &page in in_use {
            if self.found.contains_key(&page) || self.damaged.contains(&page) || self.inner.contains(&page) {
                continue;
            }
            match self.pages.read(page, Purpose::Walk) {
                Err(error) if is_damage(&error) => _ = self.damaged.insert(page),
                Err(error) => return Err(error),
                Ok(_) => {
                    let leaf = self.read(page)?.filter(|leaf| leaf.is_continuation || !is_router_whole);
                    candidates.extend(leaf.map(|leaf| (page, leaf)));
                }
            }
        }
        // A candidate that fails may have been what another one relied on.
        loop {
            let leads_back = |to: PageNumber, back: &dyn Fn(&FoundLeaf<W>) -> bool| {
                self.damaged.contains(&to) || self.found.get(&to).or(candidates.get(&to)).is_some_and(back)
            };
            let fails = |&(&page, leaf): &(&PageNumber, &FoundLeaf<W>)| {
                let follows = |other: &FoundLeaf<W>| other.next == page && other.greatest <= leaf.least;
                let precedes = |other: &FoundLeaf<W>| other.previous == page && leaf.greatest <= other.least;
                !(leads_back(leaf.previous, &follows) && leads_back(leaf.next, &precedes))
            };
            let failed: Vec<PageNumber> = candidates.iter().filter(fails).map(|(&page, _)| page).collect();
            if failed.is_empty() {
                break;
            }
            failed.iter().for_each(|page| _ = candidates.remove(page));
        }
        self.found.extend(candidates);
        Ok(())
    }

    /// The chains of leaves, in key order.
    fn runs(&self) -> Vec<LeafRun<W>> {
        let follower = |page: PageNumber| {
            let next = self.found.get(&page)?.next;
            self.found.get(&next).filter(|leaf| leaf.previous == page).map(|_| next)
        };
        let is_head = |page: PageNumber, leaf: &FoundLeaf<W>| {
            self.found.get(&leaf.previous).is_none_or(|previous| previous.next != page)
        };
        let mut runs = Vec::new();
        for (&head, leaf) in self.found.iter().filter(|&(&page, leaf)| is_head(page, leaf)) {
            let leaves: Vec<PageNumber> = std::iter::successors(Some(head), |&page| follower(page)).collect();
            let greatest = leaves.last().and_then(|last| self.found.get(last)).map_or(leaf.greatest, |it| it.greatest);
            let is_reached = leaves.iter().any(|page| self.found.get(page).is_some_and(|leaf| leaf.is_reached));
            runs.push((leaf.is_continuation, LeafRun { leaves, least: leaf.least, greatest, is_reached }));
        }
        // Among parts of one run of equal keys, its head comes first.
        runs.sort_by_key(|&(is_continuation, ref run)| (run.least, run.greatest, is_continuation));
        runs.into_iter().map(|(_, run)| run).collect()
    }

    /// The leaves in order, with the gaps.
    fn steps(&self, chain: &ChainState<W>) -> Result<Vec<RescueStep>> {
        let mut kept: Vec<LeafRun<W>> = Vec::new();
        for run in self.runs() {
            let overlaps = |before: &LeafRun<W>| {
                before.greatest > run.least || before.greatest == run.least && !self.tree.layout.duplicates
            };
            match kept.last() {
                Some(before) if overlaps(before) && !run.is_reached => continue,
                Some(before) if overlaps(before) && !before.is_reached => _ = kept.pop(),
                Some(before) if overlaps(before) => {
                    let page = run.leaves.first().copied().unwrap_or_default();
                    return Err(self.pages.damaged(page, "two intact leaves contradict each other"));
                }
                _ => {}
            }
            kept.push(run);
        }
        let mut steps = Vec::new();
        // The page that should come next, if the leaf before it is there.
        let mut expected = chain.first;
        for run in &kept {
            let Some(head) = run.leaves.first().and_then(|page| Some((*page, self.found.get(page)?))) else { continue };
            if head.0 != expected {
                steps.push(RescueStep::Gap(1 + u64::from(head.1.previous != expected)));
            }
            steps.extend(run.leaves.iter().map(|&page| RescueStep::Leaf(page)));
            expected = run.leaves.last().and_then(|page| self.found.get(page)).map_or(NO_PAGE, |leaf| leaf.next);
        }
        if expected != NO_PAGE {
            steps.push(RescueStep::Gap(1 + u64::from(expected != chain.tail)));
        }
        Ok(steps)
    }
}

impl<W: Word, R: Router<W>> RescuedEntries<W> for RescueCursor<R> {
    fn next(&mut self, pages: &dyn Pages, payload: &mut [u8]) -> Result<Option<Rescued<W>>> {
        loop {
            if let Some((leaf, index)) = &mut self.leaf
                && *index < leaf.count()
            {
                leaf.copy_payload::<W>(*index, payload);
                *index += 1;
                return Ok(Some(Rescued::Entry(leaf.key(*index - 1))));
            }
            match self.steps.next() {
                None => return Ok(None),
                Some(RescueStep::Gap(leaves)) => {
                    self.leaf = None;
                    return Ok(Some(Rescued::Lost { leaves }));
                }
                Some(RescueStep::Leaf(page)) => self.leaf = Some((self.tree.read::<W>(pages, page)?, 0)),
            }
        }
    }
}

fn is_damage(error: &Error) -> bool {
    matches!(error, Error { cause: Cause::Damaged, .. })
}
