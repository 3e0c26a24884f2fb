//! The conversion of RMI leaf models to line nodes, for an index layer.

use super::least_squares::PowerSums;
use super::root::{Root, RootKind};
use crate::models::segment::{Proposal, nodes};
use ogive_model::FenceRun;
use ogive_model::line::LineNode;

/// One node for each of at most `leaves` leaf models with children of their own: the borders between leaves are
/// determined by a trained root, the lines are regressions; then the window of each is measured. A leaf whose line does
/// not fit a node, because of its error, is split.
///
/// ```
/// use ogive_model::{Fence, FenceRun};
/// use ogive_research::models::rmi;
/// let fences: Vec<Fence> = (1..1000).map(|i| Fence { low: 70 * i - 7, high: 70 * i }).collect();
/// let nodes = rmi::lines(&FenceRun::whole(&fences), rmi::RootKind::Linear, 10);
/// assert!(nodes.len() == 10 && nodes.iter().all(|node| node.window <= 3));
/// ```
pub fn lines(run: &FenceRun<'_>, root: RootKind, leaves: usize) -> Vec<LineNode> {
    let root = Root::train_on(run, root, leaves.clamp(1, super::LEAVES_MAX));
    let children = run.fences.len() + usize::from(run.at_end);
    // A child belongs to the leaf of its first key.
    let leaf_of = |child: usize| match child.checked_sub(1).and_then(|k| run.fences.get(k)) {
        Some(fence) => root.leaf_of(fence.start().unwrap_or(u64::MAX)),
        None => root.leaf_of(run.line_start()),
    };
    let mut proposals = Vec::new();
    let mut from = 0;
    while from < children {
        let leaf = leaf_of(from);
        let length = (from + 1..children).take_while(|&child| leaf_of(child) == leaf).count() + 1;
        proposals.push(proposal(run, from, from + length));
        from += length;
    }
    nodes(run, proposals, 4)
}

/// The regression line through the first keys of the children `from..end` of the run.
fn proposal(run: &FenceRun<'_>, from: usize, end: usize) -> Proposal {
    let starts = |child: usize| match child.checked_sub(1).and_then(|k| run.fences.get(k)) {
        Some(fence) => fence.start().unwrap_or(u64::MAX),
        None => run.line_start(),
    };
    let (first, last) = (starts(from), starts(end - 1));
    let scale = if last > first { 1.0 / (last - first) as f64 } else { 0.0 };
    let mut moments = PowerSums::default();
    (from..end)
        .for_each(|child| moments.push(starts(child).saturating_sub(first) as f64 * scale, (child - from) as f64));
    let line = moments.fit(1);
    Proposal { end, slope: line.coefficients[0] * scale, offset: line.offset }
}
