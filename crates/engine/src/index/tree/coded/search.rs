//! Searches from a key to its leaf: single, batched, and explained.

use super::node;
use super::state::CodedState;
use crate::error::Result;
use crate::index::entries::word::Word;
use crate::index::tree::structure::IndexVisit;
use crate::io::Purpose;
use crate::page::{Page, PageNumber, Pages};
use ogive_model::inner::{ChildPosition, FoundChild, NodeForm, NodeView};

/// One node on the path from the root to a leaf.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) page: PageNumber,
    pub(super) content: Page,
    pub(super) found: FoundChild,
}

pub(super) fn find<W: Word>(pages: &dyn Pages, state: &CodedState, key: W) -> Result<Option<PageNumber>> {
    let mut page = state.root_of(key);
    for level in (0..state.height).rev() {
        let Some(here) = page else { return Ok(None) };
        let content = node::read(pages, state, here, level)?;
        page = step::<W>(pages, here, &content, level, key)?.page;
    }
    Ok(page)
}

/// The path to the leaf of `key`, the topmost page first.
pub(super) fn path<W: Word>(pages: &dyn Pages, state: &CodedState, key: W) -> Result<Vec<Step>> {
    let mut steps = Vec::with_capacity(usize::from(state.height));
    let mut page = state.root_of(key);
    for level in (0..state.height).rev() {
        let Some(here) = page else { break };
        let content = node::read(pages, state, here, level)?;
        let found = step::<W>(pages, here, &content, level, key)?;
        steps.push(Step { page: here, content, found });
        page = found.page;
    }
    Ok(steps)
}

/// Searches one node; only the lowest level may lack a last child.
fn step<W: Word>(pages: &dyn Pages, page: PageNumber, content: &Page, level: u8, key: W) -> Result<FoundChild> {
    let found = node::view::<W>(pages, page, content, level)?
        .search(key.to_u128())
        .ok_or_else(|| pages.damaged(page, "an invalid coded inner node"))?;
    if found.page.is_none() && level > 0 {
        return Err(pages.damaged(page, "a coded inner node without its last child"));
    }
    Ok(found)
}

/// The leaves of ascending keys: level by level, each node read once.
pub(super) fn find_many<W: Word>(pages: &dyn Pages, state: &CodedState, keys: &[W]) -> Result<Vec<Option<PageNumber>>> {
    let mut positions: Vec<Option<PageNumber>> = keys.iter().map(|&key| state.root_of(key)).collect();
    for level in (0..state.height).rev() {
        let mut wanted: Vec<PageNumber> = positions.iter().copied().flatten().collect();
        wanted.dedup();
        let contents = pages.read_many(&wanted, Purpose::Inner(state.depth(level)))?;
        let mut nodes = wanted.iter().zip(&contents).peekable();
        for (position, &key) in positions.iter_mut().zip(keys) {
            let Some(page) = *position else { continue };
            while nodes.next_if(|&(&node, _)| node != page).is_some() {}
            if let Some(&(_, content)) = nodes.peek() {
                *position = step::<W>(pages, page, content, level, key)?.page;
            }
        }
    }
    Ok(positions)
}

pub(super) fn explain<W: Word>(pages: &dyn Pages, state: &CodedState, key: W) -> Result<Vec<IndexVisit>> {
    let mut visits = Vec::new();
    for (depth, step) in (0..).zip(path(pages, state, key)?) {
        let level = state.height - 1 - depth;
        let node = node::view::<W>(pages, step.page, &step.content, level)?;
        let entries = node.separators() as u64 + u64::from(node.last().is_some());
        let detail = describe(&node, step.found.position)
            .ok_or_else(|| pages.damaged(step.page, "an invalid coded inner node"))?;
        visits.push(IndexVisit { node: "coded inner node", page: step.page, depth, entries, detail });
    }
    Ok(visits)
}

fn describe(node: &NodeView<'_>, position: ChildPosition) -> Option<String> {
    let index = node.index_of(position)?;
    let children = node.separators() + usize::from(node.last().is_some());
    let bytes = node.stored_bytes();
    if index == node.separators() {
        return Some(format!("above all {index} separators; {bytes} bytes"));
    }
    let child = format!("child {index} of {children}");
    if node.kind() == NodeForm::Plain {
        return Some(format!("{child}; plain separators, {bytes} bytes"));
    }
    let group = node.group(position.group)?;
    let separator = group.separator(position.place as u32)?;
    let (shift, width) = group.shift_and_width();
    let (number, of) = (position.group, node.groups());
    Some(format!(
        "separator {separator} of {child}, in group {number} of {of}: {} children, multiples of 2^{shift}, \
        residuals of {width} bits; {bytes} bytes",
        group.children()
    ))
}
