//! Walks over a whole ALEX tree: verification, statistics, explanation, release.

use super::child::{AlexNodeKind, ChildPointer};
use super::cost::Planner;
use super::inner::{ModelSlots, PlainNode};
use super::leaf::DataPage;
use super::node::{find_page, read_page};
use super::search::{check_depth, path_to};
use super::shape::AlexLayout;
use super::state::AlexState;
use super::tree::Alex;
use ogive::Result;
use ogive::index::extend::{IndexLevelStatistics, IndexStatistics, IndexVisit, Visitor, Word};
use ogive::io::Purpose;
use ogive::page::{PageNumber, Pages, Transaction};
use std::ops::Range;

/// A child and its key range in the parent.
#[derive(Clone, Debug)]
struct Branch<W> {
    child: ChildPointer<W>,
    /// Its slots in a model node.
    slots: Range<u32>,
    /// Its separator in a plain node.
    least: W,
}

/// A walk over all nodes. It ends even in a damaged tree, because it reads at most as many pages as the file has.
pub(super) struct AlexWalk<'a> {
    pages: &'a dyn Pages,
    planner: Planner,
    pages_left: u64,
}

impl<'a> AlexWalk<'a> {
    pub(super) fn new(pages: &'a dyn Pages, planner: Planner) -> Self {
        Self { pages, planner, pages_left: u64::from(pages.page_count()) }
    }

    /// The distinct children of an inner node; none for a data node.
    fn branches<W: Word>(&mut self, node: &ChildPointer<W>, depth: u8) -> Result<Vec<Branch<W>>> {
        check_depth(self.pages, node, depth)?;
        let taken = u64::from(node.pages(&self.planner.shape));
        let left = self.pages_left.checked_sub(taken);
        self.pages_left = left.ok_or_else(|| self.pages.damaged(node.first, "nodes share pages"))?;
        let shape = &self.planner.shape;
        match node.kind {
            AlexNodeKind::Data => Ok(Vec::new()),
            AlexNodeKind::Plain => {
                let entries = PlainNode::read(self.pages, shape, node.first, depth)?.entries(self.pages)?;
                Ok(entries.into_iter().map(|(least, child)| Branch { child, slots: 0..0, least }).collect())
            }
            AlexNodeKind::Model => {
                let runs = ModelSlots::new(self.pages, shape, node, depth).runs()?;
                let starts = std::iter::once(0).chain(runs.iter().map(|(end, _)| *end));
                let branch = |(start, (end, child)): (u32, &(u32, ChildPointer<W>))| Branch {
                    child: *child,
                    slots: start..*end,
                    least: W::MIN,
                };
                Ok(starts.zip(&runs).map(branch).collect())
            }
        }
    }
}

/// The progress of a verification.
struct VerifyProgress<'a, W> {
    visitor: &'a mut dyn Visitor<W>,
    entries: u64,
    last_key: Option<W>,
    /// The last page of the previous data node, and its link to the next one.
    last_page: PageNumber,
    next: Option<PageNumber>,
}

/// Checks a whole tree.
pub(super) fn verify<W: Word>(
    walk: &mut AlexWalk<'_>,
    state: &AlexState<W>,
    visitor: &mut dyn Visitor<W>,
) -> Result<()> {
    let mut progress = VerifyProgress { visitor, entries: 0, last_key: None, last_page: 0, next: None };
    if let Some(root) = state.root {
        verify_node(walk, &root, 0, &mut progress)?;
    }
    if progress.next.is_some_and(|next| next != 0) {
        return Err(walk.pages.damaged(progress.last_page, "the last data node has a next one"));
    }
    if progress.entries != state.entries {
        return Err(walk.pages.damaged(0, "the state has a wrong number of entries"));
    }
    Ok(())
}

/// Counts the nodes of a tree.
pub(super) fn statistics<W: Word>(walk: &mut AlexWalk<'_>, state: &AlexState<W>) -> Result<IndexStatistics> {
    let mut statistics = IndexStatistics::default();
    let mut counts = AlexCounts::default();
    if let Some(root) = state.root {
        count_node(walk, &root, 0, &mut statistics, &mut counts)?;
    }
    statistics.height = statistics.levels.len() as u32;
    statistics.mean_height = counts.depths as f64 / statistics.entries.max(1) as f64;
    statistics.details = vec![
        ("model nodes", counts.model),
        ("plain nodes", counts.plain),
        ("entries beside the page predicted", counts.missed),
    ];
    Ok(statistics)
}

/// The path of a lookup.
pub(super) fn explain<W: Word>(
    pages: &dyn Pages,
    shape: &AlexLayout,
    state: &AlexState<W>,
    key: W,
) -> Result<Vec<IndexVisit>> {
    let Some(root) = state.root else { return Ok(Vec::new()) };
    let path = path_to(pages, shape, &root, key)?;
    let mut visits = Vec::new();
    for pair in path.windows(2) {
        let (node, index) = (&pair[0].node, pair[1].index);
        let visit =
            |name, page, entries, detail| IndexVisit { node: name, page, depth: pair[0].depth, entries, detail };
        visits.push(if node.kind == AlexNodeKind::Model {
            let page = node.first + index / shape.model_slots() as u32;
            visit("model node", page, u64::from(node.fanout()), format!("slot {index} computed"))
        } else {
            let count = PlainNode::<W>::read(pages, shape, node.first, pair[0].depth)?.count as u64;
            visit("plain node", node.first, count, format!("entry {index} by binary search"))
        });
    }
    if let Some(step) = path.last() {
        let page = find_page(pages, shape, &step.node, key)?;
        let predicted = step.node.line.slot(key, usize::from(step.node.size) * shape.slots) / shape.slots;
        let found = if page.find(key, &step.node.line).is_some() { "found" } else { "absent" };
        let (index, size) = (page.header.index, step.node.size);
        let detail = format!("page {predicted} of {size} predicted, page {index} holds the range; {found}");
        let entries = page.count() as u64;
        visits.push(IndexVisit { node: "data node", page: page.number, depth: step.depth, entries, detail });
    }
    Ok(visits)
}

impl Alex {
    pub(super) fn free_tree<W: Word>(&self, tx: &mut Transaction, state: &[u8]) -> Result<()> {
        let (planner, AlexState { root: Some(root), .. }) = self.load::<W>(tx, state)? else { return Ok(()) };
        let mut nodes = Vec::new();
        list_nodes(&mut AlexWalk::new(tx, planner), &root, 0, &mut nodes)?;
        nodes.into_iter().for_each(|(first, pages)| tx.free(first, pages));
        Ok(())
    }
}

fn list_nodes<W: Word>(
    walk: &mut AlexWalk<'_>,
    node: &ChildPointer<W>,
    depth: u8,
    found: &mut Vec<(PageNumber, u32)>,
) -> Result<()> {
    found.push((node.first, node.pages(&walk.planner.shape)));
    for branch in walk.branches(node, depth)? {
        list_nodes(walk, &branch.child, depth + 1, found)?;
    }
    Ok(())
}

/// Checks a subtree, and returns its least and its greatest key.
fn verify_node<W: Word>(
    walk: &mut AlexWalk<'_>,
    node: &ChildPointer<W>,
    depth: u8,
    progress: &mut VerifyProgress<'_, W>,
) -> Result<Option<(W, W)>> {
    progress.visitor.pages(node.first, node.pages(&walk.planner.shape))?;
    let branches = walk.branches(node, depth)?;
    if node.kind == AlexNodeKind::Data {
        return verify_data(walk, node, progress);
    }
    let mut range: Option<(W, W)> = None;
    for (index, branch) in branches.iter().enumerate() {
        let end = branches.get(index + 1).map(|next| next.least);
        if node.kind == AlexNodeKind::Plain && end.is_some_and(|end| index > 0 && end <= branch.least) {
            return Err(walk.pages.damaged(node.first, "separators do not ascend"));
        }
        let Some((least, greatest)) = verify_node(walk, &branch.child, depth + 1, progress)? else { continue };
        let belongs = if node.kind == AlexNodeKind::Model {
            branch.slots.contains(&node.slot(least)) && branch.slots.contains(&node.slot(greatest))
        } else {
            (index == 0 || least >= branch.least) && end.is_none_or(|end| greatest < end)
        };
        if !belongs {
            return Err(walk.pages.damaged(branch.child.first, "a node holds keys that do not belong to it"));
        }
        range = Some((range.map_or(least, |(first, _)| first), greatest));
    }
    Ok(range)
}

fn verify_data<W: Word>(
    walk: &AlexWalk<'_>,
    node: &ChildPointer<W>,
    progress: &mut VerifyProgress<'_, W>,
) -> Result<Option<(W, W)>> {
    let damaged = |detail| Err(walk.pages.damaged(node.first, detail));
    let mut range: Option<(W, W)> = None;
    let mut before: Option<DataPage<W>> = None;
    if progress.next.is_some_and(|next| next != node.first) {
        return damaged("a data node is not the next one of the previous node");
    }
    for index in 0..usize::from(node.size) {
        let page = read_page(walk.pages, &walk.planner.shape, node, index, Purpose::Walk)?;
        let header = &page.header;
        let follows = before.as_ref().is_none_or(|before| {
            let last = before.header.last || before.header.vacant;
            header.vacant == last && (last || before.header.high == header.low)
        });
        let first_is_wrong = index == 0 && (header.vacant || header.previous != progress.last_page);
        if !follows || first_is_wrong || header.vacant && (header.count > 0 || header.last) {
            return damaged("the pages of a data node do not follow each other");
        }
        for (key, _) in page.entries() {
            if page.side(key).is_ne() || progress.last_key.is_some_and(|last| key <= last) {
                return damaged("a key is not where a lookup searches for it");
            }
            progress.visitor.entry(key)?;
            progress.entries += 1;
            progress.last_key = Some(key);
            range = Some((range.map_or(key, |(first, _)| first), key));
        }
        before = Some(page);
    }
    let Some(last) = before.filter(|page| page.header.last || page.header.vacant) else {
        return damaged("a data node has no last page");
    };
    (progress.last_page, progress.next) = (last.number, Some(last.header.next));
    Ok(range)
}

/// AlexCounts for which [`IndexStatistics`] has no field.
#[derive(Default)]
struct AlexCounts {
    depths: u64,
    model: u64,
    plain: u64,
    missed: u64,
}

fn count_node<W: Word>(
    walk: &mut AlexWalk<'_>,
    node: &ChildPointer<W>,
    depth: u8,
    statistics: &mut IndexStatistics,
    counts: &mut AlexCounts,
) -> Result<()> {
    let branches = walk.branches(node, depth)?;
    let node_pages = u64::from(node.pages(&walk.planner.shape));
    let mut entries = branches.len() as u64;
    match node.kind {
        AlexNodeKind::Model => counts.model += 1,
        AlexNodeKind::Plain => counts.plain += 1,
        AlexNodeKind::Data => {
            let slots = walk.planner.shape.slots;
            for index in 0..usize::from(node.size) {
                let page = read_page(walk.pages, &walk.planner.shape, node, index, Purpose::Walk)?;
                let predicted = |key| node.line.slot(key, usize::from(node.size) * slots) / slots;
                counts.missed += page.entries().filter(|(key, _)| predicted(*key) != index).count() as u64;
                entries += page.count() as u64;
            }
            statistics.entries += entries;
            statistics.leaves += 1;
            statistics.leaf_pages += node_pages;
            counts.depths += entries * (u64::from(depth) + 1);
        }
    }
    if node.kind != AlexNodeKind::Data {
        statistics.inner_pages += node_pages;
    }
    if statistics.levels.len() <= usize::from(depth) {
        statistics.levels.resize(usize::from(depth) + 1, IndexLevelStatistics::default());
    }
    if let Some(level) = statistics.levels.get_mut(usize::from(depth)) {
        level.nodes += 1;
        level.pages += node_pages;
        level.entries += entries;
    }
    branches.iter().try_for_each(|branch| count_node(walk, &branch.child, depth + 1, statistics, counts))
}
