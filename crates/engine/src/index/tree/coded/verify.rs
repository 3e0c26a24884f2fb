//! Walks over all coded nodes: validation and statistics.

use super::node;
use super::state::CodedState;
use crate::error::Result;
use crate::index::entries::word::Word;
use crate::index::tree::router::{LeafVisit, PageVisit};
use crate::index::tree::structure::{IndexLevelStatistics, IndexStatistics};
use crate::io::Purpose;
use crate::page::{PageNumber, Pages};
use ogive_model::inner::{Children, NodeForm, NodeView};

/// Callback for each node: its page, view and children, and the separator of its last child, if any.
type NodeVisitor<'t> = dyn FnMut(PageNumber, &NodeView<'_>, &Children, Option<u128>) -> Result<()> + 't;

/// See [`crate::index::extend::Router::walk`].
pub(super) fn walk<W: Word>(
    pages: &dyn Pages,
    state: &CodedState,
    claim: PageVisit<'_>,
    leaf: LeafVisit<'_, W>,
) -> Result<()> {
    nodes::<W>(pages, state, &mut |page, node, children, above| {
        claim(page, 1)?;
        prove_search(node, children).ok_or_else(|| pages.damaged(page, "a separator that leads elsewhere"))?;
        if children.level > 0 {
            return Ok(());
        }
        for (&separator, &page) in children.separators.iter().zip(&children.pages) {
            leaf(W::from_u128(separator), page)?;
        }
        match (children.last, above) {
            (Some(page), Some(separator)) => leaf(W::from_u128(separator), page),
            _ => Ok(()),
        }
    })
}

/// Searches the node for each separator, as lookups do, and for the key above it.
fn prove_search(node: &NodeView<'_>, children: &Children) -> Option<()> {
    for (index, &separator) in children.separators.iter().enumerate() {
        let here = node.search(separator)?.page;
        let next = children.separators.get(index + 1);
        let above = separator.checked_add(1).filter(|above| next != Some(above));
        let beyond = above.map_or(Some(None), |above| node.search(above).map(Some))?;
        let following = children.pages.get(index + 1).copied().or(children.last);
        if here != children.pages.get(index).copied() || beyond.is_some_and(|found| found.page != following) {
            return None;
        }
    }
    Some(())
}

/// See [`crate::index::extend::Router::statistics`].
pub(super) fn statistics<W: Word>(pages: &dyn Pages, state: &CodedState) -> Result<IndexStatistics> {
    let mut levels = vec![IndexLevelStatistics::default(); usize::from(state.height)];
    let (mut groups, mut plain, mut bytes) = (0, 0, 0);
    let mut entries = 0;
    nodes::<W>(pages, state, &mut |_, node, children, _| {
        groups += node.groups() as u64;
        plain += u64::from(node.kind() == NodeForm::Plain);
        bytes += node.stored_bytes() as u64;
        let count = children.separators.len() as u64 + u64::from(children.last.is_some());
        if children.level == 0 {
            entries += count;
        }
        if let Some(level) = levels.get_mut(usize::from(state.depth(children.level))) {
            level.nodes += 1;
            level.pages += 1;
            level.entries += count;
        }
        Ok(())
    })?;
    Ok(IndexStatistics {
        entries,
        inner_pages: levels.iter().map(|level| level.pages).sum(),
        height: u32::from(state.height),
        mean_height: f64::from(state.height),
        levels,
        details: vec![("groups", groups), ("plain inner nodes", plain), ("bytes in inner nodes", bytes)],
        ..IndexStatistics::default()
    })
}

/// A node to visit, and the separators around it.
#[derive(Clone, Copy, Debug)]
struct PendingNode {
    page: PageNumber,
    level: u8,
    low: Option<u128>,
    high: Option<u128>,
}

/// Visits all nodes in key order, each before its children. Checks levels, order and ranges, and that only the last
/// node of the lowest level lacks a last child.
fn nodes<W: Word>(pages: &dyn Pages, state: &CodedState, visit: &mut NodeVisitor<'_>) -> Result<()> {
    let Some(level) = state.height.checked_sub(1) else { return Ok(()) };
    let mut pending = Vec::new();
    push_below(&mut pending, (None, None), level, &state.top);
    let mut left = pages.page_count();
    while let Some(here) = pending.pop() {
        let damaged = |detail: &str| pages.damaged(here.page, detail);
        // Bounds the walk if several nodes lead to the same page.
        left = left.checked_sub(1).ok_or_else(|| damaged("more inner nodes than pages"))?;
        let content = pages.read(here.page, Purpose::Inner(state.depth(here.level)))?;
        let node = node::view::<W>(pages, here.page, &content, here.level)?;
        let children = node.children().ok_or_else(|| damaged("an invalid coded inner node"))?;
        let above_low = children.separators.first().zip(here.low).is_none_or(|(&first, low)| first > low);
        let below_high = children.separators.last().zip(here.high).is_none_or(|(&last, high)| last < high);
        if !above_low || !below_high {
            return Err(damaged("separators beyond those above"));
        }
        if children.last.is_some() != (here.level > 0 || here.high.is_some()) {
            return Err(damaged("a last child too many or too few"));
        }
        visit(here.page, &node, &children, here.high)?;
        if let Some(level) = here.level.checked_sub(1) {
            push_below(&mut pending, (here.low, here.high), level, &children);
        }
    }
    Ok(())
}

/// Pushes the children of a node between two separators, the last one first, so that the first is visited next.
fn push_below(pending: &mut Vec<PendingNode>, around: (Option<u128>, Option<u128>), level: u8, children: &Children) {
    let separator = |index: usize| children.separators.get(index).copied();
    let low = |index: usize| index.checked_sub(1).and_then(separator).or(around.0);
    let count = children.pages.len();
    pending.extend(children.last.map(|page| PendingNode { page, level, low: low(count), high: around.1 }));
    for (index, &page) in children.pages.iter().enumerate().rev() {
        pending.push(PendingNode { page, level, low: low(index), high: separator(index) });
    }
}
