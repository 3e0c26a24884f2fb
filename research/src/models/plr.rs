//! Greedy piecewise linear regression (PLR), as in Bourbon.

use ogive_model::FenceRun;
use ogive_model::extend::Part;
use ogive_model::line::{LineNode, WINDOW_CHILDREN_MAX};

/// Lines with an error of at most `error_children` at the first key of each child, chosen greedily with a cone of
/// constant size; then the window of each is measured, about `2 * error_children + 2`.
///
/// ```text
///                    .-- upper      Upper and lower line pass through one point, set by the first two children: where
///       +error   .--'  __           the line from the first's top to the second's bottom meets the other diagonal. A
///   o--------X--'__---- lower       child narrows the cone to its own top and bottom; one that the cone misses begins
///       -error  ^ pivot             the next line.
/// ```
///
/// Simpler than [`ogive_model::pla::optimal`], which keeps hulls, with somewhat more lines. The cone is kept in f64: it
/// only proposes lines, whose windows are then measured.
///
/// Source: Bourbon (Dai et al., OSDI 2020), Section 4.1, after Xie et al., "Maximum error-bounded piecewise linear
/// representation for online stream approximation" (VLDB Journal 23, 2014). Takes O(n) time.
///
/// ```
/// use ogive_model::{Fence, FenceRun};
/// use ogive_research::models::plr;
/// let fences: Vec<Fence> = (1..1000).map(|i| Fence { low: 70 * i - 7, high: 70 * i }).collect();
/// assert_eq!(plr::greedy(&FenceRun::whole(&fences), 1).len(), 1);
/// ```
pub fn greedy(run: &FenceRun<'_>, error_children: u64) -> Vec<LineNode> {
    let error = error_children.min(WINDOW_CHILDREN_MAX / 2) as f64;
    let mut nodes = Vec::new();
    let mut next = Part::first(run);
    while let Some(part) = next {
        let (mut end, slope, offset) = cone_from(run, part, error);
        let node = loop {
            match part.fit(run, end, (slope, offset), 2 * error as u64 + 2) {
                Ok(node) => break node,
                Err(_) => {
                    let shorter = part.halve(run, end);
                    if shorter >= end {
                        let (node, border) = part.shortest(run);
                        end = border;
                        break node;
                    }
                    end = shorter;
                }
            }
        };
        nodes.push(node);
        next = part.after(run, end);
    }
    nodes
}

/// The end of the longest part that one cone fits, and slope and offset of the cone's middle.
fn cone_from(run: &FenceRun<'_>, part: Part, error: f64) -> (usize, f32, f64) {
    let children = run.fences.len() + usize::from(run.at_end);
    let mut cone = Cone::new(error);
    let mut end = part.from;
    while end < children {
        let goal = run.border_from(end + 1);
        // The child after the border belongs to this line only if the line continues.
        let first = if end == part.from { Some(0.0) } else { part.distance_after(run, end) };
        if let Some(x) = first
            && !cone.push(x, (end - part.from) as f64)
        {
            break;
        }
        end = goal;
    }
    let (slope, offset) = cone.middle();
    // Points are whole children: half a child more, so that rounding does not turn one into the previous child.
    (end, slope, offset + 0.5)
}

/// The lines through one point that pass within the error of each child so far.
#[derive(Debug)]
struct Cone {
    error: f64,
    first: Option<(f64, f64)>,
    pivot: Option<(f64, f64)>,
    flattest: f64,
    steepest: f64,
}

impl Cone {
    fn new(error: f64) -> Self {
        Cone { error, first: None, pivot: None, flattest: 0.0, steepest: f64::INFINITY }
    }

    /// Narrows the cone by a point right of those before; `false`, without a change, if the cone misses it.
    fn push(&mut self, x: f64, y: f64) -> bool {
        let Some(first) = self.first else {
            self.first = Some((x, y));
            return true;
        };
        let pivot = *self.pivot.get_or_insert(((first.0 + x) / 2.0, (first.1 + y) / 2.0));
        if x <= pivot.0 {
            return (y - pivot.1).abs() <= self.error;
        }
        let flattest = self.flattest.max((y - self.error - pivot.1) / (x - pivot.0));
        let steepest = self.steepest.min((y + self.error - pivot.1) / (x - pivot.0));
        if flattest > steepest {
            return false;
        }
        (self.flattest, self.steepest) = (flattest, steepest);
        true
    }

    /// Slope, and height at distance 0, of the line in the middle.
    fn middle(&self) -> (f32, f64) {
        let steepest = if self.steepest.is_finite() { self.steepest } else { self.flattest };
        let slope = ((self.flattest + steepest) / 2.0) as f32;
        let pivot = self.pivot.or(self.first).unwrap_or((0.0, 0.0));
        (slope, pivot.1 - f64::from(slope) * pivot.0)
    }
}
