//! The conversion of spline segments to line nodes, for an index layer.

use super::corridor;
use crate::models::segment;
use ogive_model::FenceRun;
use ogive_model::line::{LineNode, WINDOW_CHILDREN_MAX};

/// One node for each segment of a greedy spline with an error of at most `error_children` at the first key of each
/// child; then the window of each is measured.
///
/// ```
/// use ogive_model::{Fence, FenceRun};
/// use ogive_research::models::radix_spline;
/// let fences: Vec<Fence> = (1..1000).map(|i| Fence { low: 70 * i - 7, high: 70 * i }).collect();
/// assert_eq!(radix_spline::lines(&FenceRun::whole(&fences), 1).len(), 1);
/// ```
pub fn lines(run: &FenceRun<'_>, error_children: u64) -> Vec<LineNode> {
    let error = error_children.min(WINDOW_CHILDREN_MAX / 2);
    let knots = corridor::greedy(corridor::points(run), error);
    let segments = knots.windows(2).map(|pair| {
        let slope = (pair[1].1 - pair[0].1) as f64 / (pair[1].0 - pair[0].0) as f64;
        // The last knot ends its line, but the child that begins there belongs to the line, too.
        segment::Proposal { end: pair[1].1 as usize, slope, offset: 0.0 }
    });
    segment::nodes(run, segments, 2 * error + 2)
}
