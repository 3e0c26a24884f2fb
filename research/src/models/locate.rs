//! Lookups in resident structures: windows of children, by descent from the root or by a walk along the leaves.

use ogive_model::Fence;
use std::ops::RangeInclusive;

/// A learned structure over a sequence of children, entirely in memory.
///
/// ```text
///   root            descent: for keys in any order
///     '-- leaves    walk: ascending keys need no descent; see `ForwardWalk`
///           '-- window of children
/// ```
///
/// The sequence is given by the fences between its children: `n` fences, `n + 1` children. A child is whatever the
/// caller reads at once: a block, or a single key. A window holds every child that may hold its key, whether present or
/// absent: this was measured when the structure was built, with the arithmetic of lookups (integer differences, then
/// single IEEE operations, which are monotone). For a run of equal keys that fills several children, a window leads to
/// the child where the run begins.
///
/// A structure describes what it was built from, not later changes: it is approximate, and readers verify what they
/// read.
pub trait Locate {
    /// Number of children, at least one.
    fn children(&self) -> u64;

    /// Number of leaf models, at least one.
    fn leaves(&self) -> usize;

    /// The leaf that covers `x`, by descent from the root.
    fn leaf_of(&self, x: u64) -> usize;

    /// The leaf that covers `x`, by a walk from `leaf`, which covers a key that is not greater.
    fn leaf_from(&self, leaf: usize, x: u64) -> usize;

    /// The children that may hold `x`, which is covered by `leaf`.
    fn window_in(&self, leaf: usize, x: u64) -> RangeInclusive<u64>;

    /// Memory use in bytes.
    fn resident_bytes(&self) -> u64;

    /// The children that may hold `x`.
    fn window(&self, x: u64) -> RangeInclusive<u64> {
        self.window_in(self.leaf_of(x), x)
    }
}

/// A walk along the leaves for ascending keys.
///
/// Source: Chesetti and Pandey, "Evaluating Learned Indexes for External-Memory Joins" (2024), Section 4.1,
/// Optimization 1. Their second optimisation, a window that never begins before the last match, is left to the caller,
/// who knows the matches.
///
/// ```
/// use ogive_model::Fence;
/// use ogive_research::models::{ForwardWalk, Locate, pgm};
/// let fences: Vec<Fence> = (1..10_000).map(|i| Fence { low: i * i - 1, high: i * i }).collect();
/// let pgm = pgm::Pgm::build(&fences, 2, 4);
/// let mut forward = ForwardWalk::default();
/// for x in (0..100_000_000).step_by(99_991) {
///     assert_eq!(forward.window(&pgm, x), pgm.window(x));
/// }
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct ForwardWalk {
    leaf: usize,
    last: u64,
}

impl ForwardWalk {
    /// The children of `structure` that may hold `x`. Keys may repeat; one that is smaller than the last is found by
    /// descent. A walk belongs to one structure: with another one in between, results may be wrong.
    pub fn window(&mut self, structure: &impl Locate, x: u64) -> RangeInclusive<u64> {
        self.leaf = if x < self.last { structure.leaf_of(x) } else { structure.leaf_from(self.leaf, x) };
        self.last = x;
        structure.window_in(self.leaf, x)
    }
}

/// Mean number of children in the window of a lookup, over the first and last keys of the children.
pub fn mean_window_children(structure: &impl Locate, fences: &[Fence]) -> f64 {
    let mut forward = ForwardWalk::default();
    let (mut sum, mut count) = (0.0, 0.0);
    for fence in fences {
        // A run of equal keys has neither a last nor a first one here.
        let ends = fence.separates().then_some([fence.low, fence.high]).into_iter().flatten();
        for x in ends {
            let window = forward.window(structure, x);
            sum += (window.end() - window.start() + 1) as f64;
            count += 1.0;
        }
    }
    if count > 0.0 { sum / count } else { 1.0 }
}

/// The last of the sorted `starts` that is at most `x`, at or after `from`: an exponential search, fast for near
/// positions.
pub(crate) fn last_from(leaves: usize, from: usize, x: u64, start: impl Fn(usize) -> u64) -> usize {
    let (mut low, mut step) = (from, 1);
    while low + step < leaves && start(low + step) <= x {
        low += step;
        step *= 2;
    }
    let high = (low + step).min(leaves);
    last_between(low, high, x, start)
}

/// The last of the sorted starts in `low..high` that is at most `x`; `low` if all are greater.
pub(crate) fn last_between(mut low: usize, mut high: usize, x: u64, start: impl Fn(usize) -> u64) -> usize {
    while low + 1 < high {
        let middle = low.midpoint(high);
        if start(middle) <= x {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}
