//! The resident PGM-index: levels of optimal piecewise linear approximations over a sorted sequence.

use crate::models::locate::{Locate, last_between, last_from};
use ogive_model::line::LineNode;
use ogive_model::{Fence, FenceRun, pla};
use std::ops::RangeInclusive;

/// Error of the levels above the lowest, in nodes, as in the authors' code.
pub const UPPER_ERROR: u64 = 4;

/// Levels of lines, lowest first; each level leads to nodes of the one below, the lowest to children.
///
/// ```text
///   levels[2]   o                                one line
///   levels[1]   o-----------o                    lines over the starts of the nodes below
///   levels[0]   o---o-----o-o--o----o            lines over the children
/// ```
///
/// Source: Ferragina and Vinciguerra, "The PGM-index" (VLDB 2020), Sections 2 and 2.2. The window of a line is
/// measured, so it may be shorter than the error allows; the error is bounded by
/// [`ogive_model::line::WINDOW_CHILDREN_MAX`].
///
/// ```
/// use ogive_model::Fence;
/// use ogive_research::models::{Locate, pgm::Pgm};
/// let keys: Vec<u64> = (0..100_000).map(|i| i * i).collect();
/// let fences: Vec<Fence> = keys.windows(2).map(|pair| Fence { low: pair[0], high: pair[1] }).collect();
/// let pgm = Pgm::build(&fences, 64, 4);
/// assert!(pgm.window(keys[77]).contains(&77) && pgm.resident_bytes() < 10_000);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Pgm {
    levels: Vec<Box<[LineNode]>>,
    children: u64,
}

impl Pgm {
    /// Builds the structure for the children between the `fences`: lines with an error of at most `error_children`, and
    /// levels above them with an error of at most `upper_error` nodes, up to a level of one node.
    pub fn build(fences: &[Fence], error_children: u64, upper_error: u64) -> Self {
        let mut levels = vec![pla::optimal(&FenceRun::whole(fences), error_children).into_boxed_slice()];
        while let Some(below) = levels.last().filter(|level| level.len() > 1) {
            let fences: Vec<Fence> = below.iter().skip(1).map(|node| fence_before(node.start)).collect();
            let level = pla::optimal(&FenceRun::whole(&fences), upper_error);
            if level.len() >= below.len() {
                break;
            }
            levels.push(level.into_boxed_slice());
        }
        Self { levels, children: fences.len() as u64 + 1 }
    }

    /// Number of levels, at least one.
    pub fn height(&self) -> usize {
        self.levels.len()
    }

    fn level(&self, level: usize) -> &[LineNode] {
        self.levels.get(level).map_or(&[], |nodes| nodes)
    }
}

/// The fence left of a node: exact, since the node covers its start and nothing below.
fn fence_before(start: u64) -> Fence {
    Fence { low: start.saturating_sub(1), high: start }
}

fn start_in(level: &[LineNode]) -> impl Fn(usize) -> u64 {
    |node| level.get(node).map_or(u64::MAX, |node| node.start)
}

impl Locate for Pgm {
    fn children(&self) -> u64 {
        self.children
    }

    fn leaves(&self) -> usize {
        self.level(0).len()
    }

    fn leaf_of(&self, x: u64) -> usize {
        let Some(top) = self.levels.len().checked_sub(1) else { return 0 };
        let nodes = self.level(top);
        let mut node = last_between(0, nodes.len(), x, start_in(nodes));
        for level in (0..top).rev() {
            let nodes = self.level(level);
            let window = window_of(self.level(level + 1), node, nodes.len() as u64, x);
            let (first, last) = (*window.start() as usize, *window.end() as usize);
            node = last_between(first, last + 1, x, start_in(nodes));
        }
        node
    }

    fn leaf_from(&self, leaf: usize, x: u64) -> usize {
        let leaves = self.level(0);
        last_from(leaves.len(), leaf, x, start_in(leaves))
    }

    fn window_in(&self, leaf: usize, x: u64) -> RangeInclusive<u64> {
        window_of(self.level(0), leaf, self.children, x)
    }

    fn resident_bytes(&self) -> u64 {
        let nodes: usize = self.levels.iter().map(|level| level.len()).sum();
        (size_of::<Self>() + size_of_val(self.levels.as_slice()) + nodes * size_of::<LineNode>()) as u64
    }
}

/// The window of a node over `children` children.
fn window_of(level: &[LineNode], node: usize, children: u64, x: u64) -> RangeInclusive<u64> {
    let last_child = level.get(node + 1).map_or(children.saturating_sub(1), |next| next.first_child);
    level.get(node).map_or(0..=last_child, |node| node.window(x, last_child))
}
