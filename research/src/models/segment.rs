//! The conversion of externally chosen segments to line nodes.

use ogive_model::FenceRun;
use ogive_model::extend::Part;
use ogive_model::line::LineNode;

/// A line for the children from the end of the previous one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Proposal {
    /// The child of the run with which the next segment begins.
    pub(crate) end: usize,
    /// Children per unit of key.
    pub(crate) slope: f64,
    /// Height above its first child at the node's start.
    pub(crate) offset: f64,
}

/// One node for each proposal, with a measured window, until the run ends: the last proposal extends to the end.
/// Proposals that end where no node may begin are extended, and a line that does not fit a stored node is halved.
pub(crate) fn nodes(
    run: &FenceRun<'_>,
    proposals: impl IntoIterator<Item = Proposal>,
    window_hint: u64,
) -> Vec<LineNode> {
    let children = run.fences.len() + usize::from(run.at_end);
    let mut nodes = Vec::new();
    let mut next = Part::first(run);
    let mut proposals = proposals.into_iter().peekable();
    while let Some(proposal) = proposals.next() {
        let goal = if proposals.peek().is_none() { children } else { run.border_from(proposal.end) };
        while let Some(part) = next.filter(|part| part.from < goal) {
            let (node, end) = fit_or_halve(run, part, goal, proposal, window_hint);
            nodes.push(node);
            next = part.after(run, end);
        }
    }
    // Without any proposal (a run of one child), one flat line suffices.
    while let Some(part) = next {
        let (node, end) = part.shortest(run);
        nodes.push(node);
        next = part.after(run, end);
    }
    nodes
}

fn fit_or_halve(
    run: &FenceRun<'_>,
    part: Part,
    goal: usize,
    proposal: Proposal,
    window_hint: u64,
) -> (LineNode, usize) {
    let mut end = goal;
    loop {
        match part.fit(run, end, (proposal.slope as f32, proposal.offset), window_hint) {
            Ok(node) => return (node, end),
            Err(_) => match part.halve(run, end) {
                shorter if shorter < end => end = shorter,
                _ => return part.shortest(run),
            },
        }
    }
}
